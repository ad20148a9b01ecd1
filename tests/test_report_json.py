"""The format `json` is the design's form, and the schema in the repository is neither wider nor narrower than it."""

import json
from pathlib import Path

import jsonschema
import pytest

from jaxlint.findings import Report
from jaxlint.report.json import render
from report_sample import CONTEXT, EMPTY, PLAIN, RICH

SCHEMA = json.loads((Path(__file__).parent.parent / "schema" / "jaxlint-1.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("report", [EMPTY, PLAIN, RICH], ids=["empty", "plain", "rich"])
def test_every_report_is_one_valid_ascii_document(report: Report) -> None:
    text = render(report, CONTEXT)
    assert text.isascii()
    VALIDATOR.validate(json.loads(text))


def test_the_empty_report() -> None:
    assert json.loads(render(EMPTY, CONTEXT)) == {
        "version": 1,
        "jaxlint": "0.1.0",
        "findings": [],
        "errors": [],
        "summary": {"files": 2, "findings": 0, "errors": 0},
    }


def test_a_finding_in_the_form_of_the_design() -> None:
    assert json.loads(render(PLAIN, CONTEXT))["findings"] == [
        {
            "code": "JT104",
            "name": "scalar-conversion",
            "direction": "device_to_host",
            "path": "src/train.py",
            "line": 4,
            "column": 14,
            "end_line": 4,
            "end_column": 25,
            "cell": None,
            "heat": "hot",
            "confidence": "high",
            "use": "host-compute",
            "message": "float() fetches loss and waits for the device",
            "notes": [
                {
                    "path": "src/train.py",
                    "line": 1,
                    "column": 1,
                    "cell": None,
                    "message": "step is compiled by jax.jit",
                },
                {"path": "src/train.py", "line": 3, "column": 5, "cell": None, "message": "loss comes from step"},
            ],
            "fix": None,
            "verdict": None,
        }
    ]


def test_fix_verdict_cell_and_errors() -> None:
    document = json.loads(render(RICH, CONTEXT))
    assert document["findings"][0]["cell"] == 3
    assert document["findings"][1]["fix"] == {
        "safe": False,
        "description": "move it out of the loop",
        "edits": [{"line": 1, "column": 11, "end_line": 1, "end_column": 22, "text": "loss", "cell": None}],
    }
    assert document["findings"][1]["verdict"] == {
        "status": "confirmed",
        "evidence": "guard",
        "backend": "virtual",
        "runs": 20,
        "transfers": 20,
        "bytes": 80,
        "message": "Disallowed device-to-host transfer",
        "processes": [],
    }
    assert document["findings"][2]["direction"] is None
    assert document["errors"] == [
        {"path": "old.py", "line": 3, "column": 7, "cell": None, "message": "invalid syntax"},
        {"path": "gone.py", "line": None, "column": None, "cell": None, "message": "no such file"},
    ]
    assert document["summary"] == {"files": 5, "findings": 6, "errors": 2}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 2),
        (("findings", 0, "code"), "E501"),
        (("findings", 0, "line"), 0),
        (("findings", 0, "direction"), "sideways"),
        (("findings", 0, "heat"), "warm"),
        (("findings", 0, "message"), "two\nlines"),
        (("findings", 0, "surprise"), 1),
        (("findings", 1, "fix", "edits"), []),
        (("errors", 0, "message"), ""),
    ],
)
def test_the_schema_refuses_what_the_design_does_not_say(path: tuple[str | int, ...], value: object) -> None:
    document = json.loads(render(RICH, CONTEXT))
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("key", sorted(SCHEMA["$defs"]["finding"]["required"]))
def test_the_schema_misses_each_key_of_a_finding(key: str) -> None:
    document = json.loads(render(PLAIN, CONTEXT))
    del document["findings"][0][key]
    assert not VALIDATOR.is_valid(document)

"""Verdicts in every format: what they say, and that a refuted finding is listed apart and fails nothing."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from jaxlint.findings import Direction, Finding, Report, Status, Verdict
from jaxlint.keys import FORMATS
from jaxlint.report import concise, formats, github, gitlab, junit, sarif, text
from jaxlint.report.verdicts import in_words
from report_sample import CONTEXT, SCALAR

REFUSED = "Disallowed device-to-host transfer: shape=(), dtype=F32, device=cpu:0"
CONFIRMED = replace(SCALAR, verdict=Verdict(Status.CONFIRMED, "guard", "sentinel", 200, 200, 800, REFUSED))
REFUTED = replace(
    SCALAR, code="JT106", verdict=Verdict(Status.REFUTED, None, "virtual", 3, message="nothing was refused in 3 runs")
)
BOTH = Report((CONFIRMED, REFUTED), files=1)


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (
            CONFIRMED.verdict,
            "confirmed (by the guard, asked through a stand-in, backend sentinel; 200 transfers in 200 judged runs, "
            f"800 bytes): {REFUSED}",
        ),
        (
            Verdict(Status.CONFIRMED, "guard", "device", 1, 1, 4, REFUSED),
            f"confirmed (by the guard, backend device; 1 transfer in 1 judged run, 4 bytes): {REFUSED}",
        ),
        (
            Verdict(Status.CONFIRMED, "trace", "virtual", 2, 1, 0, "host-to-device transfer", (0, 1)),
            "confirmed (seen while it ran, backend virtual; 1 transfer in 2 judged runs; processes 0, 1): "
            "host-to-device transfer",
        ),
        (
            Verdict(Status.CONFIRMED, "error", "sentinel", 1, message="TracerBoolConversionError: no"),
            "confirmed (raised while it ran; 1 judged run): TracerBoolConversionError: no",
        ),
        (REFUTED.verdict, "refuted (backend virtual; 3 judged runs): nothing was refused in 3 runs"),
        (Verdict(Status.UNREACHED), "unreached"),
        (Verdict(Status.UNDECIDED, message="the time was up"), "undecided: the time was up"),
    ],
)
def test_a_verdict_in_words(verdict: Verdict, words: str) -> None:
    assert in_words(verdict, Direction.DEVICE_TO_HOST) == words


@pytest.mark.parametrize("output_format", [name for name in FORMATS if name not in ("json", "concise")])
def test_every_format_for_people_shows_the_words_of_the_guard(output_format: str) -> None:
    assert REFUSED in formats.render(BOTH, output_format, CONTEXT)


@pytest.mark.parametrize("found", [BOTH.findings, BOTH.findings[::-1]])
def test_text_lists_the_refuted_apart(found: tuple[Finding, ...]) -> None:
    before, after = text.render(replace(BOTH, findings=found), CONTEXT).split(
        "Refuted by running, and not counted (1):"
    )
    assert "JT104" in before
    assert "JT106" in after
    assert "JT106" not in before
    assert "Refuted" not in text.render(Report((CONFIRMED,)), CONTEXT)


def test_concise_names_the_status() -> None:
    assert [line.rpartition(" ")[2] for line in concise.render(BOTH, CONTEXT).splitlines()] == [
        "confirmed]",
        "refuted]",
    ]


def test_github_only_notes_what_was_refuted() -> None:
    assert [line.split(" ")[0] for line in github.render(BOTH, CONTEXT).splitlines()] == ["::warning", "::notice"]


def test_gitlab_informs_of_what_was_refuted() -> None:
    assert [issue["severity"] for issue in json.loads(gitlab.render(BOTH, CONTEXT))] == ["major", "info"]


def test_junit_skips_what_was_refuted() -> None:
    root = ET.fromstring(junit.render(BOTH, CONTEXT))
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "2",
        "failures": "1",
        "errors": "0",
    }
    assert [case[0].tag for case in root.iter("testcase")] == ["failure", "skipped"]
    assert [suite.get("skipped") for suite in root.iter("testsuite")] == ["1"]


def test_sarif_lets_pass_what_was_refuted() -> None:
    first, second = json.loads(sarif.render(BOTH, CONTEXT))["runs"][0]["results"]
    assert ("kind" in first, first["level"]) == (False, "warning")
    assert (second["kind"], second["level"]) == ("pass", "none")
    assert first["properties"]["verdict"]["transfers"] == 200


def test_only_fetches_are_asked_about_through_a_stand_in() -> None:
    upload = Verdict(Status.CONFIRMED, "guard", "sentinel", 1, 1, 0, REFUSED)
    assert "stand-in" not in in_words(upload, Direction.HOST_TO_DEVICE)

"""The formats of continuous integration: `github`, `gitlab` and `junit`."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from jaxlint.findings import Report
from jaxlint.keys import FORMATS
from jaxlint.report import formats, github, gitlab, junit
from report_sample import CONTEXT, EMPTY, PLAIN, RICH, SCALAR


def test_the_settings_name_exactly_the_formats_there_are() -> None:
    assert tuple(formats.RENDERERS) == FORMATS


def test_github_says_nothing_of_nothing() -> None:
    assert github.render(EMPTY, CONTEXT) == ""


def test_github_commands_are_escaped() -> None:
    assert github.render(RICH, CONTEXT).splitlines() == [
        "::error title=jaxlint,file=old.py,line=3,col=7::old.py:3:7: invalid syntax",
        "::error title=jaxlint,file=gone.py::gone.py: no such file",
        "::notice title=jaxlint JT101,file=book.ipynb::book.ipynb:cell 3:1:7: JT101 m",
        "::notice title=jaxlint JT104,file=odd%2C 100%25%3A\\x1b[1m.py,line=1,endLine=1,col=11,endColumn=22"
        "::odd, 100%25:\\x1b[1m.py:1:11: JT104 float() of \\x1b[2J'名前', 100%25 <&> [confirmed (by the guard, "
        "backend virtual; 20 transfers in 20 judged runs, 80 bytes): Disallowed device-to-host transfer]",
        "::error title=jaxlint JT401,file=odd%2C 100%25%3A\\x1b[1m.py,line=2,endLine=2,col=5,endColumn=14"
        "::odd, 100%25:\\x1b[1m.py:2:5: JT401 if of a tracer",
        "::warning title=jaxlint JT501,file=odd%2C 100%25%3A\\x1b[1m.py,line=3,endLine=3,col=302,endColumn=310"
        "::odd, 100%25:\\x1b[1m.py:3:302: JT501 no such level",
        "::warning title=jaxlint JT104,file=src/train.py,line=4,endLine=4,col=14,endColumn=25"
        "::src/train.py:4:14: JT104 float() fetches loss and waits for the device",
        "::warning title=jaxlint JT102,file=src/train.py,line=5,endLine=6::src/train.py:5:11: JT102 m",
    ]


def test_github_no_message_can_start_a_second_command() -> None:
    evil = replace(SCALAR, message="x\n::set-output name=a::b")
    shown = github.render(Report((evil,)), CONTEXT)
    assert shown.count("\n") == 1
    assert "%0A::set-output" in shown


def test_gitlab_of_nothing_is_an_empty_list() -> None:
    assert gitlab.render(EMPTY, CONTEXT) == "[]\n"


def test_gitlab_issues() -> None:
    issues = json.loads(gitlab.render(RICH, CONTEXT))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 8
    assert [issue["severity"] for issue in issues] == [
        *("blocker", "blocker", "minor", "minor", "critical", "major", "major", "major"),
    ]
    (issue,) = json.loads(gitlab.render(PLAIN, CONTEXT))
    del issue["fingerprint"]
    assert issue == {
        "description": "JT104 float() fetches loss and waits for the device",
        "check_name": "JT104",
        "severity": "major",
        "location": {
            "path": "src/train.py",
            "positions": {"begin": {"line": 4, "column": 14}, "end": {"line": 4, "column": 25}},
        },
    }


@pytest.mark.parametrize(
    ("report", "tests", "failures", "errors"), [(EMPTY, 1, 0, 0), (PLAIN, 1, 1, 0), (RICH, 8, 6, 2)]
)
def test_junit_counts_agree_with_the_cases(report: Report, tests: int, failures: int, errors: int) -> None:
    root = ET.fromstring(junit.render(report, CONTEXT))
    assert root.tag == "testsuites"
    cases = root.findall("testsuite/testcase")
    assert (len(cases), len(root.findall(".//failure")), len(root.findall(".//error"))) == (tests, failures, errors)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == (str(tests), str(failures), str(errors))
    for suite in root:
        assert int(suite.get("tests", "")) == len(suite)
        assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))


def test_junit_a_case() -> None:
    root = ET.fromstring(junit.render(PLAIN, CONTEXT))
    case = root.find("testsuite/testcase")
    assert case is not None
    assert case.attrib == {"name": "JT104 src/train.py:4:14", "classname": "src/train.py"}
    failure = case.find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "float() fetches loss and waits for the device", "type": "JT104"}
    assert failure.text == (
        "src/train.py:4:14: JT104 float() fetches loss and waits for the device\n"
        "src/train.py:1:1: step is compiled by jax.jit\n"
        "src/train.py:3:5: loss comes from step"
    )

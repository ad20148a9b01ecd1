"""The format `junit`: JUnit XML, one suite a file, one failed case a finding."""

import xml.etree.ElementTree as ET
from itertools import groupby

from jaxlint.findings import FileError, Finding, Report
from jaxlint.report.context import Context, escape, place


def render(report: Report, context: Context) -> str:
    """One document. With nothing to report it holds one passed case, because many readers refuse an empty one."""
    root = ET.Element("testsuites", name="jaxlint")
    by_path = groupby(report.findings, key=lambda finding: finding.span.path)
    suites = [(path, list(findings)) for path, findings in by_path]
    for error in report.errors:
        _case(_suite(root, error.path, failures=0, errors=1), _place(error), "error", error.message, "jaxlint")
    for path, findings in suites:
        suite = _suite(root, path, failures=len(findings), errors=0, tests=len(findings))
        for finding in findings:
            span = finding.span
            where = place(span.path, span.line, span.column, span.cell)
            _case(suite, where, "failure", finding.message, finding.code, _notes(finding))
    if not suites and not report.errors:
        ET.SubElement(
            _suite(root, "jaxlint", failures=0, errors=0), "testcase", name="no findings", classname="jaxlint"
        )
    root.set("tests", str(max(1, len(report.findings) + len(report.errors))))
    root.set("failures", str(len(report.findings)))
    root.set("errors", str(len(report.errors)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, name: str, *, failures: int, errors: int, tests: int = 1) -> ET.Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors), "skipped": "0"}
    return ET.SubElement(root, "testsuite", {"name": escape(name), "package": "jaxlint", **counts})


def _case(suite: ET.Element, where: str, outcome: str, message: str, code: str, text: str = "") -> None:
    case = ET.SubElement(suite, "testcase", name=f"{code} {where}", classname=suite.get("name", ""))
    failure = ET.SubElement(case, outcome, message=escape(message), type=code)
    failure.text = f"{where}: {code} {escape(message)}{text}"


def _notes(finding: Finding) -> str:
    return "".join(
        f"\n{place(note.path, note.line, note.column, note.cell)}: {escape(note.message)}" for note in finding.notes
    )


def _place(error: FileError) -> str:
    return place(error.path, error.line, error.column, error.cell)

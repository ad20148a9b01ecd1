"""The format `junit`: JUnit XML, one suite a file, one failed case a finding."""

import xml.etree.ElementTree as ET
from itertools import groupby

from jaxlint.findings import FileError, Finding, Report
from jaxlint.report.context import Context, escape, full_message, place
from jaxlint.report.verdicts import is_refuted


def render(report: Report, context: Context) -> str:
    """One document. With nothing to report it holds one passed case, because many readers refuse an empty one."""
    root = ET.Element("testsuites", name="jaxlint")
    in_order = sorted(report.findings, key=lambda finding: finding.order)
    by_path = groupby(in_order, key=lambda finding: finding.span.path)
    suites = [(path, list(findings)) for path, findings in by_path]
    for error in report.errors:
        _case(_suite(root, error.path, 0, 1), _place(error), "error", error.message, "jaxlint")
    for path, findings in suites:
        refuted = sum(map(is_refuted, findings))
        suite = _suite(root, path, len(findings) - refuted, 0, tests=len(findings), skipped=refuted)
        for finding in findings:
            span = finding.span
            where = place(span.path, span.line, span.column, span.cell)
            outcome = "skipped" if is_refuted(finding) else "failure"
            _case(suite, where, outcome, full_message(finding), finding.code, _notes(finding))
    if not suites and not report.errors:
        ET.SubElement(_suite(root, "jaxlint", 0, 0), "testcase", name="no findings", classname="jaxlint")
    root.set("tests", str(max(1, len(report.findings) + len(report.errors))))
    root.set("failures", str(len(report.findings) - sum(map(is_refuted, report.findings))))
    root.set("errors", str(len(report.errors)))
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, name: str, failures: int, errors: int, *, tests: int = 1, skipped: int = 0) -> ET.Element:
    counts = {"tests": str(tests), "failures": str(failures), "errors": str(errors), "skipped": str(skipped)}
    return ET.SubElement(root, "testsuite", {"name": escape(name), "package": "jaxlint", **counts})


def _case(suite: ET.Element, where: str, outcome: str, message: str, code: str, text: str = "") -> None:
    case = ET.SubElement(suite, "testcase", name=f"{code} {where}", classname=suite.get("name", ""))
    attributes = {"message": escape(message)} | ({} if outcome == "skipped" else {"type": code})
    failure = ET.SubElement(case, outcome, attributes)
    failure.text = f"{where}: {code} {escape(message)}{text}"


def _notes(finding: Finding) -> str:
    return "".join(
        f"\n{place(note.path, note.line, note.column, note.cell)}: {escape(note.message)}" for note in finding.notes
    )


def _place(error: FileError) -> str:
    return place(error.path, error.line, error.column, error.cell)

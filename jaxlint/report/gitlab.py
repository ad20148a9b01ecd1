"""The format `gitlab`: a Code Quality report."""

import hashlib
import json
from collections.abc import Mapping

from jaxlint.findings import FileError, Finding, Report
from jaxlint.report.context import Context, Severity, fingerprints, full_message, severity
from jaxlint.report.verdicts import is_refuted

SEVERITIES = {Severity.NOTE: "minor", Severity.WARNING: "major", Severity.ERROR: "critical"}


def render(report: Report, context: Context) -> str:
    """A list of issues: the files that could not be checked, then the findings."""
    found = zip(report.findings, fingerprints(report, context), strict=True)
    issues = [*map(_error, report.errors), *(_finding(finding, digest) for finding, digest in found)]
    return json.dumps(issues, indent=1) + "\n"


def _finding(finding: Finding, digest: str) -> Mapping[str, object]:
    span = finding.span
    cell = "" if span.cell is None else f" (cell {span.cell})"
    return {
        "description": f"{finding.code} {full_message(finding)}{cell}",
        "check_name": finding.code,
        "fingerprint": digest,
        "severity": "info" if is_refuted(finding) else SEVERITIES[severity(finding)],
        "location": {
            "path": span.path,
            "positions": {
                "begin": {"line": span.line, "column": span.column},
                "end": {"line": span.end_line, "column": span.end_column},
            },
        },
    }


def _error(error: FileError) -> Mapping[str, object]:
    raw = f"{error.path}\0{error.message}".encode("utf-8", "surrogatepass")
    begin = {"line": error.line or 1, "column": error.column or 1}
    return {
        "description": error.message,
        "check_name": "jaxlint-error",
        "fingerprint": hashlib.sha256(raw).hexdigest()[:32],
        "severity": "blocker",
        "location": {"path": error.path, "positions": {"begin": begin, "end": begin}},
    }

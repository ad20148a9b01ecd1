"""The format `json`, version 1: ``schema/jaxlint-1.schema.json`` is its contract."""

import json
from collections.abc import Mapping

from jaxlint.findings import FileError, Finding, Report, Verdict
from jaxlint.report.context import Context

VERSION = 1


def render(report: Report, context: Context) -> str:
    """One document, also with no findings. Only ASCII, so that any stream can carry it."""
    document = {
        "version": VERSION,
        "jaxlint": context.version,
        "findings": [finding_object(finding) for finding in report.findings],
        "errors": [_error(error) for error in report.errors],
        "summary": {"files": report.files, "findings": len(report.findings), "errors": len(report.errors)},
    }
    return json.dumps(document, indent=1) + "\n"


def finding_object(finding: Finding) -> Mapping[str, object]:
    """A finding in the form of the schema."""
    span, fix, verdict = finding.span, finding.fix, finding.verdict
    return {
        "code": finding.code,
        "name": finding.name,
        "direction": finding.direction,
        "path": span.path,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
        "cell": span.cell,
        "heat": finding.heat.name.lower(),
        "confidence": finding.confidence.name.lower(),
        "use": finding.use,
        "message": finding.message,
        "notes": [
            {"path": note.path, "line": note.line, "column": note.column, "cell": note.cell, "message": note.message}
            for note in finding.notes
        ],
        "fix": fix
        and {
            "safe": fix.safe,
            "description": fix.description,
            "edits": [
                {
                    "line": edit.line,
                    "column": edit.column,
                    "end_line": edit.end_line,
                    "end_column": edit.end_column,
                    "text": edit.text,
                    "cell": edit.cell,
                }
                for edit in fix.edits
            ],
        },
        "verdict": verdict and verdict_object(verdict),
    }


def verdict_object(verdict: Verdict) -> Mapping[str, object]:
    """A verdict in the form of the schema."""
    return {
        "status": verdict.status,
        "evidence": verdict.evidence,
        "backend": verdict.backend,
        "runs": verdict.runs,
        "transfers": verdict.transfers,
        "bytes": verdict.bytes,
        "message": verdict.message,
        "processes": list(verdict.processes),
    }


def _error(error: FileError) -> Mapping[str, object]:
    return {
        "path": error.path,
        "line": error.line,
        "column": error.column,
        "cell": error.cell,
        "message": error.message,
    }

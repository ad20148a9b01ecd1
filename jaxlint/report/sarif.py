"""The format `sarif`: SARIF 2.1.0, for code scanning services and editors."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from urllib.parse import quote

from jaxlint.findings import FileError, Finding, Fix, Report
from jaxlint.report.context import Context, Severity, fingerprints, full_message, heat_word, severity, source_line
from jaxlint.report.json import verdict_object
from jaxlint.report.verdicts import is_refuted
from jaxlint.rulebook import Rule
from jaxlint.sites import Note

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"
LEVELS = {Severity.NOTE: "note", Severity.WARNING: "warning", Severity.ERROR: "error"}


def render(report: Report, context: Context) -> str:
    """One run with the rules that have findings, their results, and the files that could not be checked."""
    codes = sorted({finding.code for finding in report.findings})
    digests = fingerprints(report, context)
    run = {
        "tool": {
            "driver": {
                "name": "jaxlint",
                "version": context.version,
                "rules": [_rule(code, context.rules.get(code)) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.errors,
                "toolExecutionNotifications": [_notification(error) for error in report.errors],
            }
        ],
        "results": [
            _result(finding, digest, codes, context) for finding, digest in zip(report.findings, digests, strict=True)
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def _rule(code: str, rule: Rule | None) -> Mapping[str, object]:
    if rule is None:
        return {"id": code}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": _first_sentence(rule.summary)},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.prose, "markdown": rule.text},
        "defaultConfiguration": {"enabled": rule.default},
        "properties": {"tags": ["jax", *([str(rule.direction)] if rule.direction else [])]},
    }


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:!?])\s", text, maxsplit=1)[0]


def _result(finding: Finding, digest: str, codes: Sequence[str], context: Context) -> Mapping[str, object]:
    span = finding.span
    region: dict[str, object] = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    text = source_line(context, finding)
    if text is not None:
        region["snippet"] = {"text": text}
    message = full_message(finding)
    if span.cell is not None:
        message = f"{message} (cell {span.cell}, line {span.line})"
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        **({"kind": "pass", "level": "none"} if is_refuted(finding) else {"level": LEVELS[severity(finding)]}),
        "message": {"text": message},
        "locations": [_location(span.path, region, span.cell)],
        "partialFingerprints": {"jaxlint/v1": digest},
        "properties": {"confidence": finding.confidence.name.lower()}
        | ({"heat": heat_word(finding)} if heat_word(finding) else {})
        | ({"verdict": verdict_object(finding.verdict)} if finding.verdict else {}),
    }
    # A region counts lines of the file, which a cell's lines are not.
    if finding.fix is not None and span.cell is None:
        result["fixes"] = [_fix(span.path, finding.fix)]
    if finding.notes:
        before = [_step(note) for note in finding.notes if not note.after]
        after = [_step(note) for note in finding.notes if note.after]
        here = {"location": {**_location(span.path, region, span.cell), "message": {"text": message}}}
        result["codeFlows"] = [{"threadFlows": [{"locations": [*before, here, *after]}]}]
    return result


def _fix(path: str, fix: Fix) -> Mapping[str, object]:
    replacements = [
        {
            "deletedRegion": {
                "startLine": edit.line,
                "startColumn": edit.column,
                "endLine": edit.end_line,
                "endColumn": edit.end_column,
            },
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.description if fix.safe else f"{fix.description} (unsafe)"},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }


def _step(note: Note) -> Mapping[str, object]:
    region = {"startLine": note.line, "startColumn": note.column}
    return {"location": {**_location(note.path, region, note.cell), "message": {"text": note.message}}}


def _location(path: str, region: Mapping[str, object], cell: int | None) -> dict[str, object]:
    """A place in a file. A region counts lines of the file, which a cell's lines are not: a cell is named instead."""
    physical: dict[str, object] = {"artifactLocation": _artifact(path)}
    if cell is None:
        physical["region"] = region
        return {"physicalLocation": physical}
    return {"physicalLocation": physical, "logicalLocations": [{"name": f"cell {cell}", "kind": "module"}]}


def _artifact(path: str) -> Mapping[str, object]:
    pure = PurePath(path)
    if pure.is_absolute():
        return {"uri": pure.as_uri()}
    return {"uri": quote(path.encode("utf-8", "surrogateescape")), "uriBaseId": ROOT}


def _notification(error: FileError) -> Mapping[str, object]:
    region = {} if error.line is None else {"startLine": error.line, "startColumn": error.column or 1}
    location = {
        "physicalLocation": {"artifactLocation": _artifact(error.path), **({"region": region} if region else {})}
    }
    return {"level": "error", "message": {"text": error.message}, "locations": [location]}

"""The format `sarif`: SARIF 2.1.0, for code scanning services and editors.

Keeps to what GitHub's code scanning asks for beyond the standard: every place has a whole region, every rule a level
and a severity, descriptions and tags are no longer than it reads.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from urllib.parse import quote

from jaxlint.findings import FileError, Finding, Fix, Report
from jaxlint.report.context import (
    Context,
    Severity,
    fingerprints,
    full_message,
    heat_word,
    loudest,
    severity,
    source_line,
)
from jaxlint.report.json import verdict_object
from jaxlint.report.verdicts import is_refuted
from jaxlint.rulebook import Rule
from jaxlint.sites import Note

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"
# As much as GitHub reads of a description.
DESCRIBED = 1024
# A cell's lines are not those of the file; who asks for a region in the file is shown its beginning.
TOP = {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2}
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
                "semanticVersion": context.version,
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
    level = LEVELS[loudest(code)]
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": _first_sentence(rule.summary)[:DESCRIBED]},
        "fullDescription": {"text": rule.summary[:DESCRIBED]},
        "help": {"text": rule.prose, "markdown": rule.text},
        "defaultConfiguration": {"enabled": rule.default, "level": level},
        "properties": {
            "tags": ["jax", *(["performance", str(rule.direction)] if rule.direction else [])],
            "problem.severity": level,
        },
    }


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.:!?])\s", text, maxsplit=1)[0]


def _result(finding: Finding, digest: str, codes: Sequence[str], context: Context) -> Mapping[str, object]:
    span = finding.span
    region = _region(span.line, span.column, span.end_line, span.end_column)
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
    if finding.notes:
        before = [_step(note, context) for note in finding.notes if not note.after]
        after = [_step(note, context) for note in finding.notes if note.after]
        here = {"location": {**_location(span.path, region, span.cell), "message": {"text": message}}}
        result["codeFlows"] = [{"threadFlows": [{"locations": [*before, here, *after]}]}]
    if finding.fix is not None and span.cell is None:
        result["fixes"] = [_fix(finding.fix, span.path)]
    return result


def _fix(fix: Fix, path: str) -> Mapping[str, object]:
    replacements = [
        {
            "deletedRegion": _region(edit.line, edit.column, edit.end_line, edit.end_column),
            "insertedContent": {"text": edit.text},
        }
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.description if fix.safe else f"{fix.description} (unsafe)"},
        "artifactChanges": [{"artifactLocation": _artifact(path), "replacements": replacements}],
    }


def _region(line: int, column: int, end_line: int, end_column: int) -> dict[str, object]:
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _step(note: Note, context: Context) -> Mapping[str, object]:
    """A step of the provenance: from its place to the end of the line."""
    lines = context.lines(note.path, note.cell)
    end = len(lines[note.line - 1].rstrip()) + 1 if note.line <= len(lines) else 0
    region = _region(note.line, note.column, note.line, max(end, note.column + 1))
    return {"location": {**_location(note.path, region, note.cell), "message": {"text": note.message}}}


def _location(path: str, region: Mapping[str, object], cell: int | None) -> dict[str, object]:
    """A place in a file; of a notebook the file, and the cell by name."""
    physical = {"artifactLocation": _artifact(path), "region": TOP if cell is not None else region}
    if cell is None:
        return {"physicalLocation": physical}
    return {"physicalLocation": physical, "logicalLocations": [{"name": f"cell {cell}", "kind": "module"}]}


def _artifact(path: str) -> Mapping[str, object]:
    pure = PurePath(path)
    if pure.is_absolute():
        return {"uri": pure.as_uri()}
    return {"uri": quote(path.encode("utf-8", "surrogateescape")), "uriBaseId": ROOT}


def _notification(error: FileError) -> Mapping[str, object]:
    line, column = error.line or 1, error.column or 1
    location = _location(error.path, _region(line, column, line, column + 1), error.cell)
    return {"level": "error", "message": {"text": error.message}, "locations": [location]}

"""What the editor shows of a checked document: diagnostics, the text of a hover, the actions at a place."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lsprotocol import types

from jaxlint.findings import FileError, Finding, Fix
from jaxlint.fixes.ignoring import with_ignores
from jaxlint.report.context import Severity, heat_word, severity
from jaxlint.rulebook import Rule
from jaxlint.server.places import Places
from jaxlint.server.projects import Checked
from jaxlint.source.text import SourceText

SOURCE = "jaxlint"
SEVERITIES = {
    Severity.NOTE: types.DiagnosticSeverity.Information,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.ERROR: types.DiagnosticSeverity.Error,
}
_CODE = re.compile(r"\bJT\d{3}\b")
_TOML = re.compile(r"```toml\n.*?```\n+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Document:
    """A checked document as the client knows it: its name, its way to count, and the names of other files. Of a cell,
    `cells` has the names and texts of all cells of its notebook, by number."""

    uri: str
    encoding: str
    checked: Checked
    rules: Mapping[str, Rule]
    name_of: Callable[[Path], str]
    cells: Mapping[int | None, tuple[str, SourceText]] = field(default_factory=dict)

    @property
    def places(self) -> Places:
        return Places(self.checked.source, self.encoding)

    def cell(self, number: int | None) -> tuple[str, Places]:
        """The name of a cell of the same notebook and the places in it; without a number, of the document itself."""
        uri, source = self.cells.get(number, (self.uri, self.checked.source))
        return uri, Places(source, self.encoding)


def diagnostics(document: Document) -> list[types.Diagnostic]:
    """One diagnostic a finding, and one for what cannot be parsed."""
    report = document.checked.report
    return [
        *(_error(document, error) for error in report.errors),
        *(_diagnostic(document, finding) for finding in report.findings),
    ]


def _error(document: Document, error: FileError) -> types.Diagnostic:
    return types.Diagnostic(
        range=document.places.rest_of_line(error.line or 1, error.column or 1),
        message=error.message,
        severity=types.DiagnosticSeverity.Error,
        source=SOURCE,
    )


def _diagnostic(document: Document, finding: Finding) -> types.Diagnostic:
    rule, heat = document.rules[finding.code], heat_word(finding)
    return types.Diagnostic(
        range=_range(document, finding),
        message=f"{finding.message} [{heat}]" if heat else finding.message,
        severity=SEVERITIES[severity(finding)],
        code=finding.code,
        code_description=types.CodeDescription(Path(rule.path).absolute().as_uri()),
        source=SOURCE,
        related_information=list(_related(document, finding)),
    )


def _related(document: Document, finding: Finding) -> Iterator[types.DiagnosticRelatedInformation]:
    """The steps of the provenance."""
    checked = document.checked
    for note in finding.notes:
        if note.path == checked.source.path:
            uri, places = document.cell(note.cell)
        elif note.path in checked.sources:
            location, source = checked.sources[note.path]
            uri, places = document.name_of(location), Places(source, document.encoding)
        else:
            continue
        yield types.DiagnosticRelatedInformation(
            types.Location(uri, places.rest_of_line(note.line, note.column)), note.message
        )


def hover(document: Document, position: types.Position) -> types.Hover | None:
    """The findings at a place with their provenance and pages; at a code in a comment, its page."""
    line, column = document.places.place(position)
    found = [finding for finding in document.checked.report.findings if _covers(finding, line, column)]
    if found:
        text = "\n\n---\n\n".join(_told(finding, document.rules[finding.code]) for finding in found)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), _range(document, found[0]))
    for match in _CODE.finditer(document.checked.source.line(line)):
        rule = document.rules.get(match[0])
        if rule is not None and match.start() < column <= match.end() + 1:
            where = document.places.range(line, match.start() + 1, line, match.end() + 1)
            return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, _page(rule)), where)
    return None


def _told(finding: Finding, rule: Rule) -> str:
    heat = heat_word(finding)
    lines = [f"**{finding.code}** {finding.message}{f' [{heat}]' if heat else ''}", ""]
    lines += [f"- {note.path}:{note.line}: {note.message}" for note in finding.notes]
    return "\n".join([*lines, "", _page(rule)])


def _page(rule: Rule) -> str:
    """The page without the block that is for jaxlint."""
    return _TOML.sub("", rule.text, count=1).replace("\n# ", "\n## ").strip()


def actions(document: Document, wanted: types.Range) -> list[types.CodeAction]:
    """What can be done about the findings in a range: their fixes, then the comments that silence them."""
    first, last = document.places.place(wanted.start), document.places.place(wanted.end)
    found = [finding for finding in document.checked.report.findings if _touches(finding, first, last)]
    fixes = [
        _action(document, finding, finding.fix.description + ("" if finding.fix.safe else " (unsafe)"), finding.fix)
        for finding in found
        if finding.fix is not None
    ]
    ignores = [
        _action(document, finding, finding.fix.description, replace(finding.fix, safe=False))
        for finding in with_ignores(found, document.checked.source, "")
        if finding.fix is not None
    ]
    return fixes + ignores


def _action(document: Document, finding: Finding, title: str, fix: Fix) -> types.CodeAction:
    changes: dict[str, list[types.TextEdit]] = {}
    for edit in fix.edits:
        uri, places = document.cell(edit.cell)
        where = places.range(edit.line, edit.column, edit.end_line, edit.end_column)
        changes.setdefault(uri, []).append(types.TextEdit(where, edit.text))
    return types.CodeAction(
        title=f"jaxlint: {title}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[_diagnostic(document, finding)],
        is_preferred=fix.safe or None,
        edit=types.WorkspaceEdit(changes=changes),
    )


def _range(document: Document, finding: Finding) -> types.Range:
    span = finding.span
    return document.places.range(span.line, span.column, span.end_line, span.end_column)


def _covers(finding: Finding, line: int, column: int) -> bool:
    span = finding.span
    return (span.line, span.column) <= (line, column) <= (span.end_line, span.end_column)


def _touches(finding: Finding, first: tuple[int, int], last: tuple[int, int]) -> bool:
    span = finding.span
    return first <= (span.end_line, span.end_column) and (span.line, span.column) <= last

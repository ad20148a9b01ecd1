"""The format `text`: for people at a terminal. A headline, the source line with the place marked, the provenance."""

import unicodedata
from collections.abc import Iterator

from jaxlint.findings import Finding, Report
from jaxlint.report.concise import headline
from jaxlint.report.context import Context, escape, place, source_line
from jaxlint.report.verdicts import in_words, is_refuted

WIDTH = 160
LEAD = 40
TAB = "    "


def render(report: Report, context: Context) -> str:
    """Every finding as a block of lines, with an empty line between two blocks."""
    standing = [finding for finding in report.findings if not is_refuted(finding)]
    refuted = [finding for finding in report.findings if is_refuted(finding)]
    blocks = ["".join(line + "\n" for line in _block(finding, context)) for finding in (*standing, *refuted)]
    if refuted:
        blocks.insert(len(standing), f"Refuted by running, and not counted ({len(refuted)}):\n")
    return "\n".join(blocks)


def _block(finding: Finding, context: Context) -> Iterator[str]:
    yield headline(finding, context)
    text = source_line(context, finding)
    gutter = " " * len(str(finding.span.line))
    if text is not None:
        shown, before, marked = _window(text, finding)
        yield f"{_dim(gutter + ' |', context)}"
        yield f"{_dim(f'{finding.span.line} |', context)} {shown}".rstrip()
        yield f"{_dim(gutter + ' |', context)} {' ' * before}{_mark('^' * marked, context)}"
    for note in finding.notes:
        yield f"{gutter} = {place(note.path, note.line, note.column, note.cell)}: {escape(note.message)}"
    if finding.verdict is not None:
        yield f"{gutter} = {escape(in_words(finding.verdict, finding.direction))}"
    if finding.fix is not None:
        unsafe = "" if finding.fix.safe else " (unsafe)"
        yield f"{gutter} = fix{unsafe}: {escape(finding.fix.description)}"


def _window(text: str, finding: Finding) -> tuple[str, int, int]:
    """The line as shown, the width before the marked part, and the width of that part; a long line is cut to fit."""
    span = finding.span
    first = min(span.column - 1, len(text))
    last = max(first, span.end_column - 1 if span.end_line == span.line else len(text.rstrip()))
    start = max(0, first - LEAD) if _width(text) > WIDTH else 0
    shown = text[start : start + WIDTH]
    before, part = text[start:first], text[first : min(last, start + WIDTH)]
    left, right = "…" if start else "", "…" if start + WIDTH < len(text) else ""
    return left + _plain(shown) + right, len(left) + _width(before), max(1, _width(part))


def _plain(text: str) -> str:
    return escape(text.replace("\t", TAB))


def _width(text: str) -> int:
    """Columns that the text takes on a terminal: wide characters two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in _plain(text)
    )


def _dim(text: str, context: Context) -> str:
    return f"\x1b[2m{text}\x1b[0m" if context.color else text


def _mark(text: str, context: Context) -> str:
    return f"\x1b[1;31m{text}\x1b[0m" if context.color else text

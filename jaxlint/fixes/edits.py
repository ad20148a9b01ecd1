"""Edits: places and texts, which of them go together, and the text that they make. Knows no syntax and no rule."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jaxlint.findings import Edit, Finding, Fix
from jaxlint.sites import Span
from jaxlint.source.text import SourceText


def edit(source: SourceText, start: int, end: int, text: str) -> Edit:
    """The replacement of the characters between two offsets."""
    return Edit(*source.place(start), *source.place(end), text)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The fixes of one file that can be made at once, with the findings that each repairs, and all their edits."""

    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...]


def choose(findings: Iterable[Finding]) -> Chosen:
    """The fixes of findings in one file, those of the first findings first, none overlapping another. What has to wait
    can be made after them."""
    taken: dict[Edit, None] = {}
    kept: list[Finding] = []
    for finding in findings:
        if finding.fix is not None and _fits(finding.fix, taken):
            taken.update(dict.fromkeys(finding.fix.edits))
            kept.append(finding)
    return Chosen(tuple(kept), tuple(taken))


def _fits(fix: Fix, taken: Iterable[Edit]) -> bool:
    new = [one for one in fix.edits if one not in set(taken)]
    return not any(_overlap(one, other) for one in new for other in taken)


def _overlap(one: Edit, other: Edit) -> bool:
    """True if two edits touch the same text, or insert at the same place: then their order would matter."""
    if one.cell != other.cell:
        return False
    begin, end = (one.line, one.column), (one.end_line, one.end_column)
    start, stop = (other.line, other.column), (other.end_line, other.end_column)
    if begin == start:
        return True
    return begin < stop and start < end


def apply(source: SourceText, edits: Sequence[Edit]) -> str:
    """The text with the edits made; they must not overlap. All other text stays as it is."""
    text = source.text
    pieces: list[str] = []
    end = len(text)
    for one in sorted(edits, key=lambda one: (one.line, one.column), reverse=True):
        start, stop = source.offset(one.line, one.column), source.offset(one.end_line, one.end_column)
        pieces += [text[stop:end], one.text]
        end = start
    pieces.append(text[:end])
    return "".join(reversed(pieces))


def moved(source: SourceText, span: Span, edits: Sequence[Edit]) -> Span:
    """Where a place of the text stands when the edits are made; it holds those that are made inside it."""
    start, end = source.offset(span.line, span.column), source.offset(span.end_line, span.end_column)
    begin, stop = start, end
    for one in edits:
        if one.cell != span.cell:
            continue
        at, until = source.offset(one.line, one.column), source.offset(one.end_line, one.end_column)
        longer = len(one.text) - (until - at)
        if until <= start:
            begin, stop = begin + longer, stop + longer
        elif until <= end:
            stop += longer
    after = SourceText(source.path, apply(source, [one for one in edits if one.cell == span.cell]))
    (line, column), (end_line, end_column) = after.place(begin), after.place(stop)
    return Span(span.path, line, column, end_line, end_column, span.cell)

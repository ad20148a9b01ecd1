"""Comments that silence findings: ``# jaxlint: ignore[CODE] reason`` at the end of the finding's logical line."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from jaxlint.findings import Edit, Finding, Fix
from jaxlint.fixes.edits import edit
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.suppressions import Word, read_suppressions
from jaxlint.source.text import SourceText

DESCRIPTION = "ignore {} here"


def with_ignores(findings: Sequence[Finding], source: SourceText, reason: str) -> list[Finding]:
    """The findings in one file, each with the comment that silences it as its fix; those of one logical line share one.
    A finding about a comment has none: the comment itself is to be mended."""
    ends = [start for kind, start, _ in marks(source.text) if kind == Mark.NEWLINE]
    present = _present(source)
    codes: dict[int, set[str]] = {}
    places: list[int | None] = []
    for finding in findings:
        start = source.offset(finding.span.line, finding.span.column)
        end = next((end for end in ends if end >= start), len(source.text))
        places.append(None if finding.operation is None else end)
        codes.setdefault(end, set()).update({finding.code} if finding.operation else ())
    out = []
    for finding, place in zip(findings, places, strict=True):
        fix = None
        if place is not None:
            named = sorted(codes[place])
            fix = Fix(DESCRIPTION.format(", ".join(named)), True, (_comment(source, place, named, reason, present),))
        out.append(replace(finding, fix=fix))
    return out


def _present(source: SourceText) -> Mapping[int, int]:
    """By line, where the list of codes of a jaxlint comment ends."""
    found: dict[int, int] = {}
    for directive in read_suppressions(source).directives:
        if directive.word is Word.IGNORE and directive.codes:
            last = directive.codes[-1].span
            found[directive.span.line] = source.offset(last.end_line, last.end_column)
    return found


def _comment(source: SourceText, end: int, codes: Iterable[str], reason: str, present: Mapping[int, int]) -> Edit:
    line = source.place(end)[0]
    if line in present:
        return edit(source, present[line], present[line], "".join(f", {code}" for code in codes))
    gap = "" if source.text[:end].endswith("  ") else "  "
    return edit(source, end, end, f"{gap}# jaxlint: ignore[{', '.join(codes)}] {reason}".rstrip())

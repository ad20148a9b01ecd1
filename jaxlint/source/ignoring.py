"""The comment that silences a finding, as an edit of its file. Decides where it must stand to be read as one."""

from jaxlint.findings import Edit
from jaxlint.sites import Span
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.suppressions import Word, read_suppressions
from jaxlint.source.text import SourceText


def ignore(source: SourceText, span: Span, code: str) -> Edit:
    """The edit after which a comment silences `code` at `span`: one code more in a comment, or a new comment."""
    first, last, taken = _statement(source, span.line)
    lines = [line for line in (span.line, span.end_line) if first <= line <= last and line not in taken] or [last]
    for directive in read_suppressions(source).directives:
        if directive.word is Word.IGNORE and directive.codes and directive.span.line in lines:
            end = directive.codes[-1].span
            return Edit(end.end_line, end.end_column, end.end_line, end.end_column, f", {code}")
    text = source.line(lines[0])
    end_column, after = len(text.rstrip()) + 1, len(text) + 1
    return Edit(lines[0], end_column, lines[0], after, f"  # jaxlint: ignore[{code}]")


def _statement(source: SourceText, line: int) -> tuple[int, int, set[int]]:
    """The first and the last line of the statement on a line, and those of its lines whose end can hold no comment:
    it lies within a string, or goes on behind a backslash."""
    at = source.line_starts[line - 1]
    begin, taken = 0, set[int]()
    end = len(source.text)
    comments: set[int] = set()
    for kind, start, stop in marks(source.text):
        if kind == Mark.NEWLINE:
            if stop > at:
                end = start
                break
            begin = stop
            taken.clear()
        elif kind == Mark.STRING:
            taken.update(range(source.place(start)[0], source.place(stop)[0]))
        elif kind == Mark.COMMENT:
            comments.add(source.place(start)[0])
    first, last = source.place(begin)[0], source.place(end)[0]
    taken.update(
        number for number in range(first, last) if number not in comments and source.line(number).endswith("\\")
    )
    return first, last, taken

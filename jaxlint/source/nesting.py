"""How deep and how large a program is, told from its text, before a parser that recurses natively may see it.

The syntax tree's parser ends the process when it runs out of stack, doubles its time with each bracket of a ``case``
and takes kilobytes for each element of a list. Never refuses what Python itself compiles, but for the last two.
"""

import re
from dataclasses import dataclass
from itertools import chain

from jaxlint.errors import SourceError
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.text import SourceText

MAX_BRACKETS = 200  # as Python: "too many nested parentheses"
MAX_CHAIN = 3000  # operators, attributes and calls within each other; Python's compiler gives up at about as many
MAX_PATTERN = 16  # nested brackets of a `case`, a brace counted twice
MAX_MARKS = 500_000  # brackets, commas, strings and lines: 1 to 2 GiB of tree

_BEARABLE_BRACKETS, _BEARABLE_CHAIN = 30, 100
_LONG_STRETCH = 600
_LINK = re.compile(r"[-+*/%@&|^~.<>]|\b(?:not|and|or|if|else|for|await|lambda|yield)\b")
_CASE = re.compile(r"^[ \t\f]*case\b", re.MULTILINE)
_ELIF = re.compile(r"^[ \t\f]*elif\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Nesting:
    """The most brackets and the most links of a chain that enclose one place; `chain` is 0 where it surely is short."""

    brackets: int
    chain: int

    @property
    def deep(self) -> bool:
        """True where an ordinary thread's stack may not do."""
        return self.brackets > _BEARABLE_BRACKETS or self.chain > _BEARABLE_CHAIN


def measure(source: SourceText) -> Nesting:
    """The nesting of a program; one that no parser should see is a SourceError with its place."""
    brackets, stretch = _scan(source, exact=False)
    links = _scan(source, exact=True)[1] if stretch > _LONG_STRETCH else 0
    elifs = source.text.count("elif")
    if elifs > _BEARABLE_CHAIN:
        elifs = len(_ELIF.findall(source.text))
    if elifs > MAX_CHAIN:
        raise SourceError(source.path, f"more than {MAX_CHAIN} elif branches in one file, not analysed")
    return Nesting(brackets, max(links, elifs))


def _scan(source: SourceText, exact: bool) -> tuple[int, int]:
    """The most nested brackets, and the most links between a statement's begin and a place in it that enclose it.

    If not exact, each character counts as a link: an upper bound that takes no look at what stands between the marks.
    """
    text, path = source.text, source.path
    has_patterns = "case" in text and _CASE.search(text) is not None
    in_pattern = has_patterns and _CASE.match(text) is not None
    enclosing: list[int] = []
    brackets = longest = links = previous = count = pattern = 0
    for kind, start, end in chain(marks(text), [(Mark.NEWLINE, len(text), len(text))]):
        count += 1
        links += len(_LINK.findall(text, previous, start)) if exact else start - previous
        previous = end
        if links > longest:
            longest = links
            if exact and links > MAX_CHAIN:
                raise SourceError(path, f"more than {MAX_CHAIN} chained operations, not analysed", *source.place(start))
        if kind == Mark.OPEN:
            enclosing.append(links)
            links += 1
            if len(enclosing) > brackets:
                brackets = len(enclosing)
                if brackets > MAX_BRACKETS:
                    message = f"more than {MAX_BRACKETS} nested brackets, not analysed"
                    raise SourceError(path, message, *source.place(start))
            if in_pattern:
                pattern += 2 if text[start] == "{" else 1
                if pattern > MAX_PATTERN:
                    raise SourceError(path, "case pattern nested too deeply, not analysed", *source.place(start))
        elif kind == Mark.CLOSE:
            links = enclosing.pop() + 1 if enclosing else 0
            pattern -= 2 if text.startswith("}", start) else 1
        elif kind == Mark.SEPARATOR:
            links = enclosing[-1] + 1 if enclosing else 0
        elif kind == Mark.STRING:
            links += 1
        elif kind == Mark.NEWLINE:
            links = pattern = 0
            in_pattern = has_patterns and _CASE.match(text, end) is not None
    if count > MAX_MARKS:
        message = f"too large to analyse: {count} brackets, commas, strings and lines, at most {MAX_MARKS}"
        raise SourceError(path, message)
    return brackets, longest

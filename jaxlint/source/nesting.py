"""How deep and how large a program is, told from its text, before a parser that recurses natively may see it.

The syntax tree's parser ends the process when it runs out of stack, doubles its time with each bracket of a ``case``
and takes kilobytes for each element of a list. Never refuses what Python itself compiles, but for the last two.
"""

import re
from itertools import chain

from jaxlint.errors import SourceError
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.text import SourceText

MAX_BRACKETS = 200  # as Python: "too many nested parentheses"
MAX_CHAIN = 3000  # operators, attributes and calls within each other; Python's compiler gives up at about as many
MAX_PATTERN = 16  # nested brackets of a `case`, a brace counted twice
MAX_TOKENS = 1_000_000  # brackets, commas, strings, lines and operators: 1 GiB of tree, of a contrived one 4

_SURELY_SMALL, _SURELY_SHORT = 1024 * 1024, 600
_LINK = re.compile(r"[-+*/%@&|^~.<>=]|\b(?:not|and|or|if|else|for|in|is|await|lambda|yield)\b")
_CASE = re.compile(r"^[ \t\f]*case\b", re.MULTILINE)
_ELIF = re.compile(r"^[ \t\f]*elif\b", re.MULTILINE)


def longest_chain(source: SourceText) -> int:
    """The most operations that enclose a place, 0 where it surely is short; a SourceError for an unbearable program."""
    text = source.text
    longest = 0
    if len(text) > _SURELY_SMALL or _scan(source, exact=False) > _SURELY_SHORT:
        longest = _scan(source, exact=True)
    if text.count("elif") > MAX_CHAIN and len(_ELIF.findall(text)) > MAX_CHAIN:
        raise SourceError(source.path, f"more than {MAX_CHAIN} elif branches in one file, not analysed")
    return longest


def _scan(source: SourceText, exact: bool) -> int:
    """The most links that enclose a place, in its statement.

    If not exact, each character counts as a link: an upper bound that takes no look at what stands between the marks.
    """
    text, path = source.text, source.path
    has_patterns = "case" in text and _CASE.search(text) is not None
    in_pattern = has_patterns and _CASE.match(text) is not None
    enclosing: list[int] = []
    brackets = longest = links = previous = tokens = pattern = 0
    for kind, start, end in chain(marks(text), [(Mark.NEWLINE, len(text), len(text))]):
        new = len(_LINK.findall(text, previous, start)) if exact else start - previous
        tokens += new + 1
        links += new
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
            enclosing.clear()
            in_pattern = has_patterns and _CASE.match(text, end) is not None
    if exact and tokens > MAX_TOKENS:
        raise SourceError(path, f"too large: more than {MAX_TOKENS} operators, brackets and lines, not analysed")
    return longest

"""Strings with replacement fields: where they and their parts stand in a text. Builds no tree, and knows no version:
a field may hold what Python 3.12 first allowed in one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jaxlint.source.lexer import FORMATTED_PREFIX, STRING

MAX_DEPTH = 150  # as Python: "too many nested f-strings"

_PREFIX = re.compile(r"(?<!\w)(?:[fFtTbB][rR]?|[rR][fFtTbB]?|[uU])\Z")
_QUOTE = r"""('{3}|"{3}|'|")"""
_COMMENT = r"\#[^\r\n]*+"
_CODE = re.compile(rf"""[^'"\#()\[\]{{}}]*+(?:{_COMMENT}|{_QUOTE}|([(\[{{])|([)\]}}])|\Z)""")
_IN_FIELD = re.compile(
    rf"""[^'"\#()\[\]{{}}:!=<>]*+(?:{_COMMENT}|{_QUOTE}|([(\[{{])|([)\]}}])|[!=<>]=|[<>]|([:!=])|\Z)"""
)
_OPEN, _CLOSE, _ENDS = 2, 3, 4
_BETWEEN = re.compile(rf"(?:\s|{_COMMENT}|\\(?:\r\n?|\n))*+")
_ON_ONE_LINE = re.compile(r"(?:[ \t\f]|\\(?:\r\n?|\n))*+")
_SPACE = re.compile(rf"(?:\s|{_COMMENT})*+")
_CONVERSION = re.compile(rf"!([rsa])(?:\s|{_COMMENT})*+")


def _stretch(ends: str, also: str, name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:[^\\{{}}{ends}]|\\(?:{name}\r\n|[^{{}}]|(?=[{{}}])){also})*+", re.DOTALL)


# Literal text, by the quote around it, whether it is raw, and whether it is a format.
_STRETCHES = {
    (quote, raw, in_format): _stretch(
        ends, also + ("" if in_format else r"|\{\{|\}\}"), "" if raw else r"N\{[^{}\r\n]*+\}|"
    )
    for quote, ends, also in (
        ("'", r"'\r\n", ""),
        ('"', r'"\r\n', ""),
        ("'''", "'", "|'(?!'')"),
        ('"""', '"', '|"(?!"")'),
    )
    for raw in (False, True)
    for in_format in (False, True)
}


class Unreadable(Exception):
    """There is no string, or not all of it, at the offset `at`."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


@dataclass(frozen=True, slots=True)
class Literal:
    """A stretch of text that stands for itself."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class Format:
    """What stands behind the colon of a field, with the colon."""

    begin: int
    end: int
    parts: "tuple[Part, ...]"


@dataclass(frozen=True, slots=True)
class Field:
    """A replacement field, from brace to brace. Its expression stands from `start` to `stop`; with an equals sign it
    shows the text from `start` to `shown`, which else is nought."""

    begin: int
    start: int
    stop: int
    shown: int
    conversion: str
    format: Format | None
    end: int


Part = Literal | Field


@dataclass(frozen=True, slots=True)
class String:
    """A string. `parts` is None where it can have no fields."""

    begin: int
    end: int
    quote: str
    raw: bool
    parts: tuple[Part, ...] | None


def runs(text: str, start: int, stop: int, *, bracketed: bool, depth: int = 0) -> Iterator[list[String]]:
    """Strings side by side, which are one to Python, where any of them may have fields. `bracketed` tells that the code
    from `start` to `stop` is within brackets, so that the end of a line parts nothing."""
    run: list[String] = []
    position, brackets = start, int(bracketed)
    while position < stop:
        match = _CODE.match(text, position, stop)
        assert match is not None
        position, kind = match.end(), match.lastindex
        if kind is None:
            continue
        if kind == _OPEN:
            brackets += 1
        elif kind == _CLOSE:
            brackets -= brackets > 0
        else:
            string = _string(text, match.start(kind), depth)
            between = _BETWEEN if brackets else _ON_ONE_LINE
            if run and not between.fullmatch(text, run[-1].end, string.begin):
                if _is_formatted(run):
                    yield run
                run = []
            run.append(string)
            position = string.end
    if _is_formatted(run):
        yield run


def _is_formatted(run: list[String]) -> bool:
    return any(string.parts is not None for string in run)


def _string(text: str, at: int, depth: int) -> String:
    """The string whose opening quote is at an offset."""
    before = text[max(at - 3, 0) : at]
    prefix = _PREFIX.search(before)
    begin = at - len(prefix.group()) if prefix else at
    raw = "r" in text[begin:at].lower()
    quote = text[at : at + 3] if text[at : at + 3] in ("'''", '"""') else text[at]
    if FORMATTED_PREFIX.search(before):
        parts, end = _parts(text, at + len(quote), (quote, raw), False, depth)
    else:
        string = STRING.match(text, at)
        parts, end = None, (string.end() if string else at) - len(quote)
    if end < at + len(quote) or not text.startswith(quote, end):
        raise Unreadable(begin)
    return String(begin, end + len(quote), quote, raw, parts)


def _parts(text: str, at: int, style: tuple[str, bool], in_format: bool, depth: int) -> tuple[tuple[Part, ...], int]:
    """The parts of a string or a format from an offset on, and where they end."""
    if depth > MAX_DEPTH:
        raise Unreadable(at)
    parts: list[Part] = []
    while True:
        stretch = _STRETCHES[*style, in_format].match(text, at)
        assert stretch is not None
        if stretch.end() > at:
            parts.append(Literal(at, stretch.end()))
        at = stretch.end()
        if not text.startswith("{", at):
            return tuple(parts), at
        field = _field(text, at, style, depth + 1)
        parts.append(field)
        at = field.end


def _field(text: str, begin: int, style: tuple[str, bool], depth: int) -> Field:
    start, stop = begin + 1, _end_of_expression(text, begin + 1, depth)
    at, shown, conversion, spec = stop, 0, "", None
    if text[at] == "=":
        at = shown = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]  # matches nothing, too
    converted = _CONVERSION.match(text, at)
    if converted:
        at, conversion = converted.end(), converted[1]
    if text.startswith(":", at):
        parts, end = _parts(text, at + 1, style, True, depth)
        spec, at = Format(at, end, parts), end
    if not text.startswith("}", at):
        raise Unreadable(at)
    return Field(begin, start, stop, shown, conversion, spec, at + 1)


def _end_of_expression(text: str, start: int, depth: int) -> int:
    position, brackets = start, 0
    while position < len(text):
        match = _IN_FIELD.match(text, position)
        assert match is not None
        position, kind = match.end(), match.lastindex
        if kind is None:
            continue
        at = match.start(kind)
        if kind == _OPEN:
            brackets += 1
        elif kind in (_ENDS, _CLOSE):
            if not brackets:
                if kind == _CLOSE and text[at] != "}":
                    raise Unreadable(at)
                return at
            brackets -= kind == _CLOSE
        else:
            position = _string(text, at, depth).end
    raise Unreadable(start)

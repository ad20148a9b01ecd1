"""The few marks of Python's text that tell comments, strings, brackets and logical lines apart. Never builds a tree.

Quick, and works on any text, also one that Python refuses: an unclosed string ends with its line (a triple-quoted one
with the text), a closing bracket without an opening one is passed over.
"""

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple


class Mark(IntEnum):
    """What a mark is. A NEWLINE ends a logical line; one inside brackets or after a backslash is no mark."""

    NEWLINE = 1
    OPEN = 2  # also the brace that opens a replacement field of an f-string
    CLOSE = 3
    SEPARATOR = 4  # a comma or a semicolon
    COMMENT = 5
    STRING = 6  # a whole string; of an f-string or t-string each stretch of literal text


_QUOTE = 7
_COLON = 8

_PLAIN_STRING = r"""(?:
    '{3}[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+(?:'{3}|\Z) | "{3}[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+(?:"{3}|\Z)
    | '(?!'')[^'\\\r\n]*+(?:\\(?:\r\n|.)[^'\\\r\n]*+)*+'? | "(?!"")[^"\\\r\n]*+(?:\\(?:\r\n|.)[^"\\\r\n]*+)*+"?
)"""
# A match takes the dull text before a mark with it, and the last alternatives leave nothing that could fail: the
# expression never starts anew at a character that begins no mark, which makes it several times as fast.
_CODE = r"""[^%s]*+(?:
    (\r\n?|\n) | ([(\[{]) | ([)\]}]) | ([,;]) | (\#[^\r\n]*) | (?<![fFtT])(?<![fFtT][rR])(%s) | ('{3}|"{3}|'|")
    %s | \\(?:\r\n?|\n)? | \Z
)"""
_DULL_ENDS = r"""\#"'(\[{)\]},;\r\n\\"""
_TOP_LEVEL = re.compile(_CODE % (_DULL_ENDS, _PLAIN_STRING, ""), re.VERBOSE | re.DOTALL)
_IN_FIELD = re.compile(_CODE % (_DULL_ENDS + ":", _PLAIN_STRING, "| (:)"), re.VERBOSE | re.DOTALL)
STRING = re.compile(_PLAIN_STRING, re.VERBOSE | re.DOTALL)
FORMATTED_PREFIX = re.compile(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")


def _stretch(dull_ends: str, also: str) -> re.Pattern[str]:
    return re.compile(rf"(?:[^\\{dull_ends}]|\\(?:\r\n|[^{{}}]|(?=[{{}}])|\Z){also})*+", re.DOTALL)


_LITERAL = {
    "'": _stretch(r"'\r\n{", r"|\{\{"),
    '"': _stretch(r'"\r\n{', r"|\{\{"),
    "'''": _stretch("'{", r"|\{\{|'(?!'')"),
    '"""': _stretch('"{', r'|\{\{|"(?!"")'),
}
_SPECIFICATION = {
    "'": _stretch(r"'\r\n{}", ""),
    '"': _stretch(r'"\r\n{}', ""),
    "'''": _stretch("'{}", "|'(?!'')"),
    '"""': _stretch('"{}', '|"(?!"")'),
}


class _Field(NamedTuple):
    """An open replacement field: its string's quote, whether it stands in a format specification, the depth outside."""

    quote: str
    nested: bool
    depth: int


def marks(text: str, start: int = 0) -> Iterator[tuple[int, int, int]]:
    """The marks from `start` (which must be code, outside brackets) on: a Mark, its first offset and its end."""
    fields: list[_Field] = []
    depth, position = 0, start
    while position < len(text):
        quote, in_specification = "", False
        for match in (_IN_FIELD if fields else _TOP_LEVEL).finditer(text, position):
            kind = match.lastindex
            if kind is None:
                continue
            at, position = match.span(kind)
            if kind == Mark.NEWLINE:
                if depth or fields:
                    continue
            elif kind == Mark.OPEN:
                depth += 1
            elif kind == Mark.CLOSE:
                if depth:
                    depth -= 1
                elif fields and text[at] == "}":
                    yield kind, at, position
                    quote, in_specification, depth = fields.pop()
                    break
                else:
                    continue
            elif kind == _QUOTE:
                if FORMATTED_PREFIX.search(text[max(at - 3, 0) : at]):
                    quote = match.group(kind)
                    break
                string = STRING.match(text, at)
                position = string.end() if string else position
                yield Mark.STRING, at, position
                break
            elif kind == _COLON:
                if depth:
                    continue
                quote, in_specification = fields[-1].quote, True
                break
            yield kind, at, position
        else:
            return
        while quote:
            stretch = (_SPECIFICATION if in_specification else _LITERAL)[quote].match(text, position)
            end = stretch.end() if stretch else position
            yield Mark.STRING, position, end
            position = end + 1
            if text.startswith("{", end):
                yield Mark.OPEN, end, position
                fields.append(_Field(quote, in_specification, depth))
                quote, depth = "", 0
            elif in_specification and text.startswith("}", end):
                yield Mark.CLOSE, end, position
                quote, in_specification, depth = fields.pop()
            else:
                while in_specification:
                    yield Mark.CLOSE, end, end
                    _, in_specification, depth = fields.pop()
                position = end + len(quote) if text.startswith(quote, end) else end
                quote = ""

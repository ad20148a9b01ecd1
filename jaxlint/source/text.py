"""The text of a source file and its positions. Decodes bytes as Python does and encodes them back byte for byte.

The one place that converts between character columns and UTF-8 byte columns. Never changes a line ending, never parses.
"""

import codecs
import os
import re
import stat
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jaxlint.errors import SourceError
from jaxlint.sites import Span

MAX_BYTES = 16 * 1024 * 1024
LINE_END = re.compile(r"\r\n?|\n")
_DECLARATION = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_EDITORS_LINE_END = re.compile(r"-(?:unix|dos|mac)\Z")
# Python would take them; they know no replacement of what they cannot read, and one takes hours for a large file.
_OF_HOST_NAMES = ("idna", "punycode")
_BLANK_OR_COMMENT = re.compile(rb"[ \t\f]*(?:#|$)")


@dataclass(frozen=True)
class SourceText:
    """A decoded file. `path` is how it is shown; lines end at ``\\n``, ``\\r\\n`` and ``\\r`` alone, as Python counts.

    `exact` is False where even unchanged text would be encoded to other bytes (some stateful encodings).
    """

    path: str
    text: str
    encoding: str = "utf-8"
    bom: bool = False
    exact: bool = True

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The offset of the first character of each line; after a final newline there is one more, empty line."""
        return (0, *(match.end() for match in LINE_END.finditer(self.text)))

    @cached_property
    def newline(self) -> str:
        """The file's first line ending: what an inserted line should end with."""
        match = LINE_END.search(self.text)
        return match.group() if match else "\n"

    def line(self, line: int) -> str:
        """The text of a line, counted from 1, without its ending."""
        starts = self.line_starts
        if not 1 <= line <= len(starts):
            raise ValueError(f"{self.path} has no line {line}")
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

    def place(self, offset: int) -> tuple[int, int]:
        """The line and the column, both from 1, of the character at an offset in `text`."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The offset in `text` of a line and column, both from 1; a column beyond the line's end is the line's end."""
        return self.line_starts[line - 1] + min(max(column - 1, 0), len(self.line(line)))

    def byte_column(self, line: int, column: int) -> int:
        """The column of a character (from 1) as ``ast`` and ``co_positions`` count it: UTF-8 bytes from 0."""
        before = self.line(line)[: max(column - 1, 0)]
        return len(before) if before.isascii() else len(before.encode("utf-8", "surrogatepass"))

    def character_column(self, line: int, byte_column: int) -> int:
        """The column in characters (from 1) of a UTF-8 byte column (from 0); a byte inside a character is that one."""
        text = self.line(line)
        if text.isascii():
            return min(max(byte_column, 0), len(text)) + 1
        before = text.encode("utf-8", "surrogatepass")[: max(byte_column, 0) + 1]
        # A byte that continues a character belongs to it, so the characters are counted by their first bytes.
        starts = sum(byte & 0xC0 != 0x80 for byte in before)
        return starts + (len(before) <= byte_column) if byte_column >= 0 else 1

    def excerpt(self, span: Span) -> str:
        """The source line on which a span begins, for a report."""
        return self.line(span.line)

    def encode(self, text: str) -> bytes:
        """`text` as this file's bytes. A character that the file's encoding lacks is a SourceError."""
        try:
            data = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            line, column = SourceText(self.path, text).place(error.start)
            character = f"U+{ord(text[error.start]):04X}"
            message = f"the file's encoding {self.encoding!r} has no character {character}"
            raise SourceError(self.path, message, line, column) from None
        return codecs.BOM_UTF8 + data if self.bom else data


def read_source(location: Path, path: str | None = None) -> SourceText:
    """The text of the file at `location`, shown as `path`. Whatever is wrong with it is a SourceError."""
    shown = location.as_posix() if path is None else path
    return decode_source(read_bytes(location, shown), shown)


def read_bytes(location: Path, path: str) -> bytes:
    """The bytes of a file of bearable size. Whatever is wrong with it is a SourceError."""
    try:
        with open(location, "rb", opener=_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SourceError(path, "not a regular file")
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError(path, f"cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise SourceError(path, f"larger than {MAX_BYTES // 1024 // 1024} MiB, not read")
    return data


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file. One that has become a pipe since it was found would keep us until somebody writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def decode_source(data: bytes, path: str) -> SourceText:
    """The text of a file's bytes: byte order mark, PEP 263 declaration in line 1 or 2, else UTF-8."""
    bom = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if bom else data
    encoding = _declared_encoding(body, bom, path)
    try:
        with warnings.catch_warnings():
            # Some encodings warn of what they read.
            warnings.simplefilter("ignore")
            text = body.decode(encoding)
    except UnicodeDecodeError as error:
        raise _undecodable(path, body, encoding, error.start) from None
    except (LookupError, UnicodeError) as error:
        raise SourceError(path, f"encoding {encoding!r} cannot be used: {error}", 1, 1) from None
    # UTF-8 has one encoding for each text; others may not.
    exact = encoding == "utf-8" or _encodes_to(text, encoding, body)
    return checked_source(SourceText(path, text, encoding, bom, exact))


def checked_source(source: SourceText) -> SourceText:
    """The source itself; one that holds what no Python source may hold is a SourceError."""
    null = source.text.find("\0")
    if null >= 0:
        raise SourceError(source.path, "source code cannot contain null bytes", *source.place(null))
    return source


def _declared_encoding(body: bytes, bom: bool, path: str) -> str:
    for line, text in enumerate(re.split(rb"\r\n?|\n", body, maxsplit=2)[:2], 1):
        declared = _DECLARATION.match(text)
        if declared is None:
            if _BLANK_OR_COMMENT.match(text):
                continue
            break
        name = declared.group(1).decode("ascii")
        normal = _EDITORS_LINE_END.sub("", name)
        try:
            found = codecs.lookup(normal).name
        except (LookupError, ValueError):
            raise SourceError(path, f"unknown encoding {name!r}", line, declared.start(1) + 1) from None
        if found in _OF_HOST_NAMES:
            message = f"encoding {name!r} is one of host names, not read as source code"
            raise SourceError(path, message, line, declared.start(1) + 1)
        if found.startswith("utf-8"):
            break
        if bom:
            message = f"declares the encoding {name!r} but begins with a UTF-8 byte order mark"
            raise SourceError(path, message, line, declared.start(1) + 1)
        return normal
    return "utf-8"


def _undecodable(path: str, body: bytes, encoding: str, start: int) -> SourceError:
    before = SourceText(path, body[:start].decode(encoding, "replace"))
    message = f"byte 0x{body[start]:02x} is not {encoding}"
    if encoding == "utf-8":
        message += " and no other encoding is declared"
    return SourceError(path, message, *before.place(len(before.text)))


def _encodes_to(text: str, encoding: str, body: bytes) -> bool:
    try:
        return text.encode(encoding) == body
    except (LookupError, UnicodeError):
        return False

"""The form of a page: its headings, its toml block and its programs, with the line of whatever is wrong."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxlint.errors import UserError

_CODE = re.compile(r"\bJT\d{3}\b")
_TOML_LINE = re.compile(r" \(at line (\d+), column \d+\)")


@dataclass(frozen=True, slots=True)
class Example:
    """A program of a page: its text, the page's line on which it begins, and the codes marked on its lines (from 1)."""

    text: str
    page_line: int
    marks: tuple[tuple[int, str], ...]

    def lines(self, code: str) -> tuple[int, ...]:
        """The lines of the program that are marked with `code`."""
        return tuple(line for line, marked in self.marks if marked == code)


def wrong(path: str, line: int, message: str) -> UserError:
    """The error of a page that is not of the form."""
    return UserError(f"{path}:{line}: {message}")


def heading(lines: Sequence[str], heading: str, path: str) -> int:
    """The index of the one line that is this heading."""
    places = [number for number, line in enumerate(lines) if line.rstrip() == heading]
    if len(places) != 1:
        raise wrong(path, places[1] + 1 if places else len(lines), f"there must be one heading `{heading}`")
    return places[0]


def block(lines: Sequence[str], language: str, start: int, end: int, path: str) -> tuple[int, int]:
    """The first and the last-but-one line index of the only fenced block of a language between two lines."""
    opened = [number for number in range(start, end) if lines[number].rstrip() == f"```{language}"]
    if len(opened) != 1:
        place = opened[1] if opened else start
        raise wrong(path, place + 1, f"there must be one ```{language} block here, not {len(opened)}")
    for number in range(opened[0] + 1, end):
        if lines[number].rstrip() == "```":
            return opened[0] + 1, number
    raise wrong(path, opened[0] + 1, "this block is never closed")


def example(lines: Sequence[str], start: int, end: int, path: str) -> Example:
    """The one program between two lines, with its marks."""
    first, last = block(lines, "python", start, end, path)
    program = lines[first:last]
    marks = tuple(
        (number, code)
        for number, line in enumerate(program, 1)
        if "#" in line
        for code in _CODE.findall(line[line.rindex("#") :])
    )
    return Example("\n".join(program) + "\n", first + 1, marks)


def toml(text: str, path: str, start: int) -> dict[str, object]:
    """A toml block, parsed; `start` is the line before it."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = _TOML_LINE.search(str(error))
        line = start + (int(place[1]) if place else 1)
        raise wrong(path, line, f"the toml block is not valid: {_TOML_LINE.sub('', str(error))}") from None


@dataclass(frozen=True, slots=True)
class Table:
    """A toml table of a page and what is needed to name the line of a wrong key."""

    values: Mapping[str, object]
    path: str
    lines: Sequence[str]
    start: int

    def wrong(self, key: str, message: str) -> UserError:
        """The error of a key, at its line."""
        for number in range(self.start, len(self.lines)):
            if re.match(rf"\s*\[*{re.escape(key)}\b", self.lines[number]):
                return wrong(self.path, number + 1, message)
        return wrong(self.path, self.start + 1, message)

    def only(self, allowed: set[str]) -> None:
        """Refuse every other key."""
        for key in self.values:
            if key not in allowed:
                raise self.wrong(key, f"unknown key {key!r}; the keys here are {', '.join(sorted(allowed))}")

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, f"{key!r} must be a string")
        return value

    def word(self, key: str, allowed: Sequence[str], default: str) -> str:
        """One of the allowed words."""
        value = self.text(key, default)
        if key in self.values and value not in allowed:
            raise self.wrong(key, f"{key} = {value!r} must be one of {', '.join(allowed)}")
        return value

    def words(self, key: str) -> tuple[str, ...]:
        """A string or a list of strings."""
        value = self.values.get(key, [])
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise self.wrong(key, f"{key!r} must be a string or a list of strings")
        return tuple(str(item) for item in items)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.values.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, f"{key!r} must be true or false")
        return value

    def tables(self, key: str) -> list["Table"]:
        """The blocks of a key that is written in double brackets."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, f"{key!r} must be written [[{key}]]")
        return [Table(item, self.path, self.lines, self.start) for item in value]

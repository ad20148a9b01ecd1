"""Configuration files: which one holds, its jaxlint table, and the line on which something in it stands.

Knows TOML and file names, and no key of jaxlint's own: what the keys mean is said in `settings`.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from jaxlint.errors import UserError

OWN_FILE = "jaxlint.toml"
SHARED_FILE = "pyproject.toml"
SHARED_TABLE = ("tool", "jaxlint")

_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
MAX_PARTS = 100
_DEEP_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}")
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration file's jaxlint table. `shown` is the path for messages; `path` is None where no file holds."""

    path: Path | None = None
    shown: str = ""
    table: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    prefix: tuple[str, ...] = ()

    def place(self, keys: Sequence[str], value: str | None = None) -> str:
        """``file:line`` of a key, or of a string among its values; ``file`` alone where the text does not tell."""
        line = _line_of(self.text, (*self.prefix, *keys), value)
        return self.shown if line is None else f"{self.shown}:{line}"


@dataclass(frozen=True, slots=True)
class Table:
    """Typed reading of one table of a configuration file; a wrong value is an error that names its line."""

    found: Configuration
    path: tuple[str, ...] = ()

    @property
    def values(self) -> Mapping[str, object]:
        """The table itself; an absent one is empty."""
        values: Mapping[str, object] = self.found.table
        for index, name in enumerate(self.path):
            inner = values.get(name, {})
            if not isinstance(inner, Mapping):
                raise self._wrong(self.path[: index + 1], "a table", inner)
            values = inner
        return values

    def place(self, key: str, value: str | None = None) -> str:
        """``file:line`` of a key of this table, or of a string in its value."""
        return self.found.place((*self.path, key), value)

    def close(self, names: Sequence[str]) -> None:
        """Refuses a key that is not one of `names`."""
        for key in self.values:
            if key not in names:
                table = ".".join((*self.found.prefix, *self.path))
                where = f"[{table}]" if table else self.found.shown
                rest = nearest(key, names, "the keys are " + ", ".join(names))
                if key == SHARED_TABLE[0] and not table:
                    rest = ": in this file the keys stand at the top, outside of any table"
                raise UserError(f'{self.place(key)}: unknown key "{key}" in {where}{rest}')

    def strings(self, key: str) -> tuple[str, ...] | None:
        """A list of strings; None where the key is not given."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(key, "a list of strings")
        return tuple(value)

    def boolean(self, key: str, default: bool) -> bool:
        """A boolean."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def string(self, key: str, default: str) -> str:
        """A string."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of a few strings."""
        value = self.string(key, default)
        if value not in choices:
            rest = nearest(value, choices, "it is one of " + ", ".join(choices))
            raise UserError(f'{self.place(key)}: "{self._name(key)}" cannot be "{value}"{rest}')
        return value

    def seconds(self, key: str, default: float) -> float:
        """A positive, finite number."""
        value = self.values.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
            raise self.wrong(key, "a number of seconds above zero")
        return float(value)

    def wrong(self, key: str, wanted: str) -> UserError:
        """The error of a value that is not what is wanted."""
        return self._wrong((*self.path, key), wanted, self.values[key])

    def _wrong(self, keys: tuple[str, ...], wanted: str, value: object) -> UserError:
        return UserError(f'{self.found.place(keys)}: "{".".join(keys)}" must be {wanted}, not {_named(value)}')

    def _name(self, key: str) -> str:
        return ".".join((*self.path, key))


def nearest(word: str, known: Iterable[str], otherwise: str, meant: Mapping[str, str] = MappingProxyType({})) -> str:
    """``: did you mean "..."?`` or a remedy, to end a message about a name that does not exist. `meant` is what to
    write in place of some of the `known`."""
    lower = word.lower()
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(lower, by_lower, 5, 0.7)
    if not close:
        return f": {otherwise}"
    # Of equally near codes the one of the same family is meant: JT101 for JT109, not JT210.
    best = max(
        sorted(close),
        key=lambda name: (
            difflib.SequenceMatcher(None, name, lower).ratio(),
            name[:3] == lower[:3],
        ),
    )
    name = by_lower[best]
    return f': did you mean "{meant.get(name, name)}"?'


def find(start: Path) -> Configuration:
    """The nearest configuration in `start` or above it: ``jaxlint.toml``, or a ``pyproject.toml`` with our table."""
    for folder in (start, *start.parents):
        own, shared = folder / OWN_FILE, folder / SHARED_FILE
        # Of a folder that may not be looked into, `Path` would raise.
        if os.path.isfile(own):
            return _trusted(read(own), start)
        if os.path.isfile(shared):
            found = _read_shared(shared)
            if found is not None:
                return _trusted(found, start)
    return Configuration()


def _trusted(found: Configuration, start: Path) -> Configuration:
    """A configuration that was found and not named. It says what `--confirm` runs: one of a user who owns neither this
    process nor the folder from which the search began is refused, as git refuses such a repository."""
    owner = _owner(found.path) if found.path is not None else None
    if owner is not None and owner not in (0, _own_user(), _owner(start)):
        raise UserError(
            f"{found.shown}: belongs to another user (uid {owner}): if you trust it, name it by --config, "
            "otherwise give --isolated"
        )
    return found


def _own_user() -> int:
    return os.geteuid() if hasattr(os, "geteuid") else 0


def _owner(path: Path) -> int | None:
    """The user to whom a file belongs; None where files have none, and of what cannot be looked at."""
    try:
        return path.stat().st_uid
    except OSError:
        return None


def read(path: Path) -> Configuration:
    """The configuration in a file that must be one."""
    if path.name != SHARED_FILE:
        text, document = _load(path)
        return Configuration(path, shown(path), document, text)
    found = _read_shared(path)
    if found is None:
        raise UserError(f"{shown(path)}: no [tool.jaxlint] table: add one, or name another file")
    return found


def _read_shared(path: Path) -> Configuration | None:
    text, document = _load(path)
    table: object = document
    for name in SHARED_TABLE:
        if not isinstance(table, Mapping) or name not in table:
            return None
        table = table[name]
    if not isinstance(table, Mapping):
        raise UserError(f"{shown(path)}: [tool.jaxlint] must be a table")
    return Configuration(path, shown(path), table, text, SHARED_TABLE)


def _load(path: Path) -> tuple[str, dict[str, object]]:
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{shown(path)}: not UTF-8 (byte {error.start}): save the file as UTF-8") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UserError(f"{shown(path)}: cannot read the configuration: {reason}") from None
    if deep := _DEEP_KEY.search(text):
        # Python's reader takes minutes for a key with some ten thousand parts.
        line = text.count("\n", 0, deep.start()) + 1
        raise UserError(f"{shown(path)}:{line}: a key with more than {MAX_PARTS} parts, not read")
    try:
        return text, tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{shown(path)}: invalid TOML: nested too deeply") from None
    except ValueError as error:
        message = str(error)
        place = _PLACE.search(message)
        where = ""
        if place:
            message = message[: place.start()]
            where = f":{place[1]}:{place[2]}" if place[1] else f":{text.count(chr(10)) + 1}"
        raise UserError(f"{shown(path)}{where}: invalid TOML: {message}") from None


def shown(path: Path) -> str:
    """A path as messages show it: relative to the working directory where it lies below, with forward slashes."""
    relative = os.path.relpath(path) if _same_drive(path) else str(path)
    return (str(path) if relative.startswith("..") else relative).replace(os.sep, "/")


def _same_drive(path: Path) -> bool:
    return path.absolute().drive == Path.cwd().drive


def _line_of(text: str, keys: tuple[str, ...], value: str | None) -> int | None:
    """The line where a dotted key is assigned or opened as a table, by a scan: tomllib keeps no positions."""
    table: tuple[str, ...] = ()
    found: int | None = None
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if found is None:
            if header and "=" not in line.split("#")[0]:
                table = _parts(header[1])
                if table[: len(keys)] == keys:
                    found = number
            else:
                name, equals, _ = line.partition("=")
                if equals and (*table, *_parts(name))[: len(keys)] == keys:
                    found = number
        if found is not None:
            if value is None:
                return found
            if f'"{value}"' in line or f"'{value}'" in line:
                return number
    return found


def _parts(dotted: str) -> tuple[str, ...]:
    """``tool . "jaxlint"`` as ("tool", "jaxlint"). A quoted part may hold dots."""
    return tuple(
        part.strip().strip("\"'")
        for part in re.findall(r"\s*(?:\"[^\"]*\"|'[^']*'|[^.\"']+)\s*", dotted)
        if part.strip()
    )


def _named(value: object) -> str:
    """A TOML value as a message names it: a short one by itself, any other by its type."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return f'"{value}"' if len(value) < 40 else "a string"
        case list():
            return next((f"a list with {_named(item)}" for item in value if not isinstance(item, str)), "a list")
        case dict():
            return "a table"
    return "a date or time"

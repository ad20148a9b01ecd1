"""The cache: the report of a check, kept by all that it depends on, so that the same check need not be made twice.

An entry is named by a digest of jaxlint itself, the settings, the pages and the content of every file that was checked
or that one of those may import: any change of them makes another name, and nothing has to be invalidated. Entries are
JSON: reading one can run nothing. They are written whole and then renamed; one that does not read is as good as none.
Who wrote what lies there is not known: a folder is used only if it is no link and was empty or ours, nothing but
entries is removed from it, and an entry in which anything is of a wrong type is none.
"""

import enum
import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from jaxlint import __version__
from jaxlint.errors import SourceError
from jaxlint.findings import Report
from jaxlint.rulebook import Rule, rules_folder
from jaxlint.settings import Confirm, Settings
from jaxlint.source.files import SourceFile
from jaxlint.source.text import read_bytes

# More reports than a project has branches and hooks; each is small.
ENTRIES = 64
MARK = "CACHEDIR.TAG"
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n"
_ENTRY = re.compile(r"[0-9a-f]{40}\.json")
_Reader = Callable[[object], Any]
T = TypeVar("T")


class Cache:
    """The entries of one folder, for one version of jaxlint and one set of settings."""

    def __init__(self, settings: Settings, rules: Mapping[str, Rule]) -> None:
        base = settings.config.parent if settings.config is not None else Path.cwd()
        self.folder = base / settings.cache_dir
        # What becomes of a report changes nothing of what is found.
        of_findings = replace(
            settings,
            output_format="",
            cache_dir="",
            config=None,
            confirm=Confirm(),
            fixable=(),
            unfixable=(),
            unsafe_fixes=False,
            baseline=None,
        )
        self.codes = frozenset(rules)
        self.fixed = repr((__version__, sys.version_info[:2], sorted(_own_files()), of_findings, sorted(rules)))

    def name(self, files: Iterable[tuple[str, SourceFile]]) -> str | None:
        """The name of the entry for these files, each with its part in the check; None if one can not be read."""
        digest = hashlib.sha256(self.fixed.encode("utf-8", "surrogatepass"))
        for part, file in files:
            try:
                content = hashlib.sha256(read_bytes(file.location, file.path)).hexdigest()
            except SourceError:
                return None
            digest.update(f"{part}\0{file.path}\0{file.location}\0{content}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:40]

    def read(self, name: str) -> Report | None:
        """The report of an entry; None where there is none that can be read."""
        if self.folder.is_symlink():
            return None
        try:
            report: Report = _reader(Report)(json.loads((self.folder / f"{name}.json").read_bytes()))
        except (OSError, ValueError, RecursionError):
            return None
        return report if all(finding.code in self.codes for finding in report.findings) else None

    def write(self, name: str, report: Report) -> None:
        """Keeps a report. Where the folder can not be written or is somebody else's, nothing is kept or said."""
        place = self.folder / f"{name}.json"
        scratch = self.folder / f"{name}.{os.getpid()}"
        try:
            if not self._is_ours():
                return
            # Never through a link that somebody put there.
            with scratch.open("x") as file:
                json.dump(asdict(report), file)
            scratch.replace(place)
            self._drop_old()
        except (OSError, ValueError):
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def _is_ours(self) -> bool:
        """Whether the folder may be written to; an empty one is marked as a cache."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.folder.is_symlink():
            return False
        if not any(self.folder.iterdir()):
            for name, text in ((".gitignore", "*\n"), (MARK, TAG)):
                with (self.folder / name).open("x") as file:
                    file.write(text)
        return _is_marked(self.folder)

    def _drop_old(self) -> None:
        entries = sorted(_entries(self.folder), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in entries[ENTRIES:]:
            path.unlink(missing_ok=True)


def clean(folder: Path) -> int:
    """Removes what a cache has written to its folder, and the folder if nothing else is in it; how many entries."""
    if folder.is_symlink() or not _is_marked(folder):
        return 0
    entries = list(_entries(folder))
    for path in (*entries, folder / ".gitignore", folder / MARK):
        path.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
    return len(entries)


def _is_marked(folder: Path) -> bool:
    return (folder / MARK).is_file()


def _entries(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob("*.json") if _ENTRY.fullmatch(path.name))


def _own_files() -> Iterator[tuple[str, int, int]]:
    """Size and time of jaxlint's own files: in a checkout they change without the version."""
    package = Path(__file__).resolve().parent
    for folder, patterns in ((package, ("**/*.py", "**/*.toml")), (rules_folder(), ("*.md",))):
        for pattern in patterns:
            for path in folder.glob(pattern):
                status = path.stat()
                yield str(path), status.st_size, status.st_mtime_ns


@functools.cache
def _reader(kind: object) -> _Reader:
    """What makes a value of a type from data as JSON has it; a ValueError where that is of another."""
    if isinstance(kind, type):
        if is_dataclass(kind):
            return _dataclass_reader(kind)
        if issubclass(kind, enum.Enum):
            return kind
        return lambda data: _checked(data, kind)
    if get_origin(kind) is tuple:
        read_item = _reader(get_args(kind)[0])
        return lambda data: tuple(map(read_item, _checked(data, list)))
    some, none = get_args(kind)
    assert none is type(None), "every union in a report is one with None"
    read = _reader(some)
    return lambda data: None if data is None else read(data)


def _dataclass_reader(kind: type) -> _Reader:
    readers = [(name, _reader(hint)) for name, hint in get_type_hints(kind).items()]

    def read(data: object) -> object:
        values = _checked(data, dict)
        if values.keys() != {name for name, _ in readers}:
            raise ValueError
        return kind(*[read_field(values[name]) for name, read_field in readers])

    return read


def _checked(data: object, kind: type[T]) -> T:
    if type(data) is not kind:
        raise ValueError
    return data

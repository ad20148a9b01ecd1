"""The cache: the report of a check, kept by all that it depends on, so that the same check need not be made twice.

An entry is named by a digest of jaxlint itself, the settings, the pages and the content of every file that was checked
or that one of those may import: any change of them makes another name, and nothing has to be invalidated. Entries are
JSON: reading one can run nothing. They are written whole and then renamed; one that does not read is as good as none.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from jaxlint import __version__
from jaxlint.findings import Direction, Edit, FileError, Finding, Fix, Report
from jaxlint.rulebook import Rule, rules_folder
from jaxlint.settings import Confirm, Settings
from jaxlint.sites import Confidence, Heat, Note, Operation, Span
from jaxlint.source.files import SourceFile

# More reports than a project has branches and hooks; each is small.
ENTRIES = 64
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n"


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
        self.fixed = repr((__version__, sys.version_info[:2], sorted(_own_files()), of_findings, sorted(rules)))

    def name(self, files: Iterable[tuple[str, SourceFile]]) -> str | None:
        """The name of the entry for these files, each with its part in the check; None if one can not be read."""
        digest = hashlib.sha256(self.fixed.encode("utf-8", "surrogatepass"))
        for part, file in files:
            try:
                content = hashlib.sha256(file.location.read_bytes()).hexdigest()
            except OSError:
                return None
            digest.update(f"{part}\0{file.path}\0{file.location}\0{content}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:40]

    def read(self, name: str) -> Report | None:
        """The report of an entry; None where there is none that can be read."""
        try:
            return _report(json.loads((self.folder / f"{name}.json").read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, name: str, report: Report) -> None:
        """Keeps a report. Where the folder can not be written, nothing is kept and nothing is said."""
        place = self.folder / f"{name}.json"
        scratch = self.folder / f"{name}.{os.getpid()}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for file, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", TAG)):
                if not (self.folder / file).exists():
                    (self.folder / file).write_text(text)
            scratch.write_text(json.dumps(asdict(report)))
            scratch.replace(place)
            self._drop_old()
        except (OSError, ValueError):
            with suppress(OSError):
                scratch.unlink(missing_ok=True)

    def _drop_old(self) -> None:
        entries = sorted(self.folder.glob("*.json"), key=lambda path: path.stat().st_mtime_ns, reverse=True)
        for path in entries[ENTRIES:]:
            path.unlink(missing_ok=True)


def clean(folder: Path) -> int:
    """Removes what a cache has written to its folder, and the folder if nothing else is in it; how many entries."""
    entries = [*folder.glob("*.json")]
    if not (folder / "CACHEDIR.TAG").is_file():
        return 0
    for path in (*entries, folder / ".gitignore", folder / "CACHEDIR.TAG"):
        path.unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
    return len(entries)


def _own_files() -> Iterator[tuple[str, int, int]]:
    """Size and time of jaxlint's own files: in a checkout they change without the version."""
    package = Path(__file__).resolve().parent
    for folder, patterns in ((package, ("**/*.py", "**/*.toml")), (rules_folder(), ("*.md",))):
        for pattern in patterns:
            for path in folder.glob(pattern):
                status = path.stat()
                yield str(path), status.st_size, status.st_mtime_ns


def _report(data: Mapping[str, Any]) -> Report:
    return Report(
        tuple(map(_finding, data["findings"])),
        tuple(FileError(**error) for error in data["errors"]),
        data["files"],
        tuple(FileError(**error) for error in data["unanalysed"]),
    )


def _finding(data: Mapping[str, Any]) -> Finding:
    fix = data["fix"]
    return Finding(
        **{
            **data,
            "span": Span(**data["span"]),
            "direction": data["direction"] and Direction(data["direction"]),
            "heat": Heat(data["heat"]),
            "confidence": Confidence(data["confidence"]),
            "notes": tuple(Note(**note) for note in data["notes"]),
            "fix": fix and Fix(**{**fix, "edits": tuple(Edit(**edit) for edit in fix["edits"])}),
            "verdict": None,
            "operation": data["operation"] and Operation(data["operation"]),
            "operands": (),
        }
    )

"""Which files to check: those named, and the Python files and notebooks in the folders named. Reads no source file."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxlint.errors import UserError
from jaxlint.findings import FileError
from jaxlint.source.gitignore import Patterns, parse_patterns
from jaxlint.source.repository import IgnoreRules, ignores, path_bytes, rules_around, rules_within

SUFFIXES = (".py", ".pyi", ".ipynb")
DEFAULT_EXCLUDE = (
    "*.egg-info",
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".jaxlint_cache",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


@dataclass(frozen=True, slots=True, order=True)
class SourceFile:
    """A file to check: how it is shown (relative to the working directory, with ``/``) and where it is (absolute)."""

    path: str
    location: Path

    @property
    def notebook(self) -> bool:
        return self.location.suffix == ".ipynb"


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files to check, each once, in the order of their paths, and what could not be looked at."""

    files: tuple[SourceFile, ...]
    errors: tuple[FileError, ...]


def discover(
    paths: Sequence[str | Path],
    *,
    root: Path | None = None,
    exclude: Sequence[str] = DEFAULT_EXCLUDE,
    extend_exclude: Sequence[str] = (),
    force_exclude: bool = False,
    respect_gitignore: bool = True,
    cwd: Path | None = None,
) -> Discovery:
    """The files that `paths` name. A path that does not exist is a UserError.

    Patterns are those of a ``.gitignore`` file in `root` (the project's folder, else the working directory). What is
    named itself is checked even if it is excluded or ignored; `force_exclude` applies the patterns to it too. A link
    to a folder is followed within the folder that was named, and no folder is entered twice.
    """
    here = str(Path.cwd() if cwd is None else cwd)
    walker = _Walker(
        base=here if root is None else os.path.abspath(root),
        here=here,
        excluded=parse_patterns(os.fsencode(pattern) for pattern in (*exclude, *extend_exclude)),
        respect_gitignore=respect_gitignore,
    )
    for path in paths:
        walker.add(path, force_exclude)
    files = (SourceFile(shown_path(path, here), Path(path)) for path in _without_doubles(walker.found))
    return Discovery(tuple(sorted(files)), tuple(sorted(walker.errors, key=lambda error: error.path)))


def shown_path(path: str | Path, cwd: str | Path) -> str:
    """How a file is shown: relative to the working directory, with forward slashes, and printable."""
    try:
        relative = os.path.relpath(path, cwd)
    except ValueError:  # another drive of Windows
        relative = os.path.abspath(path)
    return relative.replace(os.sep, "/").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _without_doubles(found: dict[str, bool]) -> Iterator[str]:
    """The files found (and whether each is a link), without links to another of them: no file is checked twice."""
    if not any(found.values()):
        yield from found
        return
    seen: set[str] = set()
    for path in sorted(found, key=lambda path: (found[path], path)):
        real = os.path.realpath(path)
        if real not in seen:
            seen.add(real)
            yield path


class _Walker:
    """Collects the files of the named paths."""

    def __init__(self, base: str, here: str, excluded: Patterns, respect_gitignore: bool) -> None:
        self.base, self.here, self.excluded, self.respect_gitignore = base, here, excluded, respect_gitignore
        self.found: dict[str, bool] = {}
        self.errors: list[FileError] = []
        self.visited: set[tuple[int, int]] = set()

    def add(self, named: str | Path, force_exclude: bool) -> None:
        path = os.path.abspath(os.path.join(self.here, named))
        try:
            if not str(named):
                raise FileNotFoundError
            mode = os.stat(path).st_mode
        except OSError as error:
            if error.errno not in (None, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
                self.fail(path, error)
                return
            raise UserError(f"no such file or folder: {named}") from None
        except ValueError:
            raise UserError(f"no such file or folder: {named}") from None
        is_folder = stat.S_ISDIR(mode)
        if force_exclude and self.excludes_above(path, is_folder):
            return
        if is_folder:
            self.walk(path)
        elif stat.S_ISREG(mode):
            self.found[path] = os.path.islink(path)
        else:
            self.errors.append(FileError(shown_path(path, self.here), "not a regular file"))

    def walk(self, top: str) -> None:
        """Collect the files below a folder. Links come last: a folder is shown by its own path where it has one."""
        folders: list[tuple[str, IgnoreRules | None]] = [(top, self.rules_around(top))]
        links: list[tuple[str, IgnoreRules | None]] = []
        while folders or links:
            folder, outer = folders.pop() if folders else links.pop(0)
            try:
                status = os.stat(folder)
                if (status.st_dev, status.st_ino) in self.visited:
                    continue
                self.visited.add((status.st_dev, status.st_ino))
                with os.scandir(folder) as opened:
                    entries = sorted(opened, key=lambda entry: entry.name)
            except OSError as error:
                self.fail(folder, error)
                continue
            rules = self.rules_within(folder, outer)
            for entry in entries:
                try:
                    is_link, is_folder = entry.is_symlink(), entry.is_dir()
                    wanted = is_folder or (entry.name.endswith(SUFFIXES) and entry.is_file())
                except OSError as error:
                    # A link to itself is no file, like one to nothing.
                    if error.errno != errno.ELOOP:
                        self.fail(entry.path, error)
                    continue
                if not wanted or self.excludes(entry.path, is_folder, top):
                    continue
                if ignores(rules, path_bytes(entry.path), is_folder):
                    continue
                if not is_folder:
                    self.found[entry.path] = is_link
                elif not is_link:
                    folders.append((entry.path, rules))
                elif _leads_within(entry.path, top):
                    links.append((entry.path, rules))

    def rules_around(self, folder: str) -> IgnoreRules | None:
        if not self.respect_gitignore:
            return None
        try:
            return rules_around(folder, self.here)
        except OSError as error:
            self.fail(error.filename or folder, error)
            return None

    def rules_within(self, folder: str, outer: IgnoreRules | None) -> IgnoreRules | None:
        if not self.respect_gitignore:
            return None
        try:
            return rules_within(folder, outer)
        except OSError as error:
            self.fail(error.filename or folder, error)
            return outer

    def excludes(self, path: str, is_folder: bool, top: str) -> bool:
        within = self.base if _lies_in(path, self.base) else top
        return bool(self.excluded.verdict(path_bytes(path[len(within.rstrip(os.sep)) + 1 :]), is_folder))

    def excludes_above(self, path: str, is_folder: bool) -> bool:
        """True if the path itself or a folder on the way to it is excluded."""
        folder = path
        while _lies_in(folder, self.base) and folder != self.base:
            if self.excludes(folder, is_folder or folder != path, self.base):
                return True
            folder = os.path.dirname(folder)
        return folder == path and self.excludes(path, is_folder, os.path.dirname(path))

    def fail(self, path: str, error: OSError) -> None:
        self.errors.append(FileError(shown_path(path, self.here), f"cannot be read: {error.strerror or error}"))


def _lies_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)


def _leads_within(link: str, top: str) -> bool:
    return _lies_in(os.path.realpath(link), os.path.realpath(top))

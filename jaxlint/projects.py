"""Projects: which files belong together, and so may import one another."""

import os
from collections.abc import Sequence, Set
from pathlib import Path

from jaxlint.source.files import Discovery, SourceFile

PROJECT_MARKS = (".git", "pyproject.toml", "jaxlint.toml", "setup.py", "setup.cfg")


def project_folder(file: Path) -> Path:
    """The folder of the project to which a file belongs: the nearest that bears a mark of one, or the file's own."""
    return next((folder for folder in file.parents if _is_marked(folder)), file.parent)


def apart(found: Discovery, paths: Sequence[str]) -> list[Discovery]:
    """The files of each repository by themselves: what lies in different ones is not imported from each other.

    The repository is the outermost folder that bears a mark of a project or is one of `paths`: the packages of a large
    one stay together, and so does all that is asked for as one folder. Files that lie in none are one project.
    """
    given = {Path(path).resolve() for path in paths if os.path.isdir(path)}
    known: dict[Path, Path | None] = {}
    files: dict[Path | None, list[SourceFile]] = {}
    for file in found.files:
        folder = file.location.parent
        if folder not in known:
            known[folder] = _repository(folder.resolve(), given, known)
        files.setdefault(known[folder], []).append(file)
    return [Discovery(tuple(together), ()) for together in files.values()]


def _repository(folder: Path, given: Set[Path], known: dict[Path, Path | None]) -> Path | None:
    """The outermost such folder at or above one. `known` are the answers so far."""
    if folder not in known:
        above = None if folder.parent == folder else _repository(folder.parent, given, known)
        known[folder] = above or (folder if folder in given or _is_marked(folder) else None)
    return known[folder]


def _is_marked(folder: Path) -> bool:
    return any(os.path.exists(folder / name) for name in PROJECT_MARKS)

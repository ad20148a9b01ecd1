"""The ignore rules that hold in a folder: ``.gitignore`` files up to the repository's root, and ``.git/info/exclude``.

Reads those files alone. Does not run git and reads none of its settings.
"""

import os
from dataclasses import dataclass

from jaxlint.source.gitignore import Patterns, parse_file


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns of one file, for the things below `folder` (absolute, with a final ``/``), and those further out."""

    folder: bytes
    patterns: Patterns
    outer: "IgnoreRules | None"


def ignores(rules: IgnoreRules | None, path: bytes, is_folder: bool) -> bool:
    """True if the rules ignore `path` (absolute, with ``/``). The innermost file that names the path decides."""
    while rules is not None:
        verdict = rules.patterns.verdict(path[len(rules.folder) :], is_folder)
        if verdict is not None:
            return verdict
        rules = rules.outer
    return False


def path_bytes(path: str) -> bytes:
    """A path as the patterns see it."""
    return os.fsencode(path.replace(os.sep, "/"))


def rules_around(folder: str, default_root: str) -> IgnoreRules | None:
    """The rules that hold for `folder` itself: those of its repository, or from `default_root` on outside of one."""
    above = [os.path.dirname(folder)]
    while not _is_repository(above[-1]):
        parent = os.path.dirname(above[-1])
        if parent == above[-1]:
            # Outside of a repository git has no rules; what lies in the working directory holds all the same.
            if default_root not in above:
                return None
            del above[above.index(default_root) + 1 :]
            break
        above.append(parent)
    rules: IgnoreRules | None = None
    for outer in reversed(above):
        rules = rules_within(outer, rules)
    return rules


def rules_within(folder: str, outer: IgnoreRules | None) -> IgnoreRules | None:
    """The rules that hold for the things in `folder`, given those for itself. A repository of its own begins anew."""
    if _is_repository(folder):
        outer = _with_file(os.path.join(_git_folder(folder), "info", "exclude"), folder, None)
    return _with_file(os.path.join(folder, ".gitignore"), folder, outer)


def _with_file(file: str, folder: str, outer: IgnoreRules | None) -> IgnoreRules | None:
    if not os.path.isfile(file):
        return outer
    with open(file, "rb") as opened:
        patterns = parse_file(opened.read())
    return IgnoreRules(path_bytes(folder).rstrip(b"/") + b"/", patterns, outer) if patterns.groups else outer


def _is_repository(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, ".git"))


def _git_folder(folder: str) -> str:
    """The repository's own folder. In a worktree or a submodule ``.git`` is a file that names it."""
    place = os.path.join(folder, ".git")
    if not os.path.isfile(place):
        return place
    with open(place, encoding="utf-8", errors="surrogateescape") as file:
        place = os.path.join(folder, file.read().strip().removeprefix("gitdir:").strip())
    common = os.path.join(place, "commondir")
    if not os.path.isfile(common):
        return place
    with open(common, encoding="utf-8", errors="surrogateescape") as file:
        return os.path.join(place, file.read().strip())

"""Selection: which rules hold, in which file, for which findings. Pure words over settings; reads no source."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from jaxlint.findings import Finding
from jaxlint.keys import ALL
from jaxlint.settings import FileIgnores, Pattern, Settings
from jaxlint.source.gitignore import parse_patterns
from jaxlint.source.repository import path_bytes

HEAT_FAMILIES = ("JT1", "JT2", "JT3")


def enabled(settings: Settings, rules: Mapping[str, bool]) -> frozenset[str]:
    """The codes in force. `rules` says of each code whether it is on by default."""
    return frozenset(code for code, default in rules.items() if _holds(settings, code, default))


def ignored(selectors: Iterable[str], code: str) -> bool:
    """Whether any selector names the code or the beginning of it."""
    return any(selector == ALL or code.startswith(selector) for selector in selectors)


def wanted(settings: Settings, finding: Finding) -> bool:
    """Whether a finding is hot and sure enough. Heat selects among transfers alone."""
    hot = finding.heat >= settings.min_heat or not finding.code.startswith(HEAT_FAMILIES)
    return hot and finding.confidence >= settings.min_confidence


def fixable(settings: Settings, finding: Finding) -> bool:
    """Whether a finding has a fix that may be made."""
    if finding.fix is None or not (finding.fix.safe or settings.unsafe_fixes):
        return False
    return ignored(settings.fixable, finding.code) and not ignored(settings.unfixable, finding.code)


def file_ignores(entries: Sequence[FileIgnores]) -> Callable[[Path, str], bool]:
    """A question: does the file at an absolute path ignore a code?"""
    questions = [(matcher([entry.pattern]), entry.selectors) for entry in entries]

    def ignores(location: Path, code: str) -> bool:
        return any(ignored(selectors, code) and matches(location) for matches, selectors in questions)

    return ignores


def matcher(patterns: Sequence[Pattern]) -> Callable[[Path], bool]:
    """A question: do the patterns name the file at an absolute path, or a folder on the way to it?"""
    root = common_root(patterns)
    parsed = parse_patterns(os.fsencode(anchored(pattern, root)) for pattern in patterns)

    def matches(location: Path) -> bool:
        inside = location.relative_to(root) if location.is_relative_to(root) else Path(location.name)
        paths = ["/".join(inside.parts[: index + 1]) for index in range(len(inside.parts))]
        return any(parsed.verdict(path_bytes(path), path != paths[-1]) for path in paths)

    return matches


def common_root(patterns: Sequence[Pattern]) -> Path:
    """A folder from which all patterns can be told: the nearest one above their bases."""
    try:
        return Path(os.path.commonpath([Path.cwd(), *(pattern.base for pattern in patterns)]))
    except ValueError:
        # Two drives have no common folder.
        return Path.cwd()


def anchored(pattern: Pattern, root: Path) -> str:
    """A pattern as it counts from `root` instead of from its own base: only one with a slash in it differs."""
    negation = "!" if pattern.text.startswith("!") else ""
    body = pattern.text.removeprefix("!")
    folder = os.path.relpath(pattern.base, root).replace(os.sep, "/")
    if "/" not in body.removesuffix("/") or folder == ".":
        return pattern.text
    return f"{negation}/{_literal(folder)}/{body.removeprefix('/')}"


def _literal(folder: str) -> str:
    """A folder's name as a pattern that matches it alone."""
    return "".join(f"\\{character}" if character in "*?[\\" else character for character in folder)


def _holds(settings: Settings, code: str, default: bool) -> bool:
    chosen = (ALL,) if settings.select is None else settings.select
    for_it = [s for s in chosen if ignored((s,), code) and (default or s == code or (s == ALL and settings.select))]
    for_it += [s for s in settings.extend_select if ignored((s,), code) and (default or s in (code, ALL))]
    against = [s for s in settings.ignore if ignored((s,), code)]
    if not for_it:
        return False
    return max(map(_weight, for_it)) > max(map(_weight, against), default=-1)


def _weight(selector: str) -> int:
    """Longer selectors say more; ``ALL`` says least."""
    return 0 if selector == ALL else len(selector)

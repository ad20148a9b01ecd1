"""The patterns of ``.gitignore`` files, matched as git matches them. Reads no file and walks no folder.

Paths and patterns are bytes, as in git: ``?`` matches one byte, and no file name is out of reach.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

_SPECIAL = re.compile(rb"[*?\[\\]")
_CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": b" \\t",
    b"cntrl": b"\\x00-\\x1f\\x7f",
    b"digit": b"0-9",
    b"graph": b"!-~",
    b"lower": b"a-z",
    b"print": b" -~",
    b"punct": b"!-/:-@\\[-`{-~",
    b"space": b" \\t\\n\\r",
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}


@dataclass(frozen=True, slots=True)
class _Pattern:
    negated: bool
    folders_only: bool
    whole_path: bool  # else only the last component is compared
    expression: bytes


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring patterns with the same verdict, as expressions for names and paths of anything and of folders."""

    negated: bool
    name: re.Pattern[bytes] | None
    path: re.Pattern[bytes] | None
    folder_name: re.Pattern[bytes] | None
    folder_path: re.Pattern[bytes] | None

    def matches(self, path: bytes, is_folder: bool) -> bool:
        name = path[path.rfind(b"/") + 1 :]
        by_name, by_path = (self.folder_name, self.folder_path) if is_folder else (self.name, self.path)
        return bool((by_name and by_name.fullmatch(name)) or (by_path and by_path.fullmatch(path)))


@dataclass(frozen=True, slots=True)
class Patterns:
    """The patterns of one file or list; the last that matches decides."""

    groups: tuple[_Group, ...]

    def verdict(self, path: bytes, is_folder: bool) -> bool | None:
        """True if `path` (relative, with ``/``) is ignored, False if a ``!`` pattern takes it back, None if unnamed."""
        for group in self.groups:
            if group.matches(path, is_folder):
                return not group.negated
        return None


def parse_file(data: bytes) -> Patterns:
    """The patterns of a ``.gitignore`` file."""
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return parse_patterns(_without_trailing_spaces(line.removesuffix(b"\r")) for line in lines if line[:1] != b"#")


def parse_patterns(patterns: Iterable[bytes]) -> Patterns:
    """The patterns of a list, in the syntax of a ``.gitignore`` file."""
    parsed = [found for pattern in patterns if (found := _parse(pattern)) is not None]
    groups = (list(group) for _, group in groupby(reversed(parsed), key=lambda pattern: pattern.negated))
    return Patterns(tuple(_group(group) for group in groups))


def _group(patterns: list[_Pattern]) -> _Group:
    def union(whole_path: bool, folders: bool) -> re.Pattern[bytes] | None:
        expressions = [
            pattern.expression
            for pattern in patterns
            if pattern.whole_path == whole_path and (folders or not pattern.folders_only)
        ]
        return re.compile(b"|".join(expressions), re.DOTALL) if expressions else None

    return _Group(patterns[0].negated, union(False, False), union(True, False), union(False, True), union(True, True))


def _without_trailing_spaces(line: bytes) -> bytes:
    stripped = line.rstrip(b" ")
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    # A space after an odd number of backslashes is escaped and stays.
    return line[: len(stripped) + 1] if backslashes % 2 and len(line) > len(stripped) else stripped


def _parse(pattern: bytes) -> _Pattern | None:
    """The pattern of a line, or None for one that can match nothing."""
    negated = pattern.startswith(b"!")
    body = pattern[1:] if negated else pattern
    folders_only = body.endswith(b"/")
    body = body.removesuffix(b"/")
    whole_path = b"/" in body
    if whole_path:
        body = body.removeprefix(b"/")
        # git compares the part before the first special character by itself, so that in "a**/b" the stars stand at
        # the begin of what remains and match as in "**/b".
        special = _SPECIAL.search(body)
        split = special.start() if special else len(body)
        rest = _translate(body[split:], in_path=True)
        expression = None if rest is None else re.escape(body[:split]) + rest
    else:
        expression = _translate(body, in_path=False)
    if not body or expression is None:
        return None
    return _Pattern(negated, folders_only, whole_path, expression)


def _translate(pattern: bytes, in_path: bool) -> bytes | None:
    """A glob as a regular expression, or None for a malformed one, which git lets match nothing."""
    parts: list[bytes] = []
    at = 0
    while at < len(pattern):
        character = pattern[at : at + 1]
        if character == b"*":
            begin = at
            while pattern[at : at + 1] == b"*":
                at += 1
            parts_alone = begin == 0 or pattern[begin - 1 : begin] == b"/"
            if not in_path:
                parts.append(b".*")
            elif at - begin == 1 or not parts_alone:
                parts.append(b"[^/]*")
            elif pattern[at : at + 1] == b"/":
                parts.append(b"(?:.*/)?")
                at += 1
            elif at == len(pattern) or pattern[at : at + 2] == b"\\/":
                parts.append(b".*")
            else:
                parts.append(b"[^/]*")
        elif character == b"?":
            parts.append(b"[^/]" if in_path else b".")
            at += 1
        elif character == b"[":
            translated = _translate_set(pattern, at + 1, in_path)
            if translated is None:
                return None
            part, at = translated
            parts.append(part)
        elif character == b"\\":
            if at + 1 == len(pattern):
                return None
            parts.append(re.escape(pattern[at + 1 : at + 2]))
            at += 2
        else:
            parts.append(re.escape(character))
            at += 1
    return b"".join(parts)


def _translate_set(pattern: bytes, at: int, in_path: bool) -> tuple[bytes, int] | None:
    """The set that begins at `at`, behind its bracket, as a regular expression, and the offset behind it."""
    negated = pattern[at : at + 1] in (b"!", b"^")
    at += negated
    members: list[bytes] = []
    previous = b""
    first = True
    while first or pattern[at : at + 1] != b"]":
        first = False
        character = pattern[at : at + 1]
        if not character:
            return None
        if character == b"-" and previous and pattern[at + 1 : at + 2] not in (b"", b"]"):
            at += 2 if pattern[at + 1 : at + 2] == b"\\" else 1
            last = pattern[at : at + 1]
            if not last:
                return None
            if previous <= last:
                members.append(_member(previous) + b"-" + _member(last))
            previous = b""
        elif character == b"[" and pattern[at + 1 : at + 2] == b":":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                return None
            if end == at + 2 or pattern[end - 1 : end] != b":":
                members.append(_member(b"["))
                previous = b"["
            else:
                members_of_class = _CLASSES.get(pattern[at + 2 : end - 1])
                if members_of_class is None:
                    return None
                members.append(members_of_class)
                at, previous = end, b""
        else:
            if character == b"\\":
                at += 1
                character = pattern[at : at + 1]
                if not character:
                    return None
            members.append(_member(character))
            previous = character
        at += 1
    # A range that runs backwards leaves no member; an empty set is no valid expression.
    member = b"[" + b"".join(members) + b"]" if members else b"(?!)"
    no_separator = b"(?!/)" if in_path else b""
    return no_separator + (b"(?!" + member + b")." if negated else member), at + 1


def _member(character: bytes) -> bytes:
    return b"\\x%02x" % character[0]

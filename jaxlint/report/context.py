"""What a report needs besides the findings, and the few words that several formats share.

Nothing here decides what is reported; a format never opens a file but through `Context.lines`.
"""

import enum
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxlint import __version__
from jaxlint.findings import Finding, Report
from jaxlint.report.verdicts import in_words, is_refuted
from jaxlint.rulebook import Rule
from jaxlint.sites import Heat

HEAT_FAMILIES = ("JT1", "JT2", "JT3")

Lines = Callable[[str, int | None], Sequence[str]]
"""The source lines of a path (and notebook cell) as the check saw them; none where they cannot be had."""

_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)


@dataclass(frozen=True, slots=True)
class Context:
    """The rules in force and a way to the source. `color` says whether escape codes are wanted."""

    rules: Mapping[str, Rule]
    lines: Lines = lambda path, cell: ()
    color: bool = False
    version: str = __version__


class Severity(enum.IntEnum):
    """How loud a machine format should be about a finding."""

    NOTE = 0
    WARNING = 1
    ERROR = 2


def severity(finding: Finding) -> Severity:
    """A hot transfer or a misused guard warns, a tracer error stops the program; what runs once or seldom is a note,
    and so is what the runtime pass has refuted."""
    if is_refuted(finding):
        return Severity.NOTE
    if finding.code.startswith(HEAT_FAMILIES) and finding.heat < Heat.HOT:
        return Severity.NOTE
    return loudest(finding.code)


def loudest(code: str) -> Severity:
    """How loud a finding of a rule can be."""
    return Severity.ERROR if code.startswith("JT4") else Severity.WARNING


def escape(text: str) -> str:
    """Text from a source file or a path, safe for a terminal: control and direction characters as escapes."""
    return _UNSAFE.sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def place(path: str, line: int | None, column: int | None, cell: int | None = None) -> str:
    """``path:line:column`` as editors and people click on it; the cell stands before the line of a notebook."""
    # A line that begins so is a command to the machine that runs it, if it runs for GitHub or Azure.
    parts = [f"./{escape(path)}" if path.startswith(("::", "##")) else escape(path)]
    if cell is not None:
        parts.append(f"cell {cell}")
    if line is not None:
        parts += [str(line), str(column or 1)]
    return ":".join(parts)


def full_message(finding: Finding) -> str:
    """The message, with what the runtime pass says of it."""
    return (
        finding.message
        if finding.verdict is None
        else f"{finding.message} [{in_words(finding.verdict, finding.direction)}]"
    )


def heat_word(finding: Finding) -> str:
    """The heat where it says something: of transfers."""
    return finding.heat.name.lower() if finding.code.startswith(HEAT_FAMILIES) else ""


def source_line(context: Context, finding: Finding) -> str | None:
    """The line on which a finding begins, without its end."""
    lines = context.lines(finding.span.path, finding.span.cell)
    return lines[finding.span.line - 1].rstrip("\r\n") if 0 < finding.span.line <= len(lines) else None


def fingerprints(report: Report, context: Context) -> tuple[str, ...]:
    """One digest a finding, from path, code and the text of the line: it survives a move to other lines, and the
    second of two equal lines differs from the first."""
    seen: Counter[tuple[str, str, str]] = Counter()
    digests = []
    for finding in report.findings:
        text = " ".join((source_line(context, finding) or finding.message).split())
        key = (finding.span.path, finding.code, text)
        raw = "\0".join((*key, str(seen[key])))
        digests.append(hashlib.sha256(raw.encode("utf-8", "surrogatepass")).hexdigest()[:32])
        seen[key] += 1
    return tuple(digests)


def counted(number: int, thing: str) -> str:
    """A number of things, in words: ``no findings``, ``1 finding``, ``2 findings``."""
    return f"{number or 'no'} {thing}{'' if number == 1 else 's'}"

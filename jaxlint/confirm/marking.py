"""From findings to the plan of the witness: which places of which files are watched, and for what."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxlint.findings import Finding
from jaxlint.rulebook import Rule
from jaxlint.sites import Operation, Span
from jaxlint.witness.plan import FORMATTED, LEAKED, Cell, Mark

LEAKING = (Operation.LEAK, Operation.CACHE)
# Writers of metrics may fetch by name for whoever calls them: that is a wait all the same.
ALSO_EXPLICIT = (Operation.METRIC,)
# What the syntax around an expression does with its value, by operation and callee; else the expression does it.
BY_SYNTAX = {(Operation.TRUTH, None): "truth", (Operation.FORMAT, "f-string"): "field"}


@dataclass(frozen=True, slots=True)
class Source:
    """The Python file that is run for a checked file: itself, or for a notebook the program that its cells make.
    `first_lines` then holds the first line of each cell in that program, and `cells` what the witness knows them by."""

    location: Path
    first_lines: Mapping[int, int] = field(default_factory=dict)
    cells: tuple[Cell, ...] = ()

    def span(self, span: Span) -> Span:
        """A span as the report has it, as a span of the file that is run."""
        if span.cell is None:
            return span
        down = self.first_lines[span.cell] - 1
        return replace(span, line=span.line + down, end_line=span.end_line + down, cell=None)


@dataclass(frozen=True, slots=True)
class Marking:
    """The marks by real path, with the digest of each file's bytes; the mark of each finding that has one; and the
    cells of those files that are a notebook's program."""

    files: Mapping[str, tuple[Mark, ...]]
    digests: Mapping[str, str]
    of_finding: Mapping[int, tuple[str, int]]
    cells: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)


def mark(findings: Iterable[Finding], rules: Mapping[str, Rule], sources: Mapping[str, Source]) -> Marking:
    """Marks for the findings that a run can decide. `sources` are the files by shown path; what is not among them
    (standard input) gets no mark. Findings of one place share a mark."""
    numbers: dict[tuple[str, Span, str], int] = {}
    wanted: dict[tuple[str, Span, str], list[Finding]] = {}
    of_finding: dict[int, tuple[str, int]] = {}
    for index, finding in enumerate(findings):
        source = sources.get(finding.span.path)
        if source is None or not is_decidable(finding):
            continue
        key = (os.path.realpath(source.location), source.span(finding.span), form(finding))
        number = numbers.setdefault(key, len(numbers))
        wanted.setdefault(key, []).append(finding)
        of_finding[index] = (key[0], number)
    files: dict[str, list[Mark]] = {}
    for key, number in numbers.items():
        files.setdefault(key[0], []).append(_mark(number, key[1], key[2], wanted[key], rules))
    digests = {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in files}
    real = {os.path.realpath(source.location): source.cells for source in sources.values() if source.cells}
    cells = {path: found for path, found in real.items() if path in files}
    return Marking({path: tuple(marks) for path, marks in files.items()}, digests, of_finding, cells)


def is_decidable(finding: Finding) -> bool:
    """True for what happens when a program runs: transfers, and errors of tracers."""
    return finding.operation is not None and (finding.direction is not None or finding.code.startswith("JT4"))


def is_explicit(finding: Finding, rule: Rule) -> bool:
    """True if a transfer that the program asks for by name counts as well."""
    return rule.proof.level == "disallow_explicit" or finding.operation in ALSO_EXPLICIT


def form(finding: Finding) -> str:
    """What runs at the place: the expression's own last step, or what the syntax around it does with its value."""
    return BY_SYNTAX.get((finding.operation, finding.callee), "operation") if finding.operation else "operation"


def _mark(number: int, span: Span, form: str, findings: Iterable[Finding], rules: Mapping[str, Rule]) -> Mark:
    directions: dict[str, None] = {}
    raises: dict[str, None] = {}
    explicit = False
    for finding in findings:
        rule = rules[finding.code]
        if finding.direction is not None:
            directions[str(finding.direction)] = None
            explicit |= is_explicit(finding, rule)
        elif finding.operation in LEAKING:
            raises[LEAKED] = None
        else:
            raises.update(dict.fromkeys(rule.proof.raises or (FORMATTED,)))
    place = (span.line, span.column, span.end_line, span.end_column)
    return Mark(number, *place, form, tuple(directions), explicit, tuple(raises))

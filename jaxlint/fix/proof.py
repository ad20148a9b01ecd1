"""Fixes that are proven: the same run, repeated, shows the place no longer refused, the same output, nothing new.

The files are changed while the program runs, since it reads them; whatever happens, they are put back before this ends,
and whoever called writes what was proven.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from jaxlint.errors import SourceError, UserError
from jaxlint.findings import Finding, Fix, Report, Status, Verdict
from jaxlint.fix.run import Changed, Check, Fixed, by_path, rewritten, write_files
from jaxlint.fixes.edits import choose, moved
from jaxlint.inputs import Inputs
from jaxlint.sites import Operation, Span
from jaxlint.source.text import SourceText

# A fix that overlaps another is tried after it; more than a few levels deep nobody writes.
ROUNDS = 4
# What fixes make: rules that are off by default find these at each turn of a loop, and yet they are asked for.
BY_NAME = (Operation.EXPLICIT_FETCH, Operation.EXPLICIT_UPLOAD)
OVERLAPS = "it overlaps another fix: run again for this one"
RESTLESS = "the program does not print the same twice, so that no fix can be proven"
OTHER_OUTPUT = "the program printed something else, or ended otherwise"
FAILED = "the program did not come to its end"


Outputs = tuple[tuple[bytes, int], ...]


class Executed(Protocol):
    """What a run gave: the report with verdicts, and of each command what it printed and how it ended."""

    @property
    def report(self) -> Report: ...

    @property
    def outputs(self) -> Outputs: ...


Execute = Callable[[Report, Inputs], Executed]


class Withdrawn(NamedTuple):
    """A finding whose fix is not made, and why."""

    finding: Finding
    reason: str


@dataclass(slots=True)
class _Unit:
    """A fix with the findings that it repairs."""

    fix: Fix
    findings: list[Finding] = field(default_factory=list)


def prove(check: Check, execute: Execute, wanted: Callable[[Finding], bool]) -> tuple[Fixed, list[Withdrawn]]:
    """The fixes of confirmed findings that the repeated run proves, and the others with the reason. Needs a program."""
    repaired: list[Finding] = []
    files: dict[str, Changed] = {}
    withdrawn: list[Withdrawn] = []
    with ExitStack() as changed:
        for _ in range(ROUNDS):
            inputs = Inputs()
            first = execute(check(inputs), inputs)
            refused = {_about(entry.finding) for entry in withdrawn}
            candidates = [f for f in first.report.findings if wanted(f) and _about(f) not in refused]
            if candidates and not first.outputs:
                raise UserError(
                    "--fix --confirm: nothing was run: name a program by --run, for example 'python train.py'"
                )
            proof = _Proof(check, execute, inputs, first)
            proof.solve(proof.units(candidates))
            withdrawn += proof.withdrawn
            repaired += [finding for unit in proof.accepted for finding in unit.findings]
            new = proof.changed(proof.accepted)
            for file in new:
                files[file.path] = replace(file, before=files[file.path].before if file.path in files else file.before)
            if not new or not proof.waiting:
                break
            changed.enter_context(_in_place(new))
        withdrawn += [Withdrawn(finding, OVERLAPS) for finding in proof.waiting]
    return Fixed(proof.last or first.report, inputs, [*files.values()], repaired), withdrawn


@dataclass(slots=True)
class _Proof:
    check: Check
    execute: Execute
    inputs: Inputs
    first: Executed
    accepted: list[_Unit] = field(default_factory=list)
    last: Report | None = None
    withdrawn: list[Withdrawn] = field(default_factory=list)
    waiting: list[Finding] = field(default_factory=list)
    again: Outputs | None = None

    def units(self, findings: Sequence[Finding]) -> list[_Unit]:
        """The fixes to try: of findings that are confirmed, and that do not overlap."""
        units: dict[tuple[str, Fix], _Unit] = {}
        for found in by_path(findings).values():
            chosen = set(choose(found).findings)
            for finding in found:
                assert finding.fix is not None
                verdict = finding.verdict
                if verdict is None or verdict.status is not Status.CONFIRMED:
                    said = "without a verdict" if verdict is None else f"{verdict.status}, not confirmed"
                    self.withdrawn.append(Withdrawn(finding, said))
                elif finding not in chosen:
                    self.waiting.append(finding)
                else:
                    key = (finding.span.path, finding.fix)
                    units.setdefault(key, _Unit(finding.fix)).findings.append(finding)
        return list(units.values())

    def solve(self, units: list[_Unit]) -> None:
        """Accepts as many of the fixes as can be proven together, halving them where they can not."""
        if not units:
            return
        failed, reason = self.attempt([*self.accepted, *units])
        if not failed and not reason:
            self.accepted += units
            return
        if failed and not reason:
            for unit in units:
                if id(unit) in failed:
                    self.withdraw(unit, failed[id(unit)])
            rest = [unit for unit in units if id(unit) not in failed]
            if len(rest) < len(units):
                self.solve(rest)
                return
            reason = next(iter(failed.values()))
        if len(units) == 1 or reason == RESTLESS:
            for unit in units:
                self.withdraw(unit, reason)
            return
        self.solve(units[: len(units) // 2])
        self.solve(units[len(units) // 2 :])

    def withdraw(self, unit: _Unit, reason: str) -> None:
        self.withdrawn += [Withdrawn(finding, reason) for finding in unit.findings]

    def attempt(self, units: Sequence[_Unit]) -> tuple[dict[int, str], str]:
        """The run with these fixes made: by ``id``, the fixes that did not help and why; and what else went wrong."""
        try:
            files = self.changed(units)
        except SourceError as error:
            return {}, f"its file can not be changed: {error.message}"
        places = self.places(units)
        with _in_place(files):
            inputs = Inputs()
            report = self.check(inputs)
            repaired = [replace(finding, span=places[finding], fix=None) for unit in units for finding in unit.findings]
            done = self.execute(replace(report, findings=(*report.findings, *repaired)), inputs)
        by_place = {(finding.code, finding.span): finding.verdict for finding in done.report.findings}
        failed: dict[int, str] = {}
        for unit in units:
            for finding in unit.findings:
                verdict = by_place.get((finding.code, places[finding]))
                if verdict is None or verdict.status is not Status.REFUTED or not verdict.runs:
                    failed[id(unit)] = f"the repeated run does not show it mended: {_said(verdict)}"
        reason = self.trouble(done, set(places.values()))
        if not failed and not reason:
            kept = {(finding.code, finding.span) for finding in report.findings}
            findings = [f for f in done.report.findings if (f.code, f.span) in kept]
            self.last = replace(done.report, findings=tuple(findings))
        return failed, reason

    def trouble(self, done: Executed, repaired: set[Span]) -> str:
        """What the repeated run did otherwise, beside the places repaired; empty where nothing."""
        if len(done.report.errors) > len(self.first.report.errors):
            return FAILED
        if done.outputs != self.first.outputs:
            if self.again is None:
                self.again = self.execute(self.first.report, self.inputs).outputs
            if not same(self.first.outputs, self.again, self.again):
                return RESTLESS
            if not same(self.first.outputs, self.again, done.outputs):
                return OTHER_OUTPUT
        confirmed = [
            finding
            for finding in done.report.findings
            if _is_confirmed(finding) and finding.span not in repaired and finding.operation not in BY_NAME
        ]
        known = [(f.code, f.span.path) for f in self.first.report.findings if _is_confirmed(f)]
        for finding in confirmed:
            about = (finding.code, finding.span.path)
            if about not in known:
                return f"line {finding.span.line} is refused now ({finding.code})"
            known.remove(about)
        return ""

    def changed(self, units: Sequence[_Unit]) -> list[Changed]:
        """The files with the fixes made."""
        files = []
        for path, findings in by_path([f for unit in units for f in unit.findings]).items():
            before = self.inputs.bytes_of(path)
            edits = dict.fromkeys(edit for finding in findings if finding.fix for edit in finding.fix.edits)
            files.append(Changed(path, self.inputs.files[path].location, before, rewritten(path, before, edits)))
        return files

    def places(self, units: Sequence[_Unit]) -> Mapping[Finding, Span]:
        """Where the findings stand when the fixes are made."""
        found: dict[Finding, Span] = {}
        for path, findings in by_path([f for unit in units for f in unit.findings]).items():
            edits = dict.fromkeys(edit for finding in findings if finding.fix for edit in finding.fix.edits)
            for finding in findings:
                lines = self.inputs.lines(path, finding.span.cell)
                found[finding] = moved(SourceText(path, "\n".join(lines)), finding.span, tuple(edits))
        return found


def same(first: Outputs, again: Outputs, other: Outputs) -> bool:
    """Whether a run of the commands printed and ended as the first did. Lines that differ between two runs of the same
    program (`first` and `again`), as those that tell a time do, need be alike but for their numbers."""
    if len(first) != len(other):
        return False
    for (one, status), (two, _), (three, ended) in zip(first, again, other, strict=True):
        lines = [text.splitlines() for text in (one, two, three)]
        if status != ended or len({len(found) for found in lines}) > 1:
            return False
        for expected, repeated, seen in zip(*lines, strict=True):
            if seen != expected and (expected == repeated or _skeleton(seen) != _skeleton(expected)):
                return False
    return True


# Addresses, numbers with the unit of a time, and the rules that are as long as a line needs.
_VARYING = re.compile("0x[0-9a-f]+|[0-9.]+(?:e[+-]?[0-9]+)?(?: ?[num\xb5\u03bc]?s\\b)?|=+|-+")


def _skeleton(line: bytes) -> str:
    """A line without what differs from run to run."""
    return _VARYING.sub("#", line.decode("utf-8", "surrogateescape"))


@contextmanager
def _in_place(files: Sequence[Changed]) -> Iterator[None]:
    """The files are changed meanwhile."""
    written: list[Changed] = []
    try:
        for file in files:
            errors = write_files([file])
            if errors:
                raise UserError(f"{errors[0].path}: {errors[0].message}")
            written.append(file)
        yield
    finally:
        back = write_files([replace(file, before=file.after, after=file.before) for file in written])
        if back:
            raise UserError(f"{back[0].path}: could not be put back: {back[0].message}")


def _about(finding: Finding) -> tuple[str, str, str]:
    """What tells a finding apart whose line may have moved."""
    return finding.span.path, finding.code, finding.message


def _is_confirmed(finding: Finding) -> bool:
    return finding.verdict is not None and finding.verdict.status is Status.CONFIRMED


def _said(verdict: Verdict | None) -> str:
    if verdict is None:
        return "it could not be marked"
    return f"{verdict.status}: {verdict.message}" if verdict.message else str(verdict.status)

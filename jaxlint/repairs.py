"""What ``jaxlint check`` does to files: fixes made, shown or proven, and comments that silence findings.

Gives what is to be printed and reported; prints nothing itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxlint.errors import UserError
from jaxlint.findings import FileError, Finding, Report
from jaxlint.fix.run import Check, Fixed, by_path, difference, fix, write_files
from jaxlint.fixes.ignoring import with_ignores
from jaxlint.inputs import Inputs
from jaxlint.report.context import counted, escape, place
from jaxlint.source.text import SourceText, decode_source

# Gives the proof of fixes where a program is run for it.
Prove = Callable[[Check, Callable[[Finding], bool]], tuple[Fixed, Sequence[tuple[Finding, str]]]]


@dataclass(frozen=True, slots=True)
class Repaired:
    """What came of it: the text for standard output, remarks for standard error, what is left to report, and whether
    any file is or would be changed."""

    text: str
    remarks: tuple[str, ...]
    report: Report
    inputs: Inputs
    changed: bool


def repair(
    check: Check,
    wanted: Callable[[Finding], bool],
    given: Mapping[str, bytes],
    *,
    prove: Prove | None = None,
    diff: bool = False,
) -> Repaired:
    """Makes the fixes that are wanted, or shows them as a `diff`. What is `given` is no file: its text is printed."""
    withdrawn: Sequence[tuple[Finding, str]] = ()
    if prove is not None:
        fixed, withdrawn = prove(check, wanted)
    else:
        fixed = fix(check, wanted, given)
    remarks = [f"{_where(finding)}: {finding.code} not fixed: {escape(reason)}" for finding, reason in withdrawn]
    unwritten = [] if diff else write_files(fixed.files)
    remarks.append(_done("fixed", fixed, unwritten, diff=diff))
    errors = [*fixed.errors, *unwritten]
    text = "".join(map(difference, fixed.files)) if diff else ""
    if given and not diff:
        after = {file.path: file.after for file in fixed.files}
        text = "".join(decode_source(after.get(name, data), name).text for name, data in given.items())
    # What could not be written is as it was, with what was found there.
    report = check(Inputs()) if unwritten else fixed.report
    report = replace(report, errors=(*report.errors, *errors))
    inputs = Inputs() if fixed.files else fixed.inputs
    inputs.add(tuple(fixed.inputs.files.values()))
    return Repaired(text, tuple(remarks), report, inputs, bool(fixed.files))


def silence(check: Check, reason: str, *, diff: bool = False) -> Repaired:
    """Writes a comment to each finding, and reports those that can have none."""
    words = " ".join(reason.split())
    if not words:
        raise UserError("--add-ignore needs the reason: what shall stand behind the comment?")

    def with_comments(inputs: Inputs) -> Report:
        report = check(inputs)
        made = [
            finding
            for path, found in by_path(report.findings).items()
            if (source := inputs.source(path)) is not None
            for finding in _commented(found, source, inputs, words)
        ]
        return replace(report, findings=tuple(made))

    done = fix(with_comments, lambda finding: finding.fix is not None, passes=1)
    unwritten = [] if diff else write_files(done.files)
    remark = _done("silenced", done, unwritten, diff=diff)
    errors = [*done.errors, *unwritten]
    text = "".join(map(difference, done.files)) if diff else ""
    inputs = done.inputs if diff else Inputs()
    report = done.report if diff else check(inputs)
    report = replace(report, errors=(*report.errors, *errors))
    return Repaired(text, (remark,), report, inputs, bool(done.files))


def _done(what: str, fixed: Fixed, unwritten: Sequence[FileError], *, diff: bool) -> str:
    """How many findings are, or would be, repaired or silenced, in how many files: those that were written."""
    lost = {error.path for error in unwritten}
    findings = sum(finding.span.path not in lost for finding in fixed.repaired)
    files = sum(file.path not in lost for file in fixed.files)
    return f"{counted(findings, 'finding')} {'would be ' if diff else ''}{what} in {counted(files, 'file')}"


def _where(finding: Finding) -> str:
    span = finding.span
    return place(span.path, span.line, span.column, span.cell)


def _commented(findings: Sequence[Finding], source: SourceText, inputs: Inputs, reason: str) -> list[Finding]:
    in_text = [replace(finding, span=inputs.in_program(finding.span)) for finding in findings]
    made = with_ignores(in_text, source, reason)
    return [
        replace(finding, fix=one.fix and inputs.in_cells_fix(finding.span.path, one.fix))
        for finding, one in zip(findings, made, strict=True)
    ]

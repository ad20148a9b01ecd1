"""`jaxlint check --confirm`: the findings executed in the user's program."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jaxlint.commands.streams import say
from jaxlint.configuration import shown
from jaxlint.errors import UserError
from jaxlint.findings import Finding, Report, Status
from jaxlint.fix.run import Check, Fixed
from jaxlint.inputs import Inputs
from jaxlint.processes.interrupts import Interrupted
from jaxlint.report.progress import Progress
from jaxlint.report.verdicts import is_refuted
from jaxlint.rulebook import Rule
from jaxlint.settings import Request, Settings

if TYPE_CHECKING:
    from jaxlint.confirm.run import Execution


def confirmed(
    report: Report, rules: Mapping[str, Rule], inputs: Inputs, settings: Settings, request: Request
) -> tuple[Report, int]:
    """The report with verdicts: the refuted findings last, or the confirmed alone. And the signal by which this process
    was told to end meanwhile, or 0: then what is known is told all the same."""
    done = executed(report, rules, inputs, settings, request)
    findings = done.report.findings
    if request.confirmed_only and not settings.confirm.run and not any(f.verdict and f.verdict.runs for f in findings):
        raise UserError("--confirmed-only: nothing was run: name a program by --run, for example 'python train.py'")
    if request.confirmed_only:
        findings = tuple(f for f in findings if f.verdict and f.verdict.status is Status.CONFIRMED)
    return replace(done.report, findings=tuple(sorted(findings, key=is_refuted))), done.interrupted


def prove_fixes(
    check: Check,
    wanted: Callable[[Finding], bool],
    rules: Mapping[str, Rule],
    settings: Settings,
    request: Request,
) -> tuple[Fixed, Sequence[tuple[Finding, str]]]:
    """The fixes that the repeated run proves, and the others with the reason."""
    from jaxlint.fix.proof import prove

    def execute(report: Report, inputs: Inputs) -> "Execution":
        done = executed(report, rules, inputs, settings, request, keeps_output=True)
        if done.interrupted:
            # Nothing is proven by half a run: the files go back to what they were.
            raise Interrupted(done.interrupted)
        return done

    return prove(check, execute, wanted)


def executed(
    report: Report,
    rules: Mapping[str, Rule],
    inputs: Inputs,
    settings: Settings,
    request: Request,
    *,
    keeps_output: bool = False,
) -> "Execution":
    """The findings executed; what is to be said of it is said."""
    from jaxlint.confirm.run import Request as Executing
    from jaxlint.confirm.run import confirm

    progress = Progress(sys.stderr if not request.quiet and sys.stderr and sys.stderr.isatty() else None)
    locations = {file.path: file.location for file in inputs.files.values() if file.path not in inputs.given}
    of_file = settings.config is not None and not request.flags.run and bool(settings.confirm.run)
    done = confirm(
        report,
        rules,
        Executing(
            choices=settings.confirm,
            folder=settings.config.absolute().parent if of_file and settings.config else Path.cwd(),
            place=f"{shown(settings.config)}: confirm.run" if of_file and settings.config else "--run",
            verbose=request.verbose,
            locations=locations,
            notebooks={path: notebook for path, notebook in inputs.programs().items() if path in locations},
            announce=lambda command: None if request.quiet else say(f"running `{command}`"),
            progress=progress.show,
            keeps_output=keeps_output,
        ),
    )
    progress.end()
    if not request.quiet:
        for remark in done.remarks:
            say(remark)
    return done

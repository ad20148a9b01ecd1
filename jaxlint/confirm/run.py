"""The one door: a report and what to run in, the same report with verdicts out."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jaxlint.confirm.answers import Answers
from jaxlint.confirm.commands import Command, Ended, find_python, log_tail, own_suite, parse_command, run
from jaxlint.confirm.marking import Marking, mark
from jaxlint.confirm.probing import probed
from jaxlint.confirm.verdicts import verdict
from jaxlint.findings import Report
from jaxlint.rulebook import Rule
from jaxlint.settings import Confirm
from jaxlint.witness.plan import Plan, write_plan

CRASHES = tuple(-getattr(signal, name) for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL") if hasattr(signal, name))
TAIL = 12


@dataclass(frozen=True, slots=True)
class Execution:
    """A report with verdicts, and what is to be said of the runs, for standard error."""

    report: Report
    remarks: tuple[str, ...]


def confirm(
    report: Report,
    rules: Mapping[str, Rule],
    locations: Mapping[str, Path],
    choices: Confirm,
    *,
    folder: Path,
    progress: Callable[[str, int, int], None],
) -> Execution:
    """Runs what is to be run in `folder` and gives each finding its verdict. `progress` is told the current command,
    the number of findings with an answer and the number of all."""
    marking = mark(report.findings, rules, locations)
    if not marking.files:
        return Execution(_judged(report, marking, Answers(), ""), ())
    python = find_python(choices.python)
    texts = choices.run or tuple(filter(None, (own_suite(folder),)))
    commands = [parse_command(text, python) for text in texts]
    remarks = [] if commands else ["nothing was run: name a program by --run, for example --run 'python train.py'"]
    with tempfile.TemporaryDirectory(prefix="jaxlint-", ignore_cleanup_errors=True) as temporary:
        session = _Session(marking, choices, folder, Path(temporary), progress)
        troubles = [session.run(command, remarks) for command in commands]
        trouble = next(filter(None, troubles), "")
        judged = _judged(report, marking, session.answers, trouble)
        judged = replace(
            judged, findings=probed(judged.findings, python, session.probe_backend, rules, Path(temporary))
        )
    return Execution(judged, tuple(remarks))


class _Session:
    """The runs of one call: their plans and records lie in a temporary folder."""

    def __init__(
        self,
        marking: Marking,
        choices: Confirm,
        folder: Path,
        temporary: Path,
        progress: Callable[[str, int, int], None],
    ) -> None:
        self.marking, self.choices, self.folder, self.temporary = marking, choices, folder, temporary
        self.progress = progress
        self.answers = Answers()
        self.number = 0

    def run(self, command: Command, remarks: list[str]) -> str:
        """Runs one command; what kept it from its end, or nothing."""
        ended, answers, log, records = self._run(command, self.choices.backend)
        if ended.status in CRASHES and "virtual" in answers.backends and self.choices.backend == "auto":
            remarks.append(f"`{command.shown}` crashed on the backend virtual: it was run again with sentinel")
            ended, answers, log, records = self._run(command, "sentinel")
        self.answers.read(records)
        trouble = ended.trouble or (f"the program raised {answers.crashed}" if answers.crashed else "")
        if not answers.processes:
            remarks.append(
                f"`{command.shown}`: no Python of it could be watched (one started with -I, -E or -S cannot)"
            )
        if ended.status or ended.timed_out:
            what = trouble or f"it ended with status {ended.status}"
            remarks.append(f"`{command.shown}`: {what}; its last lines:")
            remarks.extend(f"  {line}" for line in log_tail(log, TAIL))
        for name, told in answers.backends.items():
            remarks.append(f"`{command.shown}`: judged by the backend {name} (jax {told.get('jax')})")
        return trouble

    @property
    def probe_backend(self) -> str:
        """The backend for operation probes: the one that judged the runs, else the one that always serves."""
        return next(iter(self.answers.backends), self.choices.backend if self.choices.backend != "auto" else "sentinel")

    def _run(self, command: Command, backend: str) -> tuple[Ended, Answers, Path, Path]:
        self.number += 1
        records = self.temporary / f"run-{self.number}"
        records.mkdir()
        plan, log = self.temporary / f"plan-{self.number}.json", self.temporary / f"log-{self.number}.txt"
        write_plan(
            Plan(self.marking.files, self.marking.digests, str(records), str(cache_folder()), backend), str(plan)
        )
        decided = len(self.answers.marks)
        total = len({number for _, number in self.marking.of_finding.values()})
        environment = {**command.environment}
        if self.choices.plugin:
            environment["JAXLINT_PLUGIN"] = str((self.folder / self.choices.plugin).absolute())
        ended = run(
            replace(command, environment=environment),
            plan,
            log,
            folder=self.folder,
            timeout=self.choices.timeout,
            tick=lambda: self.progress(command.shown, decided, total),
        )
        answers = Answers()
        answers.read(records)
        for left in records.glob("stderr-*"):
            with log.open("ab") as file, left.open("rb") as kept:
                shutil.copyfileobj(kept, file)
        return ended, answers, log, records


def cache_folder() -> Path:
    """Where answers about this machine's backends outlive a run."""
    if own := os.environ.get("JAXLINT_CACHE_DIR"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxlint"


def _judged(report: Report, marking: Marking, answers: Answers, trouble: str) -> Report:
    findings = [
        replace(finding, verdict=verdict(index, finding, marking, answers, trouble))
        for index, finding in enumerate(report.findings)
    ]
    return replace(report, findings=tuple(findings))

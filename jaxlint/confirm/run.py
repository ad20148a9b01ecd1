"""The one door: a report and what to run in, the same report with verdicts out."""

import errno
import functools
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxlint.confirm.answers import Answers
from jaxlint.confirm.commands import INTERRUPTED, Command, Ended, find_python, log_tail, own_suite, parse_command, run
from jaxlint.confirm.marking import Marking, Source, mark
from jaxlint.confirm.notebooks import program
from jaxlint.confirm.probing import probed
from jaxlint.confirm.verdicts import verdict
from jaxlint.errors import UserError
from jaxlint.findings import FileError, Report
from jaxlint.processes.folders import records_folder, temporary_folder
from jaxlint.processes.interrupts import Told, noted
from jaxlint.rulebook import Rule
from jaxlint.settings import Confirm
from jaxlint.source.notebooks import Notebook
from jaxlint.witness.plan import Plan, cache_folder, write_plan

CRASHES = tuple(-getattr(signal, name) for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL") if hasattr(signal, name))
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TAIL = 12
LOOK_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be run: the choices, the folder to run in, where the commands were written, and whether all that they
    print is wanted. `locations` are the checked files by shown path, `notebooks` the programs of those that are
    notebooks. `announce` is told each command as it starts, `progress` the current command, the number of places with
    an answer and that of all. If `keeps_output`, what the commands print is kept."""

    choices: Confirm
    folder: Path
    place: str
    verbose: bool
    locations: Mapping[str, Path]
    notebooks: Mapping[str, Notebook]
    announce: Callable[[str], None]
    progress: Callable[[str, int, int], None]
    keeps_output: bool = False


@dataclass(frozen=True, slots=True)
class Execution:
    """A report with verdicts (and an error for each command that failed), and remarks for standard error. `outputs`
    are what each command printed, where that was to be kept, and its exit status. `interrupted` is the signal by which
    this process was told to end meanwhile, or 0."""

    report: Report
    remarks: tuple[str, ...]
    outputs: tuple[tuple[bytes, int], ...] = ()
    interrupted: int = 0


def confirm(report: Report, rules: Mapping[str, Rule], request: Request) -> Execution:
    """Runs what is to be run and gives each finding its verdict."""
    with noted() as told, temporary_folder() as folder:
        sources = {path: Source(location) for path, location in request.locations.items()}
        sources |= {path: program(found, folder, path) for path, found in request.notebooks.items()}
        marking = mark(report.findings, rules, sources)
        if not marking.files:
            return Execution(_judged(report, marking, Answers(), ""), ())
        python = functools.cache(lambda: find_python(request.choices.python))
        texts = request.choices.run or tuple(filter(None, (own_suite(request.folder),)))
        programs = {os.path.realpath(request.locations[path]): sources[path].location for path in request.notebooks}
        commands = [parse_command(text, python, programs, request.place) for text in texts]
        session = _Session(marking, request, folder, told)
        if not commands:
            session.remarks.append("nothing was run: name a program by --run, for example --run 'python train.py'")
        troubles = [session.run(command) for command in commands]
        judged = _judged(report, marking, session.answers, next(filter(None, troubles), ""))
        asked = next((command.interpreter for command in commands if command.interpreter), "")
        findings = judged.findings
        try:
            if not told.number:
                findings = probed(findings, asked or python(), session.probe_backend, rules, folder, told)
        except (UserError, OSError):
            if not commands:
                raise
    judged = replace(judged, findings=findings, errors=(*judged.errors, *session.errors))
    return Execution(judged, tuple(session.remarks), tuple(session.outputs), told.number)


@dataclass(slots=True)
class _Run:
    """One run of a command: how it ended, what the witness told, and where that and the output are."""

    ended: Ended
    answers: Answers
    log: Path
    records: Path
    printed: Path | None


@dataclass(slots=True)
class _Session:
    """The runs of one call: their plans and records lie in a temporary folder."""

    marking: Marking
    request: Request
    temporary: Path
    told: Told
    answers: Answers = field(default_factory=Answers)
    remarks: list[str] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)
    outputs: list[tuple[bytes, int]] = field(default_factory=list)
    number: int = 0
    decided: int = 0
    looked: float = 0.0

    def run(self, command: Command) -> str:
        """Runs one command; what kept it from its end, or nothing."""
        if self.told.number:
            return INTERRUPTED
        self.request.announce(command.shown)
        if command.said:
            self.remarks.append(f"`{command.shown}`: {command.said}")
        try:
            return self._judged(command)
        except OSError as error:
            if error.errno not in FULL:
                raise
            trouble = f"{self.temporary.parent}: {error.strerror}: set TMPDIR to a folder with room for its records"
            self._fail(command.shown, trouble)
            return trouble

    def _judged(self, command: Command) -> str:
        wanted = self.request.choices.backend
        done = self._run(command, wanted)
        if done.ended.status in CRASHES and "virtual" in done.answers.backends and wanted == "auto":
            self.remarks.append(f"`{command.shown}` crashed on the backend virtual: it was run again with sentinel")
            done = self._run(command, "sentinel")
        self.answers.read(done.records)
        self.outputs.append((done.printed.read_bytes() if done.printed else b"", done.ended.status))
        trouble = done.ended.trouble or done.answers.crashed
        if not trouble and done.ended.status:
            trouble = f"it ended with status {done.ended.status}"
        if self.request.verbose:
            self.remarks.extend(log_tail(done.log, None))
        if trouble:
            self._fail(command.shown, trouble)
            if not self.request.verbose:
                self.remarks.append(f"the last lines of `{command.shown}`:")
                self.remarks.extend(f"  {line}" for line in log_tail(done.log, TAIL))
        elif not done.answers.processes:
            self._fail(command.shown, "it started no Python that could be watched (one with -I, -E or -S can not be)")
        for name, told in done.answers.backends.items():
            self.remarks.append(f"`{command.shown}`: judged by the backend {name} (jax {told.get('jax')})")
            if wanted not in ("auto", name):
                self._fail(f"--backend {wanted}", f"{told.get('reason') or 'it did not serve'}; {name} judged instead")
        return trouble

    def _fail(self, what: str, message: str) -> None:
        error = FileError(what, message)
        if error not in self.errors:
            self.errors.append(error)

    @property
    def probe_backend(self) -> str:
        """The backend for operation probes: the one that judged the runs, else the one that always serves."""
        wanted = self.request.choices.backend
        return next(iter(self.answers.backends), wanted if wanted != "auto" else "sentinel")

    def _run(self, command: Command, backend: str) -> _Run:
        self.number += 1
        records = records_folder(self.temporary)
        plan, log = self.temporary / f"plan-{self.number}.json", self.temporary / f"log-{self.number}.txt"
        marking = self.marking
        told = Plan(marking.files, marking.digests, str(records), str(cache_folder()), backend, cells=marking.cells)
        write_plan(told, str(plan))
        total = len({number for _, number in marking.of_finding.values()})
        environment = {**command.environment}
        if self.request.choices.plugin:
            environment["JAXLINT_PLUGIN"] = str((self.request.folder / self.request.choices.plugin).absolute())
        printed = self.temporary / f"printed-{self.number}.txt" if self.request.keeps_output else None
        ended = run(
            replace(command, environment=environment),
            plan,
            log,
            printed=printed,
            folder=self.request.folder,
            timeout=self.request.choices.timeout,
            tick=lambda: self.request.progress(command.shown, self._decided(records), total),
            told=self.told,
        )
        answers = Answers()
        answers.read(records)
        for left in records.glob("stderr-*"):
            with suppress(OSError), log.open("ab") as file, left.open("rb") as kept:
                shutil.copyfileobj(kept, file)
        return _Run(ended, answers, log, records, printed)

    def _decided(self, records: Path) -> int:
        """How many places have an answer by now; looked up once a second."""
        if time.monotonic() - self.looked > LOOK_SECONDS:
            self.looked = time.monotonic()
            now = Answers()
            now.read(records)
            self.decided = len(now.marks.keys() | self.answers.marks.keys())
        return self.decided


def _judged(report: Report, marking: Marking, answers: Answers, trouble: str) -> Report:
    findings = [
        replace(finding, verdict=verdict(index, finding, marking, answers, trouble))
        for index, finding in enumerate(report.findings)
    ]
    return replace(report, findings=tuple(findings))

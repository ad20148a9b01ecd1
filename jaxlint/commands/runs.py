"""`jaxlint run` and `jaxlint report`: what programs transferred."""

import os
import sys
import tokenize
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jaxlint import ranks
from jaxlint import settings as choices
from jaxlint.check import check_paths
from jaxlint.commands.streams import CLEAN, say, show, write
from jaxlint.errors import UserError
from jaxlint.inputs import Inputs
from jaxlint.processes.interrupts import noted
from jaxlint.report import run_compare, run_json, run_page, run_text
from jaxlint.rulebook import Rule, load_rules, names_of
from jaxlint.settings import Flags, RunRequest, Settings
from jaxlint.source.files import shown_path
from jaxlint.transfers import Run

# Folders whose files are no program's own; Python's own library is the folder that holds these two.
INSTALLED = {"site-packages", "dist-packages"}
STANDARD = ("site.py", "sysconfig.py")


def run(request: RunRequest) -> int:
    """Runs a program and tells what it transferred; the exit status is the program's."""
    from jaxlint import trace
    from jaxlint.confirm.commands import find_python
    from jaxlint.records import shown as with_shown_paths
    from jaxlint.witness.plan import cache_folder

    rules = {rule.code: rule for rule in load_rules()}
    # Those that are off by default speak of transfers that happen all the same.
    of_transfers = tuple(code for code, rule in rules.items() if rule.direction is not None)
    flags = Flags(
        select=of_transfers,
        min_heat="cold",
        backend=request.backend,
        config=request.config,
        isolated=request.isolated,
    )
    settings = choices.resolve(flags, names_of(rules.values()), Path.cwd())
    render = _run_form(request.report)
    if request.report is not None:
        _require_place(request.report, request.report.parent if render else request.report)
    runs = trace.run(
        request.words,
        python=find_python(request.python or settings.confirm.python, "jaxlint run"),
        levels=request.levels,
        backend=settings.confirm.backend,
        cache=cache_folder(),
        plugin=settings.confirm.plugin,
    )
    inputs = Inputs()
    try:
        runs = _joined(runs, settings, rules, inputs)
    except KeyboardInterrupt:
        # Whoever is impatient with the program means its end, and not that of what it has told.
        say("interrupted: what the static pass says of these lines is left out")
    with noted():
        done, *each = (with_shown_paths(run, Path.cwd()) for run in runs)
        if not request.quiet:
            show(run_text.render(done, stacks=request.stacks), sys.stderr)
        try:
            if render is None:
                _write_each(each or [done], request.report)
            elif request.report is not None:
                _make_folder(request.report.parent)
                write(render(done, lambda path: inputs.lines(path, None)), request.report)
        except UserError:
            if request.quiet:
                # What a long run did is not to be lost with the report.
                show(run_text.render(done, stacks=True, limit=None), sys.stderr)
            raise
    return done.exit_status


def _require_place(report: Path, folder: Path) -> None:
    """UserError where no report can be written: it is to be known before a long run, and not after it. A folder that is
    not there may be made by the program, or is made at the end."""
    nearest = next((known for known in (folder, *folder.parents) if os.path.exists(known)), folder)
    if not nearest.is_dir():
        raise UserError(f"--report {report}: {nearest} is no folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise UserError(f"--report {report}: {nearest} cannot be written to")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be made: {error.strerror}") from None


def _joined(runs: Sequence[Run], settings: Settings, rules: Mapping[str, Rule], inputs: Inputs) -> list[Run]:
    """The runs with what the static pass says of the files that they loaded."""
    from jaxlint import trace

    files = [shown_path(path, Path.cwd()) for path in _own_files(runs[0])]
    report = check_paths(settings, files, rules=rules, inputs=inputs)
    checked = {str(file.location.absolute()): path for path, file in inputs.files.items()}
    skipped = {path for path, suppressions in inputs.suppressions.items() if suppressions.skip_file}
    return [trace.joined(run, report.findings, checked, silenced=inputs.silenced, skipped=skipped) for run in runs]


def _write_each(runs: Sequence[Run], folder: Path | None) -> None:
    """A report for each process, under names that those of other computers have not."""
    assert folder is not None
    _make_folder(folder)
    for run in runs:
        write(run_json.render(run), folder / f"rank{run.process}-{uuid.uuid4().hex[:12]}.json")


def report(paths: Sequence[Path], to: Path | None, *, stacks: bool) -> int:
    """Prints reports again, those of several processes put together."""
    render = _run_form(to)
    if render is None:
        raise UserError(f"--report {to}: the suffix chooses the form, and .json, .html and .txt are known")
    runs = [run for path in paths for run in (ranks.read_folder(path) if path.is_dir() else [ranks.read(path)])]
    if ranks.are_apart(runs):
        say("note: some of these had ended when others began: are they of one run of the program?")
    done = ranks.merged(runs) if len(runs) > 1 else runs[0]
    if to is not None:
        write(render(done, _lines_of), to)
    show(run_text.render(done, stacks=stacks))
    return CLEAN


def _lines_of(path: str) -> Sequence[str]:
    """The source lines of a file as it is now; none where it can not be read."""
    try:
        with tokenize.open(path) as file:
            return file.readlines()
    except (OSError, SyntaxError, ValueError):
        return ()


def _own_files(done: Run) -> list[str]:
    """The program's own source files: those that it loaded and those that transferred, but for installed packages and
    Python's own library."""
    found = {*done.files}
    for transfer in done.transfers:
        found.update(call.rpartition(" ")[0].rpartition(":")[0] for call in transfer.stack)
    return sorted(path for path in found if path.endswith(".py") and Path(path).is_file() and _is_own(Path(path)))


def _is_own(path: Path) -> bool:
    if INSTALLED & {*path.parts}:
        return False
    return not any(all((folder / name).is_file() for name in STANDARD) for folder in path.parents)


Form = Callable[[Run, Callable[[str], Sequence[str]]], str]


def _run_form(report: Path | None) -> Form | None:
    """How the report is to be written, by the suffix of its name: known before the program runs. None for a folder."""
    forms: Mapping[str, Form] = {
        ".json": lambda run, lines: run_json.render(run),
        ".txt": lambda run, lines: run_text.render(run, stacks=True, limit=None),
        ".html": run_page.render,
    }
    if report is not None and (report.is_dir() or not report.suffix):
        return None
    suffix = report.suffix if report is not None else ".json"
    if suffix not in forms:
        raise UserError(f"--report {report}: the suffix chooses the form, and {', '.join(forms)} are known")
    return forms[suffix]


def compare(before: Path, after: Path) -> int:
    """Prints what a change made of a program's transfers and times."""
    show(run_compare.render(ranks.read(before), ranks.read(after)))
    return CLEAN

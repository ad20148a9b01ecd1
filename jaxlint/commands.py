"""The commands: each takes typed data, prints its result and returns the exit status.

Standard output carries findings (or what was asked for) and nothing else; every remark goes to standard error.
"""

import json
import os
import sys
import tokenize
import uuid
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from jaxlint import baseline, cache, ranks
from jaxlint import settings as choices
from jaxlint.baseline import Compared
from jaxlint.check import check_bytes, check_paths, find_files
from jaxlint.configuration import nearest, shown
from jaxlint.errors import UserError
from jaxlint.findings import FileError, Finding, Report, Status
from jaxlint.fix.run import Check, Fixed
from jaxlint.inputs import Inputs
from jaxlint.repairs import Repaired, repair, silence
from jaxlint.report import formats, run_compare, run_json, run_page, run_text, statistics
from jaxlint.report.context import Context, counted, escape, place
from jaxlint.report.progress import Progress
from jaxlint.report.verdicts import is_refuted
from jaxlint.rulebook import Rule, load_rules
from jaxlint.selection import enabled, fixable
from jaxlint.settings import Flags, Request, RunRequest, Settings
from jaxlint.source.files import shown_path
from jaxlint.transfers import Run

if TYPE_CHECKING:
    from jaxlint.confirm.run import Execution
    from jaxlint.source.trees import Trees

CLEAN, FOUND, WRONG = 0, 1, 2
STDIN = "-"
UNNAMED = "stdin.py"
# Folders whose files are no program's own.
INSTALLED = {"site-packages", "dist-packages"}


def check(request: Request, trees: "Trees | None" = None) -> int:
    """Checks paths or standard input and prints the report. `trees` are those that are kept from check to check."""
    stdin = _stdin_name(request)
    if request.watch:
        return _watched(request, stdin)
    names = request.paths if stdin is None else (stdin,)
    rules = {rule.code: rule for rule in load_rules()}
    settings = choices.resolve(request.flags, rules, _start(names))
    if request.statistics and settings.output_format not in ("text", "json"):
        raise UserError(f"--statistics has no form as {settings.output_format}: use --output-format text or json")
    if request.verbose:
        _say(f"configuration: {shown(settings.config) if settings.config else 'none, the defaults hold'}")
    if request.show_settings:
        in_force = enabled(settings, {code: rule.default for code, rule in rules.items()})
        _print(choices.describe(settings, in_force))
        return CLEAN
    if request.show_files:
        return _show_files(settings, names)
    for file in (request.output_file, *(output.file for output in request.outputs)):
        if file is not None and not file.absolute().parent.is_dir():
            raise UserError(f"{file}: cannot write the report: No such file or directory")
    given = {} if stdin is None else {shown_path(stdin, Path.cwd()): sys.stdin.buffer.read()}

    in_force = enabled(settings, {code: rule.default for code, rule in rules.items()})
    compared = Compared()

    def examine(inputs: Inputs) -> Report:
        nonlocal compared
        if stdin is None:
            cached = not request.no_cache and not inputs.given
            report = check_paths(settings, names, rules=rules, inputs=inputs, cached=cached)
        else:
            (data,) = {**given, **inputs.given}.values()
            report = check_bytes(settings, data, stdin, rules=rules, inputs=inputs)
        if settings.baseline is None or request.write_baseline is not None:
            return report
        compared = baseline.compare(report.findings, inputs, settings.baseline, in_force)
        return replace(report, findings=compared.new)

    status = _checked(examine, given, stdin, rules, settings, request, trees)
    if settings.baseline is not None and not request.quiet:
        _say_gone(compared, settings.baseline)
    return status


def _checked(
    examine: Check,
    given: Mapping[str, bytes],
    stdin: str | None,
    rules: Mapping[str, Rule],
    settings: Settings,
    request: Request,
    trees: "Trees | None",
) -> int:
    """Checks, and does with the findings what is wanted."""
    if request.add_ignore is not None:
        return _repaired(silence(examine, request.add_ignore, diff=request.diff), stdin, rules, settings, request)
    if request.fix or request.fix_only or request.diff:
        proof = partial(_prove, rules=rules, settings=settings, request=request) if request.confirm else None
        done = repair(examine, partial(fixable, settings), given, prove=proof, diff=request.diff)
        return _repaired(done, stdin, rules, settings, request)
    inputs = Inputs(given, trees=trees)
    report = examine(inputs)
    if request.confirm:
        report = _confirmed(report, rules, inputs, settings, request)
    if request.write_baseline is not None:
        return _write_baseline(report, inputs, request)
    return _reported(report, rules, inputs, settings, request)


def _prove(
    check: Check,
    wanted: Callable[[Finding], bool],
    rules: Mapping[str, Rule],
    settings: Settings,
    request: Request,
) -> tuple[Fixed, Sequence[tuple[Finding, str]]]:
    """The fixes that the repeated run proves, and the others with the reason."""
    from jaxlint.fix.proof import prove

    def execute(report: Report, inputs: Inputs) -> "Execution":
        return _executed(report, rules, inputs, settings, request, keeps_output=True)

    return prove(check, execute, wanted)


def _repaired(
    done: Repaired, stdin: str | None, rules: Mapping[str, Rule], settings: Settings, request: Request
) -> int:
    """Prints what became of the files, and the report of what is left."""
    if done.text:
        _print(done.text)
    if not request.quiet:
        for remark in done.remarks:
            _say(remark)
    if not (request.diff or request.fix_only or stdin is not None):
        return _reported(done.report, rules, done.inputs, settings, request)
    for error in done.report.errors:
        _say(_error_line(error))
    left = done.changed if request.diff else bool(done.report.findings) and not request.fix_only
    return WRONG if done.report.errors else FOUND if left and not request.exit_zero else CLEAN


def _write_baseline(report: Report, inputs: Inputs, request: Request) -> int:
    """Writes the findings as known ones."""
    assert request.write_baseline is not None
    findings = [finding for finding in report.findings if not is_refuted(finding)]
    _write(baseline.render(findings, inputs, request.write_baseline), request.write_baseline)
    for error in report.errors:
        _say(_error_line(error))
    if not request.quiet:
        _say(f"{counted(len(findings), 'finding')} written to {request.write_baseline} as known")
    return WRONG if report.errors else CLEAN


def _say_gone(compared: Compared, file: Path) -> None:
    for known, count in compared.gone:
        where = f"{known.path}{f' {known.function}' if known.function else ''}"
        times = f" ({count} times)" if count > 1 else ""
        _say(escape(f"{shown(file)}: gone{times}: {known.code} in {where}: {known.text}"))


def _reported(report: Report, rules: Mapping[str, Rule], inputs: Inputs, settings: Settings, request: Request) -> int:
    """Prints the report, and gives the exit status."""
    color = request.output_file is None and _wants_color(request.color, sys.stdout)
    if request.statistics:
        text = statistics.render(report, settings.output_format)
    else:
        text = formats.render(report, settings.output_format, Context(rules, inputs.lines, color))
    _write(text, request.output_file)
    for output in request.outputs:
        _write(formats.render(report, output.form, Context(rules, inputs.lines)), output.file)
    _remark(report, request)
    if report.errors:
        return WRONG
    return FOUND if not all(map(is_refuted, report.findings)) and not request.exit_zero else CLEAN


def _watched(request: Request, stdin: str | None) -> int:
    """Checks again and again, as files change."""
    writes = request.fix or request.fix_only or request.diff or request.write_baseline or request.add_ignore
    if stdin is not None or request.confirm or writes:
        raise UserError(f"--watch reports on files and does nothing else: it goes with no {STDIN} and no other action")
    from jaxlint.source.trees import Trees
    from jaxlint.watching import watch

    once, trees = replace(request, watch=False), Trees()
    return watch(lambda: check(once, trees), request.paths)


def _confirmed(
    report: Report, rules: Mapping[str, Rule], inputs: Inputs, settings: Settings, request: Request
) -> Report:
    """The report with verdicts: the refuted findings last, or the confirmed alone."""
    executed = _executed(report, rules, inputs, settings, request)
    findings = executed.report.findings
    if request.confirmed_only and not settings.confirm.run and not any(f.verdict and f.verdict.runs for f in findings):
        raise UserError("--confirmed-only: nothing was run: name a program by --run, for example 'python train.py'")
    if request.confirmed_only:
        findings = tuple(f for f in findings if f.verdict and f.verdict.status is Status.CONFIRMED)
    return replace(executed.report, findings=tuple(sorted(findings, key=is_refuted)))


def _executed(
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
    executed = confirm(
        report,
        rules,
        Executing(
            choices=settings.confirm,
            folder=settings.config.absolute().parent if of_file and settings.config else Path.cwd(),
            place=f"{shown(settings.config)}: confirm.run" if of_file and settings.config else "--run",
            verbose=request.verbose,
            locations=locations,
            notebooks={path: notebook for path, notebook in inputs.programs().items() if path in locations},
            announce=lambda command: None if request.quiet else _say(f"running `{command}`"),
            progress=progress.show,
            keeps_output=keeps_output,
        ),
    )
    progress.end()
    if not request.quiet:
        for remark in executed.remarks:
            _say(remark)
    return executed


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
    settings = choices.resolve(flags, rules, Path.cwd())
    render = _run_form(request.report)
    runs = trace.run(
        request.words,
        python=find_python(request.python or settings.confirm.python, "jaxlint run"),
        levels=request.levels,
        backend=settings.confirm.backend,
        cache=cache_folder(),
        plugin=settings.confirm.plugin,
    )
    inputs = Inputs()
    files = _own_files(runs[0])
    report = check_paths(settings, [shown_path(path, Path.cwd()) for path in files], rules=rules, inputs=inputs)
    checked = {str(file.location.absolute()): path for path, file in inputs.files.items()}
    skipped = {path for path, suppressions in inputs.suppressions.items() if suppressions.skip_file}
    done, *each = (
        with_shown_paths(
            trace.joined(run, report.findings, checked, silenced=inputs.silenced, skipped=skipped), Path.cwd()
        )
        for run in runs
    )
    if render is None:
        _write_each(each or [done], request.report)
    elif request.report is not None:
        _write(render(done, lambda path: inputs.lines(path, None)), request.report)
    if not request.quiet:
        _print(run_text.render(done, stacks=request.stacks), sys.stderr)
    return done.exit_status


def _write_each(runs: Sequence[Run], folder: Path | None) -> None:
    """A report for each process, under names that those of other computers have not."""
    assert folder is not None
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{folder}: cannot be made: {error.strerror}") from None
    for run in runs:
        _write(run_json.render(run), folder / f"rank{run.process}-{uuid.uuid4().hex[:12]}.json")


def report(paths: Sequence[Path], to: Path | None, *, stacks: bool) -> int:
    """Prints reports again, those of several processes put together."""
    render = _run_form(to)
    if render is None:
        raise UserError(f"--report {to}: the suffix chooses the form, and .json, .html and .txt are known")
    runs = [run for path in paths for run in (ranks.read_folder(path) if path.is_dir() else [ranks.read(path)])]
    if ranks.are_apart(runs):
        _say("note: some of these had ended when others began: are they of one run of the program?")
    done = ranks.merged(runs) if len(runs) > 1 else runs[0]
    if to is not None:
        _write(render(done, _lines_of), to)
    _print(run_text.render(done, stacks=stacks))
    return CLEAN


def _lines_of(path: str) -> Sequence[str]:
    """The source lines of a file as it is now; none where it can not be read."""
    try:
        with tokenize.open(path) as file:
            return file.readlines()
    except (OSError, SyntaxError, ValueError):
        return ()


def _own_files(done: Run) -> list[str]:
    """The program's own source files: those that it loaded and those that transferred, but for installed packages."""
    found = {*done.files}
    for transfer in done.transfers:
        found.update(call.rpartition(" ")[0].rpartition(":")[0] for call in transfer.stack)
    return sorted(
        path for path in found if path.endswith(".py") and not INSTALLED & {*Path(path).parts} and Path(path).is_file()
    )


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
    _print(run_compare.render(ranks.read(before), ranks.read(after)))
    return CLEAN


def doctor(python: str) -> int:
    """Prints which guard backends can serve, and why the others can not."""
    from jaxlint.confirm.doctor import examine

    settings = choices.resolve(Flags(), (rule.code for rule in load_rules()), Path.cwd())
    text, serves = examine(python or settings.confirm.python)
    _print(text)
    return CLEAN if serves else WRONG


def merge(reports: Sequence[Path], output_file: Path | None) -> int:
    """Puts reports together; the exit status is that of a check of all their files."""
    from jaxlint.report.merge import merge as merged

    texts = {}
    for path in reports:
        try:
            texts[str(path)] = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    whole = merged(texts)
    _write(whole.text, output_file)
    return WRONG if whole.errors else FOUND if whole.findings else CLEAN


def server() -> int:
    """Serves an editor."""
    try:
        from jaxlint.server.language import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jaxlint"):
            raise
        raise UserError(f"the server needs {error.name}: install jaxlint with the extra `lsp`") from None
    serve()
    return CLEAN


def completion(parser: ArgumentParser, shell: str) -> int:
    """Prints the script that lets a shell complete arguments."""
    from jaxlint.completion import script

    pages = load_rules()
    codes = tuple(page.code for page in pages)
    families = tuple(sorted({code[:3] for code in codes}))
    words = {
        "CODE": (*codes, *(page.name for page in pages)),
        "CODES": (*families, *codes, choices.ALL),
        "FORMAT[=FILE]": choices.FORMATS,
        "LEVEL": choices.LEVELS,
    }
    _print(script(parser, shell, words))
    return CLEAN


def clean(paths: Sequence[str]) -> int:
    """Removes the cache that a check of these paths would use."""
    settings = choices.resolve(Flags(), (rule.code for rule in load_rules()), _start(paths or ["."]))
    base = settings.config.parent if settings.config is not None else Path.cwd()
    _say(f"{counted(cache.clean(base / settings.cache_dir), 'report')} removed")
    return CLEAN


def rule(name: str) -> int:
    """Prints a rule's page."""
    pages = load_rules()
    for page in pages:
        if name.upper() == page.code or name == page.name:
            _print(page.text)
            return CLEAN
    known = [word for page in pages for word in (page.code, page.name)]
    raise UserError(f'unknown rule "{name}"{nearest(name, known, "`jaxlint rules` lists them")}')


def rules(output_format: str) -> int:
    """Prints the table of rules."""
    pages = load_rules()
    if output_format == "json":
        _print(json.dumps([_row(page) for page in pages], indent=1) + "\n")
        return CLEAN
    width = max(len(page.name) for page in pages)
    lines = (f"{page.code}  {'on ' if page.default else 'off'}  {page.name:<{width}}  {page.summary}" for page in pages)
    _print("".join(line + "\n" for line in lines))
    return CLEAN


def _row(page: Rule) -> Mapping[str, object]:
    return {
        "code": page.code,
        "name": page.name,
        "direction": page.direction,
        "default": page.default,
        "summary": page.summary,
    }


def _stdin_name(request: Request) -> str | None:
    """What standard input is to be called; None where paths are checked."""
    if request.paths == (STDIN,):
        if request.add_ignore is not None:
            raise UserError("--add-ignore writes files, and standard input is none: name the file")
        if request.confirm:
            raise UserError("--confirm runs files, and standard input is none: name the file")
        return request.stdin_filename or UNNAMED
    if STDIN in request.paths:
        raise UserError("- is standard input and cannot be given with other paths: check them in two calls")
    if request.stdin_filename:
        raise UserError("--stdin-filename is the name of standard input: give - as the path")
    return None


def _start(names: Sequence[str]) -> Path:
    """The folder from which the search for a configuration goes up: the nearest one above every path."""
    folders = [path if path.is_dir() else path.parent for path in (Path(name).absolute() for name in names)]
    try:
        return Path(os.path.commonpath([os.path.normpath(folder) for folder in folders]))
    except ValueError:
        # Two drives have no common folder.
        return Path.cwd()


def _show_files(settings: Settings, names: Sequence[str]) -> int:
    found = find_files(settings, names)
    _print("".join(file.path + "\n" for file in found.files))
    for error in found.errors:
        _say(_error_line(error))
    return WRONG if found.errors else CLEAN


def _wants_color(choice: str, stream: TextIO | None) -> bool:
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def _print(text: str, stream: TextIO | None = None) -> None:
    """Prints to standard output. A reader that goes away (``| head``) wants no more: that is no error."""
    stream = stream or sys.stdout
    if stream is None:
        raise UserError("standard output is closed: name a file by --output-file")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # The interpreter would flush once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise UserError(f"standard output: cannot write the report: {error.strerror}") from None


def _write(text: str, path: Path | None) -> None:
    """Prints a report, or writes it as a whole: nobody reads half of one, and an old one stays until then."""
    if path is None:
        _print(text)
        return
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device, which is to be written to and not to be replaced.
            scratch = path
        scratch.write_text(text, encoding="utf-8", errors="backslashreplace")
        if scratch is not path:
            scratch.replace(path.resolve())
    except OSError as error:
        if scratch is not path:
            scratch.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot write the report: {error.strerror}") from None


def _remark(report: Report, request: Request) -> None:
    """What is to be said beside the findings: files that could not be checked, and a line that sums up."""
    for error in report.errors:
        _say(_error_line(error))
    if request.verbose:
        for error in report.unanalysed:
            _say(f"{place(error.path, error.line, error.column, error.cell)}: not analysed: {error.message}")
    if request.quiet:
        return
    standing = [finding for finding in report.findings if not is_refuted(finding)]
    found = f"{counted(len(standing), 'finding')} in {counted(report.files, 'file')}"
    if request.confirm:
        statuses = [finding.verdict.status for finding in report.findings if finding.verdict]
        parts = (f"{statuses.count(status)} {status}" for status in Status if status in statuses)
        found += f" ({', '.join(parts) or 'no verdict'})"
    failed = f", {counted(len(report.errors), 'error')}" if report.errors else ""
    _say(f"{found}{failed}")


def _error_line(error: FileError) -> str:
    return f"{place(error.path, error.line, error.column, error.cell)}: error: {escape(error.message)}"


def _say(text: str) -> None:
    _print(f"{text}\n", sys.stderr)

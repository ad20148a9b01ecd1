"""`jaxlint check`: findings, fixes and baselines."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from jaxlint import baseline
from jaxlint import settings as choices
from jaxlint.baseline import Compared
from jaxlint.check import check_bytes, check_paths, find_files
from jaxlint.commands.proofs import confirmed, prove_fixes
from jaxlint.commands.streams import CLEAN, FOUND, WRONG, error_line, printable, say, show, wants_color, write
from jaxlint.configuration import shown
from jaxlint.errors import UserError
from jaxlint.findings import Report, Status
from jaxlint.fix.run import Check
from jaxlint.inputs import Inputs
from jaxlint.processes.interrupts import Interrupted
from jaxlint.repairs import Repaired, repair, silence
from jaxlint.report import formats, statistics
from jaxlint.report.context import Context, counted, escape, place
from jaxlint.report.verdicts import is_refuted
from jaxlint.rulebook import Rule, load_rules, names_of
from jaxlint.selection import enabled, fixable
from jaxlint.settings import Request, Settings
from jaxlint.source.files import SUFFIXES, shown_path
from jaxlint.workers import processors

STDIN = "-"
UNNAMED = "stdin.py"


def check(request: Request) -> int:
    """Checks paths or standard input and prints the report."""
    stdin = _stdin_name(request)
    if request.watch:
        return _watched(request, stdin)
    names = request.paths if stdin is None else (stdin,)
    rules = {rule.code: rule for rule in load_rules()}
    settings = choices.resolve(request.flags, names_of(rules.values()), start(names))
    if request.statistics and settings.output_format not in ("text", "json"):
        raise UserError(f"--statistics has no form as {settings.output_format}: use --output-format text or json")
    if request.verbose:
        say(f"configuration: {shown(settings.config) if settings.config else 'none, the defaults hold'}")
    if request.show_settings:
        in_force = enabled(settings, {code: rule.default for code, rule in rules.items()})
        show(printable(choices.describe(settings, in_force)))
        return CLEAN
    if request.show_files:
        return _show_files(settings, names)
    _look_at_outputs(request)
    given = {} if stdin is None else {shown_path(stdin, Path.cwd()): sys.stdin.buffer.read()}

    in_force = enabled(settings, {code: rule.default for code, rule in rules.items()})
    compared = Compared()

    def examine(inputs: Inputs) -> Report:
        nonlocal compared
        if stdin is None:
            cached = not request.no_cache and not inputs.given
            jobs = 1 if inputs.given else request.jobs or processors()
            report = check_paths(settings, names, rules=rules, inputs=inputs, cached=cached, jobs=jobs)
        else:
            (data,) = {**given, **inputs.given}.values()
            report = check_bytes(settings, data, stdin, rules=rules, inputs=inputs)
        if settings.baseline is None or request.write_baseline is not None:
            return report
        compared = baseline.compare(report.findings, inputs, settings.baseline, in_force)
        return replace(report, findings=compared.new)

    status = _checked(examine, given, stdin, rules, settings, request)
    if settings.baseline is not None and not request.quiet:
        _say_gone(compared, settings.baseline)
    return status


def _look_at_outputs(request: Request) -> None:
    """Refuses, before anything is done, what reports can not be written to, or would spoil."""
    seen: set[Path] = set()
    for file in (request.output_file, request.write_baseline, *(output.file for output in request.outputs)):
        if file is None:
            continue
        if not file.absolute().parent.is_dir():
            raise UserError(f"{file}: cannot write the report: No such file or directory")
        if file.name.endswith(SUFFIXES):
            raise UserError(f"{file}: a report would overwrite a program: name another file")
        if file.resolve() in seen and (file.is_file() or not file.exists()):
            raise UserError(f"{file}: two reports would go to the same file: name another for one of them")
        seen.add(file.resolve())
    if request.write_baseline is not None:
        baseline.look_at(request.write_baseline)


def _checked(
    examine: Check,
    given: Mapping[str, bytes],
    stdin: str | None,
    rules: Mapping[str, Rule],
    settings: Settings,
    request: Request,
) -> int:
    """Checks, and does with the findings what is wanted."""
    if request.add_ignore is not None and (request.fix or request.fix_only):
        raise UserError("--add-ignore and --fix exclude each other: fix first, and silence what is left")
    if request.add_ignore is not None:
        return _repaired(silence(examine, request.add_ignore, diff=request.diff), stdin, rules, settings, request)
    if request.fix or request.fix_only or request.diff:
        proof = partial(prove_fixes, rules=rules, settings=settings, request=request) if request.confirm else None
        done = repair(examine, partial(fixable, settings), given, prove=proof, diff=request.diff)
        return _repaired(done, stdin, rules, settings, request)
    inputs = Inputs(given)
    report, interrupted = examine(inputs), 0
    if request.confirm:
        report, interrupted = confirmed(report, rules, inputs, settings, request)
    if request.write_baseline is not None:
        status = _write_baseline(report, inputs, request)
    else:
        status = _reported(report, rules, inputs, settings, request)
    if interrupted:
        raise Interrupted(interrupted)
    return status


def _repaired(
    done: Repaired, stdin: str | None, rules: Mapping[str, Rule], settings: Settings, request: Request
) -> int:
    """Prints what became of the files, and the report of what is left."""
    if done.text:
        # A patch is to be applied as it is; a person is to read it.
        show(printable(done.text) if request.diff and sys.stdout and sys.stdout.isatty() else done.text)
    if not request.quiet:
        for remark in done.remarks:
            say(remark)
    if not (request.diff or request.fix_only or stdin is not None):
        return _reported(done.report, rules, done.inputs, settings, request)
    for error in done.report.errors:
        say(error_line(error))
    left = done.changed if request.diff else bool(done.report.findings) and not request.fix_only
    return WRONG if done.report.errors else FOUND if left and not request.exit_zero else CLEAN


def _write_baseline(report: Report, inputs: Inputs, request: Request) -> int:
    """Writes the findings as known ones."""
    assert request.write_baseline is not None
    if report.errors:
        for error in report.errors:
            say(error_line(error))
        raise UserError(f"{request.write_baseline}: not written, because not everything was checked")
    findings = [finding for finding in report.findings if not is_refuted(finding)]
    write(baseline.render(findings, inputs, request.write_baseline), request.write_baseline)
    if not request.quiet:
        say(f"{counted(len(findings), 'finding')} written to {request.write_baseline} as known")
    return CLEAN


def _say_gone(compared: Compared, file: Path) -> None:
    for known, count in compared.gone:
        where = f"{known.path}{f' {known.function}' if known.function else ''}"
        times = f" ({count} times)" if count > 1 else ""
        say(f"{shown(file)}: gone{times}: {known.code} in {where}: {known.text}")


def _reported(report: Report, rules: Mapping[str, Rule], inputs: Inputs, settings: Settings, request: Request) -> int:
    """Prints the report, and gives the exit status."""
    color = request.output_file is None and wants_color(request.color, sys.stdout)
    if request.statistics:
        text = statistics.render(report, settings.output_format)
    else:
        text = formats.render(report, settings.output_format, Context(rules, inputs.lines, color))
    write(text, request.output_file)
    for output in request.outputs:
        write(formats.render(report, output.form, Context(rules, inputs.lines)), output.file)
    _remark(report, request)
    if report.errors:
        return WRONG
    return FOUND if not all(map(is_refuted, report.findings)) and not request.exit_zero else CLEAN


def _watched(request: Request, stdin: str | None) -> int:
    """Checks again and again, as files change."""
    writes = request.fix or request.fix_only or request.diff or request.write_baseline or request.add_ignore
    if stdin is not None or request.confirm or writes:
        raise UserError(f"--watch reports on files and does nothing else: it goes with no {STDIN} and no other action")
    from jaxlint.watching import watch

    once = replace(request, watch=False)
    return watch(lambda: check(once), request.paths)


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


def start(names: Sequence[str]) -> Path:
    """The folder from which the search for a configuration goes up: the nearest one above every path."""
    folders = [path if path.is_dir() else path.parent for path in (Path(name).absolute() for name in names)]
    try:
        return Path(os.path.commonpath([os.path.normpath(folder) for folder in folders]))
    except ValueError:
        # Two drives have no common folder.
        return Path.cwd()


def _show_files(settings: Settings, names: Sequence[str]) -> int:
    found = find_files(settings, names)
    show("".join(escape(file.path) + "\n" for file in found.files))
    for error in found.errors:
        say(error_line(error))
    return WRONG if found.errors else CLEAN


def _remark(report: Report, request: Request) -> None:
    """What is to be said beside the findings: files that could not be checked, and a line that sums up."""
    for error in report.errors:
        say(error_line(error))
    if request.verbose:
        for error in report.unanalysed:
            say(f"{place(error.path, error.line, error.column, error.cell)}: not analysed: {error.message}")
    if request.quiet:
        return
    standing = [finding for finding in report.findings if not is_refuted(finding)]
    found = f"{counted(len(standing), 'finding')} in {counted(report.files, 'file')}"
    if request.confirm:
        statuses = [finding.verdict.status for finding in report.findings if finding.verdict]
        parts = (f"{statuses.count(status)} {status}" for status in Status if status in statuses)
        found += f" ({', '.join(parts) or 'no verdict'})"
    failed = f", {counted(len(report.errors), 'error')}" if report.errors else ""
    say(f"{found}{failed}")

"""The command line: arguments, one call, a report, an exit status. The one place that catches and prints errors.

Exit status: 0 nothing found, 1 findings, 2 the request or a file was wrong, 3 a bug in jaxlint. What the commands do is
in `commands`.
"""

import argparse
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from jaxlint import __version__
from jaxlint.errors import UserError
from jaxlint.keys import BACKENDS, CONFIDENCES, FORMATS, GUARDED, HEATS, LEVELS
from jaxlint.settings import Flags, Output, Request, RunRequest

WRONG, BUG, SIGNAL_STATUS = 2, 3, 128


EXAMPLES = {
    "check": (
        ("the hot transfers of a folder", "jaxlint check src"),
        ("all transfers, also those that run once", "jaxlint check --min-heat cold train.py"),
        ("with the guard's verdict on each", 'jaxlint check --confirm --run "python train.py --steps 20" src'),
        ("printed, and a file for code scanning", "jaxlint check --output-format sarif=jaxlint.sarif"),
        ("one rule alone, counted", "jaxlint check --select JT104 --statistics"),
    ),
    "run": (
        ("all that a program transfers", "jaxlint run train.py --steps 20"),
        ("the same as a page", "jaxlint run --report run.html -m mylab.train"),
        ("stop at the first implicit fetch", "jaxlint run --guard-device-to-host disallow train.py"),
    ),
    "rule": (("a page by code or by name", "jaxlint rule scalar-conversion"),),
    "merge": (("the shards of a repository", "jaxlint merge a.json b.json --output-file all.json"),),
    "completion": (("for this bash, and for every new one", "jaxlint completion bash >> ~/.bash_completion"),),
}


class _Parser(argparse.ArgumentParser):
    """argparse with one line instead of the usage text for a wrong argument."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    for stream in (sys.stdout, sys.stderr):
        # A report must not fail on a terminal that cannot show a character of the source.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except UserError as error:
        from jaxlint.report.context import escape

        print(f"jaxlint: {escape(str(error))}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt as interrupt:
        print("jaxlint: interrupted", file=sys.stderr)
        # The signal, where work was given up in order.
        return SIGNAL_STATUS + int(*interrupt.args or (signal.SIGINT,))
    except Exception:  # noqa: BLE001  # the one place: whatever comes here is a bug of ours
        traceback.print_exc()
        print(
            f"jaxlint: this is a bug in jaxlint {__version__}, not in your code: please report it with the lines above "
            "and, if you can, the file that shows it",
            file=sys.stderr,
        )
        return BUG


def _run(argv: Sequence[str]) -> int:
    if argv and argv[0].endswith((".py", ".pyi", ".ipynb")):
        raise UserError(f"{argv[0]} is no command: jaxlint check {argv[0]} reads it, jaxlint run {argv[0]} runs it")
    arguments = _parser().parse_args(argv)
    if arguments.command is None:
        raise UserError("say what to do: jaxlint check, run, or another command (see jaxlint --help)")
    # Here and not at the top: what a check needs takes longer to load than --version and the pages of rules take.
    match arguments.command:
        case "rule" | "rules" | "completion":
            return _run_pages(arguments)
        case "run" | "report":
            return _run_runs(arguments)
        case "clean" | "doctor" | "merge" | "server":
            return _run_services(arguments)
    from jaxlint.commands import checks

    return checks.check(_request(arguments))


def _run_pages(arguments: argparse.Namespace) -> int:
    from jaxlint.commands import pages

    match arguments.command:
        case "rule":
            return pages.rule(arguments.code)
        case "rules":
            return pages.rules(arguments.output_format)
    return pages.completion(_parser(), arguments.shell)


def _run_runs(arguments: argparse.Namespace) -> int:
    from jaxlint.commands import runs

    if arguments.command == "report":
        return runs.report(arguments.paths, arguments.report, stacks=arguments.stacks)
    if arguments.compare:
        return runs.compare(*arguments.compare)
    return runs.run(_run_request(arguments))


def _run_services(arguments: argparse.Namespace) -> int:
    from jaxlint.commands import services

    match arguments.command:
        case "clean":
            return services.clean(arguments.paths)
        case "doctor":
            return services.doctor(arguments.python)
        case "merge":
            return services.merge(arguments.reports, arguments.output_file)
    return services.server()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="jaxlint", description="Finds implicit host/device transfers in JAX programs.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"jaxlint {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_check(
        commands.add_parser("check", help="report findings; imports neither JAX nor your code", allow_abbrev=False)
    )
    _add_run(
        commands.add_parser(
            "run",
            help="run a program and record what it transfers",
            usage="%(prog)s [options] SCRIPT|-m MODULE ARGS…\n       %(prog)s --compare BEFORE.json AFTER.json",
            allow_abbrev=False,
        )
    )
    report = commands.add_parser(
        "report", help="print reports of run again, those of several processes put together", allow_abbrev=False
    )
    report.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="folders, or files FILE.json")
    report.add_argument("--report", type=Path, metavar="FILE", help="write it too: FILE.json, FILE.html or FILE.txt")
    report.add_argument("--stacks", action="store_true", help="show the calls that led to each line")
    rule = commands.add_parser("rule", help="print the page of a rule", allow_abbrev=False)
    rule.add_argument("code", metavar="CODE", help="a code (JT101) or a name (print-array)")
    rules = commands.add_parser("rules", help="print the table of rules", allow_abbrev=False)
    rules.add_argument("--output-format", choices=("text", "json"), default="text")
    clean = commands.add_parser("clean", help="remove the cache", allow_abbrev=False)
    clean.add_argument("paths", nargs="*", metavar="PATH", help="the paths whose checks it serves (default: .)")
    merge = commands.add_parser("merge", help="put reports of parts of a repository together", allow_abbrev=False)
    merge.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="all as json, or all as sarif")
    merge.add_argument("--output-file", type=Path, metavar="FILE", help="write the report there")
    server = commands.add_parser("server", help="serve an editor: the language server protocol", allow_abbrev=False)
    server.add_argument("--stdio", action="store_true", help="over standard input and output, as always")
    completion = commands.add_parser("completion", help="print a script for the shell's Tab key", allow_abbrev=False)
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"))
    doctor = commands.add_parser("doctor", help="say which guard backends can serve here", allow_abbrev=False)
    doctor.add_argument("--python", default="", help="the interpreter to ask (default: as for --confirm)")
    for name, examples in EXAMPLES.items():
        command = commands.choices[name]
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        width = max(len(what) for what, _ in examples)
        command.epilog = "examples:\n" + "".join(f"  {what:<{width}}  {call}\n" for what, call in examples)
    return parser


def _add_check(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files, folders, or - for standard input (default: .)")
    rules = parser.add_argument_group("rules")
    for name in ("--select", "--ignore", "--extend-select"):
        rules.add_argument(name, action="append", metavar="CODES", help="comma-separated codes or beginnings of codes")
    rules.add_argument("--per-file-ignores", action="append", metavar="PATTERN:CODE", help="comma-separated")
    rules.add_argument("--min-heat", choices=HEATS, help="how often a transfer must run (default: hot)")
    rules.add_argument("--min-confidence", choices=CONFIDENCES, help="how sure the inference must be (default: medium)")
    files = parser.add_argument_group("files")
    files.add_argument("--exclude", action="append", metavar="PATTERNS", help="in place of the configured ones")
    files.add_argument("--extend-exclude", action="append", metavar="PATTERNS", help="besides the configured ones")
    files.add_argument("--force-exclude", action=argparse.BooleanOptionalAction, help="exclude named files too")
    files.add_argument("--respect-gitignore", action=argparse.BooleanOptionalAction, help="leave out ignored files")
    files.add_argument("--stdin-filename", metavar="PATH", help="what to call standard input")
    files.add_argument("--config", type=Path, metavar="FILE", help="the configuration file")
    files.add_argument("--isolated", action="store_true", help="read no configuration file")
    files.add_argument("--watch", action="store_true", help="check again whenever a file changes, until Ctrl-C")
    files.add_argument("--no-cache", action="store_true", help="neither read nor keep reports")
    files.add_argument("--jobs", type=_count, metavar="N", help="repositories checked at once (default: processors)")
    fixes = parser.add_argument_group("fix", "with --confirm a fix stays only where the repeated run proves it")
    fixes.add_argument("--fix", action="store_true", help="make the safe fixes, then report what is left")
    fixes.add_argument("--unsafe-fixes", action=argparse.BooleanOptionalAction, help="make the other fixes too")
    fixes.add_argument("--fix-only", action="store_true", help="make the fixes and report nothing else")
    fixes.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    fixes.add_argument("--fixable", action="append", metavar="CODES", help="the rules that may be fixed (default: all)")
    fixes.add_argument("--unfixable", action="append", metavar="CODES", help="rules whose findings are left alone")
    known = parser.add_argument_group("known findings")
    known.add_argument("--baseline", type=Path, metavar="FILE", help="report only what is not in this file")
    known.add_argument("--write-baseline", type=Path, metavar="FILE", help="write all findings there as known")
    known.add_argument("--add-ignore", metavar="REASON", help="write `# jaxlint: ignore[CODE] REASON` to each finding")
    confirm = parser.add_argument_group("confirm")
    confirm.add_argument("--confirm", action="store_true", help="execute the findings under JAX's transfer guard")
    confirm.add_argument("--run", action="append", metavar="COMMAND", help="what to run (default: the pytest suite)")
    confirm.add_argument("--backend", choices=BACKENDS, help="who asks the guard (default: auto)")
    confirm.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="for each command (default: 600)")
    confirm.add_argument("--confirmed-only", action="store_true", help="report the confirmed findings alone")
    output = parser.add_argument_group("output")
    output.add_argument(
        "--output-format",
        action="append",
        type=_output,
        metavar="FORMAT[=FILE]",
        help=f"the form of the report: {', '.join(FORMATS)} (default: text); with =FILE one that is written there "
        "besides, as often as you like",
    )
    output.add_argument("--output-file", type=Path, metavar="FILE", help="write the report there")
    output.add_argument("--statistics", action="store_true", help="count findings by rule instead")
    output.add_argument("--show-settings", action="store_true", help="print the settings and stop")
    output.add_argument("--show-files", action="store_true", help="print the files that would be checked and stop")
    output.add_argument("--exit-zero", action="store_true", help="exit with 0 in spite of findings")
    output.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    output.add_argument("-q", "--quiet", action="store_true", help="findings and errors only")
    output.add_argument("-v", "--verbose", action="store_true", help="say which configuration holds, and more")


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="SCRIPT ARGS", help="the program, as after python")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE ARGS", help="a module instead")
    guard = parser.add_argument_group("guard", f"levels are {', '.join(LEVELS)}, as JAX defines them")
    guard.add_argument(
        "--guard", choices=LEVELS, metavar="LEVEL", help="in all directions (default: the program's own)"
    )
    for direction in GUARDED:
        guard.add_argument(f"--guard-{direction.replace('_', '-')}", choices=LEVELS, metavar="LEVEL")
    parser.add_argument("--backend", choices=BACKENDS, help="whose arrays are recorded (default: auto)")
    parser.add_argument("--python", default="", help="the interpreter (default: as for --confirm)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="the configuration file")
    parser.add_argument("--isolated", action="store_true", help="read no configuration file")
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write it: FILE.json, FILE.html, FILE.txt, or FOLDER for one JSON each process",
    )
    parser.add_argument("--stacks", action="store_true", help="show the calls that led to each line")
    parser.add_argument("--compare", nargs=2, type=Path, metavar="JSON", help="two reports: before and after a change")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no table")


def _run_request(arguments: argparse.Namespace) -> RunRequest:
    """The arguments of ``run`` as typed data."""
    words = tuple(arguments.program or ())
    if arguments.module is not None:
        words = ("-m", *arguments.module)
    if words[:1] == ("--",):
        words = words[1:]
    if not words or words == ("-m",):
        raise UserError("say what to run: jaxlint run SCRIPT ARGS, or jaxlint run -m MODULE ARGS")
    if words[0] not in ("-m", "-c") and not Path(words[0]).exists():
        raise UserError(f"{words[0]}: no such script (a module is run by jaxlint run -m MODULE)")
    if words[0].endswith(".ipynb"):
        raise UserError(f"{words[0]}: a notebook is no script: record what its cells do by `jaxlint.record()` in them")
    levels = {}
    for direction in GUARDED:
        level = getattr(arguments, f"guard_{direction}") or arguments.guard
        if level is not None:
            levels[direction] = level
    return RunRequest(
        words=words,
        levels=levels,
        backend=arguments.backend,
        python=arguments.python,
        report=arguments.report,
        stacks=arguments.stacks,
        quiet=arguments.quiet,
        config=arguments.config,
        isolated=arguments.isolated,
    )


def _request(arguments: argparse.Namespace) -> Request:
    """The arguments of ``check`` as typed data."""
    if arguments.run and not (arguments.confirm or arguments.confirmed_only):
        raise UserError("--run names what --confirm runs: give --confirm too")
    if arguments.select is not None and not _items(arguments.select):
        raise UserError("--select names no rule: give codes, as in --select JT1, or leave it out")
    flags = Flags(
        select=_items(arguments.select),
        ignore=_items(arguments.ignore),
        extend_select=_items(arguments.extend_select) or (),
        per_file_ignores=_items(arguments.per_file_ignores),
        exclude=_items(arguments.exclude),
        extend_exclude=_items(arguments.extend_exclude) or (),
        respect_gitignore=arguments.respect_gitignore,
        force_exclude=arguments.force_exclude,
        min_heat=arguments.min_heat,
        min_confidence=arguments.min_confidence,
        output_format=_printed_form(arguments.output_format or ()),
        fixable=_items(arguments.fixable),
        unfixable=_items(arguments.unfixable),
        unsafe_fixes=arguments.unsafe_fixes,
        baseline=arguments.baseline,
        run=tuple(arguments.run or ()),
        backend=arguments.backend,
        timeout=arguments.timeout,
        config=arguments.config,
        isolated=arguments.isolated,
    )
    return Request(
        paths=tuple(arguments.paths) or (".",),
        flags=flags,
        stdin_filename=arguments.stdin_filename,
        output_file=arguments.output_file,
        outputs=tuple(output for output in arguments.output_format or () if output.file is not None),
        statistics=arguments.statistics,
        show_settings=arguments.show_settings,
        show_files=arguments.show_files,
        exit_zero=arguments.exit_zero,
        color=arguments.color,
        quiet=arguments.quiet,
        verbose=arguments.verbose,
        no_cache=arguments.no_cache,
        jobs=arguments.jobs,
        confirm=arguments.confirm or arguments.confirmed_only,
        confirmed_only=arguments.confirmed_only,
        watch=arguments.watch,
        fix=arguments.fix,
        fix_only=arguments.fix_only,
        diff=arguments.diff,
        write_baseline=arguments.write_baseline,
        add_ignore=arguments.add_ignore,
    )


def _output(text: str) -> Output:
    """``sarif=out.sarif`` as a form and a file."""
    form, equals, file = text.partition("=")
    if form not in FORMATS:
        raise argparse.ArgumentTypeError(f"invalid choice: '{form}' (choose from {', '.join(FORMATS)})")
    if equals and not file:
        raise argparse.ArgumentTypeError(f"{text} names no file: {form}=FILE")
    return Output(form, Path(file) if file else None)


def _printed_form(outputs: Sequence[Output]) -> str | None:
    """The form of what is printed; None where the arguments do not say."""
    forms = [output.form for output in outputs if output.file is None]
    if len(set(forms)) > 1:
        raise UserError(
            f"--output-format {forms[0]} and {forms[1]} are both to be printed: give one a file, {forms[1]}=FILE"
        )
    return forms[0] if forms else None


def _items(values: Sequence[str] | None) -> tuple[str, ...] | None:
    """``["A,B", "C"]`` as ("A", "B", "C"); None where the flag was not given."""
    if values is None:
        return None
    return tuple(item.strip() for value in values for item in value.split(",") if item.strip())


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of processes above zero")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds above zero")
    return value

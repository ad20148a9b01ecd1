"""What is run, and how: commands of the user's, each in a process group of its own, with the witness in its Pythons."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from configparser import ConfigParser, Error
from dataclasses import dataclass
from pathlib import Path

from jaxlint import witness
from jaxlint.confirm.notebooks import way
from jaxlint.errors import UserError
from jaxlint.processes.interrupts import Told
from jaxlint.processes.kept import Kept, end, start
from jaxlint.witness.plan import VARIABLE

SHELL = ("&&", "||", "|", ";", "&", ">", ">>", "<", "2>", "2>&1")
PYTHONS = ("python", "python3", "python.exe")
POLL_SECONDS = 0.1
# A log that is larger is cut to its end.
MOST_OUTPUT = 64 * 2**20
TAIL_BYTES = 8192
INTERRUPTED = "it was interrupted"
SITE = Path(witness.__file__).resolve().parent / "site"


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `words` as they are run, `shown` as the user wrote it, `environment` what it adds to ours; `folder`
    to run in where it must be that one, and what is to be `said` of how it is run."""

    words: tuple[str, ...]
    shown: str
    environment: Mapping[str, str]
    folder: Path | None = None
    said: str = ""

    @property
    def interpreter(self) -> str:
        """The Python that the command is, or nothing where it is another program."""
        return self.words[0] if Path(self.words[0]).name.startswith("python") else ""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its exit status (negative: killed by that signal), that the time was up, or that the run was
    interrupted."""

    status: int
    timed_out: bool = False
    interrupted: bool = False

    @property
    def trouble(self) -> str:
        """What to say of an end that was none; empty where the program came to its own end."""
        if self.timed_out:
            return "the time was up (--timeout)"
        if self.interrupted:
            return INTERRUPTED
        if self.status < 0:
            try:
                return f"the program was killed by {signal.Signals(-self.status).name}"
            except ValueError:
                return f"the program was killed by signal {-self.status}"
        return ""


def parse_command(text: str, python: Callable[[], str], notebooks: Mapping[str, Path], place: str = "--run") -> Command:
    """``VAR=1 python train.py --steps 3`` as words, split as a shell would but run without one. `python` tells the
    interpreter for the command's own ``python``. A notebook as the first word is run in its own folder; `notebooks`
    holds, by its real path, the program that its cells make. `place` is where the text stands. UserError where there is
    nothing to run."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UserError(f'{place} "{text}": {str(error).lower()}') from None
    for word in words:
        if word in SHELL:
            raise UserError(
                f'{place} "{text}": run without a shell, which "{word}" is for: give two commands, or a script'
            )
    environment = {}
    while words and "=" in words[0] and words[0].split("=", 1)[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if not words:
        raise UserError(f'{place} "{text}": there is no command to run')
    if words[0].endswith(".ipynb"):
        program = notebooks.get(os.path.realpath(words[0]))
        if program is None:
            raise UserError(
                f'{place} "{text}": this notebook is not among the files that are checked: name it there too'
            )
        if words[1:]:
            raise UserError(f'{place} "{text}": a notebook takes no arguments: set what it needs by VAR=value')
        notebook = Path(words[0]).absolute()
        run_by = way(notebook, program, python())
        return Command(run_by.words, text, {**run_by.environment, **environment}, notebook.parent, run_by.said)
    if words[0] in PYTHONS:
        words[0] = python()
    elif words[0] in ("pytest", "py.test"):
        # The command of that name may belong to another environment than the one that has jax.
        words[:1] = [python(), "-m", "pytest"]
    elif shutil.which(words[0], path=environment.get("PATH")) is None:
        if os.path.isfile(words[0]):
            raise UserError(f'{place} "{text}": "{words[0]}" is not executable: run it by python')
        raise UserError(f'{place} "{text}": "{words[0]}" was not found: name a program, for example "python train.py"')
    return Command(tuple(words), text, environment)


def own_suite(folder: Path) -> str | None:
    """The command of a project's own pytest suite, if its files say that it has one."""
    for name, sections in (("pytest.ini", ("pytest",)), ("tox.ini", ("pytest",)), ("setup.cfg", ("tool:pytest",))):
        parser = ConfigParser(interpolation=None)
        try:
            parser.read_string((folder / name).read_text("utf-8"))
        except (OSError, UnicodeDecodeError, Error):
            continue
        if any(parser.has_section(section) for section in sections):
            return "pytest"
    try:
        tools = tomllib.loads((folder / "pyproject.toml").read_text("utf-8")).get("tool", {})
    except (OSError, ValueError):
        tools = {}
    if "pytest" in tools or (folder / "conftest.py").is_file():
        return "pytest"
    for name in ("tests", "test"):
        if any((folder / name).glob("test_*.py")) or any((folder / name).glob("*_test.py")):
            return "pytest"
    return None


def find_python(wanted: str, asking: str = "--confirm") -> str:
    """The interpreter for ``python`` in a command: the configured one, else the first of the path's and our own that
    has jax. UserError where none has, which names who is `asking`."""
    if wanted:
        found = shutil.which(wanted)
        if found is None:
            raise UserError(f'confirm.python: "{wanted}" was not found')
        if not _has_jax(found):
            raise UserError(f'confirm.python: "{wanted}" has no JAX, or can not be started: pip install jax there')
        return found
    on_path = shutil.which("python") or shutil.which("python3")
    for candidate in dict.fromkeys(filter(None, (on_path, sys.executable))):
        if _has_jax(candidate):
            return candidate
    raise UserError(
        f"{asking} needs JAX in the Python that runs the program, and neither the `python` of the path nor "
        "jaxlint's own has it: pip install jax there, or set [tool.jaxlint.confirm] python"
    )


def _has_jax(python: str) -> bool:
    ask = "import sys, importlib.util as u; sys.exit(u.find_spec('jax') is None)"
    try:
        return subprocess.run([python, "-c", ask], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def run(
    command: Command,
    plan: Path,
    log: Path,
    *,
    folder: Path,
    timeout: float,
    tick: Callable[[], None],
    told: Told,
    printed: Path | None = None,
) -> Ended:
    """Runs a command to its end, its output appended to `log`, but for what it prints where `printed` is to hold that;
    `timeout` is in seconds. `tick` is called ten times a second; once this process is `told` to end, so is the command.
    All that it started is gone when this returns, also when it raises."""
    environment = {**os.environ, **command.environment}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(SITE), environment.get("PYTHONPATH"))))
    with log.open("ab") as output, (printed or log).open("ab") as standard:
        output.write(f"$ {command.shown}\n".encode())
        output.flush()
        try:
            kept = start(
                command.words,
                environment,
                (VARIABLE, str(plan)),
                folder=command.folder or folder,
                streams=(subprocess.DEVNULL, standard, output),
                own_group=True,
            )
        except OSError as error:
            raise UserError(f'--run "{command.shown}": cannot be started: {error.strerror}') from None
        try:
            return _awaited(kept, timeout, told, (log, *filter(None, (printed,))), tick)
        finally:
            end(kept, told.hurry)


def _awaited(kept: Kept, timeout: float, told: Told, outputs: Sequence[Path], tick: Callable[[], None]) -> Ended:
    deadline = time.monotonic() + timeout
    while not told.number:
        left = deadline - time.monotonic()
        if left <= 0:
            return Ended(0, timed_out=True)
        try:
            return Ended(kept.waited.wait(min(left, POLL_SECONDS)))
        except subprocess.TimeoutExpired:
            for path in outputs:
                _shorten(path)
            tick()
    return Ended(0, interrupted=True)


def _shorten(output: Path) -> None:
    """Keeps the end of an output that grows without bound. It is appended to: what is written next follows that."""
    try:
        if output.stat().st_size > MOST_OUTPUT:
            with output.open("r+b") as file:
                file.seek(-TAIL_BYTES, os.SEEK_END)
                tail = file.read(TAIL_BYTES)
                file.truncate(0)
            with output.open("ab") as file:
                file.write(tail)
    except OSError:
        return


def log_tail(log: Path, lines: int | None) -> Sequence[str]:
    """The last lines of a log, for the user; None: all of it."""
    try:
        with log.open("rb") as file:
            if lines is not None:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - TAIL_BYTES))
            found = file.read().decode("utf-8", "replace").splitlines()
            return found if lines is None else found[-lines:]
    except OSError:
        return ()

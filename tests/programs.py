"""The programs of ``fixtures/programs``: what they need, how they are run, and the verdicts that their marks demand."""

import ast
import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "programs"
MARKS = re.compile(r"(confirmed|refuted|unreached|unasked): (JT\d{3}(?:, JT\d{3})*)")
SECONDS = 180


@dataclass(frozen=True, slots=True)
class Expected:
    """A verdict that a mark demands: (path, first line of the statement, code) -> status."""

    verdicts: dict[tuple[str, int, str], str]
    statements: dict[tuple[str, int], int]


def names() -> list[str]:
    """The programs, in order."""
    return sorted(path.name for path in FOLDER.iterdir() if re.match(r"\d\d_", path.name))


def missing(name: str) -> list[str]:
    """The packages that a program needs and this interpreter lacks."""
    files = [FOLDER / name] if (FOLDER / name).is_file() else sorted((FOLDER / name).rglob("*.py"))
    needed = [word for file in files for word in _needs(file.read_text("utf-8"))]
    return [package for package in needed if importlib.util.find_spec(package) is None]


def _needs(text: str) -> list[str]:
    found = re.match(r"# needs: (.*)", text)
    return [word.strip() for word in found[1].split(",")] if found else []


def copy(name: str, folder: Path) -> tuple[Path, str]:
    """A copy of a program in a folder of its own; that folder, and the command that runs the program there."""
    source, here = FOLDER / name, folder / name.removesuffix(".py")
    if source.is_file():
        here.mkdir()
        shutil.copy(source, here / name)
        return here, f"python {name}"
    shutil.copytree(source, here, ignore=shutil.ignore_patterns("__pycache__"))
    command = here / "command.txt"
    return here, command.read_text("utf-8").strip() if command.exists() else "python main.py"


def expected(folder: Path) -> Expected:
    """What the marks of all files say, each for the statement on whose lines it stands."""
    verdicts: dict[tuple[str, int, str], str] = {}
    statements: dict[tuple[str, int], int] = {}
    for file in sorted(folder.rglob("*.py")):
        found = expected_of(file.read_text("utf-8"), file.relative_to(folder).as_posix())
        verdicts |= found.verdicts
        statements |= found.statements
    return Expected(verdicts, statements)


def expected_of(text: str, path: str) -> Expected:
    """What the marks of one file say."""
    verdicts: dict[tuple[str, int, str], str] = {}
    statements: dict[tuple[str, int], int] = {}
    first = _first_lines(text)
    for number, line in enumerate(text.splitlines(), 1):
        statements[path, number] = first.get(number, number)
        for status, codes in MARKS.findall(line.partition("#")[2]):
            for code in codes.split(", "):
                verdicts[path, first.get(number, number), code] = status
    return Expected(verdicts, statements)


def _first_lines(text: str) -> dict[int, int]:
    """The first line of the innermost statement (of its header, where it has a body) by line."""
    first: dict[int, int] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None) or getattr(node, "cases", None)
            end = node.end_lineno or node.lineno
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                end = max(node.lineno, body[0].lineno - 1)
            elif body:
                end = node.lineno
            for line in range(node.lineno, end + 1):
                first[line] = max(first.get(line, 0), node.lineno)
    return first


def environment() -> dict[str, str]:
    """This interpreter first on the path, and jaxlint from this checkout."""
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    return {**os.environ, "PATH": os.pathsep.join(folders), "PYTHONPATH": str(FOLDER.parent.parent)}


def run_plain(folder: Path, command: str) -> "subprocess.CompletedProcess[str]":
    """The program as it is."""
    words = shlex.split(command)
    words[:1] = [sys.executable] if words[0] == "python" else [sys.executable, "-m", words[0]]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)


def verdicts(folder: Path, command: str, backend: str) -> list[dict[str, object]]:
    """The findings of ``jaxlint check --confirm`` over the folder."""
    words = [sys.executable, "-m", "jaxlint", "check", "--isolated", "--min-heat", "cold", "--output-format", "json"]
    words += ["--confirm", "--backend", backend, "--run", command, "."]
    done = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.stdout, done.stderr
    findings: list[dict[str, object]] = json.loads(done.stdout)["findings"]
    return findings


def differences(folder: Path, command: str, backend: str) -> list[str]:
    """Where the verdicts are not those of the marks; empty if all are."""
    marks = expected(folder)
    found: dict[tuple[str, int, str], set[str]] = {}
    said: dict[tuple[str, int, str], str] = {}
    for finding in verdicts(folder, command, backend):
        path, line, verdict = str(finding["path"]), finding["line"], finding["verdict"]
        assert isinstance(line, int)
        if verdict is None:
            continue
        assert isinstance(verdict, dict)
        key = (path, marks.statements.get((path, line), line), str(finding["code"]))
        found.setdefault(key, set()).add(str(verdict["status"]))
        said[key] = str(verdict["message"])
    wrong = [
        f"{path}:{line} {code}: marked {status}, found {sorted(found.get((path, line, code), {'no finding'}))} "
        f"({said.get((path, line, code))})"
        for (path, line, code), status in marks.verdicts.items()
        if status not in (*found.get((path, line, code), ()), "unasked")
    ]
    wrong += [
        f"{path}:{line} {code}: not marked, found {sorted(statuses)}"
        for (path, line, code), statuses in found.items()
        if (path, line, code) not in marks.verdicts and not code.startswith("JT5")
    ]
    return wrong

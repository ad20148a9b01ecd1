"""Programs that look at themselves, run plain and watched, with marks at every place: output, errors, exit status and
files are the same, byte for byte, and the marks were there. The programs are those of ``fixtures/watched``: a file is a
script, a folder has its command beside it."""

import importlib.util
import os
import re
import shlex
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxlint.witness.plan import Mark
from witnessing import Run, marks, run, watched

FOLDER = Path(__file__).resolve().parent.parent / "fixtures" / "watched"
FETCH, UPLOAD = "device_to_host", "host_to_device"
STATUS = {"uncaught": 1, "exit": 7, "os_exit": 5, "signals": -signal.SIGTERM}
CROSSED = {"loop": {FETCH, UPLOAD}, "functions": {FETCH}, "guards": {UPLOAD}}
ERRORS = ("TracerBoolConversionError", "ConcretizationTypeError")
Wanted = dict[Path, tuple[Mark, ...]]


def names(kind: str) -> list[str]:
    return sorted(path.stem for path in (FOLDER / kind).iterdir())


def copy(kind: str, name: str, folder: Path) -> Sequence[str]:
    """Puts a program into a folder; the words of its command."""
    script = FOLDER / kind / f"{name}.py"
    if script.is_file():
        folder.mkdir()
        shutil.copy(script, folder / "main.py")
        return ("main.py", "x y")
    shutil.copytree(FOLDER / kind / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return shlex.split((folder / "command.txt").read_text())


def wanted_of(folder: Path, directions: Sequence[str], raises: Sequence[str] = ()) -> Wanted:
    """Marks at every place of every file, numbered through."""
    wanted: Wanted = {}
    for path in sorted(folder.rglob("*.py")):
        try:
            wanted[path] = marks(path.read_text("utf-8"), directions, raises, sum(map(len, wanted.values())))
        except SyntaxError:
            continue
    return wanted


def compare(folder: Path, words: Sequence[str], wanted: Wanted, volatile: str = "(?!)") -> Run:
    """The watched run, the same as the plain one but for lines that are `volatile`."""
    plain = run(folder, words)
    listing = sorted(folder.rglob("*"))
    # Python warns of what it compiles, and not of what it finds compiled.
    for cache in {path.parent for path in listing if path.suffix == ".pyc"}:
        shutil.rmtree(cache)
    found = watched(folder, folder.with_name("aside"), words, wanted)
    assert re.sub(volatile, "", found.stdout) == re.sub(volatile, "", plain.stdout)
    assert found.stderr == plain.stderr
    assert found.status == plain.status
    assert sorted(folder.rglob("*")) == listing
    assert not [line for line in found.lines if "trouble" in line]
    return found


def assert_all_placed(found: Run, wanted: Wanted) -> None:
    loaded = {line["file"] for line in found.lines if "marked" in line}
    assert loaded == {os.path.realpath(path) for path, made in wanted.items() if made}
    assert found.placed == {mark.number for made in wanted.values() for mark in made}


def test_there_are_enough_programs() -> None:
    assert len(names("plain")) + len(names("jax")) >= 30


@pytest.mark.parametrize("name", names("plain"))
def test_a_program_of_the_standard_library(name: str, tmp_path: Path) -> None:
    words = copy("plain", name, tmp_path / "here")
    wanted = wanted_of(tmp_path / "here", (FETCH,) if name == "tracing" else (FETCH, UPLOAD))
    found = compare(tmp_path / "here", words, wanted)
    assert_all_placed(found, wanted)
    # Without assertions little is left of one of them.
    assert len(found.hit) >= 1 + (name != "optimized")
    assert found.status == STATUS.get(name, found.status)


@pytest.mark.parametrize("name", names("jax"))
def test_a_program_of_jax(name: str, tmp_path: Path) -> None:
    words = copy("jax", name, tmp_path / "here")
    wanted = wanted_of(tmp_path / "here", (FETCH, UPLOAD), ERRORS if name == "errors" else ())
    found = compare(tmp_path / "here", words, wanted)
    assert_all_placed(found, wanted)
    assert len(found.hit) > 4
    assert {direction for crossings in found.crossed.values() for direction in crossings} >= CROSSED.get(name, set())
    assert [line["raised"] for line in found.lines if line.get("raised")] or name != "errors"


def test_a_suite_of_pytest_with_rewritten_assertions(tmp_path: Path) -> None:
    words = copy("pytest", "suite", tmp_path / "here")
    found = compare(tmp_path / "here", words, wanted_of(tmp_path / "here", (FETCH,)), volatile=r" in \d+\.\d+s")
    assert "8 failed, 1 passed" in found.stdout
    assert len(found.hit) > 10


@pytest.mark.skipif(importlib.util.find_spec("coverage") is None, reason="needs coverage")
def test_coverage_counts_the_same_lines(tmp_path: Path) -> None:
    copy("plain", "tracing", tmp_path / "here")
    script = "import coverage.cmdline as c\nc.main(['run', '--branch', 'main.py']); c.main(['report', '-m'])\n"
    (tmp_path / "here" / "go.py").write_text(script)
    wanted = {path: made for path, made in wanted_of(tmp_path / "here", (FETCH,)).items() if path.name == "main.py"}
    assert compare(tmp_path / "here", ["go.py"], wanted).hit

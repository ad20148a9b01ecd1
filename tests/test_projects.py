"""Several repositories in one check: each by itself, by any number of processes, and stopped as one."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxlint import workers
from jaxlint.check import check_paths
from jaxlint.errors import UserError
from jaxlint.findings import Report
from jaxlint.projects import apart
from jaxlint.settings import Settings
from jaxlint.source.files import discover

HOT = "import jax.numpy as jnp\n\nfor i in range(3):\n    print(jnp.ones(3) * i)\n"
HELPER = "def show(x):\n    print(x)\n"
CALLER = "import jax.numpy as jnp\nfrom helper import show\n\nfor i in range(3):\n    show(jnp.ones(3))\n"
BAD = "import jax.numpy as jnp\nx = (\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *marks: str, **files: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for mark in marks:
        (folder / mark).touch()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder.name


def together(*paths: str) -> list[list[str]]:
    return [[file.path for file in part.files] for part in apart(discover(paths), paths)]


def test_folders_that_are_asked_for_by_themselves_are_apart(here: Path) -> None:
    one, two = write(here / "one", a=HOT), write(here / "two", a=HOT)
    assert together(one, two) == [["one/a.py"], ["two/a.py"]]


def test_one_folder_is_one_project_whatever_lies_in_it(here: Path) -> None:
    write(here / "one", "pyproject.toml", a=HOT)
    write(here / "two", "pyproject.toml", a=HOT)
    assert together(".") == [["one/a.py", "two/a.py"]]


def test_the_outermost_mark_keeps_the_packages_of_a_repository_together(here: Path) -> None:
    write(here / "all", "pyproject.toml")
    one, two = here / "all" / "one", here / "all" / "two"
    write(one, "pyproject.toml", a=HOT)
    write(two, "pyproject.toml", a=HOT)
    assert together(str(one), str(two / "a.py")) == [["all/one/a.py", "all/two/a.py"]]


def test_files_without_a_mark_are_one_project(here: Path) -> None:
    write(here / "one", a=HOT)
    write(here / "two", a=HOT)
    assert together("one/a.py", "two/a.py") == [["one/a.py", "two/a.py"]]


def lines(report: Report) -> list[tuple[str, int, str]]:
    return [(finding.span.path, finding.span.line, finding.code) for finding in report.findings]


def test_another_repository_is_not_imported_from(here: Path) -> None:
    helper, caller = write(here / "helper", helper=HELPER), write(here / "caller", caller=CALLER)
    assert lines(check_paths(Settings(), [helper, caller])) == []
    write(here / "caller", helper=HELPER)
    assert lines(check_paths(Settings(), [helper, caller])) == [("caller/helper.py", 2, "JT101")]


@pytest.fixture
def three(here: Path) -> tuple[str, ...]:
    write(here / "b", a=HOT, bad=BAD)
    write(here / "c", helper=HELPER, caller=CALLER)
    return write(here / "a", a=HOT), "b", "c", "missing"


@pytest.mark.parametrize("cached", [False, True])
def test_the_number_of_processes_changes_nothing(three: tuple[str, ...], cached: bool) -> None:
    alone = check_paths(Settings(), three)
    assert lines(alone) == [("a/a.py", 4, "JT101"), ("b/a.py", 4, "JT101"), ("c/helper.py", 2, "JT101")]
    assert [error.path for error in alone.errors] == ["b/bad.py", "missing"]
    assert alone.files == 5
    for jobs in (1, 2, 3):
        assert check_paths(Settings(), three, cached=cached, jobs=jobs) == alone


def test_a_change_in_one_repository_leaves_the_reports_of_the_others(
    three: tuple[str, ...], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_paths(Settings(), three, cached=True)
    (here / "a" / "a.py").write_text(HOT + HOT.replace("import", "\nimport"))
    kept = sorted((here / ".jaxlint_cache").glob("*.json"))
    asked: list[list[Path]] = []

    def note(work: Callable[..., Report], questions: list[object], jobs: int) -> list[Report]:
        asked.append([file.location for part in questions for file in part.found.files])  # type: ignore[attr-defined]
        return [work(question) for question in questions]

    monkeypatch.setattr("jaxlint.check.in_processes", note)
    report = check_paths(Settings(), three, cached=True, jobs=2)
    assert asked == [[(here / "a" / "a.py")]]
    assert len(report.findings) == 4
    assert set(kept) < set((here / ".jaxlint_cache").glob("*.json"))


def _die(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def _fail(_: int) -> int:
    raise UserError("something to repair")


def test_a_process_that_is_killed_is_told_in_one_line() -> None:
    with pytest.raises(UserError, match=r"one of 2 processes was killed .*--jobs"):
        workers.in_processes(_die, [1, 2], 2)


def test_an_error_in_a_process_is_the_error() -> None:
    with pytest.raises(UserError, match="something to repair"):
        workers.in_processes(_fail, [1], 1)


WAITING = """\
import os, sys, time
from pathlib import Path
from jaxlint import workers

def wait(name):
    Path("new_" + name).write_text(str(os.getpid()))
    Path("new_" + name).rename(name)
    time.sleep(600)

if __name__ == "__main__":
    workers.in_processes(wait, sys.argv[1:], 2)
"""


def test_an_interrupt_stops_all_processes(here: Path) -> None:
    (here / "waiting.py").write_text(WAITING)
    command = [sys.executable, "waiting.py", "begun_1", "begun_2", "begun_3"]
    environment = {**os.environ, "PYTHONPATH": str(Path(workers.__file__).parent.parent)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not ((here / "begun_1").exists() and (here / "begun_2").exists()):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)  # to the first alone: it has to stop the others itself
    _, error = process.communicate(timeout=120)
    assert "KeyboardInterrupt" in error
    assert not (here / "begun_3").exists()
    for name in ("begun_1", "begun_2"):
        with pytest.raises(ProcessLookupError):
            os.kill(int((here / name).read_text()), 0)

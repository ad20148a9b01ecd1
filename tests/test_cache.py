"""The cache of reports: the same answer without the work, a new one whatever changes, and nothing trusted blindly."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jaxlint import cache
from jaxlint.check import check_paths
from jaxlint.findings import Report
from jaxlint.rulebook import load_rules
from jaxlint.settings import Settings
from jaxlint.sites import Heat
from jaxlint.source.files import SourceFile

HOT = "import jax.numpy as jnp\n\nfor i in range(3):\n    print(jnp.ones(3) * i)\n"
HELPED = "from b import f\nimport jax.numpy as jnp\n\nfor i in range(3):\n    print(f(jnp.ones(3)))\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(HOT)
    return tmp_path


def entries(folder: Path) -> list[Path]:
    return sorted((folder / ".jaxlint_cache").glob("*.json"))


def check(settings: Settings = Settings(), *paths: str) -> Report:  # noqa: B008  # frozen
    return check_paths(settings, paths or (".",), cached=True)


def test_a_kept_report_is_the_report(here: Path) -> None:
    first = check()
    assert [finding.code for finding in first.findings] == ["JT101"]
    (entry,) = entries(here)
    assert check() == first == check_paths(Settings(), (".",))
    assert entries(here) == [entry]


def test_it_is_taken_instead_of_the_work(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = check()

    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError("the work was done again")

    monkeypatch.setattr("jaxlint.check._analyse", refuse)
    assert check() == first


def test_a_hit_loads_no_analysis(here: Path) -> None:
    code = (
        "from jaxlint.cli import main\nmain(['check', '--isolated', '-q'])\n"
        "import sys\nprint('jaxlint.interp' in sys.modules, 'jaxlint.source.parse' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    first, second = (
        subprocess.run(command, cwd=here, capture_output=True, text=True, check=True).stdout for _ in range(2)
    )
    assert (first.splitlines()[-1], second.splitlines()[-1]) == ("True True", "False False")
    assert "JT101" in second
    assert first.removesuffix("True True\n") == second.removesuffix("False False\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda here: (here / "a.py").write_text(HOT + "\n"),
        lambda here: (here / "c.py").write_text("import jax\n"),
        lambda here: (here / "a.py").rename(here / "z.py"),
    ],
)
def test_a_change_of_any_file_makes_another_entry(here: Path, change: Callable[[Path], object]) -> None:
    check()
    change(here)
    assert check() == check_paths(Settings(), (".",))
    assert len(entries(here)) == 2


def test_a_change_of_what_is_imported_makes_another_entry(here: Path) -> None:
    (here / "a.py").write_text(HELPED)
    (here / "b.py").write_text("def f(x):\n    return x\n")
    assert len(check(Settings(), "a.py").findings) == 1
    (here / "b.py").write_text("import numpy as np\n\n\ndef f(x):\n    return np.ones(3)\n")
    assert check(Settings(), "a.py").findings == ()


def test_other_settings_make_another_entry(here: Path) -> None:
    check()
    assert check(replace(Settings(), select=("JT2",))).findings == ()
    assert len(check(replace(Settings(), min_heat=Heat.COLD)).findings) == 1
    assert len(entries(here)) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"findings": [{}], "errors": [], "files": 1}', "\x80"])
def test_an_entry_that_does_not_read_is_none(here: Path, text: str) -> None:
    first = check()
    (entry,) = entries(here)
    entry.write_text(text)
    assert check() == first
    assert json.loads(entry.read_text())["files"] == 1


def test_a_folder_that_can_not_be_written_changes_nothing(here: Path) -> None:
    (here / ".jaxlint_cache").write_text("a file")
    assert [finding.code for finding in check().findings] == ["JT101"]


def test_the_number_of_entries_is_bounded(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "ENTRIES", 3)
    for number in range(5):
        (here / "a.py").write_text(HOT + f"# {number}\n")
        check()
    assert len(entries(here)) == 3


def test_clean_removes_what_was_written_and_nothing_else(here: Path) -> None:
    folder = here / ".jaxlint_cache"
    check()
    assert cache.clean(folder) == 1
    assert not folder.exists()
    assert cache.clean(folder) == 0
    check()
    (folder / "mine.txt").write_text("mine")
    assert cache.clean(folder) == 1
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


def test_files_of_no_interest_leave_no_cache(here: Path) -> None:
    (here / "a.py").write_text("print(1)\n")
    check()
    assert entries(here) == []


def test_the_name_of_an_entry_is_none_where_a_file_can_not_be_read(here: Path) -> None:
    rules = {rule.code: rule for rule in load_rules()}
    found = cache.Cache(Settings(), rules)
    gone = SourceFile("gone.py", here / "gone.py")
    assert found.name([("checked", gone)]) is None

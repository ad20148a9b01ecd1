"""The three ways in: a wheel in an environment of its own, an editable install, a plain checkout.

Each runs the same check from a folder where the sources are not. Only the syntax tree library comes from here.
"""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from loop_program import LOOP as PROGRAM

ROOT = Path(__file__).resolve().parent.parent


def run(command: Sequence[str | Path], cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command without our own import paths."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "COV_", "VIRTUAL_ENV"))}
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, env=kept | environment, capture_output=True, text=True, timeout=300
    )


def done(command: Sequence[str | Path], cwd: Path) -> str:
    """The output of a command that must succeed."""
    result = run(command, cwd)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def finds_the_print(python: Sequence[str | Path], cwd: Path, **environment: str) -> None:
    """`python -m jaxlint check` in an empty folder reports the one line of PROGRAM."""
    cwd.mkdir()
    (cwd / "train.py").write_text(PROGRAM)
    command = [*python, "-m", "jaxlint", "check", "--isolated", "--output-format", "json", "train.py"]
    result = run(command, cwd, **environment)
    assert result.returncode == 1, result.stdout + result.stderr
    assert [(f["code"], f["line"]) for f in json.loads(result.stdout)["findings"]] == [("JT101", 10)]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the build needs, so that a build leaves nothing here and the sources can go away."""
    copy = tmp_path_factory.mktemp("sources") / "jaxlint"
    ignored = shutil.ignore_patterns("__pycache__", ".*", "tests", "bench", "dist", "build")
    shutil.copytree(ROOT, copy, ignore=ignored)
    return copy


@pytest.fixture(scope="module")
def wheel(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    done([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, "."], sources)
    (built,) = out.iterdir()
    return built


def environment(folder: Path) -> Path:
    """A new environment with nothing in it; its Python."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def test_the_wheel_has_one_top_level_name_and_all_data(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == {"jaxlint"}
    pages = {f"jaxlint/rules/{page.name}" for page in (ROOT / "rules").glob("*.md")}
    models = {f"jaxlint/models/{model.name}" for model in (ROOT / "jaxlint" / "models").glob("*.toml")}
    assert pages
    assert models
    assert pages | models | {"jaxlint/py.typed"} <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests/", "rules/"))]


def test_pytest_finds_the_plugin(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (points,) = (name for name in archive.namelist() if name.endswith(".dist-info/entry_points.txt"))
        lines = archive.read(points).decode().splitlines()
    assert "jaxlint.pytest_plugin = jaxlint.pytest_plugin" in lines[lines.index("[pytest11]") :]


def test_check_needs_nothing(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    assert [line for line in lines if line.startswith("Requires-Dist:") and "extra ==" not in line] == []
    assert "License-Expression: Apache-2.0" in lines
    extras = {"confirm", "virtual", "lsp", "watch", "completion", "docs", "dev"}
    assert extras <= {line.split()[1] for line in lines if line.startswith("Provides-Extra:")}


def test_a_wheel_runs_with_the_sources_absent(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    done([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], tmp_path)
    finds_the_print([python], tmp_path / "work")
    script = python.parent / "jaxlint"
    assert done([script, "--version"], tmp_path).startswith("jaxlint ")
    listed = done([script, "rules"], tmp_path).splitlines()
    assert len(listed) == len(list((ROOT / "rules").glob("*.md")))
    assert done([script, "rule", "JT101"], tmp_path).startswith("# JT101 ")
    where = done([python, "-c", "import jaxlint; print(jaxlint.__file__)"], tmp_path)
    assert str(tmp_path) in where


def test_an_editable_install_runs(sources: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    # The build backend has to be at hand: without an index nothing else is installed.
    backend = done([sys.executable, "-c", "import hatchling; print(hatchling.__path__[0])"], tmp_path).strip()
    (site,) = done([python, "-c", "import site; print(site.getsitepackages()[0])"], tmp_path).split()
    (Path(site) / "backend.pth").write_text(f"{Path(backend).parent}\n")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--editable", str(sources)]
    done([python, "-m", "pip", *install], tmp_path)
    (Path(site) / "backend.pth").unlink()
    finds_the_print([python], tmp_path / "work")
    where = done([python, "-c", "import jaxlint; print(jaxlint.__file__)"], tmp_path)
    assert str(sources) in where


def test_a_plain_checkout_runs(tmp_path: Path) -> None:
    python = environment(tmp_path / "env")
    finds_the_print([python], tmp_path / "work", PYTHONPATH=str(ROOT))


def test_an_installation_without_pages_says_so(sources: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(sources / "jaxlint", broken / "jaxlint")
    python = environment(tmp_path / "env")
    result = run([python, "-m", "jaxlint", "rules"], tmp_path, PYTHONPATH=str(broken))
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.endswith("the installation of jaxlint is incomplete, install it again\n")
    assert result.stderr.count("\n") == 1

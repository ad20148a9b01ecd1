"""Generated documentation is what its generator writes now, and what people copy from it holds."""

import functools
import json
import re
import runpy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jaxlint import cli, settings
from jaxlint.keys import KEYS
from jaxlint.rulebook import load_rules
from jaxlint.settings import Flags

ROOT = Path(__file__).resolve().parent.parent


def test_the_configuration_reference_is_generated() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "generate.py"))["page"]()
    assert (ROOT / "docs" / "configuration.md").read_text("utf-8") == page, "run python docs/generate.py"


def test_the_table_of_fixes_is_generated() -> None:
    page = (ROOT / "docs" / "fixing.md").read_text("utf-8")
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))["fixing"](page)
    assert page == made, "run python docs/generate.py"
    rows = set(re.findall(r"^\| (JT\d{3}) ", made, re.MULTILINE))
    assert rows == {rule.code for rule in load_rules() if rule.remedies}


RECORDED = ROOT / "docs" / "compatibility.json"
RECORD = json.loads(RECORDED.read_text("utf-8"))


@functools.cache
def matrix() -> Mapping[str, Any]:
    """What ``noxfile.py`` holds; nox knows its session from then on, and a second time would warn."""
    return runpy.run_path(str(ROOT / "noxfile.py"))


def test_the_page_on_versions_is_generated_from_what_was_run() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "generate.py"))["compatibility"](RECORD)
    assert (ROOT / "docs" / "compatibility.md").read_text("utf-8") == page, "run python docs/generate.py"
    assert [name for name, row in RECORD.items() for tests in row["tests"].values() if tests["failed"]] == []


def test_the_record_of_versions_is_that_of_the_matrix() -> None:
    """Each row has the Python, JAX and NumPy that the matrix names; every Python and every JAX was run."""
    rows = {row.id: row.args for row in matrix()["ROWS"]}
    for name, row in RECORD.items():
        python, *pins = rows[name]
        assert row["python"].startswith(f"{python}.")
        for pin in pins:
            package, _, version = pin.partition("==")
            assert row[package] == (version or row[package])
        assert list(row["tests"]) == list(matrix()["GROUPS"])
        assert all(tests["passed"] for tests in row["tests"].values())
    assert {name.partition("-")[0] for name in RECORD} >= {"3.11", "3.12", "3.13"}
    assert {name.partition("-")[2] for name in RECORD} == {"oldest", "middle", "newest"}


def test_the_matrix_has_every_python_and_every_jax_and_runs_tests_that_exist() -> None:
    rows = {tuple(str(row.id).split("-")) for row in matrix()["ROWS"]}
    assert rows >= {(python, jax) for python in ("3.11", "3.12", "3.13") for jax in ("oldest", "middle", "newest")}
    files = {path.stem for path in (ROOT / "tests").glob("test_*.py")}
    assert {name for names in matrix()["GROUPS"].values() for name in names} <= files


def test_documented_defaults_are_the_defaults(tmp_path: Path) -> None:
    """A file that spells out every default gives the settings of no file at all."""
    tables = ("models", "confirm", "per-file-ignores")
    lines = [f"{key.name} = {key.default}" for key in KEYS if key.name != "select" and key.name not in tables]
    confirm = next(key for key in KEYS if key.name == "confirm")
    lines += ["[confirm]", *(f"{key.name} = {key.default}" for key in confirm.inner)]
    (tmp_path / "jaxlint.toml").write_text("\n".join(lines))
    spelled = settings.resolve(Flags(config=tmp_path / "jaxlint.toml"), {}, tmp_path)
    silent = settings.resolve(Flags(isolated=True), {}, tmp_path)
    for name in ("ignore", "extend_select", "respect_gitignore", "force_exclude", "min_heat", "min_confidence"):
        assert getattr(spelled, name) == getattr(silent, name), name
    for name in (
        "output_format",
        "cache_dir",
        "confirm",
        "per_file_ignores",
        "fixable",
        "unfixable",
        "unsafe_fixes",
        "baseline",
    ):
        assert getattr(spelled, name) == getattr(silent, name), name
    assert [p.text for p in spelled.exclude] == [p.text for p in silent.exclude]


def test_codes_in_the_readme_exist() -> None:
    codes = {rule.code for rule in load_rules()}
    named = set(re.findall(r"\bJT\d{3}\b", (ROOT / "README.md").read_text("utf-8")))
    assert named
    assert named <= codes


def test_the_example_has_five_kinds_of_hot_findings(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "--isolated", "--statistics", "-q", str(ROOT / "fixtures" / "example")]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 5

"""Generated documentation is what its generator writes now, and what people copy from it holds."""

import re
import runpy
from pathlib import Path

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

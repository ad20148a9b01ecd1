"""The documentation site is built without a warning, has every page, and asks no other host for anything."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint.rulebook import load_rules

ROOT = Path(__file__).resolve().parent.parent


def built(root: Path, site: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", root / "mkdocs.yml", "--site-dir", site],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = built(ROOT, folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_there_and_in_the_navigation(site: Path) -> None:
    index = (site / "index.html").read_text("utf-8")
    pages = [page.relative_to(ROOT / "docs").with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    pages += [Path(f"rules/{rule.code}.html") for rule in load_rules()]
    assert len(pages) > 60
    for page in pages:
        assert (site / page).is_file(), page
        assert page.as_posix() in index, page


def test_a_rule_is_shown_without_the_block_for_jaxlint(site: Path) -> None:
    for rule in load_rules():
        text = (site / f"rules/{rule.code}.html").read_text("utf-8")
        assert "[[match]]" not in text
        assert rule.name in text
        assert f"{'on' if rule.default else 'off'} by default" in text


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loads = re.findall(
            r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//|<link[^>]*stylesheet[^>]*"(?:https?:)?//',
            page.read_text("utf-8"),
        )
        assert loads == [], page


def test_a_dead_link_fails_the_build(site: Path, tmp_path: Path) -> None:
    assert (site / "index.html").exists()
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    with (tmp_path / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write("\n[dead](none.md)\n")
    done = built(tmp_path, tmp_path / "site")
    assert done.returncode != 0
    assert "none.md" in done.stderr

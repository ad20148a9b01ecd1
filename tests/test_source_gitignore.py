"""Patterns of .gitignore: git itself is asked what it ignores."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jaxlint.source.files import discover
from jaxlint.source.gitignore import parse_file, parse_patterns


def verdict(pattern: str, path: str, is_folder: bool = False) -> bool | None:
    return parse_file(pattern.encode()).verdict(path.encode(), is_folder)


def test_no_patterns_have_no_verdict() -> None:
    assert verdict("", "a.py") is None
    assert verdict("\n\n# a.py\n   \n", "a.py") is None
    assert parse_patterns([]).groups == ()


@pytest.mark.parametrize(
    ("pattern", "path", "is_folder", "expected"),
    [
        ("a.py", "a.py", False, True),
        ("a.py", "x/y/a.py", False, True),
        ("a.py", "a.pyi", False, None),
        ("/a.py", "a.py", False, True),
        ("/a.py", "x/a.py", False, None),
        ("x/a.py", "y/x/a.py", False, None),
        ("build/", "build", True, True),
        ("build/", "build", False, None),
        ("build/", "src/build", True, True),
        ("*.py", "x/a.py", False, True),
        ("x/*.py", "x/y/a.py", False, None),
        ("x/**/a.py", "x/a.py", False, True),
        ("x/**/a.py", "x/y/z/a.py", False, True),
        ("**/y/a.py", "x/y/a.py", False, True),
        ("x/**", "x/y/a.py", False, True),
        ("x/**", "x", True, None),
        ("?.py", "ab.py", False, None),
        ("[ab].py", "b.py", False, True),
        ("[!ab].py", "b.py", False, None),
        ("[^ab].py", "c.py", False, True),
        ("[[:digit:]].py", "7.py", False, True),
        ("[[:nonsense:]].py", "7.py", False, None),
        ("[a", "[a", False, None),
        ("[]-].py", "].py", False, True),
        ("[]-].py", "-.py", False, True),
        ("[c-a].py", "b.py", False, None),
        ("[!c-a].py", "b.py", False, True),
        ("x[/]a.py", "x/a.py", False, None),
        (r"\#a", "#a", False, True),
        (r"\!a", "!a", False, True),
        (r"a\*", "a*", False, True),
        (r"a\*", "ab", False, None),
        ("a\\", "a\\", False, None),
        ("a   ", "a", False, True),
        ("a\\ ", "a ", False, True),
        ("a\\  ", "a ", False, True),
        ("a\r\nb\r\n", "b", False, True),
        ("\ufeffa", "a", False, True),
        ("/", "a", True, None),
        ("!", "a", False, None),
        ("?.py", "é.py", False, None),  # git's question mark is a byte
    ],
)
def test_a_pattern(pattern: str, path: str, is_folder: bool, expected: bool | None) -> None:
    assert verdict(pattern, path, is_folder) is expected


def test_the_last_pattern_that_matches_decides() -> None:
    patterns = "*.py\n!keep.py\n/keep.py\n"
    assert verdict(patterns, "a.py") is True
    assert verdict(patterns, "x/keep.py") is False
    assert verdict(patterns, "keep.py") is True


def test_a_name_that_is_no_utf_8() -> None:
    assert parse_file(b"\xff*\n").verdict(b"x/\xffa", False) is True


FOLDERS = ("", "a", "b", "a/a", "a/b", "a/b/c", "b/a", "b/c d")
NAMES = ("a.py", "b.py", "ab.py", "a b.py", "[a].py", "-.py", "!.py", "é.py")

pieces = st.sampled_from(
    [
        "a",
        "b",
        "c",
        ".py",
        "/",
        "*",
        "**",
        "?",
        "**/",
        "/**",
        "[ab]",
        "[!a]",
        "[a-b]",
        "[",
        "]",
        "!",
        "\\",
        " ",
        "#",
        "-",
    ]
)
patterns = st.lists(pieces, max_size=6).map("".join)
lines = st.lists(patterns, max_size=4).map("\n".join)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with every name in every folder."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    for folder in FOLDERS:
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            (root / folder / name).touch()
    return root


def not_ignored_by_git(root: Path) -> list[str]:
    command = ["git", "-c", "core.excludesFile=", "ls-files", "-o", "-z", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout.decode()
    return sorted(path for path in listed.split("\0") if path.endswith(".py"))


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=lines, nested=lines, info=lines)
@example(top="a**/b.py", nested="", info="")
@example(top="a/*\n!a/b", nested="!c", info="b")
@example(top="**", nested="", info="")
@example(top="", nested="!a.py\n", info="a.py\n")
def test_what_is_found_is_what_git_does_not_ignore(tree: Path, top: str, nested: str, info: str) -> None:
    (tree / ".gitignore").write_text(top, "utf-8")
    (tree / "a" / ".gitignore").write_text(nested, "utf-8")
    (tree / ".git" / "info" / "exclude").write_text(info, "utf-8")
    found = discover([tree], exclude=[".git"], cwd=tree)
    assert not found.errors
    assert sorted(file.path for file in found.files) == not_ignored_by_git(tree)

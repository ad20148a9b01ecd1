"""Which files are checked: of folders, of names, of links, of repositories; and what is in their way."""

import os
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from jaxlint.errors import UserError
from jaxlint.findings import FileError
from jaxlint.source.files import DEFAULT_EXCLUDE, Discovery, SourceFile, discover, shown_path


def make(root: Path, files: Iterable[str]) -> None:
    for name in files:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()


def shown(discovery: Discovery) -> list[str]:
    assert not discovery.errors
    return [file.path for file in discovery.files]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_no_paths_and_an_empty_folder_have_no_files(here: Path) -> None:
    assert discover([]) == Discovery((), ())
    assert discover(["."]) == Discovery((), ())


def test_python_files_and_notebooks_in_the_order_of_their_paths(here: Path) -> None:
    make(here, ["b.py", "a/z.pyi", "a/b/c.ipynb", "B.py", "a.txt", "a.pyc", "c.PY", "a/data.json", "a-b.py", "README"])
    discovery = discover(["."])
    assert shown(discovery) == ["B.py", "a-b.py", "a/b/c.ipynb", "a/z.pyi", "b.py"]
    assert [file.notebook for file in discovery.files] == [False, False, True, False, False]
    assert discovery.files[0] == SourceFile("B.py", here / "B.py")


def test_a_file_is_found_once_whatever_names_it(here: Path) -> None:
    make(here, ["a/b.py", "a/c/d.py"])
    assert shown(discover(["a", "a/b.py", ".", str(here / "a"), "a/c", "./a/../a/b.py"])) == ["a/b.py", "a/c/d.py"]


def test_paths_are_shown_relative_to_the_working_directory(here: Path) -> None:
    make(here.parent, ["outside.py", "work/inside.py"])
    assert shown(discover([str(here / "inside.py"), "../outside.py"])) == ["../outside.py", "inside.py"]
    assert shown(discover(["inside.py"], cwd=here)) == ["inside.py"]
    assert shown_path(here / "\udcff.py", here) == "\\xff.py"


@pytest.mark.parametrize("path", ["nothing", "nothing.py", "a.py/b.py", "", "x" * 5000, "nu\0ll"])
def test_a_path_that_does_not_exist_is_the_users_error(here: Path, path: str) -> None:
    make(here, ["a.py"])
    with pytest.raises(UserError) as caught:
        discover(["a.py", path])
    assert str(caught.value) == f"no such file or folder: {path}"


def test_a_file_that_is_named_needs_no_suffix(here: Path) -> None:
    make(here, ["script", "a.txt"])
    assert shown(discover(["script", "a.txt"])) == ["a.txt", "script"]


@pytest.mark.parametrize("folder", [pattern.replace("*", "x") for pattern in DEFAULT_EXCLUDE])
def test_what_is_no_source_by_custom_is_excluded(here: Path, folder: str) -> None:
    make(here, [f"{folder}/a.py", f"src/{folder}/a.py", "src/a.py", "src/buildings.py"])
    assert shown(discover(["."])) == ["src/a.py", "src/buildings.py"]
    assert shown(discover([folder])) == [f"{folder}/a.py"]


def test_excludes(here: Path) -> None:
    make(here, ["a.py", "gen/a.py", "src/gen/a.py", "src/a_pb2.py", "src/b.py", "build/a.py"])
    assert shown(discover(["."], extend_exclude=["gen"])) == ["a.py", "src/a_pb2.py", "src/b.py"]
    assert shown(discover(["."], extend_exclude=["/gen/"])) == ["a.py", "src/a_pb2.py", "src/b.py", "src/gen/a.py"]
    assert shown(discover(["."], exclude=["*_pb2.py", "gen"])) == ["a.py", "build/a.py", "src/b.py"]
    assert shown(discover(["."], extend_exclude=["src/*", "!src/b.py"])) == ["a.py", "gen/a.py", "src/b.py"]


def test_excludes_count_from_the_projects_folder(here: Path) -> None:
    make(here, ["src/gen/a.py", "gen/a.py"])
    assert shown(discover(["src"], root=here, extend_exclude=["/gen"])) == ["src/gen/a.py"]
    assert shown(discover(["src"], root=here / "src", extend_exclude=["/gen"])) == []
    assert shown(discover([here], root=here / "src", extend_exclude=["gen"])) == []


def test_what_is_named_is_checked_unless_exclusion_is_forced(here: Path) -> None:
    make(here, ["build/a.py", "build/deep/a.py", "a.py"])
    named = ["build/a.py", "build/deep", "a.py"]
    assert shown(discover(named)) == ["a.py", "build/a.py", "build/deep/a.py"]
    assert shown(discover(named, force_exclude=True)) == ["a.py"]
    assert shown(discover(["build"], force_exclude=True)) == []
    assert shown(discover([here], force_exclude=True)) == ["a.py"]


def test_a_folder_above_the_project_is_no_reason_to_exclude(tmp_path: Path) -> None:
    make(tmp_path, ["build/project/a.py", "other/a.py", "other/venv/a.py"])
    project = tmp_path / "build" / "project"
    outside = tmp_path / "other"
    found = discover([project, outside / "a.py", outside], cwd=project, root=project, force_exclude=True)
    assert shown(found) == ["../../other/a.py", "a.py"]
    assert shown(discover([outside / "venv"], cwd=project, force_exclude=True)) == []


def test_gitignore_files_hold_without_a_repository(here: Path) -> None:
    make(here, ["a.py", "out/b.py", "src/out/c.py", "src/d.py"])
    (here / ".gitignore").write_text("out/\n")
    (here / "src" / ".gitignore").write_text("d.py\n!out/\n")
    assert shown(discover(["."])) == ["a.py", "src/out/c.py"]
    assert shown(discover(["src"])) == ["src/out/c.py"]
    assert shown(discover(["."], respect_gitignore=False)) == ["a.py", "out/b.py", "src/d.py", "src/out/c.py"]
    assert shown(discover(["out", "src/d.py"])) == ["out/b.py", "src/d.py"]


def test_gitignore_files_hold_up_to_the_repositorys_root(here: Path) -> None:
    make(here.parent, ["work/a/b/c.py", "work/a/b/d.py", "work/a/b/e.py"])
    (here.parent / ".gitignore").write_text("*.py\n")
    (here / ".git" / "info").mkdir(parents=True)
    (here / ".gitignore").write_text("/a/b/c.py\n/b\n")
    (here / ".git" / "info" / "exclude").write_text("d.py\n")
    assert shown(discover([here / "a" / "b"], cwd=here / "a")) == ["b/e.py"]
    assert shown(discover(["a"])) == ["a/b/e.py"]


def test_a_repository_within_a_repository_has_rules_of_its_own(here: Path) -> None:
    make(here, ["a.py", "sub/a.py", "sub/b.py", "tree/a.py", "tree/c.py"])
    (here / ".git").mkdir()
    (here / ".gitignore").write_text("a.py\n")
    (here / "sub" / ".git").mkdir()
    (here / "sub" / ".gitignore").write_text("b.py\n")
    # A worktree: its .git is a file, and its excludes are those of the repository.
    make(here, [".git/worktrees/tree/HEAD"])
    (here / "tree" / ".git").write_text("gitdir: ../.git/worktrees/tree\n")
    (here / ".git" / "worktrees" / "tree" / "commondir").write_text("../..\n")
    (here / ".git" / "info").mkdir()
    (here / ".git" / "info" / "exclude").write_text("c.py\n")
    assert shown(discover(["."])) == ["sub/a.py", "tree/a.py"]


def test_links_to_files_are_followed_and_no_file_is_checked_twice(here: Path) -> None:
    make(here.parent, ["outside.py", "work/real.py"])
    (here / "a.py").symlink_to("real.py")
    (here / "b.py").symlink_to("../outside.py")
    (here / "c.py").symlink_to("../outside.py")
    (here / "dangling.py").symlink_to("nothing")
    (here / "loop.py").symlink_to("loop.py")
    assert shown(discover(["."])) == ["b.py", "real.py"]
    assert shown(discover(["a.py", "real.py"])) == ["real.py"]
    assert shown(discover(["a.py"])) == ["a.py"]


def test_links_to_folders_are_followed_within_what_is_named(here: Path) -> None:
    make(here.parent, ["outside/a.py", "work/src/b.py", "work/build/c.py"])
    (here / "src" / "loop").symlink_to("..")
    (here / "aaa").symlink_to("src")
    (here / "generated").symlink_to("build")
    (here / "data").symlink_to("../outside")
    assert shown(discover(["."])) == ["generated/c.py", "src/b.py"]
    assert shown(discover(["data", "aaa"])) == ["aaa/b.py", "data/a.py"]


def test_what_is_no_regular_file_is_passed_over(here: Path) -> None:
    make(here, ["a.py"])
    os.mkfifo(here / "pipe.py")
    (here / "folder.py").mkdir()
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket.py")
        assert shown(discover(["."])) == ["a.py"]
        errors = discover(["pipe.py", "socket.py", "a.py"]).errors
    assert errors == (FileError("pipe.py", "not a regular file"), FileError("socket.py", "not a regular file"))


def test_a_folder_that_cannot_be_read_does_not_hide_the_others(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(here, ["a/b.py", "closed/c.py", "d/e.py"])
    scandir = os.scandir

    def refuse(path: str) -> "os._ScandirIterator[str]":
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    discovery = discover(["."])
    assert [file.path for file in discovery.files] == ["a/b.py", "d/e.py"]
    assert discovery.errors == (FileError("closed", "cannot be read: Permission denied"),)
    assert discover(["closed"]).errors == discovery.errors


def test_an_ignore_file_that_cannot_be_read_is_an_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(here, ["a.py", "b/c.py", ".gitignore"])
    monkeypatch.setattr("jaxlint.source.repository.open", refuse_to_open, raising=False)
    discovery = discover(["."])
    assert [file.path for file in discovery.files] == ["a.py", "b/c.py"]
    assert discovery.errors == (FileError(".gitignore", "cannot be read: Permission denied"),)
    assert discover(["b"]).errors == discovery.errors


def refuse_to_open(path: str, mode: str = "r") -> Iterator[bytes]:
    raise PermissionError(13, "Permission denied", path)


def test_a_named_path_that_cannot_be_looked_at_is_an_error(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(here, ["a.py"])
    (here / "loop.py").symlink_to("loop.py")
    discovery = discover(["loop.py", "a.py"])
    assert [file.path for file in discovery.files] == ["a.py"]
    assert discovery.errors == (FileError("loop.py", "cannot be read: Too many levels of symbolic links"),)


def test_names_beyond_ascii(here: Path) -> None:
    make(here, ["é/ü.py", "a b/c\u2028d.py"])
    os.close(os.open(b"\xff.py", os.O_CREAT))
    (here / ".gitignore").write_bytes("é/\n".encode())
    assert shown(discover(["."])) == ["\\xff.py", "a b/c\u2028d.py"]

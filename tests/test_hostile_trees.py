"""Trees that somebody has prepared: nothing of them is run, nothing is followed out of them, nothing keeps the check
waiting, and what they say reaches neither the terminal nor another format as anything but text."""

import json
import os
import pickle
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from jaxlint import cache, check, cli, configuration
from jaxlint.check import check_paths
from jaxlint.errors import UserError
from jaxlint.findings import Report
from jaxlint.keys import FORMATS
from jaxlint.report import formats
from jaxlint.report.context import Context
from jaxlint.rulebook import load_rules
from jaxlint.settings import Settings
from jaxlint.source.files import Discovery
from mutants import CONTROL, Laws

ROOT = Path(__file__).resolve().parent.parent
NOBODY = 65534
HOT = "import jax.numpy as jnp\n\nfor i in range(3):\n    print(jnp.ones(3) * i)\n"
pytestmark = pytest.mark.skipif(os.name == "nt", reason="other names, links and owners")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "ok.py").write_text(HOT)
    return folder


def found(report: Report) -> list[str]:
    return [f"{finding.span.path}:{finding.span.line}" for finding in report.findings]


class TestNothingIsRun:
    """Each file of the tree that Python, pytest, a build or pickle would run says so, if anything runs it."""

    MODULES = (
        *("conftest", "setup", "sitecustomize", "usercustomize", "jax", "numpy", "optax", "flax", "pygls", "yaml"),
        *("ast", "json", "re", "tomllib", "argparse", "codecs", "typing", "dataclasses", "pathlib", "lsprotocol"),
    )

    @pytest.fixture
    def sprung(self, here: Path) -> Path:
        sprung = here.parent / "sprung"
        trap = f"open({str(sprung)!r}, 'a').write(__file__)\nimport jax.numpy as jnp\n"
        for name in self.MODULES:
            (here / f"{name}.py").write_text(trap)
        for package in ("jaxlint_rules", "encodings", "tests"):
            (here / package).mkdir()
            (here / package / "__init__.py").write_text(trap)
        (here / "encodings" / "evil.py").write_text(trap)
        (here / "coded.py").write_text("# coding: evil\n")
        (here / "trap.pth").write_text(f"import os; open({str(sprung)!r}, 'a')\n")
        (here / "jaxlint.toml").write_text(
            f'[confirm]\nrun = ["touch {sprung}"]\npython = "./evil"\nplugin = "./evil.so"\n'
        )
        (here / "evil").write_text(f"#!/bin/sh\ntouch {sprung}\n")
        (here / "evil").chmod(0o755)
        (here / "setup.cfg").write_text("[metadata]\nname = attr: setup.x\n")
        folder = here / ".jaxlint_cache"
        folder.mkdir()
        (folder / cache.MARK).write_text(cache.TAG)
        for name in ("a.pickle", "a.pkl", f"{'0' * 40}.json", "a.marshal", "index"):
            (folder / name).write_bytes(pickle.dumps(_Bomb(str(sprung))))
        return sprung

    @pytest.mark.parametrize("arguments", [(".",), ("--fix", "."), ("-",)])
    def test_of_a_tree_that_is_checked(self, here: Path, sprung: Path, arguments: tuple[str, ...]) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("PYTHONSAFEPATH", None)
        words = [sys.executable, "-m", "jaxlint", "check", *arguments]
        done = subprocess.run(words, cwd=here, env=environment, input=HOT, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert done.returncode == (1 if arguments == ("-",) else 2), done.stderr
        assert not sprung.exists(), sprung.read_text()

    def test_by_the_server(self, here: Path, sprung: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        words = [sys.executable, "-m", "jaxlint", "server"]
        done = subprocess.run(words, cwd=here, env=environment, input=b"", capture_output=True, check=False)
        assert done.returncode == 0
        assert not sprung.exists(), sprung.read_text()

    def test_the_traps_work(self, here: Path, sprung: Path) -> None:
        pickled = here / ".jaxlint_cache" / "a.pickle"
        for code in ("import conftest", f"import pickle; pickle.load(open({str(pickled)!r}, 'rb'))"):
            subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, check=False)
            assert sprung.exists(), code
            sprung.unlink()

    def test_out_of_a_cache_whose_entry_is_a_pickle(self, here: Path, sprung: Path) -> None:
        report = check_paths(Settings(), ["ok.py"], cached=True)
        for entry in (here / ".jaxlint_cache").glob("*.json"):
            entry.write_bytes(pickle.dumps(_Bomb(str(sprung))))
        assert check_paths(Settings(), ["ok.py"], cached=True) == report
        assert not sprung.exists()


class _Bomb:
    def __init__(self, sprung: str) -> None:
        self.sprung = sprung

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (self.sprung, "a")


class TestTheCacheOfSomebodyElse:
    def entry(self, here: Path) -> Path:
        check_paths(Settings(), ["."], cached=True)
        (entry,) = (here / ".jaxlint_cache").glob("*.json")
        return entry

    def test_no_leaf_of_an_entry_can_be_of_another_type(self, here: Path) -> None:
        """Each value of an entry, replaced by others: what is read is none, or a report that can be told and shows no
        control character."""
        (here / "ok.py").write_text(
            "import jax.numpy as jnp\nx = jnp.ones(3)\nfor i in range(9):\n    float(x.sum())\n"
        )
        (here / "bad.py").write_text("x = = 1\n")
        entry = self.entry(here)
        text = entry.read_text()
        rules = {rule.code: rule for rule in load_rules()}
        kept = cache.Cache(Settings(), rules)
        places = [place for place in _places(json.loads(text)) if place]
        assert ("findings", 0, "fix", "edits", 0, "text") in places
        refused = 0
        for place in places:
            for wrong in (-1, "\x1b", [1], {"a": 1}, 1.5, True):
                changed = json.loads(text)
                _put(changed, place, wrong)
                entry.write_text(json.dumps(changed))
                read = kept.read(entry.stem)
                refused += read is None
                for form in ("text", "github", "junit"):
                    assert read is None or not CONTROL.search(formats.render(read, form, Context(rules))), (
                        place,
                        wrong,
                        form,
                    )
        assert refused > 4 * len(places)

    @pytest.mark.parametrize(
        "text", ["[" * 100_000, "{" * 100_000, "9" * 10_000, '{"findings": ' * 50_000, "NaN", "\0"]
    )
    def test_an_entry_that_no_reader_bears_is_none(self, here: Path, text: str) -> None:
        entry = self.entry(here)
        entry.write_text(text)
        assert found(check_paths(Settings(), ["."], cached=True)) == ["ok.py:4"]

    def test_a_folder_that_is_a_link_is_not_used(self, here: Path) -> None:
        mine = here.parent / "mine"
        mine.mkdir()
        (here / ".jaxlint_cache").symlink_to(mine)
        assert found(check_paths(Settings(), ["."], cached=True)) == ["ok.py:4"]
        assert list(mine.iterdir()) == []
        (mine / cache.MARK).write_text(cache.TAG)
        assert cache.clean(here / ".jaxlint_cache") == 0
        assert [path.name for path in mine.iterdir()] == [cache.MARK]

    def test_a_folder_with_other_things_in_it_is_left_alone(self, here: Path) -> None:
        """A configuration of the tree may name any folder as the one of the cache."""
        mine = here.parent / "mine"
        mine.mkdir()
        for number in range(cache.ENTRIES + 9):
            (mine / f"{number}.json").write_text("{}")
        before = sorted(mine.iterdir())
        for _ in range(2):
            check_paths(replace(Settings(), cache_dir=str(mine)), ["."], cached=True)
            assert cache.clean(mine) == 0
            assert sorted(mine.iterdir()) == before
            (mine / "sub").mkdir(exist_ok=True)
            before = sorted(mine.iterdir())

    def test_only_entries_are_dropped_and_cleaned(self, here: Path) -> None:
        entry = self.entry(here)
        for number in range(cache.ENTRIES + 9):
            (entry.parent / f"notes{number}.json").write_text("{}")
        (here / "ok.py").write_text(HOT + "\n")
        check_paths(Settings(), ["."], cached=True)
        assert cache.clean(entry.parent) == 2
        assert len(list(entry.parent.iterdir())) == cache.ENTRIES + 9

    def test_nothing_is_written_through_a_link(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        entry = self.entry(here)
        mine = here.parent / "mine"
        entry.with_suffix(f".{os.getpid()}").symlink_to(mine)
        entry.unlink()
        assert found(check_paths(Settings(), ["."], cached=True)) == ["ok.py:4"]
        (here / ".out.txt.1").symlink_to(mine)
        monkeypatch.setattr(os, "getpid", lambda: 1)
        assert cli.main(["check", "--isolated", "--output-file", "out.txt"]) == 2
        assert not mine.exists()


def _places(value: object, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from _places(part, (*at, key))


def _put(value: object, place: tuple[str | int, ...], new: object) -> None:
    *path, last = place
    inner: object = value
    for key in path:
        assert isinstance(inner, dict | list)
        inner = inner[key]  # type: ignore[index]
    assert isinstance(inner, dict | list)
    inner[last] = new  # type: ignore[index]


class TestWhatIsNoFile:
    def test_pipes_sockets_devices_and_loops_keep_nobody_waiting(self, here: Path) -> None:
        os.mkfifo("pipe.py")
        os.mkfifo(".gitignore")
        os.mkfifo("jaxlint.toml")
        os.mkfifo("pyproject.toml")
        Path("sub").mkdir()
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("socket.py")
        with suppress(PermissionError):
            os.mknod("device.py", 0o20666, os.makedev(1, 5))
        for name, to in (
            ("zero.py", "/dev/zero"), ("loop.py", "loop.py"), ("one.py", "two.py"), ("two.py", "one.py"),
            ("gone.py", "nothing"), ("sub/up", ".."), ("sub/self", "."), ("sub/root", "/"), ("std.py", "/dev/stdin"),
        ):  # fmt: skip
            Path(name).symlink_to(to)
        report = check_paths(Settings(), ["."])
        assert (found(report), report.errors, report.files) == (["ok.py:4"], (), 1)

    def test_what_is_named_and_no_file_is_an_error_of_one_line(self, here: Path) -> None:
        os.mkfifo("pipe.py")
        Path("loop.py").symlink_to("loop.py")
        report = check_paths(Settings(), ["ok.py", "pipe.py", "/dev/zero", "loop.py"])
        assert found(report) == ["ok.py:4"]
        assert [error.message for error in report.errors] == [
            "not a regular file",
            "cannot be read: Too many levels of symbolic links",
            "not a regular file",
        ]

    def test_names_with_lines_codes_and_no_encoding(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        names = [
            b"a\nb.py",
            b"\x1b[31m.py",
            b"\xff\xfe.py",
            b"::error::x.py",
            b"##[error]y.py",
            b" .py",
            b"-x.py",
            b"%0A.py",
        ]
        for name in names:
            (Path(os.fsdecode(bytes(here))) / os.fsdecode(name)).write_text(HOT)
        report = check_paths(Settings(), ["."])
        assert len(report.findings) == len(names) + 1
        assert report.errors == ()
        for form in ("text", "concise", "github"):
            cli.main(["check", "--output-format", form, "--color", "never"])
            out, err = capsys.readouterr()
            assert not CONTROL.search(out + err)
            commands = [line for line in out.split("\n") if line.startswith(("::", "##"))]
            assert len(commands) == (len(report.findings) if form == "github" else 0)
            assert all(line.startswith("::warning title=jaxlint ") for line in commands)
        assert cli.main(["check", "--show-files"]) == 0
        assert capsys.readouterr().out.count("\n") == len(report.findings)

    def test_a_hundred_folders_inside_one_another(self, here: Path) -> None:
        deep = here
        for _ in range(100):
            deep = deep / "d"
            deep.mkdir()
        (deep / "a.py").write_text(HOT)
        assert len(check_paths(Settings(), ["."]).findings) == 2


class TestWhatChangesMeanwhile:
    CHANGES: tuple[Callable[[Path], object], ...] = (
        lambda path: None,
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to(path.name),
        lambda path: path.write_bytes(b"\0" * 10),
        lambda path: os.truncate(path, 1 << 40),
        lambda path: path.write_text(""),
        lambda path: path.write_text(HOT * 2),
    )

    def change(self, path: Path, number: int) -> None:
        """The first changes put something else in the place of the file, the others change what it holds."""
        if number < 5:
            path.unlink()
        self.CHANGES[number](path)

    @pytest.mark.parametrize("number", range(len(CHANGES)))
    @pytest.mark.parametrize("cached", [False, True])
    def test_between_finding_and_reading(
        self, here: Path, number: int, cached: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        victim = here / "victim.py"
        victim.write_text(HOT)
        find = check.find_files

        def found_and_changed(*arguments: object) -> Discovery:
            files = find(*arguments)  # type: ignore[arg-type]
            self.change(victim, number)
            return files

        monkeypatch.setattr(check, "find_files", found_and_changed)
        report = check_paths(Settings(), ["."], cached=cached)
        assert "ok.py:4" in found(report)
        assert all(error.path == "victim.py" and "\n" not in error.message for error in report.errors)
        assert bool(report.errors) == (number < 7)

    @pytest.mark.parametrize("number", range(len(CHANGES)))
    @pytest.mark.parametrize("form", FORMATS)
    def test_between_the_check_and_its_report(
        self, here: Path, form: str, number: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        work = check._analyse

        def done_and_changed(*arguments: object) -> object:
            result = work(*arguments)  # type: ignore[arg-type]
            self.change(here / "ok.py", number)
            return result

        monkeypatch.setattr(check, "_analyse", done_and_changed)
        assert cli.main(["check", "--no-cache", "-q", "--output-format", form]) == 1


class TestWhatCannotBeRead:
    @pytest.fixture
    def as_nobody(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
        """A folder where even root is nobody, who may not read everything, once he is asked to be."""
        check_paths(Settings(), ["."], cached=True)
        own = os.geteuid()
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            monkeypatch.chdir(folder)
            Path("ok.py").write_text(HOT)
            yield lambda: os.seteuid(NOBODY) if own == 0 else None
            os.seteuid(own)
            for path in Path(folder).iterdir():
                path.chmod(0o755)

    def test_files_and_folders(self, as_nobody: Callable[[], None]) -> None:
        for name in ("closed.py", "shut/a.py", "shut/b.py", "blind/.gitignore", "blind/a.py"):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(HOT)
        Path("closed.py").chmod(0)
        Path("shut").chmod(0)
        Path("blind/.gitignore").chmod(0)
        as_nobody()
        report = check_paths(Settings(), ["."])
        assert "ok.py:4" in found(report)
        assert [(error.path, error.message) for error in report.errors] == [
            ("blind/.gitignore", "cannot be read: Permission denied"),
            ("closed.py", "cannot be read: Permission denied"),
            ("shut", "cannot be read: Permission denied"),
        ]

    def test_what_is_named_in_a_folder_that_is_shut(self, as_nobody: Callable[[], None]) -> None:
        Path("shut/sub").mkdir(parents=True)
        Path("shut/sub/a.py").write_text(HOT)
        Path("shut").chmod(0)
        as_nobody()
        report = check_paths(Settings(), ["ok.py", "shut/sub/a.py"], cached=True)
        assert "ok.py:4" in found(report)
        assert [(error.path, error.message) for error in report.errors] == [
            ("shut/sub/a.py", "cannot be read: Permission denied")
        ]
        assert configuration.find(Path("shut/sub").absolute()).path is None

    def test_a_configuration(self, as_nobody: Callable[[], None]) -> None:
        Path("jaxlint.toml").write_text("")
        Path("jaxlint.toml").chmod(0)
        as_nobody()
        with pytest.raises(UserError, match=r"jaxlint\.toml: cannot read the configuration: Permission denied$"):
            configuration.find(Path.cwd())


class TestConfigurations:
    @pytest.mark.parametrize(
        "text",
        [
            b"select = " + b"[" * 10_000,
            b"x = " + b"{a = " * 10_000,
            b"timeout = " + b"9" * 10_000,
            b"select = ['\x1b[2J']",
            b'"\x1b[2J\\u001b" = 1',
            b'"\\u001b[2J\\u202e" = 1',
            b'select = ["\\u001b[2J"]',
            b'min-heat = "\\u0007\\n\\r"',
            b"\xff",
            b"\0",
            b"[" * 100_000,
            b"a" + b".a" * 50_000 + b" = 1",
        ],
        ids=str,
    )
    def test_hostile_ones_are_an_error_of_one_line(
        self, here: Path, text: bytes, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (here / "jaxlint.toml").write_bytes(text)
        assert cli.main(["check", "--no-cache"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("jaxlint: jaxlint.toml")
        assert not CONTROL.search(err)

    def test_one_of_another_user_above_what_is_checked_is_refused(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """As git does with a repository: `--confirm` would run what it says."""
        planted = here.parent / "jaxlint.toml"
        planted.write_text('select = ["JT2"]\n')
        own = os.geteuid()
        monkeypatch.setattr(configuration, "_owner", lambda path: own + 1 if path == planted else own)
        assert cli.main(["check", "--no-cache"]) == 2
        assert capsys.readouterr().err == (
            f"jaxlint: {planted}: belongs to another user (uid {own + 1}): if you trust it, name it by --config, "
            "otherwise give --isolated\n"
        )
        assert cli.main(["check", "--no-cache", "--config", str(planted)]) == 0
        assert cli.main(["check", "--no-cache", "--isolated"]) == 1
        (here / "jaxlint.toml").write_text("")
        assert cli.main(["check", "--no-cache"]) == 1

    @pytest.mark.parametrize("owner", ["mine", "the system's", "of whoever owns what is checked"])
    def test_others_are_not(self, here: Path, owner: str, monkeypatch: pytest.MonkeyPatch) -> None:
        planted = here.parent / "jaxlint.toml"
        planted.write_text('select = ["JT2"]\n')
        own = os.geteuid()
        uid = {"mine": own, "the system's": 0}.get(owner, own + 1)
        monkeypatch.setattr(configuration, "_owner", lambda path: uid)
        assert cli.main(["check", "--no-cache"]) == 0


class TestTheTerminal:
    ESCAPES = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e\u2066\r\x08"

    def test_nothing_of_the_source_is_obeyed(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        escapes = self.ESCAPES.replace("\r", "")
        text = HOT.replace("print(", f"print('{escapes}', ").replace("i)", f"i)  # {escapes}")
        (here / "ok.py").write_text(text)
        (here / "bad.py").write_text(f"x = = '{escapes}'  # {escapes}\ny = '{escapes}\n")
        (here / f"a{self.ESCAPES}.py").write_text(text)
        calls: list[list[str]] = [["--output-format", form] for form in FORMATS]
        calls += [["-v"], ["--statistics"], ["--show-files"], ["--show-settings"], ["--diff"], ["--exclude", escapes]]
        calls += [["--add-ignore", escapes, "--diff"], ["--select", escapes], ["--config", escapes], [escapes]]
        calls += [["--baseline", escapes], ["--write-baseline", f"{escapes}/x"], ["--output-file", f"{escapes}/x"]]
        for call in calls:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr("sys.stdout.isatty", lambda: True, raising=False)
                assert cli.main(["check", "--no-cache", "--color", "never", *call]) in (0, 1, 2), call
            out, err = capsys.readouterr()
            assert out + err
            assert not CONTROL.search(out + err), (call, CONTROL.search(out + err))

    def test_a_patch_that_is_no_persons_is_as_it_is(self, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (here / "ok.py").write_text(HOT.replace("    print(", "    # \x1b[2J\n    float(").replace(" * i", ".sum()"))
        assert cli.main(["check", "--no-cache", "--diff", "ok.py"]) == 1
        assert "    # \x1b[2J\n" in capsys.readouterr().out

    @pytest.mark.parametrize(
        "command", [["merge"], ["report"], ["run", "--compare", "a.json"]], ids=lambda words: words[0]
    )
    @pytest.mark.parametrize("text", ["[" * 100_000, "\x1b[2J", '"\x1b"', "9" * 10_000, "{}", '{"\\u001b": 1}'])
    def test_reports_that_are_none(
        self, here: Path, command: list[str], text: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (here / "a.json").write_text(text)
        assert cli.main([*command, "a.json"]) == 2
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert not CONTROL.search(err)


@pytest.mark.parametrize(
    "name",
    [
        "a\nb.py",
        "\x1b[2J.py",
        "a%0A::error::b.py",
        "::error file=x::b.py",
        '"><script>.py',
        "]]>&amp;<![CDATA[.py",
        "\ufffe.py",
    ],
)
def test_every_format_can_be_read_whatever_a_file_is_called(name: str) -> None:
    laws = Laws()
    text = (
        f"import jax.numpy as jnp\nfor i in range(3):\n    print(jnp.ones(3), '{name!r}')  # {name!r} ]]> </script>\n"
    )
    assert list(laws.broken(text.encode(), name)) == []
    assert list(laws.broken(b"x = = '::error::'\n# jax\n", name)) == []

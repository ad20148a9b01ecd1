"""`check --watch` as a process: it reports again what changed, nothing else, and ends at Ctrl-C with a status."""

import os
import pty
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jaxlint import cli

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and terminals differ")

ROOT = Path(__file__).resolve().parent.parent
BAD = (
    "import jax\n\nstep = jax.jit(lambda x: x + 1)\nx = step(1.0)\nfor _ in range(9):\n    x = step(x)\n    print(x)\n"
)
GOOD = BAD.replace("    print(x)\n", "")
PATIENCE = 60.0


def put(path: Path, text: str) -> None:
    """Writes a file as a whole, as editors do: half of one would be checked too."""
    scratch = path.with_name("scratch")
    scratch.write_text(text)
    scratch.replace(path)


class Watcher:
    """A watching process, and what it prints, as it comes."""

    def __init__(self, folder: Path, terminal: bool, *arguments: str) -> None:
        words = [sys.executable, "-m", "jaxlint", "check", "--watch", *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
        out, given = pty.openpty() if terminal else os.pipe()
        self.child = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=given, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        os.close(given)
        self._out = out
        self._pieces: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.printed = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._out, 65536)
            except OSError:  # the other end of a terminal is gone
                data = b""
            self._pieces.put(data.decode())
            if not data:
                return

    def until(self, end: str) -> str:
        """What is printed from now on until a text comes."""
        deadline = time.monotonic() + PATIENCE
        while end not in self.printed:
            self.printed += self._pieces.get(timeout=max(0.1, deadline - time.monotonic()))
        shown, _, self.printed = self.printed.partition(end)
        return shown + end

    def stop(self) -> tuple[int, str]:
        """Presses Ctrl-C; the exit status and what was still printed."""
        self.child.send_signal(signal.SIGINT)
        status = self.child.wait(PATIENCE)
        while piece := self._pieces.get(timeout=PATIENCE):
            self.printed += piece
        return status, self.printed


@contextmanager
def watching(folder: Path, *arguments: str, terminal: bool = False) -> Iterator[Watcher]:
    watcher = Watcher(folder, terminal, *arguments)
    try:
        yield watcher
    finally:
        watcher.child.kill()
        watcher.child.wait(PATIENCE)


def test_it_reports_again_what_changed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    put(path, GOOD)
    (tmp_path / "sub").mkdir()
    with watching(tmp_path, ".", "--output-format", "concise") as watcher:
        assert watcher.until("file\n") == "no findings in 1 file\n"
        put(path, BAD)
        assert watcher.until("file\n").startswith("train.py:7:5: JT101 ")
        # None of these can change the report, or does; the next thing that is printed is of what follows.
        put(tmp_path / "notes.txt", "x")
        put(path, BAD + "# the same findings\n")
        put(tmp_path / "sub" / "other.py", "x = (")
        shown = watcher.until("error\n")
        assert shown.count("JT101") == 1
        assert shown.endswith("1 finding in 2 files, 1 error\n")
        (tmp_path / "sub" / "other.py").unlink()
        put(path, GOOD)
        assert "no findings in 1 file\n" in watcher.until("no findings in 1 file\n")
        assert watcher.stop() == (0, "")


def test_a_configuration_above_is_seen_and_a_wrong_one_is_survived(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    put(tmp_path / "src" / "train.py", BAD)
    with watching(tmp_path, "src", "--output-format", "concise") as watcher:
        watcher.until("1 finding in 1 file\n")
        put(tmp_path / "jaxlint.toml", 'ignore = ["JT101"]\n')
        assert watcher.until("file\n") == "no findings in 1 file\n"
        put(tmp_path / "jaxlint.toml", "ignore = 1\n")
        assert watcher.until("not 1\n") == 'jaxlint: jaxlint.toml:1: "ignore" must be a list of strings, not 1\n'
        (tmp_path / "jaxlint.toml").unlink()
        watcher.until("1 finding in 1 file\n")
        assert watcher.stop() == (1, "")


def test_a_terminal_is_cleared_for_each_report_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    put(path, GOOD)
    with watching(tmp_path, ".", terminal=True) as watcher:
        assert watcher.until("file") == "\x1b[2J\x1b[Hno findings in 1 file"
        put(path, BAD)
        shown = watcher.until("1 finding in 1 file")
        assert shown.count("\x1b[2J") == 1
        assert "\x1b[1;31mJT101" in shown, "colour as on any terminal"
        assert watcher.stop() == (1, "\r\n")


@pytest.mark.parametrize("words", [["-"], ["--confirm"], ["none"]])
def test_what_can_not_be_watched_is_one_line(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["check", "--watch", *words]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "Traceback" not in said.err


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    assert cli.main(["check", "--watch", "."]) == 2
    assert "extra `watch`" in capsys.readouterr().err

"""A program of the user's that runs: started by a keeper, ended with its group and with what it left behind.

The keeper (`keeper`) is the program's parent, so that a program which ends its parent ends that one.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

KEEPER = Path(__file__).with_name("keeper.py")
# A group that was told to end gets this long before it is killed.
GRACE_SECONDS = 3.0
POLL_SECONDS = 0.05
# What the processes of one run have in common: a variable of their environment that names its plan.
PROCESSES = Path("/proc")

Stream = int | IO[bytes] | None


@dataclass(frozen=True, slots=True)
class Kept:
    """A program that runs. `waited` is the process that ends when it ends, `number` the program's own, `mark` what is
    in the environment of all that it starts."""

    waited: "subprocess.Popen[bytes]"
    number: int
    mark: str

    def wait(self, seconds: float | None = None) -> int:
        """The exit status (negative: killed by that signal). subprocess.TimeoutExpired where it is not over by then."""
        status = self.waited.wait(seconds)
        # Where the program ended its keeper it goes on alone.
        while status < 0 and self.number != self.waited.pid and exists(self.number):
            time.sleep(POLL_SECONDS)
        return status

    def tell(self, number: int) -> None:
        """Sends the program a signal; nothing happens where it is over."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, number)


def start(
    words: Sequence[str],
    environment: Mapping[str, str],
    mark: tuple[str, str],
    *,
    folder: Path | None = None,
    streams: tuple[Stream, Stream, Stream] = (None, None, None),
    own_group: bool = False,
) -> Kept:
    """Starts a program; `mark` is the variable, and its value, by which its processes are known. OSError where it
    can not be started."""
    names = {**environment, mark[0]: mark[1]}
    standard, output, error = streams
    if sys.platform == "win32":
        process = subprocess.Popen(words, env=names, cwd=folder, stdin=standard, stdout=output, stderr=error)
        return Kept(process, process.pid, "=".join(mark))
    reading, writing = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), str(writing), *words],
            env=names,
            cwd=folder,
            stdin=standard,
            stdout=output,
            stderr=error,
            pass_fds=(writing,),
            start_new_session=own_group,
        )
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    with open(reading, encoding="utf-8", errors="replace") as file:
        told = file.read().strip()
    if not told.isdigit():
        process.wait()
        raise OSError(0, told[1:] or "its keeper ended")
    return Kept(process, int(told), "=".join(mark))


def end(kept: Kept, hurry: "threading.Event") -> None:
    """Ends what is left of a program that was started in a group of its own: first asked, then killed, at once if
    somebody is in a `hurry`."""
    if sys.platform == "win32":
        if kept.waited.poll() is None:
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(kept.waited.pid)], capture_output=True, check=False)
        kept.waited.wait()
        return
    group = kept.waited.pid
    try:
        left = [number for number in _of_mark(kept.mark) if _group(number) != group]
        asked = _signal_group(group, signal.SIGTERM)
        for number in left:
            _signal(number, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while (asked or left) and time.monotonic() < deadline and not hurry.wait(POLL_SECONDS):
            kept.waited.poll()
            left = [number for number in left if exists(number)]
            asked = _signal_group(group, 0)
    finally:
        # Also when the user has no patience left.
        _signal_group(group, signal.SIGKILL)
        for number in _of_mark(kept.mark):
            _signal(number, signal.SIGKILL)
        kept.waited.wait()


def exists(number: int) -> bool:
    """True for a process that is there, and not only waited for by a parent that does not look."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        return (PROCESSES / str(number) / "stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (OSError, IndexError):
        return not PROCESSES.is_dir()


def _of_mark(mark: str) -> Iterator[int]:
    """The processes with the mark in their environment, wherever they have gone: Linux alone tells."""
    wanted = mark.encode()
    for folder in PROCESSES.glob("[0-9]*"):
        try:
            found = wanted in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if found and exists(int(folder.name)):
            yield int(folder.name)


def _group(number: int) -> int:
    try:
        return os.getpgid(number)
    except ProcessLookupError:
        return 0


def _signal(number: int, what: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, what)


def _signal_group(group: int, what: int) -> bool:
    """False if nothing of the group is left."""
    try:
        os.killpg(group, what)
    except (ProcessLookupError, PermissionError):
        return False
    return True

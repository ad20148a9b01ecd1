"""Reads what JAX's transfer guard logs, while one operation runs.

The guard writes to file descriptor 2 from C++. While any operation is watched, that descriptor leads to a file; after
it the guard's lines are taken out and the rest is handed on. Lines carry the thread's number (newer jaxlib), so that
each thread is told its own; where they do not, a line counts only if one operation alone was watched.
"""

import os
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass

LINE = re.compile(
    rb"^(?:[IWEF]\d{4} \S+ +(?P<thread>\d+) |[^\n]*? W )?[^\n]*guard_lib\.cc[^\n]*?\] "
    rb"(?P<direction>host-to-device|device-to-device|device-to-host) transfer:[ ]?(?P<what>[^\n]*)\n?",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Logged:
    """One line of the guard: the direction with underscores, the rest of the line, the thread (0: not said)."""

    direction: str
    what: str
    thread: int


class Capture:
    """File descriptor 2, turned aside while anybody watches.

    The file stays open: a child that was started meanwhile goes on writing to it, and who saved the descriptor then may
    put it back later. What comes there is handed on at the next occasion, at the latest at the end.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.watchers = 0
        self.alone = True
        self.kept: list[Logged] = []
        # The directions whose lines the program itself asked for: they are handed on.
        self.asked: set[str] = set()
        self.aside = self.real = -1
        self.read = 0

    def forget(self) -> None:
        """After a fork: the child watches nothing."""
        if self.watchers and self._is_aside():
            os.dup2(self.real, 2)
        self.lock, self.watchers, self.kept = threading.RLock(), 0, []
        self.aside = self.real = -1

    def enter(self, asked: Iterable[str] = ()) -> None:
        """From here on lines are kept; those of the directions that are `asked` for are also handed on. OSError where
        the descriptor is closed."""
        with self.lock:
            self.asked = {*asked} | (self.asked if self.watchers else set())
            if self.watchers == 0:
                self.tidy()
                real = os.dup(2)
                if self.real >= 0:
                    os.close(self.real)
                self.real = real
                if self.aside < 0:
                    path = os.path.join(self.folder, f"stderr-{os.getpid()}")
                    self.aside = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
                    self.read = 0
                os.dup2(self.aside, 2)
                self.kept, self.alone = [], True
            else:
                self.alone = False
            self.watchers += 1

    def leave(self) -> tuple[Logged, ...]:
        """What the guard logged of this thread since it entered; the descriptor is given back by the last to leave,
        unless the program has put another in its place."""
        with self.lock:
            self._drain()
            me = threading.get_native_id()
            mine = tuple(line for line in self.kept if line.thread == me or (line.thread == 0 and self.alone))
            self.kept = [line for line in self.kept if line not in mine]
            self.watchers -= 1
            if self.watchers == 0 and self._is_aside():
                os.dup2(self.real, 2)
            return mine

    def tidy(self) -> None:
        """Hands on what came late, and gives the descriptor back if it was put aside by somebody else since."""
        with self.lock:
            if self.aside < 0 or self.watchers:
                return
            if self._is_aside():
                os.dup2(self.real, 2)
            self._drain()

    def _is_aside(self) -> bool:
        try:
            return os.path.sameopenfile(2, self.aside)
        except OSError:
            return False

    def _drain(self) -> None:
        size = os.fstat(self.aside).st_size - self.read
        if size <= 0:
            return
        data = os.pread(self.aside, size, self.read) if hasattr(os, "pread") else _read(self.aside, size, self.read)
        self.read += len(data)
        for found in LINE.finditer(data):
            direction = found["direction"].decode().replace("-", "_")
            self.kept.append(Logged(direction, found["what"].decode("utf-8", "replace"), int(found["thread"] or 0)))
        rest = LINE.sub(self._left, data)
        while rest:
            rest = rest[os.write(self.real, rest) :]
        if self.watchers <= 1:
            os.ftruncate(self.aside, 0)
            self.read = 0

    def _left(self, found: "re.Match[bytes]") -> bytes:
        return found[0] if found["direction"].decode().replace("-", "_") in self.asked else b""


def _read(descriptor: int, size: int, start: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    return os.read(descriptor, size)

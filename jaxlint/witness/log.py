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
    """File descriptor 2, turned aside while anybody watches."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.watchers = 0
        self.alone = True
        self.kept: list[Logged] = []
        # The directions whose lines the program itself asked for: they are handed on.
        self.asked: set[str] = set()

    def forget(self) -> None:
        """After a fork: the child watches nothing."""
        if self.watchers:
            os.dup2(self.real, 2)
        self.lock, self.watchers, self.kept = threading.RLock(), 0, []

    def enter(self, asked: Iterable[str] = ()) -> None:
        """From here on lines are kept; those of the directions that are `asked` for are also handed on. OSError where
        the descriptor is closed."""
        with self.lock:
            self.asked = {*asked} | (self.asked if self.watchers else set())
            if self.watchers == 0:
                path = os.path.join(self.folder, f"stderr-{os.getpid()}")
                aside = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
                try:
                    self.real = os.dup(2)
                    os.dup2(aside, 2)
                except OSError:
                    os.close(aside)
                    raise
                self.aside, self.kept, self.alone = aside, [], True
            else:
                self.alone = False
            self.watchers += 1

    def leave(self) -> tuple[Logged, ...]:
        """What the guard logged of this thread since it entered; the descriptor is given back by the last to leave."""
        with self.lock:
            self._drain()
            me = threading.get_native_id()
            mine = tuple(line for line in self.kept if line.thread == me or (line.thread == 0 and self.alone))
            self.kept = [line for line in self.kept if line not in mine]
            self.watchers -= 1
            if self.watchers == 0:
                os.dup2(self.real, 2)
                os.close(self.real)
                os.close(self.aside)
            return mine

    def _drain(self) -> None:
        size = os.fstat(self.aside).st_size
        if not size:
            return
        data = os.pread(self.aside, size, 0) if hasattr(os, "pread") else _read(self.aside, size)
        os.ftruncate(self.aside, 0)
        for found in LINE.finditer(data):
            direction = found["direction"].decode().replace("-", "_")
            self.kept.append(Logged(direction, found["what"].decode("utf-8", "replace"), int(found["thread"] or 0)))
        rest = LINE.sub(self._left, data)
        while rest:
            rest = rest[os.write(self.real, rest) :]

    def _left(self, found: "re.Match[bytes]") -> bytes:
        return found[0] if found["direction"].decode().replace("-", "_") in self.asked else b""


def _read(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, size)

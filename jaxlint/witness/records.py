"""What was seen at each mark, and how it is told to the parent process: JSON lines, one file a process.

The lock can be taken again by its thread: a signal's handler, or a finaliser, may come to a mark in the midst of it.
Lines are cumulative: the last one about a mark counts. One is written when a mark is first run and first decided, when
its count doubles and at the end, so that little is lost if the process is killed. The file is opened for each line: a
program that closes or counts its descriptors sees none of it.
"""

import json
import os
import threading
import time
from dataclasses import asdict, dataclass, field

# A mark that runs is told of at least this often.
TELL_SECONDS = 1.0
UNSEEN = "jax was loaded in a way that is not seen"
"""Why nothing that a process did is evidence, though its guard could be relied on."""
_open, _write, _close = os.open, os.write, os.close
_change_mode = getattr(os, "fchmod", lambda descriptor, mode: None)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@dataclass(slots=True)
class Crossing:
    """Transfers in one direction at a mark: how many, of how many bytes, by what evidence the first was known, the
    guard's message and the thread of that one."""

    transfers: int = 0
    bytes: int = 0
    evidence: str = ""
    message: str = ""
    thread: str = ""


@dataclass(slots=True)
class Seen:
    """What a mark has seen: how often it was run (`calls`) and judged (`runs`), what crossed unasked in which
    direction, how often something crossed that was asked for by name (`explicit`) or was on the host already (`known`),
    how often it was begun here and takes its steps elsewhere (`deferred`), the class of ``jax.errors`` raised there and
    its text; and the forms of operands that a function was called with there."""

    number: int
    calls: int = 0
    runs: int = 0
    explicit: int = 0
    raised: str = ""
    said: str = ""
    crossings: dict[str, Crossing] = field(default_factory=dict)
    known: int = 0
    deferred: int = 0
    next_line: int = 1
    next_time: float = 0.0
    told: int = 0
    forms: set[object] = field(default_factory=set)

    def total(self) -> int:
        """A number that grows with all that is counted here."""
        transfers = sum(crossing.transfers for crossing in self.crossings.values())
        # What is put off was taken for a run before.
        return self.calls + self.runs + self.explicit + self.known + 2 * self.deferred + transfers

    def forget(self) -> None:
        """As if nothing had run."""
        self.calls = self.runs = self.explicit = self.known = self.deferred = 0
        self.raised = self.said = ""
        self.crossings, self.next_line, self.told = {}, 1, 0


class Recorder:
    """Writes records of this process; after a fork the child's go to a file of its own, from nought."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.seen: dict[int, Seen] = {}
        self.lock = threading.RLock()
        self.begin()

    def begin(self) -> None:
        """A new file, named by the process."""
        self.path = os.path.join(self.folder, f"{os.getpid()}-{os.urandom(4).hex()}.jsonl")
        self.lock = threading.RLock()
        # A line was cut short, on a disk that was full for a while.
        self.torn = False

    def after_fork(self) -> None:
        """In the child: nothing that the parent saw is told twice."""
        for seen in self.seen.values():
            seen.forget()
        self.begin()

    def tell(self, **what: object) -> None:
        """Appends one line; a folder that is gone or full loses it silently, the program goes on."""
        data = (json.dumps(what) + "\n").encode()
        with self.lock:
            try:
                descriptor = _open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    if _is_root():
                        # The program may become another user: the folder's name is known to it alone.
                        _change_mode(descriptor, 0o666)
                    data = b"\n" + data if self.torn else data
                    self.torn = _write(descriptor, data) < len(data)
                finally:
                    _close(descriptor)
            except OSError:
                return

    def tell_seen(self, seen: Seen) -> None:
        """One mark, as it stands."""
        seen.next_line, seen.next_time = 2 * seen.runs, time.monotonic() + TELL_SECONDS
        seen.told = seen.total()
        crossings = {direction: asdict(crossing) for direction, crossing in seen.crossings.items()}
        names = ("number", "calls", "runs", "explicit", "known", "deferred", "raised", "said")
        self.tell(**{name: getattr(seen, name) for name in names}, crossings=crossings)

    def settle(self) -> None:
        """Every mark that has counted since it was told of."""
        for seen in self.seen.values():
            if seen.total() != seen.told:
                self.tell_seen(seen)

    def tell_all(self) -> None:
        """Every mark that ran."""
        for seen in self.seen.values():
            if seen.runs or seen.calls or seen.deferred or seen.crossings or seen.raised:
                self.tell_seen(seen)

"""The marked operations that run now, thread by thread, and what can be told of frames and results."""

import threading
from types import CodeType, FrameType

from .guard import Watching
from .plan import Mark
from .records import Seen


class Entry:
    """A marked operation that runs: the mark, the frame that it runs in, the reading of the guard's log, if any, the
    form of the operands of a call, an error of tracers that was made meanwhile, and for the subject of a `match` the
    numbers of its patterns' marks."""

    __slots__ = ("code", "deferred", "error", "form", "frame", "mark", "patterns", "seen", "transfers", "watching")

    def __init__(self, mark: Mark, seen: Seen, frame: FrameType) -> None:
        # No reference to the frame: it would keep the user's variables alive.
        self.mark, self.seen, self.frame, self.code = mark, seen, id(frame), frame.f_code
        self.transfers, self.deferred = transfers_of(seen), False
        self.watching: Watching | None = None
        self.form: object = None
        self.error: tuple[str, str] | None = None
        self.patterns: tuple[int, ...] = ()


class Running(threading.local):
    def __init__(self) -> None:
        self.entries: list[Entry] = []
        # What becomes of the calls whose arguments are being evaluated, by mark.
        self.chosen: dict[int, object] = {}
        # The list is at work: marks of a signal's handler, a finaliser or a tracer of the program's are passed over.
        self.busy = False


def thread_name() -> str:
    """The name of this thread; asking `threading` would note a thread that it did not start."""
    known = getattr(threading, "_active", {}).get(threading.get_ident())
    return known.name if known is not None else ""


def transfers_of(seen: Seen) -> int:
    return sum(crossing.transfers for crossing in seen.crossings.values()) if seen.crossings else 0


def is_lazy(value: object) -> bool:
    """True for `map`, `filter`, `zip` and those of itertools. A generator has a frame, and marks of its own."""
    kind = type(value)
    return kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__") and not hasattr(kind, "gi_frame")


def is_deferred(value: object) -> bool:
    """True for what takes its steps elsewhere: an iterator, a generator, a coroutine, a future, a thread."""
    kind = type(value)
    return (
        is_lazy(value)
        or hasattr(kind, "gi_frame")
        or hasattr(kind, "cr_frame")
        or kind.__module__.partition(".")[0] in ("concurrent", "threading", "asyncio", "multiprocessing", "_asyncio")
    )


def is_left(entry: Entry, frame: FrameType) -> bool:
    """True for what was compared in a frame that is over."""
    return bool(entry.patterns) and not runs(entry, frame)


def runs(entry: Entry, frame: FrameType | None) -> bool:
    """True if the entry's frame is this one or one of those that called it. Makes nothing for the collector."""
    while frame is not None:
        if id(frame) == entry.frame and frame.f_code is entry.code:
            return True
        frame = frame.f_back
    return False


def position(code: CodeType, instruction: int) -> tuple[int, int, int, int]:
    """Line, end line, column and end column of an instruction; nowhere if the code does not tell."""
    for index, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if index == instruction // 2:
            if line is None or end_line is None or column is None or end_column is None:
                break
            return line, end_line, column, end_column
    return 0, 0, 0, 0

"""What instrumented code calls: it keeps, for each thread, the marked operations that are running now.

Only the doors (`doors`) and `attempt` touch the guard, and only while a marked operation runs. Until jax is imported
there is nothing to ask, and a mark merely counts.

A mark that an exception ended has no `end`. It is told by its frame: whoever reads the list believes an entry only if
its frame is still running, and `raised` drops those that are over.
"""

import builtins
import functools
import operator
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from . import rewrite
from .guard import Guard, Refusal, Watching
from .leaks import Leaks
from .plan import Mark, Plan
from .records import Crossing, Recorder, Seen

# Judged at each of the first runs, then at those whose number is a power of two: an attempt costs far more than a run.
JUDGED_FIRST = 16
# Beside the classes of jax.errors, what a mark may look for of tracers.
FORMATTED, LEAKED = "formatted", "leaked"


class Entry:
    """A marked operation that runs: the mark, the frame that it runs in, and the reading of the guard's log, if any."""

    __slots__ = ("code", "frame", "mark", "seen", "watching")

    def __init__(self, mark: Mark, seen: Seen, frame: FrameType) -> None:
        # No reference to the frame: it would keep the user's variables alive.
        self.mark, self.seen, self.frame, self.code = mark, seen, id(frame), frame.f_code
        self.watching: Watching | None = None


class _Thread(threading.local):
    def __init__(self) -> None:
        self.entries: list[Entry] = []


class Marks:
    """The marks of a plan in this process."""

    def __init__(self, plan: Plan, recorder: Recorder) -> None:
        self.recorder = recorder
        self.marks = {mark.number: mark for marks in plan.files.values() for mark in marks}
        self.seen = recorder.seen
        self.seen.update({number: Seen(number) for number in self.marks})
        self.logged = {
            number for number, mark in self.marks.items() if {"host_to_device", "device_to_device"} & {*mark.directions}
        }
        self.leaking = {number for number, mark in self.marks.items() if LEAKED in mark.raises}
        self.places: dict[int, tuple[int, int, int, int]] = {}
        self.raising: dict[str, list[int]] = {}
        self.leaks = Leaks()
        self.guard: Guard | None = None
        self.thread = _Thread()

    def install(self) -> None:
        """Puts the functions that instrumented code calls among the builtins."""
        functions: Mapping[str, object] = {
            rewrite.BEGIN: self.begin, rewrite.ALSO: self.also,
            rewrite.OPEN: self.open, rewrite.END: self.end, rewrite.TRUTH: self.truth,
            rewrite.ATTEMPT: self.attempt, rewrite.RAISED: self.raised, rewrite.OPERATOR: operator,
            rewrite.FORMAT: format, "__jaxlint_repr__": repr, "__jaxlint_str__": str, "__jaxlint_ascii__": ascii,
        }  # fmt: skip
        for name, value in functions.items():
            setattr(builtins, name, value)

    def begin(self, number: int, value: Any, /) -> Any:
        """The operation of a mark is next; `value` is its last operand and is given back."""
        self._begin(self._enter(number, sys._getframe(1)), value)
        return value

    def also(self, number: int, value: Any, /) -> Any:
        """As `begin`, for a further mark of the operation that was begun just now."""
        entry = Entry(self.marks[number], self.seen[number], sys._getframe(1))
        self.thread.entries.append(entry)
        self._begin(entry, value)
        return value

    def _begin(self, entry: Entry, value: object) -> None:
        number = entry.mark.number
        if number in self.logged:
            self._watch(entry)
        else:
            self._count(entry.seen)
        if self.leaks.pending or number in self.leaking:
            self._look_for_leaks(number, value)

    def open(self, number: int, value: Any, /) -> Any:
        """As `begin`, for the first step of an operation that is counted at its second."""
        self._enter(number, sys._getframe(1))
        return value

    def end(self, number: int, value: Any, /) -> Any:
        """The operation of a mark is over; `value` is its result and is given back."""
        entries = self.thread.entries
        while entries:
            entry = entries.pop()
            if entry.watching is not None:
                self._unwatch(entry)
            if entry.mark.number == number:
                if _is_lazy(value):
                    # Its steps are taken when somebody asks for them: the mark holds until the frame meets another.
                    entries.append(entry)
                break
        return value

    def truth(self, number: int, value: Any, /) -> Any:
        """The truth of `value` is asked for next. It is asked here first: then the array is fetched, and asking again
        costs nothing. What has no truth says so where the program asks. Gives `value` back."""
        frame = sys._getframe(1)
        entry = self._enter(number, frame)
        self._count(entry.seen)
        if self.guard is None or not self.guard.is_array(value):
            # The entry stays: if the truth of a tracer raises, `raised` finds it.
            return value
        try:
            bool(value)
        except Exception:  # the program will meet it again, in its own frame
            return value
        finally:
            self.end(number, None)
        return value

    def attempt(self, number: int, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Callable[[], Any]:
        """The function is called next. If that can be repeated it is tried here, under the guard; what is given back
        yields the result, or calls the function where the program stands."""
        entry = self._enter(number, sys._getframe(1))
        guard, seen = self.guard, entry.seen
        if not callable(function):
            return function
        call = functools.partial(function, *args, **kwargs)
        if guard is None:
            self._count(seen)
            return call
        if not self._is_due(seen):
            return call
        if not guard.is_repeatable(function, args, kwargs):
            self._watch(entry)
            return call
        tried = guard.attempt(entry.mark, call)
        self._count(seen)
        if tried.refusal is not None:
            self.transferred(seen, "guard", tried.refusal)
        if tried.done:
            return lambda: tried.result
        return call

    def raised(self) -> None:
        """An exception leaves the statement that holds marks: drops those that it ended."""
        error, frame = sys.exc_info()[1], sys._getframe(1)
        running = _running(frame.f_back)
        entries = self.thread.entries
        top: Entry | None = None
        while entries and (entries[-1].frame, entries[-1].code) not in running:
            entry = entries.pop()
            if entry.watching is not None:
                self._unwatch(entry)
            if entry.frame == id(frame) and top is None:
                top = entry
        if error is None or self.guard is None:
            return
        if top is not None and self._raised_at(top, error):
            return
        self._raised_around(frame, error)

    def active(self, direction: str) -> Entry | None:
        """The innermost marked operation of this thread that is judged in a direction and still runs."""
        entries = self.thread.entries
        if not entries:
            return None
        running = _running(sys._getframe(1))
        for entry in reversed(entries):
            if direction in entry.mark.directions and (entry.frame, entry.code) in running:
                return entry
        return None

    def transferred(self, seen: Seen, evidence: str, what: Refusal, size: int = 0) -> None:
        """A transfer at a mark, of `size` bytes (0: not known)."""
        crossing = seen.crossings.setdefault(what.direction, Crossing())
        crossing.transfers += 1
        crossing.bytes += size
        if not crossing.evidence or (crossing.evidence == "trace" and evidence == "guard"):
            crossing.evidence, crossing.message = evidence, what.message
            crossing.thread = threading.current_thread().name
            self.recorder.tell_seen(seen)

    def passed_explicitly(self, seen: Seen) -> None:
        """A fetch at a mark that the program asked for by name."""
        seen.explicit += 1

    def after_fork(self) -> None:
        """In a forked child nothing of the parent's runs."""
        self.thread = _Thread()
        if self.guard is not None:
            self.guard.capture.forget()

    def finish(self) -> None:
        """At the end of the process: the last word on each mark, and which process of a distributed program this is."""
        distributed = sys.modules.get("jax._src.distributed")
        if distributed is not None and distributed.global_state.process_id:
            self.recorder.tell(process=distributed.global_state.process_id)
        uncaught: type[BaseException] | None = getattr(sys, "last_type", None)
        if uncaught is not None and "_pytest" not in sys.modules:
            self.recorder.tell(crashed=uncaught.__name__)
        self._settle_leaks()
        self.recorder.tell_all()

    def _enter(self, number: int, frame: FrameType) -> Entry:
        entries = self.thread.entries
        if entries and entries[-1].frame == id(frame):
            # In one frame operations do not overlap: that one was ended by an exception that nobody told of.
            self.end(entries[-1].mark.number, None)
        entry = Entry(self.marks[number], self.seen[number], frame)
        entries.append(entry)
        return entry

    def _count(self, seen: Seen) -> None:
        seen.runs += 1
        if seen.runs >= seen.next_line or time.monotonic() > seen.next_time:
            self.recorder.tell_seen(seen)

    def _is_due(self, seen: Seen) -> bool:
        seen.calls += 1
        return seen.calls <= JUDGED_FIRST or seen.calls & (seen.calls - 1) == 0

    def _watch(self, entry: Entry) -> None:
        if self.guard is None or not self._is_due(entry.seen):
            return
        entry.watching = self.guard.watch(entry.mark)
        if entry.watching is not None:
            self._count(entry.seen)

    def _unwatch(self, entry: Entry) -> None:
        watching, entry.watching = entry.watching, None
        assert watching is not None
        lines = {line.direction: line for line in reversed(watching.leave())}
        for line in lines.values():
            # However many arrays crossed: one run that transferred.
            self.transferred(entry.seen, "trace", line)

    def _raised_at(self, entry: Entry, error: BaseException) -> bool:
        """An error that a marked operation raised itself; True if it is one that the mark looks for."""
        assert self.guard is not None
        refusal = self.guard.refusal(error)
        if refusal is not None and refusal.direction in entry.mark.directions:
            self.transferred(entry.seen, "guard", refusal)
            return True
        if not self.guard.is_of_tracers(error, entry.mark.raises):
            return False
        if not entry.seen.raised:
            self._tell_raised(entry.seen, type(error).__name__, self.guard.first_line(error))
        return True

    def _raised_around(self, frame: FrameType, error: BaseException) -> None:
        """An error that looks at what a mark made a step before: in ``x.at[mask].set(0)`` the last call raises."""
        assert self.guard is not None
        trace = error.__traceback__
        marks = [self.marks[number] for number in self.raising.get(frame.f_code.co_filename, ())]
        marks = [mark for mark in marks if self.guard.is_of_tracers(error, mark.raises)]
        if trace is None or trace.tb_frame is not frame or not marks:
            return
        line, end_line, column, end_column = _position(frame.f_code, trace.tb_lasti)
        for mark in marks:
            place, seen = self.places[mark.number], self.seen[mark.number]
            if (line, column) <= place[:2] and place[2:] <= (end_line, end_column) and seen.runs and not seen.raised:
                self._tell_raised(seen, type(error).__name__, self.guard.first_line(error))
                return

    def place(self, filename: str, places: Mapping[int, tuple[int, int, int, int]]) -> None:
        """Where the marks of a file are in its code, columns in bytes of UTF-8."""
        self.places.update(places)
        self.raising[filename] = [number for number in places if self.marks[number].raises]

    def formatted_tracer(self) -> None:
        """A tracer was formatted: at a mark that says so, this is what was looked for."""
        entries = self.thread.entries
        if not entries or FORMATTED not in entries[-1].mark.raises or entries[-1].seen.raised:
            return
        if (entries[-1].frame, entries[-1].code) in _running(sys._getframe(1)):
            self._tell_raised(entries[-1].seen, FORMATTED, "a tracer was formatted here, not a value")

    def _tell_raised(self, seen: Seen, what: str, said: str) -> None:
        seen.raised, seen.said = what, said
        self.recorder.tell_seen(seen)

    def leaked(self, tracers: Sequence[object]) -> None:
        """jax is about to raise because of these tracers."""
        number = self.leaks.mark_of(tracers)
        if number is not None and not self.seen[number].raised:
            self._tell_raised(
                self.seen[number], "UnexpectedTracerError", "a later use of what is stored here raised it"
            )

    def _look_for_leaks(self, number: int, value: object) -> None:
        if self.leaks.pending:
            self._settle_leaks()
        if number in self.leaking and not self.seen[number].raised:
            self.leaks.note(number, value)

    def _settle_leaks(self) -> None:
        for number, message in self.leaks.found():
            seen = self.seen[number]
            if not seen.raised:
                self._tell_raised(seen, LEAKED, message)


def _is_lazy(value: object) -> bool:
    """True for `map`, `filter`, `zip` and those of itertools. A generator has a frame, and marks of its own."""
    kind = type(value)
    return kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__") and not hasattr(kind, "gi_frame")


def _running(frame: FrameType | None) -> set[tuple[int, CodeType]]:
    running = set()
    while frame is not None:
        running.add((id(frame), frame.f_code))
        frame = frame.f_back
    return running


def _position(code: CodeType, instruction: int) -> tuple[int, int, int, int]:
    """Line, end line, column and end column of an instruction; nowhere if the code does not tell."""
    for index, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if index == instruction // 2:
            if line is None or end_line is None or column is None or end_column is None:
                break
            return line, end_line, column, end_column
    return 0, 0, 0, 0

"""What instrumented code calls: it keeps, for each thread, the marked operations that are running now.

Only the doors (`doors`) and `attempt` touch the guard, and only while a marked operation runs. Until jax is imported
there is nothing to ask, and a mark merely counts.

A mark that an exception ended has no `end`. It is told by its frame: whoever reads the list believes an entry only if
its frame is still running, and `raised` drops those that are over. Where the program has no frame left to call (it
recursed to the limit), a mark is passed over.
"""

import builtins
import functools
import operator
import sys
import time
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

from . import nodes
from .entries import Entry, Running, is_deferred, is_lazy, is_left, position, runs, thread_name, transfers_of
from .guard import Guard, Refusal, Tried
from .plan import Mark, Plan
from .records import UNSEEN, Crossing, Recorder, Seen
from .tracer_errors import TracerErrors
from .trial import Held, Trial
from .unseen import passed_over, release

# Judged at each of the first runs, then at those whose number is a power of two: a refusal costs far more than a run.
# While nothing is refused the attempt costs little, and what happens now and then is to be met.
JUDGED_FIRST, JUDGED_CLEAN = 16, 1024
# What is to become of a call: counted (there is no guard yet), watched, or neither.
COUNTED, WATCHED, PASSED = "counted", "watched", "passed"


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
        self.errors = TracerErrors(self.marks, self.seen, recorder)
        self.guard: Guard | None = None
        self.thread = Running()

    def install(self) -> None:
        """Puts the functions that instrumented code calls among the builtins."""
        functions: Mapping[str, object] = {
            nodes.BEGIN: self.begin, nodes.ALSO: self.also, nodes.OPEN: self.open, nodes.END: self.end,
            nodes.LATER: self.later,
            nodes.TRUTH: self.truth, nodes.MATCH: self.match, nodes.CHOOSE: self.choose, nodes.HAND: self.hand,
            nodes.ATTEMPT: self.attempt, nodes.RAISED: self.raised, nodes.HOLD: self.hold,
            nodes.OPERATOR: operator,
        }  # fmt: skip
        for name, value in functions.items():
            setattr(builtins, name, value)

    def begin(self, number: int, value: Any, /) -> Any:
        """The operation of a mark is next; `value` is its last operand and is given back."""
        try:
            self._begin(self._enter(number, sys._getframe(1)), value)
        except RecursionError:
            return value
        return value

    def also(self, number: int, value: Any, /) -> Any:
        """As `begin`, for a further mark of the operation that was begun just now."""
        try:
            entry = Entry(self.marks[number], self.seen[number], sys._getframe(1))
            self.thread.entries.append(entry)
            self._begin(entry, value)
        except RecursionError:
            return value
        return value

    def _begin(self, entry: Entry, value: object) -> None:
        number = entry.mark.number
        if number in self.logged:
            self._watch(entry)
        else:
            self._count(entry.seen)
        self.errors.look_for_leaks(number, value)

    def open(self, number: int, value: Any, /) -> Any:
        """As `begin`, for the first step of an operation that is counted at its second."""
        try:
            self._enter(number, sys._getframe(1))
        except RecursionError:
            return value
        return value

    def end(self, number: int, value: Any, /) -> Any:
        """The operation of a mark is over; `value` is its result and is given back."""
        try:
            entry = self._over(number, id(sys._getframe(1)))
            if entry is None:
                return value
            if entry.form is not None:
                entry.seen.forms.add(entry.form)
            if (entry.deferred or is_deferred(value)) and entry.transfers == transfers_of(entry.seen):
                # It has not run yet, and where it will nobody sees that it was asked for here.
                entry.seen.runs -= 1
                entry.seen.deferred += 1
        except RecursionError:
            return value
        return value

    def later(self, number: int, value: Any, /) -> Any:
        """As `end`, for what may take its steps later, but before the statement is over: that ends it."""
        entries = self.thread.entries
        if not is_lazy(value) or not entries or entries[-1].mark.number != number:
            return self.end(number, value)
        entries[-1].deferred = True
        return value

    def truth(self, number: int, value: Any, /) -> Any:
        """The truth of `value` is asked for next. It is asked here first: then the array is fetched, and asking again
        costs nothing. What has no truth says so where the program asks. Gives `value` back."""
        try:
            entry = self._enter(number, sys._getframe(1))
            self._count(entry.seen)
            if self.guard is not None and (self.guard.is_array(value) or self.guard.is_tracer(value)):
                bool(value)
        except RecursionError:
            return value
        except Exception as error:  # the program will meet it again, in its own frame
            self._raised_at(entry, error)
            release(error)
        self._over(number, id(sys._getframe(1)))
        return value

    def match(self, numbers: tuple[int, ...], value: Any, /) -> Any:
        """What a ``match`` compares with its patterns, each of which has a mark, or what a test compares; is given
        back. Only the first is sure to be compared."""
        try:
            entry = self._enter(numbers[0], sys._getframe(1))
            entry.patterns = numbers
            self._count(entry.seen)
        except RecursionError:
            return value
        return value

    def hold(self, number: int, /) -> "Held":
        """Lies on the stack of a frame that has no handler: where that is left, so is the mark."""
        return Held(self, number, id(sys._getframe(1)))

    def left(self, number: int, frame: int) -> None:
        """The frame is left, or the operation of the mark was over before."""
        entry = self._over(number, frame) if self.thread.entries else None
        if entry is not None:
            self.errors.ended(entry)

    def choose(self, number: int, function: Any, is_last: bool, /) -> Any:
        """The function is called when its arguments are evaluated; is given back, or what tries it under the guard
        first if calling twice can do what calling once does. `is_last`: there are no arguments."""
        chosen, tries = COUNTED, False
        try:
            if self.guard is not None:
                seen = self.seen[number]
                chosen = PASSED
                if self._is_due(seen):
                    tries = self.guard.is_repeatable(function)
                    chosen = PASSED if tries else WATCHED
            self.thread.chosen[number] = chosen
            if is_last:
                self._hand(number, sys._getframe(1))
        except RecursionError:
            return function
        return Trial(self, number, function) if tries else function

    def hand(self, number: int, value: Any, /) -> Any:
        """As `begin`, for the last argument of what `choose` gave."""
        try:
            self._hand(number, sys._getframe(1))
        except RecursionError:
            return value
        return value

    def _hand(self, number: int, frame: FrameType) -> None:
        entry = self._enter(number, frame)
        chosen = self.thread.chosen.pop(number, PASSED)
        if chosen is COUNTED:
            self._count(entry.seen)
        elif chosen is WATCHED:
            self._watch_now(entry)

    def attempt(self, number: int, function: Callable[..., Any], /, *args: Any) -> Callable[[], Any]:
        """A function of `operator` is called next. If that can be repeated it is tried here, under the guard; what is
        given back yields the result, or calls the function where the program stands."""
        try:
            call = functools.partial(function, *args)
        except RecursionError as error:
            error.__traceback__ = None
            raise
        try:
            entry = self._enter(number, sys._getframe(1))
            if self.guard is None:
                self._count(entry.seen)
                return call
            if not self._is_due(entry.seen):
                return call
            form = self.guard.form(function, args, {}) if self.guard.is_arithmetic(args) else None
            if form is None or form not in entry.seen.forms:
                entry.form = form
                self._watch_now(entry)
                return call
            tried = self.tried(entry.seen, self.marks[number], call)
        except Exception:  # the program meets it again, where it stands
            return call
        return (lambda: tried.result) if tried.done else call

    @passed_over
    def tried(self, seen: Seen, mark: Mark, call: Callable[[], Any]) -> Tried:
        """The call, tried under the guard and counted."""
        assert self.guard is not None
        tried: Tried = self.guard.attempt(mark, call)
        self._count(seen)
        if tried.refusal is not None:
            self.transferred(seen, "guard", tried.refusal)
        return tried

    @passed_over
    def call(self, number: int, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that `choose` wanted tried, now that its arguments are known."""
        guard, entries = self.guard, self.thread.entries
        entry = entries[-1] if entries and entries[-1].mark.number == number else None
        if guard is not None and entry is not None:
            form = guard.form(function, args, kwargs)
            if not guard.is_harmless(args, kwargs):
                self._watch_now(entry)
            elif form not in entry.seen.forms:
                # It may be traced now, and what it does then must be done once.
                entry.form = form
                self._watch_now(entry)
            else:
                tried = self.tried(entry.seen, entry.mark, functools.partial(function, *args, **kwargs))
                if tried.done:
                    return tried.result
        return function(*args, **kwargs)

    def raised(self) -> None:
        """An exception leaves the statement that holds marks: drops those that it ended."""
        entries = self.thread.entries
        if not entries and not self.errors.raising:
            return
        error, frame = sys.exc_info()[1], sys._getframe(1)
        top: Entry | None = None
        if self.thread.busy:
            return
        self.thread.busy = True
        try:
            while entries and not runs(entries[-1], frame.f_back):
                entry = entries.pop()
                self._drop(entry)
                if entry.frame == id(frame) and top is None:
                    top = entry
                else:
                    self.errors.ended(entry)
        finally:
            self.thread.busy = False
        if error is None or self.guard is None:
            return
        if top is not None and not top.patterns and self._raised_at(top, error):
            return
        self.errors.raised_around(self.guard, frame, error)

    def active(self, direction: str) -> Entry | None:
        """The innermost marked operation of this thread that is judged in a direction and still runs."""
        entries = self.thread.entries
        if not entries:
            return None
        frame = sys._getframe(1)
        for entry in reversed(entries):
            if direction in entry.mark.directions and runs(entry, frame):
                found = self._pattern(entry, frame) if entry.patterns else entry
                if found is not None:
                    return found
        return None

    def _pattern(self, entry: Entry, frame: FrameType | None) -> Entry | None:
        """The entry of the pattern that is compared now, by the place where its frame stands."""
        while frame is not None and id(frame) != entry.frame:
            frame = frame.f_back
        if frame is None:
            return None
        line, _, column, _ = position(frame.f_code, frame.f_lasti)
        for number in entry.patterns:
            place = self.errors.places[number]
            if place[:2] <= (line, column) < place[2:]:
                if number != entry.mark.number:
                    self._count(self.seen[number])
                return Entry(self.marks[number], self.seen[number], frame)
        return None

    def transferred(self, seen: Seen, evidence: str, what: Refusal, size: int = 0) -> None:
        """A transfer at a mark, of `size` bytes (0: not known)."""
        crossing = seen.crossings.setdefault(what.direction, Crossing())
        crossing.transfers += 1
        crossing.bytes += size
        if not crossing.evidence or (crossing.evidence == "trace" and evidence == "guard"):
            crossing.evidence, crossing.message = evidence, what.message
            crossing.thread = thread_name()
            self.recorder.tell_seen(seen)

    def passed_explicitly(self, seen: Seen) -> None:
        """A fetch at a mark that the program asked for by name."""
        seen.explicit += 1

    def after_fork(self) -> None:
        """In a forked child nothing of the parent's runs."""
        self.thread = Running()
        if self.guard is not None:
            self.guard.forget()

    def finish(self) -> None:
        """At the end of the process: the last word on each mark, and which process of a distributed program this is."""
        distributed = sys.modules.get("jax._src.distributed")
        if distributed is not None and (distributed.global_state.num_processes or 1) > 1:
            self.recorder.tell(process=distributed.global_state.process_id)
        uncaught: type[BaseException] | None = getattr(sys, "last_type", None)
        # An IPython shell notes there what a cell raised, and goes on.
        if uncaught is not None and "_pytest" not in sys.modules and not hasattr(builtins, "__IPYTHON__"):
            self.recorder.tell(crashed=uncaught.__name__)
        self.errors.settle_leaks()
        if self.guard is not None:
            self.guard.capture.tidy()
        elif "jax" in sys.modules:
            self.recorder.tell(distrust=UNSEEN)
        self.recorder.tell_all()

    def _enter(self, number: int, frame: FrameType) -> Entry:
        thread, entry = self.thread, Entry(self.marks[number], self.seen[number], frame)
        if thread.busy:
            return entry
        thread.busy, entries = True, thread.entries
        try:
            # In one frame operations do not overlap: one was ended by an exception that nobody told of, or has no end.
            while entries and (entries[-1].frame == id(frame) or is_left(entries[-1], frame)):
                self._drop(entries.pop())
            entries.append(entry)
        finally:
            thread.busy = False
        return entry

    def _over(self, number: int, frame: int) -> Entry | None:
        """Takes the mark's entry of a frame off the list, with what is left above it; None if there is none."""
        thread, entries = self.thread, self.thread.entries
        if thread.busy:
            return None
        thread.busy = True
        try:
            for index in range(len(entries) - 1, -1, -1):
                if entries[index].mark.number == number and entries[index].frame == frame:
                    while len(entries) > index + 1:
                        self._drop(entries.pop())
                    self._drop(entries[-1])
                    return entries.pop()
        finally:
            thread.busy = False
        return None

    def _drop(self, entry: Entry) -> None:
        if entry.watching is not None:
            self._unwatch(entry)

    def _count(self, seen: Seen) -> None:
        seen.runs += 1
        if seen.runs >= seen.next_line or time.monotonic() > seen.next_time:
            self.recorder.tell_seen(seen)

    def _is_due(self, seen: Seen) -> bool:
        seen.calls += 1
        first = JUDGED_FIRST if seen.crossings else JUDGED_CLEAN
        return seen.calls <= first or seen.calls & (seen.calls - 1) == 0

    def _watch(self, entry: Entry) -> None:
        if self.guard is not None and self._is_due(entry.seen):
            self._watch_now(entry)

    def _watch_now(self, entry: Entry) -> None:
        assert self.guard is not None
        entry.watching = self.guard.watch(entry.mark)

    def _unwatch(self, entry: Entry) -> None:
        watching, entry.watching = entry.watching, None
        assert watching is not None
        logged = watching.leave()
        if logged is None:
            return
        self._count(entry.seen)
        # However many arrays crossed: one run that transferred.
        for line in {line.direction: line for line in reversed(logged)}.values():
            self.transferred(entry.seen, "trace", line)

    def _raised_at(self, entry: Entry, error: BaseException) -> bool:
        """An error that a marked operation raised itself; True if it is one that the mark looks for."""
        assert self.guard is not None
        refusal = self.guard.refusal(error)
        if refusal is not None and refusal.direction in entry.mark.directions:
            self.transferred(entry.seen, "guard", refusal)
            return True
        return self.errors.raised_at(self.guard, entry, error)

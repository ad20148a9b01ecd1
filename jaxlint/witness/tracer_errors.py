"""What marks look for besides transfers: errors of tracers that were raised, tracers that were formatted or leaked."""

import sys
from collections.abc import Mapping, Sequence
from types import FrameType

from .entries import Entry, position, runs
from .guard import Guard
from .leaks import Leaks
from .plan import FORMATTED, LEAKED, Mark
from .records import Recorder, Seen

Place = tuple[int, int, int, int]


class TracerErrors:
    """The errors of tracers at the marks of this process. `places` are those of the marks in code, lines from one and
    columns in bytes of UTF-8; `raising` the marks of a file that look for an error."""

    def __init__(self, marks: Mapping[int, Mark], seen: Mapping[int, Seen], recorder: Recorder) -> None:
        self.marks, self.seen, self.recorder = marks, seen, recorder
        self.places: dict[int, Place] = {}
        self.raising: dict[str, list[int]] = {}
        self.leaking = {number for number, mark in marks.items() if LEAKED in mark.raises}
        self.leaks = Leaks()

    def place(self, filename: str, places: Mapping[int, Place]) -> None:
        """Where the marks of a file are in its code."""
        self.places.update(places)
        self.raising[filename] = [number for number in places if self.marks[number].raises]

    def made(self, entries: Sequence[Entry], kind: type[BaseException], text: str) -> None:
        """An error of tracers was made while these operations ran. If it ends the innermost, this is what was looked
        for."""
        if not entries or not entries[-1].mark.raises:
            return
        names = {base.__name__ for base in kind.__mro__ if base.__module__.startswith("jax")}
        if names & {*entries[-1].mark.raises} and runs(entries[-1], sys._getframe(1)):
            entries[-1].error = (kind.__name__, text.strip().split("\n", 1)[0])

    def formatted(self, entries: Sequence[Entry]) -> None:
        """A tracer was formatted: at a mark that says so, this is what was looked for."""
        if not entries or FORMATTED not in entries[-1].mark.raises or entries[-1].seen.raised:
            return
        if runs(entries[-1], sys._getframe(1)):
            self._tell(entries[-1].seen, FORMATTED, "a tracer was formatted here, not a value")

    def ended(self, entry: Entry) -> None:
        """An operation is over: the error that was made while it ran has ended it."""
        if entry.error is not None and not entry.seen.raised:
            self._tell(entry.seen, *entry.error)

    def raised_at(self, guard: Guard, entry: Entry, error: BaseException) -> bool:
        """An error that a marked operation raised itself; True if it is one that the mark looks for."""
        if not guard.is_of_tracers(error, entry.mark.raises):
            return False
        if not entry.seen.raised:
            self._tell(entry.seen, type(error).__name__, guard.first_line(error))
        return True

    def raised_around(self, guard: Guard, frame: FrameType, error: BaseException) -> None:
        """An error that looks at what a mark made a step before: in ``x.at[mask].set(0)`` the last call raises."""
        trace = error.__traceback__
        marks = [self.marks[number] for number in self.raising.get(frame.f_code.co_filename, ())]
        marks = [mark for mark in marks if guard.is_of_tracers(error, mark.raises)]
        if trace is None or trace.tb_frame is not frame or not marks:
            return
        line, end_line, column, end_column = position(frame.f_code, trace.tb_lasti)
        for mark in marks:
            place, seen = self.places[mark.number], self.seen[mark.number]
            if (line, column) <= place[:2] and place[2:] <= (end_line, end_column) and seen.runs and not seen.raised:
                self._tell(seen, type(error).__name__, guard.first_line(error))
                return

    def leaked(self, tracers: Sequence[object]) -> None:
        """jax is about to raise because of these tracers."""
        number = self.leaks.mark_of(tracers)
        if number is not None and not self.seen[number].raised:
            self._tell(self.seen[number], "UnexpectedTracerError", "a later use of what is stored here raised it")

    def look_for_leaks(self, number: int, value: object) -> None:
        """The operation of a mark is next, which may store `value` where it outlives its trace."""
        if self.leaks.pending:
            self.settle_leaks()
        if number in self.leaking and not self.seen[number].raised:
            self.leaks.note(number, value)

    def settle_leaks(self) -> None:
        """Tells of the tracers that have outlived their trace by now."""
        for number, message in self.leaks.found():
            seen = self.seen[number]
            if not seen.raised:
                self._tell(seen, LEAKED, message)

    def _tell(self, seen: Seen, what: str, said: str) -> None:
        seen.raised, seen.said = what, said
        self.recorder.tell_seen(seen)

"""Being told to end while a program runs: noted, and looked at where it can be followed, so that what is known by then
is reported and nothing is left behind."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name))


class Interrupted(KeyboardInterrupt):
    """Work was given up because of a signal, which is its argument."""


@dataclass(slots=True)
class Told:
    """`number` is the first signal that told this process to end, 0 until then; `hurry` is set by a second one. An
    interrupt comes from the terminal, to the whole group; the others are handed on by `hand_on`."""

    number: int = 0
    hurry: threading.Event = field(default_factory=threading.Event)
    hand_on: Callable[[int], None] = lambda number: None

    def note(self, number: int, _: object = None) -> None:
        """A signal came."""
        if self.number:
            self.hurry.set()
        self.number = self.number or number
        if number != signal.SIGINT:
            self.hand_on(number)


@contextmanager
def noted() -> Iterator[Told]:
    """Within, being told to end only notes it. Signals that this process was started to pass over stay passed over; in
    another thread than the main one they are not ours."""
    told = Told()
    if threading.current_thread() is not threading.main_thread():
        yield told
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, told.note)
    try:
        yield told
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

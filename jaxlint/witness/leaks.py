"""Tells whether a tracer that was stored has leaked: jax raises over it, or it is still there when nothing is traced.

The latter is what ``jax.checking_leaks`` asks at the end of each trace, without the error that would stop the program
there. Under `checking_leaks` that error names the tracers, and they are known by it.
"""

import gc
import sys
import threading
from collections.abc import Iterable

MESSAGE = "the tracer was still referred to after its trace had ended"
# How often one mark's tracers are looked for among all objects: that is slow.
LOOKS = 4
DEPTH = 4


class Leaks:
    """Tracers noted at marks, by the identity of the object: a reference would itself keep them."""

    def __init__(self) -> None:
        self.pending: dict[int, int] = {}
        self.noted: dict[int, int] = {}
        self.looks: dict[int, int] = {}
        self.lock = threading.RLock()

    def note(self, number: int, value: object) -> None:
        """The tracers in a value that is about to be stored at a mark."""
        core = sys.modules.get("jax._src.core")
        if core is not None and self.looks.get(number, 0) < LOOKS:
            with self.lock:
                found = {id(tracer): number for tracer in _tracers(value, core.Tracer, DEPTH)}
                self.pending.update(found)
                self.noted.update(found)

    def mark_of(self, tracers: Iterable[object]) -> int | None:
        """The mark at which one of these tracers was stored: those that an error of jax is about, so that they live."""
        return next((self.noted[id(tracer)] for tracer in tracers if id(tracer) in self.noted), None)

    def found(self) -> list[tuple[int, str]]:
        """The marks whose tracers are still alive, with what to say of them. Nothing while this thread traces."""
        core = sys.modules.get("jax._src.core")
        if core is None or not self.pending or not core.trace_state_clean():
            return []
        gc.collect()
        alive = {id(thing) for thing in gc.get_objects() if issubclass(type(thing), core.Tracer)}
        with self.lock:
            pending, self.pending = self.pending, {}
        for number in {*pending.values()}:
            self.looks[number] = self.looks.get(number, 0) + 1
        return [(number, MESSAGE) for identity, number in pending.items() if identity in alive]


def _tracers(value: object, tracer: type, depth: int) -> list[object]:
    if issubclass(type(value), tracer):
        return [value]
    if depth == 0:
        return []
    if type(value) is dict:
        return [found for part in value.values() for found in _tracers(part, tracer, depth - 1)]
    if type(value) in (list, tuple):
        return [found for part in value for found in _tracers(part, tracer, depth - 1)]  # type: ignore[attr-defined]
    return []

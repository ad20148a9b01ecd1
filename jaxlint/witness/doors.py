"""The doors through which host code reads a device array, watched: at a marked operation the guard is asked to refuse.

Laid over the doors of whatever backend serves. A fetch at a marked operation is first tried under the guard's
`disallow`; the refusal is noted and the fetch is done as the program's own level says. Everything else passes as it is.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from .entries import Entry, position
from .guard import Guard
from .marks import JUDGED_FIRST, Marks
from .private import FETCHES, copying_modules, replace_callbacks
from .unseen import HERE, NAME, passed_over, release, unseen

DIRECTION = "device_to_host"


class _State(threading.local):
    inside = False


def open_doors(marks: Marks, guard: Guard, trusted: Callable[[], bool]) -> Callable[[], None]:
    """Lays the watch over the doors. `trusted` is asked before the first judgement: false if the guard of this process
    does not refuse what it must. What is given back lays it anew over doors that a backend has replaced since."""
    from jax._src import source_info_util, traceback_util

    for path in (HERE, NAME):
        traceback_util.register_exclusion(path)
        source_info_util.register_exclusion(path)
    _keep_places(traceback_util)
    doors = _Doors(marks, guard, trusted)
    _lay_over(doors)
    _watch_tracers(marks)
    return lambda: _lay_over(doors)


def _lay_over(doors: "_Doors") -> None:
    array: Any = doors.guard.array
    value = vars(array)["_value"]
    array._value = property(doors.over(value.fget))
    for name in (*FETCHES, "copy_to_host_async"):
        if hasattr(array, name):
            setattr(array, name, doors.over(getattr(array, name)))
    for module in copying_modules():
        module.batched_copy_to_host_async = doors.over_many(module.batched_copy_to_host_async)
    # A callback outside compiled code fetches its arguments for the host, before it is called.
    replace_callbacks(lambda original: functools.wraps(original)(doors.over_call(original)))


class _Doors:
    def __init__(self, marks: Marks, guard: Guard, trusted: Callable[[], bool]) -> None:
        self.marks, self.guard, self.trusted, self.state = marks, guard, trusted, _State()

    def over(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A door for one array."""

        @unseen
        def fetch(array: Any) -> Any:
            return self.judge(functools.partial(original, array), (array,))

        return fetch

    def over_many(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The door for several arrays at once."""

        @unseen
        def copy(arrays: Sequence[Any]) -> Any:
            return self.judge(functools.partial(original, arrays), arrays)

        return copy

    def over_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The door of a callback: what it is given is fetched."""

        @unseen
        def call(*arguments: Any, **parameters: Any) -> Any:
            arrays = [argument for argument in arguments if self.guard.is_array(argument)]
            if not arrays:
                return original(*arguments, **parameters)
            return self.judge(functools.partial(original, *arguments, **parameters), arrays)

        return call

    @passed_over
    def judge(self, fetch: Callable[[], Any], arrays: Sequence[Any]) -> Any:
        """The fetch, tried under the guard first if a marked operation asks for it."""
        if self.state.inside:
            return fetch()
        entry = self.marks.active(DIRECTION)
        if entry is None:
            return fetch()
        self.state.inside = True
        try:
            return self.tried(entry, fetch, arrays) if self.trusted() else fetch()
        finally:
            self.state.inside = False

    @passed_over
    def tried(self, entry: Entry, fetch: Callable[[], Any], arrays: Sequence[Any]) -> Any:
        fresh = [array for array in arrays if self.guard.is_array(array) and array._npy_value is None]
        crossing = entry.seen.crossings.get(DIRECTION)
        if crossing is not None and crossing.transfers >= JUDGED_FIRST:
            # Refusing costs a hundred times a fetch. What the guard would say is known by now; the count goes on.
            if fresh and (entry.mark.explicit or not self.guard.asked_by_name()):
                crossing.transfers += 1
                crossing.bytes += sum(int(array.nbytes) for array in fresh)
            return fetch()
        try:
            with self.guard.refuse((DIRECTION,), entry.mark.explicit):
                result = fetch()
        except RuntimeError as error:
            refusal = self.guard.refusal(error)
            if refusal is None or refusal.direction != DIRECTION:
                raise
            release(error)
            size = sum(int(array.nbytes) for array in fresh)
            self.marks.transferred(entry.seen, "guard", refusal, size)
        else:
            if fresh:
                self.marks.passed_explicitly(entry.seen)
            else:
                entry.seen.known += 1
            return result
        # A level of the program's own may refuse it now as well: then that is what the program gets.
        return fetch()


def _watch_tracers(marks: Marks) -> None:
    from jax._src import core, errors

    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, Exception):
            _watch_making(kind, marks)
    for name, tracers_of in (
        ("escaped_tracer_error", lambda args: args[:1]),
        ("leaked_tracer_error", lambda args: args[2]),
    ):
        make = getattr(core, name, None)
        if make is None:
            continue

        def made(*arguments: Any, make: Any = make, tracers_of: Any = tracers_of, **more: Any) -> Any:
            marks.errors.leaked(tracers_of(arguments))
            return make(*arguments, **more)

        setattr(core, name, functools.wraps(make)(made))
    for name in ("__repr__", "__str__", "__format__"):
        original = getattr(core.Tracer, name)

        def formatted(tracer: Any, *rest: Any, original: Callable[..., Any] = original) -> Any:
            marks.errors.formatted(marks.thread.entries)
            return original(tracer, *rest)

        setattr(core.Tracer, name, formatted)


def _keep_places(util: Any) -> None:
    """jax shows a frame where it ended: for one whose statement holds marks that is what was added to it."""
    original = util.filter_traceback

    def filter_traceback(trace: TracebackType) -> TracebackType | None:
        filtered: TracebackType | None = original(trace)
        shown, raised = [], {}
        entry: TracebackType | None = trace
        while entry is not None:
            raised[entry.tb_frame] = entry.tb_lasti
            entry = entry.tb_next
        entry = filtered
        while entry is not None:
            shown.append(entry)
            entry = entry.tb_next
        made = None
        for entry in reversed(shown):
            frame, instruction = entry.tb_frame, entry.tb_lasti
            if not position(frame.f_code, instruction)[0]:
                instruction = raised.get(frame, instruction)
            made = TracebackType(made, frame, instruction, entry.tb_lineno)
        return made

    util.filter_traceback = filter_traceback


def _watch_making(kind: Any, marks: Marks) -> None:
    """Errors of one class tell the marks that they are made: some end operations in frames without a handler."""
    original = vars(kind).get("__init__")
    if original is None:
        return

    @unseen
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if type(self) is kind:
            marks.errors.made(marks.thread.entries, kind, str(self.args[0]) if self.args else "")

    kind.__init__ = functools.wraps(original)(__init__)

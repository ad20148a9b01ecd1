"""The doors through which host code reads a device array, watched: at a marked operation the guard is asked to refuse.

Laid over the doors of whatever backend serves. A fetch at a marked operation is first tried under the guard's
`disallow`; the refusal is noted and the fetch is done as the program's own level says. Everything else passes as it is.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .guard import Guard
from .marks import JUDGED_FIRST, Entry, Marks

DIRECTION = "device_to_host"
FETCHES = ("_single_device_array_to_np_array_did_copy", "_to_np_array_did_copy", "_single_device_array_to_np_array")


class _State(threading.local):
    inside = False


def open_doors(marks: Marks, guard: Guard, trusted: Callable[[], bool]) -> Callable[[], None]:
    """Lays the watch over the doors. `trusted` is asked before the first judgement: false if the guard of this process
    does not refuse what it must. What is given back lays it anew over doors that a backend has replaced since."""
    from jax._src import traceback_util

    traceback_util.register_exclusion(__file__)
    doors = _Doors(marks, guard, trusted)
    _lay_over(doors)
    _watch_tracers(marks)
    return lambda: _lay_over(doors)


def _lay_over(doors: "_Doors") -> None:
    from jax._src import lib

    array: Any = doors.guard.array
    value = vars(array)["_value"]
    array._value = property(doors.over(value.fget))
    for name in (*FETCHES, "copy_to_host_async"):
        if hasattr(array, name):
            setattr(array, name, doors.over(getattr(array, name)))
    modules = [getattr(lib, name) for name in ("_jax", "xla_extension", "xla_client") if hasattr(lib, name)]
    for module in modules:
        if hasattr(module, "batched_copy_to_host_async"):
            module.batched_copy_to_host_async = doors.over_many(module.batched_copy_to_host_async)
    _watch_callbacks(doors)


class _Doors:
    def __init__(self, marks: Marks, guard: Guard, trusted: Callable[[], bool]) -> None:
        self.marks, self.guard, self.trusted, self.state = marks, guard, trusted, _State()

    def over(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """A door for one array."""

        def fetch(array: Any) -> Any:
            return self.judge(lambda: original(array), (array,))

        return fetch

    def over_many(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The door for several arrays at once."""

        def copy(arrays: Sequence[Any]) -> Any:
            return self.judge(lambda: original(arrays), arrays)

        return copy

    def over_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The door of a callback: what it is given is fetched."""

        def call(*arguments: Any, **parameters: Any) -> Any:
            arrays = [argument for argument in arguments if self.guard.is_array(argument)]
            if not arrays:
                return original(*arguments, **parameters)
            return self.judge(lambda: original(*arguments, **parameters), arrays)

        return call

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
            size = sum(int(array.nbytes) for array in fresh)
            self.marks.transferred(entry.seen, "guard", refusal, size)
            # A level of the program's own may refuse it now as well: then that is what the program gets.
            return fetch()
        if fresh:
            self.marks.passed_explicitly(entry.seen)
        else:
            entry.seen.known += 1
        return result


def _watch_callbacks(doors: _Doors) -> None:
    """A callback outside compiled code fetches its arguments for the host, before it is called."""
    from jax._src import callback, debugging

    for module, name in (
        (callback, "pure_callback_impl"),
        (callback, "io_callback_impl"),
        (debugging, "debug_callback_impl"),
    ):
        original = getattr(module, name, None)
        if original is None:
            continue
        watched = functools.wraps(original)(doors.over_call(original))
        setattr(module, name, watched)
        for primitive in vars(module).values():
            if getattr(primitive, "impl", None) is original:
                primitive.impl = watched


def _watch_tracers(marks: Marks) -> None:
    from jax._src import core

    for name, tracers_of in (
        ("escaped_tracer_error", lambda args: args[:1]),
        ("leaked_tracer_error", lambda args: args[2]),
    ):
        make = getattr(core, name, None)
        if make is None:
            continue

        def made(*arguments: Any, make: Any = make, tracers_of: Any = tracers_of, **more: Any) -> Any:
            marks.leaked(tracers_of(arguments))
            return make(*arguments, **more)

        setattr(core, name, functools.wraps(make)(made))
    for name in ("__repr__", "__str__", "__format__"):
        original = getattr(core.Tracer, name)

        def formatted(tracer: Any, *rest: Any, original: Callable[..., Any] = original) -> Any:
            marks.formatted_tracer()
            return original(tracer, *rest)

        setattr(core.Tracer, name, formatted)

"""Threads, pools and tasks: functions that run elsewhere, where this thread's guards do not reach."""

from jaxlint.interp import guards
from jaxlint.interp.containers import receiver_objects
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Call
from jaxlint.interp.joining import join_all
from jaxlint.interp.standard import looped, nth_element
from jaxlint.interp.values import NONE, UNKNOWN, LibraryObject, Stream, Tuple, Value, of


@handler("thread")
def _thread(call: Call) -> Value:
    target, args = call.argument(1, "target"), call.argument(3, "args")
    return of(
        LibraryObject("threading.Thread", (target or UNKNOWN, args or of(Tuple(()))), call.frame.place(call.node))
    )


@handler("timer")
def _timer(call: Call) -> Value:
    """threading.Timer(interval, function, args): a thread."""
    args = call.argument(2, "args") or of(Tuple(()))
    return of(LibraryObject("threading.Thread", (call.given(1, "function"), args), call.frame.place(call.node)))


@handler("thread_start")
def _thread_start(call: Call) -> Value:
    guards.thread_started(call.frame, call.node)
    for obj in receiver_objects(call):
        if isinstance(obj, LibraryObject) and len(obj.parts) == 2:
            items = call.engine.unpack_star(obj.parts[1])
            arguments = [Argument(v) for v in items] if items is not None else [Argument(obj.parts[1], star="*")]
            _unguarded(call, obj.parts[0], arguments)
    return NONE


@handler("submit")
def _submit(call: Call) -> Value:
    guards.thread_started(call.frame, call.node)
    result = _unguarded(call, call.argument(0) or UNKNOWN, list(call.arguments[1:]))
    return of(LibraryObject("concurrent.futures.Future", (result,)))


@handler("produced")
def _produced(call: Call) -> Value:
    """What a function gives that is called without arguments, in a thread of its own."""
    return _unguarded(call, call.given(0), [])


@handler("pool_map")
def _pool_map(call: Call) -> Value:
    guards.thread_started(call.frame, call.node)
    parts = [Argument(nth_element(call, n)) for n in range(1, len(call.positional))]
    with call.frame.at_pace(looped(call)):
        return of(Stream(_unguarded(call, call.argument(0) or UNKNOWN, parts)))


@handler("future_result")
def _future_result(call: Call) -> Value:
    return join_all(o.parts[0] for o in receiver_objects(call) if isinstance(o, LibraryObject) and o.parts)


def _unguarded(call: Call, function: Value, arguments: list[Argument]) -> Value:
    """Call in another thread, where this thread's guards do not reach."""
    held, call.frame.guards = call.frame.guards, ()
    try:
        return call.engine.call(call.frame, call.node, function, arguments)
    finally:
        call.frame.guards = held


@handler("run_coroutine")
def _run_coroutine(call: Call) -> Value:
    return call.argument(0) or UNKNOWN


@handler("gather")
def _gather(call: Call) -> Value:
    return of(Tuple(tuple(a.value for a in call.positional if not a.star)))

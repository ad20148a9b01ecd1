"""Generators: what they yield, are sent and return, and what is suspended under a guard."""

import ast

from jaxlint.interp import effects
from jaxlint.interp.copies import forget_refinements
from jaxlint.interp.engine import expression, handler
from jaxlint.interp.frames import Call, Frame
from jaxlint.interp.heap import element_of
from jaxlint.interp.joining import join, join_all
from jaxlint.interp.states import Activation
from jaxlint.interp.values import NONE, UNKNOWN, LibraryObject, Place, Stream, Value
from jaxlint.sites import Operation


@expression(ast.Await)
def _await(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Await)
    value = frame.engine.evaluate(frame, node.value)
    note_suspension(frame, node)
    forget_refinements(frame)  # other tasks run meanwhile
    return value


@expression(ast.YieldFrom)
def _yield_from(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.YieldFrom)
    iterable = frame.engine.evaluate(frame, node.value)
    value = element_of(frame.engine.heap, iterable)
    frame.activation.yielded = join(frame.activation.yielded, value)
    note_suspension(frame, node)
    return _returned(frame, iterable)


@expression(ast.Yield)
def _yield(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Yield)
    value = NONE if node.value is None else frame.engine.evaluate(frame, node.value)
    frame.activation.yielded = join(frame.activation.yielded, value)
    note_suspension(frame, node)
    sent = frame.engine.heap.field(_mailbox(frame.activation), "sent")
    return UNKNOWN if sent is None else sent


def _mailbox(activation: Activation) -> LibraryObject:
    """What stands on the heap for what a generator is sent."""
    return LibraryObject("generator", (), Place(activation.module.path, activation.number))


def _running(frame: Frame, value: Value) -> list[Activation]:
    """The generators of the project that a value may be."""
    numbers = [o.generator for o in value.objects if isinstance(o, Stream) and o.generator is not None]
    return [frame.engine.by_number[n] for n in numbers]


def _returned(frame: Frame, iterable: Value) -> Value:
    """The value of ``yield from``: what the generator returns."""
    found = _running(frame, iterable)
    return join_all(a.result for a in found) if found else UNKNOWN


@handler("stream_send")
def _stream_send(call: Call) -> Value:
    """generator.send: what a yield in it gives; the value is what the generator yields next."""
    receiver = call.receiver or UNKNOWN
    for activation in _running(call.frame, receiver):
        call.engine.heap.write(_mailbox(activation), "sent", call.given(0))
    return element_of(call.engine.heap, receiver)


def note_suspension(frame: Frame, node: ast.AST) -> None:
    """A yield or await under a guard of this very frame leaves the guard on for others."""
    own = [g for g in frame.guards if g.place.path == frame.module.path and frame.place(node).path == g.place.path]
    if own and frame.info is not None and len(frame.guards) > frame.inherited_guards:
        if frame.info.place in frame.engine.managers:
            frame.engine.managers[frame.info.place] = frame.guards[frame.inherited_guards :]
            return
        effects.record(frame, node, Operation.GUARD_YIELD, None)

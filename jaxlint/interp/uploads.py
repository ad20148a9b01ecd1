"""What a call uploads: host data given to compiled functions and to functions that run op by op."""

import ast
from collections.abc import Sequence

from jaxlint.interp import devices, effects, uses
from jaxlint.interp.frames import Argument, Call, Frame
from jaxlint.interp.heap import leaves
from jaxlint.interp.values import (
    PYTHON,
    Origin,
    Value,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Confidence, Operation


def any_tracer(frame: Frame, values: Sequence[Value]) -> bool:
    """True if any array among the values is a tracer for certain. Outside of every trace there are none to be used."""
    return frame.within_trace and any(
        v.kind.must_be(Kind.TRACER) for value in values for v in leaves(frame.engine.heap, value, 3)
    )


def upload_sites(call: Call, arguments: Sequence[Argument]) -> None:
    """Note host data given to a compiled function: arrays (a site of their own) and scalars."""
    frame = call.frame
    uses.uploaded(frame, call.node, [a.value for a in arguments])
    hosts: list[Argument] = []
    scalars: list[Argument] = []
    for a in arguments:
        found = [v for v in leaves(frame.engine.heap, a.value) if not (v.const and isinstance(v.const[0], str))]
        if any(v.kind & Kind.NUMPY and not v.kind & Kind.TRACER for v in found):
            hosts.append(a)
        elif any(v.known(Kind.PYTHON) for v in found):
            scalars.append(a)
    if hosts:
        operands = [(Value(Kind.NUMPY, origin=_host_origin(frame, a.value)), a.node) for a in hosts]
        sure = max(_sureness(frame, a.value) for a in hosts)
        constant_ = all(devices.invariant(frame, a.node) for a in hosts)
        operation = Operation.CONSTANT_CALL if constant_ else Operation.COMPILED_CALL
        whole = all(a.value.kind.must_be(Kind.NUMPY) for a in hosts)
        effects.record(frame, call.node, operation, callee_text(call), operands, confidence=sure, whole=whole)
    elif scalars:
        operands = [(PYTHON, a.node) for a in scalars]
        effects.record(frame, call.node, Operation.SCALAR_OPERAND, callee_text(call), operands)


def _sureness(frame: Frame, value: Value) -> Confidence:
    """What may as well be on the device already is worth a word to those who ask for guesses."""
    if effects.is_elsewhere(frame, value):
        return Confidence.LOW
    found = [v for v in leaves(frame.engine.heap, value) if v.kind & Kind.NUMPY]
    return max(Confidence.LOW if v.kind & ARRAY else effects.sureness(v, Kind.NUMPY) for v in found)


def callee_text(call: Call) -> str:
    """What the source calls, as a message names it."""
    node = call.node.func if isinstance(call.node, ast.Call) else call.node
    return call.frame.module.text_of(node, 40)


def _host_origin(frame: Frame, value: Value) -> Origin | None:
    return next((v.origin for v in leaves(frame.engine.heap, value) if v.kind & Kind.NUMPY and v.origin), value.origin)


def upload_sites_eager(call: Call) -> None:
    """Note host arrays given to a function that runs op by op on the device."""
    eager_uploads(call, list(call.arguments))


def eager_uploads(call: Call, arguments: Sequence[Argument]) -> None:
    """The same of some of its arguments; nothing where tracers take part."""
    frame = call.frame
    if frame.staged or (not frame.concrete and any_tracer(frame, [a.value for a in call.arguments])):
        return
    uses.uploaded(frame, call.node, [a.value for a in arguments])
    hosts = [a for a in arguments if effects.host_data(frame, a.value) & Kind.NUMPY]
    if hosts:
        found = [v for a in hosts for v in leaves(frame.engine.heap, a.value)]
        operands = [(Value(Kind.NUMPY, origin=a.value.origin), a.node) for a in hosts]
        effects.upload(frame, call.node, Operation.EAGER_CALL, call.name, operands, found, [a.value for a in hosts])

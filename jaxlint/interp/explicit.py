"""Explicit transfers, and callbacks through which compiled code calls the host."""

import ast

from jaxlint.interp import devices, effects, uses
from jaxlint.interp.calls import identify
from jaxlint.interp.displays import renewed
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Call, Frame, Mode
from jaxlint.interp.heap import leaves, moved
from jaxlint.interp.heat import Pace
from jaxlint.interp.library import fresh, fresh_array
from jaxlint.interp.traces import outer_kind, with_origin
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    UNKNOWN,
    Value,
    of,
    replace,
)
from jaxlint.kinds import Kind
from jaxlint.sites import Operation


@handler("device_get")
def _device_get(call: Call) -> Value:
    value = call.given(0, "x")
    held = leaves(call.engine.heap, value)
    if held and all(v.kind.must_be(Kind.TRACER) for v in held):
        return value  # JAX gives tracers back as they are
    found = [v for v in held if v.kind & Kind.DEVICE]
    if found and not call.frame.staged:
        effects.record(call.frame, call.node, Operation.EXPLICIT_FETCH, "jax.device_get", ((found[0], call.node),))
    for leaf in found:
        effects.mark_fetched(call.frame, leaf, call.node)
    if value.unknown and not value.kind and not value.objects:
        return Value(Kind.NUMPY, origin=call.frame.origin(call.node, "jax.device_get returns host values"))
    out = moved(renewed(call.frame, call.node, value), Kind.NUMPY)
    return replace(out, unknown=False) if out.kind else out


@handler("device_put")
def _device_put(call: Call) -> Value:
    """device_put: an explicit upload or move."""
    frame = call.frame
    value = call.argument(0, "x") or UNKNOWN
    where = devices.placement_of(call.argument(1, "device", "sharding") or NONE)
    uses.uploaded(frame, call.node, [value])
    if not frame.staged:
        found = leaves(frame.engine.heap, value)
        host = [v for v in found if v.kind & Kind.NUMPY]
        arrays = [v for v in found if v.kind.must_be(Kind.DEVICE)]
        if host:
            effects.record(frame, call.node, Operation.EXPLICIT_UPLOAD, "jax.device_put", ((host[0], call.node),))
        node = call.arguments[0].node if call.arguments else None
        elsewhere = where not in {"", devices.DEFAULT, "device:0"} and all(
            v.placement == devices.DEFAULT for v in arrays
        )
        looped = frame.pace in {Pace.LOOPED, Pace.LOOPED_GATED, Pace.ITEMS}
        target = call.find(1, "device", "sharding")
        stays = target is None or not devices.changes(frame, target.node)
        if arrays and elsewhere and looped and stays and devices.invariant(frame, node):
            # An unchanging array that goes to another device again at every turn.
            effects.record(frame, call.node, Operation.REDUNDANT_PUT, "jax.device_put", ((arrays[0], call.node),))
    kind = Kind.TRACER if frame.staged or value.kind.must_be(Kind.TRACER) else Kind.DEVICE
    out = devices.placed(upload_result(frame, call.node, value, kind), where)
    return devices.on_some_device(out) if where == devices.CPU and not frame.staged else out


def upload_result(frame: Frame, node: ast.AST, value: Value, kind: Kind) -> Value:
    """A tree whose leaves are all on the device now."""
    if value.unknown and not value.objects:
        return fresh_array(frame, node, kind, "device_put returns device arrays")
    out = moved(value, kind, everything=True)
    return identify(frame, node, with_origin(out, frame.origin(node, "device_put returns device arrays")))


_CALLBACK_OPTIONS = {"ordered", "partitioned", "result_shape_dtypes", "sharding", "vectorized", "vmap_method"}


@handler("host_callback")
def _host_callback(call: Call) -> Value:
    """JAX calls the function on the host, with NumPy arrays. Outside of compiled code debug.callback fetches them."""
    debugging = call.name.endswith("debug.callback")
    given = [a for a in call.arguments[1 if debugging else 2 :] if a.keyword not in _CALLBACK_OPTIONS]
    if debugging and not call.frame.staged:
        operands = [(v, a.node) for a in given for v in leaves(call.engine.heap, a.value)]
        certain = [(v, at) for v, at in operands if v.kind.must_be(Kind.DEVICE)]
        effects.reading(call.frame, call.node, Operation.HOST_CALLBACK, call.name, certain)
    host = [replace(a, value=moved(a.value, Kind.NUMPY, everything=True)) for a in given]
    on_cpu, call.frame.on_cpu = call.frame.on_cpu, True  # which JAX makes the default device meanwhile
    _on_host(call, call.given(0, "callback"), host)
    call.frame.on_cpu = on_cpu
    return NONE if debugging else fresh(call, outer_kind(call), "a callback's results are device arrays")


@handler("host_solver")
def _host_solver(call: Call) -> Value:
    """A solver on the host reads its arguments and calls the function with NumPy arrays again and again."""
    operands = [(a.value, a.node) for a in call.arguments[1:]]
    effects.reading(call.frame, call.node, Operation.LIBRARY, call.name, operands, deep=True)
    for function in (call.given(0, "fun", "func"), call.argument(1_000, "jac"), call.argument(1_000, "hess")):
        if function is not None:
            _on_host(call, function, [Argument(Value(Kind.NUMPY))])
    return Value(Kind.NUMPY)


def _on_host(call: Call, function: Value, arguments: list[Argument]) -> None:
    frame = call.frame
    before, frame.mode = frame.mode, Mode.EAGER
    traced, frame.traced = frame.traced, False
    with frame.at_pace(Pace.LOOPED):
        for obj in function.objects:
            frame.engine.call(frame, call.node, of(obj), arguments)
    frame.mode, frame.traced = before, traced


@handler("debug_print")
def _debug_print(call: Call) -> Value:
    if not call.frame.staged:
        operands = [(a.value, a.node) for a in call.arguments]
        device = [o for o in operands if o[0].kind.must_be(Kind.DEVICE)]
        if device:
            effects.reading(call.frame, call.node, Operation.HOST_CALLBACK, call.name, device)
    return NONE


@handler("transformed_method")
def _transformed_method(call: Call) -> Value:
    receiver = call.receiver or UNKNOWN
    if call.name.endswith(("lower", "compile", "trace")):
        return receiver
    if call.name.endswith("clear_cache"):
        return NOTHING
    return UNKNOWN

"""JAX's control flow: scan, loops and branches, whose bodies are traced even in eager code."""

from collections.abc import Sequence

from jaxlint.interp import effects
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Call, Frame
from jaxlint.interp.heap import element_of, moved
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.library import fresh
from jaxlint.interp.traces import as_result, outer_kind, to_tracers, trace, transformed_of
from jaxlint.interp.transforms import make_transformed
from jaxlint.interp.uploads import any_tracer, eager_uploads
from jaxlint.interp.values import NOTHING, PYTHON, UNKNOWN, Tuple, Value, of, replace
from jaxlint.kinds import Kind
from jaxlint.sites import Operation


def _traced_output(call: Call, values: Sequence[Value]) -> Kind:
    return Kind.TRACER if call.frame.staged or any_tracer(call.frame, values) else Kind.DEVICE


def _body(call: Call, function: Value | None, values: Sequence[Value], pace: Pace = Pace.ONCE) -> Value:
    """What a traced body gives; with jit disabled Python runs it instead, at each turn of a loop, once for a branch."""
    if call.frame.jit_disabled and not any_tracer(call.frame, values):
        with call.frame.at_pace(pace):
            return call.engine.call(call.frame, call.node, function or UNKNOWN, [Argument(v) for v in values])
    arguments = [Argument(to_tracers(v)) for v in values]
    return trace(call.frame, call.node, function or UNKNOWN, arguments)


def _loop_result(call: Call, carry: Value, kind: Kind) -> Value:
    out = moved(replace(carry, const=()), kind, everything=True)
    if carry.unknown or carry.is_nothing:
        out = replace(out, kind=out.kind | kind, unknown=False)
    return out


@handler("scan")
def _scan(call: Call) -> Value:
    frame = call.frame
    init, xs = call.given(1, "init"), call.argument(2, "xs")
    row = UNKNOWN if xs is None else _row(frame, xs)
    carry = init
    result = NOTHING
    for _ in range(2):
        result = _body(call, call.argument(0, "f"), [carry, row], Pace.LOOPED)
        items = frame.engine.unpack_star(result)
        if items is None or len(items) != 2:
            break
        grown = join(carry, moved(items[0], Kind.DEVICE, everything=True))
        if grown == carry:
            break
        carry = grown
    eager_uploads(call, list(call.arguments[1:]))
    kind = _traced_output(call, [init, xs or NOTHING])
    items = frame.engine.unpack_star(result)
    message = "lax.scan returns device arrays"
    if items is None or len(items) != 2:
        ys = Value(kind)
        return as_result(frame, call.node, of(Tuple((_loop_result(call, init, kind), ys))), kind, message)
    return as_result(
        frame, call.node, of(Tuple((_loop_result(call, join(init, items[0]), kind), items[1]))), kind, message
    )


def _row(frame: Frame, xs: Value) -> Value:
    """One row of every leaf of a scanned tree."""
    if xs.none_only:
        return xs
    return xs if xs.objects and not xs.kind else replace(xs, const=())


@handler("while_loop")
def _while_loop(call: Call) -> Value:
    init = call.given(2, "init_val")
    _body(call, call.argument(0, "cond_fun"), [init], Pace.LOOPED)
    result = _body(call, call.argument(1, "body_fun"), [init], Pace.LOOPED)
    kind = _traced_output(call, [init])
    carry = join(init, result) if not result.unknown else init
    return as_result(
        call.frame, call.node, _loop_result(call, carry, kind), kind, "lax.while_loop returns device arrays"
    )


@handler("fori_loop")
def _fori_loop(call: Call) -> Value:
    init = call.given(3, "init_val")
    result = _body(call, call.argument(2, "body_fun"), [PYTHON, init], Pace.LOOPED)
    bounds = [(v, a.node) for n in (0, 1) if (a := call.find(n, "lower", "upper")) is not None and (v := a.value)]
    if not call.frame.staged:
        effects.reading(call.frame, call.node, Operation.CONCRETE, "jax.lax.fori_loop", bounds)
    kind = _traced_output(call, [init])
    carry = join(init, result) if not result.unknown else init
    return as_result(
        call.frame, call.node, _loop_result(call, carry, kind), kind, "lax.fori_loop returns device arrays"
    )


@handler("cond")
def _cond(call: Call) -> Value:
    operands = [a.value for a in call.arguments[3:] if a.keyword is None and not a.star]
    operands += [v for a in call.arguments if a.keyword in {"operand", "operands"} and (v := a.value)]
    result = join(
        _body(call, call.argument(1, "true_fun"), operands), _body(call, call.argument(2, "false_fun"), operands)
    )
    kind = _traced_output(call, [*operands, call.given(0, "pred")])
    return as_result(call.frame, call.node, result, kind, "lax.cond returns device arrays")


@handler("switch")
def _switch(call: Call) -> Value:
    operands = [a.value for a in call.arguments[2:] if a.keyword is None and not a.star]
    branches = element_of(call.engine.heap, call.given(1, "branches"))
    result = _body(call, branches, operands)
    kind = _traced_output(call, [*operands, call.given(0, "index")])
    return as_result(call.frame, call.node, result, kind, "lax.switch returns device arrays")


@handler("lax_map")
def _lax_map(call: Call) -> Value:
    xs = call.given(1, "xs", "elems")
    rows = [_row(call.frame, xs)]
    count = 2 if call.name.endswith("associative_scan") else 1
    result = _body(call, call.argument(0, "f", "fn"), rows * count, Pace.LOOPED)
    kind = _traced_output(call, [xs])
    eager_uploads(call, list(call.arguments[1:]))
    return as_result(call.frame, call.node, result, kind, "the results are device arrays")


@handler("pallas_call")
def _pallas_call(call: Call) -> Value:
    return make_transformed(call, "kernel")


@handler("call kernel")
def _call_kernel(call: Call) -> Value:
    obj = transformed_of(call)
    refs = [Argument(Value(Kind.TRACER, unknown=True)) for _ in range(1)]
    trace(call.frame, call.node, obj.function, [replace(refs[0], star="*")])
    return fresh(call, outer_kind(call), "a Pallas kernel returns device arrays")

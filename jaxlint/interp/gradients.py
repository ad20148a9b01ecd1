"""Differentiation: what a gradient traces, and what comes back of values, gradients and aux."""

from jaxlint.interp.calls import identify
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Call, Frame, Mode
from jaxlint.interp.heap import element_of, moved
from jaxlint.interp.joining import join_all
from jaxlint.interp.traces import is_static, outer_kind, to_tracers, trace, transformed_of, with_origin
from jaxlint.interp.transforms import UNDIFFERENTIATED, make_transformed, positions, with_option
from jaxlint.interp.uploads import eager_uploads
from jaxlint.interp.values import UNKNOWN, Function, Library, Stream, Transformed, Tuple, Value, of, replace
from jaxlint.kinds import Kind


@handler("grad")
def _grad(call: Call) -> Value:
    return make_transformed(call, "grad", "argnums", "has_aux")


@handler("value_and_grad")
def _value_and_grad(call: Call) -> Value:
    return make_transformed(call, "value_and_grad", "argnums", "has_aux")


@handler("filter_grad")
def _filter_grad(call: Call) -> Value:
    """equinox.filter_grad: arrays are differentiated, everything else in the first argument stays what it is."""
    return with_option(make_transformed(call, "grad", "argnums", "has_aux"), "filter")


@handler("filter_value_and_grad")
def _filter_value_and_grad(call: Call) -> Value:
    return with_option(make_transformed(call, "value_and_grad", "argnums", "has_aux"), "filter")


@handler("define_rules")
def _define_rules(call: Call) -> Value:
    """defjvp, defvjp: the rules run under the gradient, on values where that is taken eagerly."""
    frame = call.frame
    rules = [a.value for a in call.arguments if a.keyword not in {"symbolic_zeros", "optimize_remat"}]
    concrete, frame.concrete = frame.concrete, not (frame.staged or frame.traced)
    kept = _SOME
    fixed = _undifferentiated(call)
    for n, rule in enumerate(rules):
        for obj in rule.objects:
            info = call.engine.by_place.get(obj.place) if isinstance(obj, Function) else None
            if info is None:
                continue
            count = sum(p.kind == "positional" for p in info.parameters)
            arguments = [_SOME] * count
            if call.name.endswith("defjvp"):
                arguments[-2:] = [of(Stream(Value(Kind.TRACER)))] * min(count, 2)
            elif call.name.endswith("defvjp") and n == 1:
                arguments[-2:] = [kept, Value(Kind.TRACER)][2 - min(count, 2) :]
            # The first rule of `defvjp` is called as the function is; the others get what is fixed before all else.
            whole = call.name.endswith("defvjp") and n == 0
            for at in fixed if whole else range(min(len(fixed), max(count - 2, 0))):
                if at < count:
                    arguments[at] = UNKNOWN
            result = trace(frame, call.node, of(obj), [Argument(v) for v in arguments], Mode.EAGER)
            items = call.engine.unpack_star(result)
            kept = items[1] if items is not None and len(items) == 2 else _SOME
    frame.concrete = concrete
    return rules[0] if rules else UNKNOWN


_SOME = Value(Kind.TRACER, unknown=True)


def _undifferentiated(call: Call) -> tuple[int, ...]:
    """The positions of the arguments that the function that the rules belong to is not differentiated by."""
    out: set[int] = set()
    for obj in call.receiver.objects if call.receiver is not None else ():
        held = call.engine.heap.field(obj, UNDIFFERENTIATED)
        if held is not None and held.const and isinstance(held.const[0], tuple):
            out.update(held.const[0])
    return tuple(sorted(out))


def _differentiated(call: Call, obj: Transformed) -> tuple[Value, Value]:
    """The function's result under differentiation and the gradients: the structure of the chosen arguments."""
    frame = call.frame
    chosen = obj.option("argnums")
    wanted = positions(chosen) or frozenset((0,))
    arguments = []
    for n, a in enumerate(call.arguments):
        take = n in wanted and a.keyword is None and not is_static(a.value)
        arguments.append(replace(a, value=_as_tracers(obj, a.value)) if take else a)
    eager_uploads(call, [a for a, b in zip(call.arguments, arguments, strict=True) if a is not b])
    mode = frame.mode if frame.mode is not Mode.OPEN else Mode.EAGER
    concrete = frame.concrete
    frame.concrete = concrete or not (frame.staged or frame.traced)
    result = trace(frame, call.node, obj.function, arguments, mode)
    frame.concrete = concrete
    kind = outer_kind(call)
    grads = [
        moved(a.value, kind, everything=not obj.option("filter"))
        for n, a in enumerate(call.arguments)
        if n in wanted and a.keyword is None
    ]
    grads = [Value(kind) if g.is_nothing or (g.unknown and not g.kind) else g for g in grads]
    gradient = of(Tuple(tuple(grads))) if isinstance(chosen, tuple) and len(grads) > 1 else join_all(grads)
    gradient = gradient if not gradient.is_nothing else Value(kind)
    origin = frame.origin(call.node, "gradients are device arrays")
    return result, with_origin(gradient, origin)


def _as_tracers(obj: Transformed, value: Value) -> Value:
    return moved(value, Kind.TRACER) if obj.option("filter") and not value.unknown else to_tracers(value)


@handler("call grad")
def _call_grad(call: Call) -> Value:
    obj = transformed_of(call)
    result, gradient = _differentiated(call, obj)
    if obj.option("has_aux"):
        aux = _aux(call.frame, result)
        return identify(call.frame, call.node, of(Tuple((gradient, _outside(aux, outer_kind(call))))))
    return identify(call.frame, call.node, gradient)


@handler("call value_and_grad")
def _call_value_and_grad(call: Call) -> Value:
    obj = transformed_of(call)
    result, gradient = _differentiated(call, obj)
    kind = outer_kind(call)
    value = Value(kind, origin=call.frame.origin(call.node, "value_and_grad returns a device array"))
    if obj.option("has_aux"):
        value = of(Tuple((value, _outside(_aux(call.frame, result), kind))))
    return identify(call.frame, call.node, of(Tuple((value, gradient))))


def _aux(frame: Frame, result: Value) -> Value:
    items = frame.engine.unpack_star(result)
    if items is not None and len(items) == 2:
        return items[1]
    return (
        Value(Kind.TRACER, unknown=True)
        if result.unknown or result.is_nothing
        else element_of(frame.engine.heap, result)
    )


def _outside(value: Value, kind: Kind) -> Value:
    """A value that left a differentiation: tracers become arrays, host values stay."""
    if value.unknown and not value.objects:
        return Value(kind)
    return moved(value, kind)


@handler("jvp")
def _jvp(call: Call) -> Value:
    primals = call.given(1, "primals")
    items = call.engine.unpack_star(primals) or (element_of(call.engine.heap, primals),)
    if call.name.endswith(("vjp", "linearize")):
        items = tuple(a.value for a in call.arguments[1:] if a.keyword is None)
    result = trace(
        call.frame, call.node, call.given(0, "fun"), [Argument(to_tracers(v)) for v in items], call.frame.mode
    )
    kind = Kind.TRACER if call.frame.staged else Kind.DEVICE
    out = Value(kind) if result.unknown or result.is_nothing else moved(result, kind, everything=True)
    second: Value = out
    if call.name.endswith(("vjp", "linearize")):
        second = of(Library("callable device"))
    return identify(call.frame, call.node, of(Tuple((out, second))))

"""Traces: what a transformed function runs, with which arguments, and where its results live. A handler ``call NAME``
runs what the transform NAME made."""

import ast
from collections.abc import Sequence

from jaxlint.interp import devices, effects
from jaxlint.interp.calls import call_function, identify
from jaxlint.interp.copies import forget_refinements
from jaxlint.interp.definitions import is_static_annotation
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Arguments, Call, Frame, Mode
from jaxlint.interp.heap import moved
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.transforms import KEEPING, OPEN, functions_in, names, positions
from jaxlint.interp.uploads import any_tracer, callee_text, eager_uploads, upload_sites
from jaxlint.interp.values import (
    NOTHING,
    NULL,
    PYTHON,
    UNKNOWN,
    Function,
    Instance,
    Library,
    Method,
    Moved,
    Object,
    Origin,
    Partial,
    Property,
    Transformed,
    Tuple,
    Value,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation


def transformed_of(call: Call) -> Transformed:
    """What the handler of a ``call NAME`` was called for."""
    assert call.receiver is not None
    (obj,) = call.receiver.objects
    assert isinstance(obj, Transformed)
    return obj


def parameter_names(frame: Frame, function: Value, count: int) -> list[str | None]:
    """The names of a function's positional parameters, receivers skipped."""
    for obj in function.objects:
        skip = 0
        while isinstance(obj, Method | Partial | Transformed):
            if isinstance(obj, Method):
                skip += 1
                obj = obj.function
            else:
                skip += len(obj.arguments) if isinstance(obj, Partial) else 0
                inner = next(iter(obj.function.objects), None)
                if inner is None:
                    break
                obj = inner
        if isinstance(obj, Function):
            info = frame.engine.by_place.get(obj.place)
            if info is not None:
                found: list[str | None] = []
                found.extend([p.name for p in info.parameters if p.kind == "positional"][skip:])
                return found + [None] * (count - len(found))
    return [None] * count


def _annotated_static(frame: Frame, function: Value) -> frozenset[str]:
    """The parameters that are annotated as static."""
    return frozenset(
        p.name
        for obj in functions_in(function)
        if (info := frame.engine.by_place.get(obj.place)) is not None
        for p in info.parameters
        if p.annotation is not None and is_static_annotation(p.annotation)
    )


def is_static(value: Value) -> bool:
    """True of what is no array in any case: functions, classes, modules, strings."""
    if value.const and isinstance(value.const[0], str):
        return True
    return (
        bool(value.objects)
        and not value.kind
        and all(isinstance(o, Function | Method | Library | Partial | Transformed | Property) for o in value.objects)
    )


def trace(frame: Frame, node: ast.AST, function: Value, arguments: Arguments, mode: Mode = Mode.STAGED) -> Value:
    """Run a function's body under a trace with arguments that are tracers already. The result as the body sees it."""
    out = NOTHING
    among, frame.among = frame.among, frame.among or len(function.objects) > 1
    for obj in function.objects:
        out = join(out, _trace_object(frame, node, obj, list(arguments), mode))
    frame.among = among
    if function.unknown or function.kind:
        out = join(out, UNKNOWN)
    return out


def _trace_object(frame: Frame, node: ast.AST, obj: Object, arguments: list[Argument], mode: Mode) -> Value:
    match obj:
        case Function():
            return call_function(frame, node, obj, arguments, mode=mode, trace_start=not _tracing(frame))
        case Method(inner, receiver):
            return _trace_object(frame, node, inner, [Argument(receiver), *arguments], mode)
        case Partial(function, leading, keywords):
            given = {a.keyword for a in arguments}
            rest = [Argument(v, None, k) for k, v in keywords if k not in given]
            return trace(frame, node, function, [*(Argument(v) for v in leading), *arguments, *rest], mode)
        case Instance() | Moved():
            method = frame.engine.attribute(frame, node, of(obj), "__call__")
            return trace(frame, node, method, arguments, mode) if method.objects else UNKNOWN
        case _:
            before, frame.mode = frame.mode, mode
            traced, frame.traced = frame.traced, True
            try:
                return frame.engine.call(frame, node, of(obj), arguments)
            finally:
                frame.mode, frame.traced = before, traced


def _tracing(frame: Frame) -> bool:
    inner: Frame | None = frame
    while inner is not None:
        if inner.trace_start:
            return True
        inner = inner.caller
    return False


def to_tracers(value: Value) -> Value:
    """An argument as the traced body sees it: every array or number a tracer. Unknown ones are tracers or static."""
    if is_static(value) or value.none_only:
        return value
    if value.unknown and not value.kind and not value.objects:
        return Value(Kind.TRACER, unknown=True)
    out = moved(value, Kind.TRACER, everything=True)
    if value.unknown:
        out = replace(out, kind=out.kind | Kind.TRACER, unknown=True)
    return out


@handler("call jit")
def _call_jit(call: Call) -> Value:
    frame, node, obj = call.frame, call.node, transformed_of(call)
    if frame.jit_disabled:
        return frame.engine.call(frame, node, obj.function, call.arguments)
    static = positions(obj.option("static_argnums")) | positions(obj.option("static_broadcasted_argnums"))
    static_names = names(obj.option("static_argnames"))
    if obj.option("annotated"):
        static_names |= _annotated_static(frame, obj.function)
    params = parameter_names(frame, obj.function, len(call.arguments) + 8)
    count = sum(name is not None for name in params)
    static = frozenset(i if i >= 0 else i + count for i in static)
    static_names |= {name for i in static if 0 <= i < count and (name := params[i]) is not None}
    traced: list[Argument] = []
    dynamic: list[Argument] = []
    unused = frozenset[str]() if obj.option(KEEPING) else _unused(frame, obj.function)
    for n, a in enumerate(call.arguments):
        by_name = a.keyword if a.keyword is not None else params[n]
        if (
            (a.keyword is None and n in static)
            or (by_name is not None and by_name in static_names)
            or is_static(a.value)
            or (obj.option(OPEN) and a.value.known(Kind.PYTHON))
        ):
            traced.append(a)
        elif obj.option("filter"):
            traced.append(replace(a, value=moved(a.value, Kind.TRACER)))
            dynamic.append(a)
        elif by_name in unused:
            traced.append(replace(a, value=to_tracers(a.value)))
        else:
            # Of what is not known, a compiled function makes tracers or nothing, unless it is told to leave it alone.
            bare = a.value.unknown and not a.value.objects
            traced.append(replace(a, value=Value(Kind.TRACER, frozenset((NULL,))) if bare else to_tracers(a.value)))
            dynamic.append(a)
    outer = any_tracer(frame, [a.value for a in call.arguments])
    if not frame.staged and not outer:
        # A compiled function may be called from code that is traced itself; in a loop, or from the program, it is not.
        if frame.mode is Mode.EAGER or frame.loops or frame.pace not in {Pace.ONCE, Pace.SINGLE}:
            frame.activation.eager = True
        upload_sites(call, dynamic)
        devices.compiled_call(call, obj, dynamic)
    elif frame.concrete and not frame.staged:
        upload_sites(call, dynamic)  # an eager gradient runs the compiled code too, with what is not differentiated
    result = trace(frame, node, obj.function, traced)
    if not frame.staged and not outer:
        _captured(call, obj)
    forget_refinements(frame)
    kind = Kind.TRACER if frame.staged or outer else Kind.DEVICE
    return as_result(frame, node, result, kind, _what(call, obj), everything=not obj.option("filter"))


def _unused(frame: Frame, function: Value) -> frozenset[str]:
    """The parameters that the compiled function never asks for: what they are given stays where it is."""
    unused: list[frozenset[str]] = []
    for obj in functions_in(function):
        info = frame.engine.by_place.get(obj.place)
        if info is not None:
            unused.append(frozenset(p.name for p in info.parameters) - info.module.asked_for_in(info.node))
    return frozenset.intersection(*unused) if unused else frozenset()


def _captured(call: Call, obj: Transformed) -> None:
    """Note the device arrays that the compiled code closes over: fetched once, when it is compiled."""
    engine = call.engine
    places = {o.place for o in functions_in(obj.function)}
    todo = [
        number
        for number, _ in call.frame.activation.calls
        if (a := engine.by_number.get(number)) is not None
        and a.info is not None
        and a.info.place in places
        and a.traced
    ]
    seen: set[int] = set()
    found: list[Value] = []
    while todo:
        number = todo.pop()
        activation = engine.by_number.get(number)
        if number in seen or activation is None:
            continue
        seen.add(number)
        found.extend(activation.captured)
        todo.extend(callee for callee, _ in activation.calls)
    if found:
        operands = [(v, call.node.func if isinstance(call.node, ast.Call) else call.node) for v in found[:1]]
        effects.record(call.frame, call.node, Operation.CLOSURE, callee_text(call), operands)


def _what(call: Call, obj: Transformed) -> str:
    for inner in obj.function.objects:
        while isinstance(inner, Method):
            inner = inner.function
        if isinstance(inner, Function):
            info = call.engine.by_place.get(inner.place)
            if info is not None and info.name != "<lambda>":
                return f"{info.name} is compiled: its results are device arrays"
    return "a compiled function returns device arrays"


def as_result(
    frame: Frame, node: ast.AST, result: Value, kind: Kind, message: str, *, everything: bool = True
) -> Value:
    """What a traced body returned, as its caller gets it: all leaves arrays in `kind`, or (not `everything`) those that
    are arrays already."""
    origin = frame.origin(node, message)
    if result.is_nothing or (result.unknown and not result.objects and not result.kind):
        return identify(frame, node, Value(kind, origin=origin))
    out = moved(replace(result, const=()) if everything else result, kind, everything=everything)
    if result.unknown:
        out = replace(out, kind=out.kind | kind, unknown=False)
    return identify(frame, node, with_origin(out, origin))


def with_origin(value: Value, origin: Origin, depth: int = 3) -> Value:
    """The value, its arrays made by this step; items of tuples too."""
    objects = value.objects
    if depth and any(isinstance(o, Tuple) for o in objects):
        objects = frozenset(
            Tuple(tuple(with_origin(v, origin, depth - 1) for v in o.items)) if isinstance(o, Tuple) else o
            for o in objects
        )
    return replace(value, objects=objects, origin=origin if value.kind & ARRAY else value.origin)


@handler("call vmap")
def _call_vmap(call: Call) -> Value:
    frame, obj = call.frame, transformed_of(call)
    axes = obj.option("in_axes")
    arguments = []
    for n, a in enumerate(call.arguments):
        axis = axes[n] if isinstance(axes, tuple) and n < len(axes) else 0
        mapped = not (isinstance(axes, tuple) and n < len(axes) and _is_none_axis(call, n)) and axis is not False
        if obj.option("filter"):
            arguments.append(replace(a, value=moved(a.value, Kind.TRACER)) if mapped else a)
        else:
            arguments.append(replace(a, value=to_tracers(a.value)) if mapped and not is_static(a.value) else a)
    eager_uploads(call, [a for a, b in zip(call.arguments, arguments, strict=True) if a is not b])
    concrete, frame.concrete = frame.concrete, False
    result = trace(frame, call.node, obj.function, arguments, frame.mode if frame.mode is not Mode.OPEN else Mode.EAGER)
    frame.concrete = concrete
    message = "a vmapped function returns device arrays"
    return as_result(frame, call.node, result, outer_kind(call), message, everything=not obj.option("filter"))


def _is_none_axis(call: Call, n: int) -> bool:
    axes = transformed_of(call).option("in_axes")
    return isinstance(axes, tuple) and axes[n] is None


def outer_kind(call: Call) -> Kind:
    """Where the results of an eager call live: traced, if the code around is or an argument."""
    tracer = call.frame.staged or any_tracer(call.frame, [a.value for a in call.arguments])
    return Kind.TRACER if tracer else Kind.DEVICE


@handler("call abstract")
def _call_abstract(call: Call) -> Value:
    obj = transformed_of(call)
    result = trace(call.frame, call.node, obj.function, _abstract(call.arguments, every=not obj.option("filter")))
    return moved(result, Kind.PYTHON, everything=True)


def _abstract(arguments: Sequence[Argument], *, every: bool) -> list[Argument]:
    """Arguments of which only their shapes are asked: arrays are tracers, and `every` number too."""
    return [
        a
        if is_static(a.value)
        else replace(a, value=to_tracers(a.value) if every or a.value.unknown else moved(a.value, Kind.TRACER))
        for a in arguments
    ]


@handler("eval_shape")
def _eval_shape(call: Call) -> Value:
    function = call.argument(0, "fun")
    result = trace(call.frame, call.node, function or UNKNOWN, _abstract(call.arguments[1:], every=True))
    return moved(result, Kind.PYTHON, everything=True) if not result.unknown else PYTHON


@handler("filter_eval_shape")
def _filter_eval_shape(call: Call) -> Value:
    """equinox.filter_eval_shape: only arrays are abstract, everything else in the arguments stays what it is."""
    function = call.argument(0, "fun") or UNKNOWN
    result = trace(call.frame, call.node, function, _abstract(call.arguments[1:], every=False))
    return moved(result, Kind.PYTHON) if not result.unknown else PYTHON

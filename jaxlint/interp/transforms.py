"""JAX's transforms: what is traced, with which arguments, and where the results live."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import libcst as cst

from jaxlint.interp import devices, effects
from jaxlint.interp.calls import call_function, forget_refinements, identify
from jaxlint.interp.engine import Argument, Arguments, Call, Frame, Mode, handler
from jaxlint.interp.heap import ANY, base_of, element_of, field_names, leaves, moved, read
from jaxlint.interp.heat import Pace
from jaxlint.interp.library import fresh, fresh_array
from jaxlint.interp.values import (
    NOTHING,
    PYTHON,
    UNKNOWN,
    Function,
    Instance,
    Library,
    LibraryMethod,
    Mapping,
    Method,
    Moved,
    Object,
    Partial,
    Property,
    Stream,
    Transformed,
    Tuple,
    Value,
    constant,
    join,
    join_all,
    of,
)
from jaxlint.interp.values import Sequence as ListOf
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation

_POSITIONS = {"in_axes": 1, "argnums": 1, "has_aux": 2}


def _option(call: Call, name: str) -> object:
    """A setting that is a literal, or a tuple or list of literals."""
    found = call.find(_POSITIONS.get(name, 1_000), name)
    return None if found is None else literal(call.frame, found.value)


def literal(frame: Frame, value: Value) -> object:
    """The Python literal of a value, tuples and lists of literals included; None where it is not one."""
    if value.const:
        return value.const[0]
    for obj in value.objects:
        if isinstance(obj, Tuple):
            return tuple(literal(frame, v) for v in obj.items)
        if isinstance(obj, ListOf):
            heap = frame.engine.heap
            names = field_names(heap, obj)
            if ANY not in names:
                items = [read(heap, obj, n) for n in names]
                return tuple(literal(frame, v) for v in items if v is not None)
    return None


def _make(call: Call, transform: str, *names: str) -> Value:
    """The transformed function; where no function is given yet, the transform waits for it (a decorator factory)."""
    function = call.find(0, "fun", "f", "fn", "func", "model", "target")
    options = tuple((n, v) for n in names if n not in _GIVEN and (v := _option(call, n)) is not None)
    options += tuple((n, True) for n in names if n in _GIVEN and _is_given(call, n))
    if function is None:
        keywords = tuple((a.keyword, a.value) for a in call.arguments if a.keyword is not None)
        return of(Partial(of(Library(call.name)), (), keywords))
    value = function.value
    kept = frozenset(o for o in value.objects if not isinstance(o, Library) or o.name != "builtins.None")
    made = Transformed(transform, replace(value, objects=kept), options, call.frame.place(call.node))
    for inner in _functions(made.function):
        call.engine.transformed.setdefault(inner.place, made)
    return of(made)


_GIVEN = {"in_shardings", "out_shardings"}
"""Options of which only matters that they are given."""


def _is_given(call: Call, name: str) -> bool:
    value = call.argument(1_000, name)
    return value is not None and not value.none_only


_STATIC = ("static_argnums", "static_argnames", "in_shardings", "out_shardings", "static_broadcasted_argnums")


@handler("jit")
def _jit(call: Call) -> Value:
    return _make(call, "jit", *_STATIC)


@handler("shard_map")
def _shard_map(call: Call) -> Value:
    return _make(call, "jit", *_STATIC)


@handler("vmap")
def _vmap(call: Call) -> Value:
    return _make(call, "vmap", "in_axes")


@handler("grad")
def _grad(call: Call) -> Value:
    return _make(call, "grad", "argnums", "has_aux")


@handler("value_and_grad")
def _value_and_grad(call: Call) -> Value:
    return _make(call, "value_and_grad", "argnums", "has_aux")


@handler("wrap")
def _wrap(call: Call) -> Value:
    """A transform that changes nothing about where values live: the function itself."""
    function = call.argument(0, "fun", "f", "fn", "func")
    if function is None:
        keywords = tuple((a.keyword, a.value) for a in call.arguments if a.keyword is not None)
        return of(Partial(of(Library(call.name)), (), keywords))
    return function


@handler("stage")
def _stage(call: Call) -> Value:
    """checkpoint and its like: the function is traced when called, its results stay where tracing puts them."""
    return _make(call, "jit", *_STATIC)


@handler("abstract")
def _abstract(call: Call) -> Value:
    return _make(call, "abstract")


def positions(value: object) -> frozenset[int]:
    """static_argnums and the like as a set."""
    if isinstance(value, int):
        return frozenset((value,))
    return frozenset(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else frozenset()


def names(value: object) -> frozenset[str]:
    """static_argnames as a set; "a,b" and "a b" are split as JAX does not, but people write."""
    if isinstance(value, str):
        return frozenset((value,))
    return frozenset(v for v in value if isinstance(v, str)) if isinstance(value, tuple) else frozenset()


def _transformed(call: Call) -> Transformed:
    assert call.receiver is not None
    (obj,) = call.receiver.objects
    assert isinstance(obj, Transformed)
    return obj


def parameter_names(frame: Frame, function: Value, count: int) -> list[str | None]:
    """The names of a function's positional parameters, receivers skipped."""
    for obj in function.objects:
        skip = 0
        while isinstance(obj, Method | Partial):
            if isinstance(obj, Method):
                skip += 1
                obj = obj.function
            else:
                skip += len(obj.arguments)
                inner = next(iter(obj.function.objects), None)
                if inner is None:
                    break
                obj = inner
        if isinstance(obj, Function):
            info = frame.engine.by_place.get(obj.place)
            if info is not None:
                found: list[str | None] = [p.name for p in info.parameters if p.kind == "positional"][skip:]
                return found + [None] * (count - len(found))
    return [None] * count


def is_static(value: Value) -> bool:
    """True of what is no array in any case: functions, classes, modules, strings."""
    if value.const and isinstance(value.const[0], str):
        return True
    return (
        bool(value.objects)
        and not value.kind
        and all(isinstance(o, Function | Method | Library | Partial | Transformed | Property) for o in value.objects)
    )


def trace(frame: Frame, node: cst.CSTNode, function: Value, arguments: Arguments, mode: Mode = Mode.STAGED) -> Value:
    """Run a function's body under a trace with arguments that are tracers already. The result as the body sees it."""
    out = NOTHING
    for obj in function.objects:
        out = join(out, _trace_object(frame, node, obj, list(arguments), mode))
    if function.unknown or function.kind:
        out = join(out, UNKNOWN)
    return out


def _trace_object(frame: Frame, node: cst.CSTNode, obj: Object, arguments: list[Argument], mode: Mode) -> Value:
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
            try:
                return frame.engine.call(frame, node, of(obj), arguments)
            finally:
                frame.mode = before


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
    frame, node, obj = call.frame, call.node, _transformed(call)
    if frame.jit_disabled:
        return frame.engine.call(frame, node, obj.function, call.arguments)
    static = positions(obj.option("static_argnums")) | positions(obj.option("static_broadcasted_argnums"))
    static_names = names(obj.option("static_argnames"))
    params = parameter_names(frame, obj.function, len(call.arguments) + 8)
    static_names |= {n for i in static if -len(params) <= i < len(params) and (n := params[i]) is not None}
    traced: list[Argument] = []
    dynamic: list[Argument] = []
    for n, a in enumerate(call.arguments):
        by_name = a.keyword if a.keyword is not None else params[n]
        if (
            (a.keyword is None and n in static)
            or (by_name is not None and by_name in static_names)
            or is_static(a.value)
        ):
            traced.append(a)
        else:
            traced.append(replace(a, value=to_tracers(a.value)))
            dynamic.append(a)
    outer = any_tracer(frame, [a.value for a in call.arguments])
    if not frame.staged and not outer:
        frame.activation.eager = True
        upload_sites(call, dynamic)
        _device_moves(call, obj, dynamic)
    before = set(frame.activation.calls)
    result = trace(frame, node, obj.function, traced)
    if not frame.staged and not outer:
        _captured(call, obj, before)
    forget_refinements(frame)
    kind = Kind.TRACER if frame.staged or outer else Kind.DEVICE
    return as_result(frame, node, result, kind, _what(call, obj))


def _captured(call: Call, obj: Transformed, before: set[tuple[int, Pace]]) -> None:
    """Note the device arrays that the compiled code closes over: fetched once, when it is compiled."""
    engine = call.engine
    places = {o.place for o in _functions(obj.function)}
    todo = [
        number
        for number, _ in call.frame.activation.calls
        if (a := engine.by_number.get(number)) is not None
        and a.info is not None
        and a.info.place in places
        and a.traced
    ]
    del before
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
        operands = [(v, call.node.func if isinstance(call.node, cst.Call) else call.node) for v in found[:1]]
        effects.record(call.frame, call.node, Operation.CLOSURE, _callee_text(call), operands)


def _functions(value: Value) -> list[Function]:
    out: list[Function] = []
    for obj in value.objects:
        while isinstance(obj, Method):
            obj = obj.function
        if isinstance(obj, Function):
            out.append(obj)
        elif isinstance(obj, Partial | Transformed):
            out.extend(_functions(obj.function))
    return out


def _what(call: Call, obj: Transformed) -> str:
    for inner in obj.function.objects:
        while isinstance(inner, Method):
            inner = inner.function
        if isinstance(inner, Function):
            info = call.engine.by_place.get(inner.place)
            if info is not None and info.name != "<lambda>":
                return f"{info.name} is compiled: its results are device arrays"
    return "a compiled function returns device arrays"


def any_tracer(frame: Frame, values: Sequence[Value]) -> bool:
    """True if any array among the values is a tracer for certain."""
    return any(v.kind.must_be(Kind.TRACER) for value in values for v in leaves(frame.engine.heap, value, 3))


def as_result(frame: Frame, node: cst.CSTNode, result: Value, kind: Kind, message: str) -> Value:
    """What a traced body returned, as its caller gets it: all leaves arrays in `kind`."""
    origin = frame.origin(node, message)
    if result.is_nothing or (result.unknown and not result.objects and not result.kind):
        return identify(frame, node, Value(kind, origin=origin))
    out = moved(replace(result, const=()), kind, everything=True)
    if result.unknown:
        out = replace(out, kind=out.kind | kind, unknown=False)
    return identify(frame, node, _with_origin(out, origin))


def _with_origin(value: Value, origin: object, depth: int = 3) -> Value:
    from jaxlint.interp.values import Origin

    assert isinstance(origin, Origin)
    objects = value.objects
    if depth and any(isinstance(o, Tuple) for o in objects):
        objects = frozenset(
            Tuple(tuple(_with_origin(v, origin, depth - 1) for v in o.items)) if isinstance(o, Tuple) else o
            for o in objects
        )
    return replace(value, objects=objects, origin=origin if value.kind & ARRAY else value.origin)


def upload_sites(call: Call, arguments: Sequence[Argument]) -> None:
    """Note host data given to a compiled function: arrays (a site of their own) and scalars."""
    frame = call.frame
    hosts: list[Argument] = []
    scalars: list[Argument] = []
    for a in arguments:
        found = [v for v in leaves(frame.engine.heap, a.value) if not (v.const and isinstance(v.const[0], str))]
        if any(v.kind & Kind.NUMPY and not v.kind & ARRAY for v in found):
            hosts.append(a)
        elif any(v.known(Kind.PYTHON) for v in found):
            scalars.append(a)
    if hosts:
        operands = [(Value(Kind.NUMPY, origin=_host_origin(frame, a.value)), a.node) for a in hosts]
        found = [v for a in hosts for v in leaves(frame.engine.heap, a.value) if v.kind & Kind.NUMPY]
        sure = max(effects.sureness(v, Kind.NUMPY) for v in found)
        constant_ = all(devices.invariant(frame, a.node) for a in hosts)
        operation = Operation.CONSTANT_CALL if constant_ else Operation.COMPILED_CALL
        effects.record(frame, call.node, operation, _callee_text(call), operands, confidence=sure)
    elif scalars:
        operands = [(PYTHON, a.node) for a in scalars]
        effects.record(frame, call.node, Operation.SCALAR_OPERAND, _callee_text(call), operands)


def _callee_text(call: Call) -> str:
    node = call.node.func if isinstance(call.node, cst.Call) else call.node
    return call.frame.module.text_of(node, 40)


def _host_origin(frame: Frame, value: Value) -> "object":
    return next((v.origin for v in leaves(frame.engine.heap, value) if v.kind & Kind.NUMPY and v.origin), value.origin)


def _device_moves(call: Call, obj: Transformed, arguments: Sequence[Argument]) -> None:
    devices.compiled_call(call, obj, arguments)


@handler("call vmap")
def _call_vmap(call: Call) -> Value:
    frame, obj = call.frame, _transformed(call)
    axes = obj.option("in_axes")
    arguments = []
    for n, a in enumerate(call.arguments):
        axis = axes[n] if isinstance(axes, tuple) and n < len(axes) else 0
        mapped = not (isinstance(axes, tuple) and n < len(axes) and _is_none_axis(call, n)) and axis is not False
        arguments.append(replace(a, value=to_tracers(a.value)) if mapped and not is_static(a.value) else a)
    _eager_uploads(call, [a for a, b in zip(call.arguments, arguments, strict=True) if a is not b])
    result = trace(frame, call.node, obj.function, arguments, frame.mode if frame.mode is not Mode.OPEN else Mode.EAGER)
    return as_result(frame, call.node, result, _outer_kind(call), "a vmapped function returns device arrays")


def _is_none_axis(call: Call, n: int) -> bool:
    axes = _transformed(call).option("in_axes")
    return isinstance(axes, tuple) and axes[n] is None


def upload_sites_eager(call: Call) -> None:
    """Note host arrays given to a function that runs op by op on the device."""
    _eager_uploads(call, list(call.arguments))


def _eager_uploads(call: Call, arguments: Sequence[Argument]) -> None:
    frame = call.frame
    if frame.staged or any_tracer(frame, [a.value for a in call.arguments]):
        return
    hosts = [a for a in arguments if effects.host_data(frame, a.value) & Kind.NUMPY]
    if hosts:
        found = [v for a in hosts for v in leaves(frame.engine.heap, a.value)]
        operands = [(Value(Kind.NUMPY, origin=a.value.origin), a.node) for a in hosts]
        effects.upload(frame, call.node, Operation.EAGER_CALL, call.name, operands, found)


def _outer_kind(call: Call) -> Kind:
    tracer = call.frame.staged or any_tracer(call.frame, [a.value for a in call.arguments])
    return Kind.TRACER if tracer else Kind.DEVICE


def _differentiated(call: Call, obj: Transformed) -> tuple[Value, Value]:
    """The function's result under differentiation and the gradients: the structure of the chosen arguments."""
    frame = call.frame
    chosen = obj.option("argnums")
    wanted = positions(chosen) or frozenset((0,))
    arguments = []
    for n, a in enumerate(call.arguments):
        take = n in wanted and a.keyword is None and not is_static(a.value)
        arguments.append(replace(a, value=to_tracers(a.value)) if take else a)
    _eager_uploads(call, [a for a, b in zip(call.arguments, arguments, strict=True) if a is not b])
    mode = frame.mode if frame.mode is not Mode.OPEN else Mode.EAGER
    result = trace(frame, call.node, obj.function, arguments, mode)
    kind = _outer_kind(call)
    grads = [
        moved(a.value, kind, everything=True) for n, a in enumerate(call.arguments) if n in wanted and a.keyword is None
    ]
    grads = [Value(kind) if g.is_nothing or (g.unknown and not g.kind) else g for g in grads]
    gradient = of(Tuple(tuple(grads))) if isinstance(chosen, tuple) and len(grads) > 1 else join_all(grads)
    gradient = gradient if not gradient.is_nothing else Value(kind)
    origin = frame.origin(call.node, "gradients are device arrays")
    return result, _with_origin(gradient, origin)


@handler("call grad")
def _call_grad(call: Call) -> Value:
    obj = _transformed(call)
    result, gradient = _differentiated(call, obj)
    if obj.option("has_aux"):
        aux = _aux(call.frame, result)
        return identify(call.frame, call.node, of(Tuple((gradient, _outside(aux, _outer_kind(call))))))
    return identify(call.frame, call.node, gradient)


@handler("call value_and_grad")
def _call_value_and_grad(call: Call) -> Value:
    obj = _transformed(call)
    result, gradient = _differentiated(call, obj)
    kind = _outer_kind(call)
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


@handler("call abstract")
def _call_abstract(call: Call) -> Value:
    obj = _transformed(call)
    arguments = [replace(a, value=to_tracers(a.value)) if not is_static(a.value) else a for a in call.arguments]
    result = trace(call.frame, call.node, obj.function, arguments)
    return moved(result, Kind.PYTHON, everything=True)


@handler("eval_shape")
def _eval_shape(call: Call) -> Value:
    function = call.argument(0, "fun")
    arguments = [replace(a, value=to_tracers(a.value)) for a in call.arguments[1:] if not is_static(a.value)]
    result = trace(call.frame, call.node, function or UNKNOWN, arguments)
    return moved(result, Kind.PYTHON, everything=True) if not result.unknown else PYTHON


# Control flow: the bodies are traced even in eager code.


def _traced_output(call: Call, values: Sequence[Value]) -> Kind:
    return Kind.TRACER if call.frame.staged or any_tracer(call.frame, values) else Kind.DEVICE


def _body(call: Call, function: Value | None, values: Sequence[Value]) -> Value:
    arguments = [Argument(to_tracers(v)) for v in values]
    return trace(call.frame, call.node, function or UNKNOWN, arguments)


def _loop_result(call: Call, carry: Value, kind: Kind) -> Value:
    out = moved(replace(carry, const=()), kind, everything=True)
    if carry.unknown or carry.is_nothing:
        out = replace(out, kind=out.kind | kind, unknown=False)
    return out


def _given(call: Call, n: int, *keywords: str) -> Value:
    return call.argument(n, *keywords) or UNKNOWN


@handler("scan")
def _scan(call: Call) -> Value:
    frame = call.frame
    init, xs = _given(call, 1, "init"), call.argument(2, "xs")
    row = UNKNOWN if xs is None else _row(frame, xs)
    carry = init
    result = NOTHING
    for _ in range(2):
        result = _body(call, call.argument(0, "f"), [carry, row])
        items = frame.engine.unpack_star(result)
        if items is None or len(items) != 2:
            break
        grown = join(carry, moved(items[0], Kind.DEVICE, everything=True))
        if grown == carry:
            break
        carry = grown
    _eager_uploads(call, [a for a in call.arguments[1:]])
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
    init = _given(call, 2, "init_val")
    _body(call, call.argument(0, "cond_fun"), [init])
    result = _body(call, call.argument(1, "body_fun"), [init])
    kind = _traced_output(call, [init])
    carry = join(init, result) if not result.unknown else init
    return as_result(
        call.frame, call.node, _loop_result(call, carry, kind), kind, "lax.while_loop returns device arrays"
    )


@handler("fori_loop")
def _fori_loop(call: Call) -> Value:
    init = _given(call, 3, "init_val")
    result = _body(call, call.argument(2, "body_fun"), [PYTHON, init])
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
    kind = _traced_output(call, [*operands, _given(call, 0, "pred")])
    return as_result(call.frame, call.node, result, kind, "lax.cond returns device arrays")


@handler("switch")
def _switch(call: Call) -> Value:
    operands = [a.value for a in call.arguments[2:] if a.keyword is None and not a.star]
    branches = element_of(call.engine.heap, _given(call, 1, "branches"))
    result = _body(call, branches, operands)
    kind = _traced_output(call, [*operands, _given(call, 0, "index")])
    return as_result(call.frame, call.node, result, kind, "lax.switch returns device arrays")


@handler("lax_map")
def _lax_map(call: Call) -> Value:
    xs = _given(call, 1, "xs", "elems")
    rows = [_row(call.frame, xs)]
    result = _body(call, call.argument(0, "f", "fn"), rows * (2 if call.name.endswith("associative_scan") else 1))
    kind = _traced_output(call, [xs])
    _eager_uploads(call, list(call.arguments[1:]))
    return as_result(call.frame, call.node, result, kind, "the results are device arrays")


@handler("pallas_call")
def _pallas_call(call: Call) -> Value:
    return _make(call, "kernel")


@handler("call kernel")
def _call_kernel(call: Call) -> Value:
    obj = _transformed(call)
    refs = [Argument(Value(Kind.TRACER, unknown=True)) for _ in range(1)]
    trace(call.frame, call.node, obj.function, [replace(refs[0], star="*")])
    return fresh(call, _outer_kind(call), "a Pallas kernel returns device arrays")


@handler("jvp")
def _jvp(call: Call) -> Value:
    primals = _given(call, 1, "primals")
    items = call.engine.unpack_star(primals) or (element_of(call.engine.heap, primals),)
    if call.name.endswith(("vjp", "linearize")):
        items = tuple(a.value for a in call.arguments[1:] if a.keyword is None)
    result = trace(
        call.frame, call.node, _given(call, 0, "fun"), [Argument(to_tracers(v)) for v in items], call.frame.mode
    )
    kind = Kind.TRACER if call.frame.staged else Kind.DEVICE
    out = Value(kind) if result.unknown or result.is_nothing else moved(result, kind, everything=True)
    second: Value = out
    if call.name.endswith(("vjp", "linearize")):
        second = of(Library("callable device"))
    return identify(call.frame, call.node, of(Tuple((out, second))))


# Trees.


@handler("tree_map")
def _tree_map(call: Call) -> Value:
    function, tree = _given(call, 0, "f"), _given(call, 1, "tree")
    rest = [a.value for a in call.arguments[2:] if a.keyword is None and not a.star]
    frame = call.frame
    pace = Pace.LOOPED if any(isinstance(o, Function | Method | Partial) for o in function.objects) else Pace.ONCE
    if call.name.endswith("with_path"):
        return _mapped(call, lambda v: _apply(call, function, [PYTHON, v], pace), tree)
    rests = [join_all(leaves(frame.engine.heap, r)) or NOTHING for r in rest]
    return _mapped(call, lambda v: _apply(call, function, [v, *rests], pace), tree)


def _apply(call: Call, function: Value, values: Sequence[Value], pace: Pace) -> Value:
    frame = call.frame
    if frame.staged:
        pace = Pace.ONCE
    with frame.at_pace(pace):
        return frame.engine.call(frame, call.node, function, [Argument(v, _tree_node(call)) for v in values])


def _tree_node(call: Call) -> cst.CSTNode | None:
    found = call.find(1, "tree")
    return None if found is None else found.node


def _mapped(call: Call, apply: Callable[[Value], Value], tree: Value, depth: int = 4) -> Value:
    """The tree with each leaf replaced by what `apply` gives."""
    heap = call.engine.heap
    out = NOTHING
    plain = Value(tree.kind, unknown=tree.unknown, const=tree.const, origin=tree.origin, tokens=tree.tokens)
    if plain.kind or (plain.unknown and not tree.objects):
        out = apply(plain)
    for obj in tree.objects:
        below = base_of(obj)
        if isinstance(below, Tuple) and depth:
            out = join(out, of(Tuple(tuple(_mapped(call, apply, v, depth - 1) for v in below.items))))
        elif isinstance(below, Stream) and depth:
            out = join(out, of(Stream(_mapped(call, apply, below.element, depth - 1))))
        elif isinstance(below, Mapping | ListOf | Instance) or isinstance(obj, Moved):
            out = join(out, _mapped_object(call, apply, obj))
        elif not isinstance(obj, Function | Library):
            out = join(out, of(obj))
    return out if heap is not None else out


def _mapped_object(call: Call, apply: Callable[[Value], Value], obj: Object) -> Value:
    heap = call.engine.heap
    found = [v for v in leaves(heap, of(obj)) if not (v.const and isinstance(v.const[0], str))]
    result = NOTHING
    for leaf in {(_leaf.kind, _leaf.unknown): _leaf for _leaf in found}.values():
        result = join(result, apply(leaf))
    if not found:
        result = apply(UNKNOWN)
    if result.kind and not result.objects:
        single = next((k for k in (Kind.TRACER, Kind.DEVICE, Kind.NUMPY, Kind.PYTHON) if k in result.kind), Kind(0))
        return of(Moved(base_of(obj), result.kind if result.kind in (single,) else single))
    if result.unknown and not result.objects:
        return UNKNOWN
    below = base_of(obj)
    if isinstance(below, Mapping):
        made: Object = Mapping(call.frame.place(call.node), call.frame.scope.number)
    else:
        made = ListOf(call.frame.place(call.node), call.frame.scope.number)
    for name in field_names(heap, obj):
        heap.write(made, name, result)
    return of(made)


@handler("tree_leaves")
def _tree_leaves(call: Call) -> Value:
    tree = _given(call, 0, "tree")
    found = leaves(call.engine.heap, tree)
    element = join_all(replace(v, const=(), tokens=frozenset()) for v in found)
    if tree.unknown and not tree.kind:
        element = join(element, UNKNOWN)
    if call.name.endswith("with_path"):
        element = of(Tuple((PYTHON, element)))
    if call.name.endswith(("flatten", "flatten_with_path")):
        return of(Tuple((of(Stream(element)), PYTHON)))
    return of(Stream(element))


@handler("tree_reduce")
def _tree_reduce(call: Call) -> Value:
    element = join_all(leaves(call.engine.heap, _given(call, 1, "tree"))) or UNKNOWN
    start = call.argument(2, "initializer")
    result = _apply(call, _given(call, 0, "function"), [start or element, element], Pace.LOOPED)
    return join(result, start) if start is not None else result


@handler("tree_unflatten")
def _tree_unflatten(call: Call) -> Value:
    element = join_all(leaves(call.engine.heap, _given(call, 1, "leaves")))
    return Value(element.kind, unknown=element.unknown or element.is_nothing, origin=element.origin)


@handler("tree_transpose")
def _tree_transpose(call: Call) -> Value:
    element = join_all(leaves(call.engine.heap, _given(call, 2, "pytree_to_transpose")))
    return Value(element.kind, unknown=element.unknown or element.is_nothing, origin=element.origin)


# Explicit transfers and callbacks.


@handler("device_get")
def _device_get(call: Call) -> Value:
    value = _given(call, 0, "x")
    found = [v for v in leaves(call.engine.heap, value) if v.kind & Kind.DEVICE]
    if found and not call.frame.staged:
        effects.record(call.frame, call.node, Operation.EXPLICIT_FETCH, "jax.device_get", ((found[0], call.node),))
    for leaf in found:
        effects.mark_fetched(call.frame, leaf)
    if value.unknown and not value.kind and not value.objects:
        return Value(Kind.NUMPY, origin=call.frame.origin(call.node, "jax.device_get returns host values"))
    out = moved(value, Kind.NUMPY)
    return replace(out, unknown=False) if out.kind else out


@handler("device_put")
def _device_put(call: Call) -> Value:
    return devices.put(call)


def upload_result(frame: Frame, node: cst.CSTNode, value: Value, kind: Kind) -> Value:
    """A tree whose leaves are all on the device now."""
    if value.unknown and not value.objects:
        return fresh_array(frame, node, kind, "device_put returns device arrays")
    out = moved(value, kind, everything=True)
    return identify(frame, node, _with_origin(out, frame.origin(node, "device_put returns device arrays")))


@handler("host_callback")
def _host_callback(call: Call) -> Value:
    """A library or JAX calls the function given to it with NumPy arrays on the host."""
    function = _given(call, 0, "callback", "fun", "func")
    start = 2 if "pure_callback" in call.name or "io_callback" in call.name else 1
    values = [moved(a.value, Kind.NUMPY, everything=True) for a in call.arguments[start:] if a.keyword is None]
    if call.name.startswith("scipy."):
        values = [Value(Kind.NUMPY)]
        operands = [(a.value, a.node) for a in call.arguments[1:]]
        effects.reading(call.frame, call.node, Operation.LIBRARY, call.name, operands, deep=True)
    keywords = [
        Argument(moved(a.value, Kind.NUMPY, everything=True), None, a.keyword)
        for a in call.arguments
        if a.keyword and a.keyword not in {"ordered", "vectorized", "vmap_method", "result_shape_dtypes", "sharding"}
    ]
    frame = call.frame
    before, frame.mode = frame.mode, Mode.EAGER
    pace = Pace.LOOPED
    given = keywords if not call.name.startswith("scipy.") else []
    with frame.at_pace(pace):
        for obj in function.objects:
            frame.engine.call(frame, call.node, of(obj), [*(Argument(v) for v in values), *given])
    frame.mode = before
    if call.name.startswith("scipy."):
        return Value(Kind.NUMPY)
    if call.name.endswith("debug.callback"):
        from jaxlint.interp.values import NONE

        return NONE
    return fresh(call, _outer_kind(call), "a callback's results are device arrays")


@handler("debug_print")
def _debug_print(call: Call) -> Value:
    from jaxlint.interp.values import NONE

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
    if call.name.endswith(("defjvp", "defvjp", "defjvps", "clear_cache")):
        return NOTHING
    return UNKNOWN


_ = (constant, LibraryMethod)

"""Calls: arguments bound to parameters, functions run with abstract arguments, results remembered by context."""

from collections.abc import Sequence as Seq
from dataclasses import replace

import libcst as cst

from jaxlint.interp import effects
from jaxlint.interp.annotations import annotated
from jaxlint.interp.classes import instantiate
from jaxlint.interp.engine import (
    MAX_CONSTANT_CONTEXTS,
    MAX_CONTEXTS,
    MAX_DEPTH,
    MAX_TRACED_CONTEXTS,
    Activation,
    Argument,
    Arguments,
    Call,
    Engine,
    Frame,
    GaveUp,
    Mode,
    State,
)
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, values_of
from jaxlint.interp.heat import Pace
from jaxlint.interp.library import call_library, returned
from jaxlint.interp.program import FunctionInfo, Parameter
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    NULL,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Library,
    LibraryMethod,
    LibraryObject,
    Mapping,
    Method,
    Moved,
    Object,
    Origin,
    Partial,
    Property,
    Stream,
    Token,
    Transformed,
    Tuple,
    Value,
    join,
    of,
    widen,
)
from jaxlint.kinds import ARRAY, Kind


def call(frame: Frame, node: cst.CSTNode, callee: Value, arguments: Arguments) -> Value:
    """Call whatever `callee` may be; the join of all results."""
    out = NOTHING
    before = frame.state.fetched
    after: set[Token] | None = None
    for obj in callee.objects:
        if obj != NULL:
            # One of them is called, not all: each starts from what was fetched before the call.
            frame.state.fetched = set(before)
            out = join(out, call_object(frame, node, obj, arguments))
            after = frame.state.fetched if after is None else after & frame.state.fetched
    if after is not None:
        frame.state.fetched = after
    if callee.kind & ARRAY:
        # A branch of a tree of arrays that is called (state.apply_fn): an array function in all likelihood.
        kind = Kind.TRACER if callee.kind & Kind.TRACER else Kind.DEVICE
        out = join(out, Value(kind, unknown=True, origin=_guessed(callee.origin)))
    elif callee.kind & Kind.NUMPY:
        out = join(out, Value(Kind.NUMPY, unknown=True))
    if callee.unknown and not callee.kind:
        out = join(out, UNKNOWN)
    return out


def _guessed(origin: Origin | None) -> Origin | None:
    return None if origin is None else Origin(origin.place, origin.message, origin.before, True)


def call_object(frame: Frame, node: cst.CSTNode, obj: Object, arguments: Arguments) -> Value:
    """Call one object."""
    engine = frame.engine
    match obj:
        case Function():
            return call_function(frame, node, obj, arguments)
        case Method(function, receiver):
            return call_object(frame, node, function, [Argument(receiver), *arguments])
        case Class():
            return instantiate(frame, node, obj, arguments)
        case Library(name) if name.startswith("callable "):
            return returned(Call(frame, node, name, arguments), name.removeprefix("callable "))
        case Library(name):
            return call_library(frame, node, name, arguments)
        case LibraryMethod(name, receiver):
            return call_library(frame, node, name, arguments, receiver)
        case LibraryObject(name):
            return call_library(frame, node, f"{name}.__call__", arguments, of(obj))
        case Partial(function, leading, keywords):
            given = {a.keyword for a in arguments}
            bound = [
                *(Argument(v) for v in leading),
                *arguments,
                *(Argument(v, None, k) for k, v in keywords if k not in given),
            ]
            return engine.call(frame, node, function, bound)
        case Transformed(transform):
            apply = engine.handlers.get(f"call {transform}")
            if apply is None:
                return engine.call(frame, node, obj.function, arguments)
            return apply(Call(frame, node, transform, arguments, of(obj)))
        case Instance() | Moved():
            method = engine.attribute(frame, node, of(obj), "__call__")
            return engine.call(frame, node, method, arguments) if method.objects else UNKNOWN
        case Property(function, _):
            return engine.call(frame, node, function, arguments)
        case _:
            return UNKNOWN


def bind(frame: Frame, info: FunctionInfo, function: Function, arguments: Arguments) -> dict[str, Value]:
    """The values of a function's parameters for these arguments."""
    bound: dict[str, Value] = {}
    positional = [p for p in info.parameters if p.kind == "positional"]
    names = {p.name for p in info.parameters if p.kind in {"positional", "keyword"}}
    star = next((p for p in info.parameters if p.kind == "star"), None)
    double = next((p for p in info.parameters if p.kind == "double-star"), None)
    extra: list[Value] = []
    extra_known = True
    leftovers: dict[str, Value] = {}
    spread: Value | None = None
    open_keywords = False
    at = 0
    for a in arguments:
        if a.star == "*":
            element = element_of(frame.engine.heap, a.value)
            spread = element if spread is None else join(spread, element)
            extra_known = False
        elif a.star == "**":
            open_keywords = True
            leftovers[ANY] = join(leftovers.get(ANY, NOTHING), element_of_mapping(frame, a.value))
        elif a.keyword is not None:
            if a.keyword in names:
                bound[a.keyword] = a.value
            else:
                leftovers[a.keyword] = a.value
        elif spread is not None:
            spread = join(spread, a.value)
        elif at < len(positional):
            bound[positional[at].name] = a.value
            at += 1
        else:
            extra.append(a.value)
    for p in info.parameters:
        if p.kind in {"positional", "keyword"} and p.name not in bound:
            if spread is not None and p.kind == "positional":
                bound[p.name] = spread
            elif open_keywords:
                default = _default(frame, info, function, p)
                bound[p.name] = join(default, leftovers.get(ANY, UNKNOWN)) if p.default else UNKNOWN
            else:
                bound[p.name] = _default(frame, info, function, p)
    if star is not None:
        if extra_known:
            bound[star.name] = of(Tuple(tuple(extra)))
        else:
            element = spread if spread is not None else UNKNOWN
            for v in extra:
                element = join(element, v)
            bound[star.name] = of(Stream(element))
    if double is not None:
        mapping = Mapping(info.place, function.scope)
        for key, value in leftovers.items():
            frame.engine.heap.write(mapping, key, value)
        if ANY in leftovers:
            frame.engine.heap.write(mapping, KEYS, Value(Kind.PYTHON))
        bound[double.name] = of(mapping)
    return bound


def element_of_mapping(frame: Frame, value: Value) -> Value:
    """The join of the values of a mapping that is unpacked by ``**``."""
    out = NOTHING
    for obj in value.objects:
        out = join(out, values_of(frame.engine.heap, obj) if isinstance(base_of(obj), Mapping) else UNKNOWN)
    if value.kind or value.unknown:
        out = join(out, Value(value.kind, unknown=value.unknown, origin=value.origin))
    return out


def _default(frame: Frame, info: FunctionInfo, function: Function, parameter: Parameter) -> Value:
    if parameter.default is None:
        return UNKNOWN
    default = frame.engine.heap.field(function, f"default {parameter.name}")
    return UNKNOWN if default is None else default


def call_function(
    frame: Frame,
    node: cst.CSTNode,
    function: Function,
    arguments: Arguments,
    *,
    mode: Mode | None = None,
    trace_start: bool = False,
) -> Value:
    """Run a project function with abstract arguments, or recall what an equal run gave."""
    engine = frame.engine
    info = engine.by_place.get(function.place)
    if info is None or frame.depth >= MAX_DEPTH:
        return UNKNOWN
    bound = bind(frame, info, function, arguments)
    activation, result = run(frame, node, info, function, bound, mode or frame.mode, trace_start=trace_start)
    forget_refinements(frame)
    _carry_fetches(frame, activation, info, bound, arguments)
    if info.is_generator:
        result = of(Stream(activation.yielded))
    return identify(frame, node, result, activation.result_fetched)


def _carry_fetches(
    frame: Frame, activation: Activation, info: FunctionInfo, bound: dict[str, Value], arguments: Arguments
) -> None:
    """What the callee fetched of its parameters has a host copy here too."""
    for name in (str(t[1]) for t in activation.fetched_parameters if len(t) == 2):
        value = bound.get(name)
        if value is not None and value.tokens:
            if name in activation.cached_under_guard:
                for token in value.tokens:
                    effects.blind_fetch(frame, token)
            effects.mark_fetched(frame, value)


def forget_refinements(frame: Frame) -> None:
    """After a call anything on the heap may have been replaced: attributes assigned here and host copies there."""
    names = frame.state.names
    for key in [k for k in names if "." in k]:
        del names[key]
    if frame.state.fetched:
        frame.state.fetched = {t for t in frame.state.fetched if not isinstance(t[0], Object)}


def identify(frame: Frame, node: cst.CSTNode, value: Value, fetched: bool = False) -> Value:
    """Give the arrays of a call's result the identity of this call, forgetting those of an earlier turn."""
    if not value.kind & ARRAY and not any(isinstance(o, Tuple) for o in value.objects):
        return value
    place = frame.place(node)
    token = (place, frame.activation.number)
    frame.state.fetched = {t for t in frame.state.fetched if t[:2] != token}
    out = _identified(value, token, 3)
    if fetched:
        frame.state.fetched.add(token)
    return out


def _identified(value: Value, token: tuple[object, ...], depth: int) -> Value:
    objects = value.objects
    if depth and any(isinstance(o, Tuple) for o in objects):
        objects = frozenset(
            Tuple(tuple(_identified(v, (*token, n), depth - 1) for n, v in enumerate(o.items)))
            if isinstance(o, Tuple)
            else o
            for o in objects
        )
    tokens = frozenset((token,)) if value.kind & ARRAY else frozenset()
    return replace(value, objects=objects, tokens=tokens)


def run(
    frame: Frame,
    node: cst.CSTNode,
    info: FunctionInfo,
    function: Function,
    bound: dict[str, Value],
    mode: Mode,
    *,
    trace_start: bool = False,
) -> tuple[Activation, Value]:
    """The activation of a function for these parameter values, run unless this pass ran it already."""
    engine = frame.engine
    guarded = bool(frame.guards)
    fetched = tuple(n for n, v in bound.items() if v.kind & ARRAY and effects.is_fetched(frame, v.tokens))
    circumstances = (trace_start, frame.traced, guarded, frame.jit_disabled, frame.concrete)
    activation, bound = _activation(engine, info, function, bound, mode, circumstances, fetched)
    engine.reached.add(info.place)
    if frame.activation is not activation:
        pace = Pace.LOOPED if _recursive(frame, info) else frame.pace  # recursion is a loop
        frame.activation.calls.add((activation.number, Pace.ONCE if frame.staged or trace_start else pace))
    if activation.running or activation.finished_pass == engine.passes:
        return activation, activation.result
    inner = Frame(
        engine=engine,
        activation=activation,
        scope=engine.scopes[activation.number],
        module=info.module,
        mode=mode,
        state=State({n: _as_parameter(n, v) for n, v in bound.items()}, {("parameter", n) for n in fetched}),
        info=info,
        depth=frame.depth + 1,
        guards=frame.guards,
        inherited_guards=len(frame.guards),
        handlers=list(frame.handlers) if guarded else [],
        caller=frame,
        trace_start=trace_start,
        traced=trace_start or frame.traced,
        jit_disabled=frame.jit_disabled,
        concrete=frame.concrete and mode is not Mode.STAGED,
    )
    _run_body(engine, inner, info, bound)
    return activation, activation.result


def _recursive(frame: Frame, info: FunctionInfo) -> bool:
    """True if the function is running already, further up."""
    inner: Frame | None = frame
    while inner is not None:
        if inner.info is info:
            return True
        inner = inner.caller
    return False


def _as_parameter(name: str, value: Value) -> Value:
    return replace(value, tokens=frozenset((("parameter", name),))) if value.kind & ARRAY else value


def _run_body(engine: Engine, frame: Frame, info: FunctionInfo, bound: dict[str, Value]) -> None:
    activation = frame.activation
    activation.running = True
    activation.sites.clear()
    activation.reads.clear()
    activation.captured.clear()
    outer_reads, engine.heap.reads = engine.heap.reads, activation.reads
    try:
        _attempts(engine, frame, info, bound)
    finally:
        engine.heap.reads = outer_reads
        activation.running = False
        activation.finished_pass = engine.passes
    parameters = {t for t in frame.state.fetched if t and t[0] == "parameter"}
    activation.fetched_parameters = frozenset(parameters)


def _attempts(engine: Engine, frame: Frame, info: FunctionInfo, bound: dict[str, Value]) -> None:
    activation = frame.activation
    scope = frame.scope
    for name, value in bound.items():
        if name in info.captured:
            engine.publish(scope, name, value)
    positional = [p.name for p in info.parameters if p.kind == "positional"]
    if info.enclosing_class is not None and positional:
        frame.receiver = bound.get(positional[0])
    for attempt in range(2):
        before = activation.result
        try:
            if isinstance(info.node, cst.Lambda):
                activation.result = join(activation.result, engine.evaluate(frame, info.node.body))
            else:
                engine.execute(frame, info.node.body)
                if frame.state.alive:
                    activation.result = join(activation.result, NONE)
        except GaveUp:
            activation.gave_up = True
            raise
        if attempt or activation.result == before or (before.is_nothing and not activation.recursive):
            break
        frame.state = State({n: _as_parameter(n, v) for n, v in bound.items()})


def _activation(
    engine: Engine,
    info: FunctionInfo,
    function: Function,
    bound: dict[str, Value],
    mode: Mode,
    circumstances: tuple[bool, ...],
    fetched: tuple[str, ...],
) -> tuple[Activation, dict[str, Value]]:
    key: tuple[object, ...] = (function, mode, circumstances, fetched, tuple(bound.items()))
    known = engine.by_key.get(key)
    if known is not None:
        if known.running:
            known.recursive = True
        return known, bound
    count = engine.contexts.get(info.place, 0)
    if count >= MAX_CONSTANT_CONTEXTS:
        bound = {n: replace(v, const=()) if v.const and v.kind else v for n, v in bound.items()}
        key = (function, mode, circumstances, fetched, tuple(bound.items()))
        known = engine.by_key.get(key)
        if known is not None:
            return known, bound
    if count >= (MAX_TRACED_CONTEXTS if mode is Mode.STAGED else MAX_CONTEXTS):
        return _joined_activation(engine, info, function, bound, mode, circumstances)
    engine.contexts[info.place] = count + 1
    activation = _new(engine, info, function)
    activation.traced = circumstances[0]
    activation.under_trace = circumstances[0] or circumstances[1]
    engine.by_key[key] = activation
    return activation, bound


def _new(engine: Engine, info: FunctionInfo, function: Function) -> Activation:
    scope = engine.new_scope(function.scope, "function")
    activation = Activation(scope.number, info, info.module)
    engine.add_activation(activation)
    return activation


def _joined_activation(
    engine: Engine,
    info: FunctionInfo,
    function: Function,
    bound: dict[str, Value],
    mode: Mode,
    circumstances: tuple[bool, ...],
) -> tuple[Activation, dict[str, Value]]:
    """The one activation that stands for all further contexts: its parameters are the join of all arguments."""
    key = (info.place, mode, circumstances, "joined")
    activation = engine.by_key.get(key)
    if activation is None:
        activation = _new(engine, info, function)
        activation.joined = True
        activation.traced = circumstances[0]
        engine.by_key[key] = activation
    parameters = activation.parameters
    given = tuple(bound.items())
    if given in activation.seen:
        return activation, dict(parameters)
    activation.seen.add(given)
    grown = False
    for name, value in bound.items():
        old = parameters.get(name, NOTHING)
        new = join(old, widen(value, 2))
        if new != old:
            parameters[name] = new
            grown = True
    if grown and not activation.running and activation.growths < 3:
        activation.growths += 1
        activation.finished_pass = -1
    return activation, dict(parameters)


def call_unknown_arguments(frame: Frame, node: cst.CSTNode, info: FunctionInfo, function: Function, mode: Mode) -> None:
    """Run a function that nobody calls, its parameters as their annotations and defaults suggest."""
    call_function(frame, node, function, unknown_arguments(frame, info, function), mode=mode)


def unknown_arguments(frame: Frame, info: FunctionInfo, function: Function) -> list[Argument]:
    """Arguments of which only annotations and defaults tell something."""
    arguments: list[Argument] = []
    for p in info.parameters:
        if p.kind in {"positional", "keyword"}:
            arguments.append(Argument(annotated(frame, info, p, function), None, p.name))
        elif p.kind == "star":
            arguments.append(Argument(of(Stream(UNKNOWN)), None, None, "*"))
    return arguments


def call_transformed_unknown(
    frame: Frame, node: cst.CSTNode, info: FunctionInfo, function: Function, made: Transformed
) -> None:
    """Run a compiled or transformed function that nobody calls: its body is traced."""
    partial = next((o for o in made.function.objects if isinstance(o, Partial)), None)
    skipped = 0 if partial is None else len(partial.arguments)
    given = set() if partial is None else {name for name, _ in partial.keywords}
    arguments = [
        replace(a, keyword=None) if p.kind == "positional" else a
        for a, p in zip(unknown_arguments(frame, info, function), info.parameters, strict=False)
        # What has a default is left to it: a setting that nobody gives is no tracer.
        if p.default is None and p.name not in given
    ][skipped:]
    exact = made if partial is not None else replace(made, function=of(function))
    before, frame.mode = frame.mode, Mode.OPEN
    frame.engine.call(frame, node, of(exact), arguments)
    frame.mode = before
    frame.activation.eager = False
    frame.activation.sites.clear()


def call_method_unknown(
    frame: Frame, node: cst.CSTNode, info: FunctionInfo, function: Function, receiver: Value
) -> None:
    """Run a method that nobody calls on an instance, its other parameters as their annotations suggest."""
    bound = frame.engine.attribute(frame, node, receiver, info.name)
    if any(isinstance(o, Method) and isinstance(o.function, Transformed) for o in bound.objects):
        before, frame.mode = frame.mode, Mode.OPEN
        frame.engine.call(frame, node, bound, unknown_arguments(frame, info, function)[1:])
        frame.mode = before
        frame.activation.eager = False
        frame.activation.sites.clear()
        return
    static = _is_static(frame.engine, info, function)
    arguments: list[Argument] = []
    skipped = static
    for p in info.parameters:
        if p.kind in {"positional", "keyword"}:
            if not skipped:
                skipped = True
                arguments.append(Argument(receiver, None, p.name))
                continue
            arguments.append(Argument(annotated(frame, info, p, function), None, p.name))
        elif p.kind == "star":
            arguments.append(Argument(of(Stream(UNKNOWN)), None, None, "*"))
    call_function(frame, node, function, arguments, mode=Mode.OPEN)


def _is_static(engine: Engine, info: FunctionInfo, function: Function) -> bool:
    value = engine.scopes[function.scope].names.get(info.name)
    return value is not None and any(isinstance(o, Property) and o.how == "static" for o in value.objects)


def call_with(frame: Frame, node: cst.CSTNode, callee: Value, values: Seq[Value]) -> Value:
    """Call with plain positional values."""
    return frame.engine.call(frame, node, callee, [Argument(v) for v in values])

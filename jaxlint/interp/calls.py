"""Calls: arguments bound to parameters, functions run with abstract arguments, results remembered by context."""

import ast
from collections.abc import Sequence as Seq

from jaxlint.interp import devices, effects, uses
from jaxlint.interp.binding import bind, takes
from jaxlint.interp.budget import GaveUp
from jaxlint.interp.classes import instantiate
from jaxlint.interp.contexts import context_of
from jaxlint.interp.copies import carry, forget_refinements
from jaxlint.interp.engine import MAX_DEPTH, Engine
from jaxlint.interp.frames import Argument, Arguments, Call, Frame, Mode
from jaxlint.interp.gates import gated
from jaxlint.interp.guessing import doubted, guessed
from jaxlint.interp.heap import PARAMETERS, RESULT
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.library import call_library, returned
from jaxlint.interp.program import FunctionInfo
from jaxlint.interp.states import Abandoned, Activation, State
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
    Method,
    Moved,
    Object,
    Partial,
    Property,
    Stream,
    Token,
    Transformed,
    Tuple,
    Value,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation


def call(frame: Frame, node: ast.AST, callee: Value, arguments: Arguments) -> Value:
    """Call whatever `callee` may be; the join of all results."""
    out = NOTHING
    before = frame.state.fetched
    after: set[Token] | None = None
    among, frame.among = frame.among, frame.among or len(callee.objects) > 1
    outer = frame.recorded
    shown: list[set[tuple[int, Operation]]] = [set()] if callee.unknown else []  # what is not known shows nothing
    for obj in callee.objects:
        if obj != NULL:
            # One of them is called, not all: each starts from what was fetched before the call.
            frame.state.fetched = set(before)
            frame.recorded = set()
            made = call_object(frame, node, obj, arguments)
            if frame.on_cpu and not frame.staged and not isinstance(obj, Function | Method | Class):
                made = devices.on_some_device(made)
            out = join(out, made)
            shown.append(frame.recorded)
            if not (len(callee.objects) > 1 and _is_of_host_data(obj)):  # what is no array has nothing to be fetched
                after = frame.state.fetched if after is None else after & frame.state.fetched
    frame.among, frame.recorded = among, outer
    effects.doubt_what_some_show(frame, shown)
    if after is not None:
        frame.state.fetched = after
    if callee.kind & ARRAY:
        # A branch of a tree of arrays that is called (state.apply_fn): an array function in all likelihood.
        kind = Kind.TRACER if callee.kind & Kind.TRACER else Kind.DEVICE
        out = join(out, Value(kind, unknown=True, origin=guessed(callee.origin)))
    elif callee.kind & Kind.NUMPY:
        out = join(out, Value(Kind.NUMPY, unknown=True))
    if callee.unknown and not callee.kind:
        out = join(out, _asked_for(arguments))
    return doubted(out, frame.origin(node, "one of many functions")) if len(callee.objects) > MANY_CALLEES else out


MANY_CALLEES = 4
"""Where more functions than these may be called, what only some of them return is no more than a guess."""


def _asked_for(arguments: Arguments) -> Value:
    """What an unknown function returns: nothing is known, unless its caller says what kind of arrays it wants."""
    wanted = next((a.value.const[:1] for a in arguments if a.keyword == "return_tensors"), ())
    return Value(Kind.NUMPY, unknown=True) if wanted == ("np",) else UNKNOWN


_UNBOUND = ("jax.Array.", "numpy.ndarray.")
"""Methods that are called by their class take the receiver as their first argument."""


def _is_of_host_data(obj: Object) -> bool:
    """True of the method of what is no array: of a value that may be one as well."""
    return isinstance(obj, LibraryMethod) and obj.receiver.kind != Kind(0) and not obj.receiver.kind & ARRAY


def call_object(frame: Frame, node: ast.AST, obj: Object, arguments: Arguments) -> Value:
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
        case Library(name) if arguments and name.startswith(_UNBOUND) and engine.models.exact(name):
            return call_library(frame, node, name, arguments[1:], arguments[0].value)
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


def call_function(
    frame: Frame,
    node: ast.AST,
    function: Function,
    arguments: Arguments,
    *,
    mode: Mode | None = None,
    trace_start: bool = False,
) -> Value:
    """Run a project function with abstract arguments, or recall what an equal run gave."""
    engine = frame.engine
    info = engine.by_place.get(function.place)
    if info is None:
        return UNKNOWN
    if frame.depth >= MAX_DEPTH:
        reason = f"the call lies more than {MAX_DEPTH} calls deep"
        engine.too_deep.setdefault(frame.module.path, Abandoned(frame.module, node, info.name, reason))
        return UNKNOWN
    if _is_written(node, arguments) and not takes(info, arguments, completed=info.place in engine.completed):
        return UNKNOWN
    bound = bind(frame, node, info, function, arguments)
    again = Pace.ITEMS if _descends(frame, arguments) else Pace.LOOPED
    activation, result = run(
        frame, node, info, function, bound, mode or frame.mode, trace_start=trace_start, again=again
    )
    forget_refinements(frame)
    carry(frame, activation, bound)
    if activation.joined and (name := info.module.handed_back_by(info)) is not None:
        result = bound.get(name, result)  # each caller gets its own, not what all of them gave
    result = uses.given_back(frame, activation.number, bound, result)
    if info.is_generator:
        result = of(Stream(activation.yielded, activation.number))
    if activation.joined:
        result = doubted(result, frame.origin(node, "what many callers get"))
    return identify(frame, node, result, activation.result_fetched)


def _is_written(node: ast.AST, arguments: Arguments) -> bool:
    """True if what a call gives in the source is given, and nothing but receivers and what was bound before else."""
    if not isinstance(node, ast.Call):
        return False
    written = {id(a.value if isinstance(a, ast.keyword) else a) for a in (*node.args, *node.keywords)}
    return {id(a.node) for a in arguments if a.node is not None} == written


def identify(frame: Frame, node: ast.AST, value: Value, fetched: bool = False) -> Value:
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
    node: ast.AST,
    info: FunctionInfo,
    function: Function,
    bound: dict[str, Value],
    mode: Mode,
    *,
    trace_start: bool = False,
    again: Pace = Pace.LOOPED,
) -> tuple[Activation, Value]:
    """The activation of a function for these parameter values, run unless this pass ran it already.

    `again` is how often it runs if it is running already, further up.
    """
    engine = frame.engine
    guarded = bool(frame.guards)
    fetched = tuple(n for n, v in bound.items() if v.kind & ARRAY and effects.is_fetched(frame, v.tokens))
    circumstances = (
        trace_start, frame.traced, guarded, frame.jit_disabled, frame.concrete, frame.building, frame.on_cpu,
    )  # fmt: skip
    activation, bound = context_of(engine, info, function, bound, mode, circumstances, fetched, frame.depth)
    for name, value in bound.items():
        if value.sources or value.objects:
            uses.bound_to(frame, activation.number, name, value)
    engine.reached.add(info.place)
    if frame.activation is not activation:
        pace = again if _recursive(frame, info) else frame.pace  # recursion is a loop
        if info.place in engine.memoised and not info.parameters:
            pace = Pace.SINGLE  # without arguments a memoised function has one result
        # What is compiled is traced once; eager gradients and vmaps run their function at each call.
        once = frame.staged or mode is Mode.STAGED
        frame.activation.calls.add((activation.number, Pace.ONCE if once else pace))
        if frame.among:
            frame.activation.chosen.add(activation.number)
    if activation.running or activation.finished:
        engine.heap.note_read((activation.number, RESULT))
        return activation, activation.result
    begin = Frame(
        engine=engine,
        activation=activation,
        scope=engine.scopes[activation.number],
        module=info.module,
        mode=mode,
        state=State({}, {("parameter", n) for n in fetched}),
        info=info,
        depth=frame.depth + 1,
        guards=frame.guards,
        inherited_guards=len(frame.guards),
        handlers=list(frame.handlers) if guarded else [],
        caller=frame,
        trying=frame.trying,
        trace_start=trace_start,
        traced=trace_start or frame.traced,
        jit_disabled=frame.jit_disabled,
        on_cpu=frame.on_cpu,
        concrete=frame.concrete and mode is not Mode.STAGED,
        building=frame.building,
    )
    engine.entries[activation.number] = (begin, bound)
    run_again(engine, activation)
    engine.heap.note_read((activation.number, RESULT))
    return activation, activation.result


def run_again(engine: Engine, activation: Activation) -> None:
    """Run the body of an activation from its beginning, as it was called last."""
    begin, bound = engine.entries[activation.number]
    assert begin.info is not None
    if activation.joined:
        bound = dict(activation.parameters)
    state = State(_as_parameters(activation, begin.mode, bound), set(begin.state.fetched))
    frame = replace(
        begin, state=state, breaks=[], continues=[], handlers=list(begin.handlers), rights={}, displayed={}, answers={},
        rekeyed={},
    )  # fmt: skip
    _run_body(engine, frame, begin.info, bound)


def _recursive(frame: Frame, info: FunctionInfo) -> bool:
    """True if the function is running already, further up."""
    inner: Frame | None = frame
    while inner is not None:
        if inner.info is info:
            return True
        inner = inner.caller
    return False


def _descends(frame: Frame, arguments: Arguments) -> bool:
    """True of a call that goes on with what a loop around it yields: a recursion of this kind walks a tree, all leaves
    of which belong to one step of whatever loop is around."""
    return any(
        isinstance(a.node, ast.Name)
        and (a.node.id in frame.loop_names or a.node.id in frame.own)
        and a.value.kind != Kind.PYTHON
        for a in arguments
    )


def _as_parameters(activation: Activation, mode: Mode, bound: dict[str, Value]) -> dict[str, Value]:
    names = {n: _as_parameter(n, v) for n, v in bound.items()}
    if mode is Mode.STAGED:
        return names
    return {n: uses.as_parameter(v, activation.number, n) for n, v in names.items()}


def _as_parameter(name: str, value: Value) -> Value:
    return replace(value, tokens=frozenset((("parameter", name),))) if value.kind & ARRAY else value


def _run_body(engine: Engine, frame: Frame, info: FunctionInfo, bound: dict[str, Value]) -> None:
    activation = frame.activation
    activation.running = True
    activation.sites.clear()
    activation.calls.clear()
    activation.chosen.clear()
    activation.fetching.clear()
    activation.reads.clear()
    activation.captured.clear()
    outer_reads, engine.heap.reads = engine.heap.reads, activation.reads
    engine.heap.note_read((activation.number, PARAMETERS))
    before = activation.outcome
    spending = engine.budget.begin(info.module.path, info.module.lines)
    try:
        _attempts(engine, frame, info, bound)
    except GaveUp:
        if engine.budget.entry_is_over:
            raise
        engine.give_up_file(info.module, info.node, info.name)
        activation.result = join(activation.result, UNKNOWN)
    except Exception as error:  # noqa: BLE001  # one function's trouble must not hide what its callers do
        engine.give_up(info.module, info.node, info.name, error)
        activation.result = join(activation.result, UNKNOWN)
    finally:
        engine.budget.end(spending)
        engine.heap.reads = outer_reads
        activation.running = False
        activation.finished = True
    activation.fetched_parameters = frozenset(frame.fetched_at_end or ())
    if activation.outcome != before:
        engine.heap.note_change((activation.number, RESULT))


def _attempts(engine: Engine, frame: Frame, info: FunctionInfo, bound: dict[str, Value]) -> None:
    activation = frame.activation
    scope = frame.scope
    positional = [p.name for p in info.parameters if p.kind == "positional"]
    if info.enclosing_class is not None and positional:
        frame.receiver = bound.get(positional[0])
    scope.final = None
    for attempt in range(2):
        before, frame.ends, frame.fetched_at_end = activation.result, None, None
        if isinstance(info.node, ast.Lambda):
            value = gated(frame, info.node.body, engine.evaluate(frame, info.node.body))
            activation.result = join(activation.result, value)
            frame.note_fetched()
        else:
            engine.execute(frame, info.node.body)
            if frame.state.alive:
                activation.result = join(activation.result, NONE)
                frame.note_end()
        if attempt or activation.result == before or (before.is_nothing and not activation.recursive):
            break
        frame.state, frame.shared = State(_as_parameters(activation, frame.mode, bound)), False
    if frame.ends is not None:
        held = frame.ends.names
        names = [n for n in info.captured - info.rebound if n in held]
        engine.settle(scope, {n: held[n] for n in names})


def call_with(frame: Frame, node: ast.AST, callee: Value, values: Seq[Value]) -> Value:
    """Call with plain positional values."""
    return frame.engine.call(frame, node, callee, [Argument(v) for v in values])

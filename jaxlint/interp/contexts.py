"""Contexts: which activation stands for a call with these arguments."""

from jaxlint.interp.engine import MAX_CONSTANT_CONTEXTS, MAX_CONTEXTS, MAX_MADE, MAX_PLAIN, MAX_TRACED_CONTEXTS, Engine
from jaxlint.interp.frames import Mode
from jaxlint.interp.heap import PARAMETERS
from jaxlint.interp.joining import join
from jaxlint.interp.program import FunctionInfo
from jaxlint.interp.states import Activation
from jaxlint.interp.values import NOTHING, Function, Value, replace
from jaxlint.interp.widening import widen


def context_of(
    engine: Engine,
    info: FunctionInfo,
    function: Function,
    bound: dict[str, Value],
    mode: Mode,
    circumstances: tuple[bool, ...],
    fetched: tuple[str, ...],
    depth: int,
) -> tuple[Activation, dict[str, Value]]:
    """The activation for these arguments, and the arguments as it takes them."""
    key: tuple[object, ...] = (function, mode, circumstances, fetched, tuple(bound.items()))
    known = _known(engine, key)
    if known is not None:
        return known, bound
    count = engine.contexts.get(info.place, 0)
    if count >= MAX_CONSTANT_CONTEXTS:
        bound = {n: replace(v, const=()) if v.const and v.kind else v for n, v in bound.items()}
        key = (function, mode, circumstances, fetched, tuple(bound.items()))
        known = _known(engine, key)
        if known is not None:
            return known, bound
    limit = MAX_TRACED_CONTEXTS if mode is Mode.STAGED else MAX_CONTEXTS
    if depth < engine.making:
        limit = MAX_PLAIN if info.is_plain else MAX_MADE
    if count >= limit:
        return _joined_activation(engine, info, function, bound, mode, circumstances)
    engine.contexts[info.place] = count + 1
    activation = engine.by_key[key] = _new(engine, info, function, circumstances)
    return activation, bound


def _known(engine: Engine, key: tuple[object, ...]) -> Activation | None:
    known = engine.by_key.get(key)
    if known is not None and known.running:
        known.recursive = True
    return known


def _new(engine: Engine, info: FunctionInfo, function: Function, circumstances: tuple[bool, ...]) -> Activation:
    scope = engine.new_scope(function.scope, "function")
    activation = Activation(scope.number, info, info.module)
    activation.traced = circumstances[0]
    activation.under_trace = circumstances[0] or circumstances[1]
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
        activation = engine.by_key[key] = _new(engine, info, function, circumstances)
        activation.joined = True
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
    if grown:
        engine.heap.note_change((activation.number, PARAMETERS))
    if grown and not activation.running and activation.growths < 3:
        activation.growths += 1
        activation.finished = False
    return activation, dict(parameters)

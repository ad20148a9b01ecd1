"""Host copies across calls and turns: what a function leaves of those that its caller knew, and which it adds.

A copy of a parameter or of a field is known by its token; ("parameter", name) is what the callee calls an argument.
"""

from jaxlint.interp import effects
from jaxlint.interp.engine import Engine
from jaxlint.interp.frames import Frame
from jaxlint.interp.heap import base_of
from jaxlint.interp.states import Activation
from jaxlint.interp.values import Instance, Object, Token, Value

MAX_BELOW = 200
"""How many functions below a call are looked through for what they write to."""


def forget_refinements(frame: Frame, activation: Activation | None = None) -> None:
    """After a call anything on the heap may have been replaced: attributes assigned here, and the host copies in the
    fields that the callee, or a function that it leads to, writes to. In what compiled code returned all are forgotten.
    """
    names = frame.state.names
    for key in [k for k in names if "." in k]:
        del names[key]
    held = {t for t in frame.state.fetched if isinstance(t[0], Object)}
    if held:
        kept = set[Token]()
        if activation is not None:
            fields = _unwritten(frame.engine, activation, {t[:2] for t in held if _is_single(frame.engine, t[0])})
            kept = {t for t in held if t[:2] in fields}
        frame.state.fetched = (frame.state.fetched - held) | kept


def _unwritten(engine: Engine, activation: Activation, fields: set[Token]) -> set[Token]:
    """Those of the fields to which neither a call nor what it leads to writes, nor another thread meanwhile; none where
    that is too much to see."""
    todo = [activation, *(engine.by_number[n] for n in engine.apart)]
    seen = {a.number for a in todo}
    while todo and fields:
        current = todo.pop()
        fields = fields - current.writes
        for number, _ in current.calls:
            below = engine.by_number.get(number)
            if number not in seen and below is not None:
                seen.add(number)
                todo.append(below)
        if len(seen) > MAX_BELOW:
            return set()
    return fields


def _is_single(engine: Engine, obj: object) -> bool:
    """True of an instance that stands for one object: it is made once in a function that is called at one place only,
    as are all that lead there."""
    if not isinstance(obj, Instance) or obj in engine.repeated:
        return False
    number, seen = obj.scope, set[int]()
    while (activation := engine.by_number.get(number)) is not None and number not in seen:
        seen.add(number)
        if activation.info is None or not activation.callers:
            return True
        if len(activation.callers) > 1:
            return False
        number = next(iter(activation.callers))[0]
    return False


def carry(frame: Frame, activation: Activation, bound: dict[str, Value]) -> None:
    """What the callee fetched of its parameters and of objects has a host copy here too, unless it has yet to run."""
    if activation.info is not None and (activation.info.is_generator or activation.info.is_async):
        return
    for token in activation.fetched_outside:
        if token[0] != "parameter":
            if _is_single(frame.engine, token[0]):
                frame.state.fetched.add(token)
            continue
        value = bound.get(str(token[1])) if len(token) == 2 else None
        if value is not None and value.tokens:
            if token[1] in activation.cached_under_guard:
                for known in value.tokens:
                    effects.blind_fetch(frame, known)
            effects.mark_fetched(frame, value)


def of_others(engine: Engine, fetched: set[Token]) -> set[Token]:
    """The copies in what a loop makes at each turn: another turn may be about another of them."""
    return {t for t in fetched if isinstance(t[0], Object) and base_of(t[0]) in engine.repeated}

"""Host copies across calls and turns: what a function leaves of those that its caller knew, and which it adds.

A copy of a parameter or of a field is known by its token; ("parameter", name) is what the callee calls an argument.
"""

from jaxlint.interp import effects
from jaxlint.interp.engine import Engine
from jaxlint.interp.frames import Frame
from jaxlint.interp.heap import base_of
from jaxlint.interp.states import Activation
from jaxlint.interp.values import Object, Token, Tuple, Value


def forget_refinements(frame: Frame) -> None:
    """After a call anything on the heap may have been replaced: attributes assigned here and host copies there."""
    names = frame.state.names
    for key in [k for k in names if "." in k]:
        del names[key]
    if frame.state.fetched:
        frame.state.fetched = {t for t in frame.state.fetched if not isinstance(t[0], Object)}


def carry(frame: Frame, activation: Activation, bound: dict[str, Value]) -> None:
    """What the callee fetched of its parameters has a host copy here too, unless its body has yet to run."""
    if activation.info is not None and (activation.info.is_generator or activation.info.is_async):
        return
    for name in (str(t[1]) for t in activation.fetched_parameters if len(t) == 2):
        value = bound.get(name)
        if value is not None and value.tokens:
            if name in activation.cached_under_guard:
                for token in value.tokens:
                    effects.blind_fetch(frame, token)
            effects.mark_fetched(frame, value)


def of_items(engine: Engine, fetched: set[Token], item: Value) -> set[Token]:
    """The copies in the items of a loop that stand for several objects: another turn is about another of them."""
    parts = [item, *(v for o in item.objects if isinstance(o, Tuple) for v in o.items)]
    items = {base_of(o) for part in parts for o in part.objects} & engine.several
    return {t for t in fetched if isinstance(t[0], Object) and base_of(t[0]) in items} if items else set()

"""Iteration: what each turn of a loop yields, and whether the loop makes its body hot."""

import libcst as cst

from jaxlint.interp.engine import Argument, Frame
from jaxlint.interp.heap import base_of, element_of
from jaxlint.interp.heat import Pace
from jaxlint.interp.values import (
    PYTHON,
    UNKNOWN,
    Instance,
    LibraryObject,
    Object,
    Token,
    Tuple,
    Value,
    join,
    of,
)

FEW = 8
"""A loop over at most so many items written out in the source is no hot loop."""


def iterated(frame: Frame, node: cst.CSTNode, iterable: Value, token: Token) -> Value:
    """What one turn over `iterable` yields; instances are asked through __iter__ and __next__."""
    engine = frame.engine
    instances = [o for o in iterable.objects if _asks(frame, o)]
    if not instances:
        return element_of(engine.heap, iterable, token)
    rest = Value(iterable.kind, iterable.objects - frozenset(instances), iterable.unknown, (), False, iterable.origin)
    out = element_of(engine.heap, rest, token)
    for obj in instances:
        out = join(out, _from_instance(frame, node, of(obj), token))
    return out


def _asks(frame: Frame, obj: Object) -> bool:
    """True of objects that say themselves what iteration gives."""
    below = base_of(obj)
    if isinstance(below, LibraryObject):
        return frame.engine.models.exact(f"{below.name}.__iter__")
    return isinstance(below, Instance)


def _from_instance(frame: Frame, node: cst.CSTNode, value: Value, token: Token) -> Value:
    engine = frame.engine
    step = engine.attribute(frame, node, value, "__next__")
    if step.objects:
        return engine.call(frame, node, step, ())
    start = engine.attribute(frame, node, value, "__iter__")
    if start.objects:
        made = engine.call(frame, node, start, ())
        if any(base_of(o) in map(base_of, value.objects) for o in made.objects):
            return UNKNOWN
        return iterated(frame, node, made, token)
    item = engine.attribute(frame, node, value, "__getitem__")
    if item.objects:
        return engine.call(frame, node, item, (Argument(PYTHON),))
    return UNKNOWN


def loop_pace(frame: Frame, node: cst.CSTNode, iterable: Value) -> Pace:
    """LOOPED, unless the code is traced (its loops are unrolled) or the items stand in the source and are few."""
    if frame.staged:
        return Pace.ONCE
    if isinstance(node, cst.Tuple | cst.List | cst.Set) and len(node.elements) <= FEW:
        return Pace.ONCE
    if isinstance(node, cst.Name) and iterable.objects and not iterable.unknown and not iterable.kind:
        tuples = [o for o in iterable.objects if isinstance(o, Tuple)]
        if len(tuples) == len(iterable.objects) and all(_literals(t) for t in tuples):
            return Pace.ONCE
    return Pace.LOOPED


def has_few_turns(node: cst.BaseExpression) -> bool:
    """True of ``range(5)``: a grid of plots, say, and no work that goes on and on."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value == "range"
        and len(node.args) == 1
        and isinstance(number := node.args[0].value, cst.Integer)
        and int(number.value, 0) <= FEW
    )


def _literals(items: Tuple) -> bool:
    return len(items.items) <= FEW and all(v.const for v in items.items)

"""Values that rest on a step which is no more than likely: what is found through them is of low confidence."""

from collections.abc import Callable
from dataclasses import replace

from jaxlint.interp.heap import base_of
from jaxlint.interp.values import Instance, Object, Origin, Stream, Tuple, Value
from jaxlint.kinds import ARRAY


def guessed(origin: Origin | None) -> Origin | None:
    """The step as a guess."""
    return None if origin is None else Origin(origin.place, origin.message, origin.before, True)


def guess(value: Value, origin: Origin, depth: int = 2) -> Value:
    """The value as a guess, items of tuples too; `origin` is the step of what has none."""
    step = guessed(value.origin or origin)
    return replace(value, objects=_items(value, lambda v: guess(v, origin, depth - 1), depth), origin=step)


def may_be_instance(value: Value) -> bool:
    """True if a value may be an object of one of the program's classes."""
    return any(isinstance(base_of(o), Instance) for o in value.objects)


def doubted(value: Value, origin: Origin, depth: int = 2) -> Value:
    """The value where it may be an array, but something else as well, as a guess."""
    mixed = value.kind & ARRAY and (not value.kind.must_be(ARRAY) or may_be_instance(value))
    step = guessed(value.origin or origin) if mixed else value.origin
    return replace(value, objects=_items(value, lambda v: doubted(v, origin, depth - 1), depth), origin=step)


def uncertain(value: Value, depth: int = 2) -> Value:
    """The value, or something that is not known."""
    objects = _items(value, lambda v: uncertain(v, depth - 1), depth)
    return replace(value, objects=objects, unknown=value.unknown or bool(value.kind))


def _items(value: Value, change: Callable[[Value], Value], depth: int) -> frozenset[Object]:
    if not depth or not any(isinstance(o, Tuple | Stream) for o in value.objects):
        return value.objects
    return frozenset(_inside(o, change) for o in value.objects)


def _inside(obj: Object, change: Callable[[Value], Value]) -> Object:
    if isinstance(obj, Tuple):
        return Tuple(tuple(change(v) for v in obj.items))
    return replace(obj, element=change(obj.element)) if isinstance(obj, Stream) else obj

"""Iteration: what each turn of a loop yields, and whether the loop makes its body hot."""

import ast

from jaxlint.interp import uses
from jaxlint.interp.fewness import FEW, PAIRING, has_few, is_view, plain_value
from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, known_items, read
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.syntax import last_name
from jaxlint.interp.values import (
    NULL,
    PYTHON,
    UNKNOWN,
    Instance,
    LibraryObject,
    Mapping,
    Object,
    Sequence,
    Stream,
    Token,
    Tuple,
    Value,
    constant,
    of,
)
from jaxlint.kinds import ARRAY


def iterated(frame: Frame, node: ast.AST, iterable: Value, token: Token) -> Value:
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


def _from_instance(frame: Frame, node: ast.AST, value: Value, token: Token) -> Value:
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


def loop_pace(frame: Frame, node: ast.AST, iterable: Value) -> Pace:
    """LOOPED, unless the loop is unrolled (in a trace, or where a model is made) or has few items, in the source."""
    if frame.unrolls or has_few(frame, node, iterable):
        return Pace.ONCE
    if not _is_of_items(frame, node, iterable):
        return Pace.LOOPED
    if _is_held(node, iterable):
        return Pace.ITEMS
    # It may be a file of data, or a dict: behind ``if step % n == 0`` its items are as rare as the step.
    return Pace.LOOPED_GATED if frame.pace in {Pace.GATED, Pace.LOOPED_GATED} else Pace.LOOPED


def _is_held(node: ast.AST, iterable: Value) -> bool:
    """True of what iterates over a dict of the program's, or a tree."""
    if not iterable.objects:
        return bool(iterable.kind & ARRAY)
    elements = [o.element for o in iterable.objects if isinstance(o, Stream)]
    pairs = [o.items[-1] for e in elements for o in e.objects if isinstance(o, Tuple) and o.items]
    if isinstance(node, ast.Call) and not is_view(node):
        return all(inner.objects or inner.kind & ARRAY for inner in (pairs or elements))
    return not any(inner.unknown and not inner.kind for inner in (pairs or elements))


def items_of(frame: Frame, node: ast.AST, iterable: Value) -> list[Value]:
    """What the turns of a loop over few known items take, one by one; none where all of them are of one kind."""
    items = _known_items(frame, node, iterable)
    return items if 1 < len(items) <= FEW and len({(v.kind, v.objects, v.const) for v in items}) > 1 else []


def _known_items(frame: Frame, node: ast.AST, iterable: Value) -> list[Value]:
    heap = frame.engine.heap
    if isinstance(node, ast.Call):
        if is_view(node) and isinstance(node.func, ast.Attribute):
            return _entries(_fields(frame, node.func.value), node.func.attr)
        return []
    if len(iterable.objects) != 1 or iterable.kind or iterable.unknown:
        return []
    (obj,) = iterable.objects
    if isinstance(obj, Tuple):
        return list(obj.items)
    if isinstance(base_of(obj), Sequence):
        held = [value for name in known_items(heap, obj) if (value := read(heap, obj, name)) is not None]
        return [uses.marked(value, iterable.sources) for value in held]
    return []


def _fields(frame: Frame, node: ast.expr) -> dict[str, Value]:
    """What a dict holds, if all of its keys are known."""
    shown = frame.displayed.get(id(node))
    if shown is not None:
        return shown
    mapping, heap = plain_value(frame, node), frame.engine.heap
    if len(mapping.objects) != 1 or mapping.kind or mapping.unknown:
        return {}
    (obj,) = mapping.objects
    names = field_names(heap, obj) if isinstance(base_of(obj), Mapping) else []
    held = {name: value for name in names if (value := read(heap, obj, name)) is not None}
    return {name: uses.marked(value, mapping.sources) for name, value in held.items()}


def _entries(fields: dict[str, Value], view: str) -> list[Value]:
    """The keys, values or items of a dict that holds these fields."""
    if {ANY, KEYS} & fields.keys() or len(fields) > FEW:
        return []
    if view == "items":
        return [of(Tuple((_key(name), value))) for name, value in fields.items()]
    return [_key(name) if view == "keys" else value for name, value in fields.items()]


def _key(name: str) -> Value:
    """The key that a field is named by; a number is named as its digits are."""
    return PYTHON if name.lstrip("-").isdecimal() else constant(name)


def _is_of_items(frame: Frame, node: ast.AST, iterable: Value) -> bool:
    if is_view(node) or _is_of_leaves(node):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PAIRING and node.args:
        return _is_of_items(frame, node.args[0], UNKNOWN)
    made = {base_of(o) for o in iterable.objects} - {NULL}
    return bool(made) and all(isinstance(o, Mapping) or o in frame.engine.of_items for o in made)


def _is_of_leaves(node: ast.AST) -> bool:
    """True of ``jax.tree.leaves(t)`` and its like."""
    return isinstance(node, ast.Call) and last_name(node.func) in {"leaves", "tree_leaves"} and bool(node.args)

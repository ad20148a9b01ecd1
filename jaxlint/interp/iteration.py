"""Iteration: what each turn of a loop yields, and whether the loop makes its body hot."""

import ast

from jaxlint.interp import uses
from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, known_items, read
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.syntax import FUNCTIONS, LOOPS, children, last_name
from jaxlint.interp.values import (
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

FEW = 8
"""A loop over at most so many items written out in the source is no hot loop."""


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
    if frame.unrolls or _has_few(frame, node, iterable):
        return Pace.ONCE
    if not _is_of_items(node, iterable):
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
    if isinstance(node, ast.Call) and not _is_view(node):
        return all(inner.objects or inner.kind & ARRAY for inner in (pairs or elements))
    return not any(inner.unknown and not inner.kind for inner in (pairs or elements))


def items_of(frame: Frame, node: ast.AST, iterable: Value) -> list[Value]:
    """What the turns of a loop over few known items take, one by one; none where all of them are of one kind."""
    items = _known_items(frame, node, iterable)
    return items if 1 < len(items) <= FEW and len({(v.kind, v.objects, v.const) for v in items}) > 1 else []


def _known_items(frame: Frame, node: ast.AST, iterable: Value) -> list[Value]:
    heap = frame.engine.heap
    if isinstance(node, ast.Call):
        if _is_view(node) and isinstance(node.func, ast.Attribute):
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
    mapping, heap = _plain_value(frame, node), frame.engine.heap
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


def _is_of_items(node: ast.AST, iterable: Value) -> bool:
    if _is_view(node) or _is_of_leaves(node):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _PAIRING and node.args:
        return _is_of_items(node.args[0], UNKNOWN)
    return bool(iterable.objects) and all(isinstance(base_of(o), Mapping) for o in iterable.objects)


def _is_of_leaves(node: ast.AST) -> bool:
    """True of ``jax.tree.leaves(t)`` and its like."""
    return isinstance(node, ast.Call) and last_name(node.func) in {"leaves", "tree_leaves"} and bool(node.args)


_PAIRING = {"enumerate", "list", "reversed", "sorted", "tuple", "zip"}
"""What has as many turns as the shortest of its arguments."""
_VIEWS = {"items", "keys", "values"}


def _is_view(node: ast.AST) -> bool:
    """True of ``d.items()`` and its like."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _VIEWS
        and not (node.args or node.keywords)
    )


def _has_few(frame: Frame, node: ast.AST, iterable: Value) -> bool:
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return len(node.elts) <= FEW and not any(isinstance(e, ast.Starred) for e in node.elts)
    if isinstance(node, ast.Name | ast.Attribute):
        return _is_few(frame, iterable, node)
    if not isinstance(node, ast.Call):
        return False
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))], keywords=[]) if number <= 1:
            return True
    if node.args and any(isinstance(o, LibraryObject) and o.parts for o in iterable.objects):
        return _has_few(frame, node.args[0], UNKNOWN)  # a progress bar turns as often as what it is given
    if isinstance(node.func, ast.Name) and node.func.id in _PAIRING:
        parts = [a for a in node.args if not isinstance(a, ast.Starred)]
        return any(_has_few(frame, part, _plain_value(frame, part)) for part in parts)
    if isinstance(node.func, ast.Attribute) and _is_view(node):
        held = node.func.value
        return _has_few(frame, held, _plain_value(frame, held))
    return False


def _plain_value(frame: Frame, node: ast.expr) -> Value:
    """The value of a name or an attribute; what is more has been evaluated once and is not asked again."""
    return frame.engine.evaluate(frame, node) if isinstance(node, ast.Name | ast.Attribute) else UNKNOWN


def _is_few(frame: Frame, iterable: Value, node: ast.expr | None = None) -> bool:
    """True of tuples of few literals, and of lists and dicts displayed here, or in the module, that little is added to.

    What a caller gives is not known by its length: other callers give more.
    """
    if not iterable.objects or iterable.unknown or iterable.kind:
        return False
    for obj in iterable.objects:
        if isinstance(obj, Tuple):
            if not all(v.const or _is_few(frame, v) for v in obj.items):
                return False
            count = len(obj.items)
        elif isinstance(obj, Sequence | Mapping) and (obj.scope == frame.scope.number or _is_of_module(frame, node)):
            fields = frame.engine.heap.fields(obj)
            added = _appended(frame, node) if ANY in fields and KEYS not in fields else 0
            if KEYS in fields or added is None:
                return False
            count = len(fields) - (ANY in fields) + added
        else:
            return False
        if not 0 < count <= FEW:
            return False
    return True


def _is_of_module(frame: Frame, node: ast.expr | None) -> bool:
    """True of a name that the module binds, not the function."""
    return isinstance(node, ast.Name) and frame.info is not None and not frame.is_local(node.id)


_LOOKS = {"enumerate", "len", "list", "max", "min", "print", "range", "reversed", "sorted", "sum", "tuple", "zip"}
"""Functions that add nothing to what they are given."""


def _appended(frame: Frame, node: ast.expr | None) -> int | None:
    """How often something is appended to the list under a name; None where other things happen to it, or in a loop."""
    if not isinstance(node, ast.Name) or _is_of_module(frame, node):
        return None
    count = 0
    around = frame.module.tree.body if frame.info is None else frame.info.body
    todo: list[tuple[ast.AST, bool]] = [(part, False) for part in around]
    while todo:
        part, repeated = todo.pop()
        match part:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=node.id), attr=method)):
                if method != "append" or repeated:
                    return None
                count += 1
            case ast.AugAssign(target=ast.Name(id=node.id)):
                return None
            case ast.Call(func=func) if _is_given(part, node.id):
                if not isinstance(func, ast.Name) or func.id not in _LOOKS:
                    return None
        again = repeated or isinstance(part, (*LOOPS, *FUNCTIONS))
        todo.extend((child, again) for child in children(part))
    return count


def _is_given(call: ast.Call, name: str) -> bool:
    """True if a call is given what is under a name, as it is or unpacked."""
    given = (a.value if isinstance(a, ast.Starred | ast.keyword) else a for a in (*call.args, *call.keywords))
    return any(isinstance(a, ast.Name) and a.id == name for a in given)


def has_few_turns(node: ast.expr) -> bool:
    """True of ``range(5)``: a grid of plots, say, and no work that goes on and on."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))], keywords=[]):
            return number <= FEW
    return False

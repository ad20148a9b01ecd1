"""Which loops turn but a few times: over a few items written out in the source, and over slices that give no more."""

import ast

from jaxlint.interp.frames import Frame
from jaxlint.interp.heap import ANY, KEYS
from jaxlint.interp.syntax import FUNCTIONS, LOOPS, children
from jaxlint.interp.values import (
    UNKNOWN,
    Class,
    Function,
    Library,
    LibraryObject,
    Mapping,
    Object,
    Sequence,
    Tuple,
    Value,
    of,
)

FEW = 8
"""A loop over at most so many items written out in the source is no hot loop."""
PAIRING = {"enumerate", "list", "reversed", "sorted", "tuple", "zip"}
"""What has as many turns as the shortest of its arguments."""
_COPYING = {"dict", "frozenset", "set"}
_VIEWS = {"items", "keys", "values"}


def is_view(node: ast.AST) -> bool:
    """True of ``d.items()`` and its like."""
    return _is_method(node, _VIEWS)


def _is_method(node: ast.AST, names: set[str]) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and not (node.args or node.keywords)
    )


def has_few(frame: Frame, node: ast.AST, iterable: Value) -> bool:
    """True if what is written there has few items, as far as the source shows."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return len(node.elts) <= FEW and not any(isinstance(e, ast.Starred) for e in node.elts)
    if isinstance(node, ast.Name | ast.Attribute):
        return _is_few(frame, iterable, node)
    if isinstance(node, ast.Subscript):
        return _is_few_of(frame, node, iterable)
    if not isinstance(node, ast.Call):
        return False
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))], keywords=[]) if number <= 1:
            return True
    if node.args and any(isinstance(o, LibraryObject) and o.parts for o in iterable.objects):
        return _has(frame, node.args[0])  # a progress bar turns as often as what it is given
    if isinstance(node.func, ast.Name) and node.func.id in PAIRING | _COPYING:
        return any(_has(frame, a) for a in node.args if not isinstance(a, ast.Starred))
    return isinstance(node.func, ast.Attribute) and _is_method(node, _VIEWS | {"copy"}) and _has(frame, node.func.value)


def _has(frame: Frame, node: ast.expr) -> bool:
    return has_few(frame, node, plain_value(frame, node))


def plain_value(frame: Frame, node: ast.expr) -> Value:
    """The value of a name or an attribute; what is more has been evaluated once and is not asked again."""
    return frame.engine.evaluate(frame, node) if isinstance(node, ast.Name | ast.Attribute) else UNKNOWN


def _is_few_of(frame: Frame, node: ast.Subscript, iterable: Value) -> bool:
    """True of a slice that gives few items whatever it slices, of any slice of what has few, and of a short item."""
    bounds = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
    if not isinstance(bounds, ast.Slice):
        return _is_few(frame, iterable, node)
    most = most_of(bounds)
    return (most is not None and most <= FEW) or (bounds is node.slice and _has(frame, node.value))


def most_of(bounds: ast.Slice) -> int | None:
    """So many items a slice gives at most; None where that depends on what it slices."""
    if bounds.step is not None and ((step := _offset(bounds.step)) is None or step[0] or step[1] < 1):
        return None
    lower, upper = _offset(bounds.lower), _offset(bounds.upper)
    if bounds.lower is None:
        lower = ("", 0)
    elif bounds.upper is None:
        return -lower[1] if lower is not None and not lower[0] and lower[1] < 0 else None
    if lower is None or upper is None or lower[0] != upper[0]:
        return None
    first, last = lower[1], upper[1]
    if lower[0]:
        return last - first if last > first else None  # where the last is -1, all items may lie between
    if (first < 0) is (last < 0):
        return max(last - first, 0)
    return min(-first, last) if first < 0 else None


def _offset(node: ast.expr | None) -> tuple[str, int] | None:
    """A bound as what it counts from, "" where that is an end of the list, and a literal number: ``i + 1``, ``-1``."""
    match node:
        case ast.Constant(value=int(number)):
            return "", number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
            return "", -number
        case ast.Name() | ast.Attribute():
            return ast.dump(node), 0
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=ast.Constant(value=int(number))):
            inner = _offset(left)
            return None if inner is None else (inner[0], inner[1] + (number if isinstance(op, ast.Add) else -number))
    return None


def _is_few(frame: Frame, iterable: Value, node: ast.expr | None = None) -> bool:
    """True of tuples of few literals, of lists and dicts displayed here that little is added to, and of those displayed
    in a module or a class, and their copies, that nothing is added to.

    What a caller gives is not known by its length: other callers give more.
    """
    if not iterable.objects or iterable.unknown or iterable.kind:
        return False
    for obj in iterable.objects:
        if isinstance(obj, Tuple):
            if not obj.items and len(iterable.objects) > 1:
                continue  # a default that others take the place of
            if not all(v.const or _is_few(frame, v) or _is_code(v) for v in obj.items):
                return False
            count = len(obj.items)
        elif isinstance(obj, Sequence | Mapping):
            own = obj.scope == frame.scope.number
            if frame.engine.heap.is_repeated(obj) or (not own and _is_parameter(frame, node)):
                return False
            if not _is_of_module(frame, node) and not _is_displayed(frame, obj):
                return False
            fields = frame.engine.heap.fields(obj)
            added: int | None = 0
            if ANY in fields and KEYS not in fields:
                added = _appended(frame, node) if own else None
            if KEYS in fields or added is None:
                return False
            count = len(fields) - (ANY in fields) + added
        else:
            return False
        if not 0 < count <= FEW:
            return False
    return True


def _is_code(value: Value) -> bool:
    """True of functions and classes, of which nobody writes as many as there are data."""
    if not value.objects or value.kind or value.unknown:
        return False
    return all(isinstance(o, Function | Class | Library) for o in value.objects)


def _is_displayed(frame: Frame, obj: Object, depth: int = 4) -> bool:
    """True of what is displayed here, in a module or in the body of a class, and of copies of nothing else."""
    if not isinstance(obj, Sequence | Mapping) or obj.scope < 0 or not depth or frame.engine.heap.is_repeated(obj):
        return False
    own, originals = obj.scope == frame.scope.number, frame.engine.heap.originals(obj)
    if not originals:
        return own or frame.engine.scopes[obj.scope].kind in {"module", "class"}
    return all(
        own or _is_few(frame, of(o)) if isinstance(o, Tuple) else _is_displayed(frame, o, depth - 1) for o in originals
    )


def _is_parameter(frame: Frame, node: ast.expr | None) -> bool:
    parameters = () if frame.info is None else frame.info.parameters
    return isinstance(node, ast.Name) and any(p.name == node.id for p in parameters)


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

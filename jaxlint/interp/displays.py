"""Displays: tuples, lists, dicts and sets as they are written."""

import ast
import functools
from collections.abc import Sequence as Seq

from jaxlint.interp import effects
from jaxlint.interp.engine import expression
from jaxlint.interp.frames import Frame
from jaxlint.interp.gates import evaluate_gated
from jaxlint.interp.guessing import doubted
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, read
from jaxlint.interp.joining import join
from jaxlint.interp.values import NOTHING, Mapping, Moved, Object, Sequence, Stream, Tuple, Value, of, replace

MAX_ITEMS = 32
"""So many items of a tuple or list are told apart."""
MAX_JOINED, MAX_KEYS = 64, 256
"""So many elements of a longer list, and items of a dict, are kept. What stands behind them is evaluated all the same,
unless it is written out as data."""


@expression(ast.Tuple)
def _tuple(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Tuple)
    items, known = _elements(frame, node.elts)
    if known:
        return of(Tuple(tuple(items)))
    element = _joined(items)
    if not isinstance(node.elts[0], ast.Starred):
        # ``n, *rest``: which item is the first is forgotten, and it is another kind of thing than the rest.
        element = doubted(element, frame.origin(node, "an item of a tuple of unknown length"))
    return of(Stream(element))


def _elements(frame: Frame, elements: Seq[ast.expr]) -> tuple[list[Value], bool]:
    """What elements give, and whether these are the items: not where too many are, or how many is not known."""
    engine = frame.engine
    out: list[Value] = []
    known = True
    for element in elements:
        if len(out) >= MAX_JOINED and _is_data(element):
            continue
        value = evaluate_gated(frame, element.value if isinstance(element, ast.Starred) else element)
        if not isinstance(element, ast.Starred):
            out.append(value)
        elif (items := engine.unpack_star(value)) is not None:
            out.extend(items)
        else:
            out.append(element_of(engine.heap, value))
            known = False
    return out, known and len(out) <= MAX_ITEMS


def _is_data(node: ast.expr) -> bool:
    """True of literals and of displays of literals."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return all(map(_is_data, node.elts))
    if isinstance(node, ast.Dict):
        return all(key is not None and _is_data(key) for key in node.keys) and all(map(_is_data, node.values))
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _joined(items: Seq[Value]) -> Value:
    return functools.reduce(join, items[:MAX_JOINED], NOTHING)


@expression(ast.List, ast.Set)
def _list(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.List | ast.Set)
    heap = frame.engine.heap
    seq = Sequence(frame.place(node), frame.scope.number, "list" if isinstance(node, ast.List) else "set")
    effects.forget(frame, seq)
    items, known = _elements(frame, node.elts)
    if known:
        frame.displayed[id(node)] = {str(n): item for n, item in enumerate(items)}
        for n, item in enumerate(items):
            heap.write(seq, str(n), item)
    else:
        heap.write(seq, ANY, _joined(items))
    return of(seq)


@expression(ast.Dict)
def _dict(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Dict)
    engine = frame.engine
    fields: dict[str, Value] = {}
    for n, (key, item) in enumerate(zip(node.keys, node.values, strict=True)):
        if n >= MAX_KEYS and key is not None and _is_data(key) and _is_data(item):
            continue
        name = None if key is None else engine.evaluate(frame, key)
        value = evaluate_gated(frame, item)
        if n >= MAX_KEYS:
            continue
        if name is None:
            add_mapping(frame, fields, value)
        else:
            add_item(fields, name, value)
    found = Mapping(frame.place(node), frame.scope.number)
    effects.forget(frame, found)
    frame.displayed[id(node)] = fields
    for at, value in fields.items():
        engine.heap.write(found, at, value)
    return of(found)


def add_item(fields: dict[str, Value], key: Value, value: Value) -> None:
    """Put one item among the fields of a dict that is being made: it replaces an earlier one of the same key."""
    if key.const and isinstance(key.const[0], str | int) and key.const[0] != "":
        fields[str(key.const[0])] = value
    else:
        fields[KEYS] = replace(join(fields.get(KEYS, NOTHING), key), const=(), tokens=frozenset())
        fields[ANY] = join(fields.get(ANY, NOTHING), value)


def add_mapping(frame: Frame, fields: dict[str, Value], value: Value) -> None:
    """Put all items of a mapping value among the fields of a dict that is being made."""
    heap = frame.engine.heap
    many = len(value.objects) > 1 or bool(value.kind) or value.unknown
    for obj in value.objects:
        if isinstance(base_of(obj), Mapping):
            for name in field_names(heap, obj):
                part = read(heap, obj, name)
                if part is not None:
                    fields[name] = join(fields[name], part) if many and name in fields else part
        else:
            fields[ANY] = join(fields.get(ANY, NOTHING), element_of(heap, of(obj)))
    if value.kind or value.unknown:
        rest = Value(value.kind, unknown=value.unknown, origin=value.origin)
        fields[ANY] = join(fields.get(ANY, NOTHING), rest)


def copied(frame: Frame, node: ast.AST, obj: Object) -> Object:
    """Another dict or list with the same items, so that what is stored in the one is not found in the other."""
    below, heap = base_of(obj), frame.engine.heap
    if not isinstance(below, Mapping | Sequence):
        return obj
    made = replace(below, place=frame.place(node), scope=frame.scope.number)
    for name in field_names(heap, obj):
        value = read(heap, obj, name)
        if value is not None:
            heap.write(made, name, value)
    heap.note_copy(made, of(below))
    return made


def renewed(frame: Frame, node: ast.AST, value: Value) -> Value:
    """What a step gives of dicts and lists that another step gave and to which something was stored since: others, so
    that what was stored there is where this step puts it."""
    heap = frame.engine.heap
    stored = {
        o for o in value.objects if isinstance(o, Moved) and isinstance(o.base, Mapping | Sequence) and heap.names(o)
    }
    if not stored:
        return value
    return replace(value, objects=(value.objects - stored) | {copied(frame, node, o) for o in stored})


def store_item(frame: Frame, target: Object, key: Value, value: Value) -> None:
    """Write one item of a dict or list."""
    fields: dict[str, Value] = {}
    add_item(fields, key, value)
    for name, part in fields.items():
        frame.engine.heap.write(target, name, part)


def merge_mapping(frame: Frame, target: Object, value: Value) -> None:
    """Write all items of a mapping value into `target` (dict.update)."""
    fields: dict[str, Value] = {}
    add_mapping(frame, fields, value)
    for name, part in fields.items():
        frame.engine.heap.write(target, name, part)

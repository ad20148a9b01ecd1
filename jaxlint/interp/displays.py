"""Displays and comprehensions: tuples, lists, dicts and sets as they are written."""

import ast
from collections.abc import Sequence as Seq

from jaxlint.interp import effects
from jaxlint.interp.engine import Frame, expression
from jaxlint.interp.guessing import doubted
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, read
from jaxlint.interp.joining import join
from jaxlint.interp.values import NOTHING, Mapping, Object, Sequence, Stream, Tuple, Value, of, replace


@expression(ast.Tuple)
def _tuple(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Tuple)
    items = _elements(frame, node.elts)
    if items is None:
        element = _joined_elements(frame, node.elts)
        if not isinstance(node.elts[0], ast.Starred):
            # ``n, *rest``: which item is the first is forgotten, and it is another kind of thing than the rest.
            element = doubted(element, frame.origin(node, "an item of a tuple of unknown length"))
        return of(Stream(element))
    return of(Tuple(items))


def _elements(frame: Frame, elements: Seq[ast.expr]) -> tuple[Value, ...] | None:
    out: list[Value] = []
    for element in elements:
        if isinstance(element, ast.Starred):
            items = frame.engine.unpack_star(frame.engine.evaluate(frame, element.value))
            if items is None:
                return None
            out.extend(items)
        else:
            out.append(frame.engine.evaluate(frame, element))
    return tuple(out) if len(out) <= 32 else None


def _joined_elements(frame: Frame, elements: Seq[ast.expr]) -> Value:
    out = NOTHING
    for element in elements:
        if isinstance(element, ast.Starred):
            part = element_of(frame.engine.heap, frame.engine.evaluate(frame, element.value))
        else:
            part = frame.engine.evaluate(frame, element)
        out = join(out, part)
    return out


@expression(ast.List, ast.Set)
def _list(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.List | ast.Set)
    heap = frame.engine.heap
    seq = Sequence(frame.place(node), frame.scope.number, "list" if isinstance(node, ast.List) else "set")
    effects.forget(frame, seq)
    if len(node.elts) > 64:
        heap.write(seq, ANY, _joined_elements(frame, node.elts[:64]))
        return of(seq)
    items = _elements(frame, node.elts)
    if items is None:
        heap.write(seq, ANY, _joined_elements(frame, node.elts))
    else:
        for n, item in enumerate(items):
            heap.write(seq, str(n), item)
        frame.displayed[id(node)] = {str(n): item for n, item in enumerate(items)}
    return of(seq)


@expression(ast.Dict)
def _dict(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Dict)
    engine = frame.engine
    fields: dict[str, Value] = {}
    for key, item in zip(node.keys[:256], node.values, strict=False):
        value = engine.evaluate(frame, item)
        if key is not None:
            add_item(fields, engine.evaluate(frame, key), value)
        else:
            add_mapping(frame, fields, value)
    found = Mapping(frame.place(node), frame.scope.number)
    effects.forget(frame, found)
    frame.displayed[id(node)] = fields
    for name, value in fields.items():
        engine.heap.write(found, name, value)
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
    return made


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

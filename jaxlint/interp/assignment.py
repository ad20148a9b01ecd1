"""Assignment to names, attributes, items and patterns of them; and what is stored where it outlives a trace."""

import ast

from jaxlint.interp import effects, guards, uses
from jaxlint.interp.classes import find_in_class
from jaxlint.interp.displays import store_item
from jaxlint.interp.engine import Engine
from jaxlint.interp.expressions import evaluate_index
from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.heap import ANY, base_of, element_of, known_items, leaves, read
from jaxlint.interp.joining import join, join_all
from jaxlint.interp.scopes import assign_name, owner
from jaxlint.interp.states import Scope
from jaxlint.interp.syntax import path_of
from jaxlint.interp.values import (
    CALLEE,
    NOTHING,
    UNKNOWN,
    Class,
    Instance,
    Library,
    LibraryObject,
    Mapping,
    Moved,
    Object,
    ProjectModule,
    Property,
    Sequence,
    Stream,
    Tuple,
    Value,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation


def assign(frame: Frame, target: ast.AST, value: Value) -> None:
    """Bind a target of any form to a value."""
    if isinstance(target, ast.Name):
        if frame.info is not None and target.id in frame.info.outer_names and target.id not in frame.own:
            leak(frame, target, owner(frame, target.id), value)
        assign_name(frame, target.id, value)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(frame, target, value)
    elif isinstance(target, ast.Starred):
        assign(frame, target.value, value)
    elif isinstance(target, ast.Attribute):
        base = frame.engine.evaluate(frame, target.value)
        value = uses.stored(frame, target, value)
        stored = set_attribute(frame, target, base, target.attr, value)
        if stored and isinstance(target.value, ast.Name):
            frame.state.names[f"{target.value.id}.{target.attr}"] = value
    elif isinstance(target, ast.Subscript):
        base = frame.engine.evaluate(frame, target.value)
        index, at = evaluate_index(frame, target.slice)
        if not base.kind & (ARRAY | Kind.NUMPY):
            packed = bool(index.const and isinstance(index.const[0], str))
            value = uses.stored(frame, target, value, kept=not packed)
        set_item(frame, target, base, index, at, value)
        refine_item(frame, target.value, index, at, value)


def remove(frame: Frame, target: ast.AST) -> None:
    """Delete what a target of any form names; what stands before the dot or in the brackets is evaluated."""
    engine = frame.engine
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            remove(frame, element)
    elif isinstance(target, ast.Name):
        _forget(frame, target.id)
    elif isinstance(target, ast.Attribute):
        engine.evaluate(frame, target.value)
        _forget(frame, path_of(target))
    elif isinstance(target, ast.Subscript):
        base = engine.evaluate(frame, target.value)
        index, at = evaluate_index(frame, target.slice)
        if any(isinstance(base_of(o), Sequence) for o in base.objects):
            effects.reading(frame, target, Operation.INDEX, None, [(index, at)])
        method = engine.attribute(frame, target, base, "__delitem__")
        if method.objects and any(isinstance(base_of(o), Instance) for o in base.objects):
            engine.call(frame, target, method, [Argument(index, at)])
        path = path_of(target.value)
        # Which item it is may not be known.
        for name in [n for n in frame.state.names if path is not None and n.startswith(f"{path}.[")]:
            del frame.state.names[name]


def _forget(frame: Frame, path: str | None) -> None:
    """Nothing is known any more of what is under a name, nor of its attributes and items."""
    for name in [n for n in frame.state.names if path is not None and (n == path or n.startswith(f"{path}."))]:
        del frame.state.names[name]


def refine_item(frame: Frame, base: ast.expr, index: Value, at: ast.AST | None, value: Value) -> None:
    """Remember what an item of a named dict holds from here on: the heap alone only knows all that it ever held."""
    path = path_of(base)
    if path is None:
        return
    if index.const and isinstance(index.const[0], str) and index.const[0]:
        frame.state.names[item_key(path, index.const[0])] = value
    elif isinstance(base, ast.Name) and isinstance(at, ast.Name) and at.id in frame.loop_names:
        frame.rekeyed[base.id] = join(frame.rekeyed.get(base.id, NOTHING), value)


def item_key(name: str, key: str) -> str:
    """The dotted name under which a state keeps an item of a named dict."""
    return f"{name}.[{key}]"


def _unpack(frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
    elements = target.elts
    starred = next((n for n, e in enumerate(elements) if isinstance(e, ast.Starred)), None)
    items = frame.engine.unpack_star(value)
    if items is not None and starred is None and len(items) == len(elements):
        for element, item in zip(elements, items, strict=True):
            assign(frame, element, item)
        return
    if items is not None and starred is not None and len(items) >= len(elements) - 1:
        after = len(elements) - starred - 1
        for element, item in zip(elements[:starred], items[:starred], strict=True):
            assign(frame, element, item)
        rest = items[starred : len(items) - after]
        assign(frame, elements[starred], of(Tuple(rest)))
        for element, item in zip(elements[starred + 1 :], items[len(items) - after :], strict=True):
            assign(frame, element, item)
        return
    value = _fields_as_tuples(frame, value, len(elements))
    for n, element in enumerate(elements):
        part = _part(frame, value, n, len(elements), element, starred)
        assign(frame, element, of(Stream(part)) if n == starred else part)


def _fields_as_tuples(frame: Frame, value: Value, count: int) -> Value:
    """Named tuples are unpacked field by field, and lists of which each item is known item by item."""
    objects: set[Object] = set()
    heap = frame.engine.heap
    for obj in value.objects:
        below = base_of(obj)
        names: list[str] = []
        if isinstance(below, Instance) and (record := frame.engine.classes.get(below.cls)) is not None:
            names = [name for name, _ in record.fields]
        elif isinstance(below, Sequence):
            names = known_items(heap, obj)
        if len(names) == count:
            fields = [read(heap, obj, name) for name in names]
            objects.add(Tuple(tuple(UNKNOWN if v is None else v for v in fields)))
        else:
            objects.add(obj)
    return replace(value, objects=frozenset(objects)) if value.objects else value


def _part(frame: Frame, value: Value, n: int, count: int, element: ast.expr, starred: int | None) -> Value:
    heap = frame.engine.heap
    fitting = [o for o in value.objects if isinstance(o, Tuple) and len(o.items) == count]
    if fitting and starred is None:
        value = replace(value, objects=value.objects - {o for o in value.objects if isinstance(o, Tuple)})
        exact = join_all([o.items[n] for o in fitting])
        if value.is_nothing:
            return exact
        return join(exact, element_of(heap, value))
    token = (frame.place(element), frame.activation.number)
    frame.state.fetched.discard(token)
    return element_of(heap, value, token)


def _setter(engine: Engine, cls: Class, name: str) -> Value | None:
    found = find_in_class(engine, cls, name)
    objects = frozenset[Object]() if found is None else found.objects
    return next((o.setter for o in objects if isinstance(o, Property) and o.setter is not None), None)


def set_attribute(frame: Frame, node: ast.AST, base: Value, name: str, value: Value) -> bool:
    """Store into an attribute of whatever `base` may be. False where a property's setter takes the value."""
    engine = frame.engine
    stored = True
    for obj in base.objects:
        effects.forget(frame, obj)
    certain = len(base.objects) == 1 and not (frame.info is not None and frame.info.name == "__init__")
    for obj in base.objects:
        below = base_of(obj)
        if isinstance(below, Instance | Class | LibraryObject):
            if isinstance(below, Class):
                engine.publish(engine.classes[below].scope, name, value)
            elif isinstance(below, Instance) and (setter := _setter(engine, below.cls, name)) is not None:
                engine.call(frame, node, setter, [Argument(of(obj)), Argument(value)])
                stored = False
                continue
            else:
                engine.heap.write(obj, name, value)
            if certain:
                leak(frame, node, obj, value)
        elif isinstance(below, ProjectModule):
            module = engine.project.at(below.path)
            if module is not None and below.path in engine.module_activations:
                scope = engine.scopes[engine.module_activations[below.path].number]
                engine.publish(scope, name, value)
        elif isinstance(below, Object):
            engine.heap.write(obj, name, value)
    return stored


def set_item(frame: Frame, node: ast.AST, base: Value, index: Value, at: ast.AST | None, value: Value) -> None:
    """Store into an item: of a dict or list, or of a NumPy array (which reads the value on the host)."""
    guards.environment(frame, node, base, index)
    for obj in base.objects:
        effects.forget(frame, obj)
    guards.pinning(frame, node, base, index, value)
    several = any(isinstance(o, Library) and o.name == "slice" for o in index.objects)
    for obj in base.objects:
        below = base_of(obj)
        if isinstance(below, Mapping | Sequence):
            if isinstance(below, Sequence):
                effects.reading(frame, node, Operation.INDEX, None, [(index, at)])
                frame.engine.heap.write(obj, ANY, element_of(frame.engine.heap, value) if several else value)
            else:
                store_item(frame, obj, index, value)
            leak(frame, node, obj, value)
        elif isinstance(below, Instance):
            frame.engine.heap.write(obj, ANY, value)
    # Mostly a dict of arrays that is taken for one; a structured array, whose fields have names, is passed over.
    named = bool(index.const) and isinstance(index.const[0], str)
    if base.kind.must_be(Kind.NUMPY) and not named:
        effects.reading(frame, node, Operation.NUMPY_FUNCTION, "item assignment", [(value, None), (index, at)])


def leak(frame: Frame, node: ast.AST, target: Object | Scope, value: Value) -> None:
    """Note a tracer that is stored where it outlives its trace: in an object, or under a global or nonlocal name."""
    if isinstance(target, Moved) or frame.activation.joined:
        return
    start = frame
    while not start.trace_start:
        if start.caller is None:
            return
        start = start.caller
    held = [v for v in leaves(frame.engine.heap, value) if v.kind.must_be(Kind.TRACER) and not v.unknown]
    if not held or (not value.kind & ARRAY and not held):
        return
    if _made_inside(frame, start, target):
        return
    effects.record(frame, node, Operation.LEAK, None, [(v, node) for v in held[:3]], traced=True)


def _scope_of(target: Object | Scope) -> int | None:
    match target:
        case Scope(number):
            return number
        case Instance(_, _, scope) | Mapping(_, scope) | Sequence(_, scope, _) | Class(_, scope):
            return scope
        case _:
            return None


def _made_inside(frame: Frame, start: Frame, target: Object | Scope) -> bool:
    scope = _scope_of(target)
    if scope is None or scope == CALLEE:
        return True
    activations = frame.engine.by_number
    todo, seen = [start.activation.number], set()
    while todo:
        number = todo.pop()
        if number == scope:
            return True
        if number in seen or number not in activations:
            continue
        seen.add(number)
        todo.extend(callee for callee, _ in activations[number].calls)
    inner: Frame | None = frame
    while inner is not None and inner is not start:
        if inner.activation.number == scope:
            return True
        inner = inner.caller
    return False

"""Definitions: functions with their defaults and decorators, classes with their bases and bodies."""

from collections.abc import Iterator

import libcst as cst

from jaxlint.interp.engine import Argument, ClassRecord, Frame, expression
from jaxlint.interp.heap import DEFINED
from jaxlint.interp.literals import string_of
from jaxlint.interp.program import FunctionInfo, walk
from jaxlint.interp.values import (
    Class,
    Function,
    Instance,
    Library,
    LibraryObject,
    Method,
    Partial,
    Property,
    Transformed,
    Value,
    of,
)


def define_function(frame: Frame, node: cst.FunctionDef) -> Value:
    """The value of a function definition, its decorators applied."""
    engine = frame.engine
    cls = frame.defining_class
    info = frame.module.function(node, cls.place if cls is not None else None)
    engine.by_place[info.place] = info
    function = Function(info.place, frame.scope.number)
    known = engine.defined_in.setdefault(info.place, [])
    if frame.scope.number not in known:
        known.append(frame.scope.number)
        engine.heap.note_change((info.place, DEFINED))
    _evaluate_defaults(frame, info, function)
    value = of(function)
    for decorator in reversed(node.decorators):
        decorating = engine.evaluate(frame, decorator.decorator)
        decorated = _decorated(frame, decorator, decorating, Argument(value, node))
        if _replaces(decorated):
            value = decorated
    return value


@expression(cst.Lambda)
def _lambda(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.Lambda)
    info = frame.module.function(node, None)
    frame.engine.by_place[info.place] = info
    function = Function(info.place, frame.scope.number)
    _evaluate_defaults(frame, info, function)
    return of(function)


def _evaluate_defaults(frame: Frame, info: FunctionInfo, function: Function) -> None:
    for p in info.parameters:
        if p.default is not None:
            frame.engine.heap.write(function, f"default {p.name}", frame.engine.evaluate(frame, p.default))


def _decorated(frame: Frame, decorator: cst.Decorator, decorating: Value, argument: Argument) -> Value:
    engine = frame.engine
    before, engine.making = engine.making, frame.depth + 2
    try:
        return engine.call(frame, decorator.decorator, decorating, [argument])
    finally:
        engine.making = before


def _replaces(value: Value) -> bool:
    """A decorator that the analysis cannot follow is taken to hand on its function."""
    followed = (Function, LibraryObject, Method, Partial, Property, Transformed)
    return any(isinstance(o, followed) for o in value.objects)


def define_class(frame: Frame, node: cst.ClassDef) -> Value:
    """The value of a class definition: its body run in a scope of its own."""
    engine = frame.engine
    place = frame.place(node)
    cls = Class(place, frame.scope.number)
    bases = tuple(engine.evaluate(frame, b.value) for b in node.bases)
    record = engine.classes.get(cls)
    if record is None:
        scope = engine.new_scope(frame.scope.number, "class")
        record = ClassRecord(cls, node, frame.module, scope, bases, _fields(node))
        engine.add_class(record)
        engine.bases_of.pop(cls, None)
        if record.fields and not any(_is_module(b) for b in bases):
            above = [
                engine.classes[o] for b in bases for o in b.objects if isinstance(o, Class) and o in engine.classes
            ]
            declared = {name for r in (record, *above) for name, _ in r.fields}
            inherited = frozenset(name for r in above for name in engine.heap.records.get(r.cls, ()))
            own = _static_fields(node) | (assigned_attributes(node) - declared)
            engine.heap.declare(cls, own | (inherited - {name for name, _ in record.fields}))
    if record.bases != bases:
        engine.bases_of.clear()
    record.bases = bases
    inner = type(frame)(
        engine=engine,
        activation=frame.activation,
        scope=record.scope,
        module=frame.module,
        mode=frame.mode,
        state=type(frame.state)(),
        depth=frame.depth,
        pace=frame.pace,
        defining_class=cls,
        caller=frame.caller,
    )
    engine.execute(inner, node.body)
    record.converters = {name: engine.evaluate(inner, given) for name, given in _converters(node)}
    value = of(cls)
    for decorator in reversed(node.decorators):
        decorating = engine.evaluate(frame, decorator.decorator)
        decorated = _decorated(frame, decorator, decorating, Argument(value, node))
        if any(isinstance(o, Class | Function | Instance | Partial | Transformed) for o in decorated.objects):
            value = decorated
    return value


def _is_module(base: Value) -> bool:
    """True of a neural network module: its numbers are settings, never leaves."""
    return any(isinstance(o, Library) and o.name.rpartition(".")[2] == "Module" for o in base.objects)


def _static_fields(node: cst.ClassDef) -> frozenset[str]:
    """The fields that a class declares as no leaves: pytree_node=False, static=True, Static[...], meta_fields=[...]."""
    found: set[str] = set()
    for name, statement in _annotated(node):
        value = statement.value
        if is_static_annotation(statement.annotation.annotation) or (
            isinstance(value, cst.Call)
            and (
                any(_is_option(a, "pytree_node", "False") or _is_option(a, "static", "True") for a in value.args)
                or "nonpytree" in _last_name(value.func)
                or _last_name(value.func) == "static_field"
            )
        ):
            found.add(name)
    for decorator in node.decorators:
        if isinstance(decorator.decorator, cst.Call):
            for argument in decorator.decorator.args:
                if argument.keyword is not None and argument.keyword.value == "meta_fields":
                    found.update(_strings(argument.value))
    return frozenset(found)


def is_static_annotation(annotation: cst.BaseExpression) -> bool:
    """True of ``Static[...]``: what is so annotated is no leaf of a pytree and no tracer."""
    return isinstance(annotation, cst.Subscript) and _last_name(annotation.value) == "Static"


def auxiliary_names(root: cst.CSTNode) -> frozenset[str]:
    """The attributes that a flattening function returns as auxiliary data: the second of two values."""
    return _returned_attributes(root, 1)


def child_names(root: cst.CSTNode) -> frozenset[str]:
    """The attributes that a flattening function returns as children, with the private ones that properties show."""
    names = _returned_attributes(root, 0)
    return names | {f"_{name}" for name in names}


def assigned_attributes(root: cst.ClassDef) -> frozenset[str]:
    """The attributes of ``self`` that the methods of a class assign."""
    targets = [
        n.target
        for n in walk(root)
        if isinstance(n, cst.AssignTarget | cst.AnnAssign) and isinstance(n.target, cst.Attribute)
    ]
    return frozenset(
        t.attr.value
        for t in targets
        if isinstance(t, cst.Attribute) and isinstance(t.value, cst.Name) and t.value.value == "self"
    )


def _returned_attributes(root: cst.CSTNode, position: int) -> frozenset[str]:
    """The attributes in one of the two values that a function returns, through the names that they are put under."""
    returned: list[cst.CSTNode] = []
    assigned: dict[str, list[cst.CSTNode]] = {}
    for node in walk(root):
        if isinstance(node, cst.Return) and isinstance(node.value, cst.Tuple) and len(node.value.elements) == 2:
            returned.append(node.value.elements[position].value)
        elif isinstance(node, cst.Assign):
            for target in node.targets:
                if isinstance(target.target, cst.Name):
                    assigned.setdefault(target.target.value, []).append(node.value)
    parts = [n for root_ in returned for n in walk(root_)]
    parts += [n for p in parts if isinstance(p, cst.Name) for v in assigned.get(p.value, ()) for n in walk(v)]
    return frozenset(n.attr.value for n in parts if isinstance(n, cst.Attribute))


def _is_option(argument: cst.Arg, keyword: str, value: str) -> bool:
    given = argument.value
    return (
        argument.keyword is not None
        and argument.keyword.value == keyword
        and isinstance(given, cst.Name)
        and given.value == value
    )


def _last_name(node: cst.BaseExpression) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _strings(node: cst.BaseExpression) -> set[str]:
    if not isinstance(node, cst.List | cst.Tuple):
        return set()
    return {str(string_of(e.value)) for e in node.elements if isinstance(e.value, cst.SimpleString)}


def _annotated(node: cst.ClassDef) -> Iterator[tuple[str, cst.AnnAssign]]:
    for line in node.body.body:
        if isinstance(line, cst.SimpleStatementLine):
            for statement in line.body:
                if isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name):
                    yield statement.target.value, statement


def _converters(node: cst.ClassDef) -> Iterator[tuple[str, cst.BaseExpression]]:
    """``x: Array = field(converter=jnp.asarray)``, by the name of the field."""
    for name, statement in _annotated(node):
        for argument in statement.value.args if isinstance(statement.value, cst.Call) else ():
            if argument.keyword is not None and argument.keyword.value == "converter":
                yield name, argument.value


def _fields(node: cst.ClassDef) -> tuple[tuple[str, cst.BaseExpression | None], ...]:
    return tuple((name, statement.annotation.annotation) for name, statement in _annotated(node))

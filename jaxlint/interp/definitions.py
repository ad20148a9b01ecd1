"""Definitions: functions with their defaults and decorators, classes with their bases and bodies."""

import ast
from collections.abc import Iterator

from jaxlint.interp.classes import find_in_class
from jaxlint.interp.engine import ClassRecord, Engine, expression
from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.heap import DEFINED
from jaxlint.interp.program import FunctionInfo
from jaxlint.interp.scopes import share_names
from jaxlint.interp.syntax import Definition, keyword_of, last_name, targets_of, text_in, walk
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


def define_function(frame: Frame, node: Definition) -> Value:
    """The value of a function definition, its decorators applied."""
    engine = frame.engine
    cls = frame.defining_class
    info = frame.module.function(node, cls.place if cls is not None else None)
    engine.by_place[info.place] = info
    function = Function(info.place, frame.scope.number)
    share_names(frame)
    known = engine.defined_in.setdefault(info.place, [])
    if frame.scope.number not in known:
        known.append(frame.scope.number)
        engine.heap.note_change((info.place, DEFINED))
    _evaluate_defaults(frame, info, function)
    value = of(function)
    for decorator in reversed(node.decorator_list):
        decorating = engine.evaluate(frame, decorator)
        decorated = _decorated(frame, decorator, decorating, Argument(value, node))
        if _replaces(engine, decorated):
            value = decorated
        if not _keeps_parameters(decorating):
            engine.completed.add(info.place)
    return value


_KEEPING = {"abc", "chex", "contextlib", "equinox", "flax", "functools", "haiku", "jax", "jaxtyping", "numpy", "typing"}
"""Libraries whose decorators give no arguments of their own to a function."""


def _keeps_parameters(decorating: Value) -> bool:
    """True of a decorator whose function is called with the arguments of the call alone."""
    bare = [o for p in decorating.objects for o in (p.function.objects if isinstance(p, Partial) else (p,))]
    return bool(bare) and all(isinstance(o, Library) and o.name.partition(".")[0] in _KEEPING for o in bare)


@expression(ast.Lambda)
def _lambda(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Lambda)
    info = frame.module.function(node, None)
    frame.engine.by_place[info.place] = info
    function = Function(info.place, frame.scope.number)
    share_names(frame)
    _evaluate_defaults(frame, info, function)
    return of(function)


def _evaluate_defaults(frame: Frame, info: FunctionInfo, function: Function) -> None:
    for p in info.parameters:
        if p.default is not None:
            frame.engine.heap.write(function, f"default {p.name}", frame.engine.evaluate(frame, p.default))


def _decorated(frame: Frame, decorator: ast.expr, decorating: Value, argument: Argument) -> Value:
    engine = frame.engine
    before, engine.making = engine.making, frame.depth + 2
    try:
        return engine.call(frame, decorator, decorating, [argument])
    finally:
        engine.making = before


def _replaces(engine: Engine, value: Value) -> bool:
    """A decorator that the analysis cannot follow is taken to hand on its function: what it makes of a method too, if
    that has a ``__get__`` of its own."""
    followed = (Function, LibraryObject, Method, Partial, Property, Transformed)
    return any(isinstance(o, followed) or (isinstance(o, Instance) and _is_callable(engine, o)) for o in value.objects)


def _is_callable(engine: Engine, obj: Instance) -> bool:
    return find_in_class(engine, obj.cls, "__call__") is not None and find_in_class(engine, obj.cls, "__get__") is None


def define_class(frame: Frame, node: ast.ClassDef) -> Value:
    """The value of a class definition: its body run in a scope of its own."""
    engine = frame.engine
    place = frame.place(node)
    cls = Class(place, frame.scope.number)
    share_names(frame)
    bases = tuple(engine.evaluate(frame, b.value if isinstance(b, ast.Starred) else b) for b in node.bases)
    for keyword in node.keywords:
        engine.evaluate(frame, keyword.value)
    record = engine.classes.get(cls)
    if record is None:
        scope = engine.new_scope(frame.scope.number, "class")
        record = ClassRecord(cls, node, frame.module, scope, bases, _fields(node), _not_given(node))
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
    inner = frame.elsewhere(record.scope, frame.module)
    inner.defining_class = cls
    engine.execute(inner, node.body)
    record.converters = {name: engine.evaluate(inner, given) for name, given in _converters(node)}
    value = of(cls)
    for decorator in reversed(node.decorator_list):
        decorating = engine.evaluate(frame, decorator)
        decorated = _decorated(frame, decorator, decorating, Argument(value, node))
        if any(isinstance(o, Class | Function | Instance | Partial | Transformed) for o in decorated.objects):
            value = decorated
    return value


def _is_module(base: Value) -> bool:
    """True of a neural network module: its numbers are settings, never leaves."""
    return any(isinstance(o, Library) and o.name.rpartition(".")[2] == "Module" for o in base.objects)


def _static_fields(node: ast.ClassDef) -> frozenset[str]:
    """The fields that a class declares as no leaves: pytree_node=False, static=True, Static[...], meta_fields=[...]."""
    found: set[str] = set()
    for name, statement in _annotated(node):
        value = statement.value
        if is_static_annotation(statement.annotation) or (
            isinstance(value, ast.Call)
            and (
                _is_option(value, "pytree_node", False)
                or _is_option(value, "static", True)
                or "nonpytree" in last_name(value.func)
                or last_name(value.func) == "static_field"
            )
        ):
            found.add(name)
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            found.update(_strings(keyword_of(decorator, "meta_fields")))
    return frozenset(found)


def is_static_annotation(annotation: ast.expr) -> bool:
    """True of ``Static[...]``: what is so annotated is no leaf of a pytree and no tracer."""
    return isinstance(annotation, ast.Subscript) and last_name(annotation.value) == "Static"


def auxiliary_names(root: ast.AST) -> frozenset[str]:
    """The attributes that a flattening function returns as auxiliary data: the second of two values."""
    return _returned_attributes(root, 1)


def child_names(root: ast.AST) -> frozenset[str]:
    """The attributes that a flattening function returns as children, with the private ones that properties show."""
    names = _returned_attributes(root, 0)
    return names | {f"_{name}" for name in names}


def assigned_attributes(root: ast.ClassDef) -> frozenset[str]:
    """The attributes of ``self`` that the methods of a class assign."""
    found: set[str] = set()
    for node in walk(root):
        for target in targets_of(node):
            match target:
                case ast.Attribute(value=ast.Name(id="self"), attr=name):
                    found.add(name)
    return frozenset(found)


def _returned_attributes(root: ast.AST, position: int) -> frozenset[str]:
    """The attributes in one of the two values that a function returns, through the names that they are put under."""
    returned: list[ast.AST] = []
    assigned: dict[str, list[ast.AST]] = {}
    for node in walk(root):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            returned.append(node.value.elts[position])
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(node.value)
    parts = [*walk(returned)]
    parts += [n for p in parts if isinstance(p, ast.Name) for v in assigned.get(p.id, ()) for n in walk(v)]
    methods = {id(n.func) for n in parts if isinstance(n, ast.Call)}
    return frozenset(n.attr for n in parts if isinstance(n, ast.Attribute) and id(n) not in methods)


def _is_option(call: ast.Call, keyword: str, value: bool) -> bool:
    given = keyword_of(call, keyword)
    return isinstance(given, ast.Constant) and given.value is value


def _strings(node: ast.expr | None) -> set[str]:
    if not isinstance(node, ast.List | ast.Tuple):
        return set()
    return {text for element in node.elts if (text := text_in(element)) is not None}


def _annotated(node: ast.ClassDef) -> Iterator[tuple[str, ast.AnnAssign]]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.target.id, statement


def _converters(node: ast.ClassDef) -> Iterator[tuple[str, ast.expr]]:
    """``x: Array = field(converter=jnp.asarray)``, by the name of the field."""
    for name, statement in _annotated(node):
        given = keyword_of(statement.value, "converter") if isinstance(statement.value, ast.Call) else None
        if given is not None:
            yield name, given


def _fields(node: ast.ClassDef) -> tuple[tuple[str, ast.expr | None], ...]:
    return tuple(
        (name, statement.annotation) for name, statement in _annotated(node) if not _is_no_field(statement.annotation)
    )


def _is_no_field(annotation: ast.expr) -> bool:
    """True of what is written as a field and tells something else: ``ClassVar[int]``, and ``KW_ONLY``."""
    text = text_in(annotation)
    if text is not None:
        return text.partition("[")[0].rpartition(".")[2] in _NO_FIELDS
    return last_name(annotation.value if isinstance(annotation, ast.Subscript) else annotation) in _NO_FIELDS


_NO_FIELDS = {"ClassVar", "KW_ONLY"}


def _not_given(node: ast.ClassDef) -> frozenset[str]:
    """The fields that the constructor does not take: ``x: Array = field(init=False)``."""
    return frozenset(
        name
        for name, statement in _annotated(node)
        if isinstance(statement.value, ast.Call) and _is_option(statement.value, "init", False)
    )

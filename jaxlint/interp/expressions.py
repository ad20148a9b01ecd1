"""Expressions: constants, f-strings, names, attributes, subscripts, calls. Each function evaluates a kind of node and
notes the sites of the operation; further kinds are in `operators`, `displays`, `comprehensions`, `generators`,
`definitions`."""

import ast

from jaxlint.interp import effects, uses
from jaxlint.interp.engine import expression
from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.gates import evaluate_gated, gated
from jaxlint.interp.heap import ANY, KEYS, field_names, read
from jaxlint.interp.heat import Gate
from jaxlint.interp.scopes import assign_name, read_name
from jaxlint.interp.syntax import path_of
from jaxlint.interp.values import (
    NONE,
    PYTHON,
    Library,
    Mapping,
    Tuple,
    Value,
    constant,
    of,
)
from jaxlint.sites import Operation

_LONG_TEXT, _LARGE_NUMBER = 200, 10**19
"""What is longer or larger is forgotten: a program's data, and no setting."""


@expression(ast.Constant)
def _constant(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Constant)
    value = node.value
    if value is None:
        return NONE
    if isinstance(value, str | bytes):
        return constant(value if len(value) <= _LONG_TEXT else "")
    if isinstance(value, int):
        return constant(value) if value < _LARGE_NUMBER else PYTHON
    return constant(value) if isinstance(value, float) else PYTHON


@expression(ast.JoinedStr)
def _fstring(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.JoinedStr)
    _format_fields(frame, node)
    return constant("")


def _format_fields(frame: Frame, text: ast.expr | None) -> None:
    """Those of an f-string, or of the format of a field."""
    for part in text.values if isinstance(text, ast.JoinedStr) else ():
        if isinstance(part, ast.FormattedValue):
            value = frame.engine.evaluate(frame, part.value)
            _format_fields(frame, part.format_spec)
            effects.reading(frame, part.value, Operation.FORMAT, "f-string", [(value, part.value)], deep=True)


@expression(*(getattr(ast, name) for name in ("TemplateStr",) if hasattr(ast, name)))
def _template(frame: Frame, node: ast.AST) -> Value:
    """A template keeps what stands in its fields, and formats nothing but their formats."""
    fields = [part for part in ast.iter_child_nodes(node) if not isinstance(part, ast.Constant)]
    parts = [part for field in fields for part in ast.iter_child_nodes(field)]
    return of(Tuple(tuple(frame.engine.evaluate(frame, part) for part in parts)))


@expression(ast.Name)
def _name(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Name)
    return read_name(frame, node.id)


@expression(ast.Attribute)
def _attribute(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Attribute)
    engine = frame.engine
    base = engine.evaluate(frame, node.value)
    refined = _refined(frame, node, base)
    return uses.part(base, engine.attribute(frame, node, base, node.attr)) if refined is None else refined


def _refined(frame: Frame, node: ast.Attribute, base: Value) -> Value | None:
    if isinstance(node.value, ast.Name):
        return frame.state.names.get(f"{node.value.id}.{node.attr}")
    return None


@expression(ast.Subscript)
def _subscript(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Subscript)
    base = frame.engine.evaluate(frame, node.value)
    index, at = evaluate_index(frame, node.slice)
    value: Value | None = None
    if index.const and isinstance(index.const[0], str) and isinstance(node.value, ast.Name | ast.Attribute):
        value = frame.state.names.get(f"{path_of(node.value)}.[{index.const[0]}]")
    if value is None:
        value = frame.engine.subscript(frame, node, base, index, at)
    if value.gate is not Gate.NONE:
        frame.answers[id(node)] = value.gate
    return value


def evaluate_index(frame: Frame, index: ast.expr) -> tuple[Value, ast.AST | None]:
    """The value of what stands in square brackets; a slice is `Library("slice")` with its bounds as a tuple's items."""
    if isinstance(index, ast.Tuple) and not any(isinstance(part, ast.Starred) for part in index.elts):
        return of(Tuple(tuple(frame.engine.evaluate(frame, part) for part in index.elts))), None
    return frame.engine.evaluate(frame, index), index


@expression(ast.Slice)
def _slice(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Slice)
    bounds = (node.lower, node.upper, node.step)
    values = tuple(NONE if b is None else frame.engine.evaluate(frame, b) for b in bounds)
    return of(Library("slice"), Tuple(values))


@expression(ast.NamedExpr)
def _walrus(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.NamedExpr)
    value = gated(frame, node.value, frame.engine.evaluate(frame, node.value))
    if isinstance(node.target, ast.Name):
        assign_name(frame, node.target.id, value)
    return value


@expression(ast.Call)
def _call(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Call)
    engine = frame.engine
    callee = engine.evaluate(frame, node.func)
    arguments: list[Argument] = []
    for arg in node.args:
        given = arg.value if isinstance(arg, ast.Starred) else arg
        value = evaluate_gated(frame, given)
        if given is arg:
            arguments.append(Argument(value, given))
        elif (items := engine.unpack_star(value)) is not None:
            arguments.extend(Argument(v, given) for v in items)
        else:
            arguments.append(Argument(value, given, None, "*"))
    for keyword in node.keywords:
        value = evaluate_gated(frame, keyword.value)
        if keyword.arg is not None:
            arguments.append(Argument(value, keyword.value, keyword.arg))
        elif (known := _known_keywords(frame, value)) is not None:
            arguments.extend(Argument(v, keyword.value, k) for k, v in known.items())
        else:
            arguments.append(Argument(value, keyword.value, None, "**"))
    if isinstance(node.func, ast.Attribute) and callee.unknown and not callee.objects and not callee.kind:
        # A method of nobody knows what: it may be any that has this name and no other caller.
        engine.unresolved.setdefault(node.func.attr, set()).add((frame.activation.number, frame.pace))
    result = uses.fetched(frame, node, engine.call(frame, node, callee, arguments))
    if result.gate is not Gate.NONE:
        frame.answers[id(node)] = result.gate
    return result


def _known_keywords(frame: Frame, value: Value) -> dict[str, Value] | None:
    if len(value.objects) != 1 or value.kind or value.unknown:
        return None
    (obj,) = value.objects
    if not isinstance(obj, Mapping):
        return None
    names = field_names(frame.engine.heap, obj)
    if ANY in names or KEYS in names:
        return None
    return {n: v for n in names if (v := read(frame.engine.heap, obj, n)) is not None}

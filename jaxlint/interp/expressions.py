"""Expressions: one function a kind of node, each giving the value and noting the sites of the operation."""

from collections.abc import Sequence as Seq

import libcst as cst

from jaxlint.interp import effects, uses
from jaxlint.interp.engine import Argument, Frame, expression
from jaxlint.interp.heap import ANY, KEYS, field_names, read
from jaxlint.interp.heat import Gate
from jaxlint.interp.literals import string_of
from jaxlint.interp.program import path_of
from jaxlint.interp.scopes import assign_name, read_name
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


@expression(cst.Integer, cst.Float, cst.Imaginary)
def _number(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.Integer | cst.Float | cst.Imaginary)
    text = node.value.replace("_", "")
    try:
        if isinstance(node, cst.Integer):
            return constant(int(text, 0)) if len(text) < 20 else PYTHON
        return constant(float(text)) if isinstance(node, cst.Float) else PYTHON
    except ValueError:
        return PYTHON


@expression(cst.SimpleString)
def _string(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.SimpleString)
    return constant(string_of(node) if len(node.value) <= 200 else "")


@expression(cst.ConcatenatedString)
def _strings(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.ConcatenatedString)
    frame.engine.evaluate(frame, node.left)
    frame.engine.evaluate(frame, node.right)
    return constant("")


@expression(cst.FormattedString)
def _fstring(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.FormattedString)
    for part in node.parts:
        if isinstance(part, cst.FormattedStringExpression):
            _format_field(frame, part)
    return constant("")


def _format_field(frame: Frame, part: cst.FormattedStringExpression) -> None:
    value = frame.engine.evaluate(frame, part.expression)
    for inner in part.format_spec or ():
        if isinstance(inner, cst.FormattedStringExpression):
            _format_field(frame, inner)
    effects.reading(frame, part.expression, Operation.FORMAT, "f-string", [(value, part.expression)], deep=True)


@expression(cst.Name)
def _name(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.Name)
    match node.value:
        case "None":
            return NONE
        case "True":
            return constant(True)
        case "False":
            return constant(False)
    return read_name(frame, node.value)


@expression(cst.Ellipsis)
def _ellipsis(frame: Frame, node: cst.CSTNode) -> Value:
    return PYTHON


@expression(cst.Attribute)
def _attribute(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.Attribute)
    engine = frame.engine
    base = engine.evaluate(frame, node.value)
    refined = _refined(frame, node, base)
    return uses.part(base, engine.attribute(frame, node, base, node.attr.value)) if refined is None else refined


def _refined(frame: Frame, node: cst.Attribute, base: Value) -> Value | None:
    if isinstance(node.value, cst.Name):
        return frame.state.names.get(f"{node.value.value}.{node.attr.value}")
    return None


@expression(cst.Subscript)
def _subscript(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.Subscript)
    base = frame.engine.evaluate(frame, node.value)
    index, at = evaluate_index(frame, node.slice)
    if index.const and isinstance(index.const[0], str) and isinstance(node.value, cst.Name | cst.Attribute):
        refined = frame.state.names.get(f"{path_of(node.value)}.[{index.const[0]}]")
        if refined is not None:
            return refined
    return frame.engine.subscript(frame, node, base, index, at)


def evaluate_index(frame: Frame, elements: Seq[cst.SubscriptElement]) -> tuple[Value, cst.CSTNode | None]:
    """The value of what stands in square brackets; a slice is `Library("slice")` with its bounds as a tuple's items."""
    found: list[Value] = []
    for element in elements:
        part = element.slice
        if isinstance(part, cst.Index):
            found.append(frame.engine.evaluate(frame, part.value))
        else:
            assert isinstance(part, cst.Slice)
            bounds = (part.lower, part.upper, part.step)
            values = tuple(NONE if b is None else frame.engine.evaluate(frame, b) for b in bounds)
            found.append(of(Library("slice"), Tuple(values)))
    if len(elements) == 1:
        part = elements[0].slice
        return found[0], part.value if isinstance(part, cst.Index) else part
    return of(Tuple(tuple(found))), None


@expression(cst.NamedExpr)
def _walrus(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.NamedExpr)
    value = frame.engine.evaluate(frame, node.value)
    if isinstance(node.target, cst.Name):
        assign_name(frame, node.target.value, value)
    return value


@expression(cst.Call)
def _call(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.Call)
    engine = frame.engine
    callee = engine.evaluate(frame, node.func)
    arguments: list[Argument] = []
    for arg in node.args:
        value = engine.evaluate(frame, arg.value)
        keyword = arg.keyword.value if arg.keyword is not None else None
        if arg.star == "*" and (items := engine.unpack_star(value)) is not None:
            arguments.extend(Argument(v, arg.value) for v in items)
        elif arg.star == "**" and (known := _known_keywords(frame, value)) is not None:
            arguments.extend(Argument(v, arg.value, k) for k, v in known.items())
        else:
            arguments.append(Argument(value, arg.value, keyword, arg.star))
    if isinstance(node.func, cst.Attribute) and callee.unknown and not callee.objects and not callee.kind:
        # A method of nobody knows what: it may be any that has this name and no other caller.
        engine.unresolved.setdefault(node.func.attr.value, set()).add((frame.activation.number, frame.pace))
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

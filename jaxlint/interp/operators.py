"""Operators: arithmetic, comparison, and, or, not, if-else; what they read and upload."""

import ast
import operator as order
from collections.abc import Callable

from jaxlint.interp import devices, effects, uses
from jaxlint.interp.engine import expression
from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.gates import gate_of, gate_of_all
from jaxlint.interp.heap import base_of, element_of, field_names, is_container
from jaxlint.interp.heat import Gate, Pace
from jaxlint.interp.joining import join
from jaxlint.interp.library import fresh_array
from jaxlint.interp.mappings import doubted_array
from jaxlint.interp.narrowing import is_of_type, narrow
from jaxlint.interp.sequences import concatenated, repeated
from jaxlint.interp.values import (
    NOTHING,
    NULL,
    PYTHON,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Library,
    Mapping,
    Method,
    Null,
    Partial,
    Sequence,
    Stream,
    Tuple,
    Value,
    constant,
    of,
    replace,
    without_none,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Confidence, Operation

_PRECEDENCE = (Kind.TRACER, Kind.DEVICE, Kind.NUMPY, Kind.PYTHON)


_COMBINED: dict[tuple[Kind, Kind], Kind] = {}


def combined(a: Kind, b: Kind) -> Kind:
    """Where the result of arithmetic lives: each pair of places gives the stronger of the two."""
    known = _COMBINED.get((a, b))
    if known is None:
        known = Kind(0)
        for x in a:
            for y in b:
                known |= next(k for k in _PRECEDENCE if k in (x, y))
        _COMBINED[a, b] = known
    return known


def arithmetic(
    frame: Frame, node: ast.AST, left: Value, right: Value, nodes: tuple[ast.AST, ast.AST], sign: str
) -> Value:
    """The value of a binary operation on arrays and scalars; notes uploads of NumPy data and of scalars."""
    left, right = without_none(left), without_none(right)
    kind = combined(left.kind, right.kind)
    unknown = left.unknown or right.unknown
    if left.kind and not right.kind and not right.objects and right.unknown:
        kind |= left.kind & ARRAY
    if right.kind and not left.kind and not left.objects and left.unknown:
        kind |= right.kind & ARRAY
    if (left.objects or right.objects) and (left.kind | right.kind) & ARRAY:
        kind |= (left.kind | right.kind) & ARRAY
    if not kind & ARRAY:
        if not kind and (unknown or not (left.is_nothing or right.is_nothing)):
            return UNKNOWN
        return Value(kind, unknown=unknown, boolean=left.boolean and right.boolean)
    if frame.staged:
        effects.capture(frame, left)
        effects.capture(frame, right)
    _mixed(frame, node, left, right, nodes)
    message = f"the result of {sign!r} with a device array is a device array"
    firm = kind & ARRAY == kind and (left.known(kind) or right.known(kind))
    out = fresh_array(frame, node, kind, message)
    source = left if left.kind & ARRAY else right
    if source.origin is not None:
        out = replace(out, origin=frame.origin(node, message, source))
    boolean = left.boolean and right.boolean
    placement = devices.meet(frame, node, ((left, nodes[0]), (right, nodes[1])))
    return replace(out, boolean=boolean, unknown=unknown and not firm, placement=placement)


def _mixed(frame: Frame, node: ast.AST, left: Value, right: Value, nodes: tuple[ast.AST, ast.AST]) -> None:
    if frame.staged or (not frame.concrete and (left.kind | right.kind) & Kind.TRACER):
        return
    for host, device, at in ((left, right, nodes[0]), (right, left, nodes[1])):
        if not device.kind & ARRAY:
            continue
        if host.kind & Kind.NUMPY and not host.kind & ARRAY:
            if effects.sureness(device, ARRAY) is not Confidence.LOW:
                effects.upload(frame, node, Operation.MIXED, None, ((host, at),), [host], beside=device)
        elif host.known(Kind.PYTHON):
            effects.record(frame, node, Operation.SCALAR_OPERAND, None, ((host, at),))


@expression(ast.BinOp)
def _binary(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.BinOp)
    left = frame.engine.evaluate(frame, node.left)
    right = frame.engine.evaluate(frame, node.right)
    return binary(frame, node, left, right, node.op, (node.left, node.right))


def binary(
    frame: Frame,
    node: ast.AST,
    left: Value,
    right: Value,
    operator: ast.operator,
    nodes: tuple[ast.AST, ast.AST],
) -> Value:
    """A binary operation of any operator, strings, lists and tuples included."""
    name = type(operator).__name__
    own = _by_method(frame, node, name, left, right, nodes)
    if own is not None:
        return own
    if name == "Mod" and left.const and isinstance(left.const[0], str | bytes):
        effects.reading(frame, node, Operation.FORMAT, "%", [(right, nodes[1])], deep=True)
        return constant("")
    if name == "Mult":
        for text, number, at in ((left, right, nodes[1]), (right, left, nodes[0])):
            if (text.const and isinstance(text.const[0], str)) or (is_container(text) and not text.kind):
                effects.reading(frame, node, Operation.INDEX, "repetition", [(number, at)])
                return repeated(frame, text, number)
    if name == "Add" and any(v.const and isinstance(v.const[0], str) for v in (left, right)):
        folded = _fold(name, left.const[0], right.const[0]) if left.const and right.const else None
        return constant("") if folded is None else folded
    if name == "Add" and left.objects and right.objects:
        joined = concatenated(frame, node, left, right)
        if joined is not None:
            return joined
    if left.const and right.const and not left.objects and not right.objects:
        folded = _fold(name, left.const[0], right.const[0])
        if folded is not None:
            return folded
    if name in {"BitAnd", "BitOr", "BitXor"} and left.objects and right.objects and not left.kind and not right.kind:
        return join(left, right)
    result = arithmetic(frame, node, left, right, nodes, _SIGNS.get(name, name))
    return uses.operated(frame, node, left, right, result)


_METHODS = {
    "Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "Mod": "mod", "Pow": "pow",
    "MatMult": "matmul", "BitAnd": "and", "BitOr": "or", "BitXor": "xor", "LShift": "lshift", "RShift": "rshift",
    "Eq": "eq", "NotEq": "ne", "Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge",
}  # fmt: skip


def _by_method(
    frame: Frame, node: ast.AST, name: str, left: Value, right: Value, nodes: tuple[ast.AST, ast.AST]
) -> Value | None:
    """An operation on instances of the project's classes, by their own methods; None where they have none."""
    word = _METHODS.get(name)
    for prefix, value, other, at in (("", left, right, nodes[1]), ("r", right, left, nodes[0])):
        out = None if word is None else _own_method(frame, node, f"__{prefix}{word}__", value, Argument(other, at))
        if out is not None:
            return out
    return None


def in_place(frame: Frame, node: ast.AugAssign, left: Value, right: Value) -> Value | None:
    """``x += y`` of instances that have a method for it; None where they have none."""
    word = _METHODS[type(node.op).__name__]
    return _own_method(frame, node, f"__i{word}__", left, Argument(right, node.value))


def _own_method(frame: Frame, node: ast.AST, name: str, value: Value, other: Argument) -> Value | None:
    out: Value | None = None
    for obj in () if value.kind or value.unknown else value.objects:
        if isinstance(base_of(obj), Instance):
            method = frame.engine.attribute(frame, node, of(obj), name)
            if method.objects:
                result = frame.engine.call(frame, node, method, [other])
                out = result if out is None else join(out, result)
    return out


_SIGNS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
    "BitAnd": "&", "BitOr": "|", "BitXor": "^", "LShift": "<<", "RShift": ">>",
}  # fmt: skip


def _fold(name: str, a: object, b: object) -> Value | None:
    if isinstance(a, str) and isinstance(b, str):
        return constant(a + b) if name == "Add" and len(a) + len(b) < 200 else constant("")
    if type(a) is int and type(b) is int and abs(a) < 1 << 31 and abs(b) < 1 << 31:
        match name:
            case "Add":
                return constant(a + b)
            case "Sub":
                return constant(a - b)
            case "Mult":
                return constant(a * b)
    return None


@expression(ast.UnaryOp)
def _unary(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.UnaryOp)
    value = frame.engine.evaluate(frame, node.operand)
    if isinstance(node.op, ast.Not):
        truth = frame.engine.truth(frame, node.operand, value)
        return PYTHON if truth is None else constant(not truth)
    if isinstance(node.op, ast.USub) and value.const and type(value.const[0]) in (int, float):
        number = value.const[0]
        return constant(-number) if isinstance(number, int | float) else PYTHON
    if value.kind & ARRAY:
        out = fresh_array(frame, node, value.kind, "a device array, negated")
        return replace(out, origin=value.origin or out.origin, boolean=value.boolean, unknown=value.unknown)
    return replace(value, const=(), tokens=frozenset())


@expression(ast.BoolOp)
def _boolean(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.BoolOp)
    engine = frame.engine
    is_and = isinstance(node.op, ast.And)
    left = last = engine.evaluate(frame, node.values[0])
    for n, operand in enumerate(node.values[1:], 1):
        truth = engine.truth(frame, node.values[n - 1], left, last)
        if truth is not None and truth != is_and:
            return left
        if frame.traced and not frame.concrete and last.known(Kind.TRACER) and not frame.tolerant:
            return left  # asking for its truth is an error: nothing asks for the rest
        after_left = frame.state.copy()
        for before in node.values[:n]:
            narrow(frame, before, positive=is_and)
        gate = Gate.NONE if frame.staged else gate_of_all(frame, node.op, node.values[:n])
        with frame.at_pace(Pace.GATED if gate is (Gate.PASSED if is_and else Gate.FAILED) else Pace.ONCE):
            last = engine.evaluate(frame, operand)
        frame.state.merge(after_left)
        left = last if truth is not None else join(left if is_and else without_none(left), last)
    frame.rights[id(node)] = last
    return left


@expression(ast.Compare)
def _comparison(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.Compare)
    engine = frame.engine
    answer = is_of_type(frame, node)
    if answer is not None:
        return constant(answer)
    left, left_node = engine.evaluate(frame, node.left), node.left
    chained = len(node.ops) > 1
    out = NOTHING
    for n, (operator, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = engine.evaluate(frame, right_node)
        value = _compare(frame, node, operator, left, right, (left_node, right_node))
        if not isinstance(operator, ast.Is | ast.IsNot | ast.In | ast.NotIn):
            value = uses.operated(frame, node, left, right, value, compared=True)
        if chained and n < len(node.ops) - 1:
            effects.reading(frame, node, Operation.REDUCE, "chained comparison", [(value, node)])
            value = replace(value, const=())
        out = value if not chained else join(out, value)
        left, left_node = right, right_node
    return out


_ORDER: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: order.lt, ast.LtE: order.le, ast.Gt: order.gt, ast.GtE: order.ge,
}  # fmt: skip


def _compare(
    frame: Frame,
    node: ast.AST,
    operator: ast.cmpop,
    left: Value,
    right: Value,
    nodes: tuple[ast.expr, ast.expr],
) -> Value:
    if isinstance(operator, ast.Is | ast.IsNot):
        return _identity(left, right, isinstance(operator, ast.IsNot))
    if isinstance(operator, ast.In | ast.NotIn):
        answer = _is_member(frame, left, right)
        if answer is not None:
            return constant(answer is isinstance(operator, ast.In))
        return _membership(frame, node, left, doubted_array(frame, nodes[1], right), nodes)
    own = _by_method(frame, node, type(operator).__name__, left, right, nodes)
    if own is not None:
        return own
    if left.const and right.const and isinstance(operator, ast.Eq | ast.NotEq):
        a, b = left.const[0], right.const[0]
        if isinstance(a, str | int | bool | None) and isinstance(b, str | int | bool | None) and a != "" and b != "":
            return constant((a == b) is isinstance(operator, ast.Eq))
    if any(v.const and isinstance(v.const[0], str) for v in (left, right)):
        return PYTHON
    if left.const and right.const and isinstance(left.const[0], int) and isinstance(right.const[0], int):
        return constant(_ORDER[type(operator)](left.const[0], right.const[0]))
    if isinstance(operator, ast.Eq | ast.NotEq) and (_is_no_operand(left) or _is_no_operand(right)):
        return PYTHON  # an array leaves the comparison to the other side, and that one compares identities
    if (left.objects or right.objects) and not (left.kind | right.kind) & ARRAY:
        if left.unknown or right.unknown:
            return UNKNOWN
        return Value(Kind.PYTHON | ((left.kind | right.kind) & Kind.NUMPY))
    out = arithmetic(frame, node, left, right, nodes, "comparison")
    return replace(out, boolean=bool(out.kind & (ARRAY | Kind.NUMPY)), const=())


def _is_no_operand(value: Value) -> bool:
    """True of None, functions, classes and marks of libraries, with which an array does not compute."""
    kinds = Null | Function | Class | Method | Partial | Library
    plain = bool(value.objects) and not value.kind and not value.unknown
    return plain and all(isinstance(o, kinds) for o in value.objects)


def _identity(left: Value, right: Value, negated: bool) -> Value:
    for a, b in ((left, right), (right, left)):
        if b.none_only:
            if a.none_only:
                return constant(not negated)
            # A host value of which nothing more is known (a setting, a flag) may well be None.
            if NULL not in a.objects and not a.unknown and (a.objects or a.const or a.kind & (ARRAY | Kind.NUMPY)):
                return constant(negated)
    return PYTHON


def _is_member(frame: Frame, left: Value, right: Value) -> bool | None:
    """The answer of ``x in y`` for a text in a text and in few literals, and for anything in nothing; else None."""
    if len(right.objects) == 1 and not right.kind and not right.unknown:
        (obj,) = right.objects
        if isinstance(obj, Sequence | Mapping) and not field_names(frame.engine.heap, obj):
            return False
        if isinstance(obj, Tuple) and _is_text(left) and all(_is_text(v) for v in obj.items):
            return any(left.const == v.const for v in obj.items)
    return left.const[0] in right.const[0] if _is_text(left) and _is_text(right) else None  # type: ignore[operator]


def _is_text(value: Value) -> bool:
    """True of a string that is known: an empty one stands for any."""
    return bool(value.const) and isinstance(value.const[0], str) and value.const[0] != ""


def _membership(frame: Frame, node: ast.AST, left: Value, right: Value, nodes: tuple[ast.expr, ast.expr]) -> Value:
    if (left.const and isinstance(left.const[0], str)) or left.none_only:
        return PYTHON  # a key of a mapping, or a part of a string; None equals nothing but itself, whatever is asked
    operands: list[tuple[Value, ast.AST | None]] = []
    for obj in right.objects:
        if isinstance(base_of(obj), Instance):
            method = frame.engine.attribute(frame, node, of(obj), "__contains__")
            if method.objects:
                frame.engine.call(frame, node, method, [Argument(left, nodes[0])])
        elif isinstance(obj, Sequence | Tuple | Stream):
            element = element_of(frame.engine.heap, of(obj))
            if left.kind & ARRAY or element.kind & ARRAY:
                operands = [(left, nodes[0]), (element, nodes[1])]
    # A key is looked up in what may be a dict: that it may be an array as well is how its branches look from here.
    keyed = left.unknown or not left.kind or any(isinstance(base_of(o), Mapping) for o in right.objects)
    if right.kind & ARRAY and not right.unknown and not keyed:
        operands = [(arithmetic(frame, node, left, right, nodes, "in"), node)]
    if operands:
        effects.reading(frame, node, Operation.REDUCE, "in", operands)
    return PYTHON


@expression(ast.IfExp)
def _conditional(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.IfExp)
    engine = frame.engine
    test = engine.evaluate(frame, node.test)
    truth = engine.truth(frame, node.test, test)
    before = frame.state.copy()
    out = NOTHING
    gate = Gate.NONE if frame.staged else gate_of(frame, node.test)
    if truth is not False:
        narrow(frame, node.test, positive=True)
        with frame.at_pace(Pace.GATED if gate is Gate.PASSED else Pace.ONCE):
            out = engine.evaluate(frame, node.body)
    after = frame.state
    frame.state = before
    if truth is not True:
        narrow(frame, node.test, positive=False)
        with frame.at_pace(Pace.GATED if gate is Gate.FAILED else Pace.ONCE):
            out = join(out, engine.evaluate(frame, node.orelse))
        after.merge(frame.state)
    frame.state = after
    return out

"""Tests in other words: a function of the project that returns a test, a test of the elements of something, of a type.

This module takes such tests apart; `narrowing` says what follows when they hold.
"""

from dataclasses import dataclass

import libcst as cst

from jaxlint.interp.engine import Frame
from jaxlint.interp.program import path_of, walk
from jaxlint.interp.values import Function


@dataclass(frozen=True, slots=True)
class Opened:
    """The call of a function that does nothing but return a test.

    `frame` is where the test is looked at, with the arguments under the names of the parameters; `given` are the
    arguments as the caller writes them.
    """

    frame: Frame
    test: cst.BaseExpression
    given: tuple[tuple[str, cst.BaseExpression], ...]


@dataclass(frozen=True, slots=True)
class OfElements:
    """``any(isinstance(x, C) for x in leaves(tree))``: the class that is asked for, and the names asked about."""

    wanted: cst.BaseExpression
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OfType:
    """``type(x) == C``, `negated` where it is ``!=`` or ``is not``."""

    subject: cst.BaseExpression
    wanted: cst.BaseExpression
    negated: bool


def opened(frame: Frame, call: cst.Call) -> Opened | None:
    """The test that a called function returns; None where it does anything else."""
    if not isinstance(call.func, cst.Name | cst.Attribute) or any(a.star for a in call.args):
        return None
    key = path_of(call.func)
    if key is None or frame.depth > MAX_OPENED:
        return None
    engine = frame.engine
    functions = [o for o in engine.evaluate(frame, call.func).objects if isinstance(o, Function)]
    info = engine.by_place.get(functions[0].place) if len(functions) == 1 else None
    test = None if info is None else _returned(info.node)
    if info is None or test is None:
        return None
    names = [p.name for p in info.parameters if p.kind in {"positional", "keyword"}]
    given = tuple(
        (a.keyword.value if a.keyword is not None else names[n], a.value)
        for n, a in enumerate(call.args)
        if a.keyword is not None or n < len(names)
    )
    inner = Frame(
        engine=engine,
        activation=frame.activation,
        scope=engine.scopes[functions[0].scope],
        module=info.module,
        mode=frame.mode,
        state=type(frame.state)({name: engine.evaluate(frame, node) for name, node in given}),
        depth=frame.depth + 1,
        traced=frame.traced,
    )
    return Opened(inner, test, given)


MAX_OPENED = 30
"""So many calls deep a test is still looked into, so that one that asks itself ends."""


def _returned(node: cst.FunctionDef | cst.Lambda) -> cst.BaseExpression | None:
    """The test that is all of a function, but for a text that says what it is for."""
    if isinstance(node, cst.Lambda):
        return node.body if isinstance(node.body, cst.Call | cst.Comparison) else None
    lines = node.body.body
    if not 1 <= len(lines) <= 2 or not isinstance(lines[-1], cst.SimpleStatementLine):
        return None
    last = lines[-1].body[0]
    if len(lines) == 2 and not _is_text(lines[0]):
        return None
    if not isinstance(last, cst.Return):
        return None
    kinds = cst.Call | cst.Comparison | cst.BooleanOperation | cst.UnaryOperation
    return last.value if isinstance(last.value, kinds) else None


def _is_text(line: cst.CSTNode) -> bool:
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Expr):
        return False
    return isinstance(line.body[0].value, cst.SimpleString | cst.ConcatenatedString)


def of_elements(call: cst.Call) -> OfElements | None:
    """The test of the elements of something that a call of ``any`` is, else None."""
    if not (isinstance(call.func, cst.Name) and call.func.value == "any" and len(call.args) == 1):
        return None
    made = call.args[0].value
    if not isinstance(made, cst.GeneratorExp | cst.ListComp) or made.for_in.inner_for_in is not None:
        return None
    asked, target = made.elt, made.for_in.target
    if not (isinstance(asked, cst.Call) and isinstance(asked.func, cst.Name) and asked.func.value == "isinstance"):
        return None
    subject = asked.args[0].value if len(asked.args) == 2 else None
    if not (isinstance(subject, cst.Name) and isinstance(target, cst.Name) and subject.value == target.value):
        return None
    names = tuple({n.value: None for n in walk(made.for_in.iter) if isinstance(n, cst.Name)})
    return OfElements(asked.args[1].value, names)


def of_type(test: cst.Comparison) -> OfType | None:
    """The test of a type that a comparison is, else None."""
    operator, left = test.comparisons[0].operator, test.left
    if len(test.comparisons) > 1 or not isinstance(operator, cst.Equal | cst.NotEqual | cst.Is | cst.IsNot):
        return None
    if not (isinstance(left, cst.Call) and isinstance(left.func, cst.Name) and left.func.value == "type"):
        return None
    if len(left.args) != 1 or left.args[0].star:
        return None
    return OfType(left.args[0].value, test.comparisons[0].comparator, isinstance(operator, cst.NotEqual | cst.IsNot))

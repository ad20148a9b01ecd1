"""Tests in other words: a function of the project that returns a test, a test of the elements of something, of a type.

This module takes such tests apart; `narrowing` says what follows when they hold.
"""

import ast
from dataclasses import dataclass

from jaxlint.interp.frames import Frame
from jaxlint.interp.syntax import Function as Syntax
from jaxlint.interp.syntax import only_argument, path_of, text_in, walk
from jaxlint.interp.values import Function


@dataclass(frozen=True, slots=True)
class Opened:
    """The call of a function that does nothing but return a test.

    `frame` is where the test is looked at, with the arguments under the names of the parameters; `given` are the
    arguments as the caller writes them.
    """

    frame: Frame
    test: ast.expr
    given: tuple[tuple[str, ast.expr], ...]


@dataclass(frozen=True, slots=True)
class OfElements:
    """``any(isinstance(x, C) for x in leaves(tree))``: the class that is asked for, and the names asked about."""

    wanted: ast.expr
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OfType:
    """``type(x) == C``, `negated` where it is ``!=`` or ``is not``."""

    subject: ast.expr
    wanted: ast.expr
    negated: bool


def opened(frame: Frame, call: ast.Call) -> Opened | None:
    """The test that a called function returns; None where it does anything else."""
    if (
        not isinstance(call.func, ast.Name | ast.Attribute)
        or any(isinstance(a, ast.Starred) for a in call.args)
        or any(k.arg is None for k in call.keywords)
    ):
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
    given = (*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg is not None))
    names_given = {name: engine.evaluate(frame, node) for name, node in given}
    inner = frame.elsewhere(engine.scopes[functions[0].scope], info.module, names_given)
    inner.depth += 1
    return Opened(inner, test, given)


MAX_OPENED = 30
"""So many calls deep a test is still looked into, so that one that asks itself ends."""


def _returned(node: Syntax) -> ast.expr | None:
    """The test that is all of a function, but for a text that says what it is for."""
    if isinstance(node, ast.Lambda):
        return node.body if isinstance(node.body, ast.Call | ast.Compare) else None
    last = node.body[-1]
    if len(node.body) > 2 or (len(node.body) == 2 and not _is_text(node.body[0])) or not isinstance(last, ast.Return):
        return None
    kinds = ast.Call | ast.Compare | ast.BoolOp | ast.UnaryOp
    return last.value if isinstance(last.value, kinds) else None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and text_in(node.value) is not None


def of_elements(call: ast.Call) -> OfElements | None:
    """The test of the elements of something that a call of ``any`` is, else None."""
    made = only_argument(call) if isinstance(call.func, ast.Name) and call.func.id == "any" else None
    if not isinstance(made, ast.GeneratorExp | ast.ListComp) or len(made.generators) > 1:
        return None
    match made.elt, made.generators[0].target:
        case (
            ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=subject), wanted], keywords=[]),
            ast.Name(id=target),
        ) if subject == target:
            names = {n.id: None for n in walk(made.generators[0].iter) if isinstance(n, ast.Name)}
            return OfElements(wanted, tuple(names))
    return None


def of_type(test: ast.Compare) -> OfType | None:
    """The test of a type that a comparison is, else None."""
    operator, left = test.ops[0], test.left
    if len(test.ops) > 1 or not isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
        return None
    if not (isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "type"):
        return None
    subject = only_argument(left)
    if subject is None:
        return None
    return OfType(subject, test.comparators[0], isinstance(operator, ast.NotEq | ast.IsNot))

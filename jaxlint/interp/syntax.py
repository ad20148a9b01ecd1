"""Syntax: what one look at a node of Python's tree tells. Knows nothing of the program that it is part of."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

_SKIPPED = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
Suite = Sequence[ast.stmt]
Definition = ast.FunctionDef | ast.AsyncFunctionDef
Function = Definition | ast.Lambda
For = ast.For | ast.AsyncFor
Loop = For | ast.While
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
FUNCTIONS = (*DEFINITIONS, ast.Lambda)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


_MATTERS: dict[type, bool] = {}


def _matters(kind: type) -> bool:
    known = _MATTERS.get(kind)
    if known is None:
        known = _MATTERS[kind] = issubclass(kind, ast.AST) and not issubclass(kind, _SKIPPED)
    return known


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The syntax below a node that can matter to a meaning: no operators, and nothing of how a name is used."""
    for name in node._fields:
        value: Any = getattr(node, name, None)
        if type(value) is list:
            for item in value:
                if _matters(type(item)):
                    yield item
        elif _matters(type(value)):
            yield value


def walk(root: ast.AST | Iterable[ast.AST]) -> Iterator[ast.AST]:
    """A node, or several, and all that can matter below, in the order of the source."""
    todo = [root] if isinstance(root, ast.AST) else [*root][::-1]
    while todo:
        node = todo.pop()
        yield node
        todo.extend([*children(node)][::-1])


def text_in(node: ast.AST | None) -> str | None:
    """The text that a string literal holds; None of what is none."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_none(node: ast.AST | None) -> bool:
    """True of the literal None."""
    return isinstance(node, ast.Constant) and node.value is None


def last_name(node: ast.AST) -> str:
    """The last part of a dotted name, an empty text where it is none."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def keyword_of(call: ast.Call, name: str) -> ast.expr | None:
    """The argument that a call gives under a keyword."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def targets_of(node: ast.AST) -> Sequence[ast.expr]:
    """What a statement assigns to, but for what it adds to."""
    if isinstance(node, ast.Assign):
        return node.targets
    return (node.target,) if isinstance(node, ast.AnnAssign) else ()


def only_argument(call: ast.Call) -> ast.expr | None:
    """The one argument of a call that has but one, and that by its position."""
    alone = len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred)
    return call.args[0] if alone else None


def path_of(node: ast.AST) -> str | None:
    """The dotted name under which a state may know a value: a name, an attribute of one, what ``:=`` names."""
    if isinstance(node, ast.NamedExpr):
        node = node.target
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else None


def bind(target: ast.AST, into: set[str]) -> None:
    """Add the plain names that an assignment target binds."""
    if isinstance(target, ast.Name):
        into.add(target.id)
    elif isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            bind(element, into)
    elif isinstance(target, ast.Starred):
        bind(target.value, into)

"""Pieces of a syntax tree that call marks, each at the place of what it stands for.

The names are looked up among the builtins, so that no module's namespace changes; they end in underscores, so that
class bodies do not mangle them.
"""

import ast
import sys
from collections.abc import Iterable
from typing import TypeVar

from .plan import Mark

BEGIN, ALSO, OPEN, END, LATER, TRUTH, MATCH, CHOOSE, HAND, ATTEMPT, RAISED, HOLD = (
    f"__jaxlint_{word}__"
    for word in (
        "begin",
        "also",
        "open",
        "end",
        "later",
        "truth",
        "match",
        "choose",
        "hand",
        "attempt",
        "raised",
        "hold",
    )
)
OPERATOR = "__jaxlint_operator__"
# From here on comprehensions are no functions of their own.
INLINES = sys.version_info >= (3, 12)

_Node = TypeVar("_Node", bound=ast.AST)


def compared(numbers: ast.Constant, value: ast.expr) -> ast.expr:
    """A value that marks compare, told from one another by where the frame stands."""
    return at(ast.Call(name(MATCH, value), [at(numbers, first(value)), value], []), value)


def guarded(node: ast.stmt, ends: list[ast.stmt]) -> ast.stmt:
    """The statement in a ``try``. `raised` may fail where an exception left it no frame to run in."""
    told = ast.Try([ast.Expr(ast.Call(ast.Name(RAISED, ast.Load()), [], []))], [_handler([ast.Pass()])], [], [])
    return ast.Try([node, *ends], [_handler([told, ast.Raise(None, None)])], [], [])


def _handler(body: list[ast.stmt]) -> ast.ExceptHandler:
    return ast.ExceptHandler(None, None, body)


def ends(marks: Iterable[Mark]) -> list[ast.stmt]:
    """Statements that end marks."""
    return [ast.Expr(end(mark.number)) for mark in marks]


def end(number: int) -> ast.expr:
    """A call that ends a mark without a result."""
    return ast.Call(ast.Name(END, ast.Load()), [ast.Constant(number), ast.Constant(None)], [])


def call(mark: str, number: int, value: ast.expr, where: ast.AST) -> ast.expr:
    """A value handed through what has this name among the builtins, at the place of `where`."""
    return at(ast.Call(name(mark, value), [at(ast.Constant(number), first(value)), value], []), where)


def name(word: str, value: ast.expr) -> ast.expr:
    """A name that is looked up just before a value is evaluated, at the place of that."""
    return at(ast.Name(word, ast.Load()), first(value))


def first(node: ast.AST) -> ast.AST:
    """The part of an expression that is evaluated first."""
    match node:
        case ast.Call(func=part) | ast.Attribute(value=part) | ast.Subscript(value=part) | ast.Starred(value=part):
            return first(part)
        case ast.BinOp(left=part) | ast.Compare(left=part) | ast.IfExp(test=part) | ast.UnaryOp(operand=part):
            return first(part)
        case ast.BoolOp(values=[part, *_]) | ast.Tuple(elts=[part, *_]) | ast.List(elts=[part, *_]):
            return first(part)
        case ast.Set(elts=[part, *_]) | ast.NamedExpr(value=part) | ast.Await(value=part):
            return first(part)
        case ast.ListComp(generators=[loop, *_]) | ast.SetComp(generators=[loop, *_]) if INLINES:
            return first(loop.iter)
        case ast.DictComp(generators=[loop, *_]) if INLINES:
            return first(loop.iter)
    return node


def at(node: _Node, where: ast.AST) -> _Node:
    """The node, alone, at the place of another."""
    return ast.copy_location(node, where)


def nowhere(tree: ast.Module) -> ast.Module:
    """Every node that has no place at none: its instructions belong to no line."""
    for node in ast.walk(tree):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
                setattr(node, name, -1)
    return tree


def expression(node: ast.AST) -> ast.expr:
    """The node, which is an expression still after it was visited."""
    assert isinstance(node, ast.expr)
    return node

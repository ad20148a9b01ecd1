"""Takes the marks out of an instrumented tree again: what is left is what was there before."""

import ast
from typing import TypeVar

from jaxlint.witness import nodes, operands

# All of these hand on their second argument.
HANDING = {
    nodes.BEGIN, nodes.ALSO, nodes.OPEN, nodes.END, nodes.LATER, nodes.TRUTH, nodes.MATCH,
    nodes.CHOOSE, nodes.HAND,
}  # fmt: skip
NAMES = {*HANDING, nodes.ATTEMPT, nodes.RAISED, nodes.HOLD}
BINARY = {name: kind for kind, name in operands.BINARY.items()}
COMPARISONS = {name: kind for kind, name in operands.COMPARISONS.items()}
_Node = TypeVar("_Node", bound=ast.AST)


def numbers(tree: ast.AST) -> set[int]:
    """The marks that the calls in a tree speak of."""
    found: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=int(number)), *_]) if name in NAMES:
                found.add(number)
            case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=value), *_]) if name in NAMES:
                assert isinstance(value, tuple)
                found.update(number for number in value if isinstance(number, int))
    return found


def restored(tree: _Node) -> _Node:
    """The tree without its marks, changed in place."""
    made = _Restorer().visit(tree)
    assert type(made) is type(tree)
    assert not [node for node in ast.walk(made) if isinstance(node, ast.Name) and node.id in NAMES]
    return made


class _Restorer(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id=name), args=[_, value, *_]) if name in HANDING:
                return value
            case ast.Call(func=ast.Call(func=ast.Name(id=nodes.ATTEMPT), args=[_, function, left, *right])):
                assert isinstance(function, ast.Attribute)
                made: ast.expr = (
                    ast.BinOp(left, BINARY[function.attr](), right[0])
                    if function.attr in BINARY
                    else ast.Compare(left, [COMPARISONS[function.attr]()], right)
                )
                return ast.copy_location(made, node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        match node.value:
            case ast.Tuple(elts=[ast.Call(func=ast.Name(id=nodes.HOLD)), value]):
                return value
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        is_guard = _is_end(node.values[0])
        self.generic_visit(node)
        return node.values[1] if is_guard else node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        was_marked = isinstance(node.value, (ast.Call, ast.Subscript)) and isinstance(_ended(node.value), ast.JoinedStr)
        self.generic_visit(node)
        match node:
            case ast.FormattedValue(value=ast.JoinedStr(values=[ast.FormattedValue() as inner])) if was_marked:
                node.value, node.conversion = inner.value, inner.conversion
                match inner.format_spec:
                    case ast.JoinedStr(values=[ast.FormattedValue(value=ast.JoinedStr() as spec)]):
                        node.format_spec = spec
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        match node.handlers:
            case [ast.ExceptHandler(body=[ast.Try(body=[ast.Expr(ast.Call(ast.Name(nodes.RAISED)))]), ast.Raise()])]:
                assert not node.orelse
                assert not node.finalbody
                statements: list[ast.stmt] = []
                for statement in node.body:
                    kept = self.visit(statement)
                    if kept is not None:
                        statements.append(kept)
                return statements
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if _is_end(node.value) else self.generic_visit(node)


def _ended(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Subscript(value=ast.Tuple(elts=[ast.Call(func=ast.Name(id=nodes.HOLD)), value])):
            return _ended(value)
        case ast.Call(func=ast.Name(id=nodes.END | nodes.LATER), args=[_, value]):
            return value
    return None


def _is_end(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=nodes.END), args=[_, ast.Constant(value=None)]):
            return True
    return False

"""Marks in the syntax tree of a module: what is run at a marked place is announced just before and just after.

An operation's operands are evaluated as they were, once and in order; only the last of them is handed through `begin`,
and the result through `end`, so that nothing of the user's runs between the two but the operation itself, in the user's
own frame. No function is added around it: `yield`, `await` and walrus stay where they are, tracebacks keep their
frames and lines. The statement is put in a ``try`` whose handler tells `raised` and raises again, which leaves the
traceback as it was.

The names are looked up among the builtins, so that no module's namespace changes; they end in underscores, so that
class bodies do not mangle them.
"""

import ast
from collections.abc import Iterable, Sequence
from typing import TypeVar

from .plan import Mark

BEGIN, ALSO, OPEN, END, TRUTH, FORMAT, ATTEMPT, RAISED = (
    f"__jaxlint_{word}__" for word in ("begin", "also", "open", "end", "truth", "format", "attempt", "raised")
)
# The functions of `operator` that do what the syntax does, without a Python frame.
BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.BitAnd: "and_",
}  # fmt: skip
COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
OPERATOR = "__jaxlint_operator__"
# Functions whose answer depends on the frame that calls them: they are left where they stand.
OF_THE_FRAME = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec", "breakpoint"})

# Line, column, end line, end column.
Place = tuple[int, int, int, int]

_Node = TypeVar("_Node", bound=ast.AST)


def instrument(tree: ast.Module, lines: Sequence[str], marks: Iterable[Mark]) -> tuple[ast.Module, dict[int, Place]]:
    """The tree with every mark whose place is found, changed in place; and where those found are. `lines` are the lines
    of the text: places in the tree and in code count columns from nought, in bytes of UTF-8."""
    wanted: dict[Place, list[Mark]] = {}
    for mark in marks:
        wanted.setdefault(_in_bytes(mark, lines), []).append(mark)
    rewriter = _Rewriter(wanted)
    tree.body = rewriter.block(tree.body)
    found = {mark.number: place for place, marks in wanted.items() for mark in marks if mark.number in rewriter.found}
    return ast.fix_missing_locations(tree), found


def _in_bytes(mark: Mark, lines: Sequence[str]) -> Place:
    def offset(line: int, column: int) -> int:
        return len(lines[line - 1][: column - 1].encode()) if line <= len(lines) else -1

    return (mark.line, offset(mark.line, mark.column), mark.end_line, offset(mark.end_line, mark.end_column))


class _Rewriter(ast.NodeTransformer):
    """Finds the nodes of the wanted places, innermost first, and wraps the statements in which there was one."""

    def __init__(self, wanted: dict[Place, list[Mark]]) -> None:
        self.wanted = wanted
        self.found: set[int] = set()
        self.touched = False
        self.stores: list[Mark] = []
        self.subjects: list[Mark] = []
        self.after: list[Mark] = []

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, those with a mark of their own wrapped."""
        return [self.statement(statement) for statement in statements]

    def statement(self, node: ast.stmt) -> ast.stmt:
        outside, self.touched = self.touched, False
        outside_after, self.after = self.after, []
        new = self.generic_visit(node)
        assert isinstance(new, ast.stmt)
        if isinstance(new, ast.Match):
            for mark in self.subjects:
                new.subject = _call(BEGIN, mark.number, new.subject)
            self.subjects.clear()
        if isinstance(new, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)):
            self.whole(new)
        if self.touched:
            new = self.guarded(new)
        self.touched, self.after = outside, outside_after
        return new

    def whole(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return) -> None:
        """Marks on the statement itself or on a target that it stores to: its value is handed through, and the mark
        ends with the statement."""
        for mark in (*self.stores, *self.take(node, "operation")):
            if node.value is not None:
                node.value = _call(ALSO if self.after else BEGIN, mark.number, node.value)
                self.after.append(mark)
        self.stores.clear()

    def guarded(self, node: ast.stmt) -> ast.stmt:
        ends: list[ast.stmt] = [
            ast.copy_location(ast.Expr(_call(END, mark.number, ast.copy_location(ast.Constant(None), node))), node)
            for mark in reversed(self.after)
        ]
        told = ast.Expr(ast.Call(ast.Name(RAISED, ast.Load()), [], []))
        handler = ast.ExceptHandler(None, None, [told, ast.Raise(None, None)])
        return _located(ast.Try([node, *ends], [handler], [], []), node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, old in ast.iter_fields(node):
            if isinstance(old, list):
                if old and isinstance(old[0], ast.stmt):
                    setattr(node, name, self.block(old))
                else:
                    old[:] = [self.visit(item) if isinstance(item, ast.AST) else item for item in old]
            elif isinstance(old, ast.AST):
                setattr(node, name, self.visit(old))
        return node

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.FormattedValue):
            return self.field(node)
        if isinstance(node, ast.MatchValue):
            # A pattern holds no calls: what it compares is marked where the subject is handed to the statement.
            self.subjects.extend(self.take(node.value, "truth"))
            return node
        place = _updated(node)
        late = self.take(place, "operation") if place is not None else []
        node = self.generic_visit(node)
        if not isinstance(node, ast.expr):
            return node
        new: ast.expr = node
        operations = late or self.take(node, "operation")
        for mark in operations:
            new = self.operation(node, mark)
        for mark in self.take(node, "truth"):
            if isinstance(node, ast.Compare) and not operations:
                # What a comparison with another library's object fetches, it may fetch while it compares.
                node.comparators[0] = _call(OPEN, mark.number, node.comparators[0])
            new = _located(_call(TRUTH, mark.number, new), node)
        return new

    def take(self, node: ast.expr | ast.stmt, form: str) -> list[Mark]:
        """The marks of this form at the node, each taken once."""
        place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        taken = [mark for mark in self.wanted.get(place, ()) if mark.form == form and mark.number not in self.found]
        self.found.update(mark.number for mark in taken)
        self.touched = self.touched or bool(taken)
        return taken

    def field(self, node: ast.FormattedValue) -> ast.AST:
        """``{x!r:>8}`` becomes ``{end(format(begin(repr(x)), ">8"))}``: an f-string formats a text as itself."""
        marks = self.take(node.value, "field")
        node.value = _expression(self.visit(node.value))
        if node.format_spec is not None:
            node.format_spec = _expression(self.visit(node.format_spec))
        for mark in marks[:1]:
            value, spec = node.value, node.format_spec or ast.copy_location(ast.Constant(""), node.value)
            begun = _call(BEGIN, mark.number, value)
            if node.conversion != -1:
                convert = {"r": "repr", "s": "str", "a": "ascii"}[chr(node.conversion)]
                begun = ast.Call(ast.Name(f"__jaxlint_{convert}__", ast.Load()), [begun], [])
            text = ast.Call(ast.Name(FORMAT, ast.Load()), [begun, spec], [])
            node.value = _located(_call(END, mark.number, text), value)
            node.format_spec, node.conversion = None, -1
        return node

    def operation(self, node: ast.expr, mark: Mark) -> ast.expr:
        """The node as a whole is the operation of the mark."""
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            self.stores.append(mark)
            return node
        if "host_to_device" in mark.directions or "device_to_device" in mark.directions:
            attempt = _attempt(node, mark.number)
            if attempt is not None:
                return _located(_call(END, mark.number, attempt), node)
        if not _hand_through(node, mark.number):
            self.found.discard(mark.number)
            return node
        return _located(_call(END, mark.number, node), node)


def _updated(node: ast.AST) -> ast.Subscript | None:
    """The subscript of ``x.at[index].set(value)``: it only says where, the call reads it."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at")) as place)):
            return place
    return None


def _call(name: str, number: int, value: ast.expr) -> ast.expr:
    return _located(ast.Call(ast.Name(name, ast.Load()), [ast.Constant(number), value], []), value)


def _located(node: _Node, where: ast.AST) -> _Node:
    """The node and what was made with it at the place of another; what has a place keeps it."""
    ast.copy_location(node, where)
    for child in ast.iter_child_nodes(node):
        if hasattr(child, "_attributes") and not hasattr(child, "lineno"):
            _located(child, where)
    return node


def _expression(node: ast.AST) -> ast.expr:
    assert isinstance(node, ast.expr)
    return node


def _begun(value: ast.expr, number: int) -> ast.expr:
    """The value handed through `begin`; a starred one is unpacked before."""
    if isinstance(value, ast.Starred):
        unpacked = ast.Tuple([value], ast.Load())
        return _located(ast.Starred(_call(BEGIN, number, _located(unpacked, value)), ast.Load()), value)
    return _call(BEGIN, number, value)


def _hand_through(node: ast.expr, number: int) -> bool:
    """Hands the operand that is evaluated last through `begin`; False if the node has none."""
    match node:
        case ast.Call(keywords=[*_, last]):
            last.value = _call(BEGIN, number, last.value)
        case ast.Call(args=[*_, _]):
            node.args[-1] = _begun(node.args[-1], number)
        case ast.Call(func=ast.Attribute() as method):
            method.value = _call(BEGIN, number, method.value)
        case ast.Call():
            node.func = _call(BEGIN, number, node.func)
        case ast.BinOp():
            node.right = _call(BEGIN, number, node.right)
        case ast.UnaryOp():
            node.operand = _call(BEGIN, number, node.operand)
        case ast.Compare():
            node.comparators[0] = _call(BEGIN, number, node.comparators[0])
        case ast.Attribute():
            node.value = _call(BEGIN, number, node.value)
        case ast.Subscript():
            if not _hand_through_slice(node, number):
                node.value = _call(BEGIN, number, node.value)
        case _:
            return False
    return True


def _hand_through_slice(node: ast.Subscript, number: int) -> bool:
    match node.slice:
        case ast.Tuple(elts=elements) if any(isinstance(element, (ast.Slice, ast.Starred)) for element in elements):
            last = elements[-1]
            if isinstance(last, ast.Starred):
                return False
            if not isinstance(last, ast.Slice):
                elements[-1] = _call(BEGIN, number, last)
                return True
            return _hand_through_bound(last, number)
        case ast.Slice() as bounds:
            return _hand_through_bound(bounds, number)
        case index:
            node.slice = _call(BEGIN, number, index)
            return True


def _hand_through_bound(bounds: ast.Slice, number: int) -> bool:
    for name in ("step", "upper", "lower"):
        bound: ast.expr | None = getattr(bounds, name)
        if bound is not None:
            setattr(bounds, name, _call(BEGIN, number, bound))
            return True
    return False


def _attempt(node: ast.expr, number: int) -> ast.expr | None:
    """``f(a, k=b)`` becomes ``attempt(n, f, a, k=b)()``: what `attempt` returns does the call, in the user's frame."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in OF_THE_FRAME:
            return None
        case ast.Call():
            function, arguments, keywords = node.func, node.args, node.keywords
        case ast.BinOp() if type(node.op) in BINARY:
            function, arguments, keywords = _operator(BINARY[type(node.op)], node), [node.left, node.right], []
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            function = _operator(COMPARISONS[type(operator)], node)
            arguments, keywords = [node.left, *node.comparators], []
        case _:
            return None
    made = ast.Call(ast.Name(ATTEMPT, ast.Load()), [ast.Constant(number), function, *arguments], keywords)
    return _located(ast.Call(_located(made, node), [], []), node)


def _operator(name: str, node: ast.expr) -> ast.expr:
    return _located(ast.Attribute(ast.Name(OPERATOR, ast.Load()), name, ast.Load()), node)

"""Marks in the syntax tree of a module: what is run at a marked place is announced just before and just after.

An operation's operands are evaluated as they were, once and in order; only the last of them is handed through `begin`,
and the result through `end`, so that nothing of the user's runs between the two but the operation itself, in the user's
own frame. No function is added around it: `yield`, `await` and walrus stay where they are, tracebacks keep their
frames and lines. The statement is put in a ``try`` whose handler tells `raised` and raises again, which leaves the
traceback as it was. Lambdas and generator expressions, which run elsewhere, `hold` an object on their stack instead: it
dies with their frame.

What is added has no place in the source, as far as it can be: a tracer sees the lines that it would have seen.
"""

import ast
import sys
from collections.abc import Iterable, Sequence

from . import nodes, operands
from .plan import Mark

LAZY = (
    "map",
    "filter",
    "zip",
    "enumerate",
    "reversed",
    "starmap",
    "takewhile",
    "dropwhile",
    "filterfalse",
    "accumulate",
)
# Expressions that run in frames of their own.
FRAMES = (ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
# Read as a text by whoever asks for them, run late or never: no place for a mark.
ANNOTATIONS = ("annotation", "returns")
# From here on Python converts a field of an f-string before it evaluates the field's format.
CONVERTS_FIRST = sys.version_info >= (3, 13)
# Before, the test of a comparison was at its place, and every other one at that of its statement.
JUMPS_AT_COMPARISONS = sys.version_info < (3, 12)
# Line, column, end line, end column.
Place = tuple[int, int, int, int]


def by_place(marks: Iterable[Mark], lines: Sequence[str]) -> dict[Place, list[Mark]]:
    """Marks by their places in the tree of a text, given as its lines: there and in code, columns count from nought, in
    bytes of UTF-8."""
    wanted: dict[Place, list[Mark]] = {}
    for mark in marks:
        wanted.setdefault(_in_bytes(mark, lines), []).append(mark)
    return wanted


def instrument(
    tree: ast.Module, wanted: dict[Place, list[Mark]], *, displays: bool = False
) -> tuple[ast.Module, dict[int, Place]]:
    """The tree with every mark whose place is found, changed in place; and where those found are. If whoever runs it
    `displays` the value of an expression that comes last, that stays the last statement."""
    rewriter = _Rewriter(wanted)
    last = tree.body[-1] if displays and tree.body and isinstance(tree.body[-1], ast.Expr) else None
    tree.body = rewriter.block(tree.body[:-1] if last is not None else tree.body)
    if last is not None:
        tree.body.append(rewriter.shown(last))
    found = {mark.number: place for place, marks in wanted.items() for mark in marks if mark.number in rewriter.found}
    return nodes.nowhere(tree), found


def _in_bytes(mark: Mark, lines: Sequence[str]) -> Place:
    def offset(line: int, column: int) -> int:
        return len(lines[line - 1][: column - 1].encode()) if 1 <= line <= len(lines) else -1

    return (mark.line, offset(mark.line, mark.column), mark.end_line, offset(mark.end_line, mark.end_column))


class _Rewriter(ast.NodeTransformer):
    """Finds the nodes of the wanted places, innermost first, and wraps the statements in which there was one."""

    def __init__(self, wanted: dict[Place, list[Mark]]) -> None:
        self.wanted = wanted
        self.found: set[int] = set()
        self.touched = False
        # How many lambdas and generator expressions are around: what they raise passes by their statement.
        self.loose = self.inner = 0
        self.returns = False
        self.augmented = False
        self.tests: set[int] = set()
        # Of the statement: marks that its value is handed to, of its patterns, and those that end after it.
        self.stores: list[Mark] = []
        self.subjects: list[Mark] = []
        self.after: list[Mark] = []

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, those with a mark of their own wrapped."""
        return [self.statement(statement) for statement in statements]

    def statement(self, node: ast.stmt) -> ast.stmt:
        outside, self.touched = self.touched, False
        outside_after, self.after = self.after, []
        outside_subjects, self.subjects = self.subjects, []
        outside_stores, self.stores = self.stores, []
        self.augmented, self.returns = isinstance(node, ast.AugAssign), isinstance(node, ast.Return)
        if isinstance(node, (ast.If, ast.While, ast.Assert)):
            self.tests.add(id(node.test))
        new = self.generic_visit(node)
        assert isinstance(new, ast.stmt)
        if isinstance(new, ast.Match) and self.subjects:
            self.match(new)
        if isinstance(new, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)):
            self.whole(new)
        if isinstance(new, (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith)):
            # What is stored to their targets is over when the body begins.
            new.body[:0] = nodes.ends(self.after)
            self.after.clear()
        # Where there is no value to hand through, there is no place for the mark.
        self.found.difference_update(mark.number for mark in self.stores)
        if self.touched:
            new = nodes.guarded(new, nodes.ends(reversed(self.after)))
        self.touched, self.after, self.subjects = outside, outside_after, outside_subjects
        self.stores = outside_stores
        return new

    def shown(self, node: ast.Expr) -> ast.stmt:
        """A statement whose value is displayed: there is no ``try`` around it, its marks end as those of a lambda."""
        self.loose, self.returns = 1, True
        new = self.generic_visit(node)
        assert isinstance(new, ast.stmt)
        return new

    def whole(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return) -> None:
        """Marks on the statement itself or on a target that it stores to: its value is handed through, and the mark
        ends with the statement."""
        for mark in (*self.stores, *self.take(node, "operation")):
            if node.value is not None:
                node.value = nodes.call(nodes.ALSO if self.after else nodes.BEGIN, mark.number, node.value, node.value)
                self.after.append(mark)
        self.stores.clear()

    def match(self, node: ast.Match) -> None:
        """Patterns hold no calls: what they compare is marked where the subject is handed to the statement, and is over
        where a case begins."""
        number = self.subjects[0].number
        numbers = ast.Constant(tuple(mark.number for mark in self.subjects))  # type: ignore[arg-type]
        node.subject = nodes.compared(numbers, node.subject)
        self.after.append(self.subjects[0])
        for case in node.cases:
            if case.guard is not None:
                # Over while the guard is asked; where it fails, the next case compares again.
                again = ast.Call(ast.Name(nodes.MATCH, ast.Load()), [numbers, ast.Constant(False)], [])
                case.guard = nodes.at(ast.BoolOp(ast.Or(), [nodes.end(number), case.guard, again]), case.guard)
            case.body[:0] = nodes.ends(self.subjects[:1])

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for name, old in ast.iter_fields(node):
            if name in ANNOTATIONS:
                continue
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
            self.subjects.extend(self.take(node.value, "truth"))
            return node
        self.note_tests(node)
        place = _updated(node)
        late = self.take(place, "operation") if place is not None else []
        loose, inner = isinstance(node, (ast.Lambda, ast.GeneratorExp)), isinstance(node, FRAMES)
        self.loose, self.inner = self.loose + loose, self.inner + inner
        node = self.generic_visit(node)
        self.loose, self.inner = self.loose - loose, self.inner - inner
        if not isinstance(node, ast.expr):
            return node
        new: ast.expr = node
        operations = late or self.take(node, "operation")
        for mark in operations:
            new = self.operation(new, node, mark)
        for mark in self.take(node, "truth"):
            # What `filter` asks it asks later.
            lazy = _is_lazy(node)
            new = self.operation(new, node, mark) if lazy else self.truth(new, node, mark, bool(operations))
        return new

    def truth(self, new: ast.expr, node: ast.expr, mark: Mark, has_operation: bool) -> ast.expr:
        """The truth of the node is what the mark is about."""
        match node:
            case ast.BoolOp():
                # Python asks each operand once: the mark belongs to the last of them.
                self.found.discard(mark.number)
                return new
            case ast.Compare(ops=[_, _, *_]) if not has_operation:
                by_place = True
            case ast.Compare() if not has_operation:
                by_place = JUMPS_AT_COMPARISONS and id(node) in self.tests
            case _:
                by_place = False
        if by_place and isinstance(node, ast.Compare):
            # Handed through, it would be asked for its truth once more, or elsewhere.
            numbers = ast.Constant((mark.number,))  # type: ignore[arg-type]
            node.comparators[0] = nodes.compared(numbers, node.comparators[0])
            return new
        if isinstance(node, ast.Compare) and not has_operation:
            # What a comparison with another library's object fetches, it may fetch while it compares.
            node.comparators[0] = nodes.call(nodes.OPEN, mark.number, node.comparators[0], node)
        return nodes.call(nodes.TRUTH, mark.number, new, node)

    def note_tests(self, node: ast.AST) -> None:
        """Notes what is only asked for its truth."""
        match node:
            case ast.IfExp(test=test):
                self.tests.add(id(test))
            case ast.comprehension(ifs=tests):
                self.tests.update(map(id, tests))
            case ast.BoolOp(values=tests) if id(node) in self.tests:
                self.tests.update(map(id, tests))
            case ast.UnaryOp(ast.Not(), test) if id(node) in self.tests:
                self.tests.add(id(test))

    def take(self, node: ast.expr | ast.stmt, form: str) -> list[Mark]:
        """The marks of this form at the node, each taken once."""
        place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        taken = [mark for mark in self.wanted.get(place, ()) if mark.form == form and mark.number not in self.found]
        self.found.update(mark.number for mark in taken)
        self.touched = self.touched or bool(taken)
        return taken

    def field(self, node: ast.FormattedValue) -> ast.AST:
        """``{x:>8}`` becomes ``{end(f"{x:{begin('>8')}}")}``: an f-string formats a text as itself."""
        marks = self.take(node.value, "field")
        node.value = nodes.expression(self.visit(node.value))
        if node.format_spec is not None:
            node.format_spec = nodes.expression(self.visit(node.format_spec))
        for mark in marks[:1]:
            inner = nodes.at(ast.FormattedValue(node.value, node.conversion, node.format_spec), node)
            if node.format_spec is None or (node.conversion != -1 and CONVERTS_FIRST):
                # The conversion reads the value; what it made is formatted as it was.
                inner.value, inner.format_spec = nodes.call(nodes.BEGIN, mark.number, node.value, node), None
            else:
                begun = nodes.at(
                    ast.FormattedValue(nodes.call(nodes.BEGIN, mark.number, node.format_spec, node), -1, None), node
                )
                inner.format_spec, node.format_spec = nodes.at(ast.JoinedStr([begun]), node.format_spec), None
            node.value, node.conversion = self.ended(nodes.at(ast.JoinedStr([inner]), node), mark, node), -1
        return node

    def operation(self, new: ast.expr, node: ast.expr, mark: Mark) -> ast.expr:
        """The node as a whole is the operation of the mark; `new` is what other marks made of it."""
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            self.store(node, mark)
            return node
        if new is node and ("host_to_device" in mark.directions or "device_to_device" in mark.directions):
            attempt = operands.attempt(node, mark.number)
            if attempt is not None:
                return self.ended(attempt, mark, node)
        if not operands.hand_through(node, mark.number):
            self.found.discard(mark.number)
            return new
        return self.ended(new, mark, node)

    def store(self, node: ast.expr, mark: Mark) -> None:
        """A target of an assignment: what is evaluated last before it is stored to is handed through. Where the value
        itself is looked at, that one is."""
        if self.augmented or not mark.directions or not isinstance(node, (ast.Subscript, ast.Attribute)):
            self.stores.append(mark)
        else:
            operands.hand_through(node, mark.number)
            self.after.append(mark)

    def ended(self, value: ast.expr, mark: Mark, where: ast.AST) -> ast.expr:
        """The result of a mark's operation; in a frame of its own also with what tells that an exception left it."""
        later = _is_lazy(where) and not self.inner and not self.returns
        if later:
            # Its steps are taken when somebody asks for them, as far as this statement goes.
            self.after.append(mark)
        ended = nodes.call(nodes.LATER if later else nodes.END, mark.number, value, operands.place_of_result(where))
        if not self.loose:
            return ended
        held = nodes.at(
            ast.Call(nodes.name(nodes.HOLD, value), [nodes.at(ast.Constant(mark.number), nodes.first(value))], []),
            nodes.first(value),
        )
        pair = nodes.at(ast.Tuple([held, ended], ast.Load()), where)
        return nodes.at(ast.Subscript(pair, ast.Constant(1), ast.Load()), where)


def _is_lazy(node: ast.AST) -> bool:
    """A call that gives back what takes its steps later: `map`, `filter`, one of itertools."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in LAZY
        case ast.Call(func=ast.Attribute(value=ast.Name(id="itertools"))):
            return True
    return False


def _updated(node: ast.AST) -> ast.Subscript | None:
    """The subscript of ``x.at[index].set(value)``: it only says where, the call reads it."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Subscript(value=ast.Attribute(attr="at")) as place)):
            return place
    return None

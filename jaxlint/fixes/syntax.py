"""What a fix must know of the syntax around an operand: parents, scopes, names.

Knows places and names, and no rule. A text that can not be parsed has no syntax here, and no fixes.
"""

import ast
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from jaxlint.errors import SourceError
from jaxlint.sites import Span
from jaxlint.source.parse import parse
from jaxlint.source.positions import settle
from jaxlint.source.text import SourceText

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True)
class Import:
    """A name that an import binds: to a module, or (`attribute`) to a name of one. `sure` where it is no branch."""

    name: str
    module: str
    attribute: str
    statement: ast.stmt
    sure: bool


def _one_part(line: int) -> int:
    return 0


@dataclass(slots=True)
class Syntax:
    """The tree of a text, with what is asked of it again and again. `part` tells of a line in which part of the text it
    is, where parts may be run by themselves: the cells of a notebook."""

    source: SourceText
    tree: ast.Module
    part: Callable[[int], int] = _one_part
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    _at: dict[tuple[int, int, int, int], list[ast.expr]] = field(default_factory=dict)
    _bound: dict[ast.AST, dict[str, list[ast.AST]]] = field(default_factory=dict)
    _imported: dict[ast.AST, list[Import]] = field(default_factory=dict)

    def expression(self, span: Span) -> ast.expr | None:
        """The outermost expression that stands exactly there."""
        source = self.source
        key = (
            span.line,
            source.byte_column(span.line, span.column),
            span.end_line,
            source.byte_column(span.end_line, span.end_column),
        )
        return next(iter(self._at.get(key, ())), None)

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the nearest first."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that a node is in."""
        return next(n for n in (node, *self.above(node)) if isinstance(n, ast.stmt))

    def scopes(self, node: ast.AST) -> list[Scope]:
        """The scopes in which a name at a node is looked up, the innermost first. (Those of comprehensions bind only
        their own targets, which `binds` knows.)"""
        found: list[Scope] = []
        child: ast.AST = node
        for around in self.above(node):
            # A class's names are seen in its own body alone.
            hidden = found and isinstance(around, ast.ClassDef)
            if isinstance(around, SCOPES) and not hidden and _inside(around, child):
                found.append(around)
            child = around
        return found or [self.tree]

    def binds(self, scope: Scope) -> dict[str, list[ast.AST]]:
        """The names that a scope binds, each with the nodes that bind it, those of its comprehensions included."""
        if scope not in self._bound:
            names: dict[str, list[ast.AST]] = {}
            for name, node in _bindings(scope):
                names.setdefault(name, []).append(node)
            self._bound[scope] = names
        return self._bound[scope]

    def names(self) -> set[str]:
        """Every name that occurs anywhere."""
        found = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)}
        for scope in (n for n in ast.walk(self.tree) if isinstance(n, SCOPES)):
            found.update(self.binds(scope))
        return found

    def imports(self, scope: Scope) -> list[Import]:
        """The absolute imports of a scope's own statements. Those in branches are not sure to have run."""
        if scope not in self._imported:
            self._imported[scope] = [] if isinstance(scope, ast.Lambda) else list(_imported(scope.body))
        return self._imported[scope]

    def text(self, node: ast.expr) -> str:
        """The source of an expression, without parentheses around it."""
        return self.source.text[slice(*self.offsets(node))]

    def offsets(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Where a node begins and ends in the text."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        source = self.source
        begin = source.offset(node.lineno, source.character_column(node.lineno, node.col_offset))
        end = source.offset(node.end_lineno, source.character_column(node.end_lineno, node.end_col_offset))
        return begin, end


def read(source: SourceText, part: Callable[[int], int] = _one_part) -> Syntax | None:
    """The syntax of a text; None where it can not be parsed."""
    try:
        tree = parse(source)
    except SourceError:
        return None
    settle(source, tree)
    syntax = Syntax(source, tree, part)
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.expr) and node.end_lineno and node.end_col_offset is not None:
            key = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            syntax._at.setdefault(key, []).append(node)
        for child in ast.iter_child_nodes(node):
            syntax.parents[child] = node
            todo.append(child)
    return syntax


def _imported(body: Sequence[ast.stmt]) -> Iterator[Import]:
    todo = deque((statement, True) for statement in body)
    while todo:
        statement, sure = todo.popleft()
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield from _imports(statement, sure)
        elif not isinstance(statement, SCOPES):
            inner = [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.stmt)]
            # What a `try` imports is there, or the program has gone another way; a `with` always runs.
            first = {*statement.body} if isinstance(statement, ast.Try | ast.With | ast.AsyncWith) else set()
            todo += [(n, sure and n in first) for n in inner]
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.ExceptHandler | ast.match_case):
                    todo += [(n, False) for n in part.body]


def _imports(statement: ast.Import | ast.ImportFrom, sure: bool) -> Iterator[Import]:
    for alias in statement.names:
        if isinstance(statement, ast.ImportFrom):
            if not statement.level and statement.module:
                yield Import(alias.asname or alias.name, statement.module, alias.name, statement, sure)
        elif alias.asname:
            yield Import(alias.asname, alias.name, "", statement, sure)
        else:
            top = alias.name.partition(".")[0]
            yield Import(top, top, "", statement, sure)


def _inside(scope: Scope, child: ast.AST) -> bool:
    """Whether names in a part of a scope's node are looked up in it: not those of its decorators and defaults."""
    return child is scope.body if isinstance(scope, ast.Lambda) else isinstance(child, ast.stmt)


def _bindings(scope: Scope) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(scope, FUNCTIONS):
        arguments = scope.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            yield argument.arg, argument
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None:
                yield star.arg, star
    todo: list[ast.AST] = [scope.body] if isinstance(scope, ast.Lambda) else [*scope.body]
    while todo:
        node = todo.pop()
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, node
                todo += node.decorator_list
                continue
            case ast.Lambda():
                continue
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name, node
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    bound = alias.asname or alias.name
                    yield (bound.partition(".")[0] if isinstance(node, ast.Import) else bound), node
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node
            case ast.MatchMapping(rest=str(name)):
                yield name, node
            case ast.Global() | ast.Nonlocal():
                for name in node.names:
                    yield name, node
        todo += ast.iter_child_nodes(node)

"""The program under analysis: modules, function definitions and what one look at their syntax tells.

Knows Python's tree; knows nothing of values. A syntax node is named by its `Place` everywhere else.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from jaxlint.interp.syntax import DEFINITIONS, FUNCTIONS, LOOPS, Function, Suite, children, last_name, walk
from jaxlint.interp.values import Place
from jaxlint.source.positions import Places
from jaxlint.source.text import SourceText


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `kind` is "positional", "keyword", "star" or "double-star"; `unnamed` where it stands before a
    slash, so that no keyword means it."""

    name: str
    kind: str
    default: ast.expr | None
    annotation: ast.expr | None
    unnamed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class FunctionInfo:
    """A function definition or lambda, as one look at its syntax tells."""

    place: Place
    node: Function
    module: "Module"
    name: str
    parameters: tuple[Parameter, ...]
    local_names: frozenset[str]
    outer_names: frozenset[str]  # declared global or nonlocal
    rebound: frozenset[str]  # names that inner functions assign, by nonlocal
    captured: frozenset[str]  # names that inner functions, classes and lambdas use
    is_generator: bool
    is_async: bool
    enclosing_class: Place | None

    @property
    def body(self) -> Suite:
        """What runs when the function is called; a lambda's expression stands by itself."""
        return [] if isinstance(self.node, ast.Lambda) else self.node.body

    @property
    def is_plain(self) -> bool:
        """True of one expression: a lambda, or a function that does nothing but return."""
        return isinstance(self.node, ast.Lambda) or (
            len(self.node.body) == 1 and isinstance(self.node.body[0], ast.Return)
        )


class Module:
    """A parsed module. `path` is as displayed; `name` is its dotted name; `requested` where the user asked for it."""

    def __init__(self, source: "SourceFile", name: str, *, is_package: bool, requested: bool) -> None:
        self.path, self.name, self.tree = source.path, name, source.tree
        self.lines = len(source.source.line_starts)
        self.places = Places(source.source, source.tree)
        self.is_package, self.requested, self.marks = is_package, requested, source.marks
        self.nodes: list[ast.AST] = []
        self._numbers: dict[int, int] = {}
        self._functions: dict[int, FunctionInfo] = {}
        self._bound: dict[int, frozenset[str]] = {}
        self._used: dict[int, frozenset[str]] = {}
        self._asked_for: dict[int, frozenset[str]] = {}
        self._handed_back: dict[Place, str | None] = {}
        self._texts: dict[int, str] = {}
        self._imported: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._marked = _marked_nodes(self.tree, self.marks) if self.marks else {}
        self.definitions: list[FunctionInfo] = []
        self._called: frozenset[str] | None = None
        names = _Names()
        _scan(self.tree, names, inner=True)
        self.rebound = frozenset(names.rebound)  # names that functions assign, by global
        self.imported_again = _imported_again(self.tree)

    def place(self, node: ast.AST) -> Place:
        """The name of a node; the same node has the same name."""
        number = self._numbers.get(id(node))
        if number is None:
            number = self._numbers[id(node)] = len(self.nodes)
            self.nodes.append(node)
        return Place(self.path, number)

    def function(self, node: Function, enclosing_class: Place | None) -> FunctionInfo:
        """What is known of a function definition of this module."""
        info = self._functions.get(id(node))
        if info is None:
            info = self._functions[id(node)] = _function_info(self, node, enclosing_class)
            self.definitions.append(info)
        return info

    @property
    def called_names(self) -> frozenset[str]:
        """The last names of all that the module calls: a rough call graph, to begin with what nobody calls."""
        if self._called is None:
            found: set[str] = set()
            stack: list[ast.AST] = [self.tree]
            while stack:
                node = stack.pop()
                if isinstance(node, ast.Call):
                    found.add(last_name(node.func))
                stack.extend(children(node))
            self._called = frozenset(found)
        return self._called

    def bound_in(self, node: ast.AST) -> frozenset[str]:
        """The names that a loop binds, in its target or body."""
        known = self._bound.get(id(node))
        if known is None:
            names = _Names()
            _scan(node, names, inner=False)
            known = self._bound[id(node)] = frozenset(names.bound)
        return known

    def used_within(self, node: ast.AST) -> frozenset[str]:
        """The names that functions inside an expression use."""
        known = self._used.get(id(node))
        if known is None:
            names = _Names()
            _scan(node, names, inner=False)
            known = self._used[id(node)] = frozenset(names.inner)
        return known

    def asked_for_in(self, function: Function) -> frozenset[str]:
        """The names whose values the body of a function asks for, those of the functions in it included."""
        known = self._asked_for.get(id(function))
        if known is None:
            body = function.body if isinstance(function.body, list) else [function.body]
            known = frozenset(n.id for n in walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
            self._asked_for[id(function)] = known
        return known

    def handed_back_by(self, info: FunctionInfo) -> str | None:
        """The parameter that a function gives back wherever it returns, as it was given; None if it does not."""
        if info.place not in self._handed_back:
            self._handed_back[info.place] = _handed_back(info)
        return self._handed_back[info.place]

    def imported_from(self, head: str) -> tuple[tuple[str, ...], ...]:
        """What the imports of a package name in it, without its own name: for each the module, or either of two."""
        found = self._imported.get(head)
        if found is None:
            found = self._imported[head] = tuple(_imported_from(self.tree, head))
        return found

    def mark_of(self, node: ast.AST) -> str | None:
        """ "hot" or "cold" where a heat comment stands on the line of a loop or definition."""
        return self._marked.get(id(node)) if self.marks else None

    def text_of(self, node: ast.AST, limit: int = 60) -> str:
        """The source text of a node on one line, shortened."""
        text = self._texts.get(id(node))
        if text is None:
            try:
                text = " ".join(self.places.text(node).split())
            except ValueError:
                return "..."
            self._texts[id(node)] = text
        return text if len(text) <= limit else text[: limit - 3] + "..."


def _handed_back(info: FunctionInfo) -> str | None:
    todo: list[ast.AST] = list(info.body)
    names: set[str] = set()
    bound: set[str] = set()
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Return):
            names.add(node.value.id if isinstance(node.value, ast.Name) else "")
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            todo.extend(children(node))
    ends = bool(info.body) and isinstance(info.body[-1], ast.Return)
    given = {p.name for p in info.parameters if p.kind in {"positional", "keyword"}}
    plain = (
        ends
        and len(names) == 1
        and names <= given - bound - info.rebound
        and not info.is_generator
        and not info.is_async
    )
    return names.pop() if plain else None


def _imported_again(tree: ast.Module) -> dict[str, int]:
    """The names that statements of the module import several times, as other things: the line of the last import."""
    found: dict[str, dict[tuple[str | None, str], int]] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            source = node.module if isinstance(node, ast.ImportFrom) else None
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                found.setdefault(name, {})[source, alias.name if alias.asname or source else name] = node.lineno
    return {name: max(lines.values()) for name, lines in found.items() if len(lines) > 1}


def _imported_from(tree: ast.Module, head: str) -> Iterator[tuple[str, ...]]:
    for node in walk([tree]):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first, _, rest = alias.name.partition(".")
                if first == head:
                    yield (rest,)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module is not None:
            first, _, rest = node.module.partition(".")
            if first == head:
                for alias in node.names:
                    yield (rest, f"{rest}.{alias.name}".removeprefix("."))


def _marked_nodes(tree: ast.Module, marks: Mapping[int, str]) -> dict[int, str]:
    """The loops and definitions on marked lines."""
    found = (n for n in walk(tree) if isinstance(n, (*DEFINITIONS, *LOOPS)))
    return {id(n): marks[n.lineno] for n in found if n.lineno in marks}


def _parameters(node: Function) -> tuple[Parameter, ...]:
    given = node.args
    positional = (*given.posonlyargs, *given.args)
    defaults: list[ast.expr | None] = [*([None] * (len(positional) - len(given.defaults))), *given.defaults]
    out = [
        Parameter(p.arg, "positional", d, p.annotation, n < len(given.posonlyargs))
        for n, (p, d) in enumerate(zip(positional, defaults, strict=True))
    ]
    if given.vararg is not None:
        out.append(Parameter(given.vararg.arg, "star", None, given.vararg.annotation))
    for p, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        out.append(Parameter(p.arg, "keyword", default, p.annotation))
    if given.kwarg is not None:
        out.append(Parameter(given.kwarg.arg, "double-star", None, given.kwarg.annotation))
    return tuple(out)


@dataclass(slots=True)
class _Names:
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    yields: bool = False


def _function_info(module: Module, node: Function, enclosing_class: Place | None) -> FunctionInfo:
    params = _parameters(node)
    names = _Names(bound={p.name for p in params})
    for part in [node.body] if isinstance(node, ast.Lambda) else node.body:
        _scan(part, names, inner=False)
    return FunctionInfo(
        place=module.place(node),
        node=node,
        module=module,
        name="<lambda>" if isinstance(node, ast.Lambda) else node.name,
        parameters=params,
        local_names=frozenset(names.bound - names.outer),
        outer_names=frozenset(names.outer),
        rebound=frozenset(names.rebound),
        captured=frozenset(names.inner & names.bound),
        is_generator=names.yields,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        enclosing_class=enclosing_class,
    )


def _scan(root: ast.AST, names: _Names, *, inner: bool) -> None:
    stack: list[tuple[ast.AST, bool]] = [(root, inner)]
    while stack:
        node, within = stack.pop()
        if isinstance(node, ast.Name):
            if within:
                names.inner.add(node.id)
            elif isinstance(node.ctx, ast.Store):
                names.bound.add(node.id)
            continue
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            _scan_definition(node, names, within, stack)
            continue
        if isinstance(node, ast.comprehension) and not within:
            stack.extend((part, within) for part in (node.iter, *node.ifs))  # what it binds is its own
            continue
        if not within:
            _scan_binding(node, names)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names.rebound.update(node.names)
        for child in children(node):
            stack.append((child, within))


def _scan_definition(
    node: Function | ast.ClassDef, names: _Names, within: bool, stack: list[tuple[ast.AST, bool]]
) -> None:
    if isinstance(node, ast.Lambda):
        stack.append((node.args, True))
        stack.append((node.body, True))
        return
    if not within:
        names.bound.add(node.name)
    stack.extend((d, within) for d in node.decorator_list)
    if isinstance(node, ast.ClassDef):
        stack.extend((a, within) for a in (*node.bases, *node.keywords))
    else:
        stack.append((node.args, True))
    stack.extend((part, True) for part in node.body)


def _scan_binding(node: ast.AST, names: _Names) -> None:
    match node:
        case ast.Yield() | ast.YieldFrom():
            names.yields = True
        case ast.Global() | ast.Nonlocal():
            names.outer.update(node.names)
        case ast.alias():
            names.bound.add(node.asname or node.name.partition(".")[0])  # of a star: no name that anybody could use
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            names.bound.add(name)
        case ast.MatchMapping(rest=str(name)):
            names.bound.add(name)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """What the loader gives for a module: its tree, its text, and the heat comments by line."""

    path: str
    tree: ast.Module
    source: SourceText
    marks: Mapping[int, str] = field(default_factory=dict)


Loader = Callable[[str], SourceFile | None]
"""Reads and parses the file at a displayed path; None where that cannot be done (the error is the loader's affair)."""

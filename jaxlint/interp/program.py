"""The program under analysis: modules, function definitions and what one look at their syntax tells.

Knows libcst's tree; knows nothing of values. A syntax node is named by its `Place` everywhere else.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from jaxlint.interp.values import Place
from jaxlint.source.positions import spans_of

_SKIPPED = {
    "whitespace", "lpar", "rpar", "comma", "leading_lines", "semicolon", "header", "footer", "equal", "colon", "dot",
    "lbracket", "rbracket", "lbrace", "rbrace", "lines_after_decorators", "trailing_whitespace", "at", "asynchronous",
    "encoding", "default_indent", "default_newline", "has_trailing_newline", "indent", "operator", "star", "raw_value",
}  # fmt: skip


@functools.cache
def _child_fields(cls: type) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls) if f.name not in _SKIPPED and "whitespace" not in f.name)


_IS_NODE: dict[type, bool] = {}


def _is_node(kind: type) -> bool:
    known = _IS_NODE.get(kind)
    if known is None:
        known = _IS_NODE[kind] = issubclass(kind, cst.CSTNode)
    return known


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The syntax below a node that can matter to a meaning: no whitespace, brackets or commas.

    Types are compared and not asked by isinstance: libcst's nodes are abstract base classes, where that is slow.
    """
    for name in _child_fields(type(node)):
        value = getattr(node, name)
        kind = type(value)
        if kind is list or kind is tuple:
            for item in value:
                if _is_node(type(item)):
                    yield item
        elif _is_node(kind):
            yield value


def walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that can matter below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def path_of(node: cst.CSTNode) -> str | None:
    """The dotted name under which a state may know a value: a name, or an attribute of one."""
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return f"{node.value.value}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `kind` is "positional", "keyword", "star" or "double-star"."""

    name: str
    kind: str
    default: cst.BaseExpression | None
    annotation: cst.BaseExpression | None


@dataclass(frozen=True, slots=True, eq=False)
class FunctionInfo:
    """A function definition or lambda, as one look at its syntax tells."""

    place: Place
    node: cst.FunctionDef | cst.Lambda
    module: "Module"
    name: str
    parameters: tuple[Parameter, ...]
    local_names: frozenset[str]
    outer_names: frozenset[str]  # declared global or nonlocal
    rebound: frozenset[str]  # names that inner functions assign, by nonlocal
    captured: frozenset[str]  # names that inner functions, classes and lambdas use
    is_generator: bool
    is_async: bool
    returns: cst.BaseExpression | None
    enclosing_class: Place | None
    heat: str | None = None  # "hot" or "cold" where a comment says so

    @property
    def body(self) -> cst.BaseSuite | cst.BaseExpression:
        """What runs when the function is called."""
        return self.node.body


class Module:
    """A parsed module. `path` is as displayed; `name` is its dotted name; `requested` where the user asked for it."""

    def __init__(self, source: "SourceFile", name: str, *, is_package: bool, requested: bool) -> None:
        self.path, self.name, self.tree, self.lines = source.path, name, source.tree, source.lines
        self.is_package, self.requested, self.marks = is_package, requested, source.marks
        self.nodes: list[cst.CSTNode] = []
        self._numbers: dict[int, int] = {}
        self._functions: dict[int, FunctionInfo] = {}
        self._bound: dict[int, frozenset[str]] = {}
        self._texts: dict[int, str] = {}
        self._marked = _marked_nodes(self.tree, self.marks) if self.marks else {}
        self.definitions: list[FunctionInfo] = []
        self._called: frozenset[str] | None = None
        names = _Names()
        _scan(self.tree, names, inner=True)
        self.rebound = frozenset(names.rebound)  # names that functions assign, by global

    def place(self, node: cst.CSTNode) -> Place:
        """The name of a node; the same node has the same name."""
        number = self._numbers.get(id(node))
        if number is None:
            number = self._numbers[id(node)] = len(self.nodes)
            self.nodes.append(node)
        return Place(self.path, number)

    def function(self, node: cst.FunctionDef | cst.Lambda, enclosing_class: Place | None) -> FunctionInfo:
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
            stack: list[cst.CSTNode] = [self.tree]
            while stack:
                node = stack.pop()
                if type(node) is cst.Call:
                    func = node.func
                    if isinstance(func, cst.Attribute):
                        found.add(func.attr.value)
                    elif isinstance(func, cst.Name):
                        found.add(func.value)
                stack.extend(children(node))
            self._called = frozenset(found)
        return self._called

    def bound_in(self, node: cst.CSTNode) -> frozenset[str]:
        """The names that a loop binds, in its target or body."""
        known = self._bound.get(id(node))
        if known is None:
            names = _Names()
            _scan(node, names, inner=False)
            if isinstance(node, cst.For):
                bind(node.target, names.bound)
            known = self._bound[id(node)] = frozenset(names.bound)
        return known

    def mark_of(self, node: cst.CSTNode) -> str | None:
        """ "hot" or "cold" where a heat comment stands on the line of a loop or definition."""
        return self._marked.get(id(node)) if self.marks else None

    def text_of(self, node: cst.CSTNode, limit: int = 60) -> str:
        """The source text of a node on one line, shortened."""
        text = self._texts.get(id(node))
        if text is None:
            try:
                text = " ".join(self.tree.code_for_node(node).split())
            except (RecursionError, AttributeError):
                return "..."
            self._texts[id(node)] = text
        return text if len(text) <= limit else text[: limit - 3] + "..."


def _marked_nodes(tree: cst.Module, marks: Mapping[int, str]) -> dict[int, str]:
    """The loops and definitions on marked lines. Positions are worked out only for modules that hold a mark."""
    found: list[cst.CSTNode] = []
    stack: list[cst.CSTNode] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.FunctionDef | cst.For | cst.While):
            found.append(node)
        stack.extend(children(node))
    spans = spans_of(tree, found)
    return {id(n): marks[place[0]] for n, place in spans.items() if place[0] in marks}


def _parameters(node: cst.FunctionDef | cst.Lambda) -> tuple[Parameter, ...]:
    out: list[Parameter] = []

    def add(param: cst.Param, kind: str) -> None:
        annotation = param.annotation.annotation if param.annotation else None
        out.append(Parameter(param.name.value, kind, param.default, annotation))

    params = node.params
    for p in (*params.posonly_params, *params.params):
        add(p, "positional")
    if isinstance(params.star_arg, cst.Param):
        add(params.star_arg, "star")
    for p in params.kwonly_params:
        add(p, "keyword")
    if params.star_kwarg is not None:
        add(params.star_kwarg, "double-star")
    return tuple(out)


@dataclass(slots=True)
class _Names:
    bound: set[str] = field(default_factory=set)
    outer: set[str] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    yields: bool = False


def _function_info(module: Module, node: cst.FunctionDef | cst.Lambda, enclosing_class: Place | None) -> FunctionInfo:
    params = _parameters(node)
    names = _Names(bound={p.name for p in params})
    _scan(node.body, names, inner=False)
    return FunctionInfo(
        place=module.place(node),
        node=node,
        module=module,
        name=node.name.value if isinstance(node, cst.FunctionDef) else "<lambda>",
        parameters=params,
        local_names=frozenset(names.bound - names.outer),
        outer_names=frozenset(names.outer),
        rebound=frozenset(names.rebound),
        captured=frozenset(names.inner & names.bound),
        is_generator=names.yields,
        is_async=isinstance(node, cst.FunctionDef) and node.asynchronous is not None,
        returns=node.returns.annotation if isinstance(node, cst.FunctionDef) and node.returns else None,
        enclosing_class=enclosing_class,
        heat=None,
    )


_TARGETED = {cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor}


def _scan(root: cst.CSTNode, names: _Names, *, inner: bool) -> None:
    stack: list[tuple[cst.CSTNode, bool]] = [(root, inner)]
    while stack:
        node, within = stack.pop()
        kind = type(node)
        if kind is cst.Name:
            if within:
                names.inner.add(node.value)  # type: ignore[attr-defined]  # the type was compared above
            continue
        if kind is cst.FunctionDef or kind is cst.ClassDef or kind is cst.Lambda:
            _scan_definition(node, names, within, stack)
            continue
        if not within:
            _scan_binding(node, kind, names)
        elif kind is cst.Global or kind is cst.Nonlocal:
            names.rebound.update(n.name.value for n in node.names)  # type: ignore[attr-defined]  # as compared above
        for child in children(node):
            stack.append((child, within))


def _scan_definition(node: cst.CSTNode, names: _Names, within: bool, stack: list[tuple[cst.CSTNode, bool]]) -> None:
    if isinstance(node, cst.Lambda):
        stack.append((node.params, True))
        stack.append((node.body, True))
        return
    assert isinstance(node, cst.FunctionDef | cst.ClassDef)
    if not within:
        names.bound.add(node.name.value)
    stack.extend((d, within) for d in node.decorators)
    if isinstance(node, cst.ClassDef):
        stack.extend((a, within) for a in (*node.bases, *node.keywords))
    else:
        stack.append((node.params, True))
    stack.append((node.body, True))


def _scan_binding(node: cst.CSTNode, kind: type, names: _Names) -> None:
    if kind is cst.Yield:
        names.yields = True
    elif kind in _TARGETED:
        bind(node.target, names.bound)  # type: ignore[attr-defined]  # each of those types has a target
    elif kind is cst.AsName:
        bind(node.name, names.bound)  # type: ignore[attr-defined]  # the type was compared
    elif kind is cst.Global or kind is cst.Nonlocal:
        assert isinstance(node, cst.Global | cst.Nonlocal)
        names.outer.update(n.name.value for n in node.names)
    elif kind is cst.ImportAlias:
        assert isinstance(node, cst.ImportAlias)
        top = node.name
        while isinstance(top, cst.Attribute):
            top = top.value  # type: ignore[assignment]  # a dotted name ends in a Name
        if isinstance(top, cst.Name) and node.asname is None:
            names.bound.add(top.value)
    elif kind is cst.MatchAs or kind is cst.MatchStar:
        assert isinstance(node, cst.MatchAs | cst.MatchStar)
        if node.name is not None:
            names.bound.add(node.name.value)


def bind(target: cst.CSTNode, into: set[str]) -> None:
    """Add the plain names that an assignment target binds."""
    if isinstance(target, cst.Name):
        into.add(target.value)
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            bind(element.value, into)
    elif isinstance(target, cst.StarredElement):
        bind(target.value, into)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """What the loader gives for a module: its tree, the heat comments by line, and how many lines there are."""

    path: str
    tree: cst.Module
    marks: Mapping[int, str] = field(default_factory=dict)
    lines: int = 0


Loader = Callable[[str], SourceFile | None]
"""Reads and parses the file at a displayed path; None where that cannot be done (the error is the loader's affair)."""


class Project:
    """The modules of the project by dotted name, loaded when somebody asks.

    `paths` are all Python files that may be imported, as displayed; `requested` those that the user asked to check.
    """

    def __init__(self, paths: Sequence[str], requested: Sequence[str], load: Loader) -> None:
        self._load = load
        self._requested = frozenset(requested)
        self._modules: dict[str, Module | None] = {}
        self._by_name: dict[str, list[str]] = {}
        packages = {p.rpartition("/")[0] for p in paths if p.rpartition("/")[2] == "__init__.py"}
        self._packages = packages
        for path in paths:
            stem = path.removesuffix(".py").removesuffix(".pyi").removesuffix("/__init__")
            parts = [p for p in stem.split("/") if p not in {"", ".", ".."}]
            for n in range(len(parts)):
                self._by_name.setdefault(".".join(parts[n:]), []).append(path)

    def forget(self) -> None:
        """Let go of the modules, which know their functions, which know their modules."""
        for module in self._modules.values():
            if module is not None:
                module.__dict__.clear()
        self._modules.clear()

    def module_name(self, path: str) -> str:
        """The dotted name under which a file is imported: from the outermost folder that is a package."""
        stem = path.removesuffix(".py").removesuffix("/__init__")
        parts = stem.split("/")
        start = len(parts) - 1
        while start > 0 and "/".join(parts[:start]) in self._packages:
            start -= 1
        return ".".join(p for p in parts[start:] if p not in {"", ".", ".."})

    def at(self, path: str) -> Module | None:
        """The module in a file, loaded at the first request."""
        if path not in self._modules:
            source = self._load(path)
            self._modules[path] = source if source is None else self._module(path, source)
        return self._modules[path]

    def _module(self, path: str, source: SourceFile) -> Module:
        return Module(
            source,
            self.module_name(path),
            is_package=path.endswith("/__init__.py") or path == "__init__.py",
            requested=path in self._requested,
        )

    def find(self, name: str, importer: str) -> str | None:
        """The path of the module called `name`, nearest to the importing file where several fit."""
        candidates = self._by_name.get(name)
        if not candidates:
            return None
        return max(candidates, key=lambda p: self._fitness(p, name, importer))

    def _fitness(self, path: str, name: str, importer: str) -> tuple[bool, int, int]:
        common = 0
        for a, b in zip(path.split("/"), importer.split("/"), strict=False):
            if a != b:
                break
            common += 1
        return (self.module_name(path) == name, common, -len(path))

    @staticmethod
    def absolute(module: Module, level: int, name: str) -> str:
        """The absolute name that a relative import of `level` dots means inside `module`."""
        parts = module.name.split(".")
        keep = len(parts) - level + (1 if module.is_package else 0)
        head = parts[: max(keep, 0)]
        return ".".join([*head, name] if name else head)

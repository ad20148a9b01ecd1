"""What holds at a point of a function, what others see of a scope, and the record of one run of a function."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from jaxlint.interp.cells import Reads
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.program import FunctionInfo, Module
from jaxlint.interp.values import NOTHING, Place, Token, Tuple, Value
from jaxlint.sites import Confidence, Operation


@dataclass(slots=True)
class State:
    """What holds at a point of a function: the values of its names and the arrays whose host copy exists.

    A dotted name ("self.loss") is what was last assigned to an attribute here; where it is absent the heap answers.
    """

    names: dict[str, Value] = field(default_factory=dict)
    fetched: set[Token] = field(default_factory=set)
    alive: bool = True

    def copy(self) -> "State":
        """A state that changes on its own."""
        return State(dict(self.names), set(self.fetched), self.alive)

    def forget_the_unnamed(self) -> None:
        """Drop the host copies of arrays that no name holds any more: what is made in their places will be others."""
        held = {t[:2] for value in self.names.values() for t in _tokens(value)}
        self.fetched = {t for t in self.fetched if not isinstance(t[0], Place) or t[:2] in held}

    def take(self, other: "State") -> None:
        """Become `other`."""
        self.names, self.fetched, self.alive = other.names, other.fetched, other.alive

    def merge(self, other: "State") -> bool:
        """Become the join of both; True if that changed anything."""
        if not other.alive:
            return False
        if not self.alive:
            self.take(other.copy())
            return True
        changed = False
        names = self.names
        fetched = _fetched_in_both(self, other)
        for name in [n for n in names if "." in n and n not in other.names]:
            del names[name]
        for name, value in other.names.items():
            old = names.get(name)
            if old is None:
                if "." not in name:
                    names[name] = value
                    changed = True
            elif old is not value:
                new = join(old, value)
                if new != old:
                    changed = True
                names[name] = new
        self.fetched = fetched
        return changed


def _fetched_in_both(a: State, b: State) -> set[Token]:
    """The arrays that have a host copy in whichever state holds them: what only one branch makes counts by itself."""
    fetched = a.fetched & b.fetched
    for some, other in ((a, b), (b, a)):
        rest = [t for t in some.fetched - other.fetched if isinstance(t[0], Place)]
        if rest:
            held = {t[:2] for value in other.names.values() for t in _tokens(value)}
            fetched.update(t for t in rest if t[:2] not in held)
    return fetched


def _tokens(value: Value, depth: int = 3) -> Iterator[Token]:
    yield from value.tokens
    for obj in value.objects if depth else ():
        if isinstance(obj, Tuple):
            for item in obj.items:
                yield from _tokens(item, depth - 1)


@dataclass(slots=True, eq=False)
class Scope:
    """The names of a module, function or class as others see them: each the join of all its assignments.

    `final` is what names hold once the body has run, for those that nobody else assigns; `shown` is that of the last
    run while the body runs again.
    """

    number: int
    parent: int | None
    kind: str
    names: dict[str, Value] = field(default_factory=dict)
    final: dict[str, Value] | None = None
    shown: dict[str, Value] | None = None


@dataclass(slots=True)
class RawSite:
    """A site before its position and heat are known."""

    module: Module
    node: ast.AST
    operation: Operation
    callee: str | None
    operands: tuple[tuple[Value, ast.AST | None], ...]
    pace: Pace
    traced: bool
    confidence: Confidence
    detail: str = ""
    if_eager: bool = False
    owner: Place | None = None
    whole: bool = False
    tree: bool = True


@dataclass(slots=True, eq=False)
class Activation:
    """One function (or module) run with one set of abstract arguments; its number is also its scope's.

    `joined`: it stands for many sets of arguments. `chosen` are the activations that it calls as one of several
    functions: which caller of a joined one brings which of them is not known.
    """

    number: int
    info: FunctionInfo | None
    module: Module
    result: Value = NOTHING
    yielded: Value = NOTHING
    result_fetched: bool = False
    fetched_parameters: frozenset[Token] = frozenset()
    finished: bool = False
    running: bool = False
    traced: bool = False
    eager: bool = False
    recursive: bool = False
    joined: bool = False
    under_trace: bool = False
    entered: bool = False
    growths: int = 0
    parameters: dict[str, Value] = field(default_factory=dict)
    fetching: set[int] = field(default_factory=set)
    captured: list[Value] = field(default_factory=list)
    cached_under_guard: set[str] = field(default_factory=set)
    seen: set[tuple[tuple[str, Value], ...]] = field(default_factory=set)
    reads: Reads = field(default_factory=dict)
    calls: set[tuple[int, Pace]] = field(default_factory=set)
    chosen: set[int] = field(default_factory=set)
    sites: dict[tuple[int, Operation], RawSite] = field(default_factory=dict)

    @property
    def outcome(self) -> tuple[Value, Value, bool, frozenset[Token]]:
        """What its callers learn from it."""
        return (self.result, self.yielded, self.result_fetched, self.fetched_parameters)


@dataclass(frozen=True, slots=True)
class Abandoned:
    """What was not analysed to its end, before its line is known."""

    module: Module
    node: ast.AST
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A function that was not analysed to its end, and why."""

    path: str
    line: int
    name: str
    reason: str

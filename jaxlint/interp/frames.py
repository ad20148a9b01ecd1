"""Frames: code that runs, with its state and what is around it; and the calls that handlers see."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from jaxlint.interp.heat import Gate, Pace
from jaxlint.interp.program import FunctionInfo, Module
from jaxlint.interp.states import Activation, Scope, State
from jaxlint.interp.values import UNKNOWN, Class, Origin, Place, Token, Value, replace
from jaxlint.sites import Operation

if TYPE_CHECKING:
    from jaxlint.interp.engine import Engine


class Mode(Enum):
    """How the code of a frame runs. STAGED: under jit and its like, every jnp result is a tracer. OPEN: nobody in the
    project calls it, so that it may run in either way."""

    EAGER = "eager"
    STAGED = "staged"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a call. `keyword` is None for positional ones; `star` is "*" or "**" for unpacked ones."""

    value: Value
    node: ast.AST | None = None
    keyword: str | None = None
    star: str = ""


Arguments = Sequence[Argument]


@dataclass(slots=True, eq=False)
class Frame:
    """The running of an activation.

    `ends` is the join of the states in which it returns: what its inner functions see afterwards; `fetched_at_end` is
    what has a host copy in all of them. `leaving` are the
    states in which something leaves the try statement that is being run. `trying` are the try statements with
    handlers around this place inside the innermost loop, those of callers included, the outermost first. `loops` are
    the paces at which the loops around this place began, the outermost first. `building`: a module's code runs to make
    its parameters, once, and its loops are over its parts. `own` are the names that the comprehensions around bind,
    each with whether functions within them use it. `brief` is the pace around loops that all have few turns, by the
    number in the source. `on_cpu`: the host's own processor is the device on which new arrays are made. `among` says
    that one of several functions is being called, and `recorded` are the sites that the present one shows here.
    `shared`: a function has been made here that sees this one's names.
    """

    engine: "Engine"
    activation: Activation
    scope: Scope
    module: Module
    mode: Mode
    state: State
    info: FunctionInfo | None = None
    depth: int = 0
    pace: Pace = Pace.ONCE
    receiver: Value | None = None
    defining_class: Class | None = None
    guards: tuple["Guard", ...] = ()
    inherited_guards: int = 0
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    leaving: list[State] | None = None
    ends: State | None = None
    fetched_at_end: set[Token] | None = None
    trying: tuple["Attempt", ...] = ()
    brief: Pace | None = None
    loops: tuple[Pace, ...] = ()
    handlers: list["Handler"] = field(default_factory=list)
    caller: "Frame | None" = None
    trace_start: bool = False
    traced: bool = False
    jit_disabled: bool = False
    on_cpu: bool = False
    tolerant: int = 0
    rights: dict[int, Value] = field(default_factory=dict)
    displayed: dict[int, dict[str, Value]] = field(default_factory=dict)
    answers: dict[int, Gate] = field(default_factory=dict)
    concrete: bool = False
    building: bool = False
    rekeyed: dict[str, Value] = field(default_factory=dict)
    loop_names: frozenset[str] | set[str] = frozenset()
    loop_bound: frozenset[str] = frozenset()
    among: bool = False
    recorded: set[tuple[int, Operation]] | None = None
    own: Mapping[str, bool] = field(default_factory=dict)
    shared: bool = False

    @property
    def staged(self) -> bool:
        """True where every jnp result is a tracer."""
        return self.mode is Mode.STAGED

    @property
    def unrolls(self) -> bool:
        """True where loops are no work that goes on and on: a trace unrolls them, and a model has its parts made."""
        return self.mode is Mode.STAGED or self.building

    @property
    def within_trace(self) -> bool:
        """True where values may be tracers: what looks like one elsewhere was stored by a trace that is over."""
        return self.traced or self.mode is Mode.STAGED

    def is_local(self, name: str) -> bool:
        """True of a name that the running function binds, or a comprehension around this place."""
        return name in self.own or (self.info is not None and name in self.info.local_names)

    def place(self, node: ast.AST) -> Place:
        """The name of a node of this frame's module."""
        return self.module.place(node)

    def origin(self, node: ast.AST, message: str, before: Value | None = None, *, guess: bool = False) -> Origin:
        """A step of provenance at a node, after that of `before`."""
        earlier = before.origin if before is not None else None
        return Origin(self.module.place(node), message, earlier, guess or (earlier is not None and earlier.guess))

    def note_end(self) -> None:
        """The function may return here: its inner functions find its names as they are now."""
        self.note_fetched()
        if self.info is not None and self.info.captured:
            if self.ends is None:
                self.ends = self.state.copy()
            else:
                self.ends.merge(self.state)

    def note_fetched(self) -> None:
        """The function may return here: what it has fetched wherever it returns its callers know to have a copy."""
        fetched = {t for t in self.state.fetched if t[0] == "parameter"}
        self.fetched_at_end = fetched if self.fetched_at_end is None else self.fetched_at_end & fetched

    def elsewhere(self, scope: Scope, module: Module, names: Mapping[str, Value] | None = None) -> "Frame":
        """A frame for code in another scope that runs here: under the same guards and handlers, in the same loops."""
        return replace(
            self, scope=scope, module=module, state=State(dict(names or {})), info=None, receiver=None,
            defining_class=None, breaks=[], continues=[], leaving=None, ends=None, handlers=list(self.handlers), own={},
            rights={}, displayed={}, answers={}, rekeyed={},
        )  # fmt: skip

    @contextmanager
    def at_pace(self, inner: Pace) -> Iterator[None]:
        """Run a block in a loop or behind a gate."""
        before = self.pace
        self.pace = before.then(inner)
        try:
            yield
        finally:
            self.pace = before


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """A try statement around the running code, and where it stands: its handlers name their classes there."""

    node: ast.Try | ast.TryStar
    frame: Frame


@dataclass(frozen=True, slots=True)
class Guard:
    """A transfer guard that is held: its directions and level, and where it was entered."""

    directions: tuple[str, ...]
    level: str
    place: Place
    made: Place | None = None


@dataclass(slots=True, eq=False)
class Handler:
    """A broad except clause around the running code, that would swallow a guard's error."""

    node: ast.AST
    module: Module
    frame: "Frame"


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a library callable, as a handler sees it."""

    frame: Frame
    node: ast.AST
    name: str
    arguments: Arguments
    receiver: Value | None = None

    @property
    def engine(self) -> "Engine":
        """The engine of the frame."""
        return self.frame.engine

    def argument(self, position: int, *keywords: str) -> Value | None:
        """An argument by position (after the receiver) or by one of its keywords; None where it is not given."""
        found = self.find(position, *keywords)
        return None if found is None else found.value

    def find(self, position: int, *keywords: str) -> Argument | None:
        """Like `argument`, with the node."""
        at = 0
        for a in self.arguments:
            if a.keyword is not None:
                if a.keyword in keywords:
                    return a
            elif a.star:
                if a.star == "*" and at <= position:
                    return self._from_star(a, position - at)
            elif at == position:
                return a
            else:
                at += 1
        return None

    def _from_star(self, a: Argument, offset: int) -> Argument | None:
        from_star = self.engine.unpack_star(a.value)
        if from_star is None:
            return None
        return Argument(from_star[offset], a.node) if offset < len(from_star) else None

    def given(self, position: int, *keywords: str) -> Value:
        """Like `argument`, with UNKNOWN where it is not given."""
        return self.argument(position, *keywords) or UNKNOWN

    @property
    def positional(self) -> list[Argument]:
        """The positional arguments, stars included as they are."""
        return [a for a in self.arguments if a.keyword is None and a.star != "**"]

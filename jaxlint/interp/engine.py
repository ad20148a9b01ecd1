"""The engine: scopes, activations and the tables through which the parts of the interpreter meet.

`expressions`, `flow`, `calls` and the handlers register here and reach each other only through the engine, so that
imports go one way. The engine knows neither a construct of Python nor a function of a library.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from jaxlint.interp.budget import Budget, GaveUp
from jaxlint.interp.cells import Reads
from jaxlint.interp.frames import Arguments, Call, Frame, Guard
from jaxlint.interp.hashing import Shared
from jaxlint.interp.heap import Heap
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.ledger import Ledger
from jaxlint.interp.models import Models
from jaxlint.interp.program import FunctionInfo, Module
from jaxlint.interp.project import Project
from jaxlint.interp.states import Abandoned, Activation, Scope
from jaxlint.interp.syntax import Suite
from jaxlint.interp.values import (
    UNKNOWN,
    Class,
    Library,
    Object,
    Place,
    Token,
    Transformed,
    Tuple,
    Value,
    replace,
)

MAX_DEPTH = 24
MAX_CONTEXTS = 8
MAX_CONSTANT_CONTEXTS = 5
"""So many contexts of a function may differ in the literals that it is called with."""
MAX_MADE = 64
"""A decorator gets a context for each function that it is put above, a constructor for each instance that it makes:
what they leave belongs to one of them, not to all."""
MAX_PLAIN = 1024
"""Of a decorator that is one expression each costs next to nothing."""
MAX_TRACED_CONTEXTS = 4
"""In traced code only the tracer rules look on; fewer contexts tell them enough."""


Evaluator = Callable[[Frame, ast.AST], Value]
Executor = Callable[[Frame, ast.AST], None]
Handling = Callable[[Call], Value]


class Truth(Protocol):
    """Asks for the truth of a value; see `flow.truth`."""

    def __call__(self, frame: Frame, node: ast.AST, value: Value, asked: Value | None = None) -> bool | None:
        """The answer where it is known, else None."""


class Engine:
    """The state of one analysis and the tables of what to do with each kind of node and library callable."""

    def __init__(self, project: Project, models: Models) -> None:
        self.project, self.models = project, models
        self.budget = Budget()
        self.heap = Heap(self.budget)
        self.scopes: list[Scope] = []
        self.activations: list[Activation] = []
        self.by_number: dict[int, Activation] = {}
        self.by_key: dict[tuple[object, ...], Activation] = {}
        self.entries: dict[int, tuple[Frame, dict[str, Value]]] = {}
        self.contexts: dict[Place, int] = {}
        self.classes: dict[Class, ClassRecord] = {}
        self.classes_at: dict[Place, list[Class]] = {}
        self.bases_of: dict[Class, list[Class | Library]] = {}
        self.instances: dict[Class, list[Object]] = {}
        self.of_items: set[Object] = set()  # the lists that were made of the items of a dict or the leaves of a tree
        self.repeated: set[Object] = set()  # the instances that a loop makes, others at each turn
        self.several: set[Object] = set()  # these, and those that a comprehension makes
        self.by_place: dict[Place, FunctionInfo] = {}
        self.module_activations: dict[str, Activation] = {}
        self.reached: set[Place] = set()
        self.entered: dict[Place, Reads] = {}
        self.defined_in: dict[Place, list[int]] = {}
        self.guards_made: dict[Place, tuple[Frame, ast.AST, bool]] = {}
        self.pinned_to_cpu: dict[str, Abandoned] = {}
        self.ledger = Ledger()
        self.fetched_at: dict[Token, tuple[Frame, ast.AST]] = {}
        self.memoised: set[Place] = set()
        self.managers: dict[Place, tuple[Guard, ...]] = {}
        self.abandoned: dict[tuple[str, int], Abandoned] = {}
        self.used_as_dicts: dict[int, frozenset[str]] = {}
        self.making = 0  # the depth of calls up to which a decorator or a constructor is at work
        self.unresolved: dict[str, set[tuple[int, Pace]]] = {}
        self.too_deep: dict[str, Abandoned] = {}
        self.transformed: dict[Place, Transformed] = {}
        self.completed: set[Place] = set()  # the functions to whose calls a decorator may add arguments

    expressions: ClassVar[dict[type, Evaluator]] = {}
    statements: ClassVar[dict[type, Executor]] = {}
    handlers: ClassVar[dict[str, Handling]] = {}

    # The doors between the parts, set by the module that holds each.
    call: Callable[[Frame, ast.AST, Value, Arguments], Value]
    attribute: Callable[[Frame, ast.AST, Value, str], Value]
    subscript: Callable[[Frame, ast.AST, Value, Value, ast.AST | None], Value]
    run_module: Callable[[Module], Activation]
    execute: Callable[[Frame, ast.stmt | Suite], None]
    truth: "Truth"
    make_record: Callable[[Frame, ast.AST, tuple[str, ...]], Value]

    def forget(self) -> None:
        """Let go of all that was known, at the end: its parts know one another, and the collector of cycles would have
        to look at each of them to find that nobody else does."""
        self.project.forget()
        self.__dict__.clear()
        Shared.made.clear()

    def give_up(self, module: Module, node: ast.AST, name: str, error: Exception) -> None:
        """A function, or a module's body, is not analysed to its end; the first reason stands."""
        if isinstance(error, GaveUp | RecursionError):
            reason = "too much to follow"
        elif isinstance(error, MemoryError):
            reason = "too large for the memory of this process"
        else:
            reason = f"jaxlint failed ({type(error).__name__}: {error}); please report this"
        self.abandoned.setdefault((module.path, id(node)), Abandoned(module, node, name, reason))

    def give_up_file(self, module: Module, node: ast.AST, name: str) -> None:
        """The code of a file has taken all steps that it may; said once, of what was run then."""
        reason = "too much to follow in this file, of which nothing more is run"
        self.abandoned.setdefault((module.path, 0), Abandoned(module, node, name, reason))

    def evaluate(self, frame: Frame, node: ast.AST) -> Value:
        """The value of an expression in the frame's present state."""
        self.budget.step()
        evaluator = self.expressions.get(type(node))
        return UNKNOWN if evaluator is None else evaluator(frame, node)

    def unpack_star(self, value: Value) -> tuple[Value, ...] | None:
        """The items of ``*value`` where their number is known."""
        if len(value.objects) == 1 and not value.kind and not value.unknown:
            (obj,) = value.objects
            if isinstance(obj, Tuple):
                return obj.items
        return None

    def add_class(self, record: "ClassRecord") -> None:
        """Take a class into the books."""
        self.classes[record.cls] = record
        self.classes_at.setdefault(record.cls.place, []).append(record.cls)

    def add_activation(self, activation: Activation) -> None:
        """Take an activation into the books."""
        self.activations.append(activation)
        self.by_number[activation.number] = activation

    def forget_the_uncalled(self) -> None:
        """Leave out what was run as something was called that turned out otherwise when more was known: others may
        have its contexts."""
        todo = [a.number for a in self.activations if a.info is None]
        called = set(todo)
        while todo:
            for callee, _ in self.by_number[todo.pop()].calls:
                if callee not in called:
                    called.add(callee)
                    todo.append(callee)
        left = {a.number for a in self.activations} - called
        if not left:
            return
        for activation in self.activations:
            if activation.number in left and activation.info is not None and not activation.joined:
                self.contexts[activation.info.place] -= 1
        self.activations = [a for a in self.activations if a.number in called]
        self.by_key = {key: a for key, a in self.by_key.items() if a.number in called}

    def outside(self, module: Module) -> Activation:
        """Whoever calls a module's functions from outside of the project: nothing is known of him."""
        activation = self.by_key.get(("root", module.path))
        if activation is None:
            activation = Activation(self.new_scope(None, "module").number, None, module)
            self.add_activation(activation)
            self.by_key["root", module.path] = activation
        return activation

    def new_scope(self, parent: int | None, kind: str) -> Scope:
        """A scope of its own number."""
        scope = Scope(len(self.scopes), parent, kind)
        self.scopes.append(scope)
        return scope

    def publish(self, scope: Scope, name: str, value: Value) -> None:
        """Join an assignment into what others see of a scope."""
        if scope.final is not None and scope.final.pop(name, None) is not None:
            self.heap.note_change((scope.number, name))
        old = scope.names.get(name)
        if old is None:
            scope.names[name] = replace(value, tokens=frozenset()) if value.tokens else value
            self.heap.note_change((scope.number, name))
            return
        new = _compiled(join(old, value))
        if new != old:
            scope.names[name] = replace(new, tokens=frozenset()) if new.tokens else new
            self.heap.note_change((scope.number, name))

    def settle(self, scope: Scope, final: dict[str, Value]) -> None:
        """The body of a scope has run: from now on others see what its names hold at the end."""
        for name, value in final.items():
            if value.tokens:
                final[name] = value = replace(value, tokens=frozenset())
            seen = scope.names.get(name) if scope.shown is None else scope.shown.get(name, scope.names.get(name))
            if seen != value:
                self.heap.note_change((scope.number, name))
        scope.final = scope.shown = final

    def look_up(self, scope: Scope | None, name: str, *, at_end: bool = True) -> Value | None:
        """A name as seen from a scope outwards: classes are skipped, as Python does.

        Not `at_end` of the module, where the code that asks may run before its name is bound for the last time.
        """
        while scope is not None:
            if scope.kind != "class":
                self.heap.note_read((scope.number, name))
                value = scope.names.get(name)
                if scope.final is not None and (at_end or scope.kind != "module"):
                    value = scope.final.get(name, value)
                if value is not None:
                    return value
            scope = None if scope.parent is None else self.scopes[scope.parent]
        return None


def _compiled(value: Value) -> Value:
    """What a name holds, without the functions that it holds transformed as well: ``f = jax.jit(f)`` replaces them."""
    inside = {o for t in value.objects if isinstance(t, Transformed) for o in t.function.objects}
    return replace(value, objects=value.objects - inside) if inside & value.objects else value


@dataclass(slots=True, eq=False)
class ClassRecord:
    """A class of the project: its bases, attributes by name (in the scope), and how instances are made.

    `not_given` are the fields that the constructor does not take, `converters` the functions through which what a
    field is given goes first.
    """

    cls: Class
    node: ast.AST
    module: Module
    scope: Scope
    bases: tuple[Value, ...]
    fields: tuple[tuple[str, ast.expr | None], ...]
    not_given: frozenset[str] = frozenset()
    instances: list[Object] = field(default_factory=list)
    converters: dict[str, Value] = field(default_factory=dict)


def expression(*types: type) -> Callable[[Evaluator], Evaluator]:
    """Register an evaluator for node types."""

    def register(fn: Evaluator) -> Evaluator:
        for t in types:
            Engine.expressions[t] = fn
        return fn

    return register


def statement(*types: type) -> Callable[[Executor], Executor]:
    """Register an executor for node types."""

    def register(fn: Executor) -> Executor:
        for t in types:
            Engine.statements[t] = fn
        return fn

    return register


def handler(*names: str) -> Callable[[Handling], Handling]:
    """Register what a model's `handler` names mean."""

    def register(fn: Handling) -> Handling:
        for name in names:
            Engine.handlers[name] = fn
        return fn

    return register

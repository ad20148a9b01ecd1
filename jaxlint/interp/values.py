"""Abstract values: where a value may live, what it is made of, and how it came to be there.

A `Value` stands for all concrete values that an expression may have on the analysed paths. Everything here is frozen,
hashable and free of syntax nodes; mutable contents (of lists, dicts and instances) live in the `Heap`.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from jaxlint.interp.hashing import Hashed, Shared
from jaxlint.interp.heat import Gate
from jaxlint.kinds import NOWHERE, Kind

if TYPE_CHECKING:
    from dataclasses import dataclass
    from dataclasses import replace as replace
else:
    from jaxlint.interp.hashing import dataclass

    def replace(old, **changes):
        """`dataclasses.replace`, several times as fast for values, of which an analysis changes millions."""
        if type(old) is not Value:
            return dataclasses.replace(old, **changes)
        new = object.__new__(Value)
        new.kind, new.objects, new.unknown, new.const = old.kind, old.objects, old.unknown, old.const
        new.boolean, new.origin, new.tokens = old.boolean, old.origin, old.tokens
        new.placement, new.gate, new.sources = old.placement, old.gate, old.sources
        for name, value in changes.items():
            setattr(new, name, value)
        return new


class Place(NamedTuple):
    """A syntax node by name: the module's path and the node's number there (`Module.place`)."""

    path: str
    number: int


class Origin(NamedTuple):
    """One step of a provenance, linked to the step before it. `guess` marks a step that rests on a weak hint."""

    place: Place
    message: str
    before: "Origin | None" = None
    guess: bool = False


MAX_DEPTH = 8
"""How deep values nest; what lies deeper is unknown, so that no program makes values of unbounded size."""
MAX_EXTENT = 1_000
"""How many values lie in one, those that lie in several places counted in each; what holds more is unknown."""


def extent_of(part: object) -> tuple[int, int]:
    """How many values lie inside each other in a value, object, tuple or set, and how many in all; remembered, since
    parts are shared."""
    if isinstance(part, Hashed):
        try:
            return part._extent
        except AttributeError:
            depth, count = _extent_of_all(getattr(part, name) for name in part.holding)
            own = isinstance(part, Value)
            part._extent = depth + own, count + own
            return part._extent
    if isinstance(part, frozenset) or type(part) is tuple:
        return _extent_of_all(part) if part else _NO_EXTENT
    return _NO_EXTENT


_NO_EXTENT = (0, 0)


def holds_values(value: "Value") -> bool:
    """True if other values lie in what a value may be: in tuples, iterators, bound methods."""
    return bool(value.objects) and extent_of(value)[0] > 1


def _extent_of_all(parts: Iterable[object]) -> tuple[int, int]:
    depth = count = 0
    for part in parts:
        below, inside = extent_of(part)
        count += inside
        if below > depth:
            depth = below
    return depth, count


class Source(NamedTuple):
    """Where a host value comes from: a fetch, by its place, or a parameter, by its function's run and its name.

    `kept` says that the value lay in a list, an attribute or the like since.
    """

    path: str
    number: int
    name: str = ""
    kept: bool = False


Token = tuple[object, ...]
"""The identity of one array, to know whether its host copy exists already."""


@dataclass(frozen=True, slots=True)
class Value(Hashed):
    """A set of possible values.

    `kind`: the places of its arrays and scalars. `objects`: functions, classes, modules, containers, instances that it
    may be. `unknown`: it may also be something that the analysis cannot name. `const`: `(v, ...)` where it is exactly
    the Python literal v. `origin` and `tokens` explain and identify; they take no part in equality.
    `boolean` says that an array holds truth values, so that indexing by it selects. `placement` is the device or
    sharding to which an array is committed, "default" for one that is not committed, "" where that is not known.
    `gate` is what the test says by which a truth value was made. `sources` are the fetches whose data it holds.
    """

    kind: Kind = NOWHERE
    objects: frozenset["Object"] = frozenset()
    unknown: bool = False
    const: tuple[object, ...] = ()
    boolean: bool = False
    origin: Origin | None = field(default=None, compare=False)
    tokens: frozenset[Token] = field(default=frozenset(), compare=False)
    placement: str = field(default="", compare=False)
    gate: Gate = field(default=Gate.NONE, compare=False)
    sources: frozenset[Source] = field(default=frozenset(), compare=False)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Value)
            and self.kind is other.kind
            and self.unknown == other.unknown
            and self.boolean == other.boolean
            and self.const == other.const
            and self.objects == other.objects
        )

    @property
    def is_nothing(self) -> bool:
        """True of the value of an expression that is never reached: a function that only raises."""
        return self.kind is NOWHERE and not self.objects and not self.unknown

    def known(self, kind: Kind) -> bool:
        """True if every alternative is an array or scalar in `kind`."""
        return self.kind.must_be(kind) and not self.unknown and not self.objects

    @property
    def none_only(self) -> bool:
        """True of None alone."""
        return not self.kind and not self.unknown and self.objects == frozenset((NULL,))


class Object(Hashed):
    """The base of everything that is not a plain array or scalar. Hashes are kept: values nest deeply."""

    __slots__ = ()


class Named(Object, metaclass=Shared):
    """What is told by names and places alone and is made again at each look: equal ones are one. `alone` is the value
    that is nothing else."""

    __slots__ = ("alone",)
    alone: "Value"


@dataclass(frozen=True, slots=True)
class Null(Object):
    """None. An object and not a place, so that ``x is None`` can take it away again."""


@dataclass(frozen=True, slots=True)
class Function(Named):
    """A function of the project: its definition and the scope in which it was defined."""

    place: Place
    scope: int


@dataclass(frozen=True, slots=True)
class Method(Object):
    """A callable with its receiver bound."""

    function: Object
    receiver: Value


@dataclass(frozen=True, slots=True)
class Class(Named):
    """A class of the project."""

    place: Place
    scope: int


@dataclass(frozen=True, slots=True)
class Instance(Named):
    """The instances of a project class made at one place."""

    cls: Class
    place: Place
    scope: int


@dataclass(frozen=True, slots=True)
class ProjectModule(Named):
    """A module of the project."""

    path: str


@dataclass(frozen=True, slots=True)
class Library(Named):
    """A module, function or class outside the project, by its canonical dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class LibraryObject(Object):
    """An instance of a library class. `parts` are the values it was made of (the iterable of a progress bar, ...)."""

    name: str
    parts: tuple[Value, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class LibraryMethod(Object):
    """A method of an array or library object: its canonical name and receiver."""

    name: str
    receiver: Value


@dataclass(frozen=True, slots=True)
class Transformed(Object):
    """A function under a JAX transform.

    `transform` is the handler that made it ("jit", "vmap", "grad", ...). `options` are the transform's settings as
    name and value pairs; `place` is where it was made.
    """

    transform: str
    function: Value
    options: tuple[tuple[str, object], ...]
    place: Place

    def option(self, name: str) -> object:
        """The setting called `name`, None where it was not given."""
        return next((v for k, v in self.options if k == name), None)


@dataclass(frozen=True, slots=True)
class Partial(Object):
    """functools.partial: a callable with leading and keyword arguments given."""

    function: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Tuple(Object):
    """A tuple of known length."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Sequence(Named):
    """The lists (or sets, deques) made at one place; elements live in the heap."""

    place: Place
    scope: int
    name: str = "list"


CALLEE = -1
"""In place of a scope: the dict of keywords that a call makes for its callee."""


@dataclass(frozen=True, slots=True)
class Mapping(Named):
    """The dicts made at one place; values live in the heap by constant key."""

    place: Place
    scope: int


@dataclass(frozen=True, slots=True)
class Stream(Object):
    """An iterator, generator or immutable collection of unknown length: what each turn yields.

    `generator` is the number of the activation that yields it, where that is one of the project.
    """

    element: Value
    generator: int | None = None


@dataclass(frozen=True, slots=True)
class Moved(Named):
    """The structure of `base` with its array leaves in another place: the result of device_get, jit, tree.map.

    `numbers` says that plain numbers moved too.
    """

    base: Object
    kind: Kind
    guess: bool = False
    numbers: bool = True


@dataclass(frozen=True, slots=True)
class Super(Object):
    """super(): the receiver seen from above `cls`."""

    cls: Class
    receiver: Value


@dataclass(frozen=True, slots=True)
class Property(Object):
    """A descriptor on a class: `how` is property, static, class, method (a partial one) or cached; `setter` is what
    assignment calls."""

    function: Value
    how: str
    setter: "Value | None" = None


NOTHING = Value()
UNKNOWN = Value(unknown=True)
NULL = Null()
NONE = Value(objects=frozenset((NULL,)), const=(None,))
PYTHON = Value(Kind.PYTHON)
NUMPY = Value(Kind.NUMPY)


def constant(value: object) -> Value:
    """The value of a literal. Those that may equal an integer carry their type: 1 is neither True nor 1.0."""
    typed = isinstance(value, bool | float)
    return Value(Kind.PYTHON, const=(value, type(value).__name__) if typed else (value,))


def of(*objects: Object, origin: Origin | None = None) -> Value:
    """The value that is one of `objects`; what nests too deeply is unknown."""
    if origin is None and len(objects) == 1 and isinstance(objects[0], Named):
        try:
            return objects[0].alone
        except AttributeError:
            objects[0].alone = value = _of(objects, None)
            return value
    return _of(objects, origin)


def _of(objects: tuple[Object, ...], origin: Origin | None) -> Value:
    for obj in objects:
        depth, count = extent_of(obj)
        if depth > MAX_DEPTH or count > MAX_EXTENT:
            return Value(unknown=True, origin=origin)
    return Value(objects=frozenset(objects), origin=origin)


def without_none(value: Value) -> Value:
    """The value where it is not None."""
    return replace(value, objects=value.objects - {NULL}, const=()) if NULL in value.objects else value


def array(kind: Kind, origin: Origin | None = None, token: Token | None = None) -> Value:
    """An array in `kind`, with its identity where there is one."""
    return Value(kind, origin=origin, tokens=frozenset((token,)) if token else frozenset())

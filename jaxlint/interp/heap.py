"""The heap: what mutable things hold. Contents only grow (joins), so repeated passes reach a fixpoint."""

from collections.abc import Iterable, Iterator

from jaxlint.interp.budget import Budget
from jaxlint.interp.cells import Cell, Fields, Reads, Tree
from jaxlint.interp.joining import join, join_all
from jaxlint.interp.values import (
    NOTHING,
    NULL,
    UNKNOWN,
    Class,
    Instance,
    LibraryObject,
    Mapping,
    Moved,
    Object,
    Sequence,
    Source,
    Stream,
    Tuple,
    Value,
    replace,
)
from jaxlint.interp.widening import widen
from jaxlint.kinds import HOST, Kind

ANY = "*"
"""The field of a container's elements under keys that are not known."""
KEYS = "**keys"
"""The field of a dict's unknown keys."""
MAX_LEAVES = 64
Spot = tuple[object, str]
"""What else than fields may be looked at: a name of a scope by the scope's number, and the fields named below."""
RESULT = "**result"
"""The field of an activation, by number, for what it returns."""
PARAMETERS = "**parameters"
"""The field of an activation for the arguments that it stands for, where those are joined."""
INSTANCES = "**instances"
"""The field of a class for those that are made of it."""
COPIED = "**copied"
"""The field of a list or dict for those that it is a copy of."""
DEFINED = "**defined"
"""The field of a function, by place, for the scopes in which it is defined and the transforms that it is given to."""


class Heap:
    """Fields of objects. `records` are the classes with declared fields, and which of those are static in a pytree.

    `clock` counts the changes. `reads` are the places looked at since somebody last exchanged the dict.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._fields: dict[Object, Fields] = {}
        self._cells: dict[Spot, Cell] = {}
        self._static = Cell()
        self.clock = 0
        self.records: dict[Class, frozenset[str]] = {}
        self.reads: Reads = {}
        self._originals: dict[Object, frozenset[Object]] = {}

    def of(self, obj: Object) -> Fields:
        """What is kept of an object."""
        found = self._fields.get(obj)
        if found is None:
            found = self._fields[obj] = Fields()
        return found

    def cell(self, spot: Spot) -> Cell:
        """The cell of what is no field of an object."""
        found = self._cells.get(spot)
        if found is None:
            found = self._cells[spot] = Cell()
        return found

    def note_read(self, spot: Spot) -> None:
        """Somebody looks there, and has to look again when it changes."""
        self.reads.setdefault(self.cell(spot), self.clock)

    def note_change(self, spot: Spot) -> None:
        """Something is different from what was read there before."""
        self._changed(self.cell(spot))

    def _changed(self, cell: Cell) -> None:
        self.clock += 1
        cell.changed = cell.stored = self.clock

    def note_repeated(self, obj: Object) -> None:
        """A list has its items many times."""
        self.note_copy(obj, Value(objects=frozenset((NULL,))))

    def is_repeated(self, obj: Object) -> bool:
        """True if a list may have its items many times."""
        return NULL in self.originals(obj)

    def note_copy(self, made: Object, value: Value) -> None:
        """A list or dict is made with the items of a value, and no more."""
        known = self._originals.get(made)
        objects = frozenset(map(base_of, value.objects))
        if known is None or not objects <= known:
            self._originals[made] = objects if known is None else known | objects
            self.note_change((made, COPIED))

    def originals(self, obj: Object) -> frozenset[Object]:
        """What a list or dict is a copy of; nothing where it is none."""
        self.note_read((obj, COPIED))
        return self._originals.get(obj, frozenset())

    def declare(self, cls: Class, static: frozenset[str] | None) -> None:
        """The class has declared fields, of which those that are static are no leaves of a pytree; None where that is
        not known: then its arrays are leaves, and its numbers settings."""
        if static is None:
            self.records.pop(cls, None)
        else:
            self.records[cls] = static
        self.clock += 1
        self._static.stored = self.clock

    def write(self, obj: Object, field: str, value: Value) -> None:
        """Join `value` into a field. Identities are dropped: what is read later may be another array."""
        fields = self.of(obj)
        cell = fields.cells.get(field)
        old = None if cell is None else cell.value
        if cell is not None and old is not None and old == value:
            if not value.sources <= old.sources:
                cell.value = join(old, replace(value, origin=None, tokens=old.tokens, gate=old.gate))
                self.clock += 1
                cell.stored = self.clock
            return
        value = widen(value) if old is not None else value
        new = value if old is None else join(old, value)
        if old is None or new != old:
            cell = fields.written(field)
            cell.value = replace(new, tokens=frozenset()) if new.tokens else new
            self._changed(cell)
            if old is None:
                self._changed(fields.names)

    def replace(self, obj: Object, field: str, value: Value) -> None:
        """Set a field of an object that nothing but its maker has written to."""
        cell = self.of(obj).written(field)
        cell.value = value
        self._changed(cell)

    def field(self, obj: Object, field: str) -> Value | None:
        """The field's value; None where it was never written."""
        cell = self.of(obj).cell(field)
        self.reads.setdefault(cell, self.clock)
        return cell.value

    def seen(self, obj: Object) -> Iterable[Value]:
        """What an object holds, for those on whom nothing depends: it is not noted as read."""
        fields = self._fields.get(obj)
        return [] if fields is None else [v for c in fields.cells.values() if (v := c.value) is not None]

    def through(self, obj: Moved, field: str, below: Value) -> Value:
        """What a field of the object below is when seen through `obj`; remembered, since trees are walked often."""
        if _is_kept_out(self, obj.base, field):
            return below
        everything = obj.numbers and _is_leaf(self, obj.base, field)
        remembered = self.of(obj).through
        known = remembered.get(field)
        if known is not None and known[0] is below and known[1] is everything:
            return known[2]
        out = moved(below, obj.kind, everything=everything, guess=obj.guess)
        remembered[field] = (below, everything, out)
        return out

    def fields(self, obj: Object) -> dict[str, Value]:
        """All fields of an object, those that start with a star included."""
        fields = self.of(obj)
        self.reads.setdefault(fields.names, self.clock)
        return {name: cell.value for name, cell in fields.cells.items() if cell.value is not None}

    def names(self, obj: Object) -> Iterable[str]:
        """The names of an object's own fields."""
        fields = self.of(obj)
        self.reads.setdefault(fields.names, self.clock)
        return fields.cells

    def tree(self, obj: Object, depth: int) -> Tree:
        """What lies below an object; who makes use of it notes it as read."""
        trees = self.of(obj).trees
        tree = trees.get(depth)
        if tree is None or (tree.made != self.clock and tree.stored > tree.made):
            tree = trees[depth] = self._tree(obj, depth)
        else:
            tree.made = self.clock
        return tree

    def _tree(self, obj: Object, depth: int) -> Tree:
        tree = Tree()
        reads, self.reads = self.reads, {}
        tree.seen.add(obj)
        try:
            _collect_fields(self, obj, depth, tree.leaves, tree.seen)
            tree.cells[self._static] = None
            for place in self.reads:
                tree.cells.update(place.cells if isinstance(place, Tree) else {place: None})
        finally:
            self.reads = reads
        self._budget.walk(len(tree.cells))
        tree.made = self.clock
        return tree


def moved(value: Value, kind: Kind, *, everything: bool = False, guess: bool = False) -> Value:
    """The value with its array leaves in `kind`: jit arguments, jit results, device_get, tree.map(np.asarray).

    Strings, None, functions and classes stay. Plain Python scalars move too with `everything` (a jitted function's
    arguments and results). What is unknown becomes a tree of unknown structure whose leaves are in `kind`.
    """
    if value.const and isinstance(value.const[0], str | bytes):
        return value
    movable = Kind.NUMPY | Kind.DEVICE | Kind.TRACER | (Kind.PYTHON if everything else Kind(0))
    out = value.kind & ~movable
    if value.kind & movable or (value.unknown and everything):
        out |= kind
    objects = frozenset(_moved_object(o, kind, everything, guess) for o in value.objects)
    const = () if everything and value.kind & Kind.PYTHON else value.const
    sources = value.sources if kind & HOST else frozenset[Source]()
    return Value(out, objects, value.unknown, const, value.boolean, value.origin, sources=sources)


def _moved_object(obj: Object, kind: Kind, everything: bool, guess: bool) -> Object:
    match obj:
        case Tuple(items):
            return Tuple(tuple(moved(v, kind, everything=everything, guess=guess) for v in items))
        case Stream(element, _):
            return Stream(moved(element, kind, everything=everything, guess=guess), obj.generator)
        case Moved(base, _, _, numbers):
            return Moved(base, kind, guess, numbers or everything)
        case Sequence() | Mapping() | Instance() | LibraryObject():
            return Moved(obj, kind, guess, everything)
        case _:
            return obj


def read(heap: Heap, obj: Object, field: str) -> Value | None:
    """A field of an object, seen through Moved."""
    if isinstance(obj, Moved):
        own = heap.field(obj, field)
        below = read(heap, obj.base, field)
        if below is not None:
            below = heap.through(obj, field, below)
        if own is None or below is None:
            return own if below is None else below
        return join(own, below)
    return heap.field(obj, field)


def _is_leaf(heap: Heap, base: Object, field: str) -> bool:
    """True if a plain number in the field is a leaf of the pytree, so that compiled code returns it as an array."""
    if not isinstance(base, Instance):
        return True
    static = heap.records.get(base.cls)
    return static is not None and field not in static


def _is_kept_out(heap: Heap, base: Object, field: str) -> bool:
    """True of a field that the class of an instance keeps out of the pytree: no transform sees what is in it."""
    return isinstance(base, Instance) and field in heap.records.get(base.cls, ())


def base_of(obj: Object) -> Object:
    """The object below Moved."""
    return obj.base if isinstance(obj, Moved) else obj


def field_names(heap: Heap, obj: Object) -> list[str]:
    """The names of an object's fields, seen through Moved, in the order in which they were written."""
    names = heap.names(base_of(obj))
    return list(dict.fromkeys((*names, *heap.names(obj)))) if isinstance(obj, Moved) else list(names)


def known_items(heap: Heap, obj: Object) -> list[str]:
    """The fields of a list's items in their order, where each of them is known; else none."""
    names = field_names(heap, obj)
    return sorted(names, key=int) if all(name.isdecimal() for name in names) else []


def element_of(heap: Heap, value: Value, token: tuple[object, ...] | None = None) -> Value:
    """What one turn of iteration over `value` yields. `token` identifies the row of an array."""
    out = NOTHING
    for obj in value.objects:
        match base_of(obj):
            case Tuple(items):
                out = join(out, join_all(items))
            case Stream(element):
                out = join(out, element)
            case Sequence():
                out = join(out, join_all(_read_all(heap, obj)))
            case Mapping():
                keys = [n for n in field_names(heap, obj) if not n.startswith("*")]
                if keys or read(heap, obj, KEYS) is not None:
                    out = join(out, join(Value(Kind.PYTHON), heap.field(base_of(obj), KEYS) or NOTHING))
            case Null_ if Null_ is NULL:
                pass
            case LibraryObject(_, parts, _) if parts:
                out = join(out, element_of(heap, parts[0], token))
            case _:
                out = join(out, UNKNOWN)
    if value.kind:
        out = join(out, Value(value.kind, origin=value.origin, unknown=value.unknown, placement=value.placement))
    elif value.unknown:
        out = join(out, UNKNOWN)
    if (
        value.sources
        and (out.kind & HOST or out.unknown)
        and not any(isinstance(base_of(o), Mapping) for o in value.objects)
    ):
        out = replace(out, sources=out.sources | value.sources)
    tokens = frozenset((token,)) if token and out.kind & (Kind.DEVICE | Kind.TRACER) else frozenset()
    return out if out.tokens == tokens else replace(out, tokens=tokens)


def _read_all(heap: Heap, obj: Object) -> Iterator[Value]:
    for name in field_names(heap, obj):
        value = read(heap, obj, name)
        if value is not None:
            yield value


def values_of(heap: Heap, obj: Object) -> Value:
    """The join of a dict's values."""
    return join_all(v for n in field_names(heap, obj) if n != KEYS and (v := read(heap, obj, n)) is not None)


def leaves(heap: Heap, value: Value, depth: int = 5) -> list[Value]:
    """The arrays and scalars inside a value, its containers searched, itself included: at most MAX_LEAVES."""
    if not value.objects:
        return [value] if value.kind else []
    out: list[Value] = []
    _collect(heap, value, depth, out, set())
    return out


def is_tree(heap: Heap, value: Value, depth: int = 5) -> bool:
    """True if all arrays that a value holds lie in tuples, lists and dicts, where jax.device_get finds them."""
    for obj in value.objects:
        match base_of(obj):
            case Tuple(items):
                inner: Iterable[Value] = items
            case Sequence(name="list") | Mapping():
                inner = _read_all(heap, obj)
            case Sequence() | Stream() | Instance() | LibraryObject():
                return False
            case _:
                continue
        if depth == 0 or not all(is_tree(heap, each, depth - 1) for each in inner):
            return False
    return True


def _collect(heap: Heap, value: Value, depth: int, out: list[Value], seen: set[Object]) -> None:
    if len(out) >= MAX_LEAVES:
        return
    if value.kind:
        out.append(value)
    if depth == 0:
        return
    for obj in value.objects:
        if obj in seen:
            continue
        match base_of(obj):
            case Tuple(items):
                for part in items:
                    _collect(heap, part, depth - 1, out, seen)
            case Stream(element):
                _collect(heap, element, depth - 1, out, seen)
            case Sequence() | Mapping() | Instance():
                _add_tree(heap, obj, depth, out, seen)
            case LibraryObject(_, own, _):
                seen.add(obj)
                for part in (*own, *_read_all(heap, obj)):
                    _collect(heap, part, depth - 1, out, seen)
            case _:
                pass


def _add_tree(heap: Heap, obj: Object, depth: int, out: list[Value], seen: set[Object]) -> None:
    tree = heap.tree(obj, depth)
    if seen.isdisjoint(tree.seen) and len(out) + len(tree.leaves) <= MAX_LEAVES:
        heap.reads.setdefault(tree, heap.clock)
        out += tree.leaves
        seen |= tree.seen
        return
    seen.add(obj)
    _collect_fields(heap, obj, depth, out, seen)


def _collect_fields(heap: Heap, obj: Object, depth: int, out: list[Value], seen: set[Object]) -> None:
    """What lies in the fields of an object; those behind the last leaf that is wanted are not looked at."""
    for name in field_names(heap, obj):
        part = None if _is_kept_out(heap, base_of(obj), name) else read(heap, obj, name)
        if part is not None:
            _collect(heap, part, depth - 1, out, seen)
        if len(out) >= MAX_LEAVES:
            return


def is_container(value: Value) -> bool:
    """True if the value may be a tuple, list, dict or iterator."""
    return any(isinstance(base_of(o), Tuple | Sequence | Mapping | Stream) for o in value.objects)

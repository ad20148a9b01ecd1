"""The laws of abstract values: `join` makes a semilattice up to its bounds, `widen` ends every chain, `moved` changes
places alone. The order that they speak of is `covers`, which is written here without looking at them."""

import dataclasses
import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlint.interp.budget import Budget
from jaxlint.interp.heap import Heap, leaves, moved
from jaxlint.interp.heat import Gate
from jaxlint.interp.joining import MAX_ALTERNATIVES, MAX_TUPLE_DEPTH, join, join_all
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    NULL,
    NUMPY,
    PYTHON,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Library,
    LibraryMethod,
    LibraryObject,
    Mapping,
    Method,
    Moved,
    Object,
    Origin,
    Partial,
    Place,
    ProjectModule,
    Property,
    Sequence,
    Source,
    Stream,
    Transformed,
    Tuple,
    Value,
    constant,
    of,
    replace,
    without_none,
)
from jaxlint.interp.widening import widen
from jaxlint.kinds import ARRAY, Kind

KINDS = [Kind(number) for number in range(16)]
PLACES = [Place("a.py", 1), Place("a.py", 2), Place("b.py", 1)]
LITERALS: list[object] = [0, 1, 2.5, "text", b"bytes"]


def covers(big: Value, small: Value) -> bool:
    """Everything that `small` may be, `big` may be too: by places, by alternatives, and by what is not named."""
    if small.is_nothing:
        return True
    return (
        small.kind in big.kind
        and (big.unknown or not small.unknown)
        and (not big.const or big.const == small.const)
        and (not big.boolean or small.boolean)
        and all(big.unknown or any(_covers_object(other, obj) for other in big.objects) for obj in small.objects)
    )


def _covers_object(big: Object, small: Object) -> bool:
    if big == small:
        return True
    match big, small:
        case Tuple(theirs), Tuple(ours) if len(theirs) == len(ours):
            return all(covers(x, y) for x, y in zip(theirs, ours, strict=True))
        case Stream(element), Tuple(ours):
            return element == UNKNOWN or all(covers(element, item) for item in ours)
        case Stream(element), Stream(ours):
            return element == UNKNOWN or covers(element, ours)
        case Method(theirs, receiver), Method(ours, own):
            return theirs == ours and covers(receiver, own)
        case Partial(theirs, given, named), Partial(ours, own, own_named) if len(given) == len(own):
            return (
                covers(theirs, ours)
                and all(covers(x, y) for x, y in zip(given, own, strict=True))
                and [k for k, _ in named] == [k for k, _ in own_named]
                and all(covers(x, y) for (_, x), (_, y) in zip(named, own_named, strict=True))
            )
        case Transformed(how, theirs, options, place), Transformed(how_, ours, options_, place_):
            return (how, options, place) == (how_, options_, place_) and covers(theirs, ours)
        case _:
            return False


def depth_of(value: Value) -> int:
    """How many tuples and iterators lie inside one another."""
    return max((_depth_of_object(obj) for obj in value.objects), default=0)


def _depth_of_object(obj: Object) -> int:
    match obj:
        case Tuple(items):
            return 1 + max(map(depth_of, items), default=0)
        case Stream(element):
            return 1 + depth_of(element)
        case _:
            return 0


def tuple_of(*items: Value) -> Value:
    return of(Tuple(items))


def nested(depth: int, core: Value) -> Value:
    for _ in range(depth):
        core = tuple_of(core)
    return core


places = st.sampled_from(PLACES)
origins = st.none() | st.builds(Origin, places, st.just("somewhere"))
tokens = st.frozensets(st.sampled_from([("x",), ("y", 1)]))


@st.composite
def flat_values(draw: st.DrawFn) -> Value:
    """Values without objects, consistent as the interpreter makes them: a literal is in Python, a mask an array."""
    kind = draw(st.sampled_from(KINDS))
    const: tuple[object, ...] = ()
    if kind == Kind.PYTHON and draw(st.booleans()):
        const = (draw(st.sampled_from(LITERALS)),)
    boolean = kind.may_be(ARRAY | Kind.NUMPY) and draw(st.booleans())
    unknown = not const and draw(st.booleans())
    return Value(kind, frozenset(), unknown, const, boolean, draw(origins), draw(tokens))


@st.composite
def plain_objects(draw: st.DrawFn) -> Object:
    """Objects that hold no value."""
    place, scope = draw(places), draw(st.integers(0, 1))
    return draw(
        st.sampled_from(
            [
                NULL,
                Function(place, scope),
                Class(place, scope),
                Library("jax.jit"),
                Library("numpy.asarray"),
                ProjectModule(place.path),
                Sequence(place, scope),
                Mapping(place, scope),
                Instance(Class(place, 0), place, scope),
                Moved(Mapping(place, scope), draw(st.sampled_from([Kind.NUMPY, Kind.DEVICE]))),
            ]
        )
    )


@st.composite
def holding_objects(draw: st.DrawFn, depth: int) -> Object:
    """Objects that hold values."""
    inner = values(depth - 1)
    place, first = draw(places), draw(inner)
    match draw(
        st.sampled_from(["tuple", "tuple", "stream", "method", "library", "partial", "transformed", "property"])
    ):
        case "tuple":
            return Tuple(tuple(draw(st.lists(inner, max_size=3))))
        case "stream":
            return Stream(first)
        case "method":
            return Method(Function(place, 0), first)
        case "library":
            return draw(st.sampled_from([LibraryMethod(".item", first), LibraryObject("tqdm.tqdm", (first,))]))
        case "partial":
            return Partial(first, (draw(inner),), ())
        case "transformed":
            return Transformed("jit", first, (), place)
        case _:
            return Property(first, "property")


@st.composite
def values(draw: st.DrawFn, depth: int = 2) -> Value:
    """Values of all forms, their objects nested up to a depth."""
    value = draw(flat_values())
    if not depth or draw(st.booleans()):
        return value
    if draw(st.integers(0, 9)) == 0:
        return NONE
    objects = draw(st.lists(plain_objects() | holding_objects(depth), min_size=1, max_size=3))
    return replace(value, objects=frozenset(objects), const=())


@st.composite
def shallow(draw: st.DrawFn) -> Value:
    """Values that no bound of `join` cuts: their tuples have few lengths and are not deep."""
    return draw(values(1))


few = settings(max_examples=60, deadline=None)
"""Enough to find what these laws were broken by, and a busy machine is no failure."""


def twin(value: Value) -> Value:
    """An equal value that shares no object with its original."""
    return replace(value, objects=frozenset(_twin(obj) for obj in value.objects))


def _twin(obj: Object) -> Object:
    match obj:
        case Tuple(items):
            return Tuple(tuple(twin(item) for item in items))
        case Stream(element):
            return Stream(twin(element))
        case Method(function, receiver):
            return Method(function, twin(receiver))
        case Partial(function, arguments, keywords):
            return Partial(twin(function), tuple(twin(argument) for argument in arguments), keywords)
        case _:
            return replace(obj)  # type: ignore[type-var]  # each object is a dataclass, the base of them none


class TestEquality:
    @few
    @given(values())
    def test_equal_values_have_equal_hashes(self, value: Value) -> None:
        other = twin(value)
        assert other == value
        assert hash(other) == hash(value)

    def test_equal_names_are_one_object_but_not_where_they_hold_values(self) -> None:
        place = Place("a.py", 1)
        assert Library("jax") is Library("jax")
        made = Instance(Class(place, 0), place, 0)
        assert Moved(made, Kind.DEVICE) is Moved(Instance(Class(place, 0), place, 0), Kind.DEVICE)
        known = replace(NUMPY, origin=Origin(place, "known"))
        bars = [Moved(LibraryObject("tqdm.tqdm", (value,)), Kind.DEVICE) for value in (NUMPY, known)]
        assert bars[0] == bars[1]
        assert bars[0] is not bars[1]

    @few
    @given(values(), origins, tokens, st.sampled_from(["", "default", "cpu"]))
    def test_provenance_identity_and_placement_take_no_part(
        self, value: Value, origin: Origin | None, own: frozenset[tuple[object, ...]], placement: str
    ) -> None:
        other = replace(value, origin=origin, tokens=own, placement=placement)
        assert other == value
        assert hash(other) == hash(value)

    @few
    @given(values(), plain_objects())
    def test_a_difference_in_what_they_may_be_is_one(self, a: Value, obj: Object) -> None:
        assert a != replace(a, unknown=not a.unknown)
        assert a != replace(a, kind=a.kind ^ Kind.DEVICE)
        assert a != replace(a, boolean=not a.boolean)
        assert a != replace(a, objects=a.objects ^ {obj})
        assert tuple_of(a) != of(Stream(a))

    @pytest.mark.parametrize(("a", "b"), [(1, True), (0, False), (1, 1.0)])
    def test_literals_of_different_types_are_different(self, a: object, b: object) -> None:
        assert constant(a) != constant(b)

    def test_equal_literals_are_widened_alike(self) -> None:
        assert constant(1) != constant(True) or widen(constant(1)) == widen(constant(True))


class TestCovers:
    """The order itself: reflexive and transitive, with NOTHING at the bottom."""

    @few
    @given(values(), values(), values())
    def test_is_an_order(self, a: Value, b: Value, c: Value) -> None:
        assert covers(a, a)
        assert covers(a, NOTHING)
        assert not (covers(a, b) and covers(b, c)) or covers(a, c)

    def test_can_say_no(self) -> None:
        device = Value(Kind.DEVICE)
        assert not covers(UNKNOWN, device)
        assert not covers(tuple_of(device), tuple_of(Value(ARRAY)))
        assert not covers(tuple_of(device), tuple_of(device, device))
        assert not covers(constant(1), constant(2))
        assert not covers(of(Stream(device)), tuple_of(device, NONE))
        assert covers(of(Stream(device)), tuple_of(device, device))


class TestJoin:
    @few
    @given(values())
    def test_of_a_value_with_itself_or_nothing_is_the_value(self, a: Value) -> None:
        assert join(a, a) == a
        assert join(a, twin(a)) == a
        assert join(a, NOTHING) == a == join(NOTHING, a)
        assert join_all([]) == NOTHING

    @few
    @given(values(), values())
    def test_is_commutative_up_to_provenance(self, a: Value, b: Value) -> None:
        assert join(a, b) == join(b, a)
        assert join(a, b).tokens == join(b, a).tokens or a.is_nothing or b.is_nothing

    @few
    @given(shallow(), shallow(), shallow())
    def test_is_associative_below_its_bounds(self, a: Value, b: Value, c: Value) -> None:
        assert join(join(a, b), c) == join(a, join(b, c))

    @few
    @given(values(), values())
    def test_covers_both(self, a: Value, b: Value) -> None:
        joined = join(a, b)
        assert covers(joined, a)
        assert covers(joined, b)

    @few
    @given(shallow(), shallow())
    def test_absorbs_what_it_covers_already(self, a: Value, b: Value) -> None:
        joined = join(a, b)
        assert join(joined, a) == joined == join(joined, b)

    @few
    @given(shallow(), shallow(), shallow())
    def test_is_monotone(self, a: Value, b: Value, c: Value) -> None:
        assert covers(join(join(a, c), b), join(a, b))

    @few
    @given(shallow(), shallow(), shallow())
    def test_is_the_least_that_covers_both(self, a: Value, b: Value, c: Value) -> None:
        above = join(join(a, b), c)
        assert covers(above, join(a, b))

    @few
    @given(st.lists(values(), max_size=6))
    def test_of_many_covers_each_and_invents_no_place(self, many: list[Value]) -> None:
        joined = join_all(many)
        assert all(covers(joined, one) for one in many)
        kind = Kind(0)
        for one in many:
            kind |= one.kind
        assert joined.kind == kind

    def test_of_tuples_of_one_length_is_item_by_item(self) -> None:
        device, host = Value(Kind.DEVICE), Value(Kind.NUMPY)
        assert join(tuple_of(device, host), tuple_of(host, host)) == tuple_of(Value(Kind.DEVICE | Kind.NUMPY), host)
        assert len(join(tuple_of(device), tuple_of(device, host)).objects) == 2

    def test_keeps_a_literal_only_where_both_agree(self) -> None:
        assert join(constant("a"), constant("a")).const == ("a",)
        assert join(constant("a"), constant("b")) == Value(Kind.PYTHON)
        assert join(constant("a"), Value(Kind.PYTHON)).const == ()

    def test_of_a_mask_and_an_array_is_no_mask(self) -> None:
        mask, array = Value(Kind.DEVICE, boolean=True), Value(Kind.DEVICE)
        assert join(mask, mask).boolean
        assert not join(mask, array).boolean

    def test_explains_an_array_by_the_array(self) -> None:
        told = Origin(PLACES[0], "from jit")
        other = Origin(PLACES[1], "a number")
        assert join(Value(Kind.PYTHON, origin=other), Value(Kind.DEVICE, origin=told)).origin == told
        assert join(Value(Kind.DEVICE, origin=told), Value(Kind.PYTHON, origin=other)).origin == told
        assert join(Value(Kind.DEVICE), Value(Kind.DEVICE, origin=told)).origin == told

    def test_of_two_placements_is_none_known(self) -> None:
        first, second = Value(Kind.DEVICE, placement="cpu:0"), Value(Kind.NUMPY, placement="cpu:1")
        assert join(first, second).placement == ""
        assert join(first, replace(first, unknown=True)).placement == "cpu:0"

    @few
    @given(st.integers(0, 3 * MAX_ALTERNATIVES))
    def test_of_very_many_alternatives_says_that_there_may_be_others(self, count: int) -> None:
        joined = join_all(of(Library(f"lib.f{n}")) for n in range(count))
        assert len(joined.objects) == min(count, MAX_ALTERNATIVES)
        assert joined.unknown is (count > MAX_ALTERNATIVES)

    def test_of_tuples_of_many_lengths_keeps_one_iterator(self) -> None:
        device = Value(Kind.DEVICE)
        many = [tuple_of(*[device] * n) for n in range(1, 6)]
        joined = join_all(many)
        assert all(covers(joined, one) for one in many)
        assert len(joined.objects) <= 3

    def test_of_an_iterator_and_tuples_of_many_lengths_holds_one_iterator(self) -> None:
        device = Value(Kind.DEVICE)
        joined = join_all([of(Stream(device)), *(tuple_of(*[Value(Kind.NUMPY)] * n) for n in range(1, 5))])
        assert sum(isinstance(obj, Stream) for obj in joined.objects) == 1

    def test_absorbs_a_tuple_that_its_iterator_took_in(self) -> None:
        many = [tuple_of(*[Value(Kind.DEVICE)] * n) for n in range(1, 5)]
        joined = join_all(many)
        for one in many:
            assert join(joined, one) == joined


class TestWiden:
    @few
    @given(values())
    def test_is_idempotent_and_covers(self, value: Value) -> None:
        wide = widen(value)
        assert widen(wide) == wide
        assert covers(wide, value)

    @few
    @given(values(), st.integers(0, MAX_TUPLE_DEPTH))
    def test_bounds_the_depth_and_forgets_the_literals(self, value: Value, depth: int) -> None:
        wide = widen(value, depth)
        assert depth_of(wide) <= depth
        assert wide.const == () or wide.const[0] is None

    @few
    @given(shallow(), shallow())
    def test_is_monotone(self, a: Value, b: Value) -> None:
        assert covers(widen(join(a, b)), widen(a))

    @few
    @given(values())
    def test_keeps_the_places_and_all_but_the_deepest_alternatives(self, value: Value) -> None:
        wide = widen(value)
        assert wide.kind == value.kind
        assert wide.unknown or len(wide.objects) == len(value.objects) or depth_of(value) > 0

    def test_keeps_the_literals_that_decide_branches(self) -> None:
        for literal in (True, False):
            assert widen(constant(literal)) == constant(literal)
        assert widen(NONE) == NONE
        assert widen(constant(3)) == widen(constant(4)) == Value(Kind.PYTHON)

    @few
    @given(values(), st.sampled_from(["tuple", "pair", "iterator", "optional"]))
    def test_ends_every_growing_chain(self, start: Value, form: str) -> None:
        """What a loop does to a name: x = (x,), x = (x, x), x = iter([x]), x = (x, None)."""
        seen = widen(start)
        for _ in range(2 * MAX_TUPLE_DEPTH + 2):
            grown = {
                "tuple": lambda x: tuple_of(x),
                "pair": lambda x: tuple_of(x, x),
                "iterator": lambda x: of(Stream(x)),
                "optional": lambda x: tuple_of(x, NONE),
            }[form](seen)
            larger = widen(join(seen, grown))
            if larger == seen:
                return
            seen = larger
        pytest.fail("no fixpoint")

    def test_ends_the_chain_of_a_callable_that_is_wrapped_each_turn(self) -> None:
        seen = of(Function(PLACES[0], 0))
        for _ in range(4 * MAX_TUPLE_DEPTH):
            larger = widen(of(Partial(seen, (), ())))
            if larger == seen:
                return
            seen = larger
        pytest.fail("no fixpoint")


class TestDeepNesting:
    def test_a_deep_tuple_is_joined_with_another_and_widened(self) -> None:
        a, b = nested(200, Value(Kind.DEVICE)), nested(200, Value(Kind.NUMPY))
        joined = join(a, b)
        assert depth_of(joined) <= MAX_TUPLE_DEPTH + 1
        assert covers(joined, nested(MAX_TUPLE_DEPTH, UNKNOWN)) or joined.objects
        assert depth_of(widen(a)) <= MAX_TUPLE_DEPTH

    def test_a_deep_tuple_equals_its_twin(self) -> None:
        a, b = nested(100, Value(Kind.DEVICE)), nested(100, Value(Kind.DEVICE))
        assert a == b
        assert hash(a) == hash(b)
        assert join(a, b) == a

    def test_equality_takes_a_step_for_each_object_and_not_for_each_path(self) -> None:
        def doubled(depth: int) -> Value:
            value = Value(Kind.DEVICE)
            for _ in range(depth):
                value = tuple_of(value, value)
            return value

        steps = 0

        def count(frame: FrameType, event: str, argument: object) -> None:
            nonlocal steps
            steps += event == "call"

        a, b = doubled(10), doubled(10)
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            equal = a == b
        finally:
            sys.setprofile(before)
        assert equal
        assert steps < 100

    def test_a_value_that_holds_itself_twice_at_each_level_is_cheap(self) -> None:
        """Two to the power of 200 leaves, and 200 objects."""
        value = Value(Kind.DEVICE)
        for _ in range(200):
            value = tuple_of(value, value)
        assert join(value, Value(Kind.NUMPY)).kind == Kind.NUMPY
        assert depth_of(widen(value)) <= MAX_TUPLE_DEPTH


class TestMoved:
    @few
    @given(values(), st.sampled_from([Kind.NUMPY, Kind.DEVICE, Kind.TRACER]), st.booleans())
    def test_is_idempotent_and_the_last_move_decides(self, value: Value, kind: Kind, everything: bool) -> None:
        there = moved(value, kind, everything=everything)
        assert moved(there, kind, everything=everything) == there
        for before in (Kind.NUMPY, Kind.DEVICE, Kind.TRACER):
            assert moved(moved(value, before, everything=everything), kind, everything=everything) == there

    @few
    @given(values(), st.sampled_from([Kind.NUMPY, Kind.DEVICE, Kind.TRACER]))
    def test_takes_all_arrays_there_and_leaves_python_values(self, value: Value, kind: Kind) -> None:
        there = moved(value, kind)
        assert there.kind in kind | Kind.PYTHON
        assert there.kind.may_be(Kind.PYTHON) is value.kind.may_be(Kind.PYTHON)
        assert there.kind.may_be(kind) is value.kind.may_be(ARRAY | Kind.NUMPY)

    @few
    @given(values(), st.sampled_from([Kind.DEVICE, Kind.TRACER]))
    def test_everything_takes_numbers_and_the_unknown_too(self, value: Value, kind: Kind) -> None:
        there = moved(value, kind, everything=True)
        if value.const and isinstance(value.const[0], str | bytes):
            assert there == value
        else:
            assert there.kind in kind
            assert bool(there.kind) is (bool(value.kind) or value.unknown)

    @few
    @given(values(), st.sampled_from([Kind.NUMPY, Kind.DEVICE]), st.booleans())
    def test_keeps_what_is_no_array(self, value: Value, kind: Kind, everything: bool) -> None:
        kept = Function | Class | Library | Method | Partial | Transformed | Property | ProjectModule
        there = moved(value, kind, everything=everything)
        for obj in value.objects:
            if isinstance(obj, kept) or obj == NULL:
                assert obj in there.objects
        assert moved(NONE, kind, everything=everything) == NONE
        assert there.unknown is value.unknown

    @few
    @given(values(), values(), st.sampled_from([Kind.NUMPY, Kind.DEVICE]))
    def test_keeps_the_shape_of_tuples(self, a: Value, b: Value, kind: Kind) -> None:
        (obj,) = moved(tuple_of(a, b), kind).objects
        assert isinstance(obj, Tuple)
        assert obj.items == (moved(a, kind), moved(b, kind))

    @few
    @given(shallow(), shallow(), st.sampled_from([Kind.NUMPY, Kind.DEVICE]))
    def test_is_monotone(self, a: Value, b: Value, kind: Kind) -> None:
        assert covers(moved(join(a, b), kind), moved(a, kind))

    def test_forgets_whose_host_copy_it_was(self) -> None:
        value = Value(Kind.DEVICE, tokens=frozenset({("x",)}))
        assert moved(value, Kind.DEVICE).tokens == frozenset()


class TestWithoutNone:
    @few
    @given(values())
    def test_takes_none_away_and_nothing_else(self, value: Value) -> None:
        rest = without_none(value)
        assert NULL not in rest.objects
        assert rest.objects == value.objects - {NULL}
        assert (rest.kind, rest.unknown) == (value.kind, value.unknown)
        assert without_none(rest) == rest


def test_a_changed_value_differs_in_what_was_changed_alone() -> None:
    full = Value(Kind.NUMPY, frozenset((NULL,)), True, (1,), True, None, frozenset(((1,),)), "default")
    full = replace(full, gate=Gate.PASSED, sources=frozenset((Source("a.py", 1),)))
    empty = Value()
    for field in dataclasses.fields(Value):
        new = getattr(empty, field.name)
        changed = replace(full, **{field.name: new})
        assert all(
            getattr(changed, other.name) == (new if other is field else getattr(full, other.name))
            for other in dataclasses.fields(Value)
        )


LISTS = tuple(Sequence(Place("a.py", n), 0) for n in range(3))
HELD = (*LISTS, Moved(LISTS[0], Kind.NUMPY), LibraryObject("x.y", (Value(Kind.DEVICE),)))
STORED = st.one_of(
    st.sampled_from(
        [Value(Kind.PYTHON), Value(Kind.DEVICE), Value(Kind.NUMPY, sources=frozenset((Source("a.py", 1),)))]
    ),
    st.sampled_from(HELD).map(of),
    st.sampled_from(HELD).map(lambda held: of(Tuple((of(held), PYTHON)))),
)
WRITES = st.lists(st.tuples(st.sampled_from(LISTS), st.sampled_from(["0", "1", "*"]), STORED), max_size=12)


@given(WRITES, st.sampled_from(HELD))
def test_what_was_read_before_does_not_change_what_is_read(
    writes: list[tuple[Sequence, str, Value]], root: Object
) -> None:
    asked = Heap(Budget())
    for n, (obj, field, value) in enumerate(writes):
        asked.write(obj, field, value)
        fresh = Heap(Budget())
        for write in writes[: n + 1]:
            fresh.write(*write)
        assert list(map(repr, leaves(asked, of(root)))) == list(map(repr, leaves(fresh, of(root))))


@given(WRITES, st.sampled_from(HELD))
def test_whoever_read_leaves_is_told_when_they_are_others(
    writes: list[tuple[Sequence, str, Value]], root: Object
) -> None:
    heap = Heap(Budget())
    for obj, field, value in writes:
        heap.reads = {}
        before = leaves(heap, of(root))
        reads, heap.reads = heap.reads, {}
        heap.write(obj, field, value)
        if leaves(heap, of(root)) != before:
            assert any(place.changed > when for place, when in reads.items())

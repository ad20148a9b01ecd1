"""The lattice of places, all sixteen members of it: `Kind`'s own operators are those of plain sets."""

import pickle
from collections.abc import Callable
from itertools import product

import pytest

from jaxlint.kinds import ARRAY, HOST, NOWHERE, Kind

ATOMS = (Kind.PYTHON, Kind.NUMPY, Kind.DEVICE, Kind.TRACER)
MEMBERS = tuple(Kind(number) for number in range(16))
PAIRS = tuple(product(MEMBERS, MEMBERS))
TRIPLES = tuple(product(MEMBERS, MEMBERS, MEMBERS))


def places(kind: Kind) -> frozenset[int]:
    """A kind as the plain set of the values of its places, read from its number alone."""
    return frozenset(atom for atom in (1, 2, 4, 8) if kind.value // atom % 2)


def test_sixteen_members_are_the_sets_of_four_places() -> None:
    assert [atom.value for atom in ATOMS] == [1, 2, 4, 8]
    assert len(set(MEMBERS)) == 16
    assert {places(kind) for kind in MEMBERS} == {
        frozenset(chosen) - {0} for chosen in product((0, 1), (0, 2), (0, 4), (0, 8))
    }


def test_the_named_sets() -> None:
    assert Kind(0) == NOWHERE
    assert places(HOST) == {1, 2}
    assert places(ARRAY) == {4, 8}


@pytest.mark.parametrize(
    ("operator", "plain"),
    [
        (lambda a, b: a | b, lambda a, b: a | b),
        (lambda a, b: a & b, lambda a, b: a & b),
        (lambda a, b: a ^ b, lambda a, b: a ^ b),
        (lambda a, b: a & ~b, lambda a, b: a - b),
    ],
    ids=["join", "meet", "symmetric difference", "without"],
)
def test_operators_agree_with_set_algebra_and_give_the_members_themselves(
    operator: Callable[[Kind, Kind], Kind],
    plain: Callable[[frozenset[int], frozenset[int]], frozenset[int]],
) -> None:
    for a, b in PAIRS:
        assert places(operator(a, b)) == plain(places(a), places(b))
        assert operator(a, b) is MEMBERS[operator(a, b).value]


def test_complement_length_iteration_and_membership_agree_with_set_algebra() -> None:
    for a in MEMBERS:
        assert places(~a) == frozenset((1, 2, 4, 8)) - places(a)
        assert ~~a is a
        assert len(a) == len(places(a))
        assert [atom.value for atom in a] == sorted(places(a))
        assert bool(a) is bool(places(a))
    for a, b in PAIRS:
        assert (a in b) is (places(a) <= places(b))
        assert (a == b) is (places(a) == places(b))
        assert a != b or hash(a) == hash(b)


def test_join_and_meet_make_a_distributive_lattice() -> None:
    for a in MEMBERS:
        assert a | a is a & a is a
        assert a | NOWHERE is a
        assert a & NOWHERE is NOWHERE
        assert a | ~a is MEMBERS[15]
        assert a & ~a is NOWHERE
    for a, b in PAIRS:
        assert a | b is b | a
        assert a & b is b & a
        assert a | (a & b) is a & (a | b) is a
        assert ~(a | b) is ~a & ~b
        assert ~(a & b) is ~a | ~b
    for a, b, c in TRIPLES:
        assert (a | b) | c is a | (b | c)
        assert (a & b) & c is a & (b & c)
        assert a & (b | c) is (a & b) | (a & c)
        assert a | (b & c) is (a | b) & (a | c)


def test_join_is_the_least_upper_bound_and_meet_the_greatest_lower_one() -> None:
    for a, b, c in TRIPLES:
        assert (a in c and b in c) is (a | b in c)
        assert (c in a and c in b) is (c in a & b)


def test_updating_operators_do_what_the_others_do() -> None:
    for a, b in PAIRS:
        joined, met = a, a
        joined |= b
        met &= b
        assert joined is a | b
        assert met is a & b


def test_may_be_is_a_common_place_and_must_be_that_there_is_no_other_and_one_at_all() -> None:
    for a, b in PAIRS:
        assert a.may_be(b) is bool(places(a) & places(b))
        assert a.must_be(b) is (bool(places(a)) and places(a) <= places(b))


def test_of_nothing_known_nothing_is_suspected_and_nothing_sure() -> None:
    for b in MEMBERS:
        assert not NOWHERE.may_be(b)
        assert not NOWHERE.must_be(b)
        assert not b.may_be(NOWHERE)
        assert not b.must_be(NOWHERE)


def test_certainty_implies_suspicion_and_excludes_suspicion_elsewhere() -> None:
    for a, b in PAIRS:
        assert not a.must_be(b) or a.may_be(b)
        assert (bool(a) and not a.may_be(~b)) is a.must_be(b)
        assert a.may_be(b) is b.may_be(a)


def test_more_places_keep_suspicions_and_more_to_lie_in_keeps_certainties() -> None:
    for a, b, c in TRIPLES:
        assert not a.may_be(b) or (a | c).may_be(b | c)
        assert not a.must_be(b) or a.must_be(b | c)
        assert not (a | c).must_be(b) or not a or a.must_be(b)


def test_a_member_stays_itself_when_sent_to_another_process() -> None:
    for a in MEMBERS:
        assert pickle.loads(pickle.dumps(a)) is a

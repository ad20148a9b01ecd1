"""Where a value may live. The smallest word of the analysis; imports nothing of the project."""

import enum


class Kind(enum.Flag):
    """A set of possible places of a value: the lattice of the analysis, ordered by inclusion, joined by ``|``.

    ``Kind(0)`` says that nothing is known of the place (an unknown call, a parameter without a caller). All sixteen
    members are valid; a value that is a DEVICE array on one path and a NUMPY array on another is ``DEVICE | NUMPY``.
    """

    PYTHON = enum.auto()
    NUMPY = enum.auto()
    DEVICE = enum.auto()
    TRACER = enum.auto()

    # Flag's own operators look members up by way of the metaclass; the analysis joins kinds by the million.

    def __and__(self, other: "Kind") -> "Kind":
        return _MEMBERS[self._value_ & other._value_]

    def __or__(self, other: "Kind") -> "Kind":
        return _MEMBERS[self._value_ | other._value_]

    def __invert__(self) -> "Kind":
        return _MEMBERS[_ALL ^ self._value_]

    def __hash__(self) -> int:
        return self._value_

    def may_be(self, other: "Kind") -> bool:
        """True if some possible place lies in `other`: a suspicion."""
        return self._value_ & other._value_ != 0

    def must_be(self, other: "Kind") -> bool:
        """True if every possible place lies in `other` and there is at least one: a certainty."""
        return self._value_ != 0 and self._value_ & ~other._value_ == 0


_ALL = 15
_MEMBERS = tuple(Kind(n) for n in range(_ALL + 1))

NOWHERE = Kind(0)
HOST = Kind.PYTHON | Kind.NUMPY
ARRAY = Kind.DEVICE | Kind.TRACER

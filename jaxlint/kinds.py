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

    def may_be(self, other: "Kind") -> bool:
        """True if some possible place lies in `other`: a suspicion."""
        return bool(self & other)

    def must_be(self, other: "Kind") -> bool:
        """True if every possible place lies in `other` and there is at least one: a certainty."""
        return bool(self) and not self & ~other


NOWHERE = Kind(0)
HOST = Kind.PYTHON | Kind.NUMPY
ARRAY = Kind.DEVICE | Kind.TRACER

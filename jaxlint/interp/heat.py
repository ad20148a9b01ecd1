"""Heat: how often code runs. A small algebra of loops and "every n steps" tests, composed along calls."""

import enum
from collections.abc import Iterable, Mapping

from jaxlint.sites import Heat


class Gate(enum.Enum):
    """What a test says about how often its branches run inside a loop."""

    NONE = 0
    PASSED = 1  # the branch taken when the test holds is rare
    FAILED = 2  # the other one is


class Pace(enum.Enum):
    """What stands between the start of a function and a place in it.

    ONCE: neither loop nor gate. GATED: an "every n steps" test, no loop. LOOPED: a loop, and no gate inside it.
    LOOPED_GATED: a gate inside a loop. ITEMS: a loop over the items of a dict or the leaves of a tree, all of which
    belong to one step of whatever loop is around, or to none. SINGLE: once, whatever loops are around: an exception
    that nothing near catches, so that it ends the program, and what is made when it is first asked for and kept.
    The same words describe how often a whole function runs.
    """

    ONCE = 0
    GATED = 1
    LOOPED_GATED = 2
    LOOPED = 3
    SINGLE = 4
    ITEMS = 5

    def then(self, inner: "Pace") -> "Pace":
        """The pace of a place at `inner` in a function that runs at this pace."""
        if inner is Pace.ONCE:
            return self
        if inner is Pace.ITEMS:
            return Pace.ITEMS if self is Pace.ONCE else self
        if inner is Pace.GATED:
            if self in {Pace.LOOPED, Pace.LOOPED_GATED}:
                return Pace.LOOPED_GATED
            return Pace.SINGLE if self is Pace.SINGLE else Pace.GATED
        return inner

    @property
    def heat(self) -> Heat:
        """The heat of code at this pace."""
        if self is Pace.LOOPED:
            return Heat.HOT
        return Heat.PERIODIC if self in {Pace.LOOPED_GATED, Pace.ITEMS} else Heat.COLD


_COOLEST_FIRST = (Pace.SINGLE, Pace.GATED, Pace.ONCE, Pace.ITEMS, Pace.LOOPED_GATED, Pace.LOOPED)
_HOTTER = {pace: number for number, pace in enumerate(_COOLEST_FIRST)}


def hotter(a: Pace, b: Pace) -> Pace:
    """The pace that runs more often."""
    return a if _HOTTER[a] >= _HOTTER[b] else b


def cooler(a: Pace, b: Pace) -> Pace:
    """The pace that runs less often."""
    return b if hotter(a, b) is a else a


def spread(
    roots: Iterable[int], calls: Mapping[int, Iterable[tuple[int, Pace]]], fixed: Mapping[int, Pace]
) -> dict[int, Pace]:
    """The pace of each activation, from the roots along the calls (caller -> (callee, pace of the call)).

    `fixed` are those that a comment decides: callers do not change them.
    """
    paces: dict[int, Pace] = {}
    todo = []
    for root in roots:
        paces[root] = fixed.get(root, Pace.ONCE)
        todo.append(root)
    while todo:
        caller = todo.pop()
        for callee, local in calls.get(caller, ()):
            pace = fixed[callee] if callee in fixed else paces[caller].then(local)
            old = paces.get(callee)
            new = pace if old is None else hotter(old, pace)
            if new is not old:
                paces[callee] = new
                todo.append(callee)
    return paces

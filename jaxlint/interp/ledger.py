"""The ledger of uses: what was seen to become of fetched values, and which use of each is the strongest.

Values carry their sources (`Value.sources`); what reads a value enters the use of each source here. A parameter is a
source of its own, since the run of a function may stand for many calls: what it was bound to is entered too, and its
uses are handed on in the end.
"""

import ast
from dataclasses import dataclass, field
from enum import IntEnum

from jaxlint.interp.values import Place, Source


class Use(IntEnum):
    """What a value is for, the weakest first. PACKED: an item of a record, stored if nothing else becomes of it.

    The strongest use decides the remedy. What goes back to the device should never have left it; what decides is
    needed before the program can go on; what the host computes with could be computed on the device and only the
    result kept; what is stored can be fetched later, and then also shown.
    """

    PACKED = 0
    SHOWN = 1
    STORED = 2
    COMPUTED = 3
    DECISION = 4
    ROUND_TRIP = 5

    @property
    def word(self) -> str:
        """What a finding calls it."""
        return _WORDS[self]


_WORDS = {
    Use.PACKED: "stored",
    Use.SHOWN: "shown",
    Use.STORED: "stored",
    Use.COMPUTED: "host-compute",
    Use.DECISION: "decision",
    Use.ROUND_TRIP: "round-trip",
}

_ADVICE = {
    Use.PACKED: ("", "keep it on the device and fetch once, after the loop"),
    Use.SHOWN: ("", "fetch and show it every n steps only"),
    Use.STORED: ("", "keep it on the device and fetch once, after the loop"),
    Use.COMPUTED: ("compute on the device, with jnp", "compute on the device, with jnp"),
    Use.DECISION: ("", "decide on the device, or once every n steps"),
    Use.ROUND_TRIP: ("keep it there, with jnp for NumPy between", "keep it there, with jnp for NumPy between"),
}
"""What to do instead: where the fetch is not repeated, or only now and then, and where each turn of a loop fetches."""

_OF_KEPT = {Use.DECISION, Use.ROUND_TRIP}
"""What is read again of kept values may as well be done when all of them are fetched, but for these."""


@dataclass(frozen=True, slots=True)
class Used:
    """A use: the node at which a value is used, and what is done with it there. The first that was seen has the lowest
    number. (Nodes stand for themselves here: to name one by its `Place` would give it a number out of turn.)"""

    use: Use
    path: str
    node: ast.AST
    what: str
    number: int

    def message(self, *, looped: bool) -> str:
        """What is done with the value, and what to do instead."""
        advice = _ADVICE[self.use][looped]
        return f"{self.what}: {advice}" if advice else self.what


@dataclass(slots=True)
class Ledger:
    """All that was seen. Of several places of one use the first that was seen counts."""

    seen: dict[tuple[Source, Use], Used] = field(default_factory=dict)
    bound: dict[Source, set[Source]] = field(default_factory=dict)
    uploads: dict[int, set[Source]] = field(default_factory=dict)

    def is_news(self, source: Source, use: Use) -> bool:
        """True if the source was not seen to be used so before."""
        return (use in _OF_KEPT or not source.kept) and (source, use) not in self.seen

    def settled(self) -> dict[Place, Used]:
        """The strongest use of what each fetch gave."""
        found: dict[Place, Used] = {}
        for (source, use), used in self.seen.items():
            for place in self.fetches(source, use):
                old = found.get(place)
                if old is None or (use, old.number) > (old.use, used.number):
                    found[place] = used
        return found

    def returns(self) -> dict[int, Place]:
        """The uploads (by the ``id`` of their node) of data that was fetched before, each with the first such fetch."""
        found: dict[int, Place] = {}
        for node, sources in self.uploads.items():
            fetches = {fetch for source in sources for fetch in self.fetches(source, Use.ROUND_TRIP)}
            if fetches:
                found[node] = min(fetches)
        return found

    def fetches(self, source: Source, use: Use) -> set[Place]:
        """The places of the fetches that a source stands for, as far as the use counts for them."""
        found: set[Place] = set()
        todo, done = [source], {source}
        while todo:
            now = todo.pop()
            if now.kept and use not in _OF_KEPT:
                continue
            if not now.name:
                found.add(Place(now.path, now.number))
            for before in self.bound.get(now._replace(kept=False), ()):
                if before not in done:
                    done.add(before)
                    todo.append(before)
        return found

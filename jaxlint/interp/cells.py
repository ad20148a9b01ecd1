"""Cells: the places that can be looked at and changed, of which the heap is made."""

from jaxlint.interp.values import Object, Value


class Cell:
    """A place that can be looked at: a field of an object, the set of its fields, a name of a scope and the like.

    `changed` is when it became another value, `stored` when anything was stored: the same value may come with more
    sources, for which nobody has to look again.
    """

    __slots__ = ("changed", "stored", "value")

    def __init__(self) -> None:
        self.value: Value | None = None
        self.changed = 0
        self.stored = 0


class Tree:
    """What lies below an object to a depth, as it was found at a time: `leaves` in the `cells` of the objects `seen`.

    Trees are walked far more often than they change, so each is kept until one of its cells is stored to.
    """

    __slots__ = ("cells", "leaves", "made", "seen")

    def __init__(self) -> None:
        self.leaves: list[Value] = []
        self.cells: dict[Cell, None] = {}
        self.seen: set[Object] = set()
        self.made = 0

    @property
    def changed(self) -> int:
        """When one of its cells changed last."""
        return max([cell.changed for cell in self.cells])

    @property
    def stored(self) -> int:
        """When something was stored in one of its cells."""
        return max([cell.stored for cell in self.cells])


Reads = dict[Cell | Tree, int]
"""What somebody looked at, with the time of the first look."""


class Fields:
    """What is kept of one object: its fields in the order in which they were written, and what was made of them."""

    __slots__ = ("absent", "cells", "names", "through", "trees")

    def __init__(self) -> None:
        self.cells: dict[str, Cell] = {}
        self.absent: dict[str, Cell] = {}
        self.names = Cell()
        self.through: dict[str, tuple[Value, bool, Value]] = {}
        self.trees: dict[int, Tree] = {}

    def cell(self, field: str) -> Cell:
        """The cell of a field, which may not have been written yet."""
        found = self.cells.get(field) or self.absent.get(field)
        if found is None:
            found = self.absent[field] = Cell()
        return found

    def written(self, field: str) -> Cell:
        """The cell of a field that is written to."""
        found = self.cells.get(field)
        if found is None:
            found = self.cells[field] = self.absent.pop(field) if field in self.absent else Cell()
        return found

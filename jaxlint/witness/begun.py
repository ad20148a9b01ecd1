"""The arrays whose copy to the host is under way: that copy was noted or judged, the fetch that follows is not another.

Needs nothing but the standard library.
"""

import weakref


class Begun:
    """Arrays by their number, as long as they live."""

    def __init__(self) -> None:
        self.copying: dict[int, weakref.ref[object]] = {}

    def has(self, array: object) -> bool:
        """True if this array's copy is under way. A number alone would not do: it may have been another array's."""
        known = self.copying.get(id(array))
        return known is not None and known() is array

    def add(self, array: object) -> None:
        key = id(array)
        self.copying[key] = weakref.ref(array, lambda gone: self._forget(key, gone))

    def _forget(self, key: int, gone: "weakref.ref[object]") -> None:
        if self.copying.get(key) is gone:
            del self.copying[key]

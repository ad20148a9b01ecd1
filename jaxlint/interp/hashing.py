"""Dataclasses for values: their hashes are computed once and are the same in every process."""

import dataclasses
import operator
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeVar

from jaxlint.kinds import Kind

T = TypeVar("T", bound="Hashed")


class Hashed:
    """A base with room for what is computed once. `holding` are the fields in which other values may lie."""

    __slots__ = ("_extent", "_hash", "_order")
    holding: ClassVar[tuple[str, ...]] = ()
    _extent: tuple[int, int]
    _hash: int
    _order: str

    def order(self) -> str:
        """By what things are sorted: their own words, worked out once."""
        try:
            return self._order
        except AttributeError:
            self._order = repr(self)
            return self._order


class Shared(type):
    """The class of those whose equal objects are one object. What is made again and again is then hashed once, and
    found in sets and dicts without being compared. What holds others that are not shared (values, which may be equal
    and of different provenance) is made anew, and so is what `dataclasses.replace` makes, by keywords."""

    made: ClassVar[dict[tuple[object, ...], object]] = {}

    if not TYPE_CHECKING:  # to a type checker they are made like all others

        def __call__(cls, /, *parts, **named):
            if named:
                return super().__call__(*parts, **named)
            key = (cls, *parts)
            known = Shared.made.get(key)
            if known is None:
                known = super().__call__(*parts)
                if all(isinstance(type(part), Shared) for part in parts if isinstance(part, Hashed)):
                    Shared.made[key] = known
            return known


_TEXT_HASHES: dict[str, int] = {}
_MASK = 0xFFFFFFFFFFFFFFF
_FLAT = {"origin", "tokens", "kind", "sources", "const", "place", "scope", "name"}
_OWN = {int, bool, float, Kind}
"""Types whose own hashes are the same in every process."""


def stable_hash(part: object) -> int:
    """A hash that is the same in every process, as Python's own of a string is not: the order in which alternatives are
    looked at decides which contexts a function gets, and so the findings must not depend on it."""
    kind = type(part)
    if kind is str:
        known = _TEXT_HASHES.get(part)  # type: ignore[call-overload]  # as compared above
        if known is None:
            known = zlib.crc32(part.encode("utf-8", "surrogatepass"))  # type: ignore[attr-defined]  # likewise
            _TEXT_HASHES[part] = known  # type: ignore[index]  # likewise
        return known  # type: ignore[no-any-return]  # likewise
    if kind in _OWN or isinstance(part, Hashed):
        return hash(part)
    if isinstance(part, tuple):
        out = 0x345678
        for item in part:
            out = (out * 1000003 ^ stable_hash(item)) & _MASK
        return out
    if isinstance(part, frozenset):
        return sum(map(stable_hash, part)) & _MASK
    return 7 if part is None else stable_hash(kind.__name__)


def dataclass(*, frozen: bool, slots: bool) -> Callable[[type[T]], type[T]]:
    """What takes the place of `dataclasses.dataclass` for values, which are made by the million. That nobody assigns to
    their fields is left to the type checker: to see to it at run time makes each of them three times as dear."""
    assert frozen

    def make(cls: type[T]) -> type[T]:
        made = dataclasses.dataclass(slots=slots, eq="__eq__" not in cls.__dict__)(cls)
        fields = dataclasses.fields(made)  # type: ignore[arg-type]  # a dataclass since the line above
        made.holding = tuple(f.name for f in fields if f.name not in _FLAT)
        compared = tuple(f.name for f in fields if f.compare)
        type.__setattr__(made, "__hash__", _hash_of(made.__name__, compared))
        return made

    return make


def _hash_of(title: str, names: tuple[str, ...]) -> Callable[[Hashed], int]:
    seed = stable_hash(title)
    parts = operator.attrgetter(*names) if names else None
    single = len(names) == 1

    def kept(self: Hashed) -> int:
        try:
            return self._hash
        except AttributeError:
            value = seed
            if parts is not None:
                for part in (parts(self),) if single else parts(self):
                    value = (value * 1000003 ^ stable_hash(part)) & _MASK
            self._hash = value
            return value

    return kept

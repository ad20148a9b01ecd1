"""Hashes that are computed once and are the same in every process."""

import zlib
from dataclasses import fields

from jaxlint.kinds import Kind


class Hashed:
    """A base with room for a hash once computed."""

    __slots__ = ("_depth", "_hash")
    _depth: int
    _hash: int


_TEXT_HASHES: dict[str, int] = {}


def _stable(part: object) -> int:
    """A hash that is the same in every process, as Python's own of a string is not: the order in which alternatives are
    looked at decides which contexts a function gets, and so the findings must not depend on it."""
    if isinstance(part, str):
        known = _TEXT_HASHES.get(part)
        if known is None:
            known = _TEXT_HASHES[part] = zlib.crc32(part.encode("utf-8", "surrogatepass"))
        return known
    if isinstance(part, tuple):
        out = 0x345678
        for item in part:
            out = (out * 1000003 ^ _stable(item)) & 0xFFFFFFFFFFFFFFF
        return out
    if isinstance(part, frozenset):
        return sum(map(_stable, part)) & 0xFFFFFFFFFFFFFFF
    if isinstance(part, Hashed | Kind | int | float):
        return hash(part)
    return 7 if part is None else _stable(type(part).__name__)


def keep_hash(cls: type) -> type:
    """Make a frozen dataclass compute its hash once, and alike in every process."""
    names = tuple(f.name for f in fields(cls) if f.compare) if cls.__dict__.get("__dataclass_fields__") else ()
    seed = _stable(cls.__name__)

    def kept(self: Hashed) -> int:
        try:
            return self._hash
        except AttributeError:
            value = seed
            for name in names:
                value = (value * 1000003 ^ _stable(getattr(self, name))) & 0xFFFFFFFFFFFFFFF
            object.__setattr__(self, "_hash", value)
            return value

    type.__setattr__(cls, "__hash__", kept)
    return cls

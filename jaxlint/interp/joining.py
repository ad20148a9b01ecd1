"""The join of values: what may be either of them."""

from collections.abc import Iterable

from jaxlint.interp.heat import Gate
from jaxlint.interp.values import NOTHING, UNKNOWN, Object, Source, Stream, Tuple, Value, replace
from jaxlint.kinds import ARRAY

MAX_ALTERNATIVES = 16
MAX_TUPLE_DEPTH = 4
MAX_SOURCES = 16
"""So many fetches, at most, are remembered for one value."""
MAX_LENGTHS = 3
"""Tuples of more lengths than these are joined into a stream."""


def join(a: Value, b: Value, depth: int = MAX_TUPLE_DEPTH) -> Value:
    """The least value that covers both: places are united, tuples of one length are joined item by item.

    Below `depth` levels of tuples and iterators only the places of what they hold are kept.
    """
    if a is b or b.is_nothing:
        return a
    if a.is_nothing:
        return b
    origin = a.origin
    if b.origin is not None and (origin is None or (b.kind & ARRAY and not a.kind & ARRAY)):
        origin = b.origin
    tokens = a.tokens | b.tokens
    gate = a.gate if a.gate is b.gate else Gate.NONE
    sources = a.sources if a.sources is b.sources else _united(a.sources, b.sources)
    if a == b:
        if origin is a.origin and tokens == a.tokens and gate is a.gate and sources is a.sources:
            return a
        return replace(a, origin=origin, tokens=tokens, gate=gate, sources=sources)
    objects, overflow = _unite(a.objects, b.objects, depth)
    const = a.const if a.const == b.const else ()
    boolean = a.boolean and b.boolean
    placement = a.placement if a.placement == b.placement else ""
    return Value(
        a.kind | b.kind, objects, a.unknown or b.unknown or overflow, const, boolean, origin, tokens, placement, gate,
        sources,
    )  # fmt: skip


def _united(a: frozenset[Source], b: frozenset[Source]) -> frozenset[Source]:
    if b <= a:
        return a
    both = a | b
    return both if len(both) <= MAX_SOURCES else frozenset(sorted(both)[:MAX_SOURCES])


def join_all(values: Iterable[Value], depth: int = MAX_TUPLE_DEPTH) -> Value:
    """The join of any number of values; NOTHING for none."""
    out = NOTHING
    for value in values:
        out = join(out, value, max(depth, 0))
    return out


def _unite(a: frozenset[Object], b: frozenset[Object], depth: int) -> tuple[frozenset[Object], bool]:
    if a == b or not b:
        return a, False
    if not a:
        return b, False
    tuples: dict[int, Tuple] = {}
    streams: list[Stream] = []
    rest: set[Object] = set()
    for obj in (*a, *b):
        if depth == 0 and isinstance(obj, Tuple | Stream):
            streams = [Stream(UNKNOWN)]
        elif isinstance(obj, Tuple):
            old = tuples.get(len(obj.items))
            if old is not None and old != obj:
                obj = Tuple(tuple(join(x, y, depth - 1) for x, y in zip(old.items, obj.items, strict=True)))
            tuples[len(obj.items)] = obj
        elif isinstance(obj, Stream):
            if obj not in streams:
                streams.append(obj)
        else:
            rest.add(obj)
    if len(tuples) > MAX_LENGTHS or (streams and tuples):
        # Too many lengths make a stream, which takes in every tuple that comes later: joining again changes nothing.
        streams.extend(Stream(join_all(t.items, depth - 1)) for t in tuples.values())
        tuples = {}
    rest.update(tuples.values())
    if streams:
        makers = {s.generator for s in streams}
        maker = makers.pop() if len(makers) == 1 else None
        rest.add(Stream(join_all((s.element for s in streams), depth - 1), maker))
    if len(rest) > MAX_ALTERNATIVES:
        return frozenset(sorted(rest, key=Object.order)[:MAX_ALTERNATIVES]), True
    return frozenset(rest), False

"""Subscripts on every kind of value, and what indexing does with its index."""

import ast

from jaxlint.interp import effects, uses
from jaxlint.interp.frames import Argument, Frame
from jaxlint.interp.guessing import doubted, guess, uncertain
from jaxlint.interp.heap import ANY, base_of, element_of, known_items, read, values_of
from jaxlint.interp.joining import join
from jaxlint.interp.library import fresh_array
from jaxlint.interp.values import (
    NOTHING,
    PYTHON,
    UNKNOWN,
    Class,
    Instance,
    Library,
    LibraryObject,
    Mapping,
    Object,
    Sequence,
    Stream,
    Tuple,
    Value,
    of,
    replace,
    without_none,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation


def subscript(frame: Frame, node: ast.AST, base: Value, index: Value, at: ast.AST | None) -> Value:
    """The value of ``base[index]``."""
    base = without_none(base)
    out = NOTHING
    is_slice = any(isinstance(o, Library) and o.name == "slice" for o in index.objects)
    certain = not base.kind and not base.unknown
    for obj in base.objects:
        if certain:
            _reads_index(frame, node, obj, index, at, is_slice)
        out = join(out, _item(frame, node, obj, index, at, is_slice))
    if base.kind & ARRAY:
        out = join(out, _array_item(frame, node, base, index, at, is_slice))
    if base.kind & Kind.NUMPY:
        # Where the base may as well be on the device, a tracer is no mistake and a fetch is not sure.
        asked = index if base.known(Kind.NUMPY) else uncertain(index)
        effects.reading(frame, node, Operation.NUMPY_FUNCTION, "indexing", [(asked, at)], deep=True)
        out = join(out, Value(Kind.NUMPY, unknown=base.unknown, origin=base.origin))
    if base.kind & Kind.PYTHON:
        asked = index if base.known(Kind.PYTHON) else uncertain(index)
        effects.reading(frame, node, Operation.INDEX, None, [(asked, at)], deep=is_slice)
        out = join(out, PYTHON)
    if base.unknown and not base.kind:
        out = join(out, UNKNOWN)
    return uses.marked(out, base.sources)


def _reads_index(frame: Frame, node: ast.AST, obj: Object, index: Value, at: ast.AST | None, is_slice: bool) -> None:
    """A host sequence asks its index for a Python number."""
    if isinstance(base_of(obj), Tuple | Sequence | Stream):
        effects.reading(frame, node, Operation.INDEX, None, [(index, at)], deep=is_slice)


def _item(frame: Frame, node: ast.AST, obj: Object, index: Value, at: ast.AST | None, is_slice: bool) -> Value:
    engine = frame.engine
    heap = engine.heap
    below = base_of(obj)
    if isinstance(below, Tuple | Sequence | Stream):
        if is_slice:
            return _sliced(obj, below, index)
        number = index.const[0] if index.const and isinstance(index.const[0], int) else None
        if isinstance(below, Tuple) and number is not None:
            return below.items[number] if -len(below.items) <= number < len(below.items) else NOTHING
        if isinstance(below, Sequence) and number is not None and number < 0:
            number += len(known_items(heap, obj))
        if isinstance(below, Sequence) and number is not None and number >= 0:
            exact = read(heap, obj, str(number))
            rest = read(heap, obj, ANY)
            if exact is not None:
                return identified(obj, str(number), exact) if rest is None else join(exact, rest)
        return element_of(heap, of(obj))
    if isinstance(below, Mapping):
        if index.const and isinstance(index.const[0], str | int) and index.const[0] != "":
            exact = read(heap, obj, str(index.const[0]))
            rest = read(heap, obj, ANY)
            if exact is not None and rest is not None:
                return join(exact, guess(rest, frame.origin(node, _OTHER_KEY)) if _is_setting(exact, rest) else rest)
            if exact is not None:
                return identified(obj, str(index.const[0]), exact)
            return UNKNOWN if rest is None else doubted(rest, frame.origin(node, _OTHER_KEY))
        found = values_of(heap, obj)
        return UNKNOWN if found.is_nothing else found
    if isinstance(below, Instance):
        method = engine.attribute(frame, node, of(obj), "__getitem__")
        if method.objects:
            return engine.call(frame, node, method, [Argument(index, at)])
        known = read(heap, obj, ANY)
        if known is None and index.const and isinstance(index.const[0], str):
            known = read(heap, obj, index.const[0])
        fields = engine.classes[below.cls].fields
        if known is None and index.const and isinstance(index.const[0], int):
            at_index = fields[index.const[0] :][:1] if index.const[0] >= -len(fields) else ()
            known = read(heap, obj, at_index[0][0]) if at_index else None
        return UNKNOWN if known is None else known
    if isinstance(below, Library | Class):
        return of(obj)  # a generic: dict[str, int], Float[Array, "n"]
    if isinstance(below, LibraryObject):
        known = read(heap, obj, ANY)
        if below.name == "jax.Array.at":
            effects_of_index(frame, node, index, at, below.parts[0] if below.parts else UNKNOWN, is_slice)
            return of(obj)
        return UNKNOWN if known is None else known
    return UNKNOWN


_OTHER_KEY = "stored under a key that is not known"


def _is_setting(exact: Value, rest: Value) -> bool:
    """True of anything but an array and the beginning of a sum: what is stored under some key is hardly stored here."""
    if not rest.kind & ARRAY or exact.kind & ARRAY or exact.is_nothing:
        return False
    return not (exact.const and exact.const[0] in {0, None, ""})


def identified(obj: Object, field: str, value: Value) -> Value:
    """What a field holds, with an identity that lasts until somebody may have written to the object."""
    return replace(value, tokens=frozenset(((obj, field),))) if value.kind & ARRAY and not value.tokens else value


def _sliced(obj: Object, below: Object, index: Value) -> Value:
    if not isinstance(below, Tuple):
        return of(obj)
    bounds = next((o.items for o in index.objects if isinstance(o, Tuple)), ())
    numbers = [b.const[0] if b.const else "?" for b in bounds]
    if all(n is None or isinstance(n, int) for n in numbers):
        lower, upper, step = (n if isinstance(n, int) else None for n in (*numbers, None, None, None)[:3])
        if step != 0:
            return of(Tuple(below.items[lower:upper:step]))
    return of(Stream(_joined(below.items)))


def _joined(items: tuple[Value, ...]) -> Value:
    out = NOTHING
    for item in items:
        out = join(out, item)
    return out


def effects_of_index(
    frame: Frame, node: ast.AST, index: Value, at: ast.AST | None, base: Value, is_slice: bool
) -> None:
    """What indexing an array does with its index: masks, slices by device scalars, uploads of NumPy indices."""
    heap = frame.engine.heap
    items = [element_of(heap, of(o)) for o in index.objects if isinstance(o, Stream)]
    parts = items or list(frame.engine.unpack_star(index) or (index,))
    if base.kind & Kind.DEVICE:
        uses.uploaded(frame, node, parts)
    for part in parts:
        sliced = is_slice or any(isinstance(o, Library) and o.name == "slice" for o in part.objects)
        if sliced:
            bounds = next((o for o in part.objects if isinstance(o, Tuple)), None)
            if bounds is not None:
                operands = [(b, at or node) for b in bounds.items]
                effects.reading(frame, node, Operation.CONCRETE, "slicing", operands)
        elif part.boolean and part.kind & ARRAY:
            if part.kind & Kind.TRACER and not frame.concrete:
                traced_set = [(part, at)]
                effects.record(frame, node, Operation.MASK, None, traced_set, traced=True)
            elif effects.is_fetched(frame, part.tokens):
                _index_from_host(frame, node, replace(part, kind=Kind.NUMPY), at, base)
            elif base.kind & ARRAY or base.unknown:
                effects.reading(frame, node, Operation.VALUE_SHAPE, "boolean indexing", [(part, at)])
        elif part.kind & Kind.NUMPY and not part.kind & ARRAY:
            _index_from_host(frame, node, part, at, base)
        elif part.known(Kind.PYTHON) and base.kind.must_be(Kind.DEVICE) and not frame.staged:
            effects.record(frame, node, Operation.SCALAR_OPERAND, "indexing", ((part, at),))


def _index_from_host(frame: Frame, node: ast.AST, index: Value, at: ast.AST | None, base: Value) -> None:
    if base.kind.must_be(Kind.DEVICE) and not frame.staged:
        effects.upload(frame, node, Operation.EAGER_CALL, "indexing", ((index, at),), [index], beside=base)


def _array_item(frame: Frame, node: ast.AST, base: Value, index: Value, at: ast.AST | None, is_slice: bool) -> Value:
    kind = base.kind & ARRAY
    if index.const and isinstance(index.const[0], str):
        tokens = frozenset((*t, index.const[0]) for t in base.tokens)
        return Value(kind, unknown=base.unknown, origin=base.origin, tokens=tokens)
    effects_of_index(frame, node, index, at, replace(base, kind=kind), is_slice)
    if index.kind & Kind.TRACER and not base.unknown:
        kind = Kind.TRACER
    out = fresh_array(frame, node, kind, "an item of a device array is a device array")
    return replace(
        out, origin=base.origin or out.origin, unknown=base.unknown, boolean=base.boolean, placement=base.placement
    )

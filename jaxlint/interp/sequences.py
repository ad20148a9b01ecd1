"""Sums of tuples and lists, and what is written so many times."""

import ast

from jaxlint.interp.fewness import FEW
from jaxlint.interp.frames import Frame
from jaxlint.interp.heap import ANY, Heap, base_of, element_of, is_container, known_items, read
from jaxlint.interp.joining import join
from jaxlint.interp.values import Object, Sequence, Tuple, Value, of, replace

MAX_ITEMS = 16
"""So many items of a sum of tuples or lists are told apart."""


def concatenated(frame: Frame, node: ast.AST, left: Value, right: Value) -> Value | None:
    """The sum of tuples or lists; None where it is none."""
    a, b = next(iter(left.objects)), next(iter(right.objects))
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(left.objects) == len(right.objects) == 1:
        return of(Tuple(a.items + b.items)) if len(a.items) + len(b.items) <= MAX_ITEMS else None
    if is_container(left) and is_container(right):
        heap = frame.engine.heap
        seq = Sequence(frame.place(node), frame.scope.number)
        if len(left.objects) == len(right.objects) == 1 and (items := _items(heap, a)) and (more := _items(heap, b)):
            for n, item in enumerate(items + more):
                heap.write(seq, str(n), item)
        else:
            heap.write(seq, ANY, join(element_of(heap, left), element_of(heap, right)))
        return of(seq)
    return None


def repeated(frame: Frame, text: Value, number: Value) -> Value:
    """A text, list or tuple, so many times: its items stand for all, and a list that is short may be long now."""
    heap = frame.engine.heap
    times = number.const[0] if number.const else None
    for obj in map(base_of, text.objects):
        if isinstance(obj, Sequence) and not (isinstance(times, int) and len(known_items(heap, obj)) * times <= FEW):
            heap.note_repeated(obj)
    return replace(text, const=("",) if text.const else ())


def _items(heap: Heap, obj: Object) -> list[Value]:
    """The items of a list, where each of them is known; else none."""
    if not isinstance(base_of(obj), Sequence):
        return []
    return [value for name in known_items(heap, obj)[:MAX_ITEMS] if (value := read(heap, obj, name)) is not None]

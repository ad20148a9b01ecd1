"""Comprehensions and generator expressions: loops that make a container."""

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jaxlint.interp.assignment import assign
from jaxlint.interp.engine import expression
from jaxlint.interp.frames import Frame
from jaxlint.interp.gates import evaluate_gated, gate_of
from jaxlint.interp.generators import note_suspension
from jaxlint.interp.heap import ANY, KEYS
from jaxlint.interp.heat import Gate, Pace
from jaxlint.interp.iteration import iterated, loop_pace
from jaxlint.interp.narrowing import narrow
from jaxlint.interp.syntax import bind
from jaxlint.interp.values import (
    NOTHING,
    Mapping,
    Stream,
    Value,
    of,
    replace,
)
from jaxlint.interp.values import Sequence as ListOf


@expression(ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
def _comprehension(frame: Frame, node: ast.AST) -> Value:
    assert isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp)
    heap = frame.engine.heap
    key = NOTHING
    paces: set[Pace] = set()
    for _ in range(2):
        with _own_names(frame, node):
            element, key = _turns(frame, node, node.generators, paces)
    if isinstance(node, ast.GeneratorExp):
        return of(Stream(element))
    if isinstance(node, ast.DictComp):
        found = Mapping(frame.place(node), frame.scope.number)
        heap.write(found, KEYS, replace(key, const=()))
        heap.write(found, ANY, element)
        return of(found)
    seq = ListOf(frame.place(node), frame.scope.number, "list" if isinstance(node, ast.ListComp) else "set")
    heap.write(seq, ANY, element)
    if paces == {Pace.ITEMS}:
        frame.engine.of_items.add(seq)
    return of(seq)


Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


@contextmanager
def _own_names(frame: Frame, node: Comprehension) -> Iterator[None]:
    """Run a comprehension: what it binds is its own, and seen by the functions inside it alone."""
    bound: set[str] = set()
    for loop in node.generators:
        bind(loop.target, bound)
    used = frame.module.used_within(node) if frame.scope.kind != "class" else frozenset[str]()
    saved, own, loop_bound, loop_names = dict(frame.state.names), frame.own, frame.loop_bound, frame.loop_names
    frame.own = {**own, **{name: name in used for name in bound}}
    frame.loop_names = loop_names | bound
    if frame.loops:
        frame.loop_bound = loop_bound | bound
    try:
        yield
    finally:
        frame.own, frame.loop_bound, frame.loop_names = own, loop_bound, loop_names
        names = frame.state.names
        for name in [n for n in names if n.partition(".")[0] in bound]:
            del names[name]
        names.update((n, value) for n, value in saved.items() if n.partition(".")[0] in bound)


def _turns(
    frame: Frame, node: Comprehension, loops: Sequence[ast.comprehension], paces: set[Pace]
) -> tuple[Value, Value]:
    engine, comp = frame.engine, loops[0]
    iterable = engine.evaluate(frame, comp.iter)
    if comp.is_async and not isinstance(node, ast.GeneratorExp):
        note_suspension(frame, comp.iter)
    place = frame.place(comp)
    token = (place, frame.activation.number)
    frame.state.fetched = {t for t in frame.state.fetched if t[0] != place}
    element = iterated(frame, comp.iter, iterable, token)
    pace = loop_pace(frame, comp.iter, iterable)
    paces.add(pace)
    with frame.at_pace(pace):
        assign(frame, comp.target, element)
        for test in comp.ifs:
            engine.truth(frame, test, engine.evaluate(frame, test))
            narrow(frame, test, positive=True)
            if not frame.staged and gate_of(frame, test) is Gate.PASSED:
                frame.pace = frame.pace.then(Pace.GATED)
        if len(loops) > 1:
            return _turns(frame, node, loops[1:], paces)
        if isinstance(node, ast.DictComp):
            key = engine.evaluate(frame, node.key)
            return evaluate_gated(frame, node.value), key
        return evaluate_gated(frame, node.elt), NOTHING

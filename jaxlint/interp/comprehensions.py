"""Comprehensions and generator expressions: loops that make a container."""

import libcst as cst

from jaxlint.interp.assignment import assign
from jaxlint.interp.engine import Frame, expression
from jaxlint.interp.heap import ANY, KEYS
from jaxlint.interp.iteration import iterated, loop_pace
from jaxlint.interp.narrowing import narrow
from jaxlint.interp.program import bind
from jaxlint.interp.values import (
    NOTHING,
    Mapping,
    Sequence,
    Stream,
    Value,
    of,
    replace,
)


@expression(cst.ListComp, cst.SetComp, cst.GeneratorExp, cst.DictComp)
def _comprehension(frame: Frame, node: cst.CSTNode) -> Value:
    assert isinstance(node, cst.ListComp | cst.SetComp | cst.GeneratorExp | cst.DictComp)
    heap = frame.engine.heap
    saved = dict(frame.state.names)
    key = NOTHING
    for _ in range(2):
        element, key = _turns(frame, node, node.for_in)
    names = frame.state.names
    for name in _bound_names(node.for_in):
        if name in saved:
            names[name] = saved[name]
        else:
            names.pop(name, None)
    if isinstance(node, cst.GeneratorExp):
        return of(Stream(element))
    if isinstance(node, cst.DictComp):
        found = Mapping(frame.place(node), frame.scope.number)
        heap.write(found, KEYS, replace(key, const=()))
        heap.write(found, ANY, element)
        return of(found)
    seq = Sequence(frame.place(node), frame.scope.number, "list" if isinstance(node, cst.ListComp) else "set")
    heap.write(seq, ANY, element)
    return of(seq)


def _bound_names(comp: cst.CompFor) -> set[str]:
    names: set[str] = set()
    inner: cst.CompFor | None = comp
    while inner is not None:
        bind(inner.target, names)
        inner = inner.inner_for_in
    return names


def _turns(frame: Frame, node: cst.BaseComp, comp: cst.CompFor) -> tuple[Value, Value]:
    engine = frame.engine
    iterable = engine.evaluate(frame, comp.iter)
    place = frame.place(comp)
    token = (place, frame.activation.number)
    frame.state.fetched = {t for t in frame.state.fetched if t[0] != place}
    element = iterated(frame, comp.iter, iterable, token)
    with frame.at_pace(loop_pace(frame, comp.iter, iterable)):
        assign(frame, comp.target, element)
        for test in comp.ifs:
            engine.truth(frame, test.test, engine.evaluate(frame, test.test))
            narrow(frame, test.test, positive=True)
        if comp.inner_for_in is not None:
            return _turns(frame, node, comp.inner_for_in)
        if isinstance(node, cst.DictComp):
            key = engine.evaluate(frame, node.key)
            return engine.evaluate(frame, node.value), key
        assert isinstance(node, cst.BaseSimpleComp)
        return engine.evaluate(frame, node.elt), NOTHING

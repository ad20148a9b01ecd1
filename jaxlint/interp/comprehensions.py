"""Comprehensions and generator expressions: loops that make a container."""

import ast
from collections.abc import Sequence

from jaxlint.interp.assignment import assign
from jaxlint.interp.engine import Frame, expression
from jaxlint.interp.heap import ANY, KEYS
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
    saved = dict(frame.state.names)
    key = NOTHING
    for _ in range(2):
        element, key = _turns(frame, node, node.generators)
    names = frame.state.names
    for name in _bound_names(node.generators):
        if name in saved:
            names[name] = saved[name]
        else:
            names.pop(name, None)
    if isinstance(node, ast.GeneratorExp):
        return of(Stream(element))
    if isinstance(node, ast.DictComp):
        found = Mapping(frame.place(node), frame.scope.number)
        heap.write(found, KEYS, replace(key, const=()))
        heap.write(found, ANY, element)
        return of(found)
    seq = ListOf(frame.place(node), frame.scope.number, "list" if isinstance(node, ast.ListComp) else "set")
    heap.write(seq, ANY, element)
    return of(seq)


Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def _bound_names(loops: Sequence[ast.comprehension]) -> set[str]:
    names: set[str] = set()
    for loop in loops:
        bind(loop.target, names)
    return names


def _turns(frame: Frame, node: Comprehension, loops: Sequence[ast.comprehension]) -> tuple[Value, Value]:
    engine, comp = frame.engine, loops[0]
    iterable = engine.evaluate(frame, comp.iter)
    place = frame.place(comp)
    token = (place, frame.activation.number)
    frame.state.fetched = {t for t in frame.state.fetched if t[0] != place}
    element = iterated(frame, comp.iter, iterable, token)
    with frame.at_pace(loop_pace(frame, comp.iter, iterable)):
        assign(frame, comp.target, element)
        for test in comp.ifs:
            engine.truth(frame, test, engine.evaluate(frame, test))
            narrow(frame, test, positive=True)
        if len(loops) > 1:
            return _turns(frame, node, loops[1:])
        if isinstance(node, ast.DictComp):
            key = engine.evaluate(frame, node.key)
            return engine.evaluate(frame, node.value), key
        return engine.evaluate(frame, node.elt), NOTHING

"""Match: which case a subject takes, and what its pattern binds."""

import ast

from jaxlint.interp import effects
from jaxlint.interp.classes import all_fields
from jaxlint.interp.engine import Frame, statement
from jaxlint.interp.flow import execute, truth
from jaxlint.interp.heap import base_of, element_of, read
from jaxlint.interp.joining import join
from jaxlint.interp.narrowing import is_instance, narrow_to
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.values import NOTHING, NULL, UNKNOWN, Instance, Value
from jaxlint.kinds import ARRAY
from jaxlint.sites import Operation


@statement(ast.Match)
def _match(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.Match)
    subject = frame.engine.evaluate(frame, node.subject)
    before = frame.state
    after = before.copy()
    after.alive = False
    fits: bool | None = None
    for case in node.cases:
        frame.state = before.copy()
        fits = _fits(frame, case.pattern, node.subject, subject)
        if fits is False:
            continue
        _bind_pattern(frame, case.pattern, subject)
        if case.guard is not None:
            truth(frame, case.guard, frame.engine.evaluate(frame, case.guard))
        execute(frame, case.body)
        after.merge(frame.state)
        if fits and case.guard is None:
            break
        fits = None
    if not fits:
        after.merge(before)
    frame.state = after


def _fits(frame: Frame, pattern: ast.pattern, node: ast.expr, subject: Value) -> bool | None:
    """Whether a subject takes a case, where the places of its value tell; its name is sharpened to what fits."""
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _fits(frame, inner, node, subject)
        case ast.MatchSingleton(value=None):
            if subject.none_only:
                return True
            return None if NULL in subject.objects or subject.unknown else False
        case ast.MatchClass():
            wanted = frame.engine.evaluate(frame, pattern.cls)
            answer = is_instance(frame, subject, wanted)
            narrow_to(frame, node, wanted, positive=True)
            return None if answer and (pattern.patterns or pattern.kwd_attrs) else answer
        case _:
            return None


def _bind_pattern(frame: Frame, pattern: ast.pattern, subject: Value) -> None:
    heap = frame.engine.heap
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            _bind_pattern(frame, pattern.pattern, subject)
        if pattern.name is not None:
            assign_name(frame, pattern.name, subject)
    elif isinstance(pattern, ast.MatchValue):
        value = frame.engine.evaluate(frame, pattern.value)
        if (subject.kind | value.kind) & ARRAY:
            effects.reading(frame, pattern.value, Operation.TRUTH, None, [(subject, pattern.value)])
    elif isinstance(pattern, ast.MatchOr):
        for one in pattern.patterns:
            _bind_pattern(frame, one, subject)
    elif isinstance(pattern, ast.MatchStar):
        if pattern.name is not None:
            assign_name(frame, pattern.name, subject)
    elif isinstance(pattern, ast.MatchSequence):
        items = frame.engine.unpack_star(subject)
        for n, element in enumerate(pattern.patterns):
            part = items[n] if items is not None and n < len(items) else element_of(heap, subject)
            _bind_pattern(frame, element, subject if isinstance(element, ast.MatchStar) else part)
    elif isinstance(pattern, ast.MatchMapping):
        for at, inner in zip(pattern.keys, pattern.patterns, strict=True):
            key = frame.engine.evaluate(frame, at)
            _bind_pattern(frame, inner, frame.engine.subscript(frame, at, subject, key, at))
    elif isinstance(pattern, ast.MatchClass):
        for n, positional in enumerate(pattern.patterns):
            _bind_pattern(frame, positional, _nth_field(frame, subject, n))
        for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            _bind_pattern(frame, inner, frame.engine.attribute(frame, inner, subject, name))


def _nth_field(frame: Frame, subject: Value, n: int) -> Value:
    """The field that the n-th positional pattern of a class means: dataclasses and named tuples in their order."""
    out = NOTHING
    for obj in subject.objects:
        below = base_of(obj)
        if isinstance(below, Instance):
            fields = all_fields(frame.engine, below.cls)
            if n < len(fields):
                out = join(out, read(frame.engine.heap, obj, fields[n][0]) or UNKNOWN)
    return UNKNOWN if out.is_nothing else out

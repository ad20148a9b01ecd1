"""Match: which case a subject takes, and what its pattern binds."""

import ast
from collections.abc import Sequence

from jaxlint.interp import effects
from jaxlint.interp.classes import given_fields
from jaxlint.interp.displays import add_mapping
from jaxlint.interp.engine import statement
from jaxlint.interp.flow import execute, truth
from jaxlint.interp.frames import Frame
from jaxlint.interp.gates import gate_of, gate_of_case
from jaxlint.interp.heap import base_of, element_of, read
from jaxlint.interp.heat import Gate, Pace
from jaxlint.interp.joining import join
from jaxlint.interp.narrowing import as_instance, is_instance, narrow, narrow_to
from jaxlint.interp.scopes import assign_name
from jaxlint.interp.values import NOTHING, NULL, UNKNOWN, Instance, Library, Mapping, Stream, Tuple, Value, of, replace
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
        _bind_pattern(frame, case.pattern, node.subject, subject)
        gate = Gate.NONE if frame.staged else gate_of_case(frame, case.pattern, node.subject)
        with frame.at_pace(Pace.GATED if gate is Gate.PASSED else Pace.ONCE):
            if case.guard is not None:
                _guard(frame, case.guard)
            execute(frame, case.body)
        after.merge(frame.state)
        if fits and case.guard is None:
            break
        fits = None
    if not fits:
        after.merge(before)
    frame.state = after


def _guard(frame: Frame, test: ast.expr) -> None:
    """Ask what stands behind the ``if`` of a case, and go on where it holds."""
    known = truth(frame, test, frame.engine.evaluate(frame, test))
    if known is False:
        frame.state.alive = False
    narrow(frame, test, positive=True)
    if not frame.staged and gate_of(frame, test) is Gate.PASSED:
        frame.pace = frame.pace.then(Pace.GATED)


def _fits(frame: Frame, pattern: ast.pattern, node: ast.expr | None, subject: Value) -> bool | None:
    """Whether a subject takes a case, where the places of its value tell; its name is sharpened to what fits.

    `node` is where the subject is written, None of a part of it that is written nowhere.
    """
    match pattern:
        case ast.MatchAs(pattern=None):
            return True
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return _fits(frame, inner, node, subject)
        case ast.MatchSingleton(value=None):
            if subject.none_only:
                return True
            return None if NULL in subject.objects or subject.unknown else False
        case ast.MatchOr(patterns=patterns):
            answers = [_fits(frame, one, None, subject) for one in patterns]
            return answers[0] if len({*answers}) == 1 else None
        case ast.MatchSequence(patterns=patterns):
            parts = _parts(frame, patterns, subject)
            if parts is None:
                return False
            nodes = _part_nodes(patterns, node)
            answers = [_fits(frame, *part) for part in zip(patterns, nodes, parts, strict=True)]
            return False if False in answers else None
        case ast.MatchClass():
            wanted = frame.engine.evaluate(frame, pattern.cls)
            answer = is_instance(frame, subject, wanted)
            if node is not None:
                narrow_to(frame, node, wanted, positive=True)
            return None if answer and (pattern.patterns or pattern.kwd_attrs) else answer
        case _:
            return None


def _bind_pattern(frame: Frame, pattern: ast.pattern, node: ast.expr | None, subject: Value) -> None:
    """Bind the names of a pattern to the parts of a subject that takes it. `node` is that of `_fits`."""
    if isinstance(pattern, ast.MatchAs):
        if pattern.pattern is not None:
            _bind_pattern(frame, pattern.pattern, node, subject)
        if pattern.name is not None:
            assign_name(frame, pattern.name, _sharpened(frame, pattern.pattern, subject))
    elif isinstance(pattern, ast.MatchValue):
        _compare(frame, pattern, node, subject)
    elif isinstance(pattern, ast.MatchOr):
        for one in pattern.patterns:
            if _fits(frame, one, None, subject) is not False:
                _bind_pattern(frame, one, node, subject)
    elif isinstance(pattern, ast.MatchStar):
        if pattern.name is not None:
            assign_name(frame, pattern.name, subject)
    elif isinstance(pattern, ast.MatchSequence):
        parts = _parts(frame, pattern.patterns, subject) or ()
        nodes = _part_nodes(pattern.patterns, node)
        for inner, at, part in zip(pattern.patterns, nodes, parts, strict=False):
            _bind_pattern(frame, inner, at, part)
    elif isinstance(pattern, ast.MatchMapping):
        _bind_mapping(frame, pattern, subject)
    elif isinstance(pattern, ast.MatchClass):
        for n, positional in enumerate(pattern.patterns):
            _bind_pattern(frame, positional, None, _nth_field(frame, pattern, subject, n))
        for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            _bind_pattern(frame, inner, None, frame.engine.attribute(frame, inner, subject, name))


def _compare(frame: Frame, pattern: ast.MatchValue, node: ast.expr | None, subject: Value) -> None:
    """A pattern that is a value asks whether the subject equals it: arrays are compared on the device."""
    value = frame.engine.evaluate(frame, pattern.value)
    # What is fetched is the outcome of the comparison: neither array has a host copy afterwards.
    sides = ((subject, node), (value, pattern.value))
    operands = [(replace(side, tokens=frozenset()), at) for side, at in sides if side.kind & ARRAY]
    if operands:
        effects.reading(frame, pattern.value, Operation.TRUTH, None, operands)


def _sharpened(frame: Frame, pattern: ast.pattern | None, subject: Value) -> Value:
    """What a subject is that takes a pattern."""
    if isinstance(pattern, ast.MatchClass):
        return as_instance(frame, subject, frame.engine.evaluate(frame, pattern.cls))
    return subject


def _parts(frame: Frame, patterns: Sequence[ast.pattern], subject: Value) -> Sequence[Value] | None:
    """What each pattern of a sequence is given; None where the subject has not as many items."""
    starred = next((n for n, p in enumerate(patterns) if isinstance(p, ast.MatchStar)), None)
    items = frame.engine.unpack_star(subject)
    if items is None:
        element = element_of(frame.engine.heap, subject)
        return [of(Stream(element)) if n == starred else element for n in range(len(patterns))]
    if starred is None:
        return items if len(items) == len(patterns) else None
    end = len(items) - (len(patterns) - starred - 1)
    return None if end < starred else (*items[:starred], of(Tuple(items[starred:end])), *items[end:])


def _part_nodes(patterns: Sequence[ast.pattern], node: ast.expr | None) -> Sequence[ast.expr | None]:
    """Where what each pattern of a sequence is given is written."""
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == len(patterns):
        unpacked = (*patterns, *node.elts)
        if not any(isinstance(part, ast.MatchStar | ast.Starred) for part in unpacked):
            return node.elts
    return [None] * len(patterns)


def _bind_mapping(frame: Frame, pattern: ast.MatchMapping, subject: Value) -> None:
    engine = frame.engine
    rest: dict[str, Value] = {}
    add_mapping(frame, rest, subject)
    for at, inner in zip(pattern.keys, pattern.patterns, strict=True):
        key = engine.evaluate(frame, at)
        _bind_pattern(frame, inner, None, engine.subscript(frame, at, subject, key, at))
        if key.const:
            rest.pop(str(key.const[0]), None)
    if pattern.rest is not None:
        made = Mapping(frame.place(pattern), frame.scope.number)
        effects.forget(frame, made)
        for name, value in rest.items():
            engine.heap.write(made, name, value)
        assign_name(frame, pattern.rest, of(made))


def _nth_field(frame: Frame, pattern: ast.MatchClass, subject: Value, n: int) -> Value:
    """The field that the n-th positional pattern of a class means: dataclasses and named tuples in their order; of a
    number or a text it is that itself."""
    wanted = frame.engine.evaluate(frame, pattern.cls)
    if n == 0 and any(isinstance(o, Library) and o.name in _THEMSELVES for o in wanted.objects):
        return as_instance(frame, subject, wanted)
    out = NOTHING
    for obj in subject.objects:
        below = base_of(obj)
        if isinstance(below, Instance):
            fields = given_fields(frame.engine, below.cls)
            if n < len(fields):
                out = join(out, read(frame.engine.heap, obj, fields[n][0]) or UNKNOWN)
    return UNKNOWN if out.is_nothing else out


_THEMSELVES = {f"builtins.{name}" for name in ("bool", "dict", "float", "int", "list", "set", "str", "tuple")}

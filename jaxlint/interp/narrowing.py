"""What a passed or failed test says about the names in it: ``x is None``, ``isinstance(x, jax.Array)``, ``x``."""

import ast

from jaxlint.interp import predicates
from jaxlint.interp.classes import mro
from jaxlint.interp.frames import Frame
from jaxlint.interp.heap import base_of
from jaxlint.interp.instances import are_sized, containers, may_be_trees, places, without_arrays
from jaxlint.interp.syntax import is_none, path_of
from jaxlint.interp.values import (
    NONE,
    NULL,
    Class,
    Instance,
    Moved,
    Object,
    Tuple,
    Value,
    replace,
    without_none,
)
from jaxlint.kinds import ARRAY, HOST, Kind


def narrow(frame: Frame, test: ast.expr, *, positive: bool) -> None:
    """Sharpen the state by a test that came out true (`positive`) or false."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(frame, test.operand, positive=not positive)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is positive:
            for operand in test.values:
                narrow(frame, operand, positive=positive)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator = test.ops[0]
        if isinstance(operator, ast.Is | ast.IsNot) and is_none(test.comparators[0]):
            _set_none(frame, test.left, is_none=isinstance(operator, ast.Is) is positive)
        elif (asked := predicates.of_type(test)) is not None and asked.negated is not positive:
            _set_type(frame, asked)
    elif isinstance(test, ast.Name | ast.Attribute):
        if positive:
            _set_none(frame, test, is_none=False)
    elif isinstance(test, ast.NamedExpr):
        narrow(frame, test.target, positive=positive)
    elif isinstance(test, ast.Call):
        _isinstance(frame, test, positive=positive)
        elements = predicates.of_elements(test)
        if elements is not None and not positive:
            _without_elements(frame, elements)
        elif (inner := predicates.opened(frame, test)) is not None:
            _by_function(frame, inner, positive=positive)


def _set_type(frame: Frame, asked: predicates.OfType) -> None:
    """``type(x) == float`` came out true: a number of NumPy has a type of its own."""
    key = path_of(asked.subject)
    value = None if key is None else frame.state.names.get(key)
    kinds = _exact_places(frame, asked.wanted)
    if key is not None and value is not None and kinds is not None and value.kind & kinds:
        frame.state.names[key] = replace(value, kind=value.kind & kinds, objects=frozenset(), unknown=False)


def is_of_type(frame: Frame, test: ast.Compare) -> bool | None:
    """The answer of a test of a type, where the places of a value decide it."""
    asked = predicates.of_type(test)
    kinds = None if asked is None else _exact_places(frame, asked.wanted)
    if asked is None or kinds is None:
        return None
    value = frame.engine.evaluate(frame, asked.subject)
    return asked.negated if value.kind and not value.kind & kinds and not value.unknown and not value.objects else None


def _exact_places(frame: Frame, node: ast.expr) -> Kind | None:
    """Where values of exactly this type live."""
    kinds = places(frame, frame.engine.evaluate(frame, node))
    return Kind.PYTHON if kinds == HOST else kinds


def _without_elements(frame: Frame, asked: predicates.OfElements) -> None:
    """Nothing inside these names is an instance of a class. Where all of something would be, nobody comes by here."""
    kinds = places(frame, frame.engine.evaluate(frame, asked.wanted))
    if kinds is None:
        return
    for name in asked.names:
        value = frame.state.names.get(name)
        if value is not None and not value.is_nothing:
            rest = _without(value, kinds)
            if rest is None:
                frame.state.alive = False
            else:
                frame.state.names[name] = rest


def _without(value: Value, kinds: Kind, depth: int = 4) -> Value | None:
    """A value or tree without what lies in `kinds`; None where nothing is left of a part of it."""
    objects: set[Object] = set()
    for obj in value.objects:
        if isinstance(obj, Tuple) and depth:
            items = [_without(v, kinds, depth - 1) for v in obj.items]
            kept = [v for v in items if v is not None]
            if len(kept) == len(items):
                objects.add(Tuple(tuple(kept)))
        elif not (isinstance(obj, Moved) and obj.kind.must_be(kinds)):
            objects.add(obj)
    rest = replace(value, kind=value.kind & ~kinds, objects=frozenset(objects))
    return None if rest.is_nothing else rest


def _by_function(frame: Frame, inner: predicates.Opened, *, positive: bool) -> None:
    """What the test says of the parameters it says of the arguments."""
    before = dict(inner.frame.state.names)
    narrow(inner.frame, inner.test, positive=positive)
    if not inner.frame.state.alive:
        frame.state.alive = False
    for name, node in inner.given:
        value = inner.frame.state.names.get(name, before[name])
        if value != before[name]:
            _put(frame, node, value)


def _put(frame: Frame, node: ast.expr, value: Value) -> None:
    """A narrower value for an argument: a name, or a tuple of names."""
    if isinstance(node, ast.Tuple):
        items = frame.engine.unpack_star(value) or ()
        for element, item in zip(node.elts, items, strict=False):
            _put(frame, element, item)
    elif isinstance(node, ast.Name) and node.id in frame.state.names:
        frame.state.names[node.id] = value


def _value(frame: Frame, node: ast.expr, key: str) -> Value | None:
    known = frame.state.names.get(key)
    if known is None and isinstance(node, ast.Attribute):
        return frame.engine.evaluate(frame, node)
    return known


def _set_none(frame: Frame, node: ast.expr, *, is_none: bool) -> None:
    key = path_of(node)
    value = None if key is None else _value(frame, node, key)
    if key is None or value is None:
        return
    if is_none:
        frame.state.names[key] = NONE
    elif NULL in value.objects:
        frame.state.names[key] = without_none(value)


def _isinstance(frame: Frame, call: ast.Call, *, positive: bool) -> None:
    if not (isinstance(call.func, ast.Name) and call.func.id in {"isinstance", "hasattr"} and len(call.args) == 2):
        return
    wanted = frame.engine.evaluate(frame, call.args[1])
    if call.func.id == "isinstance":
        narrow_to(frame, call.args[0], wanted, positive=positive)
    elif wanted.const and isinstance(wanted.const[0], str):
        _narrow_by_attribute(frame, call.args[0], wanted.const[0], positive=positive)


def narrow_to(frame: Frame, node: ast.expr, wanted: Value, *, positive: bool) -> None:
    """Sharpen what a name may be by its being an instance of a class, or not."""
    key = path_of(node)
    value = None if key is None else _value(frame, node, key)
    if key is None or value is None:
        return
    if positive:
        frame.state.names[key] = as_instance(frame, value, wanted)
        return
    kinds = places(frame, wanted)
    if kinds is None:
        _not_contained(frame, key, value, wanted)
    elif value.kind & ~kinds or value.objects or value.unknown:
        frame.state.names[key] = replace(value, kind=value.kind & ~kinds)


def as_instance(frame: Frame, value: Value, wanted: Value) -> Value:
    """What a value is, given that it is an instance of a class."""
    kinds = places(frame, wanted)
    if kinds is None:
        return _contained(frame, value, wanted)
    kept = value.kind & kinds
    if not kept and not value.unknown:
        return value
    return replace(value, kind=kept or kinds & ~Kind.TRACER, objects=frozenset(), unknown=False)


def _narrow_by_attribute(frame: Frame, node: ast.expr, name: str, *, positive: bool) -> None:
    key = path_of(node)
    value = None if key is None else _value(frame, node, key)
    if key is None or value is None:
        return
    kept = Kind(0)
    for kind in value.kind:
        if _kind_has(frame, kind, value, name) is not (not positive):
            kept |= kind
    if kept or value.objects or value.unknown:
        frame.state.names[key] = replace(value, kind=kept, const=value.const if kept == value.kind else ())


_ARRAY_CLASSES = {Kind.DEVICE: "jax.Array", Kind.TRACER: "jax.Array", Kind.NUMPY: "numpy.ndarray"}


def _kind_has(frame: Frame, kind: Kind, value: Value, name: str) -> bool | None:
    """True or False where it is known whether values in a place have an attribute."""
    models = frame.engine.models
    if kind in _ARRAY_CLASSES:
        known = f"{_ARRAY_CLASSES[kind]}.{name}"
        if models.exact(known) or models.attribute_of(known) is not None:
            return True
        return None if value.unknown else False
    return hasattr(value.const[0], name) if value.const and value.kind == kind else None


def has_attribute(frame: Frame, value: Value, name: str) -> bool | None:
    """The answer of hasattr where it is known, else None."""
    if value.unknown or value.objects or not value.kind:
        return None
    answers = {_kind_has(frame, kind, value, name) for kind in value.kind}
    return answers.pop() if len(answers) == 1 else None


def is_instance(frame: Frame, value: Value, wanted: Value) -> bool | None:
    """The answer of isinstance where the places of a value decide it, else None."""
    if value.unknown or value.is_nothing:
        return None
    kinds = places(frame, wanted)
    if kinds is None and value.const and containers(frame, wanted):
        return False  # a literal number or string, or None
    if kinds is None:
        answer = _of_standard(frame, wanted) if value.known(ARRAY) else None
        return _of_classes(frame, value, wanted) if answer is None else answer
    if value.known(kinds) and kinds not in {HOST, Kind.PYTHON}:
        return True
    return False if not value.kind & kinds and not value.objects else None


def _of_standard(frame: Frame, wanted: Value) -> bool | None:
    """isinstance of an array with classes of the standard library."""
    if are_sized(frame, wanted):
        return True
    return None if without_arrays(frame, wanted) is None or may_be_trees(frame, wanted) else False


def restricted(frame: Frame, value: Value, wanted: Value) -> Value:
    """The value without the places where no instance of a class lives."""
    kinds = places(frame, wanted)
    return value if kinds is None or not value.kind & kinds else replace(value, kind=value.kind & kinds)


def _of_classes(frame: Frame, value: Value, wanted: Value) -> bool | None:
    """isinstance with classes of the project, of their instances or of arrays and numbers."""
    items = frame.engine.unpack_star(wanted) or (wanted,)
    if not all(len(w.objects) == 1 and isinstance(next(iter(w.objects)), Class) and not w.unknown for w in items):
        return None
    classes = {o for w in items for o in w.objects}
    answers = {False} if value.kind else set()
    for obj in value.objects:
        below = base_of(obj)
        if not isinstance(below, Instance):
            return None
        answers.add(not classes.isdisjoint(mro(frame.engine, below.cls)))
    return answers.pop() if len(answers) == 1 else None


def _contained(frame: Frame, value: Value, wanted: Value) -> Value:
    """isinstance with a container class came out true: it is that, and no array that was mistaken for one."""
    kinds = containers(frame, wanted)
    if not kinds:
        rest = without_arrays(frame, wanted)
        return value if rest is None else _kept_in(value, rest)
    fitting = frozenset(o for o in value.objects if isinstance(base_of(o), tuple(kinds)))
    return replace(value, kind=Kind(0), objects=fitting, unknown=value.unknown or not fitting, const=())


def _kept_in(value: Value, kinds: Kind) -> Value:
    """The value without the arrays and scalars of other places; what is nothing then is not known."""
    kept = value.kind & kinds
    if kept == value.kind:
        return value
    return replace(value, kind=kept, unknown=value.unknown or not (kept or value.objects), const=())


def _not_contained(frame: Frame, key: str, value: Value, wanted: Value) -> None:
    """isinstance with a container class, or one that all arrays are of, came out false."""
    kinds = containers(frame, wanted)
    if not kinds and value.kind & ARRAY and are_sized(frame, wanted):
        rest = value.kind & ~ARRAY
        if rest or value.objects or value.unknown:
            frame.state.names[key] = replace(value, kind=rest)
        return
    fitting = frozenset(o for o in value.objects if kinds and isinstance(base_of(o), tuple(kinds)))
    if fitting and (value.objects - fitting or value.kind or value.unknown):
        frame.state.names[key] = replace(value, objects=value.objects - fitting)

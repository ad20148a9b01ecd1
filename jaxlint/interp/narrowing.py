"""What a passed or failed test says about the names in it: ``x is None``, ``isinstance(x, jax.Array)``, ``x``."""

from dataclasses import replace

import libcst as cst

from jaxlint.interp.classes import mro
from jaxlint.interp.engine import Frame
from jaxlint.interp.heap import base_of
from jaxlint.interp.program import path_of
from jaxlint.interp.values import (
    NONE,
    NULL,
    Class,
    Instance,
    Library,
    Mapping,
    Object,
    Sequence,
    Tuple,
    Value,
    without_none,
)
from jaxlint.kinds import HOST, Kind


def narrow(frame: Frame, test: cst.BaseExpression, *, positive: bool) -> None:
    """Sharpen the state by a test that came out true (`positive`) or false."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        narrow(frame, test.expression, positive=not positive)
    elif isinstance(test, cst.BooleanOperation):
        if isinstance(test.operator, cst.And) is positive:
            narrow(frame, test.left, positive=positive)
            narrow(frame, test.right, positive=positive)
    elif isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        if isinstance(target.operator, cst.Is | cst.IsNot) and _is_none(target.comparator):
            _set_none(frame, test.left, is_none=isinstance(target.operator, cst.Is) is positive)
    elif isinstance(test, cst.Name | cst.Attribute):
        if positive:
            _set_none(frame, test, is_none=False)
    elif isinstance(test, cst.NamedExpr):
        narrow(frame, test.target, positive=positive)
    elif isinstance(test, cst.Call):
        _isinstance(frame, test, positive=positive)


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _value(frame: Frame, node: cst.BaseExpression, key: str) -> Value | None:
    known = frame.state.names.get(key)
    if known is None and isinstance(node, cst.Attribute):
        return frame.engine.evaluate(frame, node)
    return known


def _set_none(frame: Frame, node: cst.BaseExpression, *, is_none: bool) -> None:
    key = path_of(node)
    value = None if key is None else _value(frame, node, key)
    if key is None or value is None:
        return
    if is_none:
        frame.state.names[key] = NONE
    elif NULL in value.objects:
        frame.state.names[key] = without_none(value)


_CLASSES: dict[str, Kind] = {
    "jax.Array": Kind.DEVICE | Kind.TRACER,
    "jax.core.Tracer": Kind.TRACER,
    "numpy.ndarray": Kind.NUMPY,
    "numpy.generic": Kind.NUMPY,
    "builtins.float": HOST,
    "builtins.int": HOST,
    "builtins.bool": HOST,
    "builtins.str": Kind.PYTHON,
}


def _isinstance(frame: Frame, call: cst.Call, *, positive: bool) -> None:
    if not (isinstance(call.func, cst.Name) and call.func.value in {"isinstance", "hasattr"} and len(call.args) == 2):
        return
    wanted = frame.engine.evaluate(frame, call.args[1].value)
    if call.func.value == "isinstance":
        narrow_to(frame, call.args[0].value, wanted, positive=positive)
    elif wanted.const and isinstance(wanted.const[0], str):
        _narrow_by_attribute(frame, call.args[0].value, wanted.const[0], positive=positive)


def narrow_to(frame: Frame, node: cst.BaseExpression, wanted: Value, *, positive: bool) -> None:
    """Sharpen what a name may be by its being an instance of a class, or not."""
    key = path_of(node)
    value = None if key is None else frame.state.names.get(key)
    if key is None or value is None:
        return
    kinds = _places(frame, wanted)
    if kinds is None:
        _contained(frame, key, value, wanted, positive=positive)
        return
    if positive:
        kept = value.kind & kinds
        if kept or value.unknown:
            frame.state.names[key] = replace(
                value, kind=kept or kinds & ~Kind.TRACER, objects=frozenset(), unknown=False
            )
    elif value.kind & ~kinds or value.objects or value.unknown:
        frame.state.names[key] = replace(value, kind=value.kind & ~kinds)


def _narrow_by_attribute(frame: Frame, node: cst.BaseExpression, name: str, *, positive: bool) -> None:
    key = path_of(node)
    value = None if key is None else frame.state.names.get(key)
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


_CONTAINERS: dict[str, type[Object]] = {
    "builtins.dict": Mapping,
    "builtins.list": Sequence,
    "builtins.tuple": Tuple,
    "builtins.set": Sequence,
    "collections.abc.Mapping": Mapping,
}


def is_instance(frame: Frame, value: Value, wanted: Value) -> bool | None:
    """The answer of isinstance where the places of a value decide it, else None."""
    if value.unknown or value.is_nothing:
        return None
    kinds = _places(frame, wanted)
    if kinds is None:
        return _of_classes(frame, value, wanted)
    if value.known(kinds) and kinds not in {HOST, Kind.PYTHON}:
        return True
    return False if not value.kind & kinds and not value.objects else None


def restricted(frame: Frame, value: Value, wanted: Value) -> Value:
    """The value without the places where no instance of a class lives."""
    kinds = _places(frame, wanted)
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


def _contained(frame: Frame, key: str, value: Value, wanted: Value, *, positive: bool) -> None:
    """isinstance with a container class: it is that, or it is not; either way no array that was mistaken for one."""
    items = frame.engine.unpack_star(wanted)
    kinds: list[type[Object]] = []
    for one in items if items is not None else (wanted,):
        for obj in one.objects:
            name = frame.engine.models.canonical(obj.name) if isinstance(obj, Library) else ""
            if name not in _CONTAINERS:
                return
            kinds.append(_CONTAINERS[name])
    if not kinds:
        return
    fitting = frozenset(o for o in value.objects if isinstance(base_of(o), tuple(kinds)))
    if positive:
        unknown = value.unknown or not fitting
        frame.state.names[key] = replace(value, kind=Kind(0), objects=fitting, unknown=unknown, const=())
    elif fitting and (value.objects - fitting or value.kind or value.unknown):
        frame.state.names[key] = replace(value, objects=value.objects - fitting)


def _places(frame: Frame, wanted: Value) -> Kind | None:
    out = Kind(0)
    items = frame.engine.unpack_star(wanted)
    for one in items if items is not None else (wanted,):
        for obj in one.objects:
            name = frame.engine.models.canonical(obj.name) if isinstance(obj, Library) else ""
            kind = _CLASSES.get(name)
            if kind is None:
                return None
            out |= kind
    return out or None

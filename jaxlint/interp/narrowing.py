"""What a passed or failed test says about the names in it: ``x is None``, ``isinstance(x, jax.Array)``, ``x``."""

from dataclasses import replace

import libcst as cst

from jaxlint.interp.engine import Frame
from jaxlint.interp.heap import base_of
from jaxlint.interp.values import NONE, NULL, Library, Mapping, Object, Sequence, Tuple, Value, without_none
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


def _key(node: cst.BaseExpression) -> str | None:
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return f"{node.value.value}.{node.attr.value}"
    return None


def _value(frame: Frame, node: cst.BaseExpression, key: str) -> Value | None:
    known = frame.state.names.get(key)
    if known is None and isinstance(node, cst.Attribute):
        return frame.engine.evaluate(frame, node)
    return known


def _set_none(frame: Frame, node: cst.BaseExpression, *, is_none: bool) -> None:
    key = _key(node)
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
    if not (isinstance(call.func, cst.Name) and call.func.value == "isinstance" and len(call.args) == 2):
        return
    key = _key(call.args[0].value)
    value = None if key is None else frame.state.names.get(key)
    if key is None or value is None:
        return
    wanted = frame.engine.evaluate(frame, call.args[1].value)
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


_CONTAINERS: dict[str, type[Object]] = {
    "builtins.dict": Mapping,
    "builtins.list": Sequence,
    "builtins.tuple": Tuple,
    "builtins.set": Sequence,
    "collections.abc.Mapping": Mapping,
}


def is_instance(frame: Frame, value: Value, wanted: Value) -> bool | None:
    """The answer of isinstance where the places of a value decide it, else None."""
    kinds = _places(frame, wanted)
    if kinds is None or value.unknown or value.is_nothing:
        return None
    if value.known(kinds) and kinds not in {HOST, Kind.PYTHON}:
        return True
    return False if not value.kind & kinds and not value.objects else None


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

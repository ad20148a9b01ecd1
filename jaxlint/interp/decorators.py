"""Decorators and descriptors: what they make of the functions that they are put above."""

from jaxlint.interp import guards
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Call, Frame
from jaxlint.interp.heap import element_of
from jaxlint.interp.values import (
    UNKNOWN,
    Class,
    Function,
    Library,
    LibraryObject,
    Method,
    Partial,
    Property,
    Super,
    Transformed,
    Value,
    of,
    replace,
)
from jaxlint.kinds import Kind


@handler("super")
def _super(call: Call) -> Value:
    frame: Frame | None = call.frame
    while frame is not None and frame.receiver is None:
        frame = frame.caller if frame.info is None or frame.info.enclosing_class is None else None
    if frame is None or frame.receiver is None or frame.info is None:
        return UNKNOWN
    for cls, record in call.engine.classes.items():
        if cls.place == frame.info.enclosing_class and record.module is frame.module:
            return of(Super(cls, frame.receiver))
    return UNKNOWN


@handler("property", "cached_property")
def _property(call: Call) -> Value:
    function = call.argument(0, "fget") or UNKNOWN
    if "cached" in call.name:
        _memoise(call, function)
    return of(Property(function, "cached" if "cached" in call.name else "property"))


@handler("property_setter")
def _property_setter(call: Call) -> Value:
    """``@x.setter``: the same property, which now may be assigned to."""
    setter = call.given(0)
    objects = (call.receiver or UNKNOWN).objects
    if not call.name.endswith("setter"):
        return call.receiver or UNKNOWN
    return of(*(replace(o, setter=setter) if isinstance(o, Property) else o for o in objects))


@handler("staticmethod")
def _staticmethod(call: Call) -> Value:
    return of(Property(call.argument(0) or UNKNOWN, "static"))


@handler("classmethod")
def _classmethod(call: Call) -> Value:
    return of(Property(call.argument(0) or UNKNOWN, "class"))


@handler("partial")
def _partial(call: Call) -> Value:
    function = call.argument(0)
    if function is None:
        return UNKNOWN
    leading = tuple(a.value for a in call.arguments[1:] if a.keyword is None and not a.star)
    keywords = tuple((a.keyword, a.value) for a in call.arguments if a.keyword is not None)
    made = of(Partial(function, leading, keywords))
    return of(Property(made, "method")) if call.name == "functools.partialmethod" else made


@handler("identity_decorator")
def _identity_decorator(call: Call) -> Value:
    """Decorators that hand on their function (wraps, typechecked, lru_cache with its arguments given later)."""
    function = call.argument(0)
    if function is None or not any(isinstance(o, Function | Method | Property) for o in function.objects):
        return of(LibraryObject("functools.decorator"))
    return function


@handler("decorator_factory")
def _decorator_factory(call: Call) -> Value:
    """Decorators that are called first: ``@wraps(f)``, ``@beartype(conf=...)``."""
    return of(LibraryObject("functools.decorator"))


@handler("hand_on")
def _hand_on(call: Call) -> Value:
    """A decorator that hands on what it decorates; of anything else nothing is known."""
    value = call.given(0)
    kept = frozenset(o for o in value.objects if isinstance(o, _DECORATED))
    return replace(value, kind=Kind(0), objects=kept) if kept else UNKNOWN


@handler("configurable")
def _configurable(call: Call) -> Value:
    """gin.configurable: a configuration may give what has a default another value, most likely of the same kind."""
    value = call.given(0)
    if not any(isinstance(o, Class | Function) for o in value.objects):
        return of(LibraryObject(call.name.removesuffix(".__call__")))
    for obj in value.objects:
        record = call.engine.classes.get(obj) if isinstance(obj, Class) else None
        if record is not None:
            for name in [name for name, _ in record.fields if name in record.scope.names]:
                call.engine.publish(record.scope, name, _another(record.scope.names[name]))
            made_by = record.scope.names.get("__init__", UNKNOWN)
        else:
            made_by = of(obj)
        for function in made_by.objects:
            info = call.engine.by_place.get(function.place) if isinstance(function, Function) else None
            for parameter in info.parameters if info is not None else ():
                default = call.engine.heap.field(function, f"default {parameter.name}")
                if default is not None:
                    call.engine.heap.write(function, f"default {parameter.name}", _another(default))
    return value


def _another(value: Value) -> Value:
    return replace(value, const=(), unknown=value.unknown or value.none_only)


@handler("foreign")
def _foreign(call: Call) -> Value:
    """A decorator of another compiler (numba, Warp, Taichi, Triton): Python never runs the body below it."""
    functions = [o for o in call.given(0).objects if isinstance(o, Function)]
    if not functions:
        return of(LibraryObject("foreign.decorator"))
    call.engine.reached.update(o.place for o in functions)
    return of(Partial(of(Library("callable host")), (), ()))


_DECORATED = (Class, Function, LibraryObject, Method, Partial, Property, Transformed)


@handler("cache")
def _cache(call: Call) -> Value:
    function = call.argument(0)
    if function is None or not function.objects or function.const:
        return of(Library("functools.cache"))
    _memoise(call, function)
    return function


def _memoise(call: Call, function: Value) -> None:
    call.engine.memoised.update(o.place for o in function.objects if isinstance(o, Function))


@handler("contextmanager")
def _contextmanager(call: Call) -> Value:
    return of(Partial(of(Library("contextlib.enter")), (call.argument(0) or UNKNOWN,), ()))


@handler("context_enter")
def _context_enter(call: Call) -> Value:
    function = call.given(0)
    for obj in function.objects:
        if isinstance(obj, Function):
            call.engine.managers.setdefault(obj.place, ())
    stream = call.engine.call(call.frame, call.node, function, list(call.arguments[1:]))
    return of(LibraryObject("contextlib.manager", (stream, function)))


@handler("enter_context")
def _enter_context(call: Call) -> Value:
    value = call.argument(0) or UNKNOWN
    guards.entered(call.frame, call.node, value)
    for obj in value.objects:
        if isinstance(obj, LibraryObject) and obj.name == "contextlib.manager":
            return element_of(call.engine.heap, obj.parts[0])
    return value

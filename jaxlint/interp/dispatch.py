"""functools.singledispatch: a function chosen by the class of its first argument."""

from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Call
from jaxlint.interp.heap import field_names
from jaxlint.interp.joining import join
from jaxlint.interp.narrowing import is_instance, restricted
from jaxlint.interp.values import (
    NOTHING,
    UNKNOWN,
    Function,
    Library,
    LibraryObject,
    Object,
    Partial,
    Tuple,
    Value,
    of,
    replace,
)


@handler("singledispatch")
def _singledispatch(call: Call) -> Value:
    made = LibraryObject("functools.singledispatch.function", (call.given(0, "func"),), call.frame.place(call.node))
    return of(made)


@handler("dispatch_register")
def _register(call: Call) -> Value:
    """``f.register(cls, g)``, ``@f.register(cls)`` and ``@f.register`` above an annotated function."""
    first, second = call.given(0, "cls"), call.argument(1, "func")
    receiver = call.receiver or UNKNOWN
    for obj in first.objects:
        info = call.engine.by_place.get(obj.place) if isinstance(obj, Function) else None
        if info is not None:
            annotation = next((p.annotation for p in info.parameters if p.annotation is not None), None)
            wanted = UNKNOWN if annotation is None else call.engine.evaluate(call.frame, annotation)
            return _add(call, receiver, wanted, first)
    if second is None:
        return of(Partial(of(Library("functools.singledispatch.registering")), (receiver, first), ()))
    return _add(call, receiver, first, second)


@handler("dispatch_registering")
def _registering(call: Call) -> Value:
    return _add(call, call.given(0), call.given(1), call.given(2))


def _add(call: Call, receiver: Value, wanted: Value, function: Value) -> Value:
    for obj in receiver.objects:
        place = call.frame.place(call.node)
        call.engine.heap.write(obj, f"case {place.path} {place.number}", of(Tuple((wanted, function))))
    return function


@handler("dispatch_call")
def _dispatch(call: Call) -> Value:
    out = NOTHING
    for obj in (call.receiver or UNKNOWN).objects:
        if isinstance(obj, LibraryObject):
            for function, value in _chosen(call, obj):
                arguments = [replace(call.arguments[0], value=value), *call.arguments[1:]] if call.arguments else ()
                out = join(out, call.engine.call(call.frame, call.node, function, arguments))
    return out


def _chosen(call: Call, dispatcher: Object) -> list[tuple[Value, Value]]:
    """The functions that the first argument may choose, each with what it gets: one where its class is known."""
    assert isinstance(dispatcher, LibraryObject)
    heap, value = call.engine.heap, call.given(0)
    possible: list[tuple[Value, Value]] = []
    for name in field_names(heap, dispatcher):
        held = heap.field(dispatcher, name) or NOTHING
        for case in held.objects:
            if isinstance(case, Tuple) and len(case.items) == 2:
                answer = is_instance(call.frame, value, case.items[0])
                if answer:
                    return [(case.items[1], value)]
                if answer is None:
                    possible.append((case.items[1], restricted(call.frame, value, case.items[0])))
    return [*possible, *((function, value) for function in dispatcher.parts[:1])]

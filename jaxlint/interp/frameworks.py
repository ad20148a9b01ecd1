"""Frameworks on top of JAX whose objects carry functions and state: flax, optax, equinox, haiku."""

from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Call
from jaxlint.interp.heap import base_of, moved
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.library import fresh, returned
from jaxlint.interp.uploads import any_tracer, upload_sites_eager
from jaxlint.interp.values import (
    NOTHING,
    PYTHON,
    UNKNOWN,
    Instance,
    Library,
    LibraryObject,
    Method,
    Partial,
    Stream,
    Tuple,
    Value,
    of,
    replace,
)
from jaxlint.kinds import Kind


def _kind(call: Call) -> Kind:
    values = [a.value for a in call.arguments]
    return Kind.TRACER if call.frame.staged or any_tracer(call.frame, values) else Kind.DEVICE


def _is_own(call: Call) -> bool:
    return any(isinstance(base_of(o), Instance) for o in (call.receiver or UNKNOWN).objects)


def _entered(call: Call) -> None:
    """Note what the call uploads; a module of the project says so itself, where it uses its arguments."""
    if not _is_own(call):
        upload_sites_eager(call)


@handler("module_init")
def _module_init(call: Call) -> Value:
    """Module.init: a tree of parameters."""
    _entered(call)
    if _is_own(call):
        building, call.frame.building = call.frame.building, True
        _applied(call, 1)  # the module's own code runs once, op by op
        call.frame.building = building
    value = fresh(call, _kind(call), "the initialised parameters are device arrays")
    if call.name.endswith("with_output"):
        return of(Tuple((_applied(call, 1), value)))
    return value


@handler("module_apply")
def _module_apply(call: Call) -> Value:
    """Module.apply: the method run with the given arguments; with mutable collections also their new state."""
    _entered(call)
    result = _applied(call, 1)
    mutable = call.argument(1_000, "mutable")
    if mutable is not None and mutable.const[:1] != (False,) and not mutable.none_only:
        state = fresh(call, _kind(call), "the new state of the collections is on the device")
        return of(Tuple((result, state)))
    return result


def _applied(call: Call, skip: int) -> Value:
    kind = _kind(call)
    rest = [a for a in call.arguments[skip:] if a.keyword not in {"rngs", "mutable", "method", "capture_intermediates"}]
    chosen = call.argument(1_000, "method")
    out = NOTHING
    receiver = call.receiver or UNKNOWN
    for obj in receiver.objects:
        if isinstance(base_of(obj), Instance):
            if chosen is not None and not chosen.none_only and not chosen.const:
                method = chosen
                bound = Value()
                for m in chosen.objects:
                    bound = join(bound, of(m if isinstance(m, Method) else Method(m, of(obj))))
                method = bound
            else:
                name = str(chosen.const[0]) if chosen is not None and chosen.const and chosen.const[0] else "__call__"
                method = call.engine.attribute(call.frame, call.node, of(obj), name)
            if method.objects:
                out = join(out, call.engine.call(call.frame, call.node, method, rest))
    if out.is_nothing or (out.unknown and not out.objects):
        return fresh(call, kind, "a module's output is a device array")
    located = moved(out, kind)
    return replace(located, kind=located.kind | (kind if out.unknown else Kind(0)), unknown=False)


@handler("lifted_apply")
def _lifted_apply(call: Call) -> Value:
    """nn.apply(fn, module): a function of the variables that runs fn with the module bound to them."""
    function, module = call.argument(0, "fn") or UNKNOWN, call.argument(1, "module") or UNKNOWN
    return of(Partial(of(Library("flax.linen.applied")), (function, module), ()))


@handler("applied")
def _applied_function(call: Call) -> Value:
    function, module = call.argument(0) or UNKNOWN, call.argument(1) or UNKNOWN
    kind = _kind(call)
    rest = [a for a in call.arguments[3:] if a.keyword not in {"rngs", "mutable"}]
    out = call.engine.call(call.frame, call.node, function, [Argument(module), *rest])
    return fresh(call, kind) if out.is_nothing or (out.unknown and not out.objects) else moved(out, kind)


@handler("train_state_create")
def _train_state_create(call: Call) -> Value:
    """TrainState.create(apply_fn=, params=, tx=): an object with those fields, the optimiser's state and a step."""
    state = LibraryObject("flax.training.train_state.TrainState", (), call.frame.place(call.node))
    heap = call.engine.heap
    for a in call.arguments:
        if a.keyword is not None:
            heap.write(state, a.keyword, a.value)
    kind = _kind(call)
    opt_state = Value(kind, origin=call.frame.origin(call.node, "TrainState.opt_state is on the device"))
    heap.write(state, "opt_state", opt_state)
    heap.write(state, "step", PYTHON)  # the number 0, until a compiled step returns the state
    return of(state)


@handler("apply_gradients")
def _apply_gradients(call: Call) -> Value:
    """state.apply_gradients(grads=...): the same state with its arrays on the device."""
    receiver = call.receiver or UNKNOWN
    for obj in receiver.objects:
        for a in call.arguments:
            if a.keyword is not None and a.keyword not in {"grads", "value"}:
                call.engine.heap.write(obj, a.keyword, a.value)
    return replace(moved(receiver, _kind(call)), tokens=frozenset())


@handler("data_loader")
def _data_loader(call: Call) -> Value:
    """torch's DataLoader: what the function makes that collates a batch; torch's own makes tensors."""
    collate = call.argument(7, "collate_fn")
    if collate is None or collate.none_only:
        return returned(call, "iter numpy")
    with call.frame.at_pace(Pace.LOOPED):
        return of(Stream(call.engine.call(call.frame, call.node, collate, [Argument(of(Stream(UNKNOWN)))])))


@handler("bind_module")
def _bind_module(call: Call) -> Value:
    return call.receiver or UNKNOWN


@handler("transform_functions")
def _transform_functions(call: Call) -> Value:
    """haiku.transform: an object whose init gives parameters and whose apply runs the function."""
    return of(
        LibraryObject(f"{call.name}.Transformed", (call.argument(0, "f") or UNKNOWN,), call.frame.place(call.node))
    )


@handler("transformed_apply")
def _transformed_apply(call: Call) -> Value:
    kind = _kind(call)
    out = NOTHING
    with_state = "with_state" in call.name
    skip = 3 if with_state else 2
    for obj in (call.receiver or UNKNOWN).objects:
        if isinstance(obj, LibraryObject) and obj.parts:
            rest = [replace(a) for a in call.arguments[skip:]]
            out = join(out, call.engine.call(call.frame, call.node, obj.parts[0], rest))
    if out.is_nothing or (out.unknown and not out.objects):
        out = fresh(call, kind)
    else:
        out = replace(moved(out, kind), unknown=False)
    return of(Tuple((out, fresh(call, kind)))) if with_state else out


@handler("split_module")
def _split_module(call: Call) -> Value:
    """nnx.split: the definition, which remembers its module, and a state for each filter (one where none is given)."""
    definition = of(LibraryObject("flax.nnx.GraphDef", (call.argument(0) or UNKNOWN,)))
    state = fresh(call, _kind(call), "a module's state is on the device")
    return of(Tuple((definition, *(state for _ in range(max(len(call.positional) - 1, 1))))))


@handler("merge_module")
def _merge_module(call: Call) -> Value:
    """eqx.combine, nnx.merge: the module that was split, or the structure of the first argument."""
    first = call.argument(0) or UNKNOWN
    out = NOTHING
    for obj in first.objects:
        if isinstance(obj, LibraryObject) and obj.name == "flax.nnx.GraphDef":
            out = join(out, moved(obj.parts[0], _kind(call)))
        else:
            out = join(out, of(obj))
    return (
        join(out, Value(first.kind, unknown=first.unknown, origin=first.origin)) if first.kind or first.unknown else out
    )

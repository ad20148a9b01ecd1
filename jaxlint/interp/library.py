"""Calls of library callables: the models applied. What a model's words mean is said in models/README.md."""

from dataclasses import replace

import libcst as cst

from jaxlint.interp import effects
from jaxlint.interp.engine import Argument, Arguments, Call, Frame
from jaxlint.interp.heap import element_of, leaves, moved
from jaxlint.interp.models import FunctionModel, Positions
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    PYTHON,
    UNKNOWN,
    Library,
    LibraryObject,
    Mapping,
    Origin,
    Sequence,
    Stream,
    Tuple,
    Value,
    array,
    join_all,
    of,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Confidence, Operation


def call_library(
    frame: Frame, node: cst.CSTNode, name: str, arguments: Arguments, receiver: Value | None = None
) -> Value:
    """Call a library callable by its canonical name: note its sites, return what its model says that it returns."""
    models = frame.engine.models
    name = models.canonical(name)
    model = models.function(name)
    if model is None:
        return UNKNOWN
    call = Call(frame, node, name, arguments, receiver)
    if model.handler is not None:
        handling = frame.engine.handlers.get(model.handler)
        return UNKNOWN if handling is None else handling(call)
    apply_effects(call, model)
    return returned(call, model.returns, boolean=model.boolean)


def chosen(call: Call, positions: Positions, everything: bool) -> list[Argument]:
    """The arguments that a model's positions and keyword names select; "self" is the receiver."""
    if everything:
        return list(call.arguments)
    out: list[Argument] = []
    for p in positions:
        if p == "self":
            if call.receiver is not None:
                out.append(Argument(call.receiver, _receiver_node(call.node)))
            continue
        found = call.find(p) if isinstance(p, int) else call.find(1_000, p)
        if found is not None and found not in out:
            out.append(found)
    return out


def _receiver_node(node: cst.CSTNode) -> cst.CSTNode | None:
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.value
    return node.value if isinstance(node, cst.Attribute) else None


def display(name: str) -> str:
    """A callee as a message names it: array methods as ".item"."""
    for head in ("jax.Array.", "numpy.ndarray."):
        if name.startswith(head):
            return "." + name.removeprefix(head)
    return name.removeprefix("builtins.")


def apply_effects(call: Call, model: FunctionModel) -> None:
    """Note what the call reads, needs concrete, and uploads."""
    frame = call.frame
    given = {a.keyword for a in call.arguments if a.keyword}
    skipped = any(u in given for u in model.unless)
    if model.only_arity is not None and len(call.positional) != model.only_arity:
        skipped = True
    callee = display(call.name)
    if (model.reads or model.reads_all) and model.operation is not None and not skipped:
        operands = [(a.value, a.node) for a in chosen(call, model.reads, model.reads_all)]
        effects.reading(
            frame, call.node, model.operation, callee, operands,
            deep=model.deep or model.reads_containers, containers_only=model.reads_containers,
        )  # fmt: skip
    if model.value_shape and not skipped:
        operands = [(a.value, a.node) for a in chosen(call, model.value_shape, False)]
        effects.reading(frame, call.node, Operation.VALUE_SHAPE, callee, operands)
    if model.concrete:
        operands = [(a.value, a.node) for a in chosen(call, model.concrete, False)]
        effects.reading(frame, call.node, Operation.CONCRETE, callee, operands, deep=True)
    if model.uploads or model.uploads_all:
        _uploads(call, model, callee)
    if model.creates and not frame.staged:
        effects.record(frame, call.node, Operation.CREATE, callee, ((PYTHON, call.node),))


def _uploads(call: Call, model: FunctionModel, callee: str) -> None:
    frame = call.frame
    if frame.staged:
        return
    args = chosen(call, model.uploads, model.uploads_all)
    if any(leaf.kind & Kind.TRACER for a in args for leaf in leaves(frame.engine.heap, a.value, 2)):
        return
    hosts = [a for a in args if effects.host_data(frame, a.value)]
    if hosts:
        sure = effects.upload_sureness(frame, (leaf for a in hosts for leaf in leaves(frame.engine.heap, a.value)))
        operands = tuple((Value(Kind.NUMPY, origin=a.value.origin), a.node) for a in hosts)
        operation = model.upload_operation or Operation.EAGER_CALL
        effects.record(frame, call.node, operation, callee, operands, confidence=sure)
    elif any(a.value.known(Kind.PYTHON) and a.value.const for a in args) and len(args) > 1:
        effects.record(frame, call.node, Operation.SCALAR_OPERAND, callee, ((PYTHON, call.node),))


def fresh(call: Call, kind: Kind, message: str | None = None) -> Value:
    """A new array made by the call, with its identity and provenance."""
    return fresh_array(call.frame, call.node, kind, message or f"{display(call.name)} returns a device array")


def fresh_array(frame: Frame, node: cst.CSTNode, kind: Kind, message: str, *, guess: bool = False) -> Value:
    """A new array made at a node: an array made there before (in an earlier turn) is another one."""
    place = frame.place(node)
    token = (place, frame.activation.number)
    fetched = frame.state.fetched
    if fetched:
        frame.state.fetched = {t for t in fetched if t[0] != place or t[1:2] != token[1:]}
    return array(kind, Origin(place, message, None, guess), token)


def result_kind(call: Call) -> Kind:
    """Where a jnp function called here leaves its result: with the tracers if any argument is one."""
    frame = call.frame
    if frame.staged:
        return Kind.TRACER
    heap = frame.engine.heap
    values = [a.value for a in call.arguments]
    if call.receiver is not None:
        values.append(call.receiver)
    for value in values:
        for leaf in leaves(heap, value, 3):
            if leaf.kind & Kind.TRACER:
                return Kind.TRACER
    return Kind.DEVICE


def returned(call: Call, word: str, *, boolean: bool = False) -> Value:
    """The value that a `returns` word means for this call."""
    head, _, rest = word.partition(" ")
    match head:
        case "device":
            if rest:
                return moved(_argument(call, rest), result_kind(call), everything=True)
            value = fresh(call, result_kind(call))
            return replace(value, boolean=True) if boolean else value
        case "numpy" | "python" | "host":
            kind = {"numpy": Kind.NUMPY, "python": Kind.PYTHON, "host": Kind.PYTHON | Kind.NUMPY}[head]
            if rest:
                return moved(_argument(call, rest), kind)
            origin = call.frame.origin(call.node, f"{display(call.name)} returns a host value")
            return Value(kind, origin=origin)
        case "none":
            return NONE
        case "arg":
            return _argument(call, rest)
        case "dispatch":
            return _dispatched(call, _argument(call, rest), boolean)
        case "element":
            return element_of(call.engine.heap, _argument(call, rest))
        case "iter":
            return of(Stream(returned(call, rest)))
        case "list":
            seq = Sequence(call.frame.place(call.node), call.frame.scope.number)
            call.engine.heap.write(seq, "*", returned(call, rest))
            return of(seq)
        case "dict":
            found = Mapping(call.frame.place(call.node), call.frame.scope.number)
            call.engine.heap.write(found, "*", returned(call, rest))
            return of(found)
        case "tuple":
            return of(Tuple(tuple(returned(call, w) for w in rest.split())))
        case "object":
            return of(LibraryObject(rest), origin=call.frame.origin(call.node, f"{rest} is made"))
        case "wrap":
            name, _, position = rest.partition(" ")
            return of(LibraryObject(name, (_argument(call, position or "0"),)))
        case "callable":
            return of(Library(f"callable {rest}"))
        case _:
            return UNKNOWN


def _argument(call: Call, position: str) -> Value:
    if position == "self":
        return call.receiver if call.receiver is not None else UNKNOWN
    return call.argument(int(position)) or NOTHING if position.isdigit() else call.argument(1_000, position) or NOTHING


def _dispatched(call: Call, value: Value, boolean: bool) -> Value:
    kind = value.kind & ARRAY
    if value.kind & ~ARRAY or value.objects:
        kind |= Kind.NUMPY
    if not kind:
        return Value(Kind.NUMPY if value.is_nothing else Kind(0), unknown=value.unknown)
    if kind & ARRAY:
        out = fresh(call, kind, f"{display(call.name)} of a device array stays on the device")
        return replace(out, unknown=value.unknown, boolean=boolean)
    return Value(kind, unknown=value.unknown, boolean=boolean)


def sure(value: Value) -> bool:
    """True if the value's place is known for certain."""
    return bool(value.kind) and not value.unknown and not (value.origin is not None and value.origin.guess)


def host_result(values: list[Value]) -> Value:
    """The host value that a computation over host values gives."""
    joined = join_all(values)
    return Value(Kind.NUMPY if joined.kind & Kind.NUMPY else Kind.PYTHON)


__all__ = ["Confidence", "apply_effects", "call_library", "chosen", "display", "fresh", "fresh_array", "returned"]

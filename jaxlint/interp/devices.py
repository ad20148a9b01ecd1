"""Placement: on which device or sharding an array was put, and where operands of different placement meet."""

import ast
from collections.abc import Sequence

from jaxlint.interp import effects
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Call, Frame
from jaxlint.interp.heap import leaves
from jaxlint.interp.syntax import walk
from jaxlint.interp.values import (
    UNKNOWN,
    LibraryObject,
    Moved,
    Object,
    Transformed,
    Tuple,
    Value,
    constant,
    of,
    replace,
)
from jaxlint.kinds import Kind
from jaxlint.sites import Operation

DEFAULT = "default"
CPU = "device:cpu"
"""The host's own processor, which holds arrays as a device does."""
_DEVICES = 8
"""How many devices the analysis tells apart; a program's further ones are not known."""


@handler("devices")
def _devices(call: Call) -> Value:
    """jax.devices(): each device by its index; those of the host's processor are one."""
    asked = call.argument(1 if "local" in call.name else 0, "backend")
    if asked is not None and asked.const == ("cpu",):
        return of(Tuple((of(LibraryObject("jax.Device", (asked,))),)))
    if call.arguments:
        return UNKNOWN
    return of(Tuple(tuple(of(LibraryObject("jax.Device", (constant(n),))) for n in range(_DEVICES))))


def meet(frame: Frame, node: ast.AST, operands: Sequence[tuple[Value, ast.AST | None]]) -> str:
    """The placement of a result whose operands are these; notes a copy between devices."""
    if frame.staged:
        return ""
    arrays = [(v, at) for v, at in operands if v.kind & Kind.DEVICE]
    committed = {v.placement for v, _ in arrays if v.placement not in {"", DEFAULT}}
    if len(committed) == 1:
        (target,) = committed
        strays = [(v, at) for v, at in arrays if v.placement == DEFAULT and v.kind.must_be(Kind.DEVICE)]
        if strays and target != "device:0":
            effects.record(frame, node, Operation.MIXED_DEVICES, None, strays)
        return target
    if committed:
        return ""
    return DEFAULT if all(v.placement == DEFAULT for v, _ in arrays) else ""


def compiled_call(call: Call, obj: Transformed, arguments: Sequence[Argument]) -> None:
    """Note copies between devices that a compiled call makes of its arguments."""
    frame = call.frame
    if obj.option("in_shardings") is not None:
        strays = [
            (v, a.node)
            for a in arguments
            if (v := a.value).kind.must_be(Kind.DEVICE) and v.placement == DEFAULT and not _is_key(v)
        ]
        if strays:
            effects.record(frame, call.node, Operation.RESHARD, None, strays)
        return
    found = [(v, a.node) for a in arguments for v in leaves(frame.engine.heap, a.value, 2)]
    meet(frame, call.node, found)


def _is_key(value: Value) -> bool:
    """True of a random key: a handful of bytes, whose copies nobody minds."""
    origin = value.origin
    while origin is not None:
        if origin.message.startswith(
            ("jax.random.key", "jax.random.PRNGKey", "jax.random.split", "jax.random.fold_in")
        ):
            return True
        origin = origin.before
    return False


def placement_of(target: Value) -> str:
    """The placement that the second argument of device_put means."""
    if target.none_only or target.is_nothing:
        return DEFAULT
    if target.const == ("cpu",):
        return CPU
    for obj in target.objects:
        if isinstance(obj, LibraryObject):
            if obj.name == "jax.Device" and obj.parts and obj.parts[0].const:
                return f"device:{obj.parts[0].const[0]}"
            if obj.name.startswith("jax.sharding.") and len(target.objects) == 1:
                return f"sharding:{obj.place}"
    return ""


def invariant(frame: Frame, node: ast.AST | None) -> bool:
    """True if the argument is a plain name that the loop around the call never binds."""
    return isinstance(node, ast.Name) and bool(frame.loop_bound) and node.id not in frame.loop_bound


def changes(frame: Frame, node: ast.AST | None) -> bool:
    """True if an expression asks for a name that a loop around it binds: it may be another device at each turn."""
    return node is not None and any(isinstance(part, ast.Name) and part.id in frame.loop_bound for part in walk(node))


def placed(value: Value, where: str) -> Value:
    """The value with the placement of its own arrays set."""
    objects = frozenset(
        Tuple(tuple(placed(v, where) for v in o.items)) if isinstance(o, Tuple) else o for o in value.objects
    )
    return replace(value, objects=objects, placement=where if value.kind & Kind.DEVICE else value.placement)


def on_some_device(value: Value) -> Value:
    """The same made where the default device is the host's processor: which of its arrays are there is not known."""
    if not value.kind & Kind.DEVICE and not any(isinstance(o, Tuple | Moved) for o in value.objects):
        return value
    kept: set[Object] = set()
    for obj in value.objects:
        if isinstance(obj, Tuple):
            kept.add(Tuple(tuple(on_some_device(v) for v in obj.items)))
        elif not isinstance(obj, Moved):
            kept.add(obj)
    return replace(
        value, kind=value.kind & ~Kind.DEVICE, objects=frozenset(kept), unknown=True, tokens=frozenset(), const=()
    )

"""Calls of library callables: the models applied. What a model's words mean is said in models/README.md."""

import ast
import functools

from jaxlint.interp import devices, effects, uses
from jaxlint.interp.frames import Argument, Arguments, Call, Frame
from jaxlint.interp.heap import base_of, element_of, is_container, leaves, moved, values_of
from jaxlint.interp.models import FunctionModel, Positions
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    PYTHON,
    UNKNOWN,
    Instance,
    Library,
    LibraryObject,
    Mapping,
    Origin,
    Sequence,
    Stream,
    Tuple,
    Value,
    array,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, HOST, Kind
from jaxlint.sites import Operation


def call_library(frame: Frame, node: ast.AST, name: str, arguments: Arguments, receiver: Value | None = None) -> Value:
    """Call a library callable by its canonical name: note its sites, return what its model says that it returns."""
    models = frame.engine.models
    name = models.canonical(name)
    model = models.function(name)
    if receiver is not None:
        for obj in receiver.objects:
            effects.forget(frame, obj)
    if model is None:
        return UNKNOWN
    call = Call(frame, node, name, arguments, receiver)
    if model.handler is not None:
        handling = frame.engine.handlers.get(model.handler)
        return UNKNOWN if handling is None else uses.passed_on(call, model.operation, handling(call))
    apply_effects(call, model)
    return uses.passed_on(call, model.operation, returned(call, _word_of(call, model), boolean=model.boolean))


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


def _receiver_node(node: ast.AST) -> ast.AST | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.value if isinstance(node, ast.Attribute) else None


def display(name: str) -> str:
    """A callee as a message names it: array methods as ".item"."""
    for head in ("jax.Array.", "numpy.ndarray."):
        if name.startswith(head):
            return "." + name.removeprefix(head)
    return name.removeprefix("builtins.")


def _given(call: Call, names: Positions) -> bool:
    """True if one of the arguments, by position or keyword, is given."""
    return any(
        (len(call.positional) > n) if isinstance(n, int) else any(a.keyword == n for a in call.arguments) for n in names
    )


def _word_of(call: Call, model: FunctionModel) -> str:
    """What the call returns: options that are given change it, those excepted that say what holds without them."""
    for option, word in model.when:
        negated, given = option.startswith("not "), option.startswith("given ")
        name, _, text = option.removeprefix("not ").removeprefix("given ").partition("=")
        value = call.argument(int(name)) if name.isdigit() else call.argument(1_000, name)
        if value is None or (given and value.none_only):
            continue
        if given or (_is_text(value, text) if text else _is_off(value) is negated):
            return word
    return model.returns


def _is_text(value: Value, text: str) -> bool:
    """True of this text, or of one that ends as "*.ending" says."""
    if text.startswith("*"):
        return bool(value.const) and str(value.const[0]).endswith(text.removeprefix("*"))
    return value.const == (text,)


def _is_off(value: Value) -> bool:
    """True of None and False, not of the number 0, which equals False: it is an axis."""
    return bool(value.const) and (value.const[0] is None or value.const[0] is False)


_LISTS_ONLY = {Operation.NUMPY_CONVERSION, Operation.NUMPY_FUNCTION}


def apply_effects(call: Call, model: FunctionModel) -> None:
    """Note what the call reads, needs concrete, and uploads."""
    frame = call.frame
    skipped = _given(call, model.unless) or bool(model.only_with and not _given(call, model.only_with))
    if model.only_arity is not None and len(call.positional) != model.only_arity:
        skipped = True
    callee = display(call.name)
    if (model.reads or model.reads_all) and model.operation is not None and not skipped:
        operands = [(a.value, a.node) for a in chosen(call, model.reads, model.reads_all)]
        lists = model.operation in _LISTS_ONLY
        if lists:
            operands = [(without_mappings(v), at) for v, at in operands]
        if model.compares and any(v.none_only for v, _ in operands):
            operands = []  # nothing is equal to None, whatever its items are
        if model.dict_values:
            operands = [(v, at) for value, at in operands for v in _direct_values(call, value)]
        effects.reading(
            frame, call.node, model.operation, callee, operands,
            deep=model.deep or model.reads_containers, containers_only=model.reads_containers,
            computed=model.compares,
        )  # fmt: skip
    if model.value_shape and not skipped:
        operands = [(a.value, a.node) for a in chosen(call, model.value_shape, False)]
        effects.reading(frame, call.node, Operation.VALUE_SHAPE, callee, operands, computed=True)
    needed = tuple(p for p in model.concrete if p in model.unless) if _given(call, model.unless) else model.concrete
    if needed:
        operands = [(a.value, a.node) for a in chosen(call, needed, False)]
        effects.reading(frame, call.node, Operation.CONCRETE, callee, operands, deep=True)
    if model.fetches and not frame.staged:
        operands = [(a.value, a.node) for a in chosen(call, model.fetches, False) if a.value.kind.must_be(Kind.DEVICE)]
        effects.reading(frame, call.node, Operation.CONCRETE, callee, operands)
    if model.uploads or model.uploads_all:
        _uploads(call, model, callee)
    if model.creates and not frame.staged:
        effects.record(frame, call.node, Operation.CREATE, callee, ((PYTHON, call.node),))


def without_mappings(value: Value) -> Value:
    """The value as NumPy sees it: it looks into lists and tuples, and takes any other object for one."""
    kept = frozenset(o for o in value.objects if not isinstance(base_of(o), Mapping | Instance | LibraryObject))
    return value if len(kept) == len(value.objects) else replace(value, objects=kept)


def _direct_values(call: Call, value: Value) -> list[Value]:
    """The values of a dict, without what they hold; of anything else the value itself."""
    out = [replace(value, objects=frozenset())]
    for obj in value.objects:
        if isinstance(base_of(obj), Mapping):
            out.append(values_of(call.engine.heap, obj))
    return out


def _uploads(call: Call, model: FunctionModel, callee: str) -> None:
    frame = call.frame
    if frame.staged:
        return
    args = chosen(call, model.uploads, model.uploads_all)
    if (
        frame.within_trace
        and not frame.concrete
        and any(leaf.kind & Kind.TRACER for a in args for leaf in leaves(frame.engine.heap, a.value, 2))
    ):
        return
    uses.uploaded(frame, call.node, [a.value for a in args])
    # Lists are uploaded by jnp.array and its like alone: other functions refuse them, or take them for shapes and axes.
    wanted = Kind.NUMPY | (Kind.PYTHON if model.upload_operation is Operation.UPLOAD else Kind(0))
    hosts = [a for a in args if effects.host_data(frame, a.value) & wanted]
    if hosts:
        found = [leaf for a in hosts for leaf in leaves(frame.engine.heap, a.value)]
        operands = tuple((Value(Kind.NUMPY, origin=a.value.origin), a.node) for a in hosts)
        operation = model.upload_operation or Operation.EAGER_CALL
        effects.upload(frame, call.node, operation, callee, operands, found, [a.value for a in hosts])
    elif any(a.value.known(Kind.PYTHON) and a.value.const for a in args) and len(args) > 1:
        effects.record(frame, call.node, Operation.SCALAR_OPERAND, callee, ((PYTHON, call.node),))


def fresh(call: Call, kind: Kind, message: str | None = None) -> Value:
    """A new array made by the call, with its identity and provenance."""
    return fresh_array(call.frame, call.node, kind, message or f"{display(call.name)} returns a device array")


def fresh_array(frame: Frame, node: ast.AST, kind: Kind, message: str, *, guess: bool = False) -> Value:
    """A new array made at a node: an array made there before (in an earlier turn) is another one."""
    place = frame.place(node)
    token = (place, frame.activation.number)
    fetched = frame.state.fetched
    if fetched:
        frame.state.fetched = {t for t in fetched if t[0] != place or t[1:2] != token[1:]}
    return array(kind, Origin(place, message, None, guess), token)


def _placement(call: Call) -> str:
    """Where a jnp function leaves its result: with its committed operands, or uncommitted."""
    if any(a.keyword in {"device", "sharding", "out_sharding"} for a in call.arguments):
        return ""
    operands = [(v, a.node) for a in call.arguments for v in leaves(call.engine.heap, a.value, 2)]
    if call.receiver is not None:
        operands.append((call.receiver, None))
    return devices.meet(call.frame, call.node, operands)


def result_kind(call: Call) -> Kind:
    """Where a jnp function called here leaves its result: with the tracers if any argument is one."""
    frame = call.frame
    heap = frame.engine.heap
    values = [a.value for a in call.arguments]
    if frame.staged:
        for value in values:
            effects.capture(frame, value)
        return Kind.TRACER
    if call.receiver is not None:
        values.append(call.receiver)
    for value in values:
        for leaf in leaves(heap, value, 3):
            # Outside of a trace what may be a tracer is none, unless it can be nothing else: one that leaked.
            if leaf.kind & Kind.TRACER and (frame.within_trace or leaf.kind.must_be(Kind.TRACER)):
                return Kind.TRACER
    return Kind.DEVICE


Word = tuple[str, tuple[object, ...]]
"""A parsed `returns` word: its head and its operands, words among them."""

_ONE_WORD = {"iter", "list", "dict", "callable"}
_ONE_OPERAND = {"arg", "dispatch", "drawn", "element", "kept", "object", "reduced"}
_MAYBE_OPERAND = {"device", "numpy", "python"}


@functools.cache
def parse_word(text: str) -> Word:
    """A `returns` word of models/README.md, parsed."""
    tokens = text.split()
    word, rest = _parse(tokens, 0)
    return word if rest >= len(tokens) else ("unknown", ())


def _parse(tokens: list[str], at: int) -> tuple[Word, int]:
    if at >= len(tokens):
        return ("unknown", ()), at
    head = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    if head in _ONE_WORD:
        inner, at = _parse(tokens, at + 1)
        return (head, (inner,)), at
    if head == "tuple":
        items: list[object] = []
        at += 1
        while at < len(tokens):
            item, at = _parse(tokens, at)
            items.append(item)
        return (head, tuple(items)), at
    if head == "wrap":
        position = tokens[at + 2] if at + 2 < len(tokens) else "0"
        return (head, (following, position)), at + 3
    if head in _ONE_OPERAND or (head in _MAYBE_OPERAND and (following.isdigit() or following == "self")):
        return (head, (following,)), at + 2
    return (head, ()), at + 1


def returned(call: Call, text: str, *, boolean: bool = False) -> Value:
    """The value that a `returns` word means for this call."""
    return _returned(call, parse_word(text), boolean)


_HOST_KINDS = {"numpy": Kind.NUMPY, "python": Kind.PYTHON, "host": Kind.PYTHON | Kind.NUMPY}


def _returned(call: Call, word: Word, boolean: bool) -> Value:
    head, operands = word
    operand = str(operands[0]) if operands and isinstance(operands[0], str) else ""
    match head:
        case "device" | "reduced" if operand:
            value = _argument(call, operand)
            if head == "reduced" and value.kind and not (value.kind & ~HOST or value.objects or value.unknown):
                return Value(value.kind)
            made = fresh(call, result_kind(call))
            if not value.kind and not value.objects:
                return made
            out = moved(value, result_kind(call), everything=True)
            return replace(out, tokens=made.tokens) if out.kind & ARRAY else out
        case "device":
            made = replace(fresh(call, result_kind(call)), placement=_placement(call))
            return replace(made, boolean=True) if boolean else made
        case "kept":
            value = _argument(call, operand)
            return Value(value.kind, origin=value.origin) if value.known(Kind.NUMPY) else fresh(call, result_kind(call))
        case "scalar":
            value = call.argument(0) or PYTHON
            return Value(Kind.NUMPY) if is_container(value) else moved(value, Kind.NUMPY)
        case "drawn":
            return _drawn(call, int(operand))
        case "numpy" | "python" | "host" if operand:
            value = _argument(call, operand)
            if value.unknown and not value.kind and not value.objects:
                return Value(_HOST_KINDS[head], unknown=True, origin=_host_origin(call))
            return moved(value, _HOST_KINDS[head])
        case "numpy" | "python" | "host":
            return Value(_HOST_KINDS[head], origin=_host_origin(call), boolean=boolean and head == "numpy")
        case "none":
            return NONE
        case "arg":
            return _argument(call, operand)
        case "dispatch":
            return _dispatched(call, _argument(call, operand), boolean)
        case "element":
            return element_of(call.engine.heap, _argument(call, operand))
        case "promote" | "elementwise":
            return _combined(call, boolean, arrays=head == "promote")
        case "object":
            return of(LibraryObject(operand), origin=call.frame.origin(call.node, f"{operand} is made"))
        case "wrap":
            return of(LibraryObject(operand, (_argument(call, str(operands[1])),)))
        case "callable":
            return of(Library(f"callable {_text(operands[0])}"))
        case _:
            return _container(call, head, operands)


def _host_origin(call: Call) -> Origin:
    return call.frame.origin(call.node, f"{display(call.name)} returns a host value")


def _text(word: object) -> str:
    if isinstance(word, str):
        return word
    assert isinstance(word, tuple)
    head, operands = word
    return " ".join([str(head), *(_text(o) for o in operands)])


def _word(value: object) -> Word:
    assert isinstance(value, tuple)
    return value[0], value[1]


def _container(call: Call, head: str, operands: tuple[object, ...]) -> Value:
    place, scope = call.frame.place(call.node), call.frame.scope.number
    match head:
        case "iter":
            return of(Stream(_returned(call, _word(operands[0]), False)))
        case "list" | "dict":
            made = Sequence(place, scope) if head == "list" else Mapping(place, scope)
            call.engine.heap.write(made, "*", _returned(call, _word(operands[0]), False))
            return of(made)
        case "tuple":
            return of(Tuple(tuple(_returned(call, _word(o), False) for o in operands)))
        case _:
            return UNKNOWN


def _combined(call: Call, boolean: bool, *, arrays: bool) -> Value:
    """Arithmetic over all arguments: of device arrays (`arrays`) a device array, else NumPy if any is, else Python."""
    kind = Kind(0)
    unknown = sure = False
    for a in call.arguments:
        if not arrays and is_container(a.value):
            kind |= Kind.NUMPY
        for leaf in leaves(call.engine.heap, a.value, 3):
            kind |= leaf.kind
            unknown |= leaf.unknown
            sure |= bool(leaf.kind & ARRAY) and not leaf.unknown
        unknown |= a.value.unknown
    if arrays and kind & ARRAY:
        return replace(fresh(call, Kind.TRACER if kind & Kind.TRACER else Kind.DEVICE), unknown=not sure)
    if kind & (ARRAY | Kind.NUMPY):
        return Value(Kind.NUMPY, boolean=boolean)
    if arrays and unknown:
        return UNKNOWN
    return Value(Kind.PYTHON if kind else Kind.NUMPY, unknown=unknown)


def _drawn(call: Call, size: int) -> Value:
    """A random draw: without a size, and of parameters that are plain numbers, one number of Python."""
    wanted = [a for a in (call.find(size, "size"), call.find(1_000, "out")) if a is not None]
    if any(not a.value.none_only for a in wanted):
        return Value(Kind.NUMPY)
    kinds = [a.value for a in call.arguments if a not in wanted]
    if any(v.kind & ~Kind.PYTHON or is_container(v) for v in kinds):
        return Value(Kind.NUMPY)
    return Value(Kind.PYTHON if all(v.known(Kind.PYTHON) for v in kinds) else HOST)


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

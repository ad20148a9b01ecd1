"""What fetched values are for: the results of fetches are marked as such, and what is done with them is entered into
the ledger. Every part of the interpreter that reads, stores or uploads host values says so here."""

import ast
from collections.abc import Callable, Iterable
from collections.abc import Mapping as ReadOnly

from jaxlint.interp.frames import Call, Frame
from jaxlint.interp.heap import is_container
from jaxlint.interp.ledger import Use, Used
from jaxlint.interp.values import (
    LibraryMethod,
    Mapping,
    Moved,
    Object,
    Source,
    Stream,
    Tuple,
    Value,
    holds_values,
    replace,
)
from jaxlint.interp.values import Sequence as ListOf
from jaxlint.kinds import ARRAY, HOST, Kind
from jaxlint.sites import Operation

Sources = frozenset[Source]
NONE: Sources = frozenset()
MAX_DEPTH = 3

FETCHES = {
    Operation.SCALAR, Operation.NUMPY_CONVERSION, Operation.NUMPY_FUNCTION, Operation.HOST_COPY, Operation.REDUCE,
    Operation.TRUTH, Operation.EXPLICIT_FETCH,
}  # fmt: skip
"""What gives the values that it fetched, or what it made of them, to the program."""
_READS = {
    Operation.PRINT: Use.SHOWN, Operation.FORMAT: Use.SHOWN, Operation.LOG: Use.SHOWN, Operation.METRIC: Use.SHOWN,
    Operation.PLOT: Use.SHOWN, Operation.SAVE: Use.STORED, Operation.TRUTH: Use.DECISION,
    Operation.REDUCE: Use.DECISION,
    Operation.NUMPY_FUNCTION: Use.COMPUTED, Operation.LIBRARY: Use.COMPUTED, Operation.INDEX: Use.COMPUTED,
}  # fmt: skip
_CONVERSIONS = {"bool", "complex", "float", "int"}
_ARITHMETIC = {"abs", "divmod", "max", "min", "pow", "sorted", "sum"}
_NUMERIC = ("cmath.", "math.", "numpy.", "scipy.", "statistics.")
_MOVES = {
    "array", "asanyarray", "asarray", "ascontiguousarray", "asfarray", "astype", "atleast_1d", "atleast_2d", "copy",
    "expand_dims", "flatten", "item", "ravel", "reshape", "round", "squeeze", "swapaxes", "tobytes", "tolist",
    "transpose", "view",
}  # fmt: skip
"""Functions of numbers and arrays that compute nothing: their result is the same data."""
_ABOUT = {"isscalar", "iscomplexobj", "isrealobj", "iterable", "ndim", "shape", "size"}
"""Functions that tell of an array what its values do not decide."""
_TEXTS = {
    Use.PACKED: "it is kept in `{}`",
    Use.SHOWN: "`{}` shows it",
    Use.STORED: "it is kept in `{}`",
    Use.COMPUTED: "the host computes `{}` with it",
    Use.DECISION: "`{}` decides by it",
    Use.ROUND_TRIP: "it goes back to the device in `{}`",
}


def intrinsic(operation: Operation, callee: str | None) -> Use | None:
    """The use that a read is by itself; None where it only hands the values on."""
    name = callee or ""
    if name in _CONVERSIONS or name.rpartition(".")[2] in _MOVES:
        return None
    if operation is Operation.SCALAR:
        return Use.COMPUTED if name.startswith(_NUMERIC) else None
    if operation is Operation.REDUCE and name in _ARITHMETIC:
        return Use.COMPUTED
    if name.startswith("numpy.testing."):
        return Use.DECISION
    return _READS.get(operation)


def enter(
    frame: Frame,
    sources: Iterable[Source],
    use: Use,
    node: ast.AST,
    of: ast.AST | str | None = None,
    text: str = "",
) -> None:
    """Enter a use at a node; `of` is what its text names, the node itself where it is not given."""
    ledger = frame.engine.ledger
    if use is Use.ROUND_TRIP:
        ledger.uploads.setdefault(id(node), set()).update(sources)
    news = [source for source in sources if ledger.is_news(source, use)]
    if news:
        named = of if isinstance(of, str) else frame.module.text_of(node if of is None else of, 40)
        used = Used(use, frame.module.path, node, (text or _TEXTS[use]).format(named), len(ledger.seen))
        for source in news:
            ledger.seen[source, use] = used


def sources_in(frame: Frame, value: Value, depth: int = MAX_DEPTH) -> Sources:
    """The fetches whose data a value holds, itself or in its containers (but not in the fields of instances). Each
    container is looked into once, however many ways lead to it."""
    found = value.sources
    met: set[Object] = set()
    level = [value]
    for _ in range(depth):
        objects = {obj for held in level for obj in held.objects} - met
        if not objects:
            break
        met |= objects
        level = [held for obj in objects for held in _parts(frame, obj) if held.objects or held.sources]
        found = found.union(*(held.sources for held in level))
    return found


def _parts(frame: Frame, obj: Object) -> Iterable[Value]:
    """What a container on the host holds."""
    if isinstance(obj, Moved):
        if not obj.kind & HOST:
            return ()
        obj = obj.base
    if isinstance(obj, Tuple):
        return obj.items
    if isinstance(obj, Stream):
        return (obj.element,)
    return frame.engine.heap.seen(obj) if isinstance(obj, ListOf | Mapping) else ()


def read(frame: Frame, node: ast.AST, operation: Operation, callee: str | None, sources: Sources) -> None:
    """A read of host values that some fetch gave."""
    use = intrinsic(operation, callee)
    if use is None or frame.staged:
        return
    if callee == "item assignment" and isinstance(node, ast.Subscript):
        enter(frame, sources, Use.STORED, node, node.value)
    elif use is Use.SHOWN:
        enter(frame, sources, use, node, "an f-string" if callee == "f-string" else callee, _plain(callee))
    elif use is Use.STORED:
        enter(frame, sources, use, node, callee, "`{}` stores it")
    else:
        enter(frame, sources, use, node)


def _plain(callee: str | None) -> str:
    return "{} shows it" if callee == "f-string" else ""


def uploaded(frame: Frame, node: ast.AST, values: Iterable[Value]) -> None:
    """Values that are given to the device, or to arithmetic with its arrays."""
    if frame.staged:
        return
    for value in values:
        if sources := sources_in(frame, value):
            enter(frame, sources, Use.ROUND_TRIP, node)


def decided(frame: Frame, node: ast.AST, value: Value) -> None:
    """A value that is asked for its truth."""
    if value.sources and (value.kind or value.unknown) and not frame.staged:
        enter(frame, value.sources, Use.DECISION, node)


def operated(frame: Frame, node: ast.AST, left: Value, right: Value, result: Value, *, compared: bool = False) -> Value:
    """The result of an operator, with the sources of its operands."""
    sources = left.sources | right.sources
    if not sources or frame.staged:
        return result
    if any(
        host.sources and not host.kind & ARRAY and other.kind & Kind.DEVICE
        for host, other in ((left, right), (right, left))
    ):
        enter(frame, sources, Use.ROUND_TRIP, node)
    elif is_container(left) or is_container(right):
        pass  # lists are put together
    elif compared and not (left.kind | right.kind) & Kind.NUMPY:
        enter(frame, sources, Use.DECISION, node)
    else:
        enter(frame, sources, Use.COMPUTED, node)
    return result if result.kind & ARRAY else replace(result, sources=result.sources | sources)


def stored(frame: Frame, node: ast.AST, value: Value, into: ast.AST | None = None, *, kept: bool = True) -> Value:
    """The value as it lies in `into` from now on. An item of a record is packed there rather than kept."""
    sources = sources_in(frame, value)
    if not sources or frame.staged:
        return value
    text = "it is put into `{}`" if isinstance(node, ast.Call) else ""
    enter(frame, sources, Use.STORED if kept else Use.PACKED, node, into, text)
    return _kept(value) if kept else value


def _kept(value: Value, depth: int = MAX_DEPTH) -> Value:
    objects = (
        _inside(value.objects, lambda v, _: _kept(v, depth - 1)) if depth and holds_values(value) else value.objects
    )
    if not value.sources and objects is value.objects:
        return value
    return replace(value, objects=objects, sources=frozenset(s._replace(kept=True) for s in value.sources))


def receiver_of(node: ast.AST) -> ast.AST | None:
    """What stands before the name of a method that is called."""
    return node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def note_fetch(frame: Frame, node: ast.AST, operation: Operation) -> None:
    """A site was made at which device arrays are read: what the call gives holds their data."""
    if operation in FETCHES and isinstance(node, ast.Call):
        frame.activation.fetching.add(id(node))


def fetched(frame: Frame, node: ast.Call, value: Value) -> Value:
    """The result of a call, marked if the call fetches."""
    if id(node) not in frame.activation.fetching:
        return value
    source = frozenset((Source(*frame.place(node)),))
    return marked(value, source, whole=True)  # of a new list: all that it holds was fetched


def passed_on(call: Call, operation: Operation | None, result: Value) -> Value:
    """The result of a library's function, with the sources of what it was given where it is made of that."""
    given = NONE if call.receiver is None else call.receiver.sources
    numeric = call.name.startswith(_NUMERIC)
    for a in call.arguments:
        given |= sources_in(call.frame, a.value) if numeric and a.value.objects else a.value.sources
    if not given or call.frame.staged:
        return result
    name = call.name.rpartition(".")[2]
    if numeric and name not in _ABOUT:
        if (operation is None or call.receiver is not None) and name not in _MOVES:
            enter(call.frame, given, Use.COMPUTED, call.node)
        return marked(result, given)
    if call.name.startswith("builtins.") and name in {*_CONVERSIONS, *_ARITHMETIC, "round"}:
        if name in _ARITHMETIC:
            enter(call.frame, given, Use.COMPUTED, call.node)
        return marked(result, given)
    return result


def marked(value: Value, sources: Sources, depth: int = MAX_DEPTH, *, whole: bool = False) -> Value:
    """The value with more sources: its host data, what tuples and iterators hold, and the containers that are moved,
    or (`whole`) all containers."""
    if not sources or (sources <= value.sources and not value.objects):
        return value
    objects = value.objects
    if depth and holds_values(value):
        objects = _inside(objects, lambda v, _: marked(v, sources, depth - 1))
    holders = (Moved, ListOf, Mapping) if whole else (Moved,)
    bare = value.unknown and not value.kind
    if value.kind & HOST or bare or any(isinstance(o, holders) for o in objects):
        return replace(value, objects=objects, sources=value.sources | sources)
    return value if objects is value.objects else replace(value, objects=objects)


def _inside(objects: frozenset[Object], change: Callable[[Value, int], Value]) -> frozenset[Object]:
    """The objects with the values in tuples and iterators changed; `change` is given each with its number."""
    changed: dict[Object, Object] = {}
    for obj in objects:
        if isinstance(obj, Tuple):
            items = tuple([change(v, n) for n, v in enumerate(obj.items)])
            if any(a is not b for a, b in zip(items, obj.items, strict=True)):
                changed[obj] = Tuple(items)
        elif isinstance(obj, Stream):
            element = change(obj.element, 0)
            if element is not obj.element:
                changed[obj] = replace(obj, element=element)
    return frozenset(changed.get(o, o) for o in objects) if changed else objects


def as_parameter(value: Value, run: int, name: str, depth: int = MAX_DEPTH) -> Value:
    """An argument as the function sees it: its host data comes from the parameter, whoever calls."""
    if value.const:
        return value  # a literal
    objects = value.objects
    if depth and holds_values(value):
        objects = _inside(objects, lambda v, n: as_parameter(v, run, f"{name}.{n}", depth - 1))
    if value.sources or value.kind & HOST or any(isinstance(o, Moved) for o in objects):
        return replace(value, objects=objects, sources=frozenset((Source("", run, name),)))
    return value if objects is value.objects else replace(value, objects=objects)


def bound_to(frame: Frame, run: int, name: str, value: Value, depth: int = MAX_DEPTH) -> None:
    """Enter what a parameter is given by one call."""
    if value.sources:
        frame.engine.ledger.bound.setdefault(Source("", run, name), set()).update(value.sources)
    if depth and holds_values(value):
        for obj in value.objects:
            if isinstance(obj, Tuple):
                for n, item in enumerate(obj.items):
                    bound_to(frame, run, f"{name}.{n}", item, depth - 1)
            elif isinstance(obj, Stream):
                bound_to(frame, run, f"{name}.0", obj.element, depth - 1)


def given_back(frame: Frame, run: int, bound: ReadOnly[str, Value], result: Value, depth: int = MAX_DEPTH) -> Value:
    """The result of a function with the sources of this call's arguments in the place of its parameters."""
    objects = result.objects
    if depth and holds_values(result):
        objects = _inside(objects, lambda v, _: given_back(frame, run, bound, v, depth - 1))
    if not result.sources:
        return result if objects is result.objects else replace(result, objects=objects)
    sources: set[Source] = set()
    for source in result.sources:
        value = bound.get(source.name) if source.number == run and source.name else None
        if value is None:
            sources.add(source)
        else:
            sources.update(s._replace(kept=s.kept or source.kept) for s in value.sources)
    return replace(result, objects=objects, sources=frozenset(sources))


def part(whole: Value, value: Value) -> Value:
    """An attribute of a value: a method that knows whose it is; of an array only what is an array again."""
    if not whole.sources or value.kind == Kind.PYTHON:
        return value
    objects: set[Object] = set()
    for obj in value.objects:
        if isinstance(obj, LibraryMethod):
            obj = replace(obj, receiver=marked(obj.receiver, whole.sources, whole=True))
        objects.add(obj)
    if any(isinstance(o, LibraryMethod) for o in objects):
        return replace(value, objects=frozenset(objects))
    return marked(value, whole.sources)

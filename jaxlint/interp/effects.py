"""From an operation with its operands to a site: what is read, uploaded or leaked, and how sure that is."""

import ast
from collections.abc import Iterable
from collections.abc import Sequence as Seq

from jaxlint.interp import uses
from jaxlint.interp.frames import Frame, Mode
from jaxlint.interp.guessing import may_be_instance
from jaxlint.interp.heap import base_of, is_container, is_tree, leaves
from jaxlint.interp.heat import Pace
from jaxlint.interp.states import RawSite
from jaxlint.interp.values import Instance, Mapping, Sequence, Token, Tuple, Value, of, replace
from jaxlint.kinds import ARRAY, HOST, Kind
from jaxlint.sites import Confidence, Operation

Operands = Seq[tuple[Value, ast.AST | None]]


def record(
    frame: Frame,
    node: ast.AST,
    operation: Operation,
    callee: str | None,
    operands: Operands = (),
    *,
    traced: bool = False,
    confidence: Confidence = Confidence.HIGH,
    detail: str = "",
    pace: Pace | None = None,
    if_eager: bool = False,
    whole: bool = False,
    tree: bool = True,
) -> None:
    """Note a site of this activation; the same site seen again keeps the surer reading."""
    if frame.on_cpu and not traced and (operation in UPLOADS or operation is Operation.CREATE):
        return  # what is put on the host's own processor stays on the host
    if frame.activation.joined and (traced or confidence is not Confidence.HIGH):
        # Many callers stand behind these values, and which go together is not known.
        confidence = Confidence.LOW
    if frame.guards and operation in _TRANSFERS:
        _swallowed(frame, node, operation, callee)
    key = (frame.place(node).number, operation)
    old = frame.activation.sites.get(key)
    if frame.recorded is not None:
        frame.recorded.add(key)
    if old is not None and old.confidence > confidence:
        return
    if not traced:
        uses.note_fetch(frame, node, operation)
    owner = None if frame.info is None else frame.info.place
    if operation is Operation.PLOT and frame.brief is not None:
        pace = frame.brief
    frame.activation.sites[key] = RawSite(
        module=frame.module,
        node=node,
        operation=operation,
        callee=callee,
        operands=tuple(operands),
        pace=pace or frame.pace,
        traced=traced,
        confidence=confidence,
        detail=detail,
        if_eager=if_eager,
        owner=owner,
        whole=whole,
        tree=tree,
    )


def doubt_what_some_show(frame: Frame, shown: Seq[set[tuple[int, Operation]]]) -> None:
    """Of several functions one is called: a site that not each of them shows is medium at most."""
    every = set[tuple[int, Operation]]().union(*shown)
    for key in every - every.intersection(*shown):
        site = frame.activation.sites.get(key)
        if site is not None:
            site.confidence = min(site.confidence, Confidence.MEDIUM)
    if frame.recorded is not None:
        frame.recorded |= every


UPLOADS = {
    Operation.COMPILED_CALL, Operation.CONSTANT_CALL, Operation.UPLOAD, Operation.EAGER_CALL, Operation.MIXED,
    Operation.SCALAR_OPERAND, Operation.EXPLICIT_UPLOAD,
}  # fmt: skip
_TRANSFERS = frozenset(Operation) - {o for o in Operation if o.value.startswith("guard")} - {
    Operation.MASK, Operation.LEAK, Operation.CACHE, Operation.EXPLICIT_FETCH, Operation.EXPLICIT_UPLOAD,
    Operation.SCALAR_OPERAND, Operation.CREATE,
}  # fmt: skip
_SWALLOWING_CALLS = {"numpy.array_equal", "numpy.array_equiv"}


def _swallowed(frame: Frame, node: ast.AST, operation: Operation, callee: str | None) -> None:
    """A strict guard would stop this transfer; note whoever keeps its error from the program."""
    if not any(g.level.startswith("disallow") for g in frame.guards):
        return
    if operation is Operation.LOG or callee in _SWALLOWING_CALLS:
        record(frame, node, Operation.GUARD_SWALLOWED, callee)
    for held in frame.handlers:
        key = (held.module.place(held.node).number, Operation.GUARD_SWALLOWED)
        held.frame.activation.sites.setdefault(
            key,
            RawSite(
                held.module, held.node, Operation.GUARD_SWALLOWED, None, (), held.frame.pace, False, Confidence.HIGH
            ),
        )


def sureness(value: Value, kind: Kind) -> Confidence:
    """How sure it is that the value is in `kind`: LOW after a guess, MEDIUM where another reading is possible."""
    if value.origin is not None and value.origin.guess:
        return Confidence.LOW
    if value.kind.must_be(kind) and not value.unknown and not may_be_instance(value):
        return Confidence.HIGH
    return Confidence.MEDIUM


def is_fetched(frame: Frame, tokens: frozenset[Token]) -> bool:
    """True if a host copy of the array is known to exist: of itself or of the whole that it is a part of."""
    fetched = frame.state.fetched
    return bool(tokens) and all(any(t[:n] in fetched for n in range(1, len(t) + 1)) for t in tokens)


def capture(frame: Frame, value: Value) -> None:
    """A device array from outside of the trace takes part in traced code: compilation makes it a constant."""
    if sureness(value, Kind.DEVICE) is Confidence.HIGH and len(frame.activation.captured) < 4:
        frame.activation.captured.append(value)


def forget(frame: Frame, obj: object) -> None:
    """Something is stored in an object: what was fetched of it may be another array now."""
    if frame.state.fetched:
        frame.state.fetched = {t for t in frame.state.fetched if t[0] != obj}


def mark_fetched(frame: Frame, value: Value, node: ast.AST | None = None, at: ast.AST | None = None) -> None:
    """Remember that the array has a host copy from here on, and the node that fetched it.

    Of what may be one of several arrays only the name `at` is known to hold a fetched one: it gets an identity of its
    own.
    """
    if not _is_one(value):
        name = at.id if isinstance(at, ast.Name) else ""
        held = frame.state.names.get(name)
        if held is not None and held.kind & ARRAY == value.kind & ARRAY and value.objects <= held.objects:
            token: Token = ("chosen", frame.place(node or at or frame.module.tree))
            frame.state.names[name] = replace(held, tokens=frozenset((token,)))
            frame.state.fetched.add(token)
        return
    frame.state.fetched.update(value.tokens)
    if node is not None:
        for token in value.tokens:
            frame.engine.fetched_at[token] = (frame, node)


def _is_one(value: Value) -> bool:
    """True if the value is one array for certain, or as much of one as a parameter is."""
    if len(value.tokens) != 1:
        return not value.tokens
    return value.kind.must_be(ARRAY) or next(iter(value.tokens))[0] == "parameter"


def _note_cached(frame: Frame, leaf: Value) -> None:
    """A strict guard passes a fetch of what is on the host already: the earlier fetch blinds it."""
    if not any(g.level.startswith("disallow") for g in frame.guards):
        return
    for token in leaf.tokens:
        if token[0] == "parameter" and len(token) > 1:
            frame.activation.cached_under_guard.add(str(token[1]))
        else:
            blind_fetch(frame, token)


def blind_fetch(frame: Frame, token: Token) -> None:
    """Note the fetch that made the array's host copy."""
    known = frame.engine.fetched_at.get(token)
    if known is not None:
        where, node = known
        record(where, node, Operation.GUARD_CACHED, None)


def reading(
    frame: Frame,
    node: ast.AST,
    operation: Operation,
    callee: str | None,
    operands: Operands,
    *,
    deep: bool = False,
    containers_only: bool = False,
    detail: str = "",
    computed: bool = False,
) -> bool:
    """The operation reads its operands on the host. True if it made a site.

    `computed`: what it fetches is computed from them, so that their own host copies neither serve it nor come of it.
    """
    device: list[tuple[Value, ast.AST | None]] = []
    tracers: list[tuple[Value, ast.AST | None]] = []
    fresh: list[tuple[Value, ast.AST | None]] = []
    whole = tree = True
    for value, at in operands:
        if operation in SHOWING and value.objects:
            value = _shown(frame, node, value)
        elif operation is Operation.SCALAR and callee in _NUMBERS and value.objects:
            _converted(frame, node, value, callee)
        if containers_only and value.kind:
            continue  # An array tells by itself what is asked for; that it is a list instead would be a guess.
        found = _leaves(frame, value, at) if deep else [value]
        drawn = value.sources.union(*(leaf.sources for leaf in found if leaf.sources))
        if drawn:
            uses.read(frame, node, operation, callee, drawn)
        for leaf in found:
            if leaf.kind & Kind.TRACER and (frame.within_trace or leaf.unknown or not leaf.kind & Kind.DEVICE):
                # Outside of any trace it is a leaked tracer, whose use is an error of its own.
                if not leaf.unknown and frame.traced and not frame.tolerant and _fails(frame, operation, callee):
                    tracers.append((leaf, at))
                elif frame.concrete and operation in _WITH_A_VALUE:
                    device.append((replace(leaf, kind=Kind.DEVICE), at))
            elif leaf.kind & Kind.DEVICE:
                if computed or not is_fetched(frame, leaf.tokens):
                    whole = whole and leaf is value
                    tree = tree and (leaf is value or is_tree(frame.engine.heap, value))
                    device.append((leaf, at))
                    fresh.append((leaf, at))
                else:
                    _note_cached(frame, leaf)
    if not computed:
        for leaf, at in fresh:
            mark_fetched(frame, leaf, node, at)
    if tracers:
        sure = max(sureness(v, Kind.TRACER) for v, _ in tracers)
        record(frame, node, operation, callee, tracers, traced=True, confidence=sure, detail=detail)
    elif device:
        sure = max(sureness(v, Kind.DEVICE) for v, _ in device)
        if sure is not Confidence.LOW and operation in _NEEDS_VALUES:
            frame.activation.eager = True
        pace = Pace.ONCE if frame.staged else None
        lasting = whole or all(isinstance(o, Tuple) for value, _ in operands for o in value.objects)
        if lasting and not computed and frame.loops and all(_outlasts_loops(frame, v, at) for v, at in device):
            pace = frame.loops[0]  # its host copy is made once, by whichever turn comes here first
        record(
            frame, node, operation, callee, device,
            confidence=sure, detail=detail, pace=pace, whole=whole, tree=tree,
        )  # fmt: skip
    return bool(tracers or device)


def _leaves(frame: Frame, value: Value, at: ast.AST | None) -> list[Value]:
    """The arrays and scalars inside a value. Those of a display that stands here itself are known as they went in, with
    their host copies: the heap forgets which arrays they are."""
    heap = frame.engine.heap
    if isinstance(at, ast.Dict | ast.List) and id(at) in frame.displayed:
        place = frame.place(at)
        if any(isinstance(o, Mapping | Sequence) and o.place == place for o in value.objects):
            return [leaf for part in frame.displayed[id(at)].values() for leaf in leaves(heap, part)]
    return leaves(heap, value)


def _outlasts_loops(frame: Frame, leaf: Value, at: ast.AST | None) -> bool:
    """True of one array under a name that no loop around this place binds."""
    return isinstance(at, ast.Name) and at.id not in frame.loop_bound and leaf.known(Kind.DEVICE) and _is_one(leaf)


_WITH_A_VALUE = {Operation.TRUTH, Operation.REDUCE, Operation.PRINT, Operation.FORMAT, Operation.LOG}
"""What reads the value that a tracer of an eager gradient holds."""
SHOWING = {Operation.PRINT, Operation.FORMAT, Operation.LOG}


_NUMBERS = {"complex", "float", "int"}


def _converted(frame: Frame, node: ast.AST, value: Value, callee: str) -> None:
    """``float(x)`` of an instance runs its own __float__."""
    for obj in value.objects:
        if isinstance(base_of(obj), Instance):
            method = frame.engine.attribute(frame, node, of(obj), f"__{callee}__")
            if method.objects:
                frame.engine.call(frame, node, method, ())


def _shown(frame: Frame, node: ast.AST, value: Value) -> Value:
    """What showing a value reads: an object's own __str__ or __repr__ runs, and a plain object shows no field."""
    engine = frame.engine
    kept = set(value.objects)
    for obj in value.objects:
        below = base_of(obj)
        if not isinstance(below, Instance):
            continue
        methods = [engine.attribute(frame, node, of(obj), name) for name in ("__str__", "__repr__")]
        own = next((m for m in methods if m.objects), None)
        if own is not None:
            engine.call(frame, node, own, ())
        if own is not None or below.cls not in engine.heap.records:
            kept.discard(obj)
    return value if len(kept) == len(value.objects) else replace(value, objects=frozenset(kept))


def _fails(frame: Frame, operation: Operation, callee: str | None) -> bool:
    """True if the operation fails on a tracer. Those of an eager gradient hold a value: only float() and NumPy fail."""
    if not frame.concrete:
        return True
    if operation is Operation.SCALAR:
        return callee in {"float", "complex"}
    return operation in {Operation.NUMPY_CONVERSION, Operation.NUMPY_FUNCTION}


def _may_be_empty(frame: Frame, value: Value) -> bool:
    """True if one of several containers that a value may be holds nothing."""
    return len(value.objects) > 1 and any(not leaves(frame.engine.heap, of(o)) for o in value.objects)


def is_elsewhere(frame: Frame, value: Value) -> bool:
    """True if of what a value may be one lies on the device as a whole: whether the setting that moves it there is set
    is not known."""
    if not value.objects:
        return False
    parts = [leaves(frame.engine.heap, of(obj)) for obj in value.objects] if len(value.objects) > 1 else []
    return bool(value.kind & Kind.DEVICE) or any(part and all(v.known(Kind.DEVICE) for v in part) for part in parts)


def host_data(frame: Frame, value: Value) -> Kind:
    """What an upload of the value would carry: NUMPY for host arrays, PYTHON for lists of numbers, nothing else."""
    if value.kind.must_be(Kind.NUMPY):
        return Kind.NUMPY
    if value.kind & ARRAY:
        return Kind(0)
    if not is_container(value):
        return Kind.NUMPY if value.kind & Kind.NUMPY else Kind(0)
    kind = Kind(0)
    for leaf in leaves(frame.engine.heap, value):
        if leaf.const and isinstance(leaf.const[0], str | bytes):
            continue
        kind |= leaf.kind
    if kind & ARRAY:
        return kind & Kind.NUMPY
    return kind & HOST


_NEEDS_VALUES = {
    Operation.SCALAR, Operation.TRUTH, Operation.REDUCE, Operation.NUMPY_CONVERSION, Operation.NUMPY_FUNCTION,
    Operation.HOST_COPY, Operation.INDEX, Operation.SAVE, Operation.METRIC, Operation.PLOT,
}  # fmt: skip
"""Operations that fail on tracers: code that does them to a device array runs eagerly."""


def upload(
    frame: Frame,
    node: ast.AST,
    operation: Operation,
    callee: str | None,
    operands: Operands,
    values: Iterable[Value],
    given: Seq[Value] = (),
    beside: Value | None = None,
) -> None:
    """The operation uploads its operands, whose host data `values` are; `given` are the arguments that hold it.

    `beside` is the array that makes it an upload: it has to be as sure to be on the device. What takes two likely
    readings at once is no more than a guess.

    Code that nobody in the project calls may run under jit, where host data is a constant: such a site counts only if
    something shows that the code runs eagerly.
    """
    values = tuple(values)
    uses.uploaded(frame, node, values)
    place = Kind.NUMPY if operation is Operation.MIXED else HOST
    sure = max((sureness(v, place) for v in values), default=Confidence.LOW)
    if any(is_elsewhere(frame, v) for v in given):
        sure = Confidence.LOW
    elif sure is Confidence.HIGH and any(_may_be_empty(frame, v) for v in given):
        sure = Confidence.MEDIUM
    if beside is not None:
        other = sureness(beside, ARRAY)
        sure = Confidence.LOW if sure is other is Confidence.MEDIUM else min(sure, other)
    whole = all(value.kind.must_be(Kind.NUMPY) for value in given or values)
    record(frame, node, operation, callee, operands, confidence=sure, if_eager=frame.mode is Mode.OPEN, whole=whole)

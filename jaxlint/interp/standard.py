"""Builtins and the standard library where they take functions or hold values: what no model's words can say."""

from dataclasses import replace

import libcst as cst

from jaxlint.interp import effects, guards
from jaxlint.interp.assignment import leak, refine_item, set_attribute
from jaxlint.interp.calls import call_unknown_arguments, call_with, element_of_mapping
from jaxlint.interp.classes import mro
from jaxlint.interp.engine import Argument, Call, Frame, Mode, handler
from jaxlint.interp.expressions import add_item, add_mapping, binary, merge_mapping
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, is_container, leaves, read, values_of
from jaxlint.interp.heat import Pace
from jaxlint.interp.iteration import iterated
from jaxlint.interp.library import fresh
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    PYTHON,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Library,
    LibraryObject,
    Mapping,
    Method,
    Moved,
    Object,
    Partial,
    Property,
    Sequence,
    Stream,
    Super,
    Tuple,
    Value,
    constant,
    join,
    join_all,
    of,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation


def _element(call: Call, n: int) -> Value:
    found = call.find(n)
    if found is None:
        return UNKNOWN
    token = (call.frame.place(found.node or call.node), call.frame.activation.number, n)
    call.frame.state.fetched.discard(token)
    return iterated(call.frame, call.node, found.value, token)


def _looped(call: Call) -> Pace:
    return Pace.ONCE if call.frame.staged else Pace.LOOPED


@handler("zip")
def _zip(call: Call) -> Value:
    parts = [_element(call, n) for n in range(len(call.positional))]
    if len(call.arguments) == 1 and call.arguments[0].star == "*":
        return _transposed(call, call.arguments[0].value)
    if any(a.star for a in call.arguments):
        return of(Stream(of(Stream(join_all(element_of(call.engine.heap, p) for p in parts)))))
    return of(Stream(of(Tuple(tuple(parts)))))


def _transposed(call: Call, rows: Value) -> Value:
    """zip(*rows): the columns."""
    row = iterated(call.frame, call.node, rows, (call.frame.place(call.node), call.frame.activation.number))
    items = call.engine.unpack_star(row)
    if items is not None:
        return of(Tuple(tuple(of(Stream(replace(v, tokens=frozenset()))) for v in items)))
    return of(Stream(of(Stream(element_of(call.engine.heap, row)))))


@handler("itemgetter")
def _itemgetter(call: Call) -> Value:
    """operator.itemgetter, attrgetter, methodcaller: a function of one argument."""
    return of(LibraryObject(call.name, tuple(a.value for a in call.positional)))


@handler("itemgetter_call")
def _itemgetter_call(call: Call) -> Value:
    out: list[Value] = []
    target = call.argument(0) or UNKNOWN
    for obj in call.receiver.objects if call.receiver is not None else ():
        for part in obj.parts if isinstance(obj, LibraryObject) else ():
            if call.name.startswith("operator.itemgetter"):
                out.append(call.engine.subscript(call.frame, call.node, target, part, None))
            elif part.const and isinstance(part.const[0], str):
                out.append(call.engine.attribute(call.frame, call.node, target, part.const[0]))
    return out[0] if len(out) == 1 else of(Tuple(tuple(out)))


@handler("sort")
def _sort(call: Call) -> Value:
    """list.sort, list.index, list.count, list.remove: the elements are compared."""
    element = element_of(call.engine.heap, call.receiver or UNKNOWN)
    key = call.argument(1_000, "key")
    compared = element if key is None or key.none_only else call_with(call.frame, call.node, key, [element])
    _compare_items(call, compared)
    return PYTHON


@handler("stream_next")
def _stream_next(call: Call) -> Value:
    """generator.send, __next__: what the generator yields."""
    return element_of(call.engine.heap, call.receiver or UNKNOWN)


@handler("enumerate")
def _enumerate(call: Call) -> Value:
    return of(Stream(of(Tuple((PYTHON, _element(call, 0))))))


@handler("iterate")
def _iterate(call: Call) -> Value:
    """iter, reversed, itertools.chain and others that hand on the items of their arguments."""
    values = [_element(call, n) for n in range(len(call.positional))]
    return of(Stream(join_all(values)))


@handler("map")
def _map(call: Call) -> Value:
    parts = [_element(call, n) for n in range(1, len(call.positional))]
    with call.frame.at_pace(_looped(call)):
        result = call.engine.call(
            call.frame, call.node, call.argument(0) or UNKNOWN, [Argument(p, call.node) for p in parts]
        )
    return of(Stream(replace(result, const=())))


@handler("filter")
def _filter(call: Call) -> Value:
    element = _element(call, 1)
    function = call.argument(0) or UNKNOWN
    with call.frame.at_pace(_looped(call)):
        test = element if function.none_only else call_with(call.frame, call.node, function, [element])
        call.engine.truth(call.frame, call.node, test)
    return of(Stream(element))


@handler("reduce")
def _reduce(call: Call) -> Value:
    element = _element(call, 1)
    start = call.argument(2)
    total = element if start is None else start
    with call.frame.at_pace(_looped(call)):
        for _ in range(2):
            total = join(total, call_with(call.frame, call.node, call.argument(0) or UNKNOWN, [total, element]))
    return replace(total, const=())


@handler("next")
def _next(call: Call) -> Value:
    first = call.argument(0) or UNKNOWN
    value = NOTHING
    for obj in first.objects:
        if isinstance(base_of(obj), Instance):
            method = call.engine.attribute(call.frame, call.node, of(obj), "__next__")
            value = join(value, call.engine.call(call.frame, call.node, method, ()))
    rest = replace(first, objects=frozenset(o for o in first.objects if not isinstance(base_of(o), Instance)))
    value = join(value, element_of(call.engine.heap, rest))
    default = call.argument(1)
    return value if default is None else join(value, default)


@handler("sorted")
def _sorted(call: Call) -> Value:
    element = _element(call, 0)
    key = call.argument(1_000, "key")
    compared = element if key is None or key.none_only else call_with(call.frame, call.node, key, [element])
    _compare_items(call, compared)
    return _new_list(call, element)


@handler("extremum")
def _extremum(call: Call) -> Value:
    """min and max: of one iterable, or of the arguments."""
    key = call.argument(1_000, "key")
    many = [a for a in call.arguments if a.keyword is None]
    if len(many) == 1 and not many[0].star:
        element = _element(call, 0)
    else:
        element = join_all(element_of(call.engine.heap, a.value) if a.star else a.value for a in many)
    compared = element if key is None or key.none_only else call_with(call.frame, call.node, key, [element])
    _compare_items(call, compared)
    default = call.argument(1_000, "default")
    out = replace(element, const=())
    return out if default is None else join(out, default)


def _compare_items(call: Call, element: Value) -> None:
    operands = [(v, call.node) for v in _direct(call.frame, element)]
    effects.reading(call.frame, call.node, Operation.REDUCE, call.name.removeprefix("builtins."), operands)


def _direct(frame: Frame, element: Value) -> list[Value]:
    """The value itself and, of a tuple, its items: tuples are compared item by item."""
    items = frame.engine.unpack_star(element)
    return [element] if items is None else list(items)


@handler("any_all")
def _any_all(call: Call) -> Value:
    effects.reading(
        call.frame, call.node, Operation.REDUCE, call.name.removeprefix("builtins."), [(_element(call, 0), call.node)]
    )
    return PYTHON


@handler("sum")
def _sum(call: Call) -> Value:
    element = _element(call, 0)
    start = call.argument(1, "start")
    if element.kind & ARRAY:
        kind = Kind.TRACER if element.kind & Kind.TRACER else Kind.DEVICE
        return fresh(call, kind, "the sum of device arrays is a device array")
    if element.unknown and not element.kind:
        return UNKNOWN
    return Value(element.kind or Kind.PYTHON) if start is None else replace(join(element, start), const=())


def _new_list(call: Call, element: Value, name: str = "list") -> Value:
    made = Sequence(call.frame.place(call.node), call.frame.scope.number, name)
    call.engine.heap.write(made, ANY, replace(element, const=()))
    return of(made)


@handler("list", "set", "deque")
def _list(call: Call) -> Value:
    first = call.argument(0)
    name = "list" if call.name.endswith(("list", "deque")) else "set"
    made = Sequence(call.frame.place(call.node), call.frame.scope.number, name)
    if first is None:
        return of(made)
    items = call.engine.unpack_star(first)
    if items is not None:
        for n, item in enumerate(items):
            call.engine.heap.write(made, str(n), item)
        return of(made)
    return _new_list(call, _element(call, 0), name)


@handler("tuple")
def _tuple(call: Call) -> Value:
    first = call.argument(0)
    if first is None:
        return of(Tuple(()))
    items = call.engine.unpack_star(first)
    return of(Tuple(items)) if items is not None else of(Stream(_element(call, 0)))


@handler("dict")
def _dict(call: Call) -> Value:
    heap = call.engine.heap
    fields: dict[str, Value] = {}
    for a in call.arguments:
        if a.keyword is not None:
            fields[a.keyword] = a.value
        elif any(isinstance(base_of(o), Mapping | Instance) for o in a.value.objects) or a.star == "**":
            add_mapping(call.frame, fields, a.value)
        else:
            pair = element_of(heap, a.value)
            items = call.engine.unpack_star(pair)
            value = items[1] if items is not None and len(items) == 2 else element_of(heap, pair)
            add_item(fields, PYTHON, value)
    made = Mapping(call.frame.place(call.node), call.frame.scope.number)
    for name, value in fields.items():
        heap.write(made, name, value)
    return of(made)


@handler("defaultdict")
def _defaultdict(call: Call) -> Value:
    made = Mapping(call.frame.place(call.node), call.frame.scope.number)
    factory = call.argument(0)
    if factory is not None and not factory.none_only:
        call.engine.heap.write(made, KEYS, PYTHON)
        call.engine.heap.write(made, ANY, call.engine.call(call.frame, call.node, factory, ()))
    return of(made)


@handler("namedtuple")
def _namedtuple(call: Call) -> Value:
    from jaxlint.interp.transforms import literal

    names = literal(call.frame, call.argument(1, "field_names") or UNKNOWN)
    if isinstance(names, str):
        names = tuple(names.replace(",", " ").split())
    if not isinstance(names, tuple):
        return UNKNOWN
    return call.engine.make_record(call.frame, call.node, tuple(str(n) for n in names))


@handler("len")
def _len(call: Call) -> Value:
    for obj in (call.argument(0) or UNKNOWN).objects:
        if isinstance(base_of(obj), Instance):
            method = call.engine.attribute(call.frame, call.node, of(obj), "__len__")
            if method.objects:
                call.engine.call(call.frame, call.node, method, ())
    return PYTHON


@handler("globals")
def _globals(call: Call) -> Value:
    """globals(): the classes and functions of the module, for dispatch by name."""
    frame = call.frame
    made = Mapping(frame.place(frame.module.tree), frame.scope.number)
    scope = frame.scope
    while scope.parent is not None:
        scope = frame.engine.scopes[scope.parent]
    for name, value in list(scope.names.items()):
        if any(isinstance(o, Class | Function) for o in value.objects):
            call.engine.heap.write(made, name, value)
    return of(made)


@handler("run_main")
def _run_main(call: Call) -> Value:
    """A runner that calls the program's main function, or decorates it."""
    function = call.argument(0, "main", "component", "func") or UNKNOWN
    before, call.frame.mode = call.frame.mode, Mode.EAGER
    for obj in function.objects:
        if isinstance(obj, Function):
            info = call.engine.by_place.get(obj.place)
            if info is not None:
                call_unknown_arguments(call.frame, call.node, info, obj, Mode.EAGER)
    call.frame.mode = before
    if not any(isinstance(o, Function) for o in function.objects):
        return of(LibraryObject("functools.decorator"))
    return function


@handler("isinstance")
def _isinstance(call: Call) -> Value:
    return PYTHON


@handler("getattr")
def _getattr(call: Call) -> Value:
    name = call.argument(1)
    base = call.argument(0) or UNKNOWN
    if name is None or not name.const or not isinstance(name.const[0], str) or not name.const[0]:
        return UNKNOWN
    value = call.engine.attribute(call.frame, call.node, base, name.const[0])
    default = call.argument(2)
    return value if default is None else join(value, default)


@handler("setattr")
def _setattr(call: Call) -> Value:
    name = call.argument(1)
    if name is not None and name.const and isinstance(name.const[0], str):
        set_attribute(call.frame, call.node, call.argument(0) or UNKNOWN, name.const[0], call.argument(2) or UNKNOWN)
    return NONE


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
    return call.receiver or UNKNOWN


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
    return of(Partial(function, leading, keywords))


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
    return call.argument(0) or UNKNOWN


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
    function = call.argument(0) or UNKNOWN
    stream = call.engine.call(call.frame, call.node, function, list(call.arguments[1:]))
    return of(LibraryObject("contextlib.manager", (stream,)))


@handler("enter_context")
def _enter_context(call: Call) -> Value:
    value = call.argument(0) or UNKNOWN
    guards.entered(call.frame, call.node, value)
    for obj in value.objects:
        if isinstance(obj, LibraryObject) and obj.name == "contextlib.manager":
            return element_of(call.engine.heap, obj.parts[0])
    return value


@handler("copy")
def _copy(call: Call) -> Value:
    value = call.argument(0) or call.receiver or UNKNOWN
    return replace(value, tokens=frozenset())


@handler("replace")
def _replace(call: Call) -> Value:
    """dataclasses.replace, x._replace, x.replace: the same kind of object with some fields given anew."""
    base = call.receiver if call.receiver is not None else call.argument(0) or UNKNOWN
    out = replace(base, const=(), tokens=frozenset())
    objects: set[Object] = set()
    for obj in base.objects:
        if isinstance(base_of(obj), Instance):
            below = base_of(obj)
            assert isinstance(below, Instance)
            made = Instance(below.cls, call.frame.place(call.node), call.frame.scope.number)
            given = {a.keyword for a in call.arguments if a.keyword}
            for name in field_names(call.engine.heap, obj):
                if name not in given and (old := read(call.engine.heap, obj, name)) is not None:
                    call.engine.heap.write(made, name, old)
            for a in call.arguments:
                if a.keyword is not None:
                    call.engine.heap.write(made, a.keyword, a.value)
            objects.add(made)
        else:
            objects.add(obj)
    return replace(out, objects=frozenset(objects))


# Methods of lists, dicts and sets.


def _receivers(call: Call) -> list[Object]:
    return [] if call.receiver is None else list(call.receiver.objects)


@handler("append")
def _append(call: Call) -> Value:
    value = call.argument(1 if call.name.endswith("insert") else 0) or UNKNOWN
    for obj in _receivers(call):
        call.engine.heap.write(obj, ANY, replace(value, const=()))
        leak(call.frame, call.node, obj, value)
    return NONE


@handler("extend")
def _extend(call: Call) -> Value:
    element = _element(call, 0)
    for obj in _receivers(call):
        call.engine.heap.write(obj, ANY, replace(element, const=()))
        leak(call.frame, call.node, obj, element)
    return NONE


@handler("pop")
def _pop(call: Call) -> Value:
    receiver = call.receiver or UNKNOWN
    key, default = call.argument(0), call.argument(1)
    if any(isinstance(base_of(o), Mapping) for o in receiver.objects) or receiver.kind:
        if key is not None:
            value = call.engine.subscript(call.frame, call.node, receiver, key, None)
            return value if default is None else join(value, default)
    return element_of(call.engine.heap, receiver)


@handler("get")
def _get(call: Call) -> Value:
    receiver, key = call.receiver or UNKNOWN, call.argument(0)
    default = call.argument(1, "default")
    value = UNKNOWN if key is None else call.engine.subscript(call.frame, call.node, receiver, key, None)
    if default is not None:
        return join(value, default)
    return value if value.kind or value.objects else join(value, NONE)


@handler("setdefault")
def _setdefault(call: Call) -> Value:
    from jaxlint.interp.expressions import store_item

    key, value = call.argument(0) or UNKNOWN, call.argument(1) or NONE
    for obj in _receivers(call):
        store_item(call.frame, obj, key, value)
    return call.engine.subscript(call.frame, call.node, call.receiver or UNKNOWN, key, None)


@handler("items")
def _items(call: Call) -> Value:
    return of(Stream(of(Tuple((PYTHON, _values(call))))))


@handler("values")
def _values_view(call: Call) -> Value:
    return of(Stream(_values(call)))


def _values(call: Call) -> Value:
    receiver = call.receiver or UNKNOWN
    out = NOTHING
    for obj in receiver.objects:
        out = join(out, values_of(call.engine.heap, obj) if isinstance(base_of(obj), Mapping) else UNKNOWN)
    if receiver.kind:
        token = (call.frame.place(call.node), call.frame.activation.number)
        call.frame.state.fetched.discard(token)
        tokens = frozenset((token,)) if receiver.kind & ARRAY else frozenset()
        out = join(out, Value(receiver.kind, unknown=receiver.unknown, origin=receiver.origin, tokens=tokens))
    elif receiver.unknown:
        out = join(out, UNKNOWN)
    return replace(out, const=())


@handler("mapping_init")
def _mapping_init(call: Call) -> Value:
    """dict.__init__ of a class that derives from dict or its like: the instance holds the items."""
    for obj in _receivers(call):
        for a in call.arguments:
            if a.keyword is not None:
                call.engine.heap.write(obj, a.keyword, a.value)
            elif a.star != "*":
                merge_mapping(call.frame, obj, a.value)
            else:
                merge_mapping(call.frame, obj, element_of(call.engine.heap, a.value))
    return NONE


@handler("update")
def _update(call: Call) -> Value:
    for obj in _receivers(call):
        for a in call.arguments:
            if a.keyword is not None:
                call.engine.heap.write(obj, a.keyword, a.value)
            else:
                merge_mapping(call.frame, obj, a.value)
            leak(call.frame, call.node, obj, a.value)
    if isinstance(call.node, cst.Call) and isinstance(call.node.func, cst.Attribute):
        fields: dict[str, Value] = {}
        for a in call.arguments:
            if a.keyword is not None:
                fields[a.keyword] = a.value
            else:
                add_mapping(call.frame, fields, a.value)
        for name, value in fields.items():
            if not name.startswith("*"):
                refine_item(call.frame, call.node.func.value, constant(name), None, value)
    return NONE


@handler("put")
def _put(call: Call) -> Value:
    """queue.put and its like: the object holds what it was given."""
    for obj in _receivers(call):
        call.engine.heap.write(obj, ANY, call.argument(0) or UNKNOWN)
    return NONE


@handler("take")
def _take(call: Call) -> Value:
    out = NOTHING
    for obj in _receivers(call):
        held = call.engine.heap.field(obj, ANY)
        out = join(out, held if held is not None else UNKNOWN)
    return out


@handler("container")
def _container(call: Call) -> Value:
    """An object that holds values and is told apart by where it was made: queues."""
    return of(LibraryObject(call.name, (), call.frame.place(call.node)))


# Threads and tasks.


@handler("thread")
def _thread(call: Call) -> Value:
    target, args = call.argument(1, "target"), call.argument(3, "args")
    return of(
        LibraryObject("threading.Thread", (target or UNKNOWN, args or of(Tuple(()))), call.frame.place(call.node))
    )


@handler("thread_start")
def _thread_start(call: Call) -> Value:
    guards.thread_started(call.frame, call.node)
    for obj in _receivers(call):
        if isinstance(obj, LibraryObject) and len(obj.parts) == 2:
            items = call.engine.unpack_star(obj.parts[1])
            arguments = [Argument(v) for v in items] if items is not None else [Argument(obj.parts[1], star="*")]
            _unguarded(call, obj.parts[0], arguments)
    return NONE


@handler("submit")
def _submit(call: Call) -> Value:
    guards.thread_started(call.frame, call.node)
    result = _unguarded(call, call.argument(0) or UNKNOWN, list(call.arguments[1:]))
    return of(LibraryObject("concurrent.futures.Future", (result,)))


@handler("pool_map")
def _pool_map(call: Call) -> Value:
    guards.thread_started(call.frame, call.node)
    parts = [Argument(_element(call, n)) for n in range(1, len(call.positional))]
    with call.frame.at_pace(_looped(call)):
        return of(Stream(_unguarded(call, call.argument(0) or UNKNOWN, parts)))


@handler("future_result")
def _future_result(call: Call) -> Value:
    return join_all(o.parts[0] for o in _receivers(call) if isinstance(o, LibraryObject) and o.parts)


def _unguarded(call: Call, function: Value, arguments: list[Argument]) -> Value:
    """Call in another thread, where this thread's guards do not reach."""
    held, call.frame.guards = call.frame.guards, ()
    try:
        return call.engine.call(call.frame, call.node, function, arguments)
    finally:
        call.frame.guards = held


@handler("run_coroutine")
def _run_coroutine(call: Call) -> Value:
    return call.argument(0) or UNKNOWN


@handler("gather")
def _gather(call: Call) -> Value:
    return of(Tuple(tuple(a.value for a in call.positional if not a.star)))


@handler("operator")
def _operator(call: Call) -> Value:
    """operator.add and its like, as the functions of reduce and map."""
    left, right = call.argument(0) or UNKNOWN, call.argument(1) or UNKNOWN
    sign = {"add": cst.Add(), "mul": cst.Multiply(), "sub": cst.Subtract(), "matmul": cst.MatrixMultiply()}
    operator = sign.get(call.name.rpartition(".")[2], cst.Add())
    return binary(call.frame, call.node, left, right, operator, (call.node, call.node))


@handler("dataclass")
def _dataclass(call: Call) -> Value:
    first = call.argument(0)
    if first is not None and any(isinstance(o, Class) for o in first.objects):
        return first
    return of(LibraryObject("functools.decorator"))


@handler("asdict")
def _asdict(call: Call) -> Value:
    value = call.argument(0) or call.receiver or UNKNOWN
    made = Mapping(call.frame.place(call.node), call.frame.scope.number)
    for obj in value.objects:
        for name in field_names(call.engine.heap, obj):
            held = read(call.engine.heap, obj, name)
            if held is not None:
                call.engine.heap.write(made, name, held)
    if value.unknown or value.kind:
        call.engine.heap.write(made, ANY, Value(value.kind, unknown=value.unknown))
    return of(made)


@handler("field")
def _field(call: Call) -> Value:
    """dataclasses.field, flax.struct.field: the default of a field."""
    factory = call.argument(1_000, "default_factory")
    if factory is not None and not factory.none_only:
        return call.engine.call(call.frame, call.node, factory, ())
    default = call.argument(1_000, "default", "value")
    return UNKNOWN if default is None else default


__all__ = ["Moved", "constant", "element_of_mapping", "is_container", "leaves", "mro"]

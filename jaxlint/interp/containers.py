"""Methods of lists, dicts, sets, queues, and objects that are copied with some parts given anew."""

import ast

from jaxlint.interp import uses
from jaxlint.interp.assignment import leak, refine_item
from jaxlint.interp.calls import call_with
from jaxlint.interp.classes import find_in_class, mro
from jaxlint.interp.definitions import assigned_attributes, auxiliary_names, child_names
from jaxlint.interp.displays import add_item, add_mapping, copied, merge_mapping, store_item
from jaxlint.interp.engine import Engine, handler
from jaxlint.interp.frames import Call
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, read, values_of
from jaxlint.interp.joining import join
from jaxlint.interp.standard import compare_items, known_elements, list_of, new_list, nth_element
from jaxlint.interp.transforms import literal
from jaxlint.interp.values import (
    NONE,
    NOTHING,
    PYTHON,
    UNKNOWN,
    Class,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Object,
    Stream,
    Tuple,
    Value,
    constant,
    of,
    replace,
)
from jaxlint.kinds import ARRAY


@handler("sort")
def _sort(call: Call) -> Value:
    """list.sort, list.index, list.count, list.remove: the elements are compared, but nothing equals None."""
    wanted = call.argument(0)
    if (wanted or UNKNOWN).none_only:
        return PYTHON
    element = element_of(call.engine.heap, call.receiver or UNKNOWN)
    key = call.argument(1_000, "key")
    compared = element if key is None or key.none_only else call_with(call.frame, call.node, key, [element])
    compare_items(call, compared)
    if wanted is not None and wanted.known(ARRAY):
        # What may be anything is rather a number: arrays are not looked for in lists.
        compare_items(call, wanted)
    return PYTHON


@handler("stream_next")
def _stream_next(call: Call) -> Value:
    """generator.send, __next__: what the generator yields."""
    return element_of(call.engine.heap, call.receiver or UNKNOWN)


@handler("list", "set", "deque")
def _list(call: Call) -> Value:
    first = call.argument(0)
    name = next((name for name in ("list", "deque") if call.name.endswith(name)), "set")
    if first is None:
        return list_of(call, (), NOTHING, name)
    items = known_elements(call, first)
    return new_list(call, nth_element(call, 0), name) if items is None else list_of(call, items, first, name)


@handler("tuple")
def _tuple(call: Call) -> Value:
    first = call.argument(0)
    if first is None:
        return of(Tuple(()))
    items = call.engine.unpack_star(first) or _keys(call, first) or known_elements(call, first)
    return of(Tuple(items)) if items is not None else of(Stream(nth_element(call, 0)))


def _keys(call: Call, value: Value) -> tuple[Value, ...] | None:
    """The keys of a dict that is displayed with words as keys."""
    if len(value.objects) != 1 or value.kind or value.unknown:
        return None
    (obj,) = value.objects
    keys = field_names(call.engine.heap, obj) if isinstance(base_of(obj), Mapping) else ["*"]
    return tuple(map(constant, keys)) if keys and all(key.isidentifier() for key in keys) else None


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
    for a in call.arguments if all(a.keyword is None for a in call.arguments) else ():
        heap.note_copy(made, a.value)
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
    names = literal(call.frame, call.argument(1, "field_names") or UNKNOWN)
    if isinstance(names, str):
        names = tuple(names.replace(",", " ").split())
    if not isinstance(names, tuple):
        return UNKNOWN
    return call.engine.make_record(call.frame, call.node, tuple(str(n) for n in names))


@handler("copy")
def _copy(call: Call) -> Value:
    value = call.argument(0) or call.receiver or UNKNOWN
    objects = frozenset(copied(call.frame, call.node, o) for o in value.objects)
    return replace(value, objects=objects, tokens=frozenset())


@handler("replace")
def _replace(call: Call) -> Value:
    """dataclasses.replace, x._replace, x.replace: the same kind of object with some fields given anew."""
    base = call.receiver if call.receiver is not None else call.argument(0) or UNKNOWN
    out = replace(base, const=(), tokens=frozenset())
    objects: set[Object] = set()
    for obj in base.objects:
        below = base_of(obj)
        if isinstance(below, Instance | LibraryObject):
            place = call.frame.place(call.node)
            made: Object = (
                Instance(below.cls, place, call.frame.scope.number)
                if isinstance(below, Instance)
                else LibraryObject(below.name, below.parts, place)
            )
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


def _stored(call: Call, value: Value) -> Value:
    """A value that is put into the receiver."""
    return uses.stored(call.frame, call.node, value, uses.receiver_of(call.node))


def receiver_objects(call: Call) -> list[Object]:
    return [] if call.receiver is None else list(call.receiver.objects)


@handler("append")
def _append(call: Call) -> Value:
    value = _stored(call, call.argument(1 if call.name.endswith("insert") else 0) or UNKNOWN)
    for obj in receiver_objects(call):
        call.engine.heap.write(obj, ANY, replace(value, const=()))
        leak(call.frame, call.node, obj, value)
    return NONE


@handler("extend")
def _extend(call: Call) -> Value:
    element = _stored(call, nth_element(call, 0))
    for obj in receiver_objects(call):
        call.engine.heap.write(obj, ANY, replace(element, const=()))
        leak(call.frame, call.node, obj, element)
    return NONE


@handler("pop")
def _pop(call: Call) -> Value:
    receiver = call.receiver or UNKNOWN
    key, default = call.argument(0), call.argument(1)
    if (any(isinstance(base_of(o), Mapping) for o in receiver.objects) or receiver.kind) and key is not None:
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
    key, value = call.argument(0) or UNKNOWN, call.argument(1) or NONE
    for obj in receiver_objects(call):
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
    return uses.marked(replace(out, const=()), receiver.sources)


@handler("mapping_init")
def _mapping_init(call: Call) -> Value:
    """dict.__init__ of a class that derives from dict or its like: the instance holds the items."""
    for obj in receiver_objects(call):
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
    for obj in receiver_objects(call):
        for a in call.arguments:
            if a.keyword is not None:
                call.engine.heap.write(obj, a.keyword, a.value)
            else:
                merge_mapping(call.frame, obj, a.value)
            leak(call.frame, call.node, obj, a.value)
    if isinstance(call.node, ast.Call) and isinstance(call.node.func, ast.Attribute):
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
    for obj in receiver_objects(call):
        call.engine.heap.write(obj, ANY, _stored(call, call.argument(0) or UNKNOWN))
    return NONE


@handler("take")
def _take(call: Call) -> Value:
    out = NOTHING
    for obj in receiver_objects(call):
        held = call.engine.heap.field(obj, ANY)
        out = join(out, held if held is not None else UNKNOWN)
    return out


@handler("container")
def _container(call: Call) -> Value:
    """An object that holds values and is told apart by where it was made: queues."""
    return of(LibraryObject(call.name, (), call.frame.place(call.node)))


@handler("dataclass")
def _dataclass(call: Call) -> Value:
    first = call.argument(0)
    if first is not None and any(isinstance(o, Class) for o in first.objects):
        return first
    return of(LibraryObject("functools.decorator"))


@handler("register_tree")
def _register_tree(call: Call) -> Value:
    """A class whose instances JAX takes apart: what its flattening gives as children are leaves, numbers included."""
    classes = call.given(0, "cls", "nodetype")
    for obj in classes.objects:
        if isinstance(obj, Class):
            call.engine.heap.declare(obj, _kept_out(call, obj))
    return classes


def _kept_out(call: Call, cls: Class) -> frozenset[str] | None:
    """The fields of a registered class that are no children of its tree; None if its flattening does not name those."""
    static = literal(call.frame, call.argument(2, "meta_fields") or UNKNOWN)
    if isinstance(static, tuple):
        return frozenset(str(name) for name in static)
    flatten = call.argument(1, "flatten_func") or find_in_class(call.engine, cls, "tree_flatten") or UNKNOWN
    for obj in flatten.objects:
        info = call.engine.by_place.get(obj.place) if isinstance(obj, Function) else None
        if info is not None:
            children, rest = child_names(info.node), auxiliary_names(info.node)
            return rest | _no_children(call.engine, cls, children) if children or rest else None
    return frozenset()


def _no_children(engine: Engine, cls: Class, children: frozenset[str]) -> frozenset[str]:
    """What a class keeps besides the children that it names."""
    if not children:
        return frozenset()
    nodes = [engine.classes[c].node for c in mro(engine, cls) if isinstance(c, Class) and c in engine.classes]
    kept = [assigned_attributes(node) for node in nodes if isinstance(node, ast.ClassDef)]
    return frozenset[str]().union(*kept) - children


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

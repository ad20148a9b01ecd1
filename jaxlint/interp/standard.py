"""Builtins and the standard library where they take functions or hold values: what no model's words can say."""

import ast
from collections.abc import Iterable

from jaxlint.interp import effects, uses
from jaxlint.interp.assignment import set_attribute
from jaxlint.interp.calls import call_with
from jaxlint.interp.engine import handler
from jaxlint.interp.entering import call_unknown_arguments
from jaxlint.interp.frames import Argument, Call, Frame, Mode
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, known_items, read
from jaxlint.interp.heat import Pace
from jaxlint.interp.iteration import iterated, loop_pace
from jaxlint.interp.joining import join, join_all
from jaxlint.interp.library import fresh
from jaxlint.interp.modules import import_module
from jaxlint.interp.narrowing import has_attribute, is_instance
from jaxlint.interp.operators import binary
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
    Sequence,
    Stream,
    Tuple,
    Value,
    constant,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, Kind
from jaxlint.sites import Operation


def nth_element(call: Call, n: int) -> Value:
    found = call.find(n)
    if found is None:
        return UNKNOWN
    token = (call.frame.place(found.node or call.node), call.frame.activation.number, n)
    call.frame.state.fetched.discard(token)
    return iterated(call.frame, call.node, found.value, token)


def looped(call: Call, *arguments: int) -> Pace:
    """The pace of what is called for each item of the arguments at these positions, side by side."""
    given = [found for n in arguments if (found := call.find(n)) is not None and found.node is not None]
    paces = [loop_pace(call.frame, a.node, a.value) for a in given if a.node is not None]
    return min(paces, key=lambda pace: pace is not Pace.ONCE, default=Pace.ONCE if call.frame.unrolls else Pace.LOOPED)


@handler("zip")
def _zip(call: Call) -> Value:
    parts = [nth_element(call, n) for n in range(len(call.positional))]
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


@handler("enumerate")
def _enumerate(call: Call) -> Value:
    return of(Stream(of(Tuple((PYTHON, nth_element(call, 0))))))


@handler("iterate")
def _iterate(call: Call) -> Value:
    """iter, reversed, itertools.chain and others that hand on the items of their arguments."""
    values = [nth_element(call, n) for n in range(len(call.positional))]
    return of(Stream(join_all(values)))


@handler("flatten")
def _flatten(call: Call) -> Value:
    """itertools.chain.from_iterable: the items of the items."""
    return of(Stream(element_of(call.engine.heap, nth_element(call, 0))))


@handler("map")
def _map(call: Call) -> Value:
    star = "*" if call.name.endswith("starmap") else ""
    parts = [nth_element(call, n) for n in range(1, len(call.positional))]
    with call.frame.at_pace(looped(call, *range(1, len(call.positional)))):
        result = call.engine.call(
            call.frame, call.node, call.argument(0) or UNKNOWN, [Argument(p, call.node, star=star) for p in parts]
        )
    return of(Stream(replace(result, const=())))


@handler("filter")
def _filter(call: Call) -> Value:
    element = nth_element(call, 1)
    function = call.argument(0) or UNKNOWN
    with call.frame.at_pace(looped(call, 1)):
        test = element if function.none_only else call_with(call.frame, call.node, function, [element])
        call.engine.truth(call.frame, call.node, test)
    return of(Stream(element))


@handler("reduce")
def _reduce(call: Call) -> Value:
    element = nth_element(call, 1)
    start = call.argument(2)
    total = element if start is None else start
    with call.frame.at_pace(looped(call)):
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
    element = nth_element(call, 0)
    key = call.argument(1_000, "key")
    compared = element if key is None or key.none_only else call_with(call.frame, call.node, key, [element])
    compare_items(call, compared)
    given = call.given(0)
    items = known_elements(call, given)
    return new_list(call, element) if items is None else list_of(call, [replace(element, const=())] * len(items), given)


@handler("extremum")
def _extremum(call: Call) -> Value:
    """min and max: of one iterable, or of the arguments."""
    key = call.argument(1_000, "key")
    many = [a for a in call.arguments if a.keyword is None]
    if len(many) == 1 and not many[0].star:
        elements = [nth_element(call, 0)]
    else:
        elements = [element_of(call.engine.heap, a.value) if a.star else a.value for a in many]
    element = join_all(elements)
    if key is None or key.none_only:
        compare_items(call, *elements)
    else:
        compare_items(call, call_with(call.frame, call.node, key, [element]))
    default = call.argument(1_000, "default")
    out = replace(element, const=())
    return out if default is None else join(out, default)


def compare_items(call: Call, *elements: Value) -> None:
    """Note that such elements are compared with each other, on the host."""
    operands = [(v, call.node) for element in elements for v in _direct(call.frame, element)]
    # What is fetched is the outcome of each comparison.
    name = call.name.removeprefix("builtins.")
    effects.reading(call.frame, call.node, Operation.REDUCE, name, operands, computed=True)


def _direct(frame: Frame, element: Value) -> list[Value]:
    """The value itself and, of a tuple, its items: tuples are compared item by item."""
    items = frame.engine.unpack_star(element)
    return [element] if items is None else list(items)


@handler("any_all")
def _any_all(call: Call) -> Value:
    effects.reading(
        call.frame,
        call.node,
        Operation.REDUCE,
        call.name.removeprefix("builtins."),
        [(nth_element(call, 0), call.node)],
    )
    return PYTHON


@handler("sum")
def _sum(call: Call) -> Value:
    element = nth_element(call, 0)
    start = call.argument(1, "start")
    if element.kind & ARRAY:
        kind = Kind.TRACER if element.kind & Kind.TRACER else Kind.DEVICE
        return fresh(call, kind, "the sum of device arrays is a device array")
    if element.unknown and not element.kind:
        return UNKNOWN
    return Value(element.kind or Kind.PYTHON) if start is None else replace(join(element, start), const=())


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
    if call.name == "builtins.isinstance":
        answer = is_instance(call.frame, call.given(0), call.given(1))
        return PYTHON if answer is None else constant(answer)
    return PYTHON


@handler("hasattr")
def _hasattr(call: Call) -> Value:
    name = call.given(1)
    if not name.const or not isinstance(name.const[0], str):
        return PYTHON
    answer = has_attribute(call.frame, call.given(0), name.const[0])
    return PYTHON if answer is None else constant(answer)


@handler("getattr")
def _getattr(call: Call) -> Value:
    name = call.argument(1)
    base = call.argument(0) or UNKNOWN
    if name is None or not name.const or not isinstance(name.const[0], str) or not name.const[0]:
        return UNKNOWN
    value = call.engine.attribute(call.frame, call.node, base, name.const[0])
    default = call.argument(2)
    return value if default is None else join(value, default)


@handler("import_module")
def _import_module(call: Call) -> Value:
    name = call.given(0, "name")
    if name.const and isinstance(name.const[0], str) and name.const[0] and not name.const[0].startswith("."):
        return import_module(call.frame, name.const[0])
    return UNKNOWN


@handler("setattr")
def _setattr(call: Call) -> Value:
    name = call.argument(1)
    if name is not None and name.const and isinstance(name.const[0], str):
        set_attribute(call.frame, call.node, call.argument(0) or UNKNOWN, name.const[0], call.argument(2) or UNKNOWN)
    return NONE


@handler("operator")
def _operator(call: Call) -> Value:
    """operator.add and its like, as the functions of reduce and map."""
    left, right = call.argument(0) or UNKNOWN, call.argument(1) or UNKNOWN
    sign = {"add": ast.Add(), "mul": ast.Mult(), "sub": ast.Sub(), "matmul": ast.MatMult()}
    operator = sign.get(call.name.rpartition(".")[2], ast.Add())
    return binary(call.frame, call.node, left, right, operator, (call.node, call.node))


def new_list(call: Call, element: Value, name: str = "list") -> Value:
    made = Sequence(call.frame.place(call.node), call.frame.scope.number, name)
    call.engine.heap.write(made, ANY, replace(element, const=()))
    return of(made)


def list_of(call: Call, items: Iterable[Value], given: Value, name: str = "list") -> Value:
    """A new list of these items, which are those of a value."""
    made = Sequence(call.frame.place(call.node), call.frame.scope.number, name)
    for n, item in enumerate(items):
        call.engine.heap.write(made, str(n), item)
    call.engine.heap.note_copy(made, given)
    return of(made)


def known_elements(call: Call, value: Value) -> tuple[Value, ...] | None:
    """What the turns over a tuple, list or dict give, where each is known."""
    items = call.engine.unpack_star(value)
    if items is not None or len(value.objects) != 1 or value.kind or value.unknown:
        return items
    (obj,) = value.objects
    heap = call.engine.heap
    if isinstance(base_of(obj), Sequence):
        held = [v for name in known_items(heap, obj) if (v := read(heap, obj, name)) is not None]
        return tuple(uses.marked(v, value.sources) for v in held) or None
    if isinstance(base_of(obj), Mapping) and not {ANY, KEYS} & (keys := dict.fromkeys(field_names(heap, obj))).keys():
        return tuple(PYTHON for _ in keys) or None
    return None

"""JAX's transforms: a handler of a transform's name makes the transformed function. What runs it is in `traces`."""

from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Call, Frame
from jaxlint.interp.heap import ANY, DEFINED, field_names, read
from jaxlint.interp.values import (
    Function,
    Library,
    Method,
    Partial,
    Transformed,
    Tuple,
    Value,
    constant,
    of,
    replace,
)
from jaxlint.interp.values import Sequence as ListOf

_POSITIONS = {"in_axes": 1, "argnums": 1, "has_aux": 2}


def _option(call: Call, name: str) -> object:
    """A setting that is a literal, or a tuple or list of literals."""
    found = call.find(_POSITIONS.get(name, 1_000), name)
    return None if found is None else literal(call.frame, found.value)


def literal(frame: Frame, value: Value) -> object:
    """The Python literal of a value, tuples and lists of literals included; None where it is not one."""
    if value.const:
        return value.const[0]
    for obj in value.objects:
        if isinstance(obj, Tuple):
            return tuple(literal(frame, v) for v in obj.items)
        if isinstance(obj, ListOf):
            heap = frame.engine.heap
            names = field_names(heap, obj)
            if ANY not in names:
                items = [read(heap, obj, n) for n in names]
                return tuple(literal(frame, v) for v in items if v is not None)
    return None


def make_transformed(call: Call, transform: str, *names: str) -> Value:
    """The transformed function; where no function is given yet, the transform waits for it (a decorator factory)."""
    function = call.find(0, "fun", "f", "fn", "func", "model", "target")
    options = tuple((n, v) for n in names if n not in _GIVEN and (v := _option(call, n)) is not None)
    options += tuple((n, True) for n in names if n in _GIVEN and _is_given(call, n))
    if any(a.star == "**" for a in call.arguments):
        options += ((OPEN, True),)
    if function is None:
        keywords = tuple((a.keyword, a.value) for a in call.arguments if a.keyword is not None)
        return of(Partial(of(Library(call.name)), (), keywords))
    value = function.value
    kept = frozenset(o for o in value.objects if not isinstance(o, Library) or o.name != "builtins.None")
    made = Transformed(transform, replace(value, objects=kept), options, call.frame.place(call.node))
    for inner in functions_in(made.function):
        if call.engine.transformed.setdefault(inner.place, made) is made:
            call.engine.heap.note_change((inner.place, DEFINED))
    return of(made)


KEEPING = "keep_unused"
"""The option of a transform that uploads its arguments even where they are not used."""
OPEN = "**"
"""The option of a transform that is given more than is known: what is no array may be static."""
_GIVEN = {"in_shardings", "out_shardings"}
"""Options of which only matters that they are given."""


def _is_given(call: Call, name: str) -> bool:
    value = call.argument(1_000, name)
    return value is not None and not value.none_only


_STATIC = ("static_argnums", "static_argnames", "in_shardings", "out_shardings", "static_broadcasted_argnums")


@handler("jit")
def _jit(call: Call) -> Value:
    made = make_transformed(call, "jit", *_STATIC)
    return with_option(made, KEEPING) if _is_given(call, "keep_unused") else made


@handler("jit_by_annotation")
def _jit_by_annotation(call: Call) -> Value:
    """jax_dataclasses.jit: what is annotated by ``Static[...]`` is static."""
    return with_option(make_transformed(call, "jit"), "annotated")


@handler("filter_jit")
def _filter_jit(call: Call) -> Value:
    """equinox.filter_jit: arrays are traced, everything else in the arguments is static."""
    return with_option(make_transformed(call, "jit", *_STATIC), "filter")


def with_option(made: Value, option: str) -> Value:
    """The transformed functions that a transform made, with one more of its settings."""
    objects = frozenset(
        replace(o, options=(*o.options, (option, True))) if isinstance(o, Transformed) else o for o in made.objects
    )
    return replace(made, objects=objects)


@handler("shard_map")
def _shard_map(call: Call) -> Value:
    return make_transformed(call, "jit", *_STATIC)


@handler("vmap")
def _vmap(call: Call) -> Value:
    return make_transformed(call, "vmap", "in_axes")


@handler("filter_vmap")
def _filter_vmap(call: Call) -> Value:
    """equinox.filter_vmap: arrays are mapped, everything else in the arguments stays what it is."""
    return with_option(make_transformed(call, "vmap", "in_axes"), "filter")


@handler("wrap")
def _wrap(call: Call) -> Value:
    """A transform that changes nothing about where values live: the function itself."""
    function = call.argument(0, "fun", "f", "fn", "func")
    if function is None:
        keywords = tuple((a.keyword, a.value) for a in call.arguments if a.keyword is not None)
        return of(Partial(of(Library(call.name)), (), keywords))
    if call.name in RULED:
        _note_undifferentiated(call, function)
    return function


def _note_undifferentiated(call: Call, function: Value) -> None:
    heap, found = call.engine.heap, [call.argument(n, name) for n, name in enumerate(_FIXED, 1)]
    chosen = [literal(call.frame, v) for v in found if v is not None]
    for obj in function.objects:
        info = call.engine.by_place.get(obj.place) if chosen and isinstance(obj, Function) else None
        if info is not None:
            named = frozenset[str]().union(*map(names, chosen))
            at = frozenset(n for n, p in enumerate(info.parameters) if p.name in named).union(*map(positions, chosen))
            heap.write(obj, UNDIFFERENTIATED, constant(tuple(sorted(at))))


RULED = {"jax.custom_jvp", "jax.custom_vjp"}
"""What makes functions that have rules of their own for differentiation."""
UNDIFFERENTIATED = "<not differentiated>"
"""The field of such a function that holds the positions of what no rule is asked for: plain values, not tracers."""
_FIXED = ("nondiff_argnums", "nondiff_argnames")


@handler("stage")
def _stage(call: Call) -> Value:
    """checkpoint and its like: the function is traced when called, its results stay where tracing puts them."""
    return make_transformed(call, "jit", *_STATIC)


@handler("abstract")
def _abstract(call: Call) -> Value:
    return make_transformed(call, "abstract")


@handler("filter_abstract")
def _filter_abstract(call: Call) -> Value:
    return with_option(make_transformed(call, "abstract"), "filter")


def positions(value: object) -> frozenset[int]:
    """static_argnums and the like as a set."""
    if isinstance(value, int):
        return frozenset((value,))
    return frozenset(v for v in value if isinstance(v, int)) if isinstance(value, tuple) else frozenset()


def names(value: object) -> frozenset[str]:
    """static_argnames as a set; "a,b" and "a b" are split as JAX does not, but people write."""
    if isinstance(value, str):
        return frozenset((value,))
    return frozenset(v for v in value if isinstance(v, str)) if isinstance(value, tuple) else frozenset()


def functions_in(value: Value) -> list[Function]:
    """The functions of the project that a value stands for, bare or bound."""
    out: list[Function] = []
    for obj in value.objects:
        while isinstance(obj, Method):
            obj = obj.function
        if isinstance(obj, Function):
            out.append(obj)
        elif isinstance(obj, Partial | Transformed):
            out.extend(functions_in(obj.function))
    return out

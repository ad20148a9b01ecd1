"""Trees: jax.tree's functions, with what the mapped function does to the places of the leaves."""

import ast
from collections.abc import Callable, Sequence

from jaxlint.interp import uses
from jaxlint.interp.displays import copied, renewed
from jaxlint.interp.engine import handler
from jaxlint.interp.fewness import FEW
from jaxlint.interp.frames import Argument, Call
from jaxlint.interp.heap import base_of, element_of, field_names, leaves
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join, join_all
from jaxlint.interp.values import (
    NOTHING,
    NULL,
    PYTHON,
    UNKNOWN,
    Function,
    Instance,
    Library,
    Mapping,
    Method,
    Moved,
    Object,
    Partial,
    Stream,
    Tuple,
    Value,
    of,
    replace,
)
from jaxlint.interp.values import Sequence as ListOf
from jaxlint.kinds import ARRAY, HOST, Kind


@handler("tree_map")
def _tree_map(call: Call) -> Value:
    function, (first, *rest) = call.given(0, "f"), _trees(call)
    tree = renewed(call.frame, call.node, first)
    own = any(isinstance(o, Function | Method | Partial) for o in function.objects)
    pace = Pace.ITEMS if own and not _few_leaves(tree) else Pace.ONCE
    if call.name.endswith("with_path"):
        return _mapped(call, lambda v: _apply(call, function, [PYTHON, v], pace), tree)
    rests = [_matched(call, tree, r) for r in rest]
    asked = call.argument(1_000, "is_leaf")
    # Where the program says what a leaf is, it may be anything above the arrays too.
    whole = asked is not None and not asked.none_only

    results: list[Value] = []

    def apply(leaf: Value) -> Value:
        leaves_ = [replace(v, unknown=True) for v in (leaf, *rests)] if whole else [leaf, *rests]
        results.append(_apply(call, function, leaves_, pace))
        return results[-1]

    out, made = _mapped(call, apply, tree), join_all(results)
    if any(a.star for a in call.positional) and not made.objects and made.kind in {Kind.DEVICE, Kind.NUMPY}:
        # What is made of all trees of a list is none of them: a tree of its own.
        state, token = call.frame.state, (call.frame.place(call.node), call.frame.activation.number)
        state.fetched = {t for t in state.fetched if t[:2] != token}
        return replace(made, tokens=frozenset((token,)) if made.kind & ARRAY else frozenset())
    return out


def _trees(call: Call) -> list[Value]:
    """The trees that are given, at least one; of those of a list (``map(f, *trees)``) one stands for all."""
    found: list[Value] = []
    for a in call.positional[1:]:
        each = call.engine.unpack_star(a.value) if a.star else (a.value,)
        found += (_known(element_of(call.engine.heap, a.value)),) if each is None else each
    return found or [call.given(1, "tree")]


def _known(value: Value) -> Value:
    return UNKNOWN if value.is_nothing else value


def _matched(call: Call, tree: Value, rest: Value) -> Value:
    """What of another tree goes with a leaf of the first: a leaf, or all that lies where the first tree has one."""
    instances = frozenset(o for o in rest.objects if isinstance(base_of(o), Instance))
    if instances and tree.objects <= {NULL}:
        return Value(objects=instances)
    return join_all(leaves(call.engine.heap, rest)) or NOTHING


def _few_leaves(tree: Value, depth: int = 2) -> bool:
    """True of a NumPy array or number by itself, which is a tree of one leaf, and of a tuple of some of them."""
    if tree.known(HOST):
        return True
    tuples = [o for o in tree.objects if isinstance(o, Tuple)]
    if not depth or not tuples or len(tuples) < len(tree.objects) or tree.unknown or tree.kind & ~HOST:
        return False
    return all(len(t.items) <= FEW and all(_few_leaves(v, depth - 1) for v in t.items) for t in tuples)


def _apply(call: Call, function: Value, values: Sequence[Value], pace: Pace) -> Value:
    frame = call.frame
    if frame.unrolls:
        pace = Pace.ONCE
    with frame.at_pace(pace):
        return frame.engine.call(frame, call.node, function, [Argument(v, _tree_node(call)) for v in values])


def _tree_node(call: Call) -> ast.AST | None:
    found = call.find(1, "tree")
    return None if found is None else found.node


def _mapped(call: Call, apply: Callable[[Value], Value], tree: Value, depth: int = 4) -> Value:
    """The tree with each leaf replaced by what `apply` gives."""
    out = NOTHING
    plain = Value(
        tree.kind, unknown=tree.unknown, const=tree.const, origin=tree.origin, tokens=tree.tokens, sources=tree.sources
    )
    if plain.kind or (plain.unknown and not tree.objects):
        out = apply(plain)
    for obj in tree.objects:
        below = base_of(obj)
        if isinstance(below, Tuple) and depth:
            out = join(out, of(Tuple(tuple(_mapped(call, apply, v, depth - 1) for v in below.items))))
        elif isinstance(below, Stream) and depth:
            out = join(out, of(Stream(_mapped(call, apply, below.element, depth - 1))))
        elif isinstance(below, Mapping | ListOf | Instance) or isinstance(obj, Moved):
            out = join(out, _mapped_object(call, lambda v: apply(uses.marked(v, tree.sources)), obj))
        elif not isinstance(obj, Function | Library):
            out = join(out, of(obj))
    return out


def _mapped_object(call: Call, apply: Callable[[Value], Value], obj: Object) -> Value:
    heap = call.engine.heap
    found = [v for v in leaves(heap, of(obj)) if not (v.const and isinstance(v.const[0], str))]
    distinct = list({(_leaf.kind, _leaf.unknown): _leaf for _leaf in found}.values())
    results = [apply(leaf) for leaf in distinct]
    result = join_all(results) if found else apply(UNKNOWN)
    kept = all(r.kind == leaf.kind and not r.objects for r, leaf in zip(results, distinct, strict=True))
    if kept and len(distinct) > 1:
        return of(copied(call.frame, call.node, obj))  # each leaf stays where it is
    if result.kind and not result.objects:
        single = next((k for k in (Kind.TRACER, Kind.DEVICE, Kind.NUMPY, Kind.PYTHON) if k in result.kind), Kind(0))
        made_of = of(Moved(base_of(obj), result.kind if result.kind in (single,) else single))
        return replace(made_of, sources=result.sources)
    if result.unknown and not result.objects:
        return UNKNOWN
    below = base_of(obj)
    if isinstance(below, Mapping):
        made: Object = Mapping(call.frame.place(call.node), call.frame.scope.number)
    else:
        made = ListOf(call.frame.place(call.node), call.frame.scope.number)
    for name in field_names(heap, obj):
        heap.write(made, name, result)
    return of(made)


@handler("tree_leaves")
def _tree_leaves(call: Call) -> Value:
    tree = call.given(0, "tree")
    found = leaves(call.engine.heap, tree)
    element = join_all(replace(v, const=(), tokens=frozenset()) for v in found)
    if tree.unknown and not tree.kind:
        element = join(element, UNKNOWN)
    if call.name.endswith("with_path"):
        element = of(Tuple((PYTHON, element)))
    if call.name.endswith(("flatten", "flatten_with_path")):
        return of(Tuple((of(Stream(element)), PYTHON)))
    return of(Stream(element))


@handler("tree_reduce")
def _tree_reduce(call: Call) -> Value:
    element = _known(join_all(leaves(call.engine.heap, call.given(1, "tree"))))
    start = call.argument(2, "initializer")
    result = _apply(call, call.given(0, "function"), [start or element, element], Pace.LOOPED)
    return join(result, start) if start is not None else result


@handler("tree_unflatten")
def _tree_unflatten(call: Call) -> Value:
    element = join_all(leaves(call.engine.heap, call.given(1, "leaves")))
    return Value(element.kind, unknown=element.unknown or element.is_nothing, origin=element.origin)


@handler("tree_transpose")
def _tree_transpose(call: Call) -> Value:
    element = join_all(leaves(call.engine.heap, call.given(2, "pytree_to_transpose")))
    return Value(element.kind, unknown=element.unknown or element.is_nothing, origin=element.origin)

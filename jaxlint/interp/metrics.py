"""Collections of metrics (clu): a class of the project whose annotations are the classes of its metrics."""

import functools
import operator
from collections.abc import Iterator

from jaxlint.interp.classes import all_fields, find_in_class, instantiate, mro
from jaxlint.interp.engine import handler
from jaxlint.interp.frames import Argument, Call
from jaxlint.interp.heap import ANY, KEYS, base_of, moved, read
from jaxlint.interp.joining import join
from jaxlint.interp.library import fresh, result_kind
from jaxlint.interp.values import (
    NOTHING,
    PYTHON,
    UNKNOWN,
    Class,
    Instance,
    Library,
    LibraryMethod,
    LibraryObject,
    Mapping,
    Moved,
    Object,
    Value,
    of,
)
from jaxlint.kinds import Kind

_COLLECTION = "clu.metrics.Collection"
_COLLECTING = "clu.metrics.CollectingMetric"


@handler("metric_class")
def _metric_class(call: Call) -> Value:
    """Average.from_fun(f), CollectingMetric.from_outputs(names): a class derived from the one that is asked."""
    return of(Library(call.name.rpartition(".")[0]))


@handler("metrics_made")
def _metrics_made(call: Call) -> Value:
    """Collection.single_from_model_output(...) and its like: an instance, with a metric for each annotation."""
    out = NOTHING
    for cls in (call.receiver or UNKNOWN).objects:
        if isinstance(cls, Class):
            made = instantiate(call.frame, call.node, cls, ())
            for obj in made.objects:
                for name, metric in _metrics(call, cls):
                    call.engine.heap.write(obj, name, metric)
            out = join(out, moved(made, result_kind(call)))
    return of(LibraryObject(_COLLECTION)) if out.is_nothing else out


def _metrics(call: Call, cls: Class) -> Iterator[tuple[str, Value]]:
    for name, annotation, by in all_fields(call.engine, cls):
        if annotation is None:
            continue
        record = call.engine.classes[by]
        inside = call.frame.elsewhere(record.scope, record.module)
        for obj in call.engine.evaluate(inside, annotation).objects:
            if isinstance(obj, Class):
                made = instantiate(call.frame, call.node, obj, ())
                yield name, moved(made, result_kind(call))
            elif isinstance(obj, Library):
                yield name, of(LibraryObject(obj.name))


def _held(call: Call) -> Iterator[Object]:
    """The metrics of the receiver."""
    for obj in (call.receiver or UNKNOWN).objects:
        below = base_of(obj)
        if isinstance(below, Instance):
            for name, _, _ in all_fields(call.engine, below.cls):
                yield from (read(call.engine.heap, obj, name) or NOTHING).objects


@handler("metrics_merge")
def _metrics_merge(call: Call) -> Value:
    """Collection.merge: each metric merged with its like; those that collect fetch what they get."""
    engine = call.engine
    for metric in _held(call):
        below = base_of(metric)
        collects = isinstance(below, LibraryObject) and below.name == _COLLECTING
        if isinstance(below, Instance):
            own = find_in_class(engine, below.cls, "merge")
            collects = own is None and Library(_COLLECTING) in mro(engine, below.cls)
        if collects:
            merging = of(LibraryMethod(f"{_COLLECTING}.merge", UNKNOWN))
            engine.call(call.frame, call.node, merging, [_outputs(call, a) for a in call.arguments[:1]])
    return call.receiver or UNKNOWN


def _outputs(call: Call, collected: Argument) -> Argument:
    """The arrays in a collection: where it was moved to, by a compiled function or by device_get."""
    kinds = [o.kind for o in collected.value.objects if isinstance(o, Moved)]
    kind = functools.reduce(operator.or_, kinds, Kind(0))
    origin = collected.value.origin or call.frame.origin(call.node, "the collected outputs are device arrays")
    return Argument(
        Value(kind, unknown=len(kinds) < len(collected.value.objects) or not kinds, origin=origin), collected.node
    )


@handler("metrics_compute")
def _metrics_compute(call: Call) -> Value:
    """Collection.compute: the value of each metric by its name; those of the project run their own code."""
    engine = call.engine
    out = Mapping(call.frame.place(call.node), call.frame.scope.number)
    engine.heap.write(out, ANY, fresh(call, result_kind(call)))
    for metric in _held(call):
        if isinstance(base_of(metric), Instance):
            method = engine.attribute(call.frame, call.node, of(metric), "compute")
            if method.objects:
                engine.heap.write(out, ANY, engine.call(call.frame, call.node, method, ()))
    engine.heap.write(out, KEYS, PYTHON)
    return of(out)

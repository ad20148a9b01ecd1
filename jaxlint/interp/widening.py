"""Values of bounded depth and without literals, so that loops and recursion end."""

from jaxlint.interp.joining import MAX_TUPLE_DEPTH
from jaxlint.interp.values import Method, Object, Partial, Property, Stream, Transformed, Tuple, Value, replace


def without_constant(value: Value) -> Value:
    """The same value with its literal forgotten (None, True and False are kept: they are few and decide branches)."""
    if not value.const or value.const[0] is None or isinstance(value.const[0], bool):
        return value
    return replace(value, const=())


def _bounded(value: Value, depth: int) -> Value:
    """`widen` for what a callable is bound to: settings keep their literals."""
    return widen(value, depth) if value.objects else value


def widen(value: Value, depth: int = MAX_TUPLE_DEPTH) -> Value:
    """A value of bounded depth and without literals, so that loops and recursion end."""
    value = without_constant(value)
    if not value.objects:
        return value
    objects: set[Object] = set()
    unknown = value.unknown
    for obj in value.objects:
        if isinstance(obj, Tuple | Stream | Method | Partial | Transformed | Property) and depth == 0:
            unknown = True
        elif isinstance(obj, Tuple):
            objects.add(Tuple(tuple(widen(v, depth - 1) for v in obj.items)))
        elif isinstance(obj, Stream):
            objects.add(replace(obj, element=widen(obj.element, depth - 1)))
        elif isinstance(obj, Partial):
            arguments = tuple(_bounded(v, depth - 1) for v in obj.arguments)
            keywords = tuple((k, _bounded(v, depth - 1)) for k, v in obj.keywords)
            objects.add(Partial(_bounded(obj.function, depth - 1), arguments, keywords))
        elif isinstance(obj, Method):
            objects.add(Method(obj.function, _bounded(obj.receiver, depth - 1)))
        elif isinstance(obj, Transformed):
            objects.add(replace(obj, function=_bounded(obj.function, depth - 1)))
        else:
            objects.add(obj)
    return replace(value, objects=frozenset(objects), unknown=unknown)

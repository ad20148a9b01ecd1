"""What isinstance asks for: the places where the instances of a library's class live."""

import sys

from jaxlint.interp.frames import Frame
from jaxlint.interp.values import Library, Mapping, Object, Sequence, Tuple, Value
from jaxlint.kinds import HOST, Kind

_CLASSES: dict[str, Kind] = {
    "jax.Array": Kind.DEVICE | Kind.TRACER,
    "jax.core.Tracer": Kind.TRACER,
    "numpy.ndarray": Kind.NUMPY,
    "numpy.bool_": Kind.NUMPY,
    "numpy.complexfloating": Kind.NUMPY,
    "numpy.floating": Kind.NUMPY,
    "numpy.generic": Kind.NUMPY,
    "numpy.inexact": Kind.NUMPY,
    "numpy.integer": Kind.NUMPY,
    "numpy.number": Kind.NUMPY,
    "builtins.float": HOST,
    "builtins.int": HOST,
    "builtins.bool": HOST,
    "builtins.complex": HOST,
    "builtins.bytes": Kind.PYTHON,
    "builtins.str": Kind.PYTHON,
    "numbers.Complex": HOST,
    "numbers.Integral": HOST,
    "numbers.Number": HOST,
    "numbers.Rational": HOST,
    "numbers.Real": HOST,
}
"""Numbers of NumPy are numbers by these classes; arrays of JAX are not, not even those without an axis."""

CONTAINERS: dict[str, type[Object]] = {
    "builtins.dict": Mapping,
    "builtins.list": Sequence,
    "builtins.tuple": Tuple,
    "builtins.set": Sequence,
    "collections.abc.Mapping": Mapping,
}

SIZED = {
    f"{module}.{name}"
    for module in ("collections.abc", "typing")
    for name in ("Collection", "Container", "Iterable", "Sized")
}
"""Every array is one of these, one without an axis too."""

PROTOCOLS = SIZED | {
    "builtins.object", "collections.abc.Buffer", "collections.abc.Reversible", "typing.Any", "typing.Generic",
    "typing.Protocol", "typing.Reversible", "typing.SupportsAbs", "typing.SupportsBytes", "typing.SupportsComplex",
    "typing.SupportsFloat", "typing.SupportsIndex", "typing.SupportsInt", "typing.SupportsRound",
}  # fmt: skip
"""What an array may be one of by its methods. Of all other classes of the standard library no array is."""

_OF_CONTAINERS = {"builtins", "collections", "typing"}
"""Modules of containers: what is taken for an array may be a tree of arrays in such a one."""


def names_of(frame: Frame, wanted: Value) -> list[str]:
    """The library classes that isinstance is given, one or a tuple of them; "" for everything else."""
    items = frame.engine.unpack_star(wanted)
    canonical = frame.engine.models.canonical
    names: list[str] = []
    for one in items if items is not None else (wanted,):
        names += [canonical(obj.name) if isinstance(obj, Library) else "" for obj in one.objects]
        if one.unknown:
            names.append("")
    return names


def places(frame: Frame, wanted: Value) -> Kind | None:
    """Where the instances of the classes live; None where that is not known."""
    return places_of(names_of(frame, wanted))


def places_of(names: list[str]) -> Kind | None:
    """The same of classes by their names."""
    out = Kind(0)
    for name in names:
        kind = _CLASSES.get(name)
        if kind is None:
            return None
        out |= kind
    return out or None


def containers(frame: Frame, wanted: Value) -> list[type[Object]]:
    """The containers that are asked for; none where anything else is asked for too."""
    names = names_of(frame, wanted)
    return [CONTAINERS[name] for name in names] if all(name in CONTAINERS for name in names) else []


def are_sized(frame: Frame, wanted: Value) -> bool:
    """True of classes of which every array is one."""
    return any(name in SIZED for name in names_of(frame, wanted))


def without_arrays(frame: Frame, wanted: Value) -> Kind | None:
    """Where plain instances of the classes may live that no array is one of; None where some array may be."""
    out = Kind(0)
    names = names_of(frame, wanted)
    for name in names:
        kind = _CLASSES.get(name, Kind.PYTHON if _is_standard(name) else None)
        if kind is None:
            return None
        out |= kind
    return out or None


def may_be_trees(frame: Frame, wanted: Value) -> bool:
    """True of classes of containers: an array may have been mistaken for a tree of them."""
    return any(name.partition(".")[0] in _OF_CONTAINERS and name not in _CLASSES for name in names_of(frame, wanted))


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names and name not in PROTOCOLS

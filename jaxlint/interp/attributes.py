"""Attribute access on every kind of value."""

import ast

from jaxlint.interp import effects, guards
from jaxlint.interp.classes import class_attribute, find_in_class, is_field, mro
from jaxlint.interp.engine import Engine
from jaxlint.interp.frames import Argument, Call, Frame
from jaxlint.interp.guessing import guess
from jaxlint.interp.heap import base_of, read
from jaxlint.interp.joining import join
from jaxlint.interp.library import fresh_array, returned
from jaxlint.interp.modules import NAMESPACE, below_namespace, module_attribute
from jaxlint.interp.subscripts import identified
from jaxlint.interp.values import (
    NOTHING,
    NULL,
    PYTHON,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Library,
    LibraryMethod,
    LibraryObject,
    Mapping,
    Method,
    Moved,
    Object,
    Partial,
    ProjectModule,
    Property,
    Sequence,
    Stream,
    Super,
    Transformed,
    Tuple,
    Value,
    constant,
    of,
    replace,
)
from jaxlint.kinds import ARRAY, Kind

_TREE_METHODS = {"replace", "_replace", "apply_gradients"}
"""Methods of state objects that give an object like the one they are called on."""
_RULES = {
    "defjvp": "jax.custom_jvp.defjvp", "defjvps": "jax.custom_jvp.defjvps", "defvjp": "jax.custom_vjp.defvjp",
}  # fmt: skip
"""Methods of a function with rules of its own for differentiation."""
_FOREIGN = {"numpy", "_numpy"}
"""Methods of the arrays of other libraries, which no array of JAX has: what has them is none."""
_DICT_METHODS = {"items", "keys", "values", "get", "pop", "update", "setdefault", "copy", "popitem"}


def attribute(frame: Frame, node: ast.AST, base: Value, name: str) -> Value:
    """The value of ``base.name``."""
    out = NOTHING
    for obj in base.objects:
        if obj is not NULL and obj != NULL:
            out = join(out, _of_object(frame, node, obj, name))
    if base.kind & ARRAY:
        # Where an object has such an attribute it is hardly the branch of a tree that is meant.
        is_meant = bool(out.kind or out.objects or out.const)
        out = join(out, _of_array(frame, node, base, name, may_be_branch=not is_meant))
    if base.kind & Kind.NUMPY:
        out = join(out, _of_numpy(frame, node, base, name))
    if base.kind & Kind.PYTHON:
        out = join(out, _of_python(frame, base, name))
    if base.unknown and not base.kind:
        hint = f"unknown.{name}"
        out = join(out, of(LibraryMethod(hint, UNKNOWN)) if frame.engine.models.exact(hint) else UNKNOWN)
    return out


def _of_python(frame: Frame, base: Value, name: str) -> Value:
    """A method of a string, or an attribute of a host object such as a configuration."""
    for head in ("builtins.str", "builtins.dict"):
        if frame.engine.models.exact(f"{head}.{name}"):
            return of(LibraryMethod(f"{head}.{name}", replace(base, kind=Kind.PYTHON, objects=frozenset())))
    return PYTHON


def _of_array(frame: Frame, node: ast.AST, base: Value, name: str, *, may_be_branch: bool) -> Value:
    models = frame.engine.models
    canonical = f"jax.Array.{name}"
    kind = base.kind & ARRAY
    receiver = replace(base, kind=kind, objects=frozenset())
    word = models.attribute(canonical)
    if word is not None and word != "unknown":
        operation = models.attribute_reads(canonical)
        if operation is not None:
            effects.reading(frame, node, operation, f".{name}", [(receiver, node)])
        if word == "device":
            out = fresh_array(frame, node, kind, f".{name} of a device array")
            return replace(out, origin=base.origin or out.origin, unknown=base.unknown, boolean=base.boolean)
        return returned(Call(frame, node, canonical, (), receiver), word)
    if models.exact(canonical):
        return of(LibraryMethod(canonical, receiver))
    if name in _DICT_METHODS:
        return of(LibraryMethod(f"builtins.dict.{name}", receiver))
    if name in _FOREIGN:
        return of(LibraryMethod(f"unknown.{name}", UNKNOWN))
    if name in _TREE_METHODS:
        return of(LibraryMethod(f"tree.{name}", receiver))
    if name.startswith("__"):
        return UNKNOWN  # a special method, of an array or of whatever holds it
    # Not an attribute of arrays: the value is a tree of arrays, and this is a branch of it.
    tokens = frozenset((*t, name) for t in base.tokens)
    branch = Value(kind, unknown=True, origin=base.origin, tokens=tokens)
    return branch if may_be_branch else guess(branch, frame.origin(node, "arrays have no such attribute"))


def _of_numpy(frame: Frame, node: ast.AST, base: Value, name: str) -> Value:
    models = frame.engine.models
    canonical = f"numpy.ndarray.{name}"
    receiver = replace(base, kind=Kind.NUMPY, objects=frozenset())
    word = models.attribute(canonical)
    if word is not None and word != "unknown":
        return returned(Call(frame, node, canonical, (), receiver), word)
    if models.exact(canonical):
        return of(LibraryMethod(canonical, receiver))
    if name in _DICT_METHODS:
        return of(LibraryMethod(f"builtins.dict.{name}", receiver))
    return Value(Kind.NUMPY, unknown=base.unknown, origin=base.origin)


def _of_object(frame: Frame, node: ast.AST, obj: Object, name: str) -> Value:
    engine = frame.engine
    below = base_of(obj)
    match below:
        case ProjectModule(path):
            return module_attribute(engine, path, name)
        case Library(head):
            return _of_library(frame, node, head, name)
        case Instance():
            return _of_instance(frame, node, obj, below, name)
        case Class():
            return _of_class(frame, node, below, name)
        case Super(cls, receiver):
            return _of_super(frame, node, cls, receiver, name)
        case LibraryObject():
            return _of_library_object(frame, node, obj, below, name)
        case Mapping():
            return _of_mapping(engine, obj, name)
        case Sequence(_, _, kind):
            # What a deque can do is modelled as what a list can.
            return of(LibraryMethod(f"builtins.{'set' if kind == 'set' else 'list'}.{name}", of(obj)))
        case Tuple() | Stream():
            return of(LibraryMethod(f"builtins.tuple.{name}", of(obj)))
        case Transformed():
            return of(LibraryMethod(f"transformed.{name}", of(obj)))
        case Function() | Method() | Partial() | Transformed() if name in _RULES:
            return of(LibraryMethod(_RULES[name], of(obj)))
        case Property() if name in {"setter", "getter", "deleter"}:
            return of(LibraryMethod(f"builtins.property.{name}", of(obj)))
        case Function() | Method() | Partial():
            known = read(engine.heap, obj, name)
            if known is not None:
                return known
            if name == "__wrapped__":
                return of(obj)
            return constant("") if name in {"__name__", "__doc__", "__qualname__", "__module__"} else UNKNOWN
        case _:
            return UNKNOWN


def _of_library(frame: Frame, node: ast.AST, head: str, name: str) -> Value:
    models = frame.engine.models
    if head.startswith(NAMESPACE):
        return below_namespace(frame, head, name)
    full = models.canonical(f"{head}.{name}")
    word = models.attribute(full)
    if word is not None:
        return returned(Call(frame, node, full, ()), word)
    return of(Library(full))


def _of_mapping(engine: Engine, obj: Object, name: str) -> Value:
    known = read(engine.heap, obj, name)
    if name in _DICT_METHODS or known is None:
        return of(LibraryMethod(f"builtins.dict.{name}", of(obj)))
    return known


def _of_library_object(frame: Frame, node: ast.AST, obj: Object, below: LibraryObject, name: str) -> Value:
    engine = frame.engine
    known = read(engine.heap, obj, name)
    full = engine.models.canonical(f"{below.name}.{name}")
    if name == "__enter__" and below.name.startswith("jax.transfer_guard"):
        guards.entered_by_hand(frame, below)
    if name.startswith("__") and not engine.models.exact(full):
        return NOTHING
    word = engine.models.attribute(full)
    if word is not None:
        value = returned(Call(frame, node, full, (), of(obj)), word)
        return value if known is None else join(known, value)
    if engine.models.function(full) is not None:
        method = of(LibraryMethod(full, of(obj)))
        return method if known is None else join(known, method)  # stored there in one case, perhaps
    return UNKNOWN if known is None else known


def _of_instance(frame: Frame, node: ast.AST, obj: Object, below: Instance, name: str) -> Value:
    engine = frame.engine
    own = read(engine.heap, obj, name)
    found = find_in_class(engine, below.cls, name)
    if found is not None:
        # The default of a field is an attribute of each instance: it is no method, even if it is a function.
        receiver = None if is_field(engine, below.cls, name) and not _is_data(found) else of(obj)
        bound = class_attribute(frame, node, found, receiver, below.cls)
        if own is None or _is_data(found):
            return bound
        own = identified(obj, name, own)
        return own if _is_callable(found) else join(own, bound)
    if own is not None:
        return identified(obj, name, own)
    for base in mro(engine, below.cls):
        if isinstance(base, Library):
            full = engine.models.canonical(f"{base.name}.{name}")
            word = engine.models.attribute(full)
            if word is not None:
                return returned(Call(frame, node, full, (), of(obj)), word)
            if engine.models.exact(full) or (not name.startswith("__") and engine.models.function(full) is not None):
                return of(LibraryMethod(full, of(obj)))
    if name in _TREE_METHODS:
        return of(LibraryMethod(f"tree.{name}", of(obj)))
    if name in {"_asdict", "to_dict", "as_dict"}:
        return of(LibraryMethod("dataclasses.asdict", of(obj)))
    if name == "__class__":
        return of(below.cls)
    if name in {"_fields", "__dataclass_fields__", "__dict__"}:
        return PYTHON
    fallback = find_in_class(engine, below.cls, "__getattr__")
    if fallback is not None and not name.startswith("__"):
        return engine.call(
            frame, node, class_attribute(frame, node, fallback, of(obj), below.cls), [Argument(constant(name))]
        )
    if isinstance(obj, Moved):
        if engine.models.attribute(f"jax.Array.{name}") == "python":
            return PYTHON
        return Value(obj.kind, unknown=True)
    return NOTHING if name.startswith("__") else UNKNOWN


def _is_data(value: Value) -> bool:
    return any(isinstance(o, Property) and o.how in {"property", "cached"} for o in value.objects)


def _is_callable(value: Value) -> bool:
    return bool(value.objects) and not value.kind


def _of_class(frame: Frame, node: ast.AST, cls: Class, name: str) -> Value:
    engine = frame.engine
    found = find_in_class(engine, cls, name)
    if found is not None:
        return class_attribute(frame, node, found, None, cls)
    for base in mro(engine, cls):
        if isinstance(base, Library):
            model = engine.models.function(f"{base.name}.{name}")
            if model is not None and model.class_method:
                return of(LibraryMethod(engine.models.canonical(f"{base.name}.{name}"), of(cls)))
            return _of_library(frame, node, base.name, name)
    if name in {"__name__", "__doc__", "__qualname__", "__module__"}:
        return constant("")
    return UNKNOWN


def _of_super(frame: Frame, node: ast.AST, cls: Class, receiver: Value, name: str) -> Value:
    engine = frame.engine
    out = NOTHING
    for obj in receiver.objects:
        start = base_of(obj)
        if not isinstance(start, Instance):
            continue
        order = mro(engine, start.cls)
        after = order[order.index(cls) + 1 :] if cls in order else order[1:]
        for base in after:
            if isinstance(base, Class):
                scope = engine.classes[base].scope
                engine.heap.note_read((scope.number, name))
                found = scope.names.get(name)
                if found is not None:
                    out = join(out, class_attribute(frame, node, found, of(obj), base))
                    break
            elif isinstance(base, Library):
                full = engine.models.canonical(f"{base.name}.{name}")
                if engine.models.function(full) is not None:
                    out = join(out, of(LibraryMethod(full, of(obj))))
                    break
    return out if not out.is_nothing else UNKNOWN

"""Annotations: a weak hint, below data flow. What a parameter nobody gives a value may be."""

import ast
import warnings

from jaxlint.interp.engine import ClassRecord
from jaxlint.interp.frames import Frame
from jaxlint.interp.heap import ANY, INSTANCES, KEYS
from jaxlint.interp.joining import join
from jaxlint.interp.program import FunctionInfo, Module, Parameter
from jaxlint.interp.syntax import is_none, last_name, text_in
from jaxlint.interp.values import (
    NONE,
    PYTHON,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Library,
    Mapping,
    Origin,
    Stream,
    Tuple,
    Value,
    of,
    replace,
)
from jaxlint.kinds import Kind

_DEVICE = {
    "jax.Array", "jax.numpy.ndarray", "jaxtyping.Array", "jax.typing.ArrayLike", "chex.Array", "chex.ArrayDevice",
    "jax.random.PRNGKeyArray", "chex.PRNGKey", "jaxtyping.PRNGKeyArray", "jax.random.KeyArray", "flax.typing.Array",
}  # fmt: skip
_NUMPY = {"numpy.ndarray", "chex.ArrayNumpy", "numpy.typing.NDArray", "numpy.typing.ArrayLike"}
_PYTHON = {"builtins.float", "builtins.int", "builtins.str", "builtins.bool", "builtins.bytes", "pathlib.Path"}


def annotated(frame: Frame, info: FunctionInfo, parameter: Parameter, function: Function) -> Value:
    """The value of a parameter that no known caller gives: its annotation's, joined with its default."""
    default = frame.engine.heap.field(function, f"default {parameter.name}")
    value = UNKNOWN
    if parameter.annotation is not None:
        value = meaning(frame, info, parameter.annotation, function)
    if default is not None and not default.none_only:
        if value is UNKNOWN:
            return replace(default, const=(), unknown=True)
        return join(value, replace(default, const=()))
    return value


def meaning(frame: Frame, info: FunctionInfo, annotation: ast.expr, function: Function) -> Value:
    """What an annotation says, as a guess."""
    return _meaning_in(frame, function.scope, info.module, annotation)


def field_meaning(frame: Frame, record: ClassRecord, annotation: ast.expr) -> Value:
    """What the annotation of a class's field says, as a guess."""
    return _meaning_in(frame, record.scope.number, record.module, annotation)


def _meaning_in(frame: Frame, scope: int, module: Module, annotation: ast.expr) -> Value:
    return _meaning(frame.elsewhere(frame.engine.scopes[scope], module), annotation)


def _meaning(frame: Frame, node: ast.expr, at: ast.expr | None = None) -> Value:
    """What an annotation says. `at` is the string that holds it, which has a place in the module where it has none."""
    text = text_in(node)
    if text is not None:
        parsed = _parsed(text, at or node)
        return UNKNOWN if parsed is None else _meaning(frame, parsed, at or node)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return join(_meaning(frame, node.left, at), _meaning(frame, node.right, at))
    if is_none(node):
        return NONE
    if isinstance(node, ast.Subscript):
        return _generic(frame, node, at)
    if not isinstance(node, ast.Name | ast.Attribute):
        return UNKNOWN
    value = frame.engine.evaluate(frame, node)
    for obj in value.objects:
        if isinstance(obj, Library):
            return _library(frame, at or node, frame.engine.models.canonical(obj.name))
        if isinstance(obj, Class):
            record = frame.engine.classes.get(obj)
            if record is not None:
                frame.engine.heap.note_read((obj, INSTANCES))
                return of(*record.instances[:2]) if record.instances else _unmade(frame, record)
    return UNKNOWN


def _parsed(text: str, at: ast.expr) -> ast.expr | None:
    """The annotation that a string holds, all of it where the string stands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    for part in ast.walk(found):
        ast.copy_location(part, at)
    return found


def _unmade(frame: Frame, record: ClassRecord) -> Value:
    """An instance of a class with annotated fields of which nobody in the project makes one."""
    heap = frame.engine.heap
    instance = Instance(record.cls, record.module.place(record.node), record.scope.number)
    if record.fields and not heap.fields(instance):
        for name, _ in record.fields:
            heap.write(instance, name, UNKNOWN)  # a class may have fields of its own kind
        for name, annotation in record.fields:
            if annotation is not None:
                heap.replace(instance, name, field_meaning(frame, record, annotation))
    return of(instance) if record.fields else UNKNOWN


def _library(frame: Frame, node: ast.expr, name: str) -> Value:
    if name in _DEVICE:
        return Value(Kind.DEVICE, origin=Origin(frame.place(node), "annotated as a JAX array", None, True))
    if name in _NUMPY:
        return Value(Kind.NUMPY, unknown=True, origin=Origin(frame.place(node), "annotated as NumPy", None, True))
    if name in _PYTHON:
        return PYTHON
    return UNKNOWN


def _generic(frame: Frame, node: ast.Subscript, at: ast.expr | None) -> Value:
    head = node.value
    name = last_name(head)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name in {"Optional", "Annotated", "Final", "ClassVar", "Required"} and parts:
        return join(_meaning(frame, parts[0], at), NONE) if name == "Optional" else _meaning(frame, parts[0], at)
    if name == "Union":
        out = Value()
        for part in parts:
            out = join(out, _meaning(frame, part, at))
        return out
    if name in {"Tuple", "tuple"} and parts and not (isinstance(parts[-1], ast.Constant) and parts[-1].value is ...):
        return of(Tuple(tuple(_meaning(frame, part, at) for part in parts)))
    if name in {"Dict", "dict", "Mapping", "MutableMapping", "OrderedDict", "DefaultDict"} and len(parts) == 2:
        made = Mapping(frame.place(at or node), frame.scope.number)
        frame.engine.heap.write(made, KEYS, PYTHON)
        frame.engine.heap.write(made, ANY, _meaning(frame, parts[1], at))
        return of(made)
    if name in {"List", "list", "Sequence", "Iterable", "Iterator", "Generator", "Tuple", "tuple"} and parts:
        return of(Stream(_meaning(frame, parts[0], at)))
    if (
        name in {"Float", "Int", "Bool", "Shaped", "Num", "Complex", "Real", "Inexact", "Key", "UInt8", "Int32"}
        and parts
    ):
        value = frame.engine.evaluate(frame, head)
        if any(isinstance(o, Library) and o.name.startswith("jaxtyping.") for o in value.objects):
            return _meaning(frame, parts[0], at)
    if name == "NDArray":
        return Value(Kind.NUMPY, unknown=True, origin=Origin(frame.place(at or node), "annotated as NumPy", None, True))
    return UNKNOWN

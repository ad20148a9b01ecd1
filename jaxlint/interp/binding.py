"""Arguments bound to the parameters of a function."""

import ast

from jaxlint.interp.frames import Arguments, Frame
from jaxlint.interp.guessing import guess
from jaxlint.interp.heap import ANY, KEYS, base_of, element_of, field_names, read, values_of
from jaxlint.interp.joining import join
from jaxlint.interp.program import FunctionInfo, Parameter
from jaxlint.interp.values import CALLEE, NOTHING, UNKNOWN, Function, Mapping, Stream, Tuple, Value, of
from jaxlint.kinds import Kind


def bind(frame: Frame, node: ast.AST, info: FunctionInfo, function: Function, arguments: Arguments) -> dict[str, Value]:
    """The values of a function's parameters for these arguments."""
    bound: dict[str, Value] = {}
    positional = [p for p in info.parameters if p.kind == "positional"]
    names = {p.name for p in info.parameters if p.kind in {"positional", "keyword"} and not p.unnamed}
    star = next((p for p in info.parameters if p.kind == "star"), None)
    double = next((p for p in info.parameters if p.kind == "double-star"), None)
    extra: list[Value] = []
    extra_known = True
    leftovers: dict[str, Value] = {}
    spread: Value | None = None
    open_keywords = False
    at = 0
    for a in arguments:
        if a.star == "*":
            element = element_of(frame.engine.heap, a.value)
            spread = element if spread is None else join(spread, element)
            extra_known = False
        elif a.star == "**":
            under_names, rest = _unpacked(frame, a.value)
            for key, value in under_names.items():
                (bound if key in names else leftovers)[key] = value
            if rest is not None:
                open_keywords = True
                leftovers[ANY] = join(leftovers.get(ANY, NOTHING), rest)
        elif a.keyword is not None:
            if a.keyword in names:
                bound[a.keyword] = a.value
            else:
                leftovers[a.keyword] = a.value
        elif spread is not None:
            spread = join(spread, a.value)
        elif at < len(positional):
            bound[positional[at].name] = a.value
            at += 1
        else:
            extra.append(a.value)
    for p in info.parameters:
        if p.kind in {"positional", "keyword"} and p.name not in bound:
            if spread is not None and p.kind == "positional":
                # How many there are is not known: what has a default may be left to it.
                default = NOTHING if p.default is None else _default(frame, info, function, p)
                further = guess(spread, frame.origin(node, "one of many arguments"))
                bound[p.name] = spread if p.default is None else join(default, further)
            elif p.unnamed or (open_keywords and double is not None and p.default is not None):
                # Keywords of unknown names go where such are collected, not to a setting of this name.
                bound[p.name] = _default(frame, info, function, p)
            elif open_keywords:
                default = _default(frame, info, function, p)
                # Of keywords whose names are not known any may be meant, and most likely another one.
                named = guess(leftovers.get(ANY, UNKNOWN), frame.origin(node, "a keyword of an unknown name"))
                bound[p.name] = join(default, named) if p.default else UNKNOWN
            else:
                bound[p.name] = _default(frame, info, function, p)
    if star is not None:
        if extra_known:
            bound[star.name] = of(Tuple(tuple(extra)))
        else:
            element = spread if spread is not None else UNKNOWN
            for v in extra:
                element = join(element, v)
            bound[star.name] = of(Stream(element))
    if double is not None:
        mapping = Mapping(frame.place(node), CALLEE)
        for key, value in leftovers.items():
            frame.engine.heap.write(mapping, key, value)
        if ANY in leftovers:
            frame.engine.heap.write(mapping, KEYS, Value(Kind.PYTHON))
        bound[double.name] = of(mapping)
    return bound


def takes(info: FunctionInfo, arguments: Arguments, *, completed: bool) -> bool:
    """False if the call raises, since more is given than the function takes, or less. `completed`: a decorator may add
    the rest, as that of a class may for its constructor."""
    kinds = {p.kind for p in info.parameters}
    if any(a.star for a in arguments):
        return True
    positional = [p.name for p in info.parameters if p.kind == "positional"]
    count = sum(a.keyword is None for a in arguments)
    if count > len(positional) and "star" not in kinds:
        return False
    named = {p.name for p in info.parameters if p.kind in {"positional", "keyword"} and not p.unnamed}
    given = {a.keyword for a in arguments if a.keyword is not None}
    if given & named & {*positional[:count]} or ("double-star" not in kinds and not given <= named):
        return False
    if completed or info.name == "__init__":
        return True
    needed = {p.name for p in info.parameters if p.kind in {"positional", "keyword"} and p.default is None}
    return needed <= {*positional[:count], *(given & named)}


def _unpacked(frame: Frame, value: Value) -> tuple[dict[str, Value], Value | None]:
    """What ``**value`` gives under names that are known, and what under others; None where there are none."""
    heap = frame.engine.heap
    if len(value.objects) != 1 or value.unknown or value.kind:
        return {}, element_of_mapping(frame, value)
    (obj,) = value.objects
    below = base_of(obj)
    if not isinstance(below, Mapping) or below.scope != CALLEE:
        return {}, element_of_mapping(frame, value)
    # What a function was given as keywords is there in any case; what else is stored in a dict may be there.
    named = {key: held for key in field_names(heap, obj) if (held := read(heap, obj, key)) is not None}
    return {key: held for key, held in named.items() if key not in {ANY, KEYS}}, named.get(ANY)


def element_of_mapping(frame: Frame, value: Value) -> Value:
    """The join of the values of a mapping that is unpacked by ``**``."""
    out = NOTHING
    for obj in value.objects:
        out = join(out, values_of(frame.engine.heap, obj) if isinstance(base_of(obj), Mapping) else UNKNOWN)
    if value.kind or value.unknown:
        out = join(out, Value(value.kind, unknown=value.unknown, origin=value.origin))
    return out


def _default(frame: Frame, info: FunctionInfo, function: Function, parameter: Parameter) -> Value:
    if parameter.default is None:
        return UNKNOWN
    default = frame.engine.heap.field(function, f"default {parameter.name}")
    return UNKNOWN if default is None else default

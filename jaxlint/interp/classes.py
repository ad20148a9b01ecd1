"""Classes of the project: attribute search along the bases, binding, and how instances are made."""

import ast

from jaxlint.interp import effects
from jaxlint.interp.annotations import field_meaning
from jaxlint.interp.engine import ClassRecord, Engine
from jaxlint.interp.frames import Argument, Arguments, Frame, Mode
from jaxlint.interp.heap import INSTANCES, base_of, element_of
from jaxlint.interp.heat import Pace
from jaxlint.interp.joining import join
from jaxlint.interp.models import FunctionModel
from jaxlint.interp.program import FunctionInfo
from jaxlint.interp.values import (
    NOTHING,
    UNKNOWN,
    Class,
    Function,
    Instance,
    Library,
    Method,
    Object,
    Partial,
    Property,
    Stream,
    Transformed,
    Value,
    of,
    replace,
)
from jaxlint.kinds import Kind

MAX_BASES = 128
MAKING_DEPTH = 3
"""So deep the calls of a constructor are told apart by the instance that they make, as those of a decorator are."""


def mro(engine: Engine, cls: Class) -> list[Class | Library]:
    """The class, its project bases and library bases, in Python's order."""
    known = engine.bases_of.get(cls)
    if known is not None:
        return known
    engine.bases_of[cls] = [cls]  # a class that is its own base ends here
    record = engine.classes.get(cls)
    bases: list[Class | Library] = []
    for value in () if record is None else record.bases:
        bases.extend(o for o in value.objects if isinstance(o, Class | Library))
    orders: list[list[Class | Library]] = [mro(engine, b) if isinstance(b, Class) else [b] for b in bases]
    out = engine.bases_of[cls] = [cls, *_merged([*orders, bases])][:MAX_BASES]
    return out


def _merged(orders: list[list[Class | Library]]) -> list[Class | Library]:
    """Python's merge of the orders of bases; where there is none, the first comes first all the same."""
    out: list[Class | Library] = []
    while orders := [rest for order in orders if (rest := [b for b in order if b not in out])]:
        later = {b for order in orders for b in order[1:]}
        out.append(next((order[0] for order in orders if order[0] not in later), orders[0][0]))
    return out


def find_in_class(engine: Engine, cls: Class, name: str) -> Value | None:
    """An attribute found on the class or the nearest project base; None where there is none."""
    for base in mro(engine, cls):
        if isinstance(base, Class):
            record = engine.classes.get(base)
            if record is not None:
                engine.heap.note_read((record.scope.number, name))
            value = None if record is None else record.scope.names.get(name)
            if value is not None:
                return value
    return None


def class_attribute(frame: Frame, node: ast.AST, found: Value, receiver: Value | None, cls: Class) -> Value:
    """What an attribute of a class is when reached through an instance (`receiver`) or the class itself (None)."""
    out = NOTHING
    for obj in found.objects:
        match obj:
            case Function() | Transformed() if receiver is not None:
                out = join(out, of(Method(obj, receiver)))
            case Property(function, "method") if receiver is not None:
                partials = [p for p in function.objects if isinstance(p, Partial)]
                bound = (replace(p, function=_methods(p.function, receiver)) for p in partials)
                out = join(out, of(*bound))
            case Property(function, "static"):
                out = join(out, function)
            case Property(function, "class"):
                for inner in function.objects:
                    out = join(out, of(Method(inner, of(cls))))
            case Property(function, how) if receiver is not None and how in {"property", "cached"}:
                for inner in function.objects:
                    kept = how == "cached" and lasts(frame.engine, receiver)
                    with frame.at_pace(Pace.SINGLE if kept else Pace.ONCE):
                        made = frame.engine.call(frame, node, of(Method(inner, receiver)), ())
                    if how == "cached":
                        made = _kept(frame, inner, receiver, made)
                    out = join(out, made)
            case Property(function, _):
                out = join(out, function)
            case _:
                out = join(out, of(obj))
    if found.kind or found.unknown:
        out = join(out, Value(found.kind, unknown=found.unknown, const=found.const, origin=found.origin))
    return out


def _methods(functions: Value, receiver: Value) -> Value:
    return of(*(Method(o, receiver) for o in functions.objects))


def _kept(frame: Frame, function: Object, receiver: Value, made: Value) -> Value:
    """A cached property's value: whatever any access computed, under a trace or not."""
    heap = frame.engine.heap
    out = made
    for obj in receiver.objects:
        heap.write(obj, f"cached {function!r}", made)
        out = join(out, heap.field(obj, f"cached {function!r}") or made)
    if out.kind & Kind.TRACER and not frame.within_trace:
        return replace(out, kind=out.kind & ~Kind.DEVICE)  # the tracer that a trace left there is found by everybody
    return out


def all_fields(engine: Engine, cls: Class) -> list[tuple[str, ast.expr | None, Class]]:
    """The annotated fields of a dataclass-like class, those of its bases first."""
    out: dict[str, tuple[str, ast.expr | None, Class]] = {}
    for base in reversed(mro(engine, cls)):
        if isinstance(base, Class) and base in engine.classes:
            for name, annotation in engine.classes[base].fields:
                out[name] = (name, annotation, base)
    return list(out.values())


def is_field(engine: Engine, cls: Class, name: str) -> bool:
    """True of a name that the nearest class which has it declares as a field."""
    for base in mro(engine, cls):
        record = engine.classes.get(base) if isinstance(base, Class) else None
        if record is not None and name in record.scope.names:
            return any(field == name for field, _ in record.fields)
    return False


def hook_of(engine: Engine, cls: Class, info: FunctionInfo) -> FunctionModel | None:
    """What a library does with a method that a class has for it: one of this name that the library itself calls, with
    as many arguments as this one takes."""
    needed = sum(p.kind == "positional" and p.default is None for p in info.parameters) - 1
    for base in mro(engine, cls):
        if isinstance(base, Library):
            method = f"{engine.models.canonical(base.name)}.{info.name}"
            model = engine.models.function(method) if engine.models.exact(method) else None
            if model is not None and model.looped and model.takes in {None, needed}:
                return model
    return None


def given_fields(engine: Engine, cls: Class) -> list[tuple[str, Class]]:
    """The fields that the constructor of a dataclass-like class takes, each with the class that declares it."""
    return [(name, by) for name, _, by in all_fields(engine, cls) if name not in engine.classes[by].not_given]


def instantiate(frame: Frame, node: ast.AST, cls: Class, arguments: Arguments) -> Value:
    """Call a project class: an instance by the place where it is made, its __init__ or its fields run."""
    engine = frame.engine
    engine.budget.step()
    record = engine.classes.get(cls)
    if record is None:
        return UNKNOWN
    instance = Instance(cls, frame.place(node), frame.scope.number)
    effects.forget(frame, instance)
    if is_looped(frame):
        engine.repeated.add(instance)
    if is_looped(frame, also_items=True):
        engine.several.add(instance)
    if instance not in record.instances:
        record.instances.append(instance)
        engine.heap.note_change((cls, INSTANCES))
        for base in mro(engine, cls):
            if isinstance(base, Class):
                engine.instances.setdefault(base, []).append(instance)
                engine.heap.note_change((base, INSTANCES))
    making, engine.making = engine.making, max(engine.making, frame.depth + MAKING_DEPTH)
    try:
        return _constructed(frame, node, instance, arguments)
    finally:
        engine.making = making


_REPEATED = {Pace.LOOPED, Pace.LOOPED_GATED, Pace.ITEMS}


def is_looped(frame: Frame | None, *, also_items: bool = False) -> bool:
    """True in a loop, of a caller perhaps; or, `also_items`, in a comprehension or what is called for each item."""
    while frame is not None:
        if frame.loops or (also_items and (frame.own or frame.pace in _REPEATED)):
            return True
        frame = frame.caller
    return False


def lasts(engine: Engine, receiver: Value | None) -> bool:
    """True of an instance that no loop makes anew: what it keeps is made once."""
    return receiver is not None and not any(base_of(o) in engine.repeated for o in receiver.objects)


def _constructed(frame: Frame, node: ast.AST, instance: Instance, arguments: Arguments) -> Value:
    """Run what makes an instance: its __init__, or its fields and what follows them."""
    engine, cls = frame.engine, instance.cls
    receiver = of(instance)
    init = find_in_class(engine, cls, "__init__")
    if init is None and arguments and _is_what_it_holds(engine, cls):
        return arguments[0].value
    if init is not None:
        # A class is no method: one that stands there was mixed up with what another use of a decorator returned.
        methods = replace(init, objects=frozenset(o for o in init.objects if not isinstance(o, Class)))
        engine.call(frame, node, class_attribute(frame, node, methods, receiver, cls), arguments)
        return receiver
    _fill_fields(frame, node, instance, arguments)
    after = find_in_class(engine, cls, "__post_init__")
    if after is not None:
        engine.call(frame, node, class_attribute(frame, node, after, receiver, cls), ())
    if any(isinstance(b, Library) and b.name in {"flax.linen.Module"} for b in mro(engine, cls)):
        setup = find_in_class(engine, cls, "setup")
        if setup is not None:
            engine.call(_later(frame), node, class_attribute(frame, node, setup, receiver, cls), ())
    return receiver


def _later(frame: Frame) -> Frame:
    """A frame for what runs in the first init or apply, compiled or not, wherever the instance is made."""
    if frame.staged:
        return frame
    return replace(frame, activation=frame.engine.outside(frame.module), mode=Mode.OPEN, pace=Pace.ONCE)


def _is_what_it_holds(engine: Engine, cls: Class) -> bool:
    """True of a class derived from one whose instances are used as the array that they are made of."""
    models = (engine.models.function(b.name) for b in mro(engine, cls) if isinstance(b, Library))
    return any(m is not None and m.handler is None and m.returns == "arg 0" for m in models)


def _fill_fields(frame: Frame, node: ast.AST, instance: Instance, arguments: Arguments) -> None:
    engine = frame.engine
    fields = {name: engine.classes[by].converters.get(name) for name, by in given_fields(engine, instance.cls)}
    names = list(fields)

    def fill(name: str, value: Value) -> None:
        converter = fields.get(name)
        if converter is not None:
            value = engine.call(frame, node, converter, [Argument(value)])
        engine.heap.write(instance, name, value)

    at = 0
    for a in arguments:
        if a.keyword is not None:
            fill(a.keyword, a.value)
        elif a.star:
            for name in names[at:] if a.star == "*" else names:
                fill(name, element_of(engine.heap, a.value) if a.star == "*" else UNKNOWN)
        elif at < len(names):
            fill(names[at], a.value)
            at += 1


def make_record(frame: Frame, node: ast.AST, names: tuple[str, ...]) -> Value:
    """A class with the given fields and nothing else: namedtuple and its like."""
    engine = frame.engine
    cls = Class(frame.place(node), frame.scope.number)
    if cls not in engine.classes:
        scope = engine.new_scope(frame.scope.number, "class")
        fields = tuple((n, None) for n in names)
        engine.add_class(ClassRecord(cls, node, frame.module, scope, (), fields))
        engine.heap.declare(cls, frozenset())
    return of(cls)


def instantiate_unknown(frame: Frame, node: ast.AST, cls: Class) -> None:
    """Make an instance of a class that the project never makes: its parameters are unknown."""
    engine = frame.engine
    init = find_in_class(engine, cls, "__init__")
    arguments: list[Argument] = []
    if init is not None:
        arguments = [Argument(Value(objects=frozenset((Stream(UNKNOWN),))), None, None, "*")]
    instantiate(frame, node, cls, arguments)
    if init is None:
        instance = Instance(cls, frame.place(node), frame.scope.number)
        for name, annotation, owner in all_fields(engine, cls):
            value = UNKNOWN
            if annotation is not None:
                value = field_meaning(frame, engine.classes[owner], annotation)
            engine.heap.write(instance, name, value)


def made_elsewhere(frame: Frame, cls: Class) -> list[Object]:
    """Instances of the classes below a class, or of itself, as a library makes them, whatever the project makes."""
    engine = frame.engine
    below = [c for c in engine.classes if cls in mro(engine, c)]
    last = [c for c in below if not any(c in mro(engine, other)[1:] for other in below)]
    found: list[Object] = []
    for c in last[:2]:
        node = engine.classes[c].node
        instantiate_unknown(frame, node, c)
        found += [o for o in receivers(engine, c) if isinstance(o, Instance) and o.place == frame.place(node)]
    return found


def receivers(engine: Engine, cls: Class) -> list[Object]:
    """The known instances of a class or of a class below it."""
    engine.heap.note_read((cls, INSTANCES))
    return engine.instances.get(cls, [])

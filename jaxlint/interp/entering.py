"""Functions that nobody calls, entered with what annotations and defaults suggest."""

import ast

from jaxlint.interp.annotations import annotated
from jaxlint.interp.calls import call_function
from jaxlint.interp.engine import Engine
from jaxlint.interp.fixtures import given_by_pytest
from jaxlint.interp.frames import Argument, Frame, Mode
from jaxlint.interp.heat import Pace
from jaxlint.interp.models import FunctionModel
from jaxlint.interp.program import FunctionInfo
from jaxlint.interp.values import (
    UNKNOWN,
    Function,
    Method,
    Partial,
    Property,
    Stream,
    Transformed,
    Value,
    of,
    replace,
)
from jaxlint.kinds import Kind


def call_unknown_arguments(frame: Frame, node: ast.AST, info: FunctionInfo, function: Function, mode: Mode) -> None:
    """Run a function that nobody calls, its parameters as their annotations and defaults suggest."""
    call_function(frame, node, function, unknown_arguments(frame, info, function), mode=mode)


def unknown_arguments(
    frame: Frame, info: FunctionInfo, function: Function, asked: frozenset[Function] = frozenset()
) -> list[Argument]:
    """Arguments of which only annotations, defaults and pytest tell something. `asked` are the tests and fixtures for
    which this one is asked, so that one that asks for itself ends."""

    def of_fixture(fixture: FunctionInfo, made: Function) -> list[Argument]:
        return [] if made in asked else unknown_arguments(frame, fixture, made, asked | {made})

    arguments: list[Argument] = []
    for p in info.parameters:
        if p.kind in {"positional", "keyword"}:
            given = given_by_pytest(frame, info, function, p.name, of_fixture) if p.default is None else None
            value = annotated(frame, info, p, function) if given is None else given
            arguments.append(Argument(value, None, p.name))
        elif p.kind == "star":
            arguments.append(Argument(of(Stream(UNKNOWN)), None, None, "*"))
    return arguments


def call_transformed_unknown(
    frame: Frame, node: ast.AST, info: FunctionInfo, function: Function, made: Transformed
) -> None:
    """Run a compiled or transformed function that nobody calls: its body is traced."""
    partial = next((o for o in made.function.objects if isinstance(o, Partial)), None)
    skipped = 0 if partial is None else len(partial.arguments)
    given = set() if partial is None else {name for name, _ in partial.keywords}
    arguments = [
        replace(a, keyword=None) if p.kind == "positional" else a
        for a, p in zip(unknown_arguments(frame, info, function), info.parameters, strict=False)
        # What has a default is left to it: a setting that nobody gives is no tracer.
        if p.default is None and p.name not in given
    ][skipped:]
    exact = made if partial is not None else replace(made, function=of(function))
    before, frame.mode = frame.mode, Mode.OPEN
    frame.engine.call(frame, node, of(exact), arguments)
    frame.mode = before
    frame.activation.eager = False
    frame.activation.sites.clear()


_KINDS = {"device": Kind.DEVICE, "numpy": Kind.NUMPY, "python": Kind.PYTHON}
_BROUGHT = {
    "device": "the library gives device arrays", "numpy": "the library gives host data",
    "python": "the library gives host data",
}  # fmt: skip


def call_hook(
    frame: Frame, node: ast.AST, info: FunctionInfo, function: Function, receiver: Value, hook: FunctionModel
) -> None:
    """Run a method that a library calls at each of its steps, outside of any trace."""
    arguments = unknown_arguments(frame, info, function)
    arguments[:1] = [replace(a, value=receiver) for a in arguments[:1] if not a.star]
    brought = {name: Value(_KINDS[word], origin=frame.origin(node, _BROUGHT[word])) for name, word in hook.brings}
    given = [replace(a, value=brought.get(a.keyword or "", a.value)) for a in arguments]
    bound = frame.engine.attribute(frame, node, receiver, info.name)
    with frame.at_pace(Pace.LOOPED):
        if any(isinstance(o, Method) and isinstance(o.function, Transformed) for o in bound.objects):
            frame.engine.call(frame, node, bound, given[1:])
            frame.activation.sites.clear()  # who calls it is no place in the program
        else:
            call_function(frame, node, function, given, mode=Mode.EAGER)


def call_method_unknown(frame: Frame, node: ast.AST, info: FunctionInfo, function: Function, receiver: Value) -> None:
    """Run a method that nobody calls on an instance, its other parameters as their annotations suggest."""
    bound = frame.engine.attribute(frame, node, receiver, info.name)
    if any(isinstance(o, Method) and isinstance(o.function, Transformed) for o in bound.objects):
        before, frame.mode = frame.mode, Mode.OPEN
        frame.engine.call(frame, node, bound, unknown_arguments(frame, info, function)[1:])
        frame.mode = before
        frame.activation.eager = False
        frame.activation.sites.clear()
        return
    arguments = unknown_arguments(frame, info, function)
    if arguments and not arguments[0].star and not _is_static(frame.engine, info, function):
        arguments[0] = replace(arguments[0], value=receiver)
    call_function(frame, node, function, arguments, mode=Mode.OPEN)


def _is_static(engine: Engine, info: FunctionInfo, function: Function) -> bool:
    value = engine.scopes[function.scope].names.get(info.name)
    return value is not None and any(isinstance(o, Property) and o.how == "static" for o in value.objects)

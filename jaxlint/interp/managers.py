"""With statements: what their context managers give, hold and swallow."""

import ast

from jaxlint.interp import guards
from jaxlint.interp.assignment import assign
from jaxlint.interp.devices import CPU, placement_of
from jaxlint.interp.engine import statement
from jaxlint.interp.flow import execute
from jaxlint.interp.frames import Frame, Guard, Mode
from jaxlint.interp.generators import note_suspension
from jaxlint.interp.heap import element_of
from jaxlint.interp.joining import join
from jaxlint.interp.syntax import last_name
from jaxlint.interp.values import (
    NOTHING,
    NULL,
    Function,
    Instance,
    LibraryObject,
    Value,
    of,
)


@statement(ast.With, ast.AsyncWith)
def _with(frame: Frame, node: ast.AST) -> None:
    assert isinstance(node, ast.With | ast.AsyncWith)
    held = frame.guards
    handlers = len(frame.handlers)
    disabled, mode, on_cpu = frame.jit_disabled, frame.mode, frame.on_cpu
    for item in node.items:
        value = frame.engine.evaluate(frame, item.context_expr)
        if isinstance(node, ast.AsyncWith):
            note_suspension(frame, item.context_expr)
        entered = _entered(frame, item.context_expr, value)
        if any(isinstance(o, LibraryObject) and o.name == "jax.disable_jit" for o in value.objects):
            frame.jit_disabled = frame.jit_disabled or _is_asked(frame, item.context_expr)
        if any(isinstance(o, LibraryObject) and o.name == "jax.ensure_compile_time_eval" for o in value.objects):
            frame.mode = Mode.EAGER  # what depends on no tracer is computed at once
        frame.on_cpu = _default_is_cpu(value, frame.on_cpu)
        guard = guards.entered(frame, item.context_expr, value)
        if guard is not None:
            frame.guards = (*frame.guards, guard)
        frame.guards = (*frame.guards, *_managed(frame, value))
        suppressing = guards.suppressing(frame, item.context_expr, value)
        if suppressing is not None:
            frame.handlers.append(suppressing)
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, entered)
    if len(frame.guards) > len(held):
        guards.body_of_guard(frame, node)
    execute(frame, node.body)
    frame.guards = held
    frame.jit_disabled, frame.mode, frame.on_cpu = disabled, mode, on_cpu
    del frame.handlers[handlers:]
    if any(_swallows(item.context_expr) for item in node.items):
        frame.state.alive = True


def _default_is_cpu(value: Value, before: bool) -> bool:
    """True within ``jax.default_device`` of the host's processor, if it is that in any case."""
    for obj in value.objects:
        if isinstance(obj, LibraryObject) and obj.name == "jax.default_device":
            (device,) = obj.parts
            each = [of(o) for o in device.objects if o != NULL] or [device]
            return not device.unknown and all(placement_of(one) == CPU for one in each)
    return before


def _is_asked(frame: Frame, node: ast.expr) -> bool:
    """True of ``disable_jit()`` and ``disable_jit(True)``; what an option decides is as good as off."""
    if not isinstance(node, ast.Call) or not (node.args or node.keywords):
        return True
    given = node.args[0] if node.args else node.keywords[0].value
    return frame.engine.evaluate(frame, given).const[:1] == (True,)


def _managed(frame: Frame, value: Value) -> tuple[Guard, ...]:
    """The guards that a context manager of the project holds around the body."""
    out: tuple[Guard, ...] = ()
    for obj in value.objects:
        if isinstance(obj, LibraryObject) and obj.name == "contextlib.manager" and len(obj.parts) > 1:
            for inner in obj.parts[1].objects:
                if isinstance(inner, Function):
                    out += frame.engine.managers.get(inner.place, ())
    return out


def _swallows(node: ast.expr) -> bool:
    func = node.func if isinstance(node, ast.Call) else node
    return last_name(func) in {"suppress", "raises", "assertRaises", "assertRaisesRegex"}


def _entered(frame: Frame, node: ast.AST, value: Value) -> Value:
    out = NOTHING
    for obj in value.objects:
        match obj:
            case Instance():
                method = frame.engine.attribute(frame, node, of(obj), "__enter__")
                out = join(out, frame.engine.call(frame, node, method, ()) if method.objects else of(obj))
            case LibraryObject("contextlib.manager", parts, _):
                out = join(out, element_of(frame.engine.heap, parts[0]))
            case _:
                out = join(out, of(obj))
    if value.kind or value.unknown:
        out = join(out, Value(value.kind, unknown=value.unknown))
    return out

"""Names: how they are read and bound. Python's rules, on joined values where a name is seen from elsewhere."""

import builtins

from jaxlint.interp.frames import Frame
from jaxlint.interp.states import Scope
from jaxlint.interp.values import UNKNOWN, Library, Value, of


def read_name(frame: Frame, name: str) -> Value:
    """The value of a name in the frame's present state, from the scopes around it, or a builtin."""
    value = frame.state.names.get(name)
    if value is not None:
        rebound = frame.module.rebound if frame.info is None else frame.info.rebound
        if name in rebound and name not in frame.own:
            # A function called in between may have assigned it.
            return frame.scope.names.get(name, value)
        return value
    engine = frame.engine
    scope: Scope | None = frame.scope
    if scope is not None and scope.kind == "class":
        value = scope.names.get(name)
        if value is not None:
            return value
    if frame.info is not None and name in frame.info.local_names and scope is not None and name not in scope.names:
        return UNKNOWN
    last = frame.module.imported_again.get(name, 0)
    value = engine.look_up(scope, name, at_end=frame.info is None or frame.info.node.lineno > last)
    if value is not None:
        return value
    builtin = f"builtins.{name}"
    if engine.models.function(builtin) is not None or name in _CONSTANTS:
        return of(Library(builtin))
    return UNKNOWN


_ERRORS = {
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
}
_CONSTANTS = {"__name__", "__file__", "__debug__", "NotImplemented"} | _ERRORS


def owner(frame: Frame, name: str) -> Scope:
    """The scope in which a name declared global or nonlocal is bound."""
    engine = frame.engine
    scope = frame.scope
    while scope.parent is not None:
        scope = engine.scopes[scope.parent]
        if scope.kind == "module" or (scope.kind == "function" and name in scope.names):
            break
    return scope


def assign_name(frame: Frame, name: str, value: Value) -> None:
    """Bind a name here, and for others where they may see it."""
    info = frame.info
    own = name in frame.own
    if not own and info is not None and name in info.outer_names:
        frame.engine.publish(owner(frame, name), name, value)
        frame.state.names.pop(name, None)
        return
    names = frame.state.names
    names[name] = value
    within = f"{name}."
    for key in [k for k in names if k.startswith(within)]:
        del names[key]
    if frame.own[name] if own else info is None or (frame.shared and name in info.captured):
        frame.engine.publish(frame.scope, name, value)


def share_names(frame: Frame) -> None:
    """A function is made here: it sees the names that it uses as they are now and as they will be, not as they were."""
    if frame.info is None or frame.shared:
        return
    frame.shared = True
    for name in frame.info.captured:
        value = frame.state.names.get(name)
        if value is not None:
            frame.engine.publish(frame.scope, name, value)

"""What is raised, and whether a handler around takes it: what nobody takes ends the loops that it is raised in."""

import ast
import builtins

from jaxlint.interp.classes import mro
from jaxlint.interp.frames import Attempt, Frame
from jaxlint.interp.syntax import Suite
from jaxlint.interp.values import Class, Library

Raised = tuple[Class | type, ...]
"""A class that is raised, with all of its bases."""


def is_taken(frame: Frame, raised: Raised | None) -> bool:
    """True if a handler around, within the innermost loop, takes what is raised and does not raise again, as far as
    the classes tell; None is a class that is not known."""
    for attempt in reversed(frame.trying):
        for handler in attempt.node.handlers:
            again = _raises(handler.body)
            if raised is None:
                if not again:
                    return True
                continue
            takes = _takes(attempt, handler, raised)
            if takes is False:
                continue
            if not again:
                return True
            if takes:
                raised = raised if _is_bare(handler.body) else None
                break
    return False


def raised_by(frame: Frame, node: ast.Raise) -> Raised | None:
    """The class that a statement raises; None where it is not known."""
    named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    if not frame.trying or not isinstance(named, ast.Name | ast.Attribute):
        return None
    found = _classes(frame, named)
    return _with_bases(frame, found[0]) if found is not None and len(found) == 1 else None


def _takes(attempt: Attempt, handler: ast.ExceptHandler, raised: Raised) -> bool | None:
    """True or False where the classes tell whether a handler takes what is raised."""
    if isinstance(attempt.node, ast.TryStar):
        return None  # of a group, what is in it
    if handler.type is None:
        return True
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    known = True
    for part in parts:
        found = _classes(attempt.frame, part) if isinstance(part, ast.Name | ast.Attribute) else None
        if found is None:
            known = False
        elif any(cls in raised for cls in found):
            return True
    return False if known else None


def _classes(frame: Frame, node: ast.expr) -> list[Class | type] | None:
    """The classes that a name may be, or those of a tuple under it; None where one of them is not known."""
    value = frame.engine.evaluate(frame, node)
    items = frame.engine.unpack_star(value) or (value,)
    out: list[Class | type] = []
    for item in items:
        if item.kind or item.unknown or not item.objects:
            return None
        for obj in item.objects:
            found = _builtin(frame, obj) if isinstance(obj, Library) else obj
            if not isinstance(found, Class | type):
                return None
            out.append(found)
    return out


def _builtin(frame: Frame, obj: Library) -> type | None:
    module, _, name = frame.engine.models.canonical(obj.name).partition(".")
    found = getattr(builtins, name, None) if module == "builtins" else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _with_bases(frame: Frame, cls: Class | type) -> Raised | None:
    """A class with its bases; None where one of them is not known."""
    if isinstance(cls, type):
        return cls.__mro__
    out: list[Class | type] = []
    for base in mro(frame.engine, cls):
        if isinstance(base, Library):
            found = _builtin(frame, base)
            if found is None:
                return None
            out.extend(found.__mro__)
            continue
        record = frame.engine.classes.get(base)
        if record is None or any(v.unknown or v.kind or not v.objects for v in record.bases):
            return None
        out.append(base)
    return tuple(out)


def _raises(body: Suite) -> bool:
    """True of a handler that raises again, in other words perhaps: the program does not go on behind it."""
    return isinstance(body[-1], ast.Raise)


def _is_bare(body: Suite) -> bool:
    """True of a handler that raises what it took."""
    last = body[-1]
    return isinstance(last, ast.Raise) and last.exc is None

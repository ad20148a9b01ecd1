"""Keeps the frames of the witness from whoever looks at the stack while it calls, or at the traceback afterwards.

Code that calls on behalf of the program bears a file name like that of Python's import system: `warnings` and `logging`
pass over such frames when they look for the caller. Errors lose the frames on their way out.
"""

import contextlib
import functools
import os
from collections.abc import Callable
from types import CodeType, TracebackType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# A chain of causes longer than this is not followed.
CHAIN = 16
# Python passes over frames of files whose names hold both "importlib" and "_bootstrap".
NAME = "<frozen importlib._bootstrap of jaxlint>"


def unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; whoever it calls seems to be called by its caller, and an error seems to come from there."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            # A bare `raise` adds no entry for its own frame.
            error.__traceback__ = _others(error.__traceback__)
            raise

    passed_over(call)
    return call


def passed_over(function: Any) -> Any:
    """The function, its code under the name that `warnings` passes over."""
    if hasattr(function, "__wrapped__"):
        passed_over(function.__wrapped__)
    if isinstance(getattr(function, "__code__", None), CodeType):
        function.__code__ = _renamed(function.__code__)
    return function


def release(error: BaseException) -> None:
    """Lets an error that nobody else sees go of the frames that it went through. jax ties it to one of them: the
    program's variables would live until garbage is collected."""
    todo: list[BaseException | None] = [error]
    for _ in range(CHAIN):
        seen = todo.pop() if todo else None
        if seen is not None:
            _clear_frames(seen.__traceback__)
            seen.__traceback__ = None
            todo += [seen.__cause__, seen.__context__]


def _clear_frames(trace: TracebackType | None) -> None:
    while trace is not None:
        with contextlib.suppress(RuntimeError):  # it still runs
            trace.tb_frame.clear()
        trace = trace.tb_next


def _renamed(code: CodeType) -> CodeType:
    if not code.co_filename.startswith(HERE):
        return code
    parts = tuple(_renamed(part) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=NAME, co_consts=parts)


def _others(trace: TracebackType | None) -> TracebackType | None:
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith((HERE, NAME)):
            kept.append(trace)
        trace = trace.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=False):
        entry.tb_next = following
    return kept[0] if kept else None

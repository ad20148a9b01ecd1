"""Work that recurses deeply, on a stack that bears it. Knows nothing of what the work is."""

import sys
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_STACK_BYTES = 256 * 1024 * 1024
_FRAMES = 100_000
_one_at_a_time = threading.Lock()
_here = threading.local()


class _Outcome(Generic[T]):
    value: T
    error: BaseException | None = None


def on_a_deep_stack(work: Callable[[], T]) -> T:
    """The result of `work`, or its exception, run in a thread with a deep stack and a high recursion limit.

    The stack is address space, not memory, until it is used. Within such work it is a plain call.
    """
    if getattr(_here, "deep", False):
        return work()
    outcome: _Outcome[T] = _Outcome()

    def run() -> None:
        _here.deep = True
        try:
            outcome.value = work()
        except BaseException as error:  # noqa: BLE001 - it is the caller's, and raised there
            outcome.error = error

    # Stack size and recursion limit belong to the process: two threads that set and restore them would mix them up.
    with _one_at_a_time:
        stack, frames = threading.stack_size(_STACK_BYTES), sys.getrecursionlimit()
        sys.setrecursionlimit(max(frames, _FRAMES))
        try:
            thread = threading.Thread(target=run, name="jaxlint-deep-stack", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                raise MemoryError("no address space for a deep stack") from None
            thread.join()
        finally:
            sys.setrecursionlimit(frames)
            threading.stack_size(stack)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value

"""Python's collector of cycles, which has nothing to find while trees are read and followed."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Without the collector: a tree is millions of new objects and no garbage, so that collecting meanwhile takes half
    as long as parsing; what an analysis makes is kept to its end all the same."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

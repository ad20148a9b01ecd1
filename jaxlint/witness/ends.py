"""The ends of a process that pass by `atexit`: what is to be told before is told there, too.

Needs the standard library alone.
"""

import atexit
import contextlib
import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .unseen import passed_over, unseen

# These end a process, or its program, at once.
AT_ONCE = ("_exit", "abort", "execv", "execve")


class Ends:
    """Calls `finish` before this process ends, and `settle` before it may be killed by its parent: both of them again
    and again. What only a signal ends is not seen."""

    def __init__(self, finish: Callable[[], None], settle: Callable[[], None]) -> None:
        self.finish, self.settle = finish, settle

    def watch(self, after_import: Callable[[str, Callable[[ModuleType], None]], None]) -> None:
        """Puts the hooks in place; `after_import` awaits a module."""
        atexit.register(self.finish)
        for name in AT_ONCE:
            if hasattr(os, name):
                setattr(os, name, self.before(getattr(os, name)))
        after_import("multiprocessing.util", self.of_children)
        after_import("multiprocessing.pool", self.of_pools)
        after_import("IPython.core.interactiveshell", self.of_shells)

    def before(self, end: Callable[..., Any]) -> Callable[..., Any]:
        """The same end, after the last word."""

        @unseen
        @functools.wraps(end)
        def ended(*arguments: Any, **more: Any) -> Any:
            with contextlib.suppress(Exception):
                self.finish()
            return end(*arguments, **more)

        # Who pickles it does so by its name.
        ended.__module__ = "os"
        return ended

    def of_children(self, module: ModuleType) -> None:
        """A child of multiprocessing leaves without `atexit`."""
        module.Finalize(None, self.finish, exitpriority=-100)
        register = getattr(module, "register_after_fork", None)
        if register is not None:
            register(self, lambda _: module.Finalize(None, self.finish, exitpriority=-100))

    def of_pools(self, module: ModuleType) -> None:
        """A pool kills its workers where its `with` ends: each result is preceded by what it took."""
        names: Any = module
        work = names.worker

        @unseen
        @functools.wraps(work)
        def worker(given: Any, results: Any, *rest: Any, **more: Any) -> Any:
            # Those of threads have no pipe, and no end of their own.
            if hasattr(results, "_reader"):
                results.put = self.after_settling(results.put)
            return work(given, results, *rest, **more)

        names.worker = worker

    def after_settling(self, put: Callable[[object], None]) -> Callable[[object], None]:
        """The same, when what is known is written."""

        @unseen
        def put_settled(result: object) -> None:
            self.settle()
            put(result)

        return put_settled

    def of_shells(self, module: ModuleType) -> None:
        """A kernel may be killed when its last cell is done, if it takes its time to leave."""
        shell: Any = module.InteractiveShell
        run = getattr(shell, "run_cell_async", None)
        if run is None:
            return

        @functools.wraps(run)
        async def run_cell_async(*arguments: Any, **more: Any) -> Any:
            try:
                return await run(*arguments, **more)
            finally:
                self.settle()

        shell.run_cell_async = passed_over(run_cell_async)

"""The record of this process, begun from inside it: what ``jaxlint.record`` and the pytest plugin stand on.

Unlike under ``jaxlint run``, jax may have been imported, and arrays made, long before. Only the doors in jax's Python
can be watched then; `virtual` has to be asked for before the first array. Nothing is written: who wants to know asks
`Inside.recording`. Importing this module imports nothing of jax, and neither does beginning to watch.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from types import ModuleType

from . import device, tracing, virtual
from .awaited import after_import
from .backends import AUTO, NAMES, SENTINEL
from .levels import Levels, Refused, refusal_in
from .passages import Passages
from .plugin import Table
from .recording import Recording

# Where this package and what lies above it are: none of their lines is the program's.
ABOVE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Inside:
    """What watches this process. `name` is the backend, known when jax has been imported; `reason` why it is not the
    one that was asked for."""

    def __init__(self, asked: str) -> None:
        self.asked, self.name, self.reason = asked, "", ""
        self.recording = Recording(None)
        self.recording.prefixes = (*self.recording.prefixes, ABOVE)
        self.levels = Levels({}, self.recording)
        self.is_trusted = False

    def set_levels(self, levels: "dict[str, str]") -> None:
        """Levels of the guard by direction for the whole process, now or when jax is imported."""
        self.levels = Levels(levels, self.recording)
        if self.name:
            self.levels.set()

    def begin(self, _module: ModuleType) -> None:
        """jax has been imported."""
        running = tracing.running()
        if running is not None:
            # The whole program is recorded already: what is noted there is read here.
            self.recording, self.levels, self.name = running.recording, running.levels, running.backends.name
            return
        self.recording.learn_packages()
        if self.asked in (AUTO, virtual.NAME) and virtual.is_serving(self.watch_table):
            self.name = virtual.NAME
            return
        self.name = nearest() if self.asked == AUTO else self.asked
        if self.name == virtual.NAME:
            virtual.start(self.replace, self.watch_table)
        elif self.name == SENTINEL:
            self.watch_doors()
        else:
            Passages(self.recording).note_device_fetches()
            tracing.note_deliveries(self.recording)
        self.levels.set()

    def refusing(self, directions: Sequence[str], explicit: bool) -> ExitStack:
        """Has the guard refuse transfers of this thread until what is given is closed. Imports jax. RuntimeError where
        the guard does not refuse what it must."""
        import jax

        self.require_trust()
        levels = ExitStack()
        for direction in directions:
            guard = getattr(jax, f"transfer_guard_{direction}")
            levels.enter_context(guard("disallow_explicit" if explicit else "disallow"))
        return levels

    def require_trust(self) -> None:
        """Asks the guard once for what it has to refuse: a fetch of a fresh array."""
        if self.is_trusted:
            return
        trouble = self.canary()
        if trouble is not None and self.name == device.NAME and self.asked == AUTO:
            self.replace("the program's arrays are on the CPU")
            trouble = self.canary()
        if trouble is not None:
            raise RuntimeError(f"the guard can not be relied on here: {trouble}")
        self.is_trusted = True

    def canary(self) -> str | None:
        """None, or what is wrong with the guard. Nothing of it gets into the record."""
        from .sentinel import canary

        return canary(self.recording.silently())

    def refusal_in(self, error: BaseException) -> Refused | None:
        """The guard's refusal in an error or in what caused it."""
        return refusal_in(error, self.recording)

    def watch_table(self, table: Table) -> None:
        """A plugin is about to serve."""
        tracing.watch_table(table, self.recording)

    def watch_doors(self) -> None:
        """The ordinary CPU client serves, behind `sentinel`."""
        try:
            tracing.lay_doors(self.recording)
        except RuntimeError as error:
            self.name, self.reason = "", str(error)

    def replace(self, reason: str) -> None:
        """The backend that was asked for can not be: the one that needs nothing but jax."""
        self.reason, self.name = reason, SENTINEL
        self.watch_doors()


class _Watching:
    """The one watch of this process."""

    inside: Inside | None = None


_watching = _Watching()


def watch(backend: str = AUTO) -> Inside:
    """Begins to watch this process, once. RuntimeError where another backend than the one asked for serves already, or
    where the one that is asked for can not."""
    if backend not in (AUTO, *NAMES):
        raise ValueError(f'unknown backend "{backend}": it is one of {", ".join((AUTO, *NAMES))}')
    known = _watching.inside
    if known is None:
        reason = virtual.why_not() if backend == virtual.NAME else None
        if reason is not None:
            raise RuntimeError(f"backend {backend}: {reason}")
        known = _watching.inside = Inside(backend)
        after_import("jax", known.begin)
    elif backend not in (AUTO, known.asked, known.name):
        raise RuntimeError(f"backend {backend}: this process is watched on {known.name or known.asked} already")
    if known.reason and (backend != AUTO or not known.name):
        raise RuntimeError(f"backend {backend}: {known.reason}")
    return known


def nearest() -> str:
    """The backend for a jax that may be at work: an accelerator's own arrays where it has one."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    if bridge is not None and bridge.backends_are_initialized():
        return SENTINEL if bridge.default_backend() == "cpu" else device.NAME
    return SENTINEL if device.why_not() else device.NAME

"""A run that is recorded: the witness of a process in which nothing is marked and everything that crosses is noted."""

import os
import sys
from collections.abc import Callable
from types import ModuleType

from .backends import Backends
from .deliveries import Deliveries, is_not_of_the_host
from .ends import Ends
from .levels import Levels
from .passages import Passages, no_short_cut
from .plan import Plan, Traced
from .plugin import Table
from .recording import Recording
from .records import UNSEEN, Recorder
from .slots import Slots, watch_loading

ARGUMENTS = 8


class Tracing:
    """The record of one process, from the import of jax to its end."""

    def __init__(self, plan: Plan, traced: Traced, recorder: Recorder) -> None:
        self.traced, self.recorder = traced, recorder
        self.recording = Recording(recorder)
        self.levels = Levels(traced.levels, self.recording)
        self.backends = Backends(plan, recorder)
        self.folder = os.getcwd() + os.sep
        self.loaded: set[str] = set()

    def place(self, after_import: Callable[[str, Callable[[ModuleType], None]], None]) -> None:
        """Puts the hooks in place; the program then starts as it would have. `after_import` awaits a module."""
        _running.tracing = self
        self.tell_start()
        after_import("jax", self.begin)
        Ends(self.finish, self.recording.settle).watch(after_import)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.after_fork)

    def tell_start(self) -> None:
        arguments = [str(argument) for argument in getattr(sys, "orig_argv", sys.argv)][:ARGUMENTS]
        self.recorder.tell(started=os.getpid(), python=sys.version.split()[0], argv=arguments)

    def begin(self, _module: ModuleType) -> None:
        """jax has been imported."""
        self.recording.learn_packages()
        # At the end of Python the main module has forgotten its file.
        self.look_for_files()
        self.levels.begin()
        self.backends.on_table = self.watch_table
        self.backends.on_sentinel = self.watch_doors
        self.backends.serve(offer_devices=False)
        if self.backends.name == "device":
            watch_loading(self.watch_table)
        self.backends.tell()

    def watch_table(self, table: Table) -> None:
        """A plugin is about to serve."""
        watch_table(table, self.recording)

    def watch_doors(self) -> None:
        """The ordinary CPU client serves, behind `sentinel`."""
        lay_doors(self.recording)

    def after_fork(self) -> None:
        """In a forked child: its own record, from nought."""
        self.recorder.after_fork()
        self.recording.reset()
        self.tell_start()
        self.backends.tell()

    def finish(self) -> None:
        """At the end of the process: the last word on each site, the files that were loaded, and which process of a
        distributed program this is."""
        distributed = sys.modules.get("jax._src.distributed")
        if distributed is not None and distributed.global_state.process_id:
            self.recorder.tell(process=distributed.global_state.process_id)
        self.look_for_files()
        self.recorder.tell(loaded=sorted(self.loaded))
        if not self.backends.name and "jax" in sys.modules:
            self.recorder.tell(distrust=UNSEEN)
        self.recording.flush()

    def look_for_files(self) -> None:
        """The program's own source files, below the folder that it was started in."""
        for module in [*sys.modules.values()]:
            path = getattr(module, "__file__", None)
            if type(path) is str and path.endswith(".py"):
                path = os.path.abspath(path)
                if (
                    path.startswith(self.folder)
                    and "site-packages" not in path
                    and not path.startswith(self.recording.prefixes)
                ):
                    self.loaded.add(path)


class _Running:
    """The record of this process, where the whole program is recorded."""

    tracing: Tracing | None = None


_running = _Running()


def running() -> Tracing | None:
    """What records this process from its start, if it is recorded so."""
    return _running.tracing


def watch_table(table: Table, recording: Recording) -> None:
    """Notes what a plugin copies, and what passes between its devices and the ordinary CPU's."""
    Slots(table, recording)
    Passages(recording).time_fetches()
    Deliveries(recording, is_below=is_not_of_the_host).watch()


def lay_doors(recording: Recording) -> None:
    """Notes what passes the doors of jax's Python; `sentinel` is, or is to be, behind them."""
    from . import sentinel

    sentinel.install()
    Passages(recording).note_fetches(sentinel.would_cross)
    note_deliveries(recording, sentinel.makes_stand_in)


def note_deliveries(recording: Recording, is_own: Callable[[], bool] = lambda: False) -> None:
    """Notes all that goes to a device, and the compiled programs that start, where no table is watched."""
    deliveries = Deliveries(recording, is_own)
    deliveries.watch()
    deliveries.watch_launches()
    no_short_cut()

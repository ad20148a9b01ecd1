"""The levels of JAX's transfer guard that a run asks for, and words that name the line.

`allow` and the two forbidding levels are jax's own, set for the whole process. The two that log are not: jax's line
names no place and comes at each transfer; here a line comes once a site, from the record.
"""

import functools
import os
import sys
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from .guard import REFUSAL
from .recording import LAUNCH, Recording, Site

LOGGING = ("log", "log_explicit")
CHAIN = 16


class Levels:
    """The levels by direction, in this process."""

    def __init__(self, levels: Mapping[str, str], recording: Recording) -> None:
        self.levels, self.recording = levels, recording
        self.logs = {direction for direction, level in levels.items() if level in LOGGING}
        self.told = False

    def begin(self) -> None:
        """jax has been imported: its configuration is set, before the program could use or change it."""
        import jax

        update: Callable[[str, str], None] = jax.config.update
        for direction, level in self.levels.items():
            if level not in LOGGING:
                update(f"jax_transfer_guard_{direction}", level)
        self.recording.on_site = self.log
        if any(level.startswith("disallow") for level in self.levels.values()) or _is_set_by_environment():
            self.watch_ends()

    def log(self, site: Site, what: Callable[[], str]) -> None:
        """A line for a new site, if the level of its direction wants one and the program does not say otherwise."""
        if site.direction == LAUNCH or site.direction not in self.logs:
            return
        if site.explicit and self.levels[site.direction] != "log_explicit":
            return
        from jax._src.lib import guard_lib

        if getattr(guard_lib.thread_local_state(), site.direction) is not None:
            return
        asked = "explicit" if site.explicit else "implicit"
        where = f"{_shown(site.path)}:{site.line} in {site.function}"
        words = site.direction.replace("_", "-")
        _say(f"jaxlint: {where}: {asked} {words} transfer, {what()}\n")

    def watch_ends(self) -> None:
        """An error of the guard that ends the program or a thread gets a note with its line."""
        ends = sys.excepthook

        def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
            self.add_note(error)
            return ends(kind, error, trace)

        sys.excepthook = end
        ends_thread = threading.excepthook

        @functools.wraps(ends_thread)
        def end_thread(arguments: Any) -> Any:
            if arguments.exc_value is not None:
                self.add_note(arguments.exc_value)
            return ends_thread(arguments)

        threading.excepthook = end_thread

    def add_note(self, error: BaseException) -> None:
        """The line of a refusal, to the error that jax made or to what it caused."""
        seen: BaseException | None = error
        for _ in range(CHAIN):
            if seen is None:
                return
            text = seen.args[0] if seen.args else None
            found = REFUSAL.match(text) if isinstance(seen, RuntimeError) and type(text) is str else None
            if found is not None:
                self.note(seen, error, found["direction"], found[0].partition("transfer:")[2].strip())
                return
            seen = seen.__cause__ or seen.__context__

    def note(self, refused: BaseException, error: BaseException, direction: str, what: str) -> None:
        """Puts the line beside the guard's own words, and into the record."""
        place, trace = None, refused.__traceback__
        while trace is not None:
            if self.recording.user_frame(trace.tb_frame) is trace.tb_frame:
                place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        if place is None:
            return
        path, line, function = place
        text = f"jaxlint: {_shown(path)}:{line} in {function}: {direction} transfer refused, {what}"
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)
        self.recording.recorder.tell(refused=[os.path.abspath(path), line, function, direction.replace("-", "_"), what])


def _is_set_by_environment() -> bool:
    return any(name.startswith("JAX_TRANSFER_GUARD") for name in os.environ)


def _shown(path: str) -> str:
    try:
        shown = os.path.relpath(path)
    except ValueError:
        return path
    return path if path.startswith("<") or shown.startswith(os.pardir + os.sep + os.pardir) else shown


def _say(text: str) -> None:
    """To standard error, past whatever the program has put in its place."""
    try:
        os.write(2, text.encode("utf-8", "backslashreplace"))
    except OSError:
        return

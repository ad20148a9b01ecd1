"""The levels of JAX's transfer guard that a run asks for, and words that name the line.

`allow` and the two forbidding levels are jax's own, set for the whole process. The two that log are not: jax's line
names no place and comes at each transfer; here a line comes once a site, from the record.
"""

import functools
import os
import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from .guard import REFUSAL
from .private import xla_type
from .recording import LAUNCH, Recording, Site

LOGGING = ("log", "log_explicit")
CHAIN = 16
# How the guard names what is uploaded; of what is fetched it says shape and dtype.
AVAL = re.compile(r"aval=(?:ShapedArray\()?(?P<dtype>\w+)\[(?P<shape>[\d,]*)\](?:, weak_type=True)?\)?")


class Levels:
    """The levels by direction, in this process."""

    def __init__(self, levels: Mapping[str, str], recording: Recording) -> None:
        self.levels, self.recording = levels, recording
        self.logs = {direction for direction, level in levels.items() if level in LOGGING}
        self.told = False

    def begin(self) -> None:
        """jax has been imported: its configuration is set, before the program could use or change it."""
        self.set()
        self.recording.on_site = self.log
        if any(level.startswith("disallow") for level in self.levels.values()) or _is_set_by_environment():
            self.watch_ends()

    def set(self) -> None:
        """The levels that are jax's own, for the whole process."""
        import jax

        update: Callable[[str, str], None] = jax.config.update
        for direction, level in self.levels.items():
            if level not in LOGGING:
                update(f"jax_transfer_guard_{direction}", level)

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
        """The line of a refusal, to the error that jax made or to what it caused, and into the record."""
        refused = refusal_in(error, self.recording)
        if refused is None:
            return
        text = f"jaxlint: {refused.text}"
        if text not in getattr(error, "__notes__", ()):
            error.add_note(text)
        if self.recording.recorder is not None:
            path = os.path.abspath(refused.path)
            direction = refused.direction.replace("-", "_")
            self.recording.recorder.tell(refused=[path, refused.line, refused.function, direction, refused.what])


@dataclass(frozen=True, slots=True)
class Refused:
    """A transfer that the guard refused: where the program asked for it, and what the guard said of it."""

    path: str
    line: int
    function: str
    direction: str
    what: str

    @property
    def text(self) -> str:
        """One line for people."""
        what = f", {self.what}" if self.what else ""
        return f"{_shown(self.path)}:{self.line} in {self.function}: {self.direction} transfer refused{what}"


def refusal_in(error: BaseException, recording: Recording) -> Refused | None:
    """The guard's refusal in an error or in what caused it."""
    seen: BaseException | None = error
    for _ in range(CHAIN):
        if seen is None:
            return None
        text = seen.args[0] if seen.args else None
        found = REFUSAL.match(text) if isinstance(seen, RuntimeError) and type(text) is str else None
        if found is not None:
            return _refused(seen, found["direction"], found[0].partition("transfer:")[2].strip(), recording)
        seen = seen.__cause__ or seen.__context__
    return None


def _refused(error: BaseException, direction: str, what: str, recording: Recording) -> Refused | None:
    """The line is the last one of the program's own on the way to the error."""
    place, trace = None, error.__traceback__
    while trace is not None:
        if recording.user_frame(trace.tb_frame) is trace.tb_frame:
            place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    return Refused(*place, direction, AVAL.sub(_in_words_of_fetches, what)) if place is not None else None


def _in_words_of_fetches(found: "re.Match[str]") -> str:
    return f"shape=({found['shape']}), dtype={xla_type(found['dtype'])}"


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

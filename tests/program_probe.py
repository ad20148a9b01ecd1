"""Notes which instruction of a program transfers, by JAX's own guard at the level `log`; nothing of jaxlint judges.

`watch` is called when Python starts (a `sitecustomize` does so in every process of the program, in spawned
children too). A tracing function writes the place of each instruction of the folder's files to file descriptor 2,
before it runs; the guard writes there too, from C++ and at once. So the last place before the guard's line is the one
that transferred. The errors of `jax.errors` are noted in the same way, and so are tracers that are shown as text.
`read` makes an `Account` of what was written.
"""

import os
import re
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction

Place = tuple[str, int, int, int, int]
NAMES = {
    "host-to-device transfer": "host_to_device",
    "device-to-device transfer": "device_to_device",
    "device-to-host transfer": "device_to_host",
}
GUARD = re.compile(r"(?:(?P<thread>\d+) )?\S*guard_lib\.cc:\d+\] (?P<name>[a-z-]+ transfer)")
ERROR = re.compile(r"Tracer|Concret")
RELATED = (TypeError, IndexError)
TRACER_WORDS = re.compile(r"[Tt]race")
CREATED = re.compile(r"created on line (?P<path>[^\n]*?):(?P<line>\d+):\d+")


@dataclass(slots=True)
class Account:
    """The places that ran, those that transferred with the direction and how often, and those that met a tracer."""

    ran: set[Place] = field(default_factory=set)
    moved: Counter[tuple[Place, str]] = field(default_factory=Counter)
    tracer: set[Place] = field(default_factory=set)
    leaked: set[tuple[str, int]] = field(default_factory=set)


class Watch:
    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(os.path.realpath(folder), "")
        self.places: dict[CodeType, list[tuple[int | None, int | None, int | None, int | None]]] = {}
        self.last: dict[int, str] = {}
        self.ready = False
        self.setting = threading.Lock()

    def entering(self, frame: FrameType, event: str, argument: object) -> "TraceFunction | None":
        code = frame.f_code
        if code.co_filename.startswith(self.folder):
            frame.f_trace_opcodes = True
            return self.inside
        if code.co_qualname == "Tracer.__repr__" and not made_by_jax(frame):
            self.mark(self.innermost(frame), "shown")
        return None

    def inside(self, frame: FrameType, event: str, argument: object) -> "TraceFunction":
        if not self.ready:
            self.prepare()
        if event == "opcode":
            self.mark(frame, "at")
        elif event == "return":
            self.mark(self.innermost(frame.f_back), "back")
        elif event == "exception" and isinstance(argument, tuple) and isinstance(argument[1], BaseException):
            self.error(frame, argument[1])
        return self.inside

    def innermost(self, frame: FrameType | None) -> FrameType | None:
        while frame is not None and not frame.f_code.co_filename.startswith(self.folder):
            frame = frame.f_back
        return frame

    def error(self, frame: FrameType, error: BaseException) -> None:
        own = [step for step, _ in traceback.walk_tb(error.__traceback__) if self.innermost(step) is step]
        if own and own[-1] is not frame:
            return
        own_class = type(error).__module__.startswith("jax")
        if own_class and type(error).__name__ == "UnexpectedTracerError":
            # It is raised where the tracer is used, and speaks of the line where that was made.
            for made in CREATED.finditer(str(error)):
                self.write(f"@leak 0 {made['line']} 0 0 0 {made['path']}\n")
        elif (own_class and ERROR.search(type(error).__name__)) or (
            isinstance(error, RELATED) and TRACER_WORDS.search(str(error))
        ):
            self.mark(frame, "error")

    def mark(self, frame: FrameType | None, word: str) -> None:
        if frame is None:
            return
        code = frame.f_code
        if code not in self.places:
            self.places[code] = list(code.co_positions())
        positions = self.places[code]
        line, end, column, end_column = positions[max(frame.f_lasti, 0) // 2]
        thread = threading.get_native_id()
        if line is None:
            return
        place = f"{line} {column or 0} {end or 0} {end_column or 0} {code.co_filename}"
        if word in {"at", "back"} and self.last.get(thread) == place:
            return
        self.last[thread] = place
        self.write(f"@{word} {thread} {place}\n")

    def write(self, text: str) -> None:
        os.write(2, text.encode())

    def prepare(self) -> None:
        """As soon as the program has imported jax: the fetches of the CPU are guarded, and every thread logs."""
        jax = sys.modules.get("jax")
        if jax is None or not hasattr(jax, "jit"):
            return
        with self.setting:
            if self.ready:
                return
            from jaxlint.witness import sentinel

            sentinel.install()
            for direction in NAMES.values():
                jax.config.update(f"jax_transfer_guard_{direction}", "log")
            self.ready = True


def made_by_jax(frame: FrameType) -> bool:
    """Whether it was jax itself that wanted a tracer's text, for a message of its own."""
    above = frame.f_back
    while above is not None and above.f_code.co_qualname.startswith("Tracer.__"):
        above = above.f_back
    return above is not None and os.path.join("jax", "_src", "") in above.f_code.co_filename


def watch(folder: str, logs: str) -> None:
    """From here on file descriptor 2 is a file of this process in `logs`."""
    os.dup2(os.open(os.path.join(logs, str(os.getpid())), os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    watching = Watch(folder)
    # Python 3.12 looks at this only when a tracing function is set.
    sys._getframe().f_trace_opcodes = True
    set_trace: Callable[[TraceFunction], None]
    for set_trace in (threading.settrace, sys.settrace):
        set_trace(watching.entering)


def read(text: str, account: Account) -> None:
    """Adds what one process wrote."""
    places: dict[str, Place] = {}
    latest = ""
    for line in text.splitlines():
        if line.startswith("@"):
            word, thread, *numbers, path = line.split(" ", 6)
            first, column, last, end = map(int, numbers)
            place = (path, first, column, last, end)
            if word == "@leak":
                account.leaked.add((path, first))
                continue
            account.ran.add(place)
            places[thread], latest = place, thread
            if word in {"@error", "@shown"}:
                account.tracer.add(place)
        elif (found := GUARD.search(line)) and found["name"] in NAMES:
            thread = found["thread"] or latest
            if thread in places:
                account.moved[places[thread], NAMES[found["name"]]] += 1

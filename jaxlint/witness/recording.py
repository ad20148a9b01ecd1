"""What crossed between host and device in this process: one `Site` for each line, direction and explicitness.

A site holds sums alone, so that memory and the record grow with the program's lines and never with its transfers. The
times are kept in bins whose width doubles when the run outgrows them. The whole state is written anew each time, by
renaming a file into place: when a site is new (of many, as often as the share of time allows), when counts double,
every few seconds and at the end, so that a process that is killed loses little.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType, FrameType

from .records import Recorder
from .unseen import passed_over

# Beside the directions of the guard: the start of a compiled program, for which steps are counted.
LAUNCH = "launch"
DEPTH = 24
BINS = 256
FIRST_WIDTH = 0.001
FLUSH_SECONDS = 2.0
# Writing takes at most one part in so many of the time of a run.
FLUSH_SHARE = 50
# So many sites are written as they are new.
FIRST_SITES = 64
# Code that a program makes anew in a loop must not fill the memory.
PLACES = 1 << 15
PACKAGES = ("jax", "jaxlib", "numpy", "ml_dtypes")
FROZEN = ("<frozen ", "<__array_function__")
NOWHERE = ("", 0, "")
# Whose a file is.
OWN, LIBRARY, JAX = range(3)
STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
INSTALLED = {"site-packages", "dist-packages"}
WORDS = ("path", "line", "function", "direction", "explicit", "thread", "stack")
Sums = Mapping[tuple[object, ...], tuple[int, int, int, float]]
_clock = time.perf_counter


@dataclass(slots=True)
class Site:
    """Transfers of one direction at a line. `stack` are the first one's calls, innermost first, as "path:line name";
    `thread` is the first one's thread; `allowed` of them crossed while a level `allow` held that the program had set in
    their thread; `bins` has [count, bytes, seconds] by the number of the bin; `first` and `last` are seconds since the
    record began."""

    path: str
    line: int
    function: str
    direction: str
    explicit: bool
    thread: str
    stack: tuple[str, ...] = ()
    first: float = 0.0
    last: float = 0.0
    count: int = 0
    allowed: int = 0
    bytes: int = 0
    seconds: float = 0.0
    bins: dict[int, list[float]] = field(default_factory=dict)

    def told(self) -> dict[str, object]:
        """As a line of the record."""
        bins = [[number, *values] for number, values in sorted(self.bins.items())]
        names = [*WORDS, "first", "last", "count", "allowed", "bytes", "seconds"]
        return {**{name: getattr(self, name) for name in names}, "bins": bins}


class _Thread(threading.local):
    """What this thread is doing: in a fetch that is timed from outside, with the site that it was noted at; in a copy
    between two clients, which is noted as a whole; how deep in callbacks of the host, whose arrays are the host's."""

    fetching = False
    site: Site | None = None
    silent = 0
    bridging = False
    hosting = 0


class Recording:
    """The sites of this process. `on_site` is told of each new one, with a description of its first transfer."""

    def __init__(self, recorder: Recorder | None) -> None:
        # None: nothing is written, and who wants to know asks here.
        self.recorder = recorder
        self.on_site: Callable[[Site, Callable[[], str]], None] = lambda site, what: None
        self.is_allowed: Callable[[str], bool] = lambda direction: False
        self.thread = _Thread()
        self.known_files: dict[str, int] = {}
        self.prefixes: tuple[str, ...] = (os.path.dirname(os.path.abspath(__file__)) + os.sep,)
        self.reset()

    def reset(self) -> None:
        """As if nothing had crossed: at the start, and in a forked child."""
        self.lock = threading.RLock()
        self.sites: dict[tuple[object, ...], Site] = {}
        # By the place in the code: faster than by the line, which has to be computed.
        self.places: dict[tuple[int, int, str, bool], tuple[CodeType, Site]] = {}
        self.began, self.began_at = _clock(), time.time()
        self.width = FIRST_WIDTH
        self.noted, self.written, self.next_count, self.next_time, self.earliest = 0, 0, 1, 0.0, 0.0

    def learn_packages(self) -> None:
        """After the import of jax: whose frames are not the program's."""
        modules = [sys.modules[name] for name in PACKAGES if name in sys.modules]
        folders = [os.path.dirname(os.path.abspath(module.__file__)) + os.sep for module in modules if module.__file__]
        self.prefixes = (*self.prefixes, *folders)
        self.known_files.clear()
        if "jax" in sys.modules:
            from jax._src.lib import guard_lib

            local, allow = guard_lib.thread_local_state, guard_lib.TransferGuardLevel.ALLOW
            self.is_allowed = lambda direction: getattr(local(), direction, None) == allow

    def user_frame(self, frame: FrameType | None) -> FrameType | None:
        """The first frame that is the program's own, from here outwards. Where installed packages or Python's own
        library run alone, the first of theirs; None where there is none."""
        known, library = self.known_files, None
        while frame is not None:
            name = frame.f_code.co_filename
            whose = known.get(name)
            if whose is None:
                whose = known[name] = self._whose(name)
            if whose == OWN:
                return frame
            if whose == LIBRARY and library is None:
                library = frame
            frame = frame.f_back
        return library

    def _whose(self, name: str) -> int:
        if name.startswith(FROZEN):
            return JAX
        path = os.path.abspath(name)
        if path.startswith(self.prefixes):
            return JAX
        return LIBRARY if path.startswith(STANDARD) or INSTALLED & {*path.split(os.sep)} else OWN

    @contextmanager
    def silently(self) -> Iterator[None]:
        """In this thread nothing is noted."""
        self.thread.silent += 1
        try:
            yield
        finally:
            self.thread.silent -= 1

    def note(
        self, direction: str, explicit: bool, size: int, seconds: float, what: Callable[[], str], times: int = 1
    ) -> None:
        """Something crossed just now, in this thread."""
        if self.thread.silent:
            return
        now = _clock()
        with self.lock:
            if not self.noted:
                # The bins begin with the first transfer, not with the import of libraries.
                self.began, self.began_at = now, time.time()
            site = self._site(self.user_frame(_frame()), direction, explicit, what)
            if self.thread.fetching and direction != LAUNCH:
                self.thread.site, seconds = site, 0.0
            site.count += times
            if self.is_allowed(direction):
                site.allowed += times
            site.bytes += size
            site.seconds += seconds
            site.last = now - self.began
            if site.count == times:
                site.first = site.last
            entry = self._bin(site, now)
            entry[0] += times
            entry[1] += size
            entry[2] += seconds
            self.noted += 1
            if self.noted >= self.next_count or now > self.next_time:
                self.flush()

    @passed_over
    def timed(self, fetch: Callable[[], object], explicit: Callable[[], bool]) -> object:
        """A fetch whose time is that of the whole wait: it is added to what the fetch noted, or to the site of this
        line, where the copy was begun before."""
        thread = self.thread
        if thread.fetching:
            return fetch()
        thread.fetching, thread.site = True, None
        began = _clock()
        try:
            return fetch()
        finally:
            now = _clock()
            thread.fetching = False
            site = thread.site or self._waiting(explicit)
            if site is not None:
                with self.lock:
                    site.seconds += now - began
                    self._bin(site, now)[2] += now - began

    def settle(self) -> None:
        """Writes what is not written yet."""
        if self.noted != self.written:
            self.flush()

    def flush(self) -> None:
        """Writes the whole state."""
        began, self.written = _clock(), self.noted
        if self.recorder is None:
            self.next_count, self.next_time, self.earliest = sys.maxsize, float("inf"), float("inf")
            return
        with self.lock:
            lines = [{"began": self.began_at, "width": self.width}, *(site.told() for site in self.sites.values())]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            path = self.recorder.path.removesuffix(".jsonl") + ".sites"
            try:
                with open(f"{path}.new", "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(text)
                os.replace(f"{path}.new", path)
            except OSError:
                pass
            now = _clock()
            self.earliest = now + FLUSH_SHARE * (now - began)
            self.next_count, self.next_time = (
                max(2 * self.noted, self.next_count),
                max(now + FLUSH_SECONDS, self.earliest),
            )

    def sums(self) -> Sums:
        """Count, how many of them allowed, bytes and seconds of each site, as they stand."""
        with self.lock:
            return {key: (site.count, site.allowed, site.bytes, site.seconds) for key, site in self.sites.items()}

    def since(self, before: Sums) -> list[Site]:
        """What crossed since the sums were `before`."""
        made = []
        with self.lock:
            for key, site in self.sites.items():
                count, allowed, size, seconds = before.get(key, (0, 0, 0, 0.0))
                if site.count > count and site.direction != LAUNCH:
                    allowed, size, seconds = site.allowed - allowed, site.bytes - size, site.seconds - seconds
                    count = site.count - count
                    made.append(replace(site, count=count, allowed=allowed, bytes=size, seconds=seconds, bins={}))
        return made

    def _site(self, frame: FrameType | None, direction: str, explicit: bool, what: Callable[[], str]) -> Site:
        place = (
            (id(frame.f_code), frame.f_lasti, direction, explicit) if frame is not None else (0, 0, direction, explicit)
        )
        found = self.places.get(place)
        if found is not None:
            return found[1]
        path, line, function = _position(frame) if frame is not None else NOWHERE
        key = (path, line, function, direction, explicit)
        site = self.sites.get(key)
        is_new = site is None
        if site is None:
            name = threading.current_thread().name
            site = self.sites[key] = Site(*key, thread=name, stack=tuple(self._stack()))
        if len(self.places) >= PLACES:
            self.places.clear()
        if frame is not None:
            # The code is held so that its number stays its own.
            self.places[place] = (frame.f_code, site)
        if is_new:
            self.on_site(site, what)
            if self.recorder is not None:
                self.next_time = min(self.next_time, 0.0 if len(self.sites) <= FIRST_SITES else self.earliest)
        return site

    def _waiting(self, explicit: Callable[[], bool]) -> Site | None:
        frame = self.user_frame(_frame())
        if frame is None:
            return None
        for asked in (explicit(), not explicit()):
            found = self.places.get((id(frame.f_code), frame.f_lasti, "device_to_host", asked))
            if found is not None:
                return found[1]
        return None

    def _stack(self) -> Iterator[str]:
        """The calls of this thread without those of jax and NumPy, innermost first."""
        frame, left = _frame(), DEPTH
        while frame is not None and left:
            if self._whose(frame.f_code.co_filename) != JAX:
                path, line, function = _position(frame)
                yield f"{path}:{line} {function}"
                left -= 1
            frame = frame.f_back

    def _bin(self, site: Site, now: float) -> list[float]:
        number = int((now - self.began) / self.width)
        while number >= BINS:
            self._widen()
            number = int((now - self.began) / self.width)
        return site.bins.setdefault(number, [0, 0, 0.0])

    def _widen(self) -> None:
        self.width *= 2
        for site in self.sites.values():
            bins: dict[int, list[float]] = {}
            for number, values in site.bins.items():
                entry = bins.setdefault(number // 2, [0, 0, 0.0])
                entry[:] = [one + other for one, other in zip(entry, values, strict=True)]
            site.bins = bins


def _frame() -> FrameType | None:
    """Whoever called the function that asks; None in a thread that runs no Python."""
    try:
        return sys._getframe(2)
    except ValueError:
        return None


def _position(frame: FrameType) -> tuple[str, int, str]:
    name = frame.f_code.co_filename
    path = name if name.startswith("<") else os.path.abspath(name)
    return path, frame.f_lineno or 0, frame.f_code.co_name

"""Asks JAX's own thread-local transfer guard about one operation: by trying it refused, or by reading the guard's log.

Made when jax has been imported; importing this module imports nothing of jax.
"""

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from .log import Capture, Logged
from .plan import Mark
from .unseen import CHAIN, passed_over, release

REFUSAL = re.compile(
    r"(?:[A-Z_]+: )?Disallowed (?P<direction>host-to-device|device-to-host|device-to-device) transfer[^\n]*"
)
TRACER_TEXT = re.compile(r"concrete values|Tracer|Traced<")
DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")
# Functions of jax that call the program's, or print.
CALLING = ("jax._src.debugging", "jax._src.callback")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The guard's own words on a transfer that it refused or logged, and the direction with underscores."""

    direction: str
    message: str


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt under the guard: refused (the guard's words), or done (with the result)."""

    refusal: Refusal | None = None
    done: bool = False
    result: Any = None


class _Thread(threading.local):
    """How many operations are watched in this thread, one within the other."""

    watching = 0


class Watching:
    """An operation whose transfers are read from the guard's log."""

    def __init__(self, guard: "Guard", mark: Mark, levels: ExitStack) -> None:
        self.guard, self.mark, self.levels = guard, mark, levels

    def leave(self) -> tuple[Refusal, ...] | None:
        """Gives the thread its level back; what the guard logged of the mark's directions, None if that is not to be
        read here."""
        self.levels.close()
        self.guard.thread.watching -= 1
        lines = self.guard.capture.leave()
        if not lines and not self.guard.can_read():
            return None
        return tuple(
            Refusal(line.direction, f"{line.direction.replace('_', '-')} transfer: {line.what}".rstrip(": "))
            for line in lines
            if line.direction in self.mark.directions
        )


class Guard:
    """The guard of the jax that is imported in this process."""

    def __init__(self, folder: str) -> None:
        import jax
        from jax._src import xla_bridge
        from jax._src.array import ArrayImpl
        from jax._src.core import Tracer
        from jax._src.lib import guard_lib

        self.jax, self.array, self.tracer, self.library = jax, ArrayImpl, Tracer, guard_lib
        self.bridge = xla_bridge
        levels = guard_lib.TransferGuardLevel
        self.silent = {None, levels.ALLOW, levels.LOG}
        self.logging = {levels.LOG, levels.LOG_EXPLICIT}
        self.strictest, self.allowing = levels.DISALLOW_EXPLICIT, levels.ALLOW
        self.compiled: type = type(jax.jit(len))
        self.capture = Capture(folder)
        self.thread = _Thread()
        self.reads_log: bool | None = None

    def forget(self) -> None:
        """After a fork: the child watches nothing."""
        self.capture.forget()
        self.thread = _Thread()

    def is_array(self, value: object) -> bool:
        """True for a device array, not for a tracer."""
        return isinstance(value, self.array)

    def is_tracer(self, value: object) -> bool:
        """True for what stands for a value while jax traces."""
        return issubclass(type(value), self.tracer)

    def level(self, direction: str) -> object:
        """The level of this thread in a direction: its own, else the process's."""
        own = getattr(self.library.thread_local_state(), direction)
        return own if own is not None else getattr(self.library.global_state(), direction)

    def asked_by_name(self) -> bool:
        """True inside ``jax.device_get``: what is fetched in this thread now is asked for by name."""
        return bool(self.library.thread_local_state().explicit_device_get)

    def is_open(self, direction: str) -> bool:
        """True where the guard neither refuses nor was told by this thread to allow."""
        own = getattr(self.library.thread_local_state(), direction)
        return own != self.allowing and self.level(direction) in self.silent

    @contextmanager
    def refuse(self, directions: Sequence[str], explicit: bool) -> Iterator[None]:
        """Transfers in these directions raise in this thread. What the program itself demands of the thread is left: a
        stricter level, and an `allow` by which it says that it means to transfer."""
        with ExitStack() as levels:
            own = self.library.thread_local_state()
            for direction in directions:
                if getattr(own, direction) != self.allowing and self.level(direction) != self.strictest:
                    self.enter(levels, direction, "disallow", explicit)
            yield

    def enter(self, levels: ExitStack, direction: str, level: str, explicit: bool) -> None:
        """Enters a level by jax's own context manager: one that the operation enters itself then gives it back."""
        guard = getattr(self.jax, f"transfer_guard_{direction}")
        levels.enter_context(guard(f"{level}_explicit" if explicit else level))

    @passed_over
    def attempt(self, mark: Mark, call: Callable[[], Any]) -> Tried:
        """Calls under the guard of the mark's directions, fetches apart, which the doors judge. What it raises besides
        a refusal is the program's: what ran before it was raised has run."""
        directions = [direction for direction in mark.directions if direction != "device_to_host"]
        try:
            with self.refuse(directions, mark.explicit):
                return Tried(done=True, result=call())
        except Exception as error:
            refusal = self.refusal(error)
            if refusal is None or refusal.direction not in directions:
                raise
            release(error)
            return Tried(refusal)

    def watch(self, mark: Mark) -> Watching | None:
        """Lets the guard log the mark's transfers in this thread; None where that can not be read."""
        if self.reads_log is False:
            return None
        levels = ExitStack()
        # Within another watched operation the level is that one's.
        asked = [name for name in DIRECTIONS if not self.thread.watching and self.level(name) in self.logging]
        try:
            self.capture.enter(asked)
        except OSError:
            return None
        self.thread.watching += 1
        for direction in mark.directions:
            if direction != "device_to_host" and self.is_open(direction):
                self.enter(levels, direction, "log", mark.explicit)
        return Watching(self, mark, levels)

    def can_read(self) -> bool:
        """True if what the guard logs is seen here. Not asked before the program has arrays: until then nothing is
        logged, and jax must not start sooner than it would."""
        if self.reads_log is None and self.bridge.backends_are_initialized():
            self.reads_log = self._reads_log()
        return self.reads_log is not False

    def _reads_log(self) -> bool:
        import numpy

        try:
            self.capture.enter()
        except OSError:
            return False
        lines: tuple[Logged, ...] = ()
        try:
            with self.jax.transfer_guard_host_to_device("log_explicit"):
                self.jax.device_put(numpy.zeros(1, numpy.float32))
        finally:
            lines = self.capture.leave()
        return bool(lines)

    def refusal(self, error: BaseException) -> Refusal | None:
        """The guard's refusal in an error or in what caused it. Reads texts that the error holds, formats nothing."""
        seen: BaseException | None = error
        for _ in range(CHAIN):
            if seen is None:
                return None
            text = seen.args[0] if seen.args else None
            if isinstance(seen, RuntimeError) and type(text) is str and (found := REFUSAL.match(text)):
                return Refusal(found["direction"].replace("-", "_"), found[0].removeprefix("INVALID_ARGUMENT: "))
            seen = seen.__cause__ or seen.__context__
        return None

    def is_of_tracers(self, error: BaseException, names: Sequence[str]) -> bool:
        """True for an error of one of the classes of ``jax.errors`` that are looked for. Some functions of jax say in a
        TypeError that they were given a tracer."""
        if not names:
            return False
        known = {kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith("jax")}
        if known & {*names}:
            return True
        text = error.args[0] if error.args else None
        return type(error) is TypeError and type(text) is str and TRACER_TEXT.search(text) is not None

    def first_line(self, error: BaseException) -> str:
        """The first line of the text that an error of jax was made with."""
        text = error.args[0] if error.args else None
        return text.strip().split("\n", 1)[0] if type(text) is str else ""

    def is_repeatable(self, function: object) -> bool:
        """True if calling twice does what calling once does, as far as the function tells: a compiled one that has been
        traced (see `form`), or one of jax that calls none of the program's by itself."""
        if isinstance(function, self.compiled):
            if not _of_jax(getattr(function, "__wrapped__", None)):
                size = getattr(function, "_cache_size", None)
                return callable(size) and bool(size())
        elif not (_of_jax(function) or self.is_array(getattr(function, "__self__", None))):
            return False
        return getattr(function, "__module__", None) not in CALLING

    def is_harmless(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> bool:
        """True for arguments that run nothing of the program's when they are read: arrays, numbers, texts, types, and
        what holds such."""
        try:
            leaves = self.jax.tree_util.tree_leaves((args, kwargs))
        except Exception:  # what can not be taken apart is not known
            return False
        return all(self.is_array(leaf) or _is_plain(leaf) for leaf in leaves)

    def is_arithmetic(self, operands: tuple[object, ...]) -> bool:
        """True for operands that are arrays and numbers, an array of the device among them."""
        return any(map(self.is_array, operands)) and all(_is_plain(value) or self.is_array(value) for value in operands)

    def form(self, function: object, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        """What the trace of a compiled function depends on: in a form that was called before it needs none. jax's own
        functions compile too, and one that is refused at first stays slow."""
        leaves, structure = self.jax.tree_util.tree_flatten((args, kwargs))
        known = getattr(function, "_jit_info", None)
        has_static = known is None or bool(known.static_argnums or known.static_argnames)
        try:
            return hash((id(function), structure, tuple(_form(leaf, has_static) for leaf in leaves)))
        except Exception:  # what cannot be told apart is never taken for known
            return object()


def _form(leaf: object, has_static: bool) -> object:
    shape, dtype = getattr(leaf, "shape", None), getattr(leaf, "dtype", None)
    if dtype is not None:
        return type(leaf), shape, dtype, getattr(leaf, "weak_type", False)
    return (type(leaf), leaf) if has_static else type(leaf)


def _of_jax(function: object) -> bool:
    # By its code where it has some: `functools.wraps` lends a function of the program's the name of another's module.
    module = getattr(function, "__globals__", {}).get("__name__") or getattr(function, "__module__", None)
    return type(module) is str and (module == "jax" or module.startswith(("jax.", "jaxlib.")))


def _is_plain(value: object) -> bool:
    kind = type(value)
    if kind in (int, float, complex, bool, str, bytes) or kind.__module__ == "numpy":
        return True
    module = value.__module__ if isinstance(value, type) else "" if callable(value) else kind.__module__
    return module.partition(".")[0] in ("jax", "jaxlib", "numpy", "ml_dtypes", "builtins")

"""The backend `sentinel`: JAX's own guard judges every fetch on the ordinary CPU backend.

On a CPU a fetch hands out the buffer itself, and the guard is not asked. Here the doors through which host code reads a
`jax.Array` are replaced: each asks the real guard first, by fetching a stand-in that the guard does check on a CPU (an
array of a sub-byte type, which is never handed out without a copy). Level, direction, thread, scope and explicitness
are so judged by jaxlib itself; this module only rewrites the refusal, or the line of the log, to speak of the user's
array. After a fetch the array keeps its host copy, as on an accelerator.

Needs the standard library and jax alone, never the rest of jaxlint. Importing it imports jax; nothing asks for devices
before the first guarded fetch. An array that the program put on a CPU device on purpose is taken for a device's.
"""

import ctypes
import functools
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

import jax
import ml_dtypes
import numpy as np
from jax._src.array import ArrayImpl
from jax._src.lib import guard_lib

from .begun import Begun
from .private import FETCHES, copying_modules, replace_callbacks, xla_type
from .unseen import passed_over, unseen

REFUSED = "Disallowed device-to-host transfer"
BUFFER_ERROR = "INVALID_ARGUMENT: Python buffer protocol is only defined for CPU buffers."
# offsetof(PyTypeObject, tp_as_buffer) in every 64-bit CPython up to 3.13; checked before it is used.
TP_AS_BUFFER = 160
BF_GETBUFFER = 1

# The guard's lines are warnings; from this on jaxlib writes none.
SILENT_LOG = 2

_SUBJECT = re.compile(r"shape=\([^)]*\), dtype=[^,]+, device=\S+")
_installed = threading.Lock()


class _State(threading.local):
    """What this thread is doing: inside a fetch that was judged already, or in a host callback, nothing is asked."""

    silent = 0
    making = False


_state = _State()


def install() -> None:
    """Closes the doors, once a process. RuntimeError, and nothing changed, where Python or jax has another form."""
    if not _installed.acquire(blocking=False):
        return
    try:
        _require_known_form()
        _close_buffer_protocol()
    except BaseException:
        _installed.release()
        raise
    guard = _installed_guard.guard = _Guard(_original_fetch())
    _replace_value(guard)
    _replace_asynchronous_copies(guard)
    for name in FETCHES:
        if hasattr(ArrayImpl, name):
            _replace(ArrayImpl, name, _checked(getattr(ArrayImpl, name), guard))
    replace_callbacks(lambda original: _host_callback(original, guard))


def would_cross(array: ArrayImpl) -> bool:
    """True if a fetch of the array would copy it to the host now, where the doors are closed."""
    guard = _installed_guard.guard
    return guard is not None and guard.asks(array)


def makes_stand_in() -> bool:
    """True while this thread uploads a stand-in, which the program did not."""
    return _state.making


def canary(around: AbstractContextManager[object] | None = None) -> str | None:
    """None if the guard holds here: an implicit fetch is refused, an explicit one passes and is remembered, and is
    refused by the level that refuses those too. Otherwise what went wrong, in one line; then nothing that this process
    does under a guard is evidence. Whoever asks may be in the midst of `jax.device_get`, a callback or a trace, so it
    is a thread of its own that tries, with the settings of the process alone; there it is done within `around`."""
    told = ["the canary did not come to its end"]

    def sing() -> None:
        try:
            with around or nullcontext():
                told[0] = _trouble()
        except Exception as error:
            told[0] = f"the canary raised {type(error).__name__}"

    thread = threading.Thread(target=sing, name="jaxlint-canary", daemon=True)
    thread.start()
    thread.join()
    return told[0] or None


def _trouble() -> str:
    with jax.transfer_guard("allow"):
        array, other = (jax.device_put(np.arange(3, dtype=np.float32)) for _ in range(2))
    with jax.transfer_guard_device_to_host("disallow"):
        for name, fetch in (("numpy.asarray", np.asarray), ("str", str)):
            if trouble := _not_refused(f"{name} of a device array", functools.partial(fetch, array)):
                return trouble
        if not np.array_equal(jax.device_get(array), np.arange(3, dtype=np.float32)):
            return "an explicit fetch gave a wrong value"
        if not np.array_equal(np.asarray(array), np.arange(3, dtype=np.float32)):
            return "the second fetch of an array gave a wrong value"
    with jax.transfer_guard_device_to_host("disallow_explicit"):
        return _not_refused("jax.device_get of a device array", functools.partial(jax.device_get, other))


def _not_refused(name: str, fetch: Callable[[], object]) -> str:
    try:
        fetch()
    except RuntimeError as error:
        return "" if REFUSED in str(error) else f"{name} raised another error than the guard's"
    return f"{name} was not refused"


class _Guard:
    """Puts the question "may this array be fetched now?" to jaxlib, with stand-ins that are kept for reuse."""

    def __init__(self, fetch: Callable[[ArrayImpl], object]) -> None:
        self.fetch = fetch
        self.stand_ins: list[ArrayImpl] = []
        self.begun = Begun()

    def asks(self, array: ArrayImpl) -> bool:
        """True if a fetch of the array would cross: not fetched before, not being copied, not in a host callback."""
        return not _state.silent and array._npy_value is None and not self.begun.has(array)

    def check(self, array: ArrayImpl) -> None:
        """Returns, logs or raises, as the real guard does for this thread now."""
        level = guard_lib.thread_local_state().device_to_host
        if level is None:
            level = guard_lib.global_state().device_to_host
        if level is None or level == guard_lib.TransferGuardLevel.ALLOW:
            return
        # What would be logged is what the like level refuses: the line is to speak of the array and not of a stand-in.
        refusing = _REFUSING.get(level)
        error = self._error(refusing or level)
        if error is None:
            return
        subject = _subject(array)
        if refusing is None:
            raise type(error)(_SUBJECT.sub(subject, str(error).split("\n", 1)[0]))
        _write_log(subject)

    def _error(self, level: object) -> RuntimeError | None:
        """What the guard says of a fetch at this level."""
        stand_in, local = self._stand_in(), guard_lib.thread_local_state()
        before, local.device_to_host = local.device_to_host, level
        try:
            self.fetch(stand_in)
        except RuntimeError as error:
            # A refused stand-in was not fetched and can be asked again.
            self.stand_ins.append(stand_in)
            return error.with_traceback(None)
        finally:
            local.device_to_host = before
        return None

    def _stand_in(self) -> ArrayImpl:
        """One that has not been fetched. It is a live array as any other: `jax.live_arrays` hands it out, and what was
        printed or deleted by way of that asks nothing any more."""
        while self.stand_ins:
            known = self.stand_ins.pop()
            if known._npy_value is None and not _is_deleted(known):
                return known
        return _new_stand_in()


_REFUSING = {
    guard_lib.TransferGuardLevel.LOG: guard_lib.TransferGuardLevel.DISALLOW,
    guard_lib.TransferGuardLevel.LOG_EXPLICIT: guard_lib.TransferGuardLevel.DISALLOW_EXPLICIT,
}


def _write_log(subject: str) -> None:
    """A line as jaxlib's guard writes it, past whatever the program has put in the place of standard error."""
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") >= str(SILENT_LOG):
        return
    now = time.time()
    moment = f"{time.strftime('%m%d %H:%M:%S', time.localtime(now))}.{int(now % 1 * 1e6):06}"
    line = f"W{moment} {threading.get_native_id():>7} guard_lib.cc:0] device-to-host transfer: {subject}\n"
    with suppress(OSError):
        os.write(2, line.encode())


class _Installed:
    guard: _Guard | None = None


_installed_guard = _Installed()


@contextmanager
def _silently() -> Iterator[None]:
    """Nothing is asked or logged in here, by this module or by jaxlib: the question was put before."""
    local = guard_lib.thread_local_state()
    before = local.device_to_host
    _state.silent += 1
    local.device_to_host = guard_lib.TransferGuardLevel.ALLOW
    try:
        yield
    finally:
        local.device_to_host = before
        _state.silent -= 1


def _require_known_form() -> None:
    for name in ("_value", "_npy_value", "_check_if_deleted", "copy_to_host_async"):
        if not hasattr(ArrayImpl, name):
            raise RuntimeError(f"this jax has no ArrayImpl.{name}")
    _original_fetch()


def _original_fetch() -> Callable[[ArrayImpl], object]:
    for name in FETCHES:
        found: Callable[[ArrayImpl], object] | None = getattr(ArrayImpl, name, None)
        if found is not None:
            return found
    raise RuntimeError(f"this jax has none of {', '.join(FETCHES)}")


def _new_stand_in() -> ArrayImpl:
    # Asked while JAX traces, it must be an array all the same, and no tracer.
    _state.making = True
    try:
        with jax.transfer_guard("allow"), jax.ensure_compile_time_eval():
            made = jax.device_put(np.zeros(1, ml_dtypes.int4), jax.local_devices(backend="cpu")[0])
    finally:
        _state.making = False
    assert isinstance(made, ArrayImpl)
    return made


def _subject(array: ArrayImpl) -> str:
    shape = ",".join(map(str, array.shape))
    device = min(device.id for device in array.sharding.device_set)
    return f"shape=({shape}), dtype={xla_type(array.dtype.name)}, device=cpu:{device}"


def _replace(owner: object, name: str, value: object) -> None:
    setattr(owner, name, value)


def _is_deleted(array: ArrayImpl) -> bool:
    asked: Callable[[], bool] = array.is_deleted
    return asked()


def _replace_value(guard: _Guard) -> None:
    original: Callable[[ArrayImpl], np.ndarray] = vars(ArrayImpl)["_value"].fget

    @passed_over
    def value(self: ArrayImpl) -> np.ndarray:
        if _is_deleted(self):
            return original(self)  # it refuses
        known: np.ndarray | None = self._npy_value
        if known is not None:
            return known
        asked = guard.asks(self)
        if asked:
            guard.check(self)
        with _silently():
            fetched = original(self)
        if not asked and not guard.begun.has(self):
            return fetched
        # An accelerator's array keeps a copy of its own; a view of the CPU buffer would also keep that buffer alive.
        fetched = np.array(fetched)
        fetched.flags.writeable = False
        self._npy_value = fetched
        return fetched

    _replace(ArrayImpl, "_value", property(value))


def _replace_asynchronous_copies(guard: _Guard) -> None:
    original: Callable[[ArrayImpl], None] = ArrayImpl.copy_to_host_async

    def start(array: object) -> None:
        if isinstance(array, ArrayImpl) and guard.asks(array):
            guard.check(array)
            guard.begun.add(array)

    def copy_to_host_async(self: ArrayImpl) -> None:
        if not _is_deleted(self):
            start(self)
        with _silently():
            original(self)

    _replace(ArrayImpl, "copy_to_host_async", copy_to_host_async)
    many = copying_modules()
    if not many:
        return
    original_many: Callable[[Sequence[object]], None] = many[0].batched_copy_to_host_async

    def batched_copy_to_host_async(arrays: Sequence[object]) -> None:
        for array in arrays:
            start(array)
        with _silently():
            original_many(arrays)

    for module in many:
        _replace(module, "batched_copy_to_host_async", batched_copy_to_host_async)


def _checked(original: Callable[[ArrayImpl], object], guard: _Guard) -> Callable[[ArrayImpl], object]:
    def fetch(self: ArrayImpl) -> object:
        if guard.asks(self):
            guard.check(self)
        with _silently():
            return original(self)

    passed_over(fetch)
    return fetch


def _host_callback(original: Callable[..., object], guard: _Guard) -> Callable[..., object]:
    """In a host callback the arrays are the host's. Called outside compiled code, its arguments are fetched for it."""

    @unseen
    @functools.wraps(original)
    def call(*arguments: object, **parameters: object) -> object:
        for argument in arguments:
            if isinstance(argument, ArrayImpl) and guard.asks(argument):
                guard.check(argument)
        with _silently():
            return original(*arguments, **parameters)

    return call


def _close_buffer_protocol() -> None:
    """Takes the C buffer protocol away from arrays: an accelerator's have none, and NumPy would read by it first."""
    if sys.version_info >= (3, 12):

        def refuse(self: ArrayImpl, flags: int) -> memoryview:
            raise BufferError(BUFFER_ERROR)

        _replace(ArrayImpl, "__buffer__", refuse)
        return
    get_slot = ctypes.pythonapi.PyType_GetSlot
    get_slot.restype, get_slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
    slot = get_slot(ArrayImpl, BF_GETBUFFER)
    procedures = ctypes.c_void_p.from_address(id(ArrayImpl) + TP_AS_BUFFER).value
    if not slot or not procedures or ctypes.c_void_p.from_address(procedures).value != slot:
        raise RuntimeError("this Python keeps the buffer protocol of a type in an unknown place")
    # A ctypes callback can not raise: without the slot, Python itself says that the type has no buffer.
    ctypes.c_void_p.from_address(procedures).value = None

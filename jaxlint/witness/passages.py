"""The ways through which jax's own Python fetches arrays, watched for a record.

Over a plugin whose table is watched (`slots`) only the time of a fetch is taken here: the whole wait of the host. On
the ordinary CPU client fetches are noted here, by what `sentinel` knows of them; what goes to a device is noted in
`deliveries`. The short cut of compiled calls in C++ passes neither; `no_short_cut` has jax take the long way, where
each call costs some hundred microseconds more.
"""

import functools
import gc
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .begun import Begun
from .private import FETCHES, copying_modules, described, host_device, replace_callbacks
from .recording import Recording
from .unseen import unseen

DEVICE_TO_HOST, DEVICE_TO_DEVICE = "device_to_host", "device_to_device"
_clock = time.perf_counter


class Passages:
    """The watched functions of jax; all of them may be laid once a process."""

    def __init__(self, recording: Recording) -> None:
        from jax._src.array import ArrayImpl
        from jax._src.lib import guard_lib

        self.recording, self.array = recording, ArrayImpl
        self.state: Callable[[], Any] = guard_lib.thread_local_state

    def time_fetches(self) -> None:
        """Where the table notes the fetches: their time is that of the whole wait."""
        array: Any = self.array
        original = vars(array)["_value"].fget
        timed, explicit = self.recording.timed, self.gets_by_name

        @unseen
        def value(self: Any) -> Any:
            if self._npy_value is not None:
                return original(self)
            return timed(functools.partial(original, self), explicit)

        array._value = property(value)
        # These do not wait; the table is to know that they are fetches, also within a `device_put`.
        array.copy_to_host_async = self.begun(array.copy_to_host_async)
        for module in copying_modules():
            module.batched_copy_to_host_async = self.begun(module.batched_copy_to_host_async)

    def begun(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The start of a copy to the host."""

        @unseen
        @functools.wraps(original)
        def begin(arrays: Any) -> Any:
            return self.recording.timed(functools.partial(original, arrays), self.gets_by_name)

        return begin

    def note_fetches(self, crosses: Callable[[Any], bool]) -> None:
        """Where the doors alone see the fetches. `crosses` says of an array whether a fetch would copy it now."""
        array: Any = self.array
        array._value = property(self.noted(vars(array)["_value"].fget, crosses))
        array.copy_to_host_async = self.noted(array.copy_to_host_async, crosses)
        for name in FETCHES:
            if hasattr(array, name):
                setattr(array, name, self.noted(getattr(array, name), crosses))
        for module in copying_modules():
            module.batched_copy_to_host_async = self.noted_many(module.batched_copy_to_host_async, crosses)
        self.over_callbacks()

    def note_device_fetches(self) -> None:
        """Where no table is watched and the arrays are an accelerator's: a fetch copies what was not fetched before.
        Those of the ordinary CPU client beside it are the host's."""
        from jax._src import xla_bridge

        begun = Begun()

        def crosses(array: Any) -> bool:
            if array._npy_value is not None or begun.has(array):
                return False
            client: object = xla_bridge._backends.get("cpu")
            return all(device.client is not client for device in array.sharding.device_set)

        array: Any = self.array
        array.copy_to_host_async = _begins(array.copy_to_host_async, lambda array: (array,), begun)
        for module in copying_modules():
            module.batched_copy_to_host_async = _begins(module.batched_copy_to_host_async, iter, begun)
        self.note_fetches(crosses)

    def noted(self, original: Callable[[Any], Any], crosses: Callable[[Any], bool]) -> Callable[[Any], Any]:
        """A door for one array."""

        def fetch(array: Any) -> Any:
            thread = self.recording.thread
            if thread.fetching or thread.hosting:
                return original(array)
            if not crosses(array):
                if array._npy_value is not None:
                    return original(array)
                # The copy was begun before, and is waited for now.
                return self.recording.timed(functools.partial(original, array), self.gets_by_name)
            thread.fetching = True
            explicit, began = self.gets_by_name(), _clock()
            try:
                result = original(array)
            finally:
                thread.fetching = False
            self.recording.note(DEVICE_TO_HOST, explicit, int(array.nbytes), _clock() - began, lambda: described(array))
            return result

        # The names of a method of C++ are no texts.
        names = [name for name in functools.WRAPPER_ASSIGNMENTS if type(getattr(original, name, None)) is str]
        return unseen(functools.wraps(original, names)(fetch))

    def noted_many(self, original: Callable[[Any], Any], crosses: Callable[[Any], bool]) -> Callable[[Any], Any]:
        """The start of several copies at once."""

        @unseen
        @functools.wraps(original)
        def begin(arrays: Sequence[Any]) -> Any:
            if self.recording.thread.fetching or self.recording.thread.hosting:
                return original(arrays)
            some = [array for array in arrays if isinstance(array, self.array) and crosses(array)]
            explicit = self.gets_by_name()
            result = original(arrays)
            for array in some:
                size = int(array.nbytes)
                self.recording.note(DEVICE_TO_HOST, explicit, size, 0.0, functools.partial(described, array))
            return result

        return begin

    def over_callbacks(self) -> None:
        """What a callback inside compiled code reads is the host's already."""
        replace_callbacks(self.hosted)

    def hosted(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A callback: jax puts its arguments on the CPU's device first. Where that is their own the guard of an
        accelerator is modelled, as for every fetch: outside compiled code they would be moved, and fetched for that."""

        @unseen
        @functools.wraps(original)
        def call(*arguments: Any, **parameters: Any) -> Any:
            thread = self.recording.thread
            arrays = [a for a in arguments if isinstance(a, self.array) and a._npy_value is None]
            thread.hosting += 1
            try:
                return original(*arguments, **parameters)
            finally:
                thread.hosting -= 1
                for array in arrays:
                    self.recording.note(
                        DEVICE_TO_HOST, False, int(array.nbytes), 0.0, functools.partial(described, array)
                    )
                    if array.sharding.device_set == {host_device()}:
                        self.recording.note(
                            DEVICE_TO_DEVICE, True, int(array.nbytes), 0.0, functools.partial(described, array)
                        )

        return call

    def gets_by_name(self) -> bool:
        return bool(self.state().explicit_device_get)


def _begins(original: Callable[[Any], Any], arrays_of: Callable[[Any], Iterable[Any]], begun: Begun) -> Any:
    """A function that begins copies, which are remembered."""

    def begin(arrays: Any) -> Any:
        result = original(arrays)
        for array in arrays_of(arrays):
            begun.add(array)
        return result

    return unseen(functools.wraps(original)(begin))


def no_short_cut() -> None:
    """Compiled calls go through jax's Python: what jax does itself for programs with effects. Functions that were
    called before have their short cuts taken away; what is compiled stays so."""
    import jax
    from jax._src import pjit
    from jax._src.interpreters import pxla

    compiled: Any = type(jax.jit(len))
    for known in gc.get_objects():
        if type(known) is compiled:
            known._clear_cache()
    # Older versions make such a function anew at each call, over these.
    for name in ("_cpp_pjit_cache_fun_only", "_cpp_pjit_cache_explicit_attributes"):
        if hasattr(pjit, name):
            getattr(pjit, name).clear()

    if hasattr(pjit, "_get_fastpath_data"):
        pjit._get_fastpath_data = lambda *arguments, **more: None
    executable: Any = pxla.MeshExecutable
    if hasattr(executable, "create_cpp_call"):
        executable.create_cpp_call = lambda *arguments, **more: None

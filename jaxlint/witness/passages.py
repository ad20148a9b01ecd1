"""The ways through which jax's own Python moves arrays, watched for a record.

Over a plugin whose table is watched (`slots`) only the time of a fetch is taken here: the whole wait of the host. On
the ordinary CPU client everything is noted here: fetches by what `sentinel` knows of them, uploads and copies between
devices at the few functions of jaxlib through which jax makes them. The short cut of compiled calls in C++ passes none
of these; `no_short_cut` has jax take the long way, where each call costs some hundred microseconds more.
"""

import functools
import gc
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .begun import Begun
from .private import FETCHES, copying_modules, replace_callbacks, xla_type
from .recording import LAUNCH, Recording
from .unseen import unseen

DEVICE_TO_HOST = "device_to_host"
_clock = time.perf_counter


class Passages:
    """The watched functions of jax; all of them may be laid once a process."""

    def __init__(self, recording: Recording) -> None:
        from jax._src.array import ArrayImpl
        from jax._src.lib import guard_lib

        self.recording, self.array = recording, ArrayImpl
        self.state: Callable[[], Any] = guard_lib.thread_local_state
        self.is_own: Callable[[], bool] = lambda: False

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
            if thread.fetching:
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
            self.recording.note(
                DEVICE_TO_HOST, explicit, int(array.nbytes), _clock() - began, lambda: _described(array)
            )
            return result

        # The names of a method of C++ are no texts.
        names = [name for name in functools.WRAPPER_ASSIGNMENTS if type(getattr(original, name, None)) is str]
        return unseen(functools.wraps(original, names)(fetch))

    def noted_many(self, original: Callable[[Any], Any], crosses: Callable[[Any], bool]) -> Callable[[Any], Any]:
        """The start of several copies at once."""

        @unseen
        @functools.wraps(original)
        def begin(arrays: Sequence[Any]) -> Any:
            if self.recording.thread.fetching:
                return original(arrays)
            some = [array for array in arrays if isinstance(array, self.array) and crosses(array)]
            explicit = self.gets_by_name()
            result = original(arrays)
            for array in some:
                size = int(array.nbytes)
                self.recording.note(DEVICE_TO_HOST, explicit, size, 0.0, functools.partial(_described, array))
            return result

        return begin

    def over_callbacks(self) -> None:
        """What a callback inside compiled code reads is the host's already."""
        replace_callbacks(self.quiet)

    def quiet(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """A callback: outside compiled code its arguments are fetched for it, once."""

        @unseen
        @functools.wraps(original)
        def call(*arguments: Any, **parameters: Any) -> Any:
            thread = self.recording.thread
            arrays = [a for a in arguments if isinstance(a, self.array) and a._npy_value is None]
            thread.silent += 1
            try:
                return original(*arguments, **parameters)
            finally:
                thread.silent -= 1
                for array in arrays:
                    size = int(array.nbytes)
                    self.recording.note(DEVICE_TO_HOST, False, size, 0.0, functools.partial(_described, array))

        return call

    def note_uploads(self, is_own: Callable[[], bool]) -> None:
        """The functions of jaxlib that take host data or arrays of other devices. `is_own` says whether this thread
        uploads something that is not the program's."""
        self.is_own = is_own
        from jax._src import lib
        from jax._src.interpreters import pxla

        library: Any = vars(lib)["xla_client"]
        if hasattr(library, "batched_device_put"):
            library.batched_device_put = self.over_put(library.batched_device_put)
        for module in {id(m): m for m in (library, getattr(pxla, "_jax", None)) if m is not None}.values():
            if hasattr(module, "shard_args"):
                module.shard_args = self.over_shards(module.shard_args)
        if hasattr(library, "batched_copy_array_to_devices_with_sharding"):
            library.batched_copy_array_to_devices_with_sharding = self.over_copies(
                library.batched_copy_array_to_devices_with_sharding
            )
        call: Any = pxla.ExecuteReplicated
        call.__call__ = self.over_launch(call.__call__)

    def over_put(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``batched_device_put(aval, sharding, values, devices, …)``: a value for each device."""

        @unseen
        def put(
            aval: Any, sharding: Any, values: Sequence[Any], devices: Sequence[Any], *rest: Any, **more: Any
        ) -> Any:
            explicit, began = self.puts_by_name(), _clock()
            result = original(aval, sharding, values, devices, *rest, **more)
            seconds = (_clock() - began) / max(1, len(values))
            # The second of the rest has it copied in any case.
            copies = len(rest) > 1 and bool(rest[1])
            for value, device in zip(values, devices, strict=False):
                if isinstance(value, self.array):
                    if copies or value.sharding.device_set != {device}:
                        self.moved(value, explicit, seconds)
                else:
                    self.uploaded(value, explicit, seconds)
            return result

        return put

    def over_shards(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``shard_args(shardings, layouts, semantics, values, fallback=…)``: host data of compiled calls."""

        @unseen
        def shard(shardings: Sequence[Any], layouts: Any, semantics: Any, values: Sequence[Any], **more: Any) -> Any:
            array = self.array
            if all(isinstance(value, array) for value in values):
                return original(shardings, layouts, semantics, values, **more)
            fallback = more.get("fallback")
            left: list[int] = []
            if fallback is not None:

                def noted_fallback(some: Any, other: Any, third: Any, rest: Sequence[Any]) -> Any:
                    left.extend(map(id, rest))
                    return fallback(some, other, third, rest)

                more["fallback"] = noted_fallback
            explicit, began = self.puts_by_name(), _clock()
            result = original(shardings, layouts, semantics, values, **more)
            seconds = (_clock() - began) / max(1, len(values))
            for value, sharding in zip(values, shardings, strict=False):
                if not isinstance(value, self.array) and id(value) not in left:
                    self.uploaded(value, explicit, seconds, sharding)
            return result

        return shard

    def over_copies(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``batched_copy_array_to_devices_with_sharding(arrays, devices, shardings, semantics)``: arrays with the
        devices, or the memory, that they go to."""

        @unseen
        def copy(
            arrays: Sequence[Any], devices: Sequence[Sequence[Any]], shardings: Sequence[Any], *semantics: Any
        ) -> Any:
            if not arrays:
                return original(arrays, devices, shardings, *semantics)
            explicit, began = self.puts_by_name(), _clock()
            before = [array.sharding for array in arrays]
            result = original(arrays, devices, shardings, *semantics)
            seconds = (_clock() - began) / max(1, len(arrays))
            wishes = semantics[0] if semantics else [None] * len(arrays)
            for array, old, new, there, wish in zip(arrays, before, shardings, devices, wishes, strict=False):
                times = len({*there} - old.device_set)
                if not times and (old.memory_kind != new.memory_kind or getattr(wish, "name", "") == "ALWAYS_COPY"):
                    times = len(there)
                if times:
                    self.moved(array, explicit, seconds, times)
            return result

        return copy

    def over_launch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """The start of a compiled program."""

        @unseen
        @functools.wraps(original)
        def launch(*arguments: Any) -> Any:
            began = _clock()
            result = original(*arguments)
            self.recording.note(LAUNCH, False, 0, _clock() - began, str)
            return result

        return launch

    def uploaded(self, value: Any, explicit: bool, seconds: float, sharding: Any = None) -> None:
        """Host data went to a device, or to each of a sharding's."""
        if self.is_own():
            return
        size, times = int(getattr(value, "nbytes", 0)), 1
        if sharding is not None:
            times = len(sharding.device_set)
            if getattr(sharding, "is_fully_replicated", False):
                size *= times
        self.recording.note("host_to_device", explicit, size, seconds, lambda: _described(value), times)

    def moved(self, array: Any, explicit: bool, seconds: float, times: int = 1) -> None:
        """An array went to another device."""
        self.recording.note("device_to_device", explicit, int(array.nbytes), seconds, lambda: _described(array), times)

    def gets_by_name(self) -> bool:
        return bool(self.state().explicit_device_get)

    def puts_by_name(self) -> bool:
        return bool(self.state().explicit_device_put)


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


def _described(value: Any) -> str:
    shape, name = getattr(value, "shape", ()), str(getattr(getattr(value, "dtype", None), "name", "?"))
    return f"shape=({','.join(map(str, shape))}), dtype={xla_type(name)}"

"""What jax's own Python brings to devices, host data and arrays of other devices, noted for a record.

It passes a few functions of jaxlib. Where no table is watched (`slots`) all of it is noted here. Beside a watched table
stands the ordinary CPU's client, whose table nobody sees: there what goes to, from and between its devices is noted, as
JAX's guard counts it.
"""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .private import described, host_client
from .recording import LAUNCH, Recording
from .unseen import unseen

_clock = time.perf_counter


class Deliveries:
    """The watched functions. `is_own` says whether this thread uploads something that is not the program's, `is_below`
    of a device whether a table notes what is copied there, and there only."""

    def __init__(
        self,
        recording: Recording,
        is_own: Callable[[], bool] = lambda: False,
        is_below: Callable[[Any], bool] = lambda device: False,
    ) -> None:
        from jax._src.array import ArrayImpl
        from jax._src.lib import guard_lib

        self.recording, self.is_own, self.is_below = recording, is_own, is_below
        self.array: Any = ArrayImpl
        self.state: Callable[[], Any] = guard_lib.thread_local_state

    def watch(self) -> None:
        """Lays the watch, once a process."""
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

    def watch_launches(self) -> None:
        """The starts of compiled programs, too."""
        from jax._src.interpreters import pxla

        call: Any = pxla.ExecuteReplicated
        call.__call__ = self.over_launch(call.__call__)

    def over_put(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """``batched_device_put(aval, sharding, values, devices, …)``: a value for each device."""

        @unseen
        def put(
            aval: Any, sharding: Any, values: Sequence[Any], devices: Sequence[Any], *rest: Any, **more: Any
        ) -> Any:
            some = [pair for pair in zip(values, devices, strict=False) if not self.is_noted(pair[0], pair[1:])]
            if not some:
                return original(aval, sharding, values, devices, *rest, **more)
            explicit, began = self.puts_by_name(), _clock()
            with self.bridging():
                result = original(aval, sharding, values, devices, *rest, **more)
            seconds = (_clock() - began) / max(1, len(some))
            # The second of the rest has it copied in any case.
            copies = len(rest) > 1 and bool(rest[1])
            for value, device in some:
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
                if isinstance(value, self.array) or id(value) in left:
                    continue
                if not self.is_noted(value, sharding.device_set):
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
            noted = [self.is_noted(array, there) for array, there in zip(arrays, devices, strict=False)]
            if all(noted):
                return original(arrays, devices, shardings, *semantics)
            explicit, began = self.puts_by_name(), _clock()
            before = [array.sharding for array in arrays]
            with self.bridging():
                result = original(arrays, devices, shardings, *semantics)
            seconds = (_clock() - began) / max(1, len(arrays))
            wishes = semantics[0] if semantics else [None] * len(arrays)
            each = zip(arrays, before, shardings, devices, wishes, noted, strict=False)
            for array, old, new, there, wish, is_noted in each:
                times = 0 if is_noted else len({*there} - old.device_set)
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

    def is_noted(self, value: Any, devices: Sequence[Any]) -> bool:
        """True where a table notes that this goes to these devices."""
        is_below = self.is_below
        if not all(map(is_below, devices)):
            return False
        return not isinstance(value, self.array) or all(map(is_below, value.sharding.device_set))

    @contextmanager
    def bridging(self) -> Iterator[None]:
        """What a table sees in here is a part of what is noted."""
        thread = self.recording.thread
        before, thread.bridging = thread.bridging, True
        try:
            yield
        finally:
            thread.bridging = before

    def uploaded(self, value: Any, explicit: bool, seconds: float, sharding: Any = None) -> None:
        """Host data went to a device, or to each of a sharding's."""
        if self.is_own():
            return
        size, times = int(getattr(value, "nbytes", 0)), 1
        if sharding is not None:
            times = len(sharding.device_set)
            if getattr(sharding, "is_fully_replicated", False):
                size *= times
        self.recording.note("host_to_device", explicit, size, seconds, lambda: described(value), times)

    def moved(self, array: Any, explicit: bool, seconds: float, times: int = 1) -> None:
        """An array went to another device."""
        self.recording.note("device_to_device", explicit, int(array.nbytes), seconds, lambda: described(array), times)

    def puts_by_name(self) -> bool:
        """Whether the program asks for it by name."""
        return bool(self.state().explicit_device_put)


def is_not_of_the_host(device: Any) -> bool:
    """True of every device but those of the CPU's client that stands beside another."""
    client = host_client()
    return client is None or device.client is not client

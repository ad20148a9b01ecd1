"""The functions of a PJRT plugin's table that copy buffers, wrapped: each call is noted with its size and duration.

They are called in the thread that asked, compiled calls from C++ included, so the Python line is on the stack and the
guard's state of the thread says whether the program asked by name. Needs the standard library and jax alone.
"""

import ctypes
import time
from collections.abc import Callable
from typing import Any

from .plugin import Function, Plugin, Table
from .recording import LAUNCH, Recording

# Byte offsets in PJRT_Api, as in `plugin`.
EXECUTE = 480
ELEMENT_TYPE = 512
DIMENSIONS = 520
SIZE = 552
COPY_TO_DEVICE = 592
TO_HOST = 600
COPY_TO_MEMORY = 776
FROM_HOST = 216
WORD = 8
# PJRT_Buffer_Type -> the name that the guard uses, and bits.
TYPES = {
    1: ("PRED", 8), 2: ("S8", 8), 3: ("S16", 16), 4: ("S32", 32), 5: ("S64", 64),
    6: ("U8", 8), 7: ("U16", 16), 8: ("U32", 32), 9: ("U64", 64),
    10: ("F16", 16), 11: ("F32", 32), 12: ("F64", 64), 13: ("BF16", 16), 14: ("C64", 64), 15: ("C128", 128),
    16: ("F8E5M2", 8), 17: ("F8E4M3FN", 8), 18: ("F8E4M3B11FNUZ", 8), 19: ("F8E5M2FNUZ", 8), 20: ("F8E4M3FNUZ", 8),
    21: ("S4", 4), 22: ("U4", 4), 24: ("S2", 2), 25: ("U2", 2), 26: ("F8E4M3", 8), 27: ("F8E3M4", 8),
    28: ("F8E8M0FNU", 8), 29: ("F4E2M1FN", 4),
}  # fmt: skip
_clock = time.perf_counter


class Slots:
    """The wrapped functions of one table."""

    def __init__(self, table: Table, recording: Recording) -> None:
        from jax._src.lib import guard_lib

        self.table, self.recording = table, recording
        self.state: Callable[[], object] = guard_lib.thread_local_state
        self.size_of, self.type_of, self.dimensions_of = (
            Function(_word(table.original + offset)) for offset in (SIZE, ELEMENT_TYPE, DIMENSIONS)
        )
        for offset, noted in (
            (FROM_HOST, self.from_host),
            (TO_HOST, self.to_host),
            (COPY_TO_DEVICE, self.between),
            (COPY_TO_MEMORY, self.between),
            (EXECUTE, self.launched),
        ):
            self.wrap(offset, noted)

    def wrap(self, offset: int, noted: Callable[[int, float], None]) -> None:
        """Calls the plugin's own function, then notes the call if it made no error. Nothing that goes wrong in noting
        reaches the program."""
        original = Function(_word(self.table.original + offset))

        def call(arguments: int) -> int | None:
            began = _clock()
            error: int | None = original(arguments)
            seconds = _clock() - began
            if not error:
                try:
                    noted(arguments, seconds)
                except Exception:
                    return error
            return error

        self.table.write(self.table.address + offset, self.table.callback(call))

    def from_host(self, arguments: int, seconds: float) -> None:
        """{size, extension, client, data, type, dimensions, rank, …}"""
        if self.recording.thread.bridging:
            return
        elements, rank, place = 1, _word(arguments + 48), _word(arguments + 40)
        for axis in range(rank):
            elements *= ctypes.c_int64.from_address(place + WORD * axis).value
        kind = ctypes.c_int32.from_address(arguments + 32).value
        size = (elements * TYPES.get(kind, ("", 8))[1] + 7) // 8
        explicit = bool(getattr(self.state(), "explicit_device_put", False))
        self.recording.note(
            "host_to_device", explicit, size, seconds, lambda: _described(kind, _dimensions(place, rank))
        )

    def to_host(self, arguments: int, seconds: float) -> None:
        """{size, extension, buffer, layout, destination, bytes, event}; no destination: only the size is asked."""
        if not _word(arguments + 32):
            return
        thread, state, buffer = self.recording.thread, self.state(), _word(arguments + 16)
        if thread.fetching:
            direction, explicit = "device_to_host", bool(getattr(state, "explicit_device_get", False))
        elif thread.bridging:
            return
        else:
            # All of jax's Python fetches with that flag set: this is C++, on the way to another client's device.
            direction, explicit = "device_to_device", bool(getattr(state, "explicit_device_put", False))
        self.recording.note(direction, explicit, _word(arguments + 40), seconds, lambda: self.describe(buffer))

    def between(self, arguments: int, seconds: float) -> None:
        """{size, extension, buffer, device or memory, result}"""
        buffer = _word(arguments + 16)
        explicit = bool(getattr(self.state(), "explicit_device_put", False))
        size = self.ask(self.size_of, buffer, 1)[0]
        self.recording.note("device_to_device", explicit, size, seconds, lambda: self.describe(buffer))

    def launched(self, arguments: int, seconds: float) -> None:
        """A compiled program was started."""
        self.recording.note(LAUNCH, False, 0, seconds, str)

    def describe(self, buffer: int) -> str:
        """Shape and type of a buffer, as the guard names them."""
        kind = self.ask(self.type_of, buffer, 1)[0]
        place, rank = self.ask(self.dimensions_of, buffer, 2)
        return _described(kind & 0xFFFFFFFF, _dimensions(place, rank))

    def ask(self, function: Callable[[int], int | None], buffer: int, words: int) -> list[int]:
        """A question about a buffer: {size, extension, buffer, answers…}."""
        request = (ctypes.c_size_t * (3 + words))((3 + words) * WORD, 0, buffer)
        function(ctypes.addressof(request))
        return list(request[3:])


def watch_loading(on_table: Callable[[Table], None]) -> None:
    """The plugins that jax loads by their paths (an accelerator's) are given to it as copies of their tables."""
    from jaxlib import xla_client

    names: Any = xla_client
    load = getattr(names, "load_pjrt_plugin_dynamically", None)
    give = getattr(names, "load_pjrt_plugin_with_c_api", None)
    if load is None or give is None:
        return

    def loaded(name: str, path: str) -> object:
        try:
            entry = ctypes.CDLL(path).GetPjrtApi
            entry.restype, entry.argtypes = ctypes.c_void_p, []
            table = Table(Plugin(path, "the program's"), entry() or 0)
            on_table(table)
            capsule = table.capsule()
            give(name, capsule)
        except (OSError, AttributeError, RuntimeError):
            # Loaded as it is: then the doors alone see what they can.
            return load(name, path)
        return capsule

    names.load_pjrt_plugin_dynamically = loaded


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _dimensions(place: int, rank: int) -> tuple[int, ...]:
    return tuple(ctypes.c_int64.from_address(place + WORD * axis).value for axis in range(rank))


def _described(kind: int, shape: tuple[int, ...]) -> str:
    return f"shape=({','.join(map(str, shape))}), dtype={TYPES.get(kind, ('?', 8))[0]}"

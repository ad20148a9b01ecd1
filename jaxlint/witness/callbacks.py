"""The handler of Python callbacks (`jax.pure_callback`, `io_callback`, `jax.debug.print`) for a plugin.

An executable with callbacks carries them as user data of each execution: an array of Python functions, which the
handler calls by index with NumPy arrays. An exception becomes the execution's error, with its traceback, as in
jaxlib's own handler.
"""

import ctypes
import traceback
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from .frames import (
    API_CREATE_ERROR,
    API_GET_FROM_CONTEXT,
    EXECUTE,
    Buffer,
    CallFrame,
    ContextRequest,
    ErrorRequest,
    Handler,
    Operands,
    Scalar,
    Text,
    metadata_of,
)

INTERNAL = 13
TOKEN = 17
# XLA_FFI_DataType -> the names of NumPy and ml_dtypes.
TYPES = {
    1: "bool",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "uint8",
    7: "uint16",
    8: "uint32",
    9: "uint64",
    10: "float16",
    11: "float32",
    12: "float64",
    15: "complex64",
    16: "bfloat16",
    18: "complex128",
    19: "float8_e5m2",
    20: "float8_e4m3fn",
    21: "int4",
    22: "uint4",
    23: "float8_e4m3b11fnuz",
    24: "float8_e5m2fnuz",
    25: "float8_e4m3fnuz",
    26: "int2",
    27: "uint2",
    28: "float8_e4m3",
    29: "float8_e3m4",
    32: "float4_e2m1fn",
    33: "float8_e8m0fnu",
}
# Several elements lie in a byte, the first one in the lowest bits; NumPy has one in each byte.
BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}


class Callbacks:
    """Answers the calls of one plugin."""

    def __init__(self, version: tuple[int, int]) -> None:
        self.version = version
        # Under which type the callbacks of an execution are kept: known since the first execution that has any.
        self.type: int | None = None

    def noting(self, add: Callable[[int], int | None]) -> Callable[[int], int | None]:
        """In the place of the plugin's function that adds user data {type, data} to a context."""

        def noted(arguments: int) -> int | None:
            self.type = ctypes.c_int64.from_address(arguments + 24).value
            return add(arguments)

        return noted

    def answer(self, address: int) -> int | None:
        """The handler: None, or the address of an error."""
        frame = CallFrame.from_address(address)
        try:
            metadata = metadata_of(address)
            if metadata is not None:
                metadata.answer(self.version)
                return None
            if frame.stage != EXECUTE:
                return None
            request = ContextRequest(ctypes.sizeof(ContextRequest), None, frame.context)
            kind = ctypes.c_int64(self.type or 0)
            request.type = ctypes.addressof(kind)
            get = Handler(ctypes.c_size_t.from_address(frame.api + API_GET_FROM_CONTEXT).value)
            error: int | None = get(ctypes.addressof(request))
            if error:
                return error
            made = _callback(request.data, _index(frame))(*map(_argument, _buffers(frame.arguments)))
            for buffer, value in zip(_buffers(frame.results), made, strict=True):
                # An ordered effect hands a token through, which has no memory.
                if buffer.type != TOKEN:
                    _store(buffer, value)
            return None
        except BaseException:
            return _error(frame, f"CpuCallback error calling callback: {traceback.format_exc()}")


def _callback(data: int, index: int) -> Callable[..., Sequence[object]]:
    """The data is {functions, count}."""
    functions, count = (ctypes.c_size_t.from_address(data + place).value for place in (0, 8))
    if not 0 <= index < count:
        raise RuntimeError(f"callback {index} of {count}")
    address = ctypes.c_size_t.from_address(functions + 8 * index).value
    found: Callable[..., Sequence[object]] = ctypes.cast(address, ctypes.py_object).value
    return found


def _index(frame: CallFrame) -> int:
    attributes = frame.attributes
    for place in range(attributes.count):
        name = Text.from_address(_pointer(attributes.names, place))
        if ctypes.string_at(name.start, name.length) == b"index":
            scalar = Scalar.from_address(_pointer(attributes.pointers, place))
            return ctypes.c_int64.from_address(scalar.value).value
    raise RuntimeError("a callback without an index")


def _buffers(operands: Operands) -> list[Buffer]:
    return [Buffer.from_address(_pointer(operands.pointers, place)) for place in range(operands.count)]


def _pointer(array: int, index: int) -> int:
    return ctypes.c_size_t.from_address(array + 8 * index).value


def _argument(buffer: Buffer) -> np.ndarray | None:
    """A copy: the memory is used again after the call. None for a token."""
    if buffer.type == TOKEN:
        return None
    name = _name(buffer)
    shape = _shape(buffer)
    if name in BITS:
        array = _unpacked(_bytes(buffer, BITS[name]), BITS[name], shape)
        if name.startswith("int"):
            # The sign is the highest of the few bits.
            array = (array ^ np.uint8(1 << (BITS[name] - 1))) - np.uint8(1 << (BITS[name] - 1))
        array = array.view(_dtype(name))
    else:
        array = np.array(_bytes(buffer, 8 * _dtype(name).itemsize)).view(_dtype(name)).reshape(shape)
    array.flags.writeable = False
    return array


def _store(buffer: Buffer, value: object) -> None:
    name = _name(buffer)
    array = np.ascontiguousarray(np.asarray(value, _dtype(name)))
    if array.size != int(np.prod(_shape(buffer), dtype=np.int64)):
        raise ValueError(f"a callback returned an array of shape {array.shape}, expected {_shape(buffer)}")
    flat = array.reshape(-1).view(np.uint8)
    if name in BITS:
        flat = _packed(flat, BITS[name])
    _bytes(buffer, BITS.get(name, 8 * array.itemsize))[...] = flat


def _bytes(buffer: Buffer, bits: int) -> np.ndarray:
    """The memory of a buffer itself."""
    size = (int(np.prod(_shape(buffer), dtype=np.int64)) * bits + 7) // 8
    if not size:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(buffer.data))


def _unpacked(packed: np.ndarray, bits: int, shape: tuple[int, ...]) -> np.ndarray:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    size = int(np.prod(shape, dtype=np.int64))
    unpacked: np.ndarray = ((packed[:, None] >> shifts) & (2**bits - 1)).astype(np.uint8)
    return unpacked.reshape(-1)[:size].reshape(shape)


def _packed(flat: np.ndarray, bits: int) -> np.ndarray:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    whole = np.zeros((flat.size * bits + 7) // 8 * shifts.size, np.uint8)
    whole[: flat.size] = flat & (2**bits - 1)
    packed: np.ndarray = (whole.reshape(-1, shifts.size) << shifts).sum(axis=1, dtype=np.uint8)
    return packed


def _shape(buffer: Buffer) -> tuple[int, ...]:
    if not buffer.rank:
        return ()
    return tuple((ctypes.c_int64 * buffer.rank).from_address(buffer.dimensions))


def _name(buffer: Buffer) -> str:
    name = TYPES.get(buffer.type)
    if name is None:
        raise TypeError(f"XLA's element type {buffer.type} in a callback")
    return name


def _dtype(name: str) -> np.dtype:
    found: np.dtype = np.dtype(getattr(ml_dtypes, name, name))
    return found


def _error(frame: CallFrame, message: str) -> int | None:
    if not frame.api:
        return None
    create = Handler(ctypes.c_size_t.from_address(frame.api + API_CREATE_ERROR).value)
    request = ErrorRequest(ErrorRequest.code.offset + 4, None, message.encode(), INTERNAL)
    error: int | None = create(ctypes.addressof(request))
    return error

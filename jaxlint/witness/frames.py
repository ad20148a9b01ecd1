"""The structures that XLA's foreign function interface calls a handler with, as far as the bridge reads them.

Their order is that of versions 0.1 to 0.5 of the interface; later members of a structure are left out. Needs the
standard library alone.
"""

import ctypes

Handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
# The type of the extension that asks for metadata, and the stage in which a handler does its work.
METADATA = 1
EXECUTE = 3
# Byte offsets in the table of functions that a handler is given.
API_VERSION = 16
API_CREATE_ERROR = 48
API_GET_FROM_CONTEXT = 96


class Extension(ctypes.Structure):
    """The head of every extension: a chain of them may hang on a structure."""

    _fields_ = (("size", ctypes.c_size_t), ("type", ctypes.c_int32), ("next", ctypes.c_void_p))


class ApiVersion(ctypes.Structure):
    """A version of the interface."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("major", ctypes.c_int32),
        ("minor", ctypes.c_int32),
    )


class Metadata(ctypes.Structure):
    """What a handler says of itself when it is registered. Longer in newer versions."""

    _fields_ = (("size", ctypes.c_size_t), ("version", ApiVersion), ("rest", ctypes.c_char * 32))

    def answer(self, version: tuple[int, int]) -> None:
        """For a handler that is written here: only its version is of interest."""
        self.version.size = ctypes.sizeof(ApiVersion)
        self.version.major, self.version.minor = version


class MetadataExtension(ctypes.Structure):
    """Hangs on a call that asks for metadata instead of work."""

    _fields_ = (("head", Extension), ("metadata", ctypes.c_void_p))


class Operands(ctypes.Structure):
    """The arguments or the results of a call."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("pointers", ctypes.c_void_p),
    )


class Attributes(ctypes.Structure):
    """The attributes of a call."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("types", ctypes.c_void_p),
        ("names", ctypes.c_void_p),
        ("pointers", ctypes.c_void_p),
    )


class CallFrame(ctypes.Structure):
    """Everything that a handler is called with."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int32),
        ("arguments", Operands),
        ("results", Operands),
        ("attributes", Attributes),
        ("future", ctypes.c_void_p),
    )

    @classmethod
    def empty(cls) -> "CallFrame":
        frame = cls(size=cls.future.offset)
        frame.arguments.size = frame.results.size = ctypes.sizeof(Operands)
        frame.attributes.size = ctypes.sizeof(Attributes)
        return frame


class Buffer(ctypes.Structure):
    """An argument or a result."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("type", ctypes.c_int32),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dimensions", ctypes.c_void_p),
    )


class Text(ctypes.Structure):
    """The name of an attribute."""

    _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Scalar(ctypes.Structure):
    """An attribute that is one number."""

    _fields_ = (("type", ctypes.c_int32), ("value", ctypes.c_void_p))


class ErrorRequest(ctypes.Structure):
    """What an error is made of."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int32),
    )


class ContextRequest(ctypes.Structure):
    """Asks an execution's context for the data of a type."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("type", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


def metadata_of(frame: int) -> Metadata | None:
    """What the caller of this frame wants filled in, if it asks for metadata."""
    address: int | None = CallFrame.from_address(frame).extension
    while address:
        if Extension.from_address(address).type == METADATA:
            return Metadata.from_address(MetadataExtension.from_address(address).metadata)
        address = Extension.from_address(address).next
    return None


def version_of_api(frame: int) -> tuple[int, int] | None:
    """The version of the library that calls with this frame."""
    api: int | None = CallFrame.from_address(frame).api
    if not api:
        return None
    version = ApiVersion.from_address(api + API_VERSION)
    return version.major, version.minor

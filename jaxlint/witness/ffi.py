"""The bridge from a plugin to the functions that jaxlib has for the CPU: LAPACK, sparse solvers, callbacks into Python.

XLA keeps such functions (FFI handlers) in a registry of each library, so the plugin's is empty. Each of jaxlib's is
registered there, too: by its own address where both libraries speak the same version of the interface, otherwise by a
function that forwards the call and answers the question for the version with the plugin's own. The handler of Python
callbacks has a stage that a plugin can not be given; `callbacks.py` takes its place.

Needs the standard library and jax alone. Nothing here asks for devices.
"""

import ctypes
from collections.abc import Callable
from types import ModuleType

from .callbacks import Callbacks
from .frames import (
    METADATA,
    ApiVersion,
    CallFrame,
    Handler,
    Metadata,
    MetadataExtension,
    metadata_of,
    version_of_api,
)
from .plugin import Table

FFI_EXTENSION = 5
FFI_EXTENSION_SIZE = 48
# In the extension: a context's user data is added there, a handler is registered here.
ADD_USER_DATA = 32
REGISTER_HANDLER = 40
PROBE = "jaxlint_probe"
PYTHON_CALLBACKS = ("xla_ffi_python_cpu_callback", "xla_ffi_partitioned_python_cpu_callback")


class Bridge:
    """What was registered with one plugin, and how. Made before the plugin's client is: that may keep the extension."""

    def __init__(self, table: Table) -> None:
        extension = table.extensions.get(FFI_EXTENSION)
        if extension is None or ctypes.c_size_t.from_address(extension).value < FFI_EXTENSION_SIZE:
            raise RuntimeError(f"{table.plugin.path} takes no FFI handlers: {table.plugin.remedy}")
        self.table = table
        self.register_handler = ctypes.c_size_t.from_address(extension + REGISTER_HANDLER).value
        self.registered: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.version = self._plugin_version()
        self.jaxlib_version: tuple[int, int] | None = None
        self.callbacks = Callbacks(self.version)
        add = ctypes.c_size_t.from_address(extension + ADD_USER_DATA).value
        table.write(extension + ADD_USER_DATA, table.callback(self.callbacks.noting(Handler(add))))

    def connect(self) -> None:
        """Registers what jaxlib has now, and from now on what is registered with jaxlib later."""
        from jaxlib import xla_client

        answer = self.table.callback(self.callbacks.answer)
        for name in PYTHON_CALLBACKS:
            self._register(name, answer)
            self.registered[name] = "python"
        self._sweep(xla_client)
        self._follow(xla_client)

    def _follow(self, xla_client: ModuleType) -> None:
        handlers: dict[str, Callable[..., object]] = xla_client._custom_callback_handler
        original = handlers["Host"]

        def register(*arguments: object, **parameters: object) -> object:
            done = original(*arguments, **parameters)
            self._sweep(xla_client)
            return done

        handlers["Host"] = register

    def _sweep(self, xla_client: ModuleType) -> None:
        for name, target in _targets(xla_client).items():
            if name in self.registered or name in self.refused:
                continue
            # Untyped targets, and handlers of several stages, have no way through the plugin's interface.
            if not isinstance(target, dict) or set(target) != {"execute"}:
                self.refused[name] = "not a handler of one stage"
                continue
            address = _capsule_address(target["execute"])
            if self.jaxlib_version is None:
                self.jaxlib_version = _version_of(address)
            same = self.jaxlib_version == self.version
            try:
                self._register(name, address if same else self.table.callback(self._forwarding(address)))
            except RuntimeError as error:
                self.refused[name] = str(error)
            else:
                self.registered[name] = "direct" if same else "forwarded"

    def _forwarding(self, address: int) -> Callable[[int], int | None]:
        handler = Handler(address)

        def forward(frame: int) -> int | None:
            error: int | None = handler(frame)
            if not error and CallFrame.from_address(frame).extension:
                metadata = metadata_of(frame)
                if metadata is not None:
                    metadata.version.major, metadata.version.minor = self.version
            return error

        return forward

    def _plugin_version(self) -> tuple[int, int]:
        """The version of the interface that the plugin speaks: it stands in what a handler is called with."""
        found: list[tuple[int, int]] = []

        def probe(frame: int) -> int | None:
            version = version_of_api(frame)
            metadata = metadata_of(frame)
            if version is not None:
                found.append(version)
                if metadata is not None:
                    metadata.answer(version)
            return None

        self._register(PROBE, self.table.callback(probe))
        if not found:
            raise RuntimeError(f"{self.table.plugin.path} does not say its FFI version: {self.table.plugin.remedy}")
        return found[0]

    def _register(self, name: str, address: int) -> None:
        text, where = name.encode(), b"Host"
        arguments = _Registration(_Registration.traits.offset + 4, text, len(text), address, where, len(where), 0)
        self.table.call(self.register_handler, arguments)


class _Registration(ctypes.Structure):
    # The only arguments of the interface without a place for extensions.
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("name_length", ctypes.c_size_t),
        ("handler", ctypes.c_void_p),
        ("platform", ctypes.c_char_p),
        ("platform_length", ctypes.c_size_t),
        ("traits", ctypes.c_int32),
    )


def _targets(xla_client: ModuleType) -> dict[str, object]:
    """Every CPU target of jaxlib by name. They wait in a queue until the first CPU client: that is not made here."""
    if "Host" not in xla_client._custom_callback_handler:
        xla_client.register_custom_call_handler("cpu", xla_client._xla.register_custom_call_target)
        if hasattr(xla_client, "register_custom_type_handler"):
            xla_client.register_custom_type_handler("cpu", xla_client._xla.register_custom_type)
    targets: dict[str, object] = xla_client.custom_call_targets("cpu")
    return targets


def _capsule_address(capsule: object) -> int:
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer(capsule, name(capsule))
    return address


def _version_of(handler: int) -> tuple[int, int] | None:
    """Asks one of jaxlib's handlers for its version, as a library does when the handler is registered."""
    metadata = Metadata(size=ctypes.sizeof(Metadata))
    metadata.version.size = ctypes.sizeof(ApiVersion)
    question = MetadataExtension(metadata=ctypes.addressof(metadata))
    question.head.size, question.head.type = ctypes.sizeof(MetadataExtension), METADATA
    api = ctypes.create_string_buffer(512)
    frame = CallFrame.empty()
    frame.extension, frame.api = ctypes.addressof(question), ctypes.addressof(api)
    if Handler(handler)(ctypes.addressof(frame)):
        return None
    return metadata.version.major, metadata.version.minor

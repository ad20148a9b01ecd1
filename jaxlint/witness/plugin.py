"""The plugin of the backend `virtual`: where its library lies, whether it is the known one, and its table of functions.

Needs the standard library alone and never imports jax. A library is loaded by `load` only, after its place, its digest
and its form were checked: what is wrong is one line with the remedy, a RuntimeError. The package that carries a library
is never imported.
"""

import ctypes
import hashlib
import json
import os
import platform
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from .plan import cache_folder

VARIABLE = "JAXLINT_PLUGIN"

# Byte offsets in PJRT_Api. Within major version 0 functions are only appended, so these hold for every table that is
# long enough; they were read in the headers of 0.81 to 0.114 and used with 0.81, 0.106 and 0.115.
EXTENSIONS = 8
VERSION = 16
VERSION_SIZE = 24
ERROR_DESTROY = 40
ERROR_MESSAGE = 48
BUFFER_IS_DELETED = 584
BUFFER_IS_ON_CPU = 608
EXECUTE_CONTEXT_DESTROY = 832
NEEDED = (ERROR_DESTROY, ERROR_MESSAGE, BUFFER_IS_DELETED, BUFFER_IS_ON_CPU, EXECUTE_CONTEXT_DESTROY)
WORD = 8
LARGEST = 1 << 16
OLDEST_MINOR = 81
# Before this a client frees the context of an execution that still needs it: 0.81 does, 0.106 does not.
KEEPS_CONTEXTS = 100
CONTEXTS_KEPT = 4096
MACHINES = {62: "x86_64", 183: "aarch64"}

Function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution that is known to carry the library, at the version that was measured."""

    name: str
    version: str
    library: str
    sha256: str


KNOWN = (
    Package(
        "fastatomstruct-xla-cpu",
        "2026.6.23",
        "fastatomstruct_xla_cpu/libpjrt_cpu.so",
        "0a0fe56ca17be9efc7b942e89e534e5e0ad4a0f1e369b66d27b62184509015b9",
    ),
    Package(
        "xla-cpu-pjrt",
        "0.0.1",
        "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
        "88c3f28c5900f48ad4a82cab9e79bba9537809743395e341485f8794268820dc",
    ),
)
REMEDY = f"pip install {KNOWN[0].name}=={KNOWN[0].version}"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A library and where it comes from: a path that the user gave, or an installed package of a known name."""

    path: str
    origin: str
    package: Package | None = None
    version: str = ""

    @property
    def remedy(self) -> str:
        """What to do about a library that can not serve."""
        if self.package:
            return f"pip install --force-reinstall {self.package.name}=={self.package.version}"
        return f"correct {VARIABLE}, or unset it and {REMEDY}"


def find_plugin() -> Plugin | None:
    """The library that would be loaded: the user's path before an installed package; None where there is neither."""
    if path := os.environ.get(VARIABLE):
        return Plugin(os.path.abspath(os.path.expanduser(path)), VARIABLE)
    for package in KNOWN:
        try:
            found = metadata.distribution(package.name)
        except metadata.PackageNotFoundError:
            continue
        return Plugin(str(found.locate_file(package.library)), "package", package, found.version)
    return None


def verify(plugin: Plugin) -> None:
    """RuntimeError unless the library may be loaded: it exists, is whole, of this machine, and the known one if it
    comes from a package. Reads a known library once and remembers its digest until the file changes."""
    package = plugin.package
    if package and plugin.version != package.version:
        raise RuntimeError(
            f"{package.name} {plugin.version} is not the version that was measured: "
            f"pip install {package.name}=={package.version}, or name its library in {VARIABLE}"
        )
    if not os.path.isfile(plugin.path):
        raise RuntimeError(f"{plugin.path} is not a file: {plugin.remedy}")
    _require_shared_library(plugin)
    if package and _digest(plugin.path) != package.sha256:
        raise RuntimeError(
            f"{plugin.path} is not the library that {package.name} {package.version} was published with: "
            f"{plugin.remedy} --no-cache-dir"
        )


def load(plugin: Plugin) -> "Table":
    """Loads the library and gives a table whose buffers are not on the CPU. RuntimeError where something is wrong."""
    verify(plugin)
    try:
        # Never unloaded: its threads and JAX's clients live as long as the process.
        library = ctypes.CDLL(plugin.path)
        entry = library.GetPjrtApi
    except OSError as error:
        raise RuntimeError(f"{plugin.path} can not be loaded ({_one_line(error)}): {plugin.remedy}") from None
    except AttributeError:
        raise RuntimeError(f"{plugin.path} is no PJRT plugin, it has no GetPjrtApi: {plugin.remedy}") from None
    entry.restype, entry.argtypes = ctypes.c_void_p, []
    table = Table(plugin, entry() or 0)
    table.hide_cpu()
    if table.version[1] < KEEPS_CONTEXTS:
        table.keep_contexts()
    return table


class Table:
    """A copy of a plugin's table of functions, with other answers in some places. The plugin's own stays as it is.

    JAX keeps the address of the copy, and the plugin calls back into what is kept here: both live for ever.
    """

    _alive: list["Table"] = []  # noqa: RUF012

    def __init__(self, plugin: Plugin, address: int) -> None:
        self.plugin = plugin
        self.original = address
        self.version = self._checked_version()
        size = _word(address)
        self._memory = ctypes.create_string_buffer(size)
        ctypes.memmove(self._memory, address, size)
        self.address = ctypes.addressof(self._memory)
        # Type of extension -> address of a copy, which may be changed as the table may.
        self.extensions: dict[int, int] = {}
        self._kept: list[object] = []
        self._copy_extensions()
        self._alive.append(self)

    def _checked_version(self) -> tuple[int, int]:
        """Everything that an offset relies on. Nothing was written when this raises."""
        where, remedy = self.plugin.path, self.plugin.remedy
        if not self.original:
            raise RuntimeError(f"{where} gave no table of functions: {remedy}")
        size = _word(self.original)
        if not VERSION + VERSION_SIZE <= size <= LARGEST or size % WORD:
            raise RuntimeError(f"{where} has a table of {size} bytes, which no PJRT plugin has: {remedy}")
        if _word(self.original + VERSION) != VERSION_SIZE:
            raise RuntimeError(f"{where} does not say its PJRT version where 0.{OLDEST_MINOR} does: {remedy}")
        major, minor = _int(self.original + VERSION + 16), _int(self.original + VERSION + 20)
        if major != 0 or minor < OLDEST_MINOR:
            raise RuntimeError(f"{where} speaks PJRT {major}.{minor}, not 0.{OLDEST_MINOR} or a later 0: {remedy}")
        if size < max(NEEDED) + WORD:
            raise RuntimeError(f"{where} has a table of {size} bytes, too short for PJRT {major}.{minor}: {remedy}")
        if not all(_word(self.original + offset) for offset in NEEDED):
            raise RuntimeError(f"{where} lacks a function that PJRT {major}.{minor} has: {remedy}")
        return major, minor

    def _copy_extensions(self) -> None:
        """A chain of {size, type, next}, each followed by functions."""
        link, found = self.address + EXTENSIONS, _word(self.original + EXTENSIONS)
        while found:
            size = _word(found)
            if not 3 * WORD <= size <= LARGEST or len(self._kept) > 100:
                raise RuntimeError(f"{self.plugin.path} has a broken chain of extensions: {self.plugin.remedy}")
            memory = ctypes.create_string_buffer(size)
            ctypes.memmove(memory, found, size)
            self._kept.append(memory)
            copy = ctypes.addressof(memory)
            self.extensions[_int(copy + WORD)] = copy
            self.write(link, copy)
            link, found = copy + 2 * WORD, _word(found + 2 * WORD)

    def hide_cpu(self) -> None:
        """No buffer is on the CPU any more. The question is answered by another of the plugin's own functions, which
        takes the same arguments and says false of every live buffer ("is it deleted?"): so no Python runs then."""
        self.write(self.address + BUFFER_IS_ON_CPU, _word(self.original + BUFFER_IS_DELETED))

    def keep_contexts(self) -> None:
        """Delays the end of an execution's context until the execution is over for sure."""
        destroy = Function(_word(self.original + EXECUTE_CONTEXT_DESTROY))
        waiting: deque[int] = deque()

        def later(arguments: int) -> int | None:
            waiting.append(_word(arguments + 2 * WORD))
            if len(waiting) <= CONTEXTS_KEPT:
                return None
            oldest = (ctypes.c_size_t * 3)(3 * WORD, 0, waiting.popleft())
            error: int | None = destroy(ctypes.addressof(oldest))
            return error

        self.write(self.address + EXECUTE_CONTEXT_DESTROY, self.callback(later))

    def callback(self, function: Callable[[int], int | None]) -> int:
        """The address of a C function that calls a Python one with a pointer, for ever."""
        made = Function(function)
        self._kept.append(made)
        return ctypes.cast(made, ctypes.c_void_p).value or 0

    def write(self, place: int, value: int) -> None:
        ctypes.c_void_p.from_address(place).value = value

    def call(self, function: int, arguments: ctypes.Structure) -> None:
        """Calls a function of the plugin; its error becomes a RuntimeError."""
        error = Function(function)(ctypes.addressof(arguments))
        if not error:
            return
        text = _ErrorMessage(ctypes.sizeof(_ErrorMessage), None, error)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_word(self.original + ERROR_MESSAGE))(ctypes.addressof(text))
        message = ctypes.string_at(text.message, text.length).decode(errors="replace")
        end = (ctypes.c_size_t * 3)(3 * WORD, 0, error)
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_word(self.original + ERROR_DESTROY))(ctypes.addressof(end))
        raise RuntimeError(message)

    def capsule(self) -> object:
        """What JAX takes for a plugin's table."""
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        made: object = make(self.address, b"pjrt_c_api", None)
        return made


class _ErrorMessage(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("error", ctypes.c_void_p),
        ("message", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
    )


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value


def _int(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _require_shared_library(plugin: Plugin) -> None:
    """Loading a file that was cut short ends the process instead of raising, so its headers are read first."""
    path = plugin.path
    with open(path, "rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            raise RuntimeError(f"{path} is no 64-bit Linux library: {plugin.remedy}")
        machine = struct.unpack_from("<H", head, 18)[0]
        if MACHINES.get(machine) != platform.machine():
            raise RuntimeError(f"{path} is a library of another machine than {platform.machine()}: {plugin.remedy}")
        programs, sections = struct.unpack_from("<QQ", head, 32)
        program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", head, 54)
        end = sections + section_size * section_count
        file.seek(programs)
        for _ in range(program_count):
            entry = file.read(program_size)
            if len(entry) >= 40:
                end = max(end, sum(struct.unpack_from("<Q", entry, place)[0] for place in (8, 32)))
        if os.fstat(file.fileno()).st_size < max(end, programs + program_size * program_count):
            raise RuntimeError(f"{path} is cut short: {plugin.remedy}")


def _digest(path: str) -> str:
    """The SHA-256 of a file, from the cache if neither size nor time of the file changed: it is large."""
    status = os.stat(path)
    key = [path, status.st_size, status.st_mtime_ns]
    note = cache_folder() / f"plugin-{hashlib.sha256(path.encode()).hexdigest()[:16]}.json"
    try:
        noted = json.loads(note.read_text("utf-8"))
        if noted["key"] == key:
            return str(noted["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed: several processes start at once.
        written = note.with_suffix(f".{os.getpid()}")
        written.write_text(json.dumps({"key": key, "sha256": digest}), "utf-8")
        written.replace(note)
    except OSError:
        pass
    return digest


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

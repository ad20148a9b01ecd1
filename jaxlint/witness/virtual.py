"""The backend `virtual`: XLA's CPU client as a plugin whose buffers are not on the CPU, so that JAX's own guard judges
every fetch of the program's arrays, on a machine without an accelerator.

The client is registered under a name of its own, but keeps the platform `cpu`: lowering, callbacks, donation and caches
work as on the CPU. It becomes the default when JAX first looks for backends, whatever platforms the program asked for,
and the ordinary CPU client stands beside it as it does on a machine with an accelerator. Where it can not be made, the
program must not run on a plain CPU, which would let every fetch pass: `on_failure` is called and has to see to that.

Needs the standard library and jax alone. Importing it imports neither jax nor NumPy.
"""

import os
import platform
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

from . import plugin

if TYPE_CHECKING:
    from .ffi import Bridge

NAME = "virtual"
# The name of the client among JAX's backends. `jax.devices("cpu")` are those of the ordinary CPU client.
BACKEND = "vaccel"
DEVICES = "JAXLINT_DEVICES"
# An older jaxlib hands the plugin structures that it refuses, or ends the process.
OLDEST_JAXLIB = (0, 8, 0)
SENTINEL = "the backend sentinel serves here"
# Deprecated options that name a platform and are read before any backend is looked for.
OPTIONS = ("_PLATFORM_NAME", "_XLA_BACKEND")


def why_not() -> str | None:
    """None if the backend should work here; otherwise why not and what to do, in one line. Does not import jax."""
    if sys.platform != "linux" or not _has_glibc():
        return f"the plugin exists for Linux with glibc alone: {SENTINEL}"
    if sys.implementation.name != "cpython" or sys.maxsize < 2**32:
        return f"it needs a 64-bit CPython: {SENTINEL}"
    if platform.machine() != "x86_64" and not os.environ.get(plugin.VARIABLE):
        return f"the plugin exists for x86-64 alone, not for {platform.machine()}: {SENTINEL}"
    try:
        jaxlib = metadata.version("jaxlib")
    except metadata.PackageNotFoundError:
        return "jaxlib is not installed: pip install jax"
    if _numbers(jaxlib) < OLDEST_JAXLIB:
        return f"jaxlib {jaxlib} is older than 0.8.0: pip install -U jax, or {SENTINEL}"
    found = plugin.find_plugin()
    if found is None:
        return f"no plugin is installed: {plugin.REMEDY}"
    try:
        plugin.verify(found)
    except RuntimeError as error:
        return str(error)
    return None


def start(on_failure: Callable[[str], None], on_table: Callable[[plugin.Table], None] | None = None) -> None:
    """Makes the virtual devices the default ones as soon as JAX looks for backends. To be called right after the
    program's `import jax`. `on_failure` is called with a reason, at once or then, where that can not be; `on_table`
    with the table of functions, before JAX is given it."""
    reason = why_not()
    if reason is None:
        from jax._src import xla_bridge

        reason = _Discovery(xla_bridge, on_failure, on_table).install()
    if reason is not None:
        on_failure(reason)


def is_serving(on_table: Callable[[plugin.Table], None]) -> bool:
    """True where the virtual devices were chosen before: `on_table` is given their table, now or when it is made."""
    bridge = sys.modules.get("jax._src.xla_bridge")
    discovery = getattr(getattr(bridge, "backends", None), "__self__", None)
    if not isinstance(discovery, _Discovery):
        return False
    if _running.table is not None:
        on_table(_running.table)
    else:
        discovery.on_table = on_table
    return True


def describe() -> Mapping[str, str]:
    """The plugin that serves, or would serve, and its versions: for reports."""
    table = _running.table
    found = table.plugin if table else plugin.find_plugin()
    if found is None:
        return {}
    made = {"plugin": found.path}
    if found.package:
        made["package"] = f"{found.package.name} {found.version}"
    if table:
        made["pjrt"] = "{}.{}".format(*table.version)
    if _running.bridge:
        made["ffi"] = "{}.{}".format(*_running.bridge.version)
    return made


class _Running:
    """What lives as long as the process, once it was made."""

    table: plugin.Table | None = None
    bridge: "Bridge | None" = None


_running = _Running()


class _Discovery:
    """Stands before JAX's own discovery of backends, which is `xla_bridge.backends`."""

    def __init__(
        self,
        xla_bridge: ModuleType,
        on_failure: Callable[[str], None],
        on_table: Callable[[plugin.Table], None] | None,
    ) -> None:
        self.xla_bridge = xla_bridge
        self.on_table = on_table
        self.on_failure = on_failure
        self.lock = threading.RLock()
        self.replaced: dict[str, object] = {}

    def install(self) -> str | None:
        """What is in the way, or None."""
        bridge = self.xla_bridge
        if getattr(getattr(bridge, "backends", None), "__self__", None).__class__ is _Discovery:
            return None
        for name in ("backends", "_backends", "register_backend_factory"):
            if not hasattr(bridge, name):
                return f"this jax has no xla_bridge.{name}: pip install a release that docs/virtual.md names"
        if bridge._backends:
            return "a JAX backend was in use before jaxlint could take part"
        self.original: Callable[[], dict[str, object]] = bridge.backends
        self._replace("backends", self.backends)
        for name in OPTIONS:
            if hasattr(bridge, name):
                # Either would send the program to the ordinary CPU client, where no fetch is judged.
                self._replace(name, SimpleNamespace(value=""))
        return None

    def backends(self) -> dict[str, object]:
        """In the place of `xla_bridge.backends`: the first call of the process, and the first after they were cleared,
        finds the virtual devices first and the ordinary CPU second, and nothing else."""
        if self.xla_bridge._backends:
            return self.original()
        with self.lock:
            if not self.replaced or self.xla_bridge._backends:
                return self.original()
            try:
                client = self._client()
            except Exception as error:
                self._withdraw()
                self.on_failure(f"the virtual devices could not be made: {_one_line(error)}")
                return self.original()
            # Made before, so that a failure could still be answered; JAX asks for it now.
            self.xla_bridge.register_backend_factory(BACKEND, lambda: client, priority=500, fail_quietly=False)
            with self._only_these_platforms():
                return self.original()

    def _client(self) -> object:
        from jax._src import distributed
        from jaxlib import xla_client

        processes = distributed.global_state.num_processes or 1
        if processes > 1:
            raise RuntimeError(f"the program runs in {processes} processes, the plugin's client knows one")
        if _running.table is None:
            found = plugin.find_plugin()
            if found is None:
                raise RuntimeError(f"no plugin is installed: {plugin.REMEDY}")
            table = plugin.load(found)
            if self.on_table is not None:
                self.on_table(table)
            xla_client.load_pjrt_plugin_with_c_api(BACKEND, table.capsule())
            _running.table = table
        if _running.bridge is None:
            from . import costs, ffi

            bridge = ffi.Bridge(_running.table)
            bridge.connect()
            costs.fill_in(xla_client, lambda: self.original()["cpu"])
            _running.bridge = bridge
        if not xla_client.pjrt_plugin_initialized(BACKEND):
            xla_client.initialize_pjrt_plugin(BACKEND)
        return xla_client.make_c_api_client(BACKEND, {"cpu_device_count": self._device_count()}, None)

    def _device_count(self) -> int:
        """As many as the program asks of the CPU backend; where it says nothing, as many as jaxlint does, or one."""
        state = getattr(self.xla_bridge, "num_cpu_devices", None)
        asked = state.value if state is not None else -1
        if asked is not None and asked > 0:
            return int(asked)
        flags = re.findall(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
        return max(1, int(flags[-1] if flags else os.environ.get(DEVICES) or 1))

    @contextmanager
    def _only_these_platforms(self) -> Iterator[None]:
        """The program's own setting stays what it is, for those who read it; JAX reads it in here."""
        from jax._src import config

        update: Callable[[str, object], None] = config.update
        before = config.jax_platforms.value
        update("jax_platforms", f"{BACKEND},cpu")
        try:
            yield
        finally:
            update("jax_platforms", before)

    def _replace(self, name: str, value: object) -> None:
        self.replaced[name] = getattr(self.xla_bridge, name)
        setattr(self.xla_bridge, name, value)

    def _withdraw(self) -> None:
        for name, value in self.replaced.items():
            setattr(self.xla_bridge, name, value)
        self.replaced.clear()


def _has_glibc() -> bool:
    try:
        return "glibc" in (os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (AttributeError, OSError, ValueError):
        return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

"""The ways to have JAX's own guard judge a fetch, behind one interface, and the choice among them.

Each backend is a module with a `NAME`, `why_not() -> str | None` (None: it can serve; else a reason with a remedy) and
a start. Every one of them judges all three directions. A backend that fails is replaced by `sentinel`, never by a plain
CPU, and a canary is asked before the first judgement.
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING

from . import device, plugin, virtual
from .plan import VARIABLE, Plan
from .records import Recorder

if TYPE_CHECKING:
    from .marks import Marks

AUTO, SENTINEL = "auto", "sentinel"
NAMES = (device.NAME, virtual.NAME, SENTINEL)
DEVICE_COUNT = "xla_force_host_platform_device_count"
SELF_TEST_SECONDS = 120


def why_not(name: str) -> str | None:
    """Why a backend can not serve in this interpreter, with the remedy; None if it should. Does not import jax."""
    if name == device.NAME:
        return device.why_not()
    if name == virtual.NAME:
        return virtual.why_not()
    try:
        metadata.version("jax")
    except metadata.PackageNotFoundError:
        return "jax is not installed here: pip install jax"
    return None


def choose(cache: str) -> tuple[str, str]:
    """The first backend that can serve here, and why those before it do not. `virtual` has to pass its self-test, which
    is run once for an interpreter, a jaxlib and a plugin; `cache` is the folder that remembers."""
    reasons: list[str] = []
    for name in NAMES[:-1]:
        reason = why_not(name)
        if reason is None and name == virtual.NAME:
            reason = self_test(name, cache)
        if reason is None:
            return name, "; ".join(reasons)
        reasons.append(f"{name}: {reason}")
    return SENTINEL, "; ".join(reasons)


def self_test(name: str, cache: str) -> str | None:
    """None if a backend passed its self-test in a child of this interpreter; else the first check that failed."""
    place = os.path.join(cache, f"selftest-{_key(name)}.json")
    try:
        with open(place, encoding="utf-8") as file:
            known: str = json.load(file)["failed"]
            return known or None
    except (OSError, ValueError, KeyError):
        failed = _run_self_test(name)
    try:
        os.makedirs(cache, exist_ok=True)
        with open(f"{place}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump({"failed": failed}, file)
        os.replace(file.name, place)
    except OSError:
        return failed or None
    return failed or None


def _run_self_test(name: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in (VARIABLE, "PYTHONPATH")}
    command = [sys.executable, os.path.dirname(os.path.abspath(__file__)), "selftest", name]
    try:
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SELF_TEST_SECONDS,
        )
        checks: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return f"its self-test did not end within {SELF_TEST_SECONDS} s"
    except (OSError, ValueError, IndexError):
        return f"its self-test ended with status {done.returncode}"
    if done.returncode:
        return f"its self-test ended with status {done.returncode}"
    return next((f"its self-test failed: {check}: {what}" for check, what in checks.items() if what), "")


def _key(name: str) -> str:
    """What the answer of a self-test depends on."""
    parts = [name, sys.executable, platform.python_version(), platform.machine(), json.dumps([*_sources()])]
    for package in ("jax", "jaxlib", "numpy"):
        try:
            parts.append(metadata.version(package))
        except metadata.PackageNotFoundError:
            parts.append("")
    parts.append(json.dumps(dict(virtual.describe()), sort_keys=True))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _sources() -> list[tuple[str, int]]:
    here = os.path.dirname(os.path.abspath(__file__))
    return [
        (entry.name, entry.stat().st_mtime_ns)
        for entry in sorted(os.scandir(here), key=lambda entry: entry.name)
        if entry.name.endswith(".py")
    ]


def _offer_devices() -> None:
    """Two devices where the program says no number itself: else nothing crosses between devices on this machine."""
    flags = os.environ.get("XLA_FLAGS", "")
    if DEVICE_COUNT not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{DEVICE_COUNT}=2".strip()


class Backends:
    """The backend of this process."""

    def __init__(self, plan: Plan, recorder: Recorder) -> None:
        self.plan, self.recorder = plan, recorder
        self.name = self.reason = ""
        self.distrust: str | None = None
        self.checked = False
        self.open_again: Callable[[], None] | None = None
        # Told of the plugin's table before jax has it, and after `sentinel` was installed.
        self.on_table: Callable[[plugin.Table], None] | None = None
        self.on_sentinel: Callable[[], None] = lambda: None

    def start(self, marks: "Marks") -> None:
        """To be called when jax has been imported and no array exists yet."""
        from .doors import open_doors
        from .guard import Guard

        self.serve(any("device_to_device" in mark.directions for file in self.plan.files.values() for mark in file))
        marks.guard = guard = Guard(self.plan.records)
        self.open_again = open_doors(marks, guard, self.is_trusted)
        self.tell()

    def serve(self, offer_devices: bool) -> None:
        """Starts the backend that is asked for, or the first that can serve; `offer_devices` gives a program two where
        it says no number itself."""
        self.name, self.reason = (self.plan.backend, "")
        if self.name == AUTO:
            self.name, self.reason = choose(self.plan.cache)
        if offer_devices:
            _offer_devices()
        if self.name == virtual.NAME:
            virtual.start(self._replace, self.on_table)
        elif self.name == SENTINEL:
            self._install_sentinel()

    def tell(self) -> None:
        """The backend of this process, for the report."""
        if not self.name:
            return
        versions = {package: metadata.version(package) for package in ("jax", "jaxlib")}
        described = dict(virtual.describe()) if self.name == virtual.NAME else {}
        self.recorder.tell(backend=self.name, reason=self.reason, plugin=described, **versions)

    def is_trusted(self) -> bool:
        """True if the guard of this process refuses what it must; found out once, before the first judgement."""
        if not self.checked:
            self.checked = True
            self.distrust = self._canary()
            if self.distrust is not None and self.name == device.NAME:
                # The accelerator is not used: JAX fell back to the CPU, or the program asked for that.
                self._replace("the program's arrays are on the CPU")
                self.distrust = self._canary()
            if self.distrust is not None:
                self.recorder.tell(distrust=self.distrust)
        return self.distrust is None

    def _canary(self) -> str | None:
        from .sentinel import canary

        try:
            return canary()
        except Exception as error:
            return f"the canary raised {type(error).__name__}"

    def _replace(self, reason: str) -> None:
        """Instead of the backend that fails: the one that needs nothing but jax."""
        self.reason = f"{self.name}: {reason}"
        self.name = SENTINEL
        self._install_sentinel()
        if self.open_again is not None:
            self.open_again()
        self.tell()

    def _install_sentinel(self) -> None:
        from . import sentinel

        try:
            sentinel.install()
        except RuntimeError as error:
            self.checked, self.distrust = True, str(error)
            self.recorder.tell(distrust=self.distrust)
        else:
            self.on_sentinel()

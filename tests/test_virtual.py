"""The laws of the backend `virtual`: programs give what they give on the plain CPU, their fetches are judged by JAX's
own guard whatever devices they ask for, and where it can not serve somebody hears of it.

Everything that starts the backend runs in a child process. Without the plugin those tests are skipped."""

import functools
import json
import math
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path

import pytest

from jaxlint.witness import plugin, virtual

ROOT = Path(__file__).resolve().parent.parent
UNFIT = virtual.why_not()
needs_plugin = pytest.mark.skipif(UNFIT is not None, reason=f"no virtual devices here: {UNFIT}")
REFUSED = "INVALID_ARGUMENT: Disallowed device-to-host"
PREPARE = "import json, os, sys\n"
START = """
import jax
from jaxlint.witness import virtual

def failed(reason):
    raise SystemExit(f"not started: {reason}")

virtual.start(failed)
"""
JUDGE = """
import jax.numpy as jnp
import numpy as np

def fresh():
    return jax.block_until_ready(jnp.arange(3.0) * 2)

def outcome(task):
    try:
        with jax.transfer_guard_device_to_host("disallow"):
            task()
        return "passed"
    except Exception as error:
        return str(error).split(" transfer: ")[0]

def answer(*more):
    print(json.dumps([outcome(lambda: np.asarray(fresh())), len(jax.devices()), *more]))
"""


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_", "JAXLINT_DEVICES"))}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def child(program: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, env=environment(**more), timeout=180)


def run(after: str, before: str = "", **more: str) -> list[object]:
    """What a program answers that runs `before` its `import jax` and `after` the backend was started."""
    done = child(PREPARE + before + START + JUDGE + after, **more)
    assert done.returncode == 0, done.stderr[-2000:]
    answered: list[object] = json.loads(done.stdout.splitlines()[-1])
    return answered


@functools.cache
def features(backend: str) -> Mapping[str, object]:
    more = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, str(ROOT / "tests" / "virtual_features.py"), backend]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(**more), timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found: Mapping[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def difference(one: object, other: object) -> str:
    """Where two answers differ by more than rounding, or nothing."""
    if isinstance(one, dict) and isinstance(other, dict) and "values" in one:
        if (one["dtype"], one["shape"]) != (other.get("dtype"), other.get("shape")):
            return f"{one['dtype']}{one['shape']} became {other.get('dtype')}{other.get('shape')}"
        tolerance = 1e-10 if one["dtype"] in ("float64", "complex128") else 2e-3
        tolerance = 5e-2 if "bfloat16" in one["dtype"] or "float8" in one["dtype"] else tolerance
        pairs = zip(one["values"], other["values"], strict=True)
        return next(
            (f"{a} became {b}" for a, b in pairs if not math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)), ""
        )
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next(filter(None, (difference(one[key], other[key]) for key in one)), "")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return next(filter(None, map(difference, one, other)), "")
    if isinstance(one, float) and isinstance(other, float):
        return "" if math.isclose(one, other, rel_tol=1e-3, abs_tol=1e-3) else f"{one} became {other}"
    return "" if one == other else f"{one!r} became {other!r}"


@needs_plugin
def test_features_give_what_they_give_on_the_plain_cpu() -> None:
    plain, virtually = features("plain"), features("virtual")
    assert len(plain) > 60
    found = {name: difference(value, virtually[name]) for name, value in plain.items()}
    assert {name: what for name, what in found.items() if what} == {}
    failed = {name: value for name, value in plain.items() if isinstance(value, str)}
    # jax.export needs a package that jax does not depend on.
    assert {name: value for name, value in failed.items() if "flatbuffers" not in value} == {}


@needs_plugin
class TestWhateverTheProgramAsksFor:
    @pytest.mark.parametrize(
        ("before", "after", "devices"),
        [
            ("", "answer()", 1),
            ("os.environ['JAX_PLATFORMS'] = 'cpu'", "answer()", 1),
            ("os.environ['JAX_PLATFORMS'] = 'cuda,cpu'", "answer()", 1),
            ("os.environ['JAX_PLATFORM_NAME'] = 'cpu'", "answer()", 1),
            ("", "jax.config.update('jax_platforms', 'cpu')\nanswer()", 1),
            ("", "jax.config.update('jax_platforms', '')\nanswer()", 1),
            ("", "jax.config.update('jax_platform_name', 'cpu')\nanswer()", 1),
            ("os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'", "answer()", 8),
            ("", "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=2'\nanswer()", 2),
            ("", "jax.config.update('jax_num_cpu_devices', 3)\nanswer()", 3),
            ("os.environ['JAXLINT_DEVICES'] = '2'", "answer()", 2),
            ("os.environ['JAXLINT_DEVICES'] = '2'", "jax.config.update('jax_num_cpu_devices', 3)\nanswer()", 3),
            ("import socket", "PORT", 1),
            ("", "jax.device_put(1, jax.devices('cpu')[0])\nanswer()", 1),
            ("", "jax.local_devices(backend='cpu')\nanswer()", 1),
            ("", "from jax.extend import backend\nbackend.backends()\nanswer()", 1),
        ],
    )
    def test_its_fetches_are_judged(self, before: str, after: str, devices: int) -> None:
        if after == "PORT":
            after = (
                "with socket.socket() as free:\n    free.bind(('localhost', 0))\n    port = free.getsockname()[1]\n"
                "jax.distributed.initialize(f'localhost:{port}', num_processes=1, process_id=0)\nanswer()"
            )
        assert run(after, before) == [REFUSED, devices]

    def test_after_the_backends_were_cleared(self) -> None:
        after = """
import jax.extend.backend
fresh()
jax.extend.backend.clear_backends()
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 2)
answer(outcome(lambda: np.asarray(fresh())))
"""
        assert run(after) == [REFUSED, 2, REFUSED]

    def test_its_own_settings_stay_as_they_are(self) -> None:
        after = "fresh()\nanswer(jax.config.jax_platforms, os.environ.get('JAX_PLATFORMS'))"
        assert run(after) == [REFUSED, 1, None, None]
        assert run(after, "os.environ['JAX_PLATFORMS'] = 'cpu'") == [REFUSED, 1, "cpu", "cpu"]

    def test_all_threads_are_judged_by_the_setting(self) -> None:
        after = """
from concurrent.futures import ThreadPoolExecutor
def task(_):
    x = fresh()
    jax.config.update("jax_transfer_guard_device_to_host", "disallow")
    try:
        np.asarray(x)
    except Exception as error:
        return str(error).split(" transfer: ")[0]
with ThreadPoolExecutor(4) as pool:
    made = sorted(set(map(str, pool.map(task, range(8)))))
jax.config.update("jax_transfer_guard_device_to_host", "allow")
answer(made)
"""
        assert run(after) == [REFUSED, 1, [REFUSED]]

    def test_an_array_on_the_cpu_beside_is_on_the_cpu(self) -> None:
        after = """
x = jax.device_put(np.arange(3.0), jax.devices("cpu")[0])
answer(outcome(lambda: np.asarray(x)), outcome(lambda: jax.device_put(fresh(), jax.devices("cpu")[0])))
"""
        assert run(after) == [REFUSED, 1, "passed", REFUSED]

    def test_pinned_host_memory_counts_as_the_devices(self) -> None:
        """Known not to be so on a GPU, whose pinned memory is the host's."""
        after = """
pinned = jax.sharding.SingleDeviceSharding(jax.devices()[0], memory_kind="pinned_host")
x = jax.device_put(fresh(), pinned)
answer(outcome(lambda: np.asarray(x)))
"""
        assert run(after) == [REFUSED, 1, REFUSED]

    def test_device_to_device(self) -> None:
        after = """
x, y = fresh(), jax.device_put(np.ones(3, np.float32), jax.devices()[1])
try:
    with jax.transfer_guard_device_to_device("disallow"):
        x + y
except Exception as error:
    answer(str(error).split(" transfer: ")[0])
"""
        assert run(after, JAXLINT_DEVICES="2") == [REFUSED, 2, REFUSED.replace("host", "device")]


@needs_plugin
class TestAChild:
    def test_writes_what_it_writes_without(self) -> None:
        program = """
import jax.numpy as jnp
print(jnp.arange(3), jax.devices(), jax.jit(jnp.linalg.cholesky)(jnp.eye(2)))
jax.jit(lambda x: jax.debug.print("{x}", x=x))(jnp.ones(2))
"""
        plain, started = child(f"import jax\n{program}", JAX_PLATFORMS="cpu"), child(START + program)
        assert (started.stdout, started.stderr, started.returncode) == (plain.stdout, plain.stderr, 0)
        assert "[1. 1.]" in plain.stdout

    def test_ends_well_with_callbacks_pending(self) -> None:
        after = """
total = []
@jax.jit
def work(x):
    jax.debug.callback(lambda v: total.append(1), x.sum())
    y = jax.pure_callback(lambda v: np.asarray(v) * 2, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    return jnp.linalg.cholesky(y @ y.T + 5 * jnp.eye(16)).sum()
x = jnp.ones((16, 16))
made = [work(x * i) for i in range(200)]
jax.block_until_ready(made)
jax.effects_barrier()
shout = jax.jit(lambda x: jax.debug.print("late {x}", x=x))
answer(len(total))
for i in range(20):
    shout(jnp.float32(i))
print(json.dumps([len(total)]))
"""
        done = child(PREPARE + START + JUDGE + after)
        assert done.returncode == 0, done.stderr[-2000:]
        assert json.dumps([REFUSED, 1, 200]) in done.stdout
        assert done.stdout.count("late ") == 20

    def test_functions_registered_later_are_found(self) -> None:
        after = """
from jaxlib import xla_client
jnp.linalg.cholesky(jnp.eye(2))
target = xla_client.custom_call_targets("cpu")["lapack_spotrf_ffi"]["execute"]
jax.ffi.register_ffi_target("another_cholesky", target, platform="cpu")
s = np.array([[4, 2], [2, 3]], np.float32)
shapes = (jax.ShapeDtypeStruct(s.shape, s.dtype), jax.ShapeDtypeStruct((), np.int32))
made, _ = jax.jit(lambda s: jax.ffi.ffi_call("another_cholesky", shapes)(s, uplo=np.uint8(ord("U"))))(s)
right = np.allclose(np.tril(jax.device_get(made)), np.linalg.cholesky(s))
answer(bool(right))
"""
        assert run(after) == [REFUSED, 1, True]

    def test_its_compilation_cache_is_not_the_plain_cpus(self, tmp_path: Path) -> None:
        program = f"""
import jax.numpy as jnp
jax.config.update("jax_compilation_cache_dir", {str(tmp_path)!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.jit(lambda x: jnp.sin(x) * 3.25)(jnp.ones(3)).block_until_ready()
"""
        stored = []
        for start in ("import jax", START):
            assert child(start + program, JAX_PLATFORMS="cpu").returncode == 0
            stored.append({file.name for file in tmp_path.iterdir() if file.name.endswith("-cache")})
        assert stored[0] < stored[1]
        assert len(stored[1]) == 2 * len(stored[0])

    def test_describes_its_plugin(self) -> None:
        after = "before = dict(virtual.describe())\nfresh()\nanswer(before, dict(virtual.describe()))"
        _, _, before, described = run(after)
        found = plugin.find_plugin()
        assert found is not None
        assert isinstance(before, dict)
        assert before["plugin"] == found.path
        assert isinstance(described, dict)
        assert described["pjrt"].startswith("0.")
        assert described["ffi"].startswith("0.")

    def test_takes_the_library_that_the_user_names(self) -> None:
        found = plugin.find_plugin()
        assert found is not None
        assert run("answer(dict(virtual.describe()))", JAXLINT_PLUGIN=found.path)[2]["plugin"] == found.path  # type: ignore[index]

    def test_works_under_another_name(self, tmp_path: Path) -> None:
        (tmp_path / "private").symlink_to(ROOT / "jaxlint" / "witness")
        program = (START + JUDGE).replace("jaxlint.witness", "private") + "answer('jaxlint' in sys.modules)"
        done = child(PREPARE + program, PYTHONPATH=str(tmp_path))
        assert json.loads(done.stdout) == [REFUSED, 1, False], done.stderr


class TestAFailure:
    """The program never goes on upon an unguarded CPU: `on_failure` hears of it, before the first array exists."""

    PROGRAM = """
import jax
from jaxlint.witness import plugin, sentinel, virtual

heard = []

def replaced(reason):
    heard.append(reason)
    sentinel.install()
"""

    def hear(self, after: str, before: str = "", **more: str) -> list[object]:
        done = child(PREPARE + before + self.PROGRAM + after + JUDGE + "answer(heard)", JAX_PLATFORMS="cpu", **more)
        assert done.returncode == 0, done.stderr[-2000:]
        answered: list[object] = json.loads(done.stdout.splitlines()[-1])
        return answered

    @pytest.mark.skipif(sys.platform != "linux", reason="the plugin is a Linux library")
    @pytest.mark.skipif(
        "older than" in (virtual.why_not() or ""), reason="said of jaxlib before the library is looked at"
    )
    def test_at_once_where_the_library_is_wrong(self, tmp_path: Path) -> None:
        wrong = tmp_path / "library.so"
        wrong.write_text("no library")
        verdict, devices, heard = self.hear("virtual.start(replaced)", JAXLINT_PLUGIN=str(wrong))
        assert (verdict, devices) == (REFUSED, 1)
        assert heard == [f"{wrong} is no 64-bit Linux library: correct JAXLINT_PLUGIN, or unset it and {plugin.REMEDY}"]

    @needs_plugin
    @pytest.mark.parametrize(
        ("spoil", "reason"),
        [
            ("def load(plugin):\n    raise RuntimeError('broken')\nplugin.load = load", "broken"),
            (
                "from jax._src import distributed\ndistributed.global_state.num_processes = 2",
                "the program runs in 2 processes, the plugin's client knows one",
            ),
            ("os.environ['JAXLINT_DEVICES'] = 'many'", "invalid literal for int() with base 10: 'many'"),
        ],
    )
    def test_when_jax_looks_for_backends(self, spoil: str, reason: str) -> None:
        after = f"virtual.start(replaced)\n{spoil}\nassert not heard"
        expected = [REFUSED, 1, [f"the virtual devices could not be made: {reason}"]]
        assert self.hear(after) == expected

    @needs_plugin
    def test_where_a_backend_was_used_before(self) -> None:
        after = "jax.devices()\nvirtual.start(replaced)"
        assert self.hear(after) == [REFUSED, 1, ["a JAX backend was in use before jaxlint could take part"]]

    @needs_plugin
    def test_leaves_nothing_behind(self) -> None:
        after = """
from jax._src import xla_bridge
before = {name: getattr(xla_bridge, name) for name in ("backends", *virtual.OPTIONS) if hasattr(xla_bridge, name)}
virtual.start(replaced)
def load(plugin):
    raise RuntimeError("broken")
plugin.load = load
jax.devices()
assert all(getattr(xla_bridge, name) is value for name, value in before.items())
"""
        assert self.hear(after)[0] == REFUSED


class TestWhyNot:
    def versions(self, monkeypatch: pytest.MonkeyPatch, jaxlib: str | None) -> None:
        def version(name: str) -> str:
            if jaxlib is None:
                raise metadata.PackageNotFoundError(name)
            return jaxlib

        monkeypatch.setattr(metadata, "version", version)

    @pytest.fixture(autouse=True)
    def fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A machine where everything but the plugin is right."""
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(os, "confstr", lambda name: "glibc 2.36", raising=False)
        monkeypatch.setattr(platform, "machine", lambda: "x86_64")
        monkeypatch.setattr(plugin, "find_plugin", lambda: None)
        monkeypatch.delenv(plugin.VARIABLE, raising=False)
        self.versions(monkeypatch, "0.10.2")

    def test_no_plugin(self) -> None:
        assert virtual.why_not() == "no plugin is installed: pip install fastatomstruct-xla-cpu==2026.6.23"

    @pytest.mark.parametrize(
        ("spoil", "reason"),
        [
            (lambda m: m.setattr(sys, "platform", "darwin"), "the plugin exists for Linux with glibc alone"),
            (lambda m: m.setattr(os, "confstr", lambda name: None), "the plugin exists for Linux with glibc alone"),
            (lambda m: m.setattr(platform, "machine", lambda: "aarch64"), "the plugin exists for x86-64 alone"),
        ],
    )
    def test_another_machine(
        self, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[pytest.MonkeyPatch], None], reason: str
    ) -> None:
        spoil(monkeypatch)
        why = virtual.why_not()
        assert why is not None
        assert why.startswith(reason)
        assert why.endswith(virtual.SENTINEL)

    def test_an_old_jaxlib(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.versions(monkeypatch, "0.7.2")
        assert virtual.why_not() == f"jaxlib 0.7.2 is older than 0.8.0: pip install -U jax, or {virtual.SENTINEL}"
        self.versions(monkeypatch, None)
        assert virtual.why_not() == "jaxlib is not installed: pip install jax"
        self.versions(monkeypatch, "0.12.0.1")
        assert str(virtual.why_not()).startswith("no plugin")

    def test_asking_imports_neither_jax_nor_numpy(self) -> None:
        program = "import sys\nfrom jaxlint.witness import virtual as v\nv.why_not(), v.describe()\nprint(*sys.modules)"
        loaded = child(program).stdout.split()
        assert "jaxlint.witness.plugin" in loaded
        assert {"jax", "jaxlib", "numpy"}.isdisjoint(loaded)

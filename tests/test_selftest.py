"""The laws of the self-test: a backend that holds passes every check, and what is wrong fails the check of its name.
Each runs in a child process, as the self-test is meant to."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint.witness import virtual

ROOT = Path(__file__).resolve().parent.parent
UNFIT = virtual.why_not()
STARTS = {
    "plain": "",
    "sentinel": "from jaxlint.witness import sentinel\nsentinel.install()\n",
    "virtual": "from jaxlint.witness import virtual\nvirtual.start(sys.exit)\n",
}
RUN = "from jaxlint.witness import selftest\n{}\nprint(json.dumps(selftest.run()))\n"


def failed(start: str, spoil: str = "", devices: int = 1) -> dict[str, str]:
    """The checks that fail, with what they say."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    environment |= {
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
    program = f"import json, sys\nimport jax\n{start}{RUN.format(spoil)}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    # Nothing but the answer: what it makes jax print is caught.
    checks: dict[str, str] = json.loads(done.stdout)
    assert len(checks) >= 20
    assert not any("\n" in what for what in checks.values())
    return {name: what for name, what in checks.items() if what}


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize(
    "backend",
    ["sentinel", pytest.param("virtual", marks=pytest.mark.skipif(UNFIT is not None, reason=f"not here: {UNFIT}"))],
)
def test_a_backend_that_holds_passes(backend: str, devices: int) -> None:
    assert failed(STARTS[backend], devices=devices) == {}


def test_the_plain_cpu_fails_where_fetches_are_to_be_refused() -> None:
    found = failed(STARTS["plain"])
    assert sorted(found) == ["computed", "fetch", "sharding", "string"]
    assert found["fetch"] == "ValueError: numpy.asarray of a device array was not refused"


@pytest.mark.parametrize(
    ("spoil", "check", "what"),
    [
        (
            "right = jax.numpy.atan\njax.numpy.atan = lambda x: right(x) * 1.01",
            "float64",
            "ValueError: atan in float64: off by",
        ),
        ("jax.numpy.linalg.cholesky = lambda s: s", "linear algebra", "ValueError: off by"),
        ("jax.debug.print = lambda *a, **k: None", "debug print", "ValueError: printed ''"),
        (
            "def fail(*a, **k):\n    raise OSError('two\\nlines')\njax.pure_callback = fail",
            "pure callback",
            "OSError: lines",
        ),
        ("jit = jax.jit\njax.jit = lambda f, donate_argnums=(): jit(f)", "donation", "ValueError: a donated array"),
    ],
)
def test_what_is_wrong_fails_its_check(spoil: str, check: str, what: str) -> None:
    found = failed(STARTS["sentinel"], spoil)
    assert found.get(check, "").startswith(what), found
    assert len(found) <= 2

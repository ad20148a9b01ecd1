"""The laws of the backend `sentinel`: on a plain CPU the real guard judges a fetch as it would on an accelerator. Each
program runs in a child process, because the backend changes jax for good."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
START = """\
import json
import jax
import jax.numpy as jnp
import numpy as np
from jaxlint.witness import sentinel

def fresh():
    return jnp.arange(8.0) + 1.0

def outcome(task):
    try:
        task()
        return "passed"
    except jax.errors.JaxRuntimeError as error:
        return str(error).split(" transfer: ")[0] + ("" if "shape=" in str(error) else " without a subject")
    except Exception as error:
        return type(error).__name__

def answer(value):
    print(json.dumps(value))

"""
INSTALL = "sentinel.install()\n"
REFUSED = "INVALID_ARGUMENT: Disallowed device-to-host"
FETCHES = (
    "np.asarray(fresh())",
    "np.array(fresh())",
    "np.asarray(fresh(), dtype=np.int32)",
    "np.add(fresh(), 1)",
    "str(fresh())",
    "repr(fresh())",
    "f'{fresh().sum():.1f}'",
    "float(fresh().sum())",
    "int(fresh().sum())",
    "bool(fresh().any())",
    "fresh().sum().item()",
    "fresh().tolist()",
    "fresh().tobytes()",
    "fresh().copy_to_host_async()",
    "jnp.unique(fresh())",
    "jax.debug.print('{}', fresh())",
    "__import__('pickle').dumps(fresh())",
    "[1, 2, 3][fresh()[0].astype(int)]",
)
FREE = (
    "jax.device_get(fresh())",
    "jax.device_get([fresh(), fresh()])",
    "list(fresh())",
    "np.mean(fresh())",
    "np.ones(8) * fresh()",
    "fresh().block_until_ready()",
    "fresh() == fresh()",
    "jax.jit(lambda x: jax.pure_callback(np.sin, x, x))(fresh()).block_until_ready()",
    "(jax.jit(lambda x: jax.debug.print('{}', x))(fresh()), jax.effects_barrier())",
)


def run(program: str, devices: int = 1, stderr: bool = False) -> object:
    """What the program answers; with `stderr` the text on its file descriptor 2."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    environment |= {
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
    done = subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr[-2000:]
    if stderr:
        return done.stderr
    answered: object = json.loads(done.stdout.splitlines()[-1])
    return answered


def outcomes(expressions: tuple[str, ...], level: str) -> object:
    tasks = "".join(f"    made[{text!r}] = outcome(lambda: {text})\n" for text in expressions)
    return run(f"{INSTALL}made = {{}}\nwith jax.transfer_guard_device_to_host({level!r}):\n{tasks}answer(made)\n")


def test_the_canary_dies_without_the_backend_and_lives_with_it() -> None:
    program = f"before = sentinel.canary()\n{INSTALL}{INSTALL}answer([before, sentinel.canary()])\n"
    assert run(program) == ["numpy.asarray of a device array was not refused", None]


@pytest.mark.parametrize(
    "around",
    [
        "jax.transfer_guard('allow')",
        "jax.transfer_guard('log')",
        "jax.transfer_guard('disallow')",
        "jax.transfer_guard('disallow_explicit')",
        "explicit_device_get_scope()",
        "explicit_device_put_scope()",
        "sentinel._silently()",
        "jax.default_device(jax.devices()[-1])",
    ],
)
def test_the_canary_lives_wherever_the_first_judgement_is_due(around: str) -> None:
    program = (
        f"from jax._src.config import explicit_device_get_scope, explicit_device_put_scope\n{INSTALL}"
        f"with {around}: first = sentinel.canary()\n"
        f"with {around}: then = outcome(lambda: np.asarray(fresh()))\n"
        "answer([first, then, outcome(lambda: np.asarray(fresh())), sentinel.canary()])\n"
    )
    answer = run(program)
    assert isinstance(answer, list)
    assert [answer[0], *answer[2:]] == [None, "passed", None]


def test_the_canary_leaves_what_is_asked_by_name_as_it_was() -> None:
    program = (
        f"from jax._src.config import explicit_device_get_scope\n{INSTALL}"
        "with explicit_device_get_scope(), jax.transfer_guard_device_to_host('disallow'):\n"
        "    answer([sentinel.canary(), outcome(lambda: np.asarray(fresh()))])\n"
    )
    assert run(program) == [None, "passed"]


def test_implicit_fetches_are_refused_in_the_guards_own_words() -> None:
    assert outcomes(FETCHES, "disallow") == dict.fromkeys(FETCHES, REFUSED)


def test_what_is_explicit_or_no_fetch_passes() -> None:
    assert outcomes(FREE, "disallow") == dict.fromkeys(FREE, "passed")


def test_without_a_guard_everything_passes() -> None:
    assert outcomes((*FETCHES, *FREE), "allow") == dict.fromkeys((*FETCHES, *FREE), "passed")


def test_explicit_fetches_are_refused_at_their_level() -> None:
    assert outcomes(FREE[:2], "disallow_explicit") == dict.fromkeys(FREE[:2], REFUSED)


@pytest.mark.parametrize(
    ("before", "then"),
    [
        ("np.asarray(x)", "passed"),
        ("jax.device_get(x)", "passed"),
        ("x.copy_to_host_async()", "passed"),
        ("list(x)", REFUSED),
        ("x + 1", REFUSED),
    ],
)
def test_an_array_that_was_fetched_is_free_afterwards(before: str, then: str) -> None:
    program = f"""{INSTALL}
x = fresh()
{before}
with jax.transfer_guard_device_to_host("disallow"):
    answer(outcome(lambda: np.asarray(x)))
"""
    assert run(program) == then


def test_a_refused_fetch_is_refused_again_and_then_gives_the_value() -> None:
    program = f"""{INSTALL}
x = fresh()
with jax.transfer_guard_device_to_host("disallow"):
    made = [outcome(lambda: np.asarray(x)), outcome(lambda: np.asarray(x))]
answer([*made, np.asarray(x).tolist(), np.asarray(x).flags.writeable])
"""
    assert run(program) == [REFUSED, REFUSED, [float(n) for n in range(1, 9)], False]


def test_the_context_manager_holds_for_its_thread_and_the_setting_for_all() -> None:
    program = f"""{INSTALL}
from concurrent.futures import ThreadPoolExecutor
task = lambda: outcome(lambda: np.asarray(fresh()))
with ThreadPoolExecutor(1) as pool:
    with jax.transfer_guard_device_to_host("disallow"):
        made = [task(), pool.submit(task).result()]
    jax.config.update("jax_transfer_guard_device_to_host", "disallow")
    answer([*made, pool.submit(task).result(), task()])
"""
    assert run(program) == [REFUSED, "passed", REFUSED, REFUSED]


def test_sharded_arrays_are_judged_once() -> None:
    program = f"""{INSTALL}
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("a",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("a"))
x = jax.device_put(np.arange(8.0), rows)
with jax.transfer_guard_device_to_host("disallow"):
    answer([outcome(lambda: np.asarray(x)), outcome(lambda: jax.device_get(x)), outcome(lambda: np.asarray(x))])
"""
    assert run(program, devices=4) == [REFUSED, "passed", "passed"]


def test_a_constant_that_is_read_while_tracing_is_judged_too() -> None:
    program = f"""{INSTALL}
x = fresh()
scale = jax.jit(lambda y: y * np.asarray(x))
total = jax.grad(lambda y: y * float(x.sum()))
with jax.transfer_guard_device_to_host("disallow"):
    made = [outcome(lambda: scale(1.0)), outcome(lambda: total(1.0))]
with jax.transfer_guard_device_to_host("log"):
    answer([*made, outcome(lambda: scale(1.0)), outcome(lambda: total(1.0))])
"""
    assert run(program) == [REFUSED, REFUSED, "passed", "passed"]


def test_the_log_level_writes_one_line_a_fetch() -> None:
    program = f"""{INSTALL}
x, y = fresh(), fresh()
with jax.transfer_guard_device_to_host("log"):
    np.asarray(x), str(x), str(y), jax.device_get(fresh())
"""
    said = str(run(program, stderr=True))
    assert said.count("device-to-host transfer") == 2
    # Of the array and not of what the guard is asked with.
    assert said.count("guard_lib.cc:0] device-to-host transfer: shape=(8), dtype=F32, device=cpu:0") == 2


def test_where_the_log_of_jaxlib_is_off_nothing_is_written() -> None:
    program = f"""import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
{INSTALL}
with jax.transfer_guard_device_to_host("log_explicit"):
    np.asarray(fresh()), jax.device_get(fresh())
"""
    assert "transfer" not in str(run(program, stderr=True))


@pytest.mark.parametrize(
    "how", ["[np.asarray(a) for a in jax.live_arrays()]", "[a.delete() for a in jax.live_arrays()]"]
)
def test_what_becomes_of_all_live_arrays_lets_no_fetch_pass(how: str) -> None:
    # Among them is what the guard is asked with.
    program = f"""{INSTALL}
x = fresh()
with jax.transfer_guard_device_to_host("disallow"):
    before = outcome(lambda: np.asarray(x))
{how}
y = fresh()
with jax.transfer_guard_device_to_host("disallow"):
    answer([before, outcome(lambda: np.asarray(y))])
"""
    assert run(program) == [REFUSED, REFUSED]


def test_a_deleted_array_raises_as_ever() -> None:
    program = f"{INSTALL}\nx = fresh()\nnp.asarray(x)\nx.delete()\nanswer(outcome(lambda: np.asarray(x)))\n"
    assert run(program) == "RuntimeError"

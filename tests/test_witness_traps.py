"""What is known to deceive a runtime pass: each trap is a small program, and its verdicts are right all the same."""

import socket
from pathlib import Path
from typing import Any

import pytest

from confirming import confirmed

START = "import jax, jax.numpy as jnp, numpy as np\nstep = jax.jit(lambda v: v * 2)\n"
HOST, DEVICE, BETWEEN = "JT1", "JT2", "JT3"


def verdicts(
    folder: Path, text: str, *options: str, command: str = "python x.py"
) -> dict[tuple[int, str], dict[str, Any]]:
    """The verdicts by line (of the text, behind what every program starts with) and family of the code."""
    (folder / "x.py").write_text(START + text)
    found: dict[tuple[int, str], dict[str, Any]] = {}
    first = START.count("\n")
    for finding in confirmed(folder, "sentinel", [command], "--min-confidence", "low", *options):
        if finding["verdict"]["status"] != "undecided":
            found[finding["line"] - first, finding["code"][:3]] = finding["verdict"]
    return found


def statuses(found: dict[tuple[int, str], dict[str, Any]], family: str) -> dict[int, str]:
    return {line: verdict["status"] for (line, code), verdict in found.items() if code == family}


def test_errors_of_the_guard_that_libraries_swallow_or_replace(tmp_path: Path) -> None:
    text = """\
import logging, struct
x = step(jnp.arange(3.0)); y = step(jnp.arange(3.0)); n = np.zeros(3)
s = x[0] + 1
logging.warning('%s', x)
assert not np.array_equal(y, step(y)), 'it was told that they differ'
s = x[1] + 1
n[0] = s
s = x[2] + 1
struct.pack('f', s)
try:
    s = x[0] + 3
    float(s)
except Exception:
    pass
"""
    found = verdicts(tmp_path, text)
    assert statuses(found, HOST) == dict.fromkeys((4, 5, 7, 9, 12), "confirmed")
    assert {verdict["evidence"] for (_, code), verdict in found.items() if code == HOST} == {"guard"}


def test_what_was_fetched_before_is_refuted(tmp_path: Path) -> None:
    text = """\
def show(v, w):
    print(v)
    print(w)
x = step(jnp.arange(3.0))
show(x, x)
"""
    found = verdicts(tmp_path, text)
    assert statuses(found, HOST) == {2: "confirmed", 3: "refuted"}


def test_the_empty_messages_of_warm_uploads(tmp_path: Path) -> None:
    text = """\
def call(v):
    return step(v)
def main():
    for i in range(4):
        call(np.ones(3, np.float32))
main()
"""
    found = verdicts(tmp_path, text)
    verdict = found[2, DEVICE]
    assert (verdict["status"], verdict["transfers"], verdict["runs"]) == ("confirmed", 4, 4)
    assert verdict["message"]


def test_between_devices_the_guard_is_silent_after_an_allowed_call(tmp_path: Path) -> None:
    text = """\
there = jax.devices()[1]
a, b = jax.device_put(jnp.ones(3), there), jnp.ones(3)
add = jax.jit(lambda p, q: p + q)
for i in range(3):
    add(a, b)
"""
    flags = "XLA_FLAGS=--xla_force_host_platform_device_count=2 python x.py"
    found = verdicts(tmp_path, text, command=flags)
    verdict = found[5, BETWEEN]
    assert verdict["status"] == "confirmed"
    assert verdict["transfers"] >= 1


def test_a_guard_that_is_left_on_across_yield(tmp_path: Path) -> None:
    text = """\
def rows(x):
    with jax.transfer_guard_device_to_host('disallow'):
        for i in range(2):
            yield x[i] + 1
def main():
    for row in rows(step(jnp.arange(3.0))):
        try:
            print(float(row))
        except Exception as error:
            print(type(error).__name__)
main()
print(float(step(jnp.float32(3))))
"""
    found = verdicts(tmp_path, text)
    assert statuses(found, HOST) == {8: "confirmed", 12: "confirmed"}


def test_a_guard_of_the_programs_own(tmp_path: Path) -> None:
    text = """\
x = step(jnp.arange(3.0))
with jax.transfer_guard('disallow'):
    try:
        print(x)
    except Exception as error:
        open('said', 'w').write(f'{type(error).__name__} {error.__context__} {str(error)[:52]}')
    try:
        step(np.ones(3, np.float32))
    except Exception as error:
        open('said', 'a').write(f'|{type(error).__name__} {error.__context__} {str(error)[:52]}')
"""
    found = verdicts(tmp_path, text)
    assert found[4, HOST]["status"] == found[8, DEVICE]["status"] == "confirmed"
    fetched, uploaded = (tmp_path / "said").read_text().split("|")
    assert fetched.endswith("None INVALID_ARGUMENT: Disallowed device-to-host transfer")
    assert uploaded.endswith("None INVALID_ARGUMENT: Disallowed host-to-device transfer")


def test_threads_are_judged_though_they_inherit_no_guard(tmp_path: Path) -> None:
    text = """\
import threading
x = step(jnp.arange(3.0)); said = []
def work():
    said.append(float(x[0] + 1))
def upload():
    said.append(step(np.ones(3, np.float32)))
with jax.transfer_guard('disallow'):
    for task in (work, upload):
        thread = threading.Thread(target=task); thread.start(); thread.join()
open('said', 'w').write(str(len(said)))
"""
    found = verdicts(tmp_path, text)
    assert found[4, HOST]["status"] == found[6, DEVICE]["status"] == "confirmed"
    assert (tmp_path / "said").read_text() == "2"


def test_formatting_an_error_or_a_local_does_not_fetch(tmp_path: Path) -> None:
    text = """\
def f(v):
    raise ValueError(v)
def look(v):
    try:
        print(f(v))
    except ValueError as error:
        return error
def show(v):
    print(v)
x = step(jnp.arange(3.0))
error = look(x)
assert x._npy_value is None, 'somebody fetched it'
show(x)
"""
    found = verdicts(tmp_path, text)
    verdict = found[9, HOST]
    assert (verdict["status"], verdict["transfers"], verdict["bytes"], verdict["runs"]) == ("confirmed", 1, 12, 1)


def test_a_function_is_traced_once_though_its_call_is_tried(tmp_path: Path) -> None:
    text = """\
traced = []
@jax.jit
def f(v):
    traced.append(v.shape)
    return v.sum()
for size in (3, 3, 4, 4, 3):
    f(np.ones(size, np.float32))
open('said', 'w').write(str(len(traced)))
"""
    found = verdicts(tmp_path, text)
    verdict = found[7, DEVICE]
    assert (verdict["status"], verdict["evidence"], verdict["transfers"]) == ("confirmed", "guard", 5)
    assert (tmp_path / "said").read_text() == "2"


def test_what_runs_beside_a_site_is_not_laid_to_it(tmp_path: Path) -> None:
    text = """\
x = step(jnp.arange(3.0))
def hidden(v):
    return np.asarray(v + 1)  # jaxlint: ignore
flag = np.bool_(True)
def test(v, flag):
    if v if flag is None else flag:
        hidden(x)
test(x, flag)
fails = lambda v: float(v)
for v in ('no', x[1] + 1):
    try:
        fails(v)
    except ValueError:
        hidden(x)
"""
    found = verdicts(tmp_path, text)
    assert found.get((9, HOST), {"transfers": 1})["transfers"] == 1
    assert found.get((6, HOST), {"status": "refuted"})["status"] == "refuted"


def test_two_processes_of_a_distributed_program(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    text = f"""\
import subprocess, sys
def show(v):
    print(float(v))
if len(sys.argv) < 2:
    started = [subprocess.Popen([sys.executable, __file__, str(n)]) for n in range(2)]
    sys.exit(max(process.wait(60) for process in started))
me = int(sys.argv[1])
jax.distributed.initialize('localhost:{port}', 2, me, initialization_timeout=60)
x = jax.device_put(np.arange(3.0), jax.local_devices()[0])
def ours(v): print(v)
show(step(x)[0])
if me: ours(step(x))
jax.distributed.shutdown()
"""
    found = verdicts(tmp_path, text, command="JAX_PLATFORMS=cpu python x.py")
    assert (found[3, HOST]["status"], found[3, HOST]["processes"], found[3, HOST]["transfers"]) == (
        "confirmed",
        [0, 1],
        2,
    )
    assert (found[10, HOST]["status"], found[10, HOST]["processes"]) == ("confirmed", [1])


@pytest.mark.parametrize(
    "place", ["lambda v: {}", "lambda v: [{} for _ in range(1)]", "lambda v: sum({} for _ in range(1))"]
)
def test_errors_of_tracers_in_frames_without_a_statement(place: str, tmp_path: Path) -> None:
    text = f"f = jax.jit({place.format('float(v)')})\ntry:\n    f(1.0)\nexcept Exception as error:\n    pass\n"
    found = verdicts(tmp_path, text)
    assert {line: verdict["status"] for (line, code), verdict in found.items() if code == "JT4"} == {1: "confirmed"}

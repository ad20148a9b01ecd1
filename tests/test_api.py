"""`jaxlint.no_transfers`, `jaxlint.record` and `jaxlint.watch` in a process that jaxlint did not start.

Each program asserts by itself; it runs in a Python of its own, since a process is watched to its end.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from backends import BACKENDS, REASON
from confirming import environment
from running import run

# A function that was called before anything was watched: it has its short cut.
HEAD = """\
import jaxlint
{watch}
import jax, jax.numpy as jnp, numpy as np

step = jax.jit(lambda x, b: x + b)
batch = np.ones(8, np.float32)
x = jax.device_put(batch)
if not {watch!r}:
    step(x, batch), step(x, batch), step(x, x)[0]


def refused(block, call):
    try:
        with block:
            call()
    except jaxlint.TransferError as error:
        return error
    return None


"""
RECORD = """
with jaxlint.record() as transfers:
    for turn in range(5):
        y = step(x, batch)  # line 23
    float(y.sum())  # 24
    assert transfers.device_to_host == 1, str(transfers)
    jax.device_get(y)  # 26
    assert transfers.device_to_host == 2, str(transfers)
assert (transfers.implicit.device_to_host, transfers.explicit.device_to_host) == (1, 1)
assert (transfers.host_to_device, transfers.device_to_device) == (5, 0)
rows = {(t.line, str(t.direction), t.explicit): t for t in transfers}
assert {key: (t.count, t.bytes) for key, t in rows.items()} == {
    (23, "host_to_device", False): (5, 160),
    (24, "device_to_host", False): (1, 4),
    (26, "device_to_host", True): (1, 32),
}, rows
assert {(t.path, t.function) for t in transfers} == {("program.py", "<module>")}
assert (transfers.count, transfers.bytes, len(transfers)) == (7, 196, 3)
assert "program.py:24 in <module>: 1 implicit, device to host, 4 bytes" in str(transfers).splitlines()
print(y)
assert transfers.count == 7, "what comes after the block is not in it"
with jaxlint.record() as again:
    print(y)
assert (again.count, str(again), again.implicit.bytes) == (0, "no transfers", 0), "a known value is not fetched again"
"""
NESTED = """
import threading
with jaxlint.record() as outer:
    with jaxlint.record() as inner:
        thread = threading.Thread(target=lambda: float(step(x, x)[0] if False else step(x, x).sum()))
        thread.start(), thread.join()
    float(step(x, x).max())
assert (inner.device_to_host, outer.device_to_host) == (1, 2)
"""
REFUSE = """
def fetch(value):
    return np.asarray(value)  # line 22


error = refused(jaxlint.no_transfers(device_to_host=True), lambda: fetch(step(x, batch)))
assert str(error) == "program.py:22 in fetch: device-to-host transfer refused, shape=(8), dtype=F32, device=cpu:0"
assert (error.line, error.function, str(error.direction)) == (22, "fetch", "device_to_host")
assert isinstance(error, RuntimeError) and isinstance(error.__cause__, RuntimeError)
error = refused(jaxlint.no_transfers(host_to_device=True), lambda: step(x, batch))  # line 29
assert str(error).startswith(
    "program.py:29 in <lambda>: host-to-device transfer refused, shape=(8), dtype=F32, "
), error
assert refused(jaxlint.no_transfers(device_to_host=True), lambda: step(x, batch)) is None
assert refused(jaxlint.no_transfers(device_to_device=True), lambda: fetch(step(x, batch))) is None
# None is named: all are meant. One is taken out: the others are.
assert refused(jaxlint.no_transfers(), lambda: step(x, batch)) is not None
assert refused(jaxlint.no_transfers(host_to_device=False), lambda: step(x, batch)) is None
assert refused(jaxlint.no_transfers(host_to_device=False), lambda: fetch(step(x, x))) is not None
# By name it may, unless that is forbidden too.
assert refused(jaxlint.no_transfers(), lambda: jax.device_get(step(x, x))) is None
assert refused(jaxlint.no_transfers(explicit=True), lambda: jax.device_get(step(x, x))) is not None
fetch(step(x, x))  # afterwards everything is as before


@jaxlint.no_transfers(device_to_host=True)
def guarded(value, depth=0):
    "Its words."
    return guarded(value, depth - 1) if depth else float(value.sum())


error = None
try:
    guarded(x, depth=2)
except jaxlint.TransferError as caught:
    error = caught
assert error.function == "guarded" and guarded.__doc__ == "Its words."
float(step(x, x).sum())  # each level was left

# What it is not about goes its way.
try:
    with jaxlint.no_transfers():
        raise KeyError("mine")
except KeyError as mine:
    assert mine.args == ("mine",)
# A refusal that a library puts into an error of its own.
def wrapped():
    try:
        fetch(step(x, x))
    except RuntimeError as inner:
        raise ValueError("could not log") from inner
assert refused(jaxlint.no_transfers(device_to_host=True), wrapped).line == 22
# A stricter level of the program's own is the program's.
try:
    with jaxlint.no_transfers(host_to_device=True), jax.transfer_guard_device_to_host("disallow"):
        fetch(step(x, x))
except jaxlint.TransferError:
    raise AssertionError("not what was forbidden here")
except RuntimeError:
    pass
"""
ASYNC = """
for function in ("async def f(): pass", "def f(): yield"):
    names = {}
    exec(function, names)
    try:
        jaxlint.no_transfers()(names["f"])
    except TypeError as error:
        assert "gives its thread to others" in str(error)
    else:
        raise AssertionError(function)
"""


def passes(folder: Path, text: str, **more: str) -> str:
    (folder / "program.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-W", "error", "program.py"],
        cwd=folder, env={**environment(), **more}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


WATCHES = ["", *BACKENDS]


@pytest.mark.parametrize("watch", WATCHES)
@pytest.mark.parametrize("body", [RECORD, NESTED, REFUSE + ASYNC], ids=["record", "nested", "refuse"])
def test_a_program(tmp_path: Path, watch: str, body: str) -> None:
    """Without a word before jax is in use, and on each backend."""
    passes(tmp_path, HEAD.format(watch=f'jaxlint.watch("{watch}")' if watch else "") + body.lstrip("\n"))


@pytest.mark.skipif(bool(REASON), reason=str(REASON))
@pytest.mark.parametrize("body", [RECORD, REFUSE], ids=["record", "refuse"])
def test_the_arrays_of_an_accelerator(tmp_path: Path, body: str) -> None:
    """Arrays that are not the CPU's, watched at the doors alone: those of `virtual`, whose table nobody watches."""
    text = HEAD.format(watch="") + body.lstrip("\n")
    start = "import jax; from jaxlint.witness import virtual; virtual.start(exit)"
    lines = text.replace("import jaxlint\n", f"import jaxlint; {start}\n", 1)
    # Hidden, so that the accelerator is taken for what it is.
    hide = "import jaxlint.witness.virtual as v; v.is_serving = lambda on_table: False; jaxlint.watch('device')"
    passes(tmp_path, lines.replace("\nimport jax, jax.numpy", f"{hide}\nimport jax, jax.numpy", 1))


def test_a_run_and_a_block_share_the_record(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(HEAD.format(watch="#") + RECORD.lstrip("\n"))
    done = run(tmp_path, "--isolated", "-q", "--backend", "sentinel", "--report", "a.json", "program.py")
    assert done.returncode == 0, done.stderr


def test_importing_it_imports_little(tmp_path: Path) -> None:
    code = "import sys, jaxlint; assert 'record' in dir(jaxlint); print(*sorted(m for m in sys.modules))"
    names = set(passes(tmp_path, code).split())
    assert names.isdisjoint({"jax", "numpy", "jaxlint.api", "ast", "dataclasses"})
    code = "import sys, jaxlint; jaxlint.watch(); jaxlint.record().__enter__(); print(*sys.modules)"
    assert set(passes(tmp_path, code).split()).isdisjoint({"jax", "numpy"})


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("jaxlint.watch('tpu')", 'unknown backend "tpu": it is one of auto, device, virtual, sentinel'),
        ("jaxlint.watch('sentinel'); jaxlint.watch('device')", "this process is watched on sentinel already"),
        ("jaxlint.nonesuch", "module 'jaxlint' has no attribute 'nonesuch'"),
        (
            "import jax; jax.numpy.ones(3); jaxlint.watch('virtual')",
            "in use before jaxlint could take part|backend vir",
        ),
    ],
)
def test_wrong_requests(tmp_path: Path, code: str, error: str) -> None:
    text = f"import re, jaxlint\ntry:\n    {code}\nexcept Exception as e:\n    assert re.search({error!r}, str(e)), e\n"
    passes(tmp_path, text + "else:\n    raise SystemExit('nothing was raised')\n")

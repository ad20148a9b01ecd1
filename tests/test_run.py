"""`jaxlint run` as a user meets it: the program undisturbed, levels of the guard, reports, troubles."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from backends import BACKENDS
from confirming import ROOT, environment
from running import recorded, run

SCHEMA = json.loads((ROOT / "schema" / "jaxlint-run-1.schema.json").read_text("utf-8"))
PROGRAM = """\
import sys
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(x, batch):
    return x + batch


def train(turns):
    x = jax.device_put(np.zeros(8, np.float32))
    batch = np.ones(8, np.float32)
    for turn in range(turns):
        x = step(x, batch)
        if float(x[0]) < 0:
            break
    return jax.device_get(x)


def never():
    print(jnp.ones(3))


print(sys.argv[1:], train(20).sum())
"""
# Whatever the guard says, this program ends.
SWALLOW = """\
import jax, jax.numpy as jnp
x = jnp.arange(3.0)
try:
    print(x)
except Exception as error:
    print("swallowed", type(error).__name__)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def rows(report: dict[str, Any]) -> dict[tuple[int, str, bool], dict[str, Any]]:
    """By line, direction, explicitness."""
    return {(t["line"], t["direction"], t["explicit"]): t for t in report["transfers"]}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_record(folder: Path, backend: str) -> None:
    report = recorded(folder, backend, "train.py", "--turns", "3")
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    found = rows(report)
    upload, fetch = found[16, "host_to_device", False], found[17, "device_to_host", False]
    assert (upload["count"], upload["bytes"], upload["turns"], upload["finding"]) == (20, 640, 20, "JT203")
    assert (fetch["count"], fetch["bytes"], fetch["function"], fetch["finding"]) == (20, 80, "train", "JT104")
    assert (fetch["path"], fetch["thread"]) == ("train.py", "MainThread")
    assert fetch["stack"] == ["train.py:17 train", "train.py:26 <module>"]
    assert found[13, "host_to_device", True]["bytes"] == 32
    assert found[19, "device_to_host", True]["count"] == 1
    assert report["steps"]["line"] == 15
    assert report["steps"]["count"] == 20
    assert report["steps"]["seconds"] > 0
    assert {(row["code"], row["line"]) for row in report["unreached"]} == {("JT101", 23), ("JT291", 23)}
    assert [report["transfers"][index]["finding"] for index in report["missed"]] == [None] * len(report["missed"])
    assert sum(m[1] for m in fetch["moments"]) == 20
    assert (report["command"], report["exit_status"]) == (["train.py", "--turns", "3"], 0)
    costs = [-t["seconds"] for t in report["transfers"]]
    assert costs == sorted(costs)


def test_the_table_is_on_standard_error(folder: Path) -> None:
    done = run(folder, "--isolated", "--backend", "sentinel", "--stacks", "train.py", "a", "-q", "--report")
    assert (done.returncode, done.stdout) == (0, "['a', '-q', '--report'] 160.0\n")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("train.py a -q --report: ")
    assert lines[0].endswith("exit status 0, sentinel")
    assert lines[1].startswith("loop at train.py:15: 20 turns, ")
    (row,) = [line for line in lines if line.endswith("train.py:17 train") and "JT104" in line]
    assert row.split()[2:6] == ["20", "1", "80", "B"]
    assert "found by the static pass, never seen to transfer (2): " in done.stderr
    assert lines[lines.index(row) + 1].strip() == "train.py:26 <module>"


def test_a_module_and_its_exit_status(folder: Path) -> None:
    (folder / "package").mkdir()
    (folder / "package" / "__main__.py").write_text("import sys\nprint(sys.stdin.read(), sys.argv[1:])\nsys.exit(7)\n")
    done = run(folder, "--isolated", "-m", "package", "--guard", "x", given="from a pipe")
    assert (done.returncode, done.stdout) == (7, "from a pipe ['--guard', 'x']\n")
    assert "nothing was transferred" in done.stderr


@pytest.mark.parametrize("backend", BACKENDS)
def test_disallow_stops_at_the_first(folder: Path, backend: str) -> None:
    words = ("--isolated", "--backend", backend, "--guard-device-to-host", "disallow", "train.py")
    done = run(folder, *words)
    assert done.returncode == 1
    assert "jaxlint: train.py:17 in train: device-to-host transfer refused, shape=(), dtype=F32, device=cpu:0" in (
        done.stderr
    )
    assert "Disallowed device-to-host transfer" in done.stderr
    done = run(folder, "--isolated", "--backend", backend, "--guard-host-to-device", "disallow", "train.py")
    assert "jaxlint: train.py:16 in train: host-to-device transfer refused, shape=(8), dtype=F32, " in done.stderr
    assert (done.returncode, done.stdout) == (1, "")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--guard", "disallow_explicit"), 13),
        (("--guard-device-to-host", "disallow_explicit", "--guard", "allow"), 17),
        (("--guard", "allow"), None),
        ((), None),
    ],
)
def test_levels(folder: Path, words: tuple[str, ...], line: int | None) -> None:
    done = run(folder, "--isolated", "--backend", "sentinel", *words, "train.py")
    assert done.returncode == (0 if line is None else 1), done.stderr
    assert (f"jaxlint: train.py:{line} in train: " in done.stderr) == (line is not None)


@pytest.mark.parametrize("backend", BACKENDS)
def test_log_is_a_line_a_site(folder: Path, backend: str) -> None:
    done = run(folder, "--isolated", "-q", "--backend", backend, "--guard-device-to-host", "log", "train.py")
    said = [line for line in done.stderr.splitlines() if line.startswith("jaxlint:")]
    assert said == ["jaxlint: train.py:17 in train: implicit device-to-host transfer, shape=(), dtype=F32"]
    done = run(folder, "--isolated", "-q", "--backend", backend, "--guard", "log_explicit", "train.py")
    said = [line for line in done.stderr.splitlines() if line.startswith("jaxlint:")]
    assert "jaxlint: train.py:19 in train: explicit device-to-host transfer, shape=(8), dtype=F32" in said
    assert len(said) == len({*said})


def test_a_refusal_that_the_program_swallows(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SWALLOW)
    done = run(tmp_path, "--isolated", "--guard-device-to-host", "disallow", "--backend", "sentinel", "a.py")
    assert (done.returncode, done.stdout[:10]) == (0, "swallowed ")


SILENCED = """\
import jax.numpy as jnp
import ignored, skipped

for value in (1.0, 2.0):
    x = jnp.sin(value)
    print(x)  # jaxlint: ignore[JT101] wanted
    float(x + 1)  # noqa: JT104
    bool(x > 1)
    ignored.show(x + 2)
    skipped.show(x + 3)
"""


def test_what_the_user_silenced_is_not_missed(tmp_path: Path) -> None:
    """By a comment, for a file, by skipping a file."""
    (tmp_path / "a.py").write_text(SILENCED)
    (tmp_path / "ignored.py").write_text("import jax\ndef show(x: jax.Array):\n    print(x)\n")
    (tmp_path / "skipped.py").write_text("# jaxlint: skip-file\nimport jax\ndef show(x: jax.Array):\n    print(x)\n")
    (tmp_path / "pyproject.toml").write_text('[tool.jaxlint.per-file-ignores]\n"ignored.py" = ["JT101"]\n')
    done = run(tmp_path, "--backend", "sentinel", "--report", "report.json", "a.py")
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    fetches = {
        (t["path"], t["line"]): (t["finding"], t["silenced"])
        for t in report["transfers"]
        if t["direction"] == "device_to_host"
    }
    assert fetches == {
        ("a.py", 6): ("JT101", True),
        ("a.py", 7): ("JT104", True),
        ("a.py", 8): ("JT105", False),
        ("ignored.py", 3): ("JT101", True),
        ("skipped.py", 4): ("JT101", True),
    }
    missed = [report["transfers"][index] for index in report["missed"]]
    assert not [t for t in missed if t["direction"] == "device_to_host"]
    assert not [row for row in report["unreached"] if row["path"] != "a.py"]
    assert "silenced by a comment or the configuration (4): " in done.stderr
    assert [line for line in done.stderr.splitlines() if "(JT101)" in line and line.endswith("a.py:6 <module>")]


def test_transfers_inside_pythons_own_library_are_of_the_line_that_led_there(tmp_path: Path) -> None:
    lines = [
        "import logging, pprint",
        "import jax, jax.numpy as jnp",
        "step = jax.jit(lambda x: x + 1)",
        "logging.basicConfig()",
        "for i in range(2):",
        "    logging.warning('loss %s', step(jnp.ones(2)))",
        "    pprint.pprint({'a': step(jnp.zeros(2))})",
    ]
    (tmp_path / "a.py").write_text("\n".join(lines) + "\n", "utf-8")
    done = run(tmp_path, "--isolated", "--backend", "sentinel", "--report", "report.json", "a.py")
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    fetches = {(t["path"], t["line"], t["finding"]) for t in report["transfers"] if t["direction"] == "device_to_host"}
    assert fetches == {("a.py", 6, "JT103"), ("a.py", 7, "JT101")}, done.stderr
    assert not [row for row in report["unreached"] if row["line"] in (6, 7)]


@pytest.mark.parametrize("fault", ["raise ImportError('no backend')", "1 / 0", "import nonesuch", "def f(: pass"])
def test_an_import_of_jax_that_fails_has_the_traceback_of_a_plain_run(tmp_path: Path, fault: str) -> None:
    (tmp_path / "jax").mkdir()
    (tmp_path / "jax" / "__init__.py").write_text("from jax import deeper\n")
    (tmp_path / "jax" / "deeper.py").write_text(f"{fault}\n")
    (tmp_path / "a.py").write_text("def start():\n    import jax\nstart()\n")
    plain = subprocess.run(
        [sys.executable, "a.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False
    )
    done = run(tmp_path, "--isolated", "-q", "--backend", "sentinel", "a.py")
    assert (done.returncode, done.stderr) == (plain.returncode, plain.stderr)
    assert plain.returncode == 1


THREADS = """\
import multiprocessing, os, threading
import jax, jax.numpy as jnp

def work():
    for turn in range(5):
        float(jnp.arange(3.0).sum())

if __name__ == "__main__":
    thread = threading.Thread(target=work, name="worker")
    thread.start()
    thread.join()
    context = multiprocessing.get_context("spawn")
    child = context.Process(target=work)
    child.start()
    child.join()
"""


def test_threads_and_children(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(THREADS)
    (fetch,) = [t for t in recorded(tmp_path, "sentinel", "a.py")["transfers"] if t["direction"] == "device_to_host"]
    assert (fetch["count"], fetch["bytes"], fetch["line"]) == (10, 40, 6)


ON_THE_HOST = """\
import jax, jax.numpy as jnp, numpy as np
step = jax.jit(lambda a: (jax.debug.print("{}", a.sum()), a * 2)[1])
x = jax.block_until_ready(step(jnp.arange(8, dtype=jnp.float32)))
for turn in range(3):
    x = step(x)
    jax.effects_barrier()
    jax.debug.print("eager {}", x)
host = jax.devices("cpu")[0]
kept = jax.device_put(np.ones(8, np.float32), host)
moved = jax.device_put(x + 1, host)
back = jax.device_put(kept, jax.devices()[0])
mixed = x + kept
print(kept)
"""
# Line, direction, explicitness: how many, of how many bytes.
CALLED_BACK = {
    (7, "device_to_device", True): (3, 96),
    (7, "device_to_host", False): (3, 96),
    (9, "host_to_device", True): (1, 32),
}
AT_THE_HOST = {
    "virtual": {
        (10, "device_to_device", True): (1, 32),
        (10, "device_to_host", False): (1, 32),
        (11, "device_to_device", True): (1, 32),
        (12, "device_to_device", False): (1, 32),
    },
    # There the CPU's device is the one where all arrays are.
    "sentinel": {(13, "device_to_host", False): (1, 32)},
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_devices_of_the_host(tmp_path: Path, backend: str) -> None:
    """What goes to them, by a callback too, is recorded as the guard counts it, and once."""
    (tmp_path / "a.py").write_text(ON_THE_HOST)
    transfers = recorded(tmp_path, backend, "a.py")["transfers"]
    uploads = [t for t in transfers if t["direction"] == "host_to_device" and t["line"] not in (7, 9)]
    # The callback of compiled code runs in whatever thread; scalars of eager code are uploaded beside.
    assert sum(t["count"] for t in uploads if t["explicit"]) == 4
    assert {t["line"] for t in uploads if not t["explicit"]} <= {10}
    others = {
        (t["line"], t["direction"], t["explicit"]): (t["count"], t["bytes"]) for t in transfers if t not in uploads
    }
    assert others == {**CALLED_BACK, **AT_THE_HOST[backend]}


ALLOWS = """\
import jax, jax.numpy as jnp
step = jax.jit(lambda a: a + 1)
for turn in range(4):
    x = step(jnp.arange(3.0))
    with jax.transfer_guard_device_to_host("allow"):
        print(x)
    with jax.transfer_guard("allow" if turn % 2 else "log"):
        float(x[0] + 1)
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_the_program_allows_is_not_missed(tmp_path: Path, backend: str) -> None:
    (tmp_path / "a.py").write_text(ALLOWS.replace("print(x)", "str(x)"))
    done = run(tmp_path, "--isolated", "--backend", backend, "--report", "r.json", "a.py")
    report = json.loads((tmp_path / "r.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    fetches = {t["line"]: t for t in report["transfers"] if t["direction"] == "device_to_host"}
    assert {line: (t["count"], t["allowed"]) for line, t in fetches.items()} == {6: (4, 4), 8: (4, 2)}
    said = {line.split()[-2]: line for line in done.stderr.splitlines() if "device to host  " in line}
    assert "  allowed  " in said["a.py:6"]
    assert "  implicit  " in said["a.py:8"]
    missed = [report["transfers"][index]["line"] for index in report["missed"]]
    assert 6 not in missed


POOL = """\
import multiprocessing, sys
import jax, jax.numpy as jnp

def work(turn):
    return [float(jnp.arange(3.0).sum()) for _ in range(turn)]

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert len(pool.map(work, range(1, 12), chunksize=1)) == 11
    from multiprocessing.pool import ThreadPool
    with ThreadPool(2) as pool:
        pool.map(work, [1, 1])
"""


@pytest.mark.parametrize("method", ["spawn", "fork"] if sys.platform == "linux" else ["spawn"])
def test_the_workers_of_a_pool_are_killed_and_lose_nothing(tmp_path: Path, method: str) -> None:
    (tmp_path / "a.py").write_text(POOL)
    report = recorded(tmp_path, "sentinel", "a.py", method, more={"PYTHONWARNINGS": "ignore"})
    (fetch,) = [t for t in report["transfers"] if t["direction"] == "device_to_host"]
    assert fetch["count"] == sum(range(1, 12)) + 2


ENDED = """\
import multiprocessing, os, pickle, signal, sys
import jax, jax.numpy as jnp
x = jax.jit(lambda a: a + 1)(jnp.arange(3.0))
for turn in range(5):
    float(x[turn % 2] + turn)
float(x[2])
assert pickle.loads(pickle.dumps(os._exit)) is os._exit
{end}
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals end no process there")
@pytest.mark.parametrize(
    ("end", "status", "counts"),
    [
        ("os._exit(3)", 3, {5: 5, 6: 1}),
        ("os.abort()", 134, {5: 5, 6: 1}),
        ("sys.exit(4)", 4, {5: 5, 6: 1}),
        ("os.execl(sys.executable, 'python', '-c', '')", 0, {5: 5, 6: 1}),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, {5: 5, 6: 1}),
        ("os.kill(os.fork() or os.getpid(), signal.SIGKILL)", 0, {5: 5, 6: 1}),
        ("os.fork() or (float(x[2] + 9), os._exit(0))", 0, {5: 5, 6: 1, 8: 1}),
    ],
)
def test_however_a_program_ends_each_of_its_lines_is_told(
    tmp_path: Path, end: str, status: int, counts: dict[int, int]
) -> None:
    """A line is written when it is new, and all that is known before an end that Python does not see."""
    (tmp_path / "a.py").write_text(ENDED.replace("{end}", end))
    done = run(tmp_path, "--isolated", "-q", "--backend", "sentinel", "--report", "r.json", "a.py")
    assert done.returncode == status, done.stderr
    transfers = json.loads((tmp_path / "r.json").read_text("utf-8"))["transfers"]
    assert {t["line"]: t["count"] for t in transfers if t["direction"] == "device_to_host"} == counts


KILLED = """\
import os, time
import jax, jax.numpy as jnp
for turn in range(1000):
    float(jnp.arange(3.0).sum())
print("ready", flush=True)
time.sleep(100)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals end no process there")
def test_a_killed_program_loses_little(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KILLED)
    words = [
        sys.executable,
        "-m",
        "jaxlint",
        "run",
        "--isolated",
        "--backend",
        "sentinel",
        "--report",
        "a.json",
        "a.py",
    ]
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    # What is sent to jaxlint is handed on to the program.
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, said
    report = json.loads((tmp_path / "a.json").read_text("utf-8"))
    (fetch,) = [t for t in report["transfers"] if t["direction"] == "device_to_host"]
    assert fetch["count"] >= 500
    assert report["exit_status"] == 143


def test_compare(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    run(tmp_path, "--isolated", "-q", "--backend", "sentinel", "--report", "before.json", "train.py")
    (tmp_path / "train.py").write_text(PROGRAM.replace("        if float(x[0]) < 0:\n            break\n", ""))
    run(tmp_path, "--isolated", "-q", "--backend", "sentinel", "--report", "after.json", "train.py")
    done = run(tmp_path, "--compare", "before.json", "after.json")
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    (gone,) = [line for line in lines if line.startswith("gone") and "device to host" in line]
    assert gone.split()[1:4] == ["20", "->", "0"]
    assert any(line.startswith("a turn of the loop: ") for line in lines)
    assert any(line.startswith("the whole run: ") for line in lines)


def test_the_folder_of_a_report_is_made(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    done = run(tmp_path, "--isolated", "-q", "--report", "new/deep/r.json", "a.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert json.loads((tmp_path / "new" / "deep" / "r.json").read_text("utf-8"))["exit_status"] == 0


@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_what_was_recorded_is_told_where_the_report_cannot_be_written(tmp_path: Path, quiet: tuple[str, ...]) -> None:
    """The program itself makes something else of its place."""
    (tmp_path / "a.py").write_text(f"open('out', 'w').close()\n{SWALLOW}")
    words = ("--isolated", "--backend", "sentinel", *quiet, "--report", "out/r.json", "a.py")
    done = run(tmp_path, *words)
    assert done.returncode == 2
    *table, last = done.stderr.splitlines()
    assert last.startswith("jaxlint: out: cannot be made: ")
    assert [line for line in table if "device to host  implicit" in line and line.endswith("a.py:5 <module>")]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ((), "say what to run: jaxlint run SCRIPT ARGS, or jaxlint run -m MODULE ARGS"),
        (("-m",), "say what to run"),
        (("nonesuch.py",), "nonesuch.py: no such script"),
        (("n.ipynb",), "n.ipynb: a notebook is no script: record what its cells do by `jaxlint.record()` in them"),
        (("--report", "x.pdf", "a.py"), "--report x.pdf: the suffix chooses the form"),
        (("--report", "a.py/x.json", "a.py"), "--report a.py/x.json: a.py is no folder"),
        (("--report", "a.py/no/x.html", "a.py"), "--report a.py/no/x.html: a.py is no folder"),
        (("--report", "file", "a.py"), "--report file: file is no folder"),
        (("--guard", "never", "a.py"), "argument --guard: invalid choice: 'never'"),
        (("--compare", "a.py", "b.json"), "a.py is no report of `jaxlint run`"),
        (("--compare", "b.json", "b.json"), "b.json: cannot be read"),
        (("--compare", "c.json", "c.json"), "c.json: a report of version 9: this jaxlint reads version 1"),
    ],
)
def test_wrong_requests_are_one_line(tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    (tmp_path / "c.json").write_text('{"version": 9}')
    (tmp_path / "n.ipynb").write_text("{}")
    (tmp_path / "file").touch()
    done = run(tmp_path, *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"jaxlint: {line}")

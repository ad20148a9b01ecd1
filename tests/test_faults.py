"""Programs that do their worst, under `check --confirm` and under `run`: what was seen before survives, in one line of
trouble at most; no process and no file is left."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from confirming import environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks are of POSIX")
SECONDS = 120
MARK = "JAXLINT_TEST_OF_FAULTS"
# The fetch at each turn is what is confirmed and recorded; then comes the fault, then what may not be reached.
HEAD = """\
import os, signal, sys, threading, time
import jax.numpy as jnp

def show(x):
    for i in range(3):
        print(float(x + i))

show(jnp.ones(()))
"""
TAIL = "show(jnp.ones(()))\n"
LINE = 6


@dataclass(frozen=True)
class Fault:
    """A way to end or to disturb: the text, the exit status of the program by itself, and what `--confirm` says of it
    (nothing: it came to its end). `seen` is how many turns are sure to be told: of a process that ends without a last
    word as many as when their number last doubled."""

    text: str
    status: int = 0
    says: str = ""
    seen: int = 3


FAULTS = {
    "a segmentation fault": Fault("import ctypes; ctypes.string_at(0)", 139, "the program was killed by SIGSEGV", 2),
    "a segmentation fault that faulthandler tells of": Fault(
        "import ctypes, faulthandler; faulthandler.enable(); ctypes.string_at(0)",
        139,
        "the program was killed by SIGSEGV",
        2,
    ),
    "os.abort": Fault("os.abort()", 134, "the program was killed by SIGABRT", 2),
    "os._exit": Fault("os._exit(5)", 5, "it ended with status 5", 2),
    "os._exit of success": Fault("os._exit(0)", 0, "", 2),
    "sys.exit in a thread": Fault("t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()"),
    "an error in a thread": Fault("t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()"),
    "a handler at the exit that raises": Fault("import atexit; atexit.register(lambda: 1 / 0)"),
    "a handler at the exit that ends the process": Fault(
        "import atexit; atexit.register(os._exit, 6)", 6, "it ended with status 6", 2
    ),
    "recursion without end": Fault("def f(n): return f(n) + 1\nf(0)", 1, "the program raised RecursionError"),
    "recursion without end that is caught": Fault(
        "def f(n):\n    show(n)\n    f(n)\ntry:\n    f(jnp.ones(()))\nexcept RecursionError:\n    pass"
    ),
    "a fork that lives on": Fault("if os.fork() == 0: time.sleep(0.5); show(jnp.ones(())); os._exit(0)\nos.wait()"),
    "a fork that leaves by os._exit": Fault("if os.fork() == 0: os._exit(0)\nos.wait()"),
    "a fork that is killed": Fault("if os.fork() == 0: os.kill(os.getpid(), 9)\nos.wait()"),
    "an end by its own signal handler": Fault(
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
        7,
        "it ended with status 7",
    ),
    "its own signal handler": Fault(
        "signal.signal(signal.SIGINT, lambda *_: show(jnp.ones(()))); os.kill(os.getpid(), signal.SIGINT)"
    ),
    "an interrupt of its own": Fault(
        "os.kill(os.getpid(), signal.SIGINT); time.sleep(9)", 130, "the program was killed by SIGINT"
    ),
    "the end of its group": Fault("os.killpg(os.getpgid(0), signal.SIGTERM); time.sleep(9)", 143, "SIGTERM", 2),
    "the end of its parent": Fault("os.kill(os.getppid(), signal.SIGKILL)", 137, "the program was killed by SIGKILL"),
    "an end told to its parent": Fault("os.kill(os.getppid(), signal.SIGTERM); time.sleep(0.3)"),
    "a closed standard output": Fault("sys.stdout.close(); os.close(1)\nprint = lambda *_: None"),
    "closed standard streams": Fault("for n in (0, 1, 2): os.close(n)\nprint = lambda *_: None"),
    "all descriptors closed": Fault("os.closerange(0, 4096)\nprint = lambda *_: None"),
    "a flood of output": Fault("for i in range(2_000): sys.stdout.write('x' * 65_536)"),
    "files that may not grow": Fault(
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nprint = lambda *_: None", seen=2
    ),
    "a guard of its own": Fault(
        "import jax; jax.config.update('jax_transfer_guard_device_to_host', 'disallow_explicit')\n"
        "try:\n    show(jnp.ones(()))\nexcept Exception as error:\n    assert 'Disallowed' in str(error)\n"
        "jax.config.update('jax_transfer_guard_device_to_host', 'allow')"),
    "modules loaded again": Fault("import importlib, helper; helper.show(jnp.ones(())); importlib.reload(helper)\n"
        "helper.show(jnp.ones(())); del sys.modules['helper']; import helper; helper.show(jnp.ones(()))"),
    "another user": Fault("os.setgid(65534); os.setuid(65534)"),
    "another working directory, gone": Fault("import tempfile\nwith tempfile.TemporaryDirectory() as d: os.chdir(d)"),
    "another environment": Fault("os.environ.clear()"),
    "garbage in place of the streams": Fault("sys.stdout = sys.stderr = None\nprint = lambda *_: None"),
    "a profiler": Fault("sys.setprofile(lambda *_: None); sys.settrace(lambda *_: None)"),
    "low limits": Fault("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))", seen=2),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a program lies; at the end nothing of it may be left in the folder for temporary files."""
    (tmp_path / "here").mkdir(mode=0o755)
    (tmp_path / "temporary").mkdir()
    for above in (tmp_path, *list(tmp_path.parents)[:3]):
        if above.stat().st_uid == os.geteuid() and above.name.startswith(("pytest", "test", "popen")):
            above.chmod(0o755)
    (tmp_path / "temporary").chmod(0o777)
    yield tmp_path / "here"
    assert sorted((tmp_path / "temporary").iterdir()) == []


def start(folder: Path, *words: str, more: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """jaxlint at work in a folder, in a group of its own; its processes are known by a mark."""
    names = {**environment(), "TMPDIR": str(folder.parent / "temporary"), MARK: str(folder), **(more or {})}
    return subprocess.Popen(
        [sys.executable, "-m", "jaxlint", *words],
        cwd=folder,
        env=names,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def left(folder: Path) -> list[str]:
    """The processes that still are there."""
    wanted, found = f"{MARK}={folder}".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def ended(process: "subprocess.Popen[str]", folder: Path) -> tuple[int, str, str]:
    """How jaxlint ends, what it prints, and what it says; no process is left."""
    printed, said = process.communicate(timeout=SECONDS)
    assert left(folder) == []
    assert "Traceback" not in said.split("the last lines of", maxsplit=1)[0] or "jaxlint:" not in said
    return process.returncode, printed, said


CONFIRM = ("check", "--isolated", "--confirm", "--backend", "sentinel", "--select", "JT104", "--output-format", "json")
RUN = ("run", "--isolated", "-q", "--backend", "sentinel", "--report", "report.json")


def write(folder: Path, fault: Fault) -> None:
    (folder / "helper.py").write_text("def show(x):\n    for i in range(3):\n        print(x + i)\n")
    (folder / "a.py").write_text(HEAD + fault.text + "\n" + TAIL)


def verdict(printed: str) -> dict[str, Any]:
    """The verdict on the fetch."""
    (found,) = [f for f in json.loads(printed)["findings"] if (f["path"], f["line"]) == ("a.py", LINE)]
    told: dict[str, Any] = found["verdict"]
    return told


def skip_what_root_alone_can(name: str) -> None:
    if name == "another user" and os.geteuid() != 0:
        pytest.skip("root alone becomes another user")


@pytest.mark.parametrize("name", FAULTS)
def test_confirm(folder: Path, name: str) -> None:
    skip_what_root_alone_can(name)
    fault = FAULTS[name]
    write(folder, fault)
    status, printed, said = ended(start(folder, *CONFIRM, "--run", "python a.py", "a.py"), folder)
    told = verdict(printed)
    assert (told["status"], told["transfers"] >= (3 if fault.seen == 3 else 1)) == ("confirmed", True), said
    assert status == (2 if fault.says else 1), said
    errors = [line for line in said.splitlines() if ": error: " in line]
    assert len(errors) == bool(fault.says)
    assert all(fault.says in line for line in errors)


@pytest.mark.parametrize("name", FAULTS)
def test_run(folder: Path, name: str) -> None:
    skip_what_root_alone_can(name)
    fault = FAULTS[name]
    write(folder, fault)
    status, _, said = ended(start(folder, *RUN, "a.py"), folder)
    assert status == fault.status, said
    report = json.loads((folder / "report.json").read_text("utf-8"))
    (fetch,) = [t for t in report["transfers"] if (t["line"], t["direction"]) == (LINE, "device_to_host")]
    assert (fetch["count"] >= fault.seen, report["exit_status"]) == (True, fault.status)

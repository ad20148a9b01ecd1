"""Programs that do their worst, under `check --confirm` and under `run`: what was seen before survives, in one line of
trouble at most; no process and no file is left."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
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

# Forms of the others: half of them under the one, half under the other.
FORMS = (
    "a segmentation fault that faulthandler tells of", "os._exit of success", "an error in a thread",
    "recursion without end that is caught", "a fork that leaves by os._exit", "a fork that is killed",
    "closed standard streams", "another environment", "garbage in place of the streams", "a profiler",
)  # fmt: skip
UNDER_CONFIRM = [name for name in FAULTS if name not in FORMS[::2]]
UNDER_RUN = [name for name in FAULTS if name not in FORMS[1::2]]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where a program lies; at the end nothing of it may be left in the folder for temporary files."""
    (tmp_path / "here").mkdir(mode=0o755)
    for above in (tmp_path, *list(tmp_path.parents)[:3]):
        # Another user has to come by.
        if above.stat().st_uid == os.geteuid() and above.name.startswith(("pytest", "test", "popen")):
            above.chmod(0o755)
    # Of a short name, as sockets want it.
    temporary = Path(tempfile.mkdtemp(prefix="t-"))
    temporary.chmod(0o777)
    (tmp_path / "temporary").symlink_to(temporary)
    yield tmp_path / "here"
    found = sorted(temporary.iterdir())
    shutil.rmtree(temporary)
    assert found == []


def temporary_of(folder: Path) -> str:
    return str((folder.parent / "temporary").resolve())


def start(folder: Path, *words: str, more: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """jaxlint at work in a folder, in a group of its own; its processes are known by a mark."""
    names = {**environment(), "TMPDIR": temporary_of(folder), MARK: str(folder), **(more or {})}
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
    assert "this is a bug in jaxlint" not in said
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


@pytest.mark.parametrize("name", UNDER_CONFIRM)
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


@pytest.mark.parametrize("name", UNDER_RUN)
def test_run(folder: Path, name: str) -> None:
    skip_what_root_alone_can(name)
    fault = FAULTS[name]
    write(folder, fault)
    status, _, said = ended(start(folder, *RUN, "a.py"), folder)
    assert status == fault.status, said
    report = json.loads((folder / "report.json").read_text("utf-8"))
    (fetch,) = [t for t in report["transfers"] if (t["line"], t["direction"]) == (LINE, "device_to_host")]
    assert (fetch["count"] >= fault.seen, report["exit_status"]) == (True, fault.status)


WAITING = HEAD + "print('ready', flush=True); open('ready', 'w').close()\n{}\n" + TAIL
STUBBORN = (
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(600)"
)


def wait_for(folder: Path) -> None:
    """Until the program has come to its fault."""
    for _ in range(SECONDS * 20):
        if (folder / "ready").exists():
            return
        time.sleep(0.05)
    pytest.fail("the program did not start")


@pytest.mark.parametrize(
    ("signals", "text"),
    [
        ((signal.SIGINT,), "time.sleep(600)"),
        ((signal.SIGTERM,), "time.sleep(600)"),
        ((signal.SIGHUP,), "time.sleep(600)"),
        ((signal.SIGINT, signal.SIGINT), STUBBORN),
        ((signal.SIGINT, signal.SIGINT, signal.SIGINT, signal.SIGTERM), STUBBORN),
    ],
    ids=lambda value: "-".join(s.name for s in value) if isinstance(value, tuple) else "",
)
def test_confirm_that_is_interrupted_tells_what_it_knows(
    folder: Path, signals: tuple[signal.Signals, ...], text: str
) -> None:
    write(folder, Fault(""))
    (folder / "a.py").write_text(WAITING.format(text) + "for x in jnp.ones(3):\n    int(x)\n")
    process = start(folder, *CONFIRM, "--run", "python a.py", "--run", "python a.py again", "a.py")
    wait_for(folder)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.1)
    status, printed, said = ended(process, folder)
    first, second = (finding["verdict"] for finding in json.loads(printed)["findings"])
    assert (first["status"], second["status"]) == ("confirmed", "undecided")
    assert second["message"] == "not reached before the end: it was interrupted"
    assert "python a.py: error: it was interrupted" in said
    assert "again" not in said
    # A third interrupt may come when all is said, and end jaxlint itself.
    assert status == 128 + signals[0] or (len(signals) > 2 and -status in signals)
    assert status < 0 or said.splitlines()[-1] == "jaxlint: interrupted"


def test_a_proof_of_fixes_that_is_interrupted_changes_no_file(folder: Path) -> None:
    (folder / "a.py").write_text(WAITING.format("time.sleep(600)"))
    before = (folder / "a.py").read_bytes()
    process = start(folder, *CONFIRM, "--fix", "--unsafe-fixes", "--run", "python a.py", "a.py")
    wait_for(folder)
    process.send_signal(signal.SIGINT)
    status, printed, said = ended(process, folder)
    assert (status, printed, said.splitlines()[-1]) == (130, "", "jaxlint: interrupted")
    assert (folder / "a.py").read_bytes() == before


@pytest.mark.parametrize("times", [1, 2, 5])
def test_run_that_is_interrupted_at_the_terminal(folder: Path, times: int) -> None:
    """The program gets each interrupt, and its end is the end."""
    text = "try:\n    time.sleep(600)\nfinally:\n    open('cleaned', 'w').close(); time.sleep(0.2 if {} == 1 else 600)"
    (folder / "a.py").write_text(WAITING.format(text.format(times)))
    process = start(folder, *RUN, "a.py")
    wait_for(folder)
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        for _ in range(100):
            if (folder / "cleaned").exists():
                break
            time.sleep(0.05)
        time.sleep(0.05)
    status, _, said = ended(process, folder)
    # The last may come while Python itself ends, which then dies of it: to a shell that is 130 too.
    assert status in (130, -signal.SIGINT), said
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert [t["count"] for t in report["transfers"] if (t["line"], t["direction"]) == (LINE, "device_to_host")] == [3]


def test_the_terminal_is_as_it_was(folder: Path) -> None:
    """Whatever state the program leaves it in."""
    import pty
    import termios

    text = "import tty; tty.setraw(0); os.kill(os.getpid(), signal.SIGKILL)"
    (folder / "a.py").write_text(HEAD + text + "\n")
    mine, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    names = {**environment(), "TMPDIR": temporary_of(folder), MARK: str(folder)}
    words = [sys.executable, "-m", "jaxlint", *RUN, "a.py"]
    process = subprocess.Popen(words, cwd=folder, env=names, stdin=theirs, stdout=theirs, stderr=theirs)
    assert process.wait(SECONDS) == 137
    assert termios.tcgetattr(theirs) == before
    os.close(mine)
    os.close(theirs)
    assert left(folder) == []


LEFT = {
    "a daemon": "import subprocess\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], "
    "start_new_session=True)",
    "a daemon forked twice": "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n"
    "    os._exit(0)",
    "a daemon that passes over its end": "if os.fork() == 0:\n    os.setsid(); signal.signal(signal.SIGTERM, "
    "signal.SIG_IGN); time.sleep(600)",
    "workers": "import multiprocessing as m\nworker = m.get_context('fork').Process(target=time.sleep, args=(600,))\n"
    "worker.start(); os._exit(3)",
}


@pytest.mark.parametrize("name", LEFT)
def test_confirm_ends_what_a_program_leaves_behind(folder: Path, name: str) -> None:
    write(folder, Fault(LEFT[name]))
    _, printed, said = ended(start(folder, *CONFIRM, "--run", "python a.py", "a.py"), folder)
    assert verdict(printed)["status"] == "confirmed", said


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_of_multiprocessing_are_judged_whatever_becomes_of_them(folder: Path, method: str) -> None:
    text = (
        f"{HEAD.partition('show(jnp.ones')[0]}"
        "def work(n):\n    show(jnp.ones(()))\n    if n: os.kill(os.getpid(), n)\n\n"
        "if __name__ == '__main__':\n    import multiprocessing as m\n"
        f"    for n in (0, 9, 11):\n        p = m.get_context('{method}').Process(target=work, args=(n,))\n"
        "        p.start(); p.join()\n"
    )
    (folder / "a.py").write_text(text)
    _, printed, said = ended(start(folder, *CONFIRM, "--run", "python a.py", "a.py"), folder)
    told = verdict(printed)
    assert (told["status"], told["transfers"] >= 5) == ("confirmed", True), said
    status, _, said = ended(start(folder, *RUN, "a.py"), folder)
    report = json.loads((folder / "report.json").read_text("utf-8"))
    counts = [t["count"] for t in report["transfers"] if (t["line"], t["direction"]) == (LINE, "device_to_host")]
    assert (status, counts[0] >= 7) == (0, True), said


@pytest.mark.parametrize("limit", [0, 2_000, 60_000])
def test_a_disk_without_room(folder: Path, limit: int) -> None:
    """No file may grow beyond a limit: jaxlint's own neither. One line says so, and findings are reported."""
    write(folder, Fault(""))
    names = {**environment(), "TMPDIR": temporary_of(folder), MARK: str(folder)}
    for words in ((*CONFIRM, "--no-cache", "--run", "python a.py", "a.py"), (*RUN, "a.py")):
        done = subprocess.run(
            ["bash", "-c", f"ulimit -f {limit // 1000}; exec \"$@\"", "bash", sys.executable, "-m", "jaxlint", *words],
            cwd=folder, env=names, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr, done.stderr
        if words[0] == "check" and limit:
            assert verdict(done.stdout)["status"] in ("confirmed", "undecided", "unreached")
            assert done.returncode in (1, 2)
        else:
            assert done.returncode == (2 if done.stderr else 0)
            assert all(line.startswith("jaxlint: ") for line in done.stderr.splitlines())
            assert done.stderr or limit
    assert left(folder) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 256 KiB, where one can be mounted."""
    place = tmp_path / "small"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256k,mode=777", "none", str(place)]
    if os.geteuid() != 0 or subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    left_there = sorted(place.iterdir())
    subprocess.run(["umount", "-l", str(place)], check=True)
    assert left_there == []


@pytest.mark.parametrize("fills", ["print('x' * 400_000, flush=True)", "open(D + '/full', 'wb').write(bytes(2**20))"])
def test_a_program_that_fills_the_disk(folder: Path, small_disk: Path, fills: str) -> None:
    place = f"import atexit\nD = {str(small_disk)!r}\n"
    clean = "atexit.register(lambda: os.path.exists(D + '/full') and os.unlink(D + '/full'))\n"
    write(folder, Fault(f"{place}{clean}try:\n    {fills}\nexcept OSError:\n    pass\nprint = lambda *_: None"))
    more = {"TMPDIR": str(small_disk)}
    status, printed, said = ended(start(folder, *CONFIRM, "--run", "python a.py", "a.py", more=more), folder)
    assert verdict(printed)["status"] == "confirmed", said
    assert status in (1, 2)
    status, _, said = ended(start(folder, *RUN, "a.py", more=more), folder)
    assert status == 0, said
    report = json.loads((folder / "report.json").read_text("utf-8"))
    assert [
        t["count"] >= 2 for t in report["transfers"] if (t["line"], t["direction"]) == (LINE, "device_to_host")
    ] == [True]


def test_time_that_is_up(folder: Path) -> None:
    write(folder, Fault(STUBBORN))
    words = (*CONFIRM, "--timeout", "12", "--run", "python a.py", "a.py")
    status, printed, said = ended(start(folder, *words), folder)
    assert (verdict(printed)["status"], status) == ("confirmed", 2)
    assert "python a.py: error: the time was up (--timeout)" in said

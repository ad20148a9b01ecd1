"""`jaxlint check --confirm` and `jaxlint doctor` as a user meets them: commands, statuses, troubles."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backends import BACKENDS
from confirming import ROOT, confirmed, jaxlint
from jaxlint.witness import virtual

HOT = "import jax.numpy as jnp\n\nfor i in range(3):\n    print(float(jnp.ones(()) + i))\n"
MAYBE = (
    "import sys\nimport jax.numpy as jnp\nimport numpy as np\n\n\ndef load(host):\n"
    "    return np.ones(3) if host else jnp.ones(3)\n\n\nfor i in range(3):\n    print(load(len(sys.argv) < 9)[0])\n"
)


def check(folder: Path, text: str, *words: str) -> "subprocess.CompletedProcess[str]":
    (folder / "a.py").write_text(text)
    return jaxlint(folder, "check", "--isolated", "--confirm", "--backend", "sentinel", *words, "a.py")


def test_a_confirmed_finding(tmp_path: Path) -> None:
    done = check(tmp_path, HOT, "--run", "python a.py")
    assert done.returncode == 1
    assert "[hot, confirmed]" in done.stdout
    assert (
        "asked through a stand-in, backend sentinel; 3 transfers in 3 judged runs, 12 bytes): Disallowed" in done.stdout
    )
    assert done.stderr.splitlines()[-1] == "1 finding in 1 file (1 confirmed)"
    assert "1.0" not in done.stdout


# Where the first fetch that is judged is asked for by name, or in a callback of the host.
FIRST_BY_NAME = (
    "import jax, jax.numpy as jnp\n\nstep = jax.jit(lambda v: v * 2)\nx = step(jnp.ones(3))\n"
    "for i in range(3):\n    x = step(x)\n    y = jax.device_get(x)\n"
)
FIRST_IN_CALLBACK = (
    "import jax, jax.numpy as jnp\n\n\ndef look(v):\n    float(v)\n\n\n"
    "jax.jit(lambda v: jax.debug.callback(look, v))(jnp.ones(()))\njax.effects_barrier()\n"
    "for i in range(3):\n    look(jnp.ones(()) + i)\n"
)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("text", [FIRST_BY_NAME, FIRST_IN_CALLBACK], ids=["by name", "in a callback"])
def test_the_guard_is_relied_on_wherever_the_first_fetch_is(tmp_path: Path, text: str, backend: str) -> None:
    words = ("--run", "python a.py", "--select", "JT104,JT191", "--backend", backend, "--output-format", "json")
    done = check(tmp_path, text, *words)
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["verdict"]["status"] == "confirmed", finding["verdict"]["message"]
    assert finding["verdict"]["transfers"] == 3


# As the import hooks of runtime type checkers do: the text is parsed, the tree changed, and that is compiled.
HOOK = """\
import ast, importlib.machinery, sys

class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, *, _optimize=-1):
        tree = {parse}
        tree.body.insert(0, ast.parse("hooked = True").body[0])
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True, optimize=_optimize)

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target)
        if name == "a":
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec

sys.meta_path.insert(0, Finder)
import a
assert a.hooked
"""


# Nothing of Python's own finds or loads jax here.
PAST = """\
import importlib.machinery, sys

class Loader:
    def __init__(self, loader):
        self.loader = loader

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.loader.get_data(self.loader.path), self.loader.path, "exec"), vars(module))

class Finder(importlib.machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target)
        if name == "jax":
            spec.loader = Loader(spec.loader)
        return spec

sys.meta_path.insert(0, Finder)
import a
"""


def test_nothing_is_refuted_where_jax_is_loaded_unseen(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(PAST)
    done = check(tmp_path, HOT, "--run", "python main.py", "--output-format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["verdict"]["status"] == "undecided"
    assert "jax was loaded in a way that is not seen" in finding["verdict"]["message"]
    done = jaxlint(tmp_path, "run", "--backend", "sentinel", "main.py")
    assert done.returncode == 2
    assert "jax was loaded in a way that is not seen" in done.stderr


@pytest.mark.parametrize(
    "parse",
    [
        "ast.parse(data, path)",
        "compile(data, path, 'exec', ast.PyCF_ONLY_AST, dont_inherit=True, optimize=_optimize)",
        "compile(data, path, 'exec', flags=ast.PyCF_ONLY_AST, dont_inherit=True)",
    ],
)
def test_a_loader_that_changes_the_tree(tmp_path: Path, parse: str) -> None:
    (tmp_path / "main.py").write_text(HOOK.format(parse=parse))
    done = check(tmp_path, HOT, "--run", "python main.py", "--output-format", "json")
    assert "error" not in done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["verdict"]["status"], finding["verdict"]["runs"]) == ("confirmed", 3)
    done = jaxlint(tmp_path, "run", "--backend", "sentinel", "main.py")
    assert [line.split()[-2] for line in done.stderr.splitlines() if "device to host  " in line] == ["a.py:4"]


POOL = """\
import multiprocessing
import jax.numpy as jnp

def work(turns):
    for turn in range(turns):
        float(jnp.arange(3.0).sum())

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(work, range(12), chunksize=1)
"""


def test_the_workers_of_a_pool_are_killed_and_lose_no_run(tmp_path: Path) -> None:
    done = check(tmp_path, POOL, "--run", "python a.py", "--output-format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["verdict"]["status"], finding["verdict"]["runs"]) == ("confirmed", sum(range(12)))


def test_what_is_refuted_fails_nothing(tmp_path: Path) -> None:
    done = check(tmp_path, MAYBE, "--run", "python a.py", "--min-confidence", "low")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "no findings in 1 file (1 refuted)")
    assert "Refuted by running, and not counted (1):" in done.stdout
    done = check(tmp_path, MAYBE, "--run", "python a.py 1 2 3 4 5 6 7 8", "--min-confidence", "low")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "1 finding in 1 file (1 confirmed)")


def test_the_confirmed_alone(tmp_path: Path) -> None:
    text = HOT + "\n\ndef never():\n    for i in range(3):\n        print(jnp.ones(3) * i)\n"
    done = check(tmp_path, text, "--run", "python a.py", "--output-format", "json")
    statuses = [finding["verdict"]["status"] for finding in json.loads(done.stdout)["findings"]]
    assert statuses == ["confirmed", "unreached"]
    done = check(tmp_path, text, "--run", "python a.py", "--confirmed-only", "--output-format", "concise")
    assert [line.split(" ")[0] for line in done.stdout.splitlines()] == ["a.py:4:11:"]


def test_nothing_is_named_and_there_is_no_suite(tmp_path: Path) -> None:
    done = check(tmp_path, HOT, "--output-format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["verdict"]["status"], finding["verdict"]["evidence"]) == ("unreached", "operation")
    assert "Disallowed device-to-host transfer" in finding["verdict"]["message"]
    assert "name a program by --run" in done.stderr


def test_the_own_suite_is_run(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text("import a\n\n\ndef test_a() -> None:\n    assert a\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    done = check(tmp_path, HOT)
    assert "[hot, confirmed]" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("end", "words", "says"),
    [
        ("raise ValueError('no')", (), "the program raised ValueError"),
        ("import os; os.kill(os.getpid(), 9)", (), "the program was killed by SIGKILL"),
        ("import time; time.sleep(600)", ("--timeout", "8"), "the time was up (--timeout)"),
        ("import os; os._exit(3)", (), "it ended with status 3"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals end no process there")
def test_a_program_that_does_not_come_to_its_end(tmp_path: Path, end: str, words: tuple[str, ...], says: str) -> None:
    text = f"{HOT}{end}\nfor i in range(3):\n    print(jnp.ones(3) * i)\n"
    done = check(tmp_path, text, "--run", "python a.py", "--output-format", "json", *words)
    first, second = (finding["verdict"] for finding in json.loads(done.stdout)["findings"])
    # A process that is ended from outside tells its counts only as far as they had doubled.
    assert (first["status"], first["transfers"] == 3 or not end.startswith("raise")) == ("confirmed", True)
    assert second["status"] == "undecided"
    assert says in second["message"]
    assert (done.returncode, f"python a.py: error: {says}" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--run", "python a.py"), "--run names what --confirm runs: give --confirm too"),
        (("--confirm", "--timeout", "0"), "argument --timeout: 0 is not a number of seconds above zero"),
        (("--confirm", "--backend", "gpu"), "argument --backend: invalid choice: 'gpu'"),
        (("--confirm", "--run", "nonesuch a.py"), '--run "nonesuch a.py": "nonesuch" was not found'),
        (("--confirm", "--run", "b.ipynb"), '--run "b.ipynb": this notebook is not among the files that are checked'),
    ],
)
def test_wrong_requests_are_one_line(tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    (tmp_path / "a.py").write_text(HOT)
    done = jaxlint(tmp_path, "check", "--isolated", *words, "a.py")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith(f"jaxlint: {line}")


@pytest.mark.skipif(virtual.why_not() is None, reason="the backend virtual can serve here")
def test_a_backend_that_can_not_serve_is_said_and_sentinel_judges(tmp_path: Path) -> None:
    done = check(tmp_path, HOT, "--run", "python a.py", "--backend", "virtual")
    assert done.returncode == 2
    assert "--backend virtual: error: virtual: " in done.stderr
    assert "; sentinel judged instead" in done.stderr
    assert "asked through a stand-in, backend sentinel; 3 transfers in 3 judged runs" in done.stdout


def test_a_device_that_is_none_is_said_and_sentinel_judges(tmp_path: Path) -> None:
    done = check(tmp_path, HOT, "--run", "JAX_PLATFORMS=cpu python a.py", "--backend", "device")
    assert done.returncode == 2
    line = "--backend device: error: device: the program's arrays are on the CPU; sentinel judged instead"
    assert line in done.stderr
    assert "backend sentinel; 3 transfers in 3 judged runs" in done.stdout


def test_the_confirmed_alone_of_nothing_that_was_run(tmp_path: Path) -> None:
    done = check(tmp_path, HOT, "--confirmed-only")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--confirmed-only: nothing was run" in done.stderr.splitlines()[-1]


def test_a_script_knows_itself_by_its_full_name(tmp_path: Path) -> None:
    text = HOT + "import os\nopen(os.path.join(os.path.dirname(__file__), 'seen'), 'w').write(__file__)\n"
    done = check(tmp_path, text, "--run", "python a.py")
    assert "[hot, confirmed]" in done.stdout, done.stderr
    assert (tmp_path / "seen").read_text() == str(tmp_path / "a.py")


def test_a_notebook(tmp_path: Path) -> None:
    name = "040_notebook_training.ipynb"
    shutil.copy(ROOT / "fixtures" / "cases" / name, tmp_path)
    found = confirmed(tmp_path, "sentinel", [name], paths=[name])
    assert [(f["code"], f["cell"], f["line"], f["verdict"]["status"]) for f in found] == [
        ("JT101", 4, 7, "confirmed"),
        ("JT104", 6, 1, "refuted"),
    ]


def test_settings_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(HOT)
    (tmp_path / "jaxlint.toml").write_text('[confirm]\nrun = ["python a.py"]\nbackend = "sentinel"\n')
    done = jaxlint(tmp_path, "check", "--confirm", "a.py")
    assert "[hot, confirmed]" in done.stdout


def test_doctor(tmp_path: Path) -> None:
    done = jaxlint(tmp_path, "doctor")
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert done.returncode == 0
    assert list(lines) == ["python", "jax", "jaxlib", "numpy", "device", "virtual", "sentinel", "auto"]
    assert lines["sentinel"] == "sentinel  can serve"
    assert sys.executable in lines["python"] or "python" in lines["python"]
    for name in ("device", "virtual"):
        assert "can serve" in lines[name] or "can not serve: " in lines[name]


def test_doctor_of_a_python_that_is_none(tmp_path: Path) -> None:
    done = jaxlint(tmp_path, "doctor", "--python", "nonesuch")
    assert (done.returncode, done.stderr) == (2, 'jaxlint: confirm.python: "nonesuch" was not found\n')

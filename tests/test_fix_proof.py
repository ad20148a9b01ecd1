"""`--fix --confirm`: a fix stays only where the same run, repeated, proves it; else the file is as it was."""

import json
import subprocess
from pathlib import Path

import pytest

import programs
from confirming import environment, jaxlint
from jaxlint.fix.proof import same

PROGRAM = """import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def step(x):
    return x + 1

def never():
    return float(step(1.0))

for _ in range(3):
    x = step(1.0)
    print(float(x))
print(repr(step(x)))
print(np.asarray(step(x) * 2).tolist() if step(x) > 0 else 0)
"""
PROVEN = PROGRAM.replace("print(float(x))", "print(float(jax.device_get(x)))").replace(
    "np.asarray(step(x) * 2).tolist() if step(x) > 0",
    "np.asarray(jax.device_get(step(x) * 2)).tolist() if jax.device_get(step(x) > 0)",
)
FIX = ("check", "--isolated", "--min-heat", "cold", "--fix", "--unsafe-fixes", "--confirm", "--backend", "sentinel")


def test_what_is_proven_stays_and_what_is_not_is_withdrawn(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    done = jaxlint(tmp_path, *FIX, "--output-format", "concise", "--run", "python a.py", "a.py")
    assert (tmp_path / "a.py").read_text() == PROVEN, done.stderr
    assert "a.py:15:7: JT102 not fixed: the program printed something else, or ended otherwise\n" in done.stderr
    assert "a.py:10:12: JT104 not fixed: unreached, not confirmed\n" in done.stderr
    assert "3 findings fixed in 1 file\n" in done.stderr
    assert done.returncode == 1
    assert [line.partition(" ")[0] for line in done.stdout.splitlines()] == ["a.py:10:12:", "a.py:15:7:"]


def test_a_diff_of_what_is_proven_leaves_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    done = jaxlint(tmp_path, *FIX, "--select", "JT104", "--diff", "--run", "python a.py", "a.py")
    assert done.returncode == 1
    assert done.stdout.count("\n+") == 2  # the head of the diff and the line changed
    assert (tmp_path / "a.py").read_text() == PROGRAM


def test_a_program_that_never_prints_the_same_proves_nothing(tmp_path: Path) -> None:
    text = PROGRAM + "import uuid\nprint('abc' if uuid.uuid4().int % 2 else 'x', uuid.uuid4())\n"
    (tmp_path / "a.py").write_text(text)
    done = jaxlint(tmp_path, *FIX, "--select", "JT104", "--run", "python a.py", "a.py")
    assert "a.py:14:11: JT104 not fixed: the program does not print the same twice" in done.stderr
    assert (tmp_path / "a.py").read_text() == text


def test_nothing_to_run_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    done = jaxlint(tmp_path, *FIX, "a.py")
    assert done.returncode == 2
    assert "jaxlint: --fix --confirm: nothing was run: name a program by --run" in done.stderr
    assert (tmp_path / "a.py").read_text() == PROGRAM


@pytest.mark.parametrize("name", ["05_solver.py", "14_package"])
def test_every_confirmed_finding_with_a_fix_is_gone_and_the_output_is_the_same(name: str, tmp_path: Path) -> None:
    folder, command = programs.copy(name, tmp_path)

    def output() -> list[str]:
        done = subprocess.run(
            command.replace("python ", f"{environment()['PATH'].partition(':')[0]}/python ", 1).split(),
            cwd=folder, env=environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        return [line for line in done.stdout.splitlines() if " in " not in line]

    before = output()
    done = jaxlint(folder, *FIX, "--output-format", "json", "--run", command, ".")
    left = [finding for finding in json.loads(done.stdout)["findings"] if finding["fix"] is not None]
    assert [finding for finding in left if finding["verdict"]["status"] == "confirmed"] == []
    assert "findings fixed in" in done.stderr
    assert output() == before


class TestSame:
    def test_what_the_program_prints_twice_must_stay(self) -> None:
        assert same(((b"a 1\n", 0),), ((b"a 1\n", 0),), ((b"a 1\n", 0),))
        assert not same(((b"a 1\n", 0),), ((b"a 1\n", 0),), ((b"a 2\n", 0),))

    def test_a_time_may_differ(self) -> None:
        first, again = ((b"x\n== 3 passed in 1.25s ==\n", 0),), ((b"x\n= 3 passed in 11.5s =\n", 0),)
        assert same(first, again, ((b"x\n=== 3 passed in 2s ===\n", 0),))
        assert not same(first, again, ((b"y\n=== 3 passed in 2s ===\n", 0),))
        assert not same(first, again, ((b"x\n=== 3 failed in 2s ===\n", 0),))

    @pytest.mark.parametrize(
        ("first", "again", "other", "alike"),
        [
            ("Wall time: 981 ms", "Wall time: 1.2 s", "Wall time: 3 \xb5s", True),
            ("Wall time: 981 ms", "Wall time: 1.2 s", "Wall time: 3 steps", False),
            ("user 2.1 µs", "user 1e+03 ns", "user 1e-05 s", True),
            ("<object at 0x7f3a>", "<object at 0x55>", "<object at 0xabc0>", True),
            ("<object at 0x7f3a>", "<object at 0x55>", "<list at 0xabc0>", False),
        ],
    )
    def test_units_of_time_and_addresses_may_differ(self, first: str, again: str, other: str, alike: bool) -> None:
        assert same(*(((text.encode(), 0),) for text in (first, again, other))) == alike

    def test_ends_and_lengths_count(self) -> None:
        first = ((b"x\n", 0),)
        assert not same(first, first, ((b"x\n", 1),))
        assert not same(first, first, ((b"x\nx\n", 0),))
        assert not same(first, first, ())

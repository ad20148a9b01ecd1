"""What the runtime pass costs: a watched program against the same program on the same backend without marks.

``python bench/confirm.py [--backend sentinel] [--rounds 9]`` runs pairs in turn and prints medians and their ratio:

- loop: a loop of compiled steps of about 1 ms with one fetch, whose mark is decided after the first turn;
- start: the start of a program that imports jax, runs one marked line and ends.

The program measures the loop itself, from inside. Both sides have the backend in place, so the ratio is that of the
marks alone; `start` is also compared with a plain Python.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from jaxlint.witness.plan import VARIABLE, Mark, Plan, write_plan  # noqa: E402  # after the checkout is on the path

LOOP = """\
import time
import jax
import jax.numpy as jnp


@jax.jit
def step(w):
    for _ in range(8):
        w = jnp.tanh(w @ w) * 0.5
    return w, w.sum()


w = jnp.full((256, 256), 0.01)
for turn in range(420):
    if turn == 20:
        began = time.perf_counter()
    w, total = step(w)
    value = float(total)
print((time.perf_counter() - began) / 400)
"""
START = """\
import jax
import jax.numpy as jnp

x = jnp.ones(3)
value = float(x[0])
"""


def place(text: str) -> tuple[int, int, int, int]:
    """Where the fetch of a program is: line, column, end line, end column."""
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "float(" in line)
    column = text.splitlines()[line - 1].index("float(") + 1
    return line, column, line, len(text.splitlines()[line - 1]) + 1


def environment(folder: Path, text: str, backend: str, marked: bool) -> dict[str, str]:
    """The witness in place, with the one mark or with none."""
    program = folder / "program.py"
    program.write_text(text)
    mark = Mark(0, *place(text), "operation", ("device_to_host",), False, ())
    marks = {str(program.resolve()): (mark,)} if marked else {}
    digests = {path: sha256(program.read_bytes()).hexdigest() for path in marks}
    records = folder / "records"
    records.mkdir(exist_ok=True)
    plan = folder / f"plan-{marked}.json"
    write_plan(Plan(marks, digests, str(records), str(folder), backend), str(plan))
    site = str(ROOT / "jaxlint" / "witness" / "site")
    return {**os.environ, VARIABLE: str(plan), "PYTHONPATH": site}


def run(folder: Path, environ: dict[str, str]) -> tuple[float, str]:
    """Seconds from outside, and what the program printed."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, env=environ, capture_output=True, text=True, check=True
    )
    return time.perf_counter() - began, done.stdout.strip()


def main() -> None:
    """Prints one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="sentinel", choices=("sentinel", "virtual", "device"))
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        plain, marked = (environment(folder, LOOP, arguments.backend, on) for on in (False, True))
        pairs = [(float(run(folder, plain)[1]), float(run(folder, marked)[1])) for _ in range(arguments.rounds)]
        show("loop", "ms a step", [(1000 * a, 1000 * b) for a, b in pairs])
        watched = environment(folder, START, arguments.backend, True)
        bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        show("start", "s", [(run(folder, bare)[0], run(folder, watched)[0]) for _ in range(arguments.rounds)])
        records = [json.loads(line) for path in (folder / "records").iterdir() for line in path.open()]
        assert any("crossings" in record and record["crossings"] for record in records), "nothing was watched"


def show(name: str, unit: str, pairs: list[tuple[float, float]]) -> None:
    """Medians, and the median of the pairs' ratios."""
    plain, watched = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"{name:<6} plain {plain:.3f} {unit}, watched {watched:.3f} {unit}, ratio {ratio:.3f}")


if __name__ == "__main__":
    main()

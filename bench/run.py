"""What a record costs: a loop of compiled steps under ``jaxlint run`` against the same loop on the same backend alone.

``python bench/run.py [--backend virtual] [--rounds 7] [--transfers 1000000]`` prints

- loop: a loop of compiled steps of about 1 ms with an upload and a fetch each, in pairs; medians and their ratio;
- memory: what the process holds after a tenth of the transfers, and after all of them (`--rounds 0`: this alone). Each
  turn of its loop uploads at one line and fetches at another.

The program measures each step itself, from inside, and tells the lower quartile: other processes of the machine disturb
the rest. Both sides have the backend in place: the plain one is a run of
``jaxlint check --confirm`` without a mark.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from confirm import show  # noqa: E402  # beside this file

from jaxlint.witness.plan import VARIABLE, Plan, Traced, write_plan  # noqa: E402  # after the checkout is on the path

LOOP = """\
import sys, time
import jax
import jax.numpy as jnp
import numpy as np


@jax.jit
def step(w, batch):
    for _ in range(int(sys.argv[1])):
        w = jnp.tanh(w @ w) * 0.5 + batch
    return w, w.sum()


w, batch = jnp.full((192, 192), 0.01), np.zeros(192, np.float32)
times = []
for turn in range(620):
    began = time.perf_counter()
    w, total = step(w, batch)
    value = float(total)
    times.append(time.perf_counter() - began)
print(sorted(times[20:])[150])
"""
PRODUCTS = 10
MEMORY = """\
import resource, sys
import jax, jax.numpy as jnp, numpy as np

step = jax.jit(lambda batch: batch + 1)
batch, turns = np.zeros(4, np.float32), int(sys.argv[1]) // 2
for turn in range(turns):
    made = step(batch)
    np.asarray(made)
    if turn == turns // 10 or turn == turns - 1:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def environment(folder: Path, backend: str, traced: bool) -> dict[str, str]:
    """The witness in place: it records, or it has nothing to do."""
    records, plan = folder / "records", folder / f"plan-{traced}.json"
    records.mkdir(exist_ok=True)
    write_plan(Plan({}, {}, str(records), str(folder), backend, traced=Traced({}) if traced else None), str(plan))
    return {**os.environ, VARIABLE: str(plan), "PYTHONPATH": str(ROOT / "jaxlint" / "witness" / "site")}


def run(text: str, environ: dict[str, str], *words: str) -> list[str]:
    """The lines that a program prints."""
    command = [sys.executable, "-c", text, *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.split()


def main() -> None:
    """Prints one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="virtual", choices=("sentinel", "virtual", "device"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--transfers", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        plain, traced = (environment(Path(temporary), arguments.backend, on) for on in (False, True))
        if arguments.rounds:
            # So many products that a plain step takes a millisecond here.
            products = str(max(1, round(PRODUCTS * 1e-3 / float(run(LOOP, plain, str(PRODUCTS))[0]))))
            pairs = [
                (float(run(LOOP, plain, products)[0]), float(run(LOOP, traced, products)[0]))
                for _ in range(arguments.rounds)
            ]
            show("loop", "ms a step", [(1000 * a, 1000 * b) for a, b in pairs])
        early, late = (int(size) / 1024 for size in run(MEMORY, traced, str(arguments.transfers)))
        sites = max(path.stat().st_size for path in Path(temporary, "records").glob("*.sites"))
        print(f"memory {early:.1f} MiB after a tenth of {arguments.transfers} transfers, {late:.1f} MiB after all")
        print(f"record {sites} bytes")


if __name__ == "__main__":
    main()

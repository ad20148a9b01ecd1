"""How a check grows with the tree and the language server with its session.

``python bench/load.py files [--files 50000]`` makes a tree of so many small modules, one of twenty of which trains with
JAX, and one of half and of a quarter the size, checks each in a process of its own and prints its processor time and
its peak memory. ``python bench/load.py edits [--edits 10000]`` types so many times into a document of a running server,
each time waits for the diagnostics, and prints what the server holds at each tenth of it.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from editing import editor  # noqa: E402  # after the tests are on the path

TRAINS = """\
import jax
import jax.numpy as jnp

from {package}.module_{other} import scaled


@jax.jit
def step(w, x):
    return w - 0.1 * jnp.outer(x, x) @ w, jnp.sum(w)


def train_{number}(w, batches):
    losses = []
    for batch in batches:
        w, loss = step(w, scaled(batch, {number}))
        losses.append(float(loss))
    return w, losses
"""
PLAIN = """\
import collections
import functools


class Table_{number}:
    def __init__(self, rows):
        self.rows = list(rows)
        self.seen = collections.Counter()

    def add(self, key, value={number}):
        self.seen[key] += 1
        self.rows.append((key, value))
        return self

    def total(self):
        return functools.reduce(lambda a, b: a + b[1], self.rows, 0)


def scaled(value, factor):
    for _ in range(3):
        value = value * factor if factor else value
    return value
"""
IN_PACKAGE, ONE_IN = 100, 20


def make_tree(folder: Path, files: int) -> None:
    """A tree of packages."""
    for number in range(files):
        package = folder / f"package_{number // IN_PACKAGE}"
        if number % IN_PACKAGE == 0:
            package.mkdir()
        trains = number % ONE_IN == 0
        names = {"package": package.name, "number": number, "other": number - number % IN_PACKAGE + 1}
        (package / f"module_{number}.py").write_text((TRAINS if trains else PLAIN).format(**names))


def check(folder: Path) -> tuple[float, float, int]:
    """Processor seconds, peak megabytes and lines of output of one check."""
    words = [sys.executable, "-m", "jaxlint", "check", "--isolated", "--no-cache", "--output-format", "concise", "."]
    out = folder.parent / f"{folder.name}.txt"
    with out.open("w") as written:
        process = subprocess.Popen(words, cwd=folder, stdout=written, env={**os.environ, "PYTHONPATH": str(ROOT)})
        _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read_text().count("\n")


def measure_files(files: int) -> None:
    """Checks trees of a quarter, half and all of the files."""
    print("| files | findings | processor s | ms a file | peak MB |\n|---|---|---|---|---|")
    for count in (files // 4, files // 2, files):
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            tree.mkdir()
            make_tree(tree, count)
            seconds, memory, found = check(tree)
        print(f"| {count:,} | {found:,} | {seconds:.1f} | {seconds / count * 1000:.2f} | {memory:.0f} |", flush=True)


def held(process: int) -> float:
    """Megabytes that a process holds."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure_edits(edits: int) -> None:
    """Types into one document: a letter more each time, and now and then what does not parse."""
    print("| edits | server MB |\n|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder).resolve() / "tree"
        tree.mkdir()
        make_tree(tree, IN_PACKAGE)
        path = tree / "package_0" / "module_0.py"
        text = path.read_text()
        async with editor(tree) as opened:
            opened.open(path, text)
            await opened.diagnostics(path)
            began = time.perf_counter()
            for number in range(1, edits + 1):
                broken = " (" if number % 50 == 7 else ""
                line = f"\n\ndef typed_{number % 100}(x):\n    return step(x, {number}){broken}\n"
                opened.type(path, text + line * (number % 7), number + 1)
                await opened.diagnostics(path, number + 1)
                if number % max(1, edits // 10) == 0:
                    print(f"| {number:,} | {held(opened.process):.0f} |", flush=True)
            print(f"\n{(time.perf_counter() - began) / edits * 1000:.1f} ms an edit")
            opened.close(path)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("files", "edits"))
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--edits", type=int, default=10_000)
    options = parser.parse_args()
    if options.what == "files":
        measure_files(options.files)
    else:
        asyncio.run(measure_edits(options.edits))


if __name__ == "__main__":
    main()

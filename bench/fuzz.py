"""Hostile input by the hundred thousand: no traceback, no hang, no memory beyond a bound.

``python bench/fuzz.py files FOLDER ...`` checks every Python file below the folders, each on its own and as one that
speaks of JAX, so that the interpreter runs over it. ``python bench/fuzz.py inputs --count 100000 [FOLDER ...]`` checks
inputs made by mutating the rules' examples, the programs of ``fixtures/programs`` and the files below the
folders; ``grammar`` programs that hypothesmith generates, and ``atheris`` what coverage leads to, where these are
installed. An input is named by its seed and number (``--only NUMBER`` tries one again).

The work is done in a process that tells the number of each input before it begins; another one watches it, and ends
and restarts it where one input takes more than ``--seconds-each``. Memory is what the process holds at its peak: an
input that raises it by more than ``--megabytes`` is a fault. Each fault is printed and its input kept in ``--keep``.
"""

import argparse
import heapq
import importlib
import json
import os
import queue
import resource
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from mutants import Laws, Mutants, programs  # noqa: E402  # after the tests are on the path

Input = Callable[[int], bytes]
SUFFIXES = (".py", ".pyi")
SPEAKS_OF_JAX = b"\n# jax\n"
BATCH = 200
"""Programs of the grammar that are made at once."""


def main() -> int:
    """Watches the work, or does it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("files", "inputs", "grammar", "atheris"))
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    parser.add_argument("--count", type=int, default=None, help="inputs (default: all files, or 1000)")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one input, printed with its fault")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--seconds-each", type=float, default=60.0)
    parser.add_argument("--megabytes", type=float, default=1024.0)
    parser.add_argument("--keep", type=Path, default=Path("faults"))
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.mode == "atheris":
        return _led_by_coverage(options)
    if options.only is not None:
        options.first, options.count = options.only, 1
    if options.work or options.only is not None:
        return _work(options)
    return _watch(options, sys.argv[1:])


def files_below(folders: Sequence[Path]) -> list[Path]:
    """The Python files of some folders, in a fixed order."""
    return sorted(
        Path(folder) / name
        for top in folders
        for folder, _, names in os.walk(top)
        for name in names
        if name.endswith(SUFFIXES) and (Path(folder) / name).is_file()
    )


def _inputs(options: argparse.Namespace) -> tuple[Input, int]:
    """The inputs by number, and how many there are."""
    if options.mode == "files":
        files = files_below(options.folders)
        return lambda number: files[number].read_bytes() + SPEAKS_OF_JAX, len(files)
    if options.mode == "grammar":
        return _Grammar(options.seed), sys.maxsize
    return Mutants(options.seed, programs(options.folders)).__getitem__, sys.maxsize


class _Grammar:
    """Programs of Python's grammar, in batches: the same for the same seed and version of hypothesmith."""

    def __init__(self, seed: int) -> None:
        self._seed, self._batch, self._texts = seed, -1, list[str]()

    def __call__(self, number: int) -> bytes:
        batch, at = divmod(number, BATCH)
        if batch != self._batch:
            self._batch, self._texts = batch, self._made(batch)
        return f"import jax\n{self._texts[at % len(self._texts)]}".encode("utf-8", "surrogatepass")

    def _made(self, batch: int) -> list[str]:
        import hypothesis

        made: list[str] = []
        strategy = importlib.import_module("hypothesmith").from_grammar()
        quiet = hypothesis.settings(
            max_examples=BATCH,
            database=None,
            deadline=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )

        @hypothesis.seed(self._seed * 1_000_003 + batch)
        @quiet
        @hypothesis.given(strategy)
        def make(text: str) -> None:
            made.append(text)

        make()
        return made


def _work(options: argparse.Namespace) -> int:
    """Checks inputs one after the other, and says so: a line before each, a line after one that breaks a law."""
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    make, available = _inputs(options)
    count = available if options.count is None and options.mode == "files" else options.count or 1000
    # A warning about the code that is checked is not for whoever checks it.
    warnings.simplefilter("error")
    laws, peak, faults = Laws(), _peak(), 0
    for number in range(options.first, min(options.first + count, available)):
        print(json.dumps({"at": number}), flush=True)
        began, data, found = time.perf_counter(), b"", list[str]()
        try:
            data = make(number)
            found = list(laws.broken(data))
        except BaseException:  # noqa: BLE001  # that is what is looked for
            found = [traceback.format_exc()]
        grown, peak = _peak() - peak, _peak()
        if grown > options.megabytes:
            found.append(f"{grown:.0f} MB for {len(data)} bytes")
        faults += bool(found)
        if found or options.only is not None:
            seconds = time.perf_counter() - began
            print(json.dumps({"fault": number, "found": found, "seconds": seconds, "data": data.hex()}), flush=True)
    print(json.dumps({"done": True, "peak": peak}), flush=True)
    return 1 if faults else 0


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _watch(options: argparse.Namespace, arguments: Sequence[str]) -> int:
    """Starts the work, and again behind an input that took too long or ended the process."""
    began, first, tried = time.monotonic(), options.first, 0
    slowest: list[tuple[float, int]] = []
    kinds: Counter[str] = Counter()
    peak = 0.0
    while True:
        left = [] if options.count is None else ["--count", str(options.first + options.count - first)]
        words = [sys.executable, __file__, *arguments, "--first", str(first), *left, "--work"]
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        lines = queue.SimpleQueue[str]()
        threading.Thread(target=_read, args=(child, lines.put), daemon=True).start()
        at, since = -1, time.monotonic()
        reason = ""
        while True:
            try:
                line = lines.get(timeout=options.seconds_each if at >= 0 else 600)
            except queue.Empty:
                line = None
            now = time.monotonic()
            if at >= 0:
                slowest = heapq.nlargest(5, [*slowest, (now - since, at)])
            if not line:
                reason = "no end in sight" if line is None else f"the process ended, status {child.wait()}"
                break
            said = json.loads(line)
            since = now
            if "at" in said:
                at, tried = said["at"], tried + 1
                if tried % 1000 == 0:
                    print(f"… {at}", file=sys.stderr, flush=True)
                if now - began > options.seconds:
                    reason = "enough"
                    break
            elif "fault" in said:
                kinds[_kept(said, options.keep)] += 1
            else:
                reason, peak = "done", max(peak, said["peak"])
                break
        child.kill()
        child.wait()
        if reason in ("done", "enough"):
            break
        kinds[_kept({"fault": at, "found": [reason], "data": "", "seconds": now - since}, options.keep)] += 1
        first = at + 1
    minutes = (time.monotonic() - began) / 60
    print(f"{tried:,} inputs in {minutes:.1f} minutes; peak {peak:.0f} MB")
    print("slowest: " + ", ".join(f"{spent:.1f} s (number {number})" for spent, number in slowest))
    for kind, number in kinds.most_common():
        print(f"{number:6} {kind}")
    return 1 if kinds else 0


def _read(child: "subprocess.Popen[str]", put: Callable[[str], None]) -> None:
    """Hands on the lines of a process, and an empty one at its end."""
    assert child.stdout is not None
    for line in child.stdout:
        put(line)
    put("")


def _kept(said: dict[str, object], folder: Path) -> str:
    """Keeps an input and what is wrong with it; its kind, in one line."""
    folder.mkdir(parents=True, exist_ok=True)
    found = said["found"]
    assert isinstance(found, list)
    place = folder / f"{said['fault']}.py"
    place.write_bytes(bytes.fromhex(str(said["data"])))
    place.with_suffix(".txt").write_text("\n".join(map(str, found)), "utf-8", "backslashreplace")
    kind = str(found[0]).strip().splitlines()[-1][:160]
    print(f"{said['fault']}: {kind}", flush=True)
    return kind


def _led_by_coverage(options: argparse.Namespace) -> int:
    """What atheris finds: it looks at which lines of jaxlint an input reaches. It ends the process itself."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["jaxlint"]):
        for name in ("check", "interp.run", "source.parse", "fixes.propose"):
            importlib.reload(importlib.import_module(f"jaxlint.{name}"))
    laws = Laws()

    def try_one(data: bytes) -> None:
        found = list(laws.broken(data + SPEAKS_OF_JAX))
        if found:
            raise AssertionError(found)

    options.keep.mkdir(parents=True, exist_ok=True)
    seeds = options.keep / "seeds"
    seeds.mkdir(exist_ok=True)
    for number, text in enumerate(programs(options.folders)):
        (seeds / f"{number}.py").write_bytes(text.encode("utf-8", "surrogatepass"))
    flags = [f"-seed={options.seed}", f"-runs={options.count or 1000}", f"-artifact_prefix={options.keep}/"]
    atheris.Setup([sys.argv[0], *flags, "-max_len=4000", f"-timeout={options.seconds_each:.0f}", str(seeds)], try_one)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())

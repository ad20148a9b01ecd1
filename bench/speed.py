"""What a check costs beside parsing and beside other linters: ``python bench/speed.py FOLDER ...``.

Each command is run over the same files, one after the other, ``--rounds`` times; the table gives the median of the
processor seconds (user and system, of all its processes), its ratio to ``libcst.parse_module`` of all files, the median
of the seconds that passed, and the peak memory of one process. (libcst comes with the extra ``dev``.) ``--peers``
names a folder of programs (the ``bin`` of an environment) in which ``ruff``, ``flake8``, ``pylint`` and ``fixit`` are
looked for; those that are not there are left out. Rounds go through all commands in turn, so that a machine that is
slow for a while is slow for all of them.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARSE = """\
import sys
{import_}
for path in open(sys.argv[1]).read().split("\\0"):
    try:
        {parse}(open(path, "rb").read())
    except Exception:
        pass
"""
PYLINT = ["--disable=all", "--enable=unused-import,unused-variable,undefined-variable", "--jobs=1", "--score=n"]


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor seconds, the seconds that passed, and peak bytes of one run."""

    seconds: float
    passed: float
    memory: int


def main() -> None:
    """Prints the table, as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", type=Path)
    options = parser.parse_args()
    folders = [str(folder.resolve()) for folder in options.folders]
    files = sorted(str(p) for f in folders for p in Path(f).rglob("*.py") if p.is_file())
    lines = sum(Path(f).read_bytes().count(b"\n") for f in files)
    with tempfile.TemporaryDirectory() as scratch:
        costs = measure(commands(folders, files, options.peers, Path(scratch)), options.rounds)
    print(f"{len(files):,} files, {lines:,} lines, {options.rounds} rounds, Python {sys.version.split()[0]}\n")
    print("| command | processor seconds | times libcst | seconds | peak MB |")
    print("|---|---|---|---|---|")
    price = costs["libcst.parse_module"][0]
    for name, (seconds, passed, memory) in costs.items():
        print(f"| {name} | {seconds:.2f} | {seconds / price:.2f} | {passed:.2f} | {memory / 1e6:.0f} |")


def commands(
    folders: Sequence[str], files: Sequence[str], peers: Path | None, scratch: Path
) -> Mapping[str, Sequence[str]]:
    """The commands by name."""
    listed = scratch / "files"
    listed.write_text("\0".join(files))
    check = [sys.executable, "-P", "-m", "jaxlint", "check", "--isolated", "--exit-zero", "--statistics"]
    out = {
        "ast.parse": _python(PARSE.format(import_="import ast", parse="ast.parse"), listed),
        "libcst.parse_module": _python(PARSE.format(import_="import libcst", parse="libcst.parse_module"), listed),
        "jaxlint, cold": [*check, "--no-cache", "--jobs", "1", *folders],
        "jaxlint, cold, two processes": [*check, "--no-cache", "--jobs", "2", *folders],
        "jaxlint, warm": [*check, *folders],
    }
    if peers is not None:
        table = {
            "ruff, no cache": ["ruff", "check", "--isolated", "--no-cache", "--exit-zero", "--quiet"],
            "ruff, cached": ["ruff", "check", "--isolated", "--cache-dir", str(scratch / "ruff"), "--exit-zero", "-q"],
            "flake8": ["flake8", "--isolated", "--jobs=1", "--quiet"],
            "pylint, three checks": ["pylint", *PYLINT],
            "fixit, one rule": ["fixit", "--quiet", "--rules", "fixit.rules.no_inherit_from_object", "lint"],
        }
        for name, (program, *arguments) in table.items():
            if (peers / program).exists():
                out[name] = [str(peers / program), *arguments, *folders]
    return out


def _python(text: str, listed: Path) -> list[str]:
    return [sys.executable, "-c", text, str(listed)]


def measure(table: Mapping[str, Sequence[str]], rounds: int) -> dict[str, tuple[float, float, int]]:
    """Medians by name. What keeps a cache is run once before, so that it has one."""
    found: dict[str, list[Cost]] = {name: [] for name in table}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in table.items():
            if name.endswith(("warm", "cached")):
                run(command, folder)
        for _ in range(rounds):
            for name, command in table.items():
                found[name].append(run(command, folder))
    return {
        name: (
            statistics.median(c.seconds for c in costs),
            statistics.median(c.passed for c in costs),
            max(c.memory for c in costs),
        )
        for name, costs in found.items()
    }


def run(command: Sequence[str], folder: str) -> Cost:
    """One run, its output thrown away."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - begun, usage.ru_maxrss * 1024)


if __name__ == "__main__":
    main()

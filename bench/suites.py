"""Whether a program's own tests can tell that they are watched: suites of pure-JAX libraries, plain and under jaxlint.

``python bench/suites.py [chex mctx]`` gets the source archive of each library, runs its tests

- plain,
- confirm: under ``jaxlint check --confirm``, with every finding of every rule, heat and confidence marked,
- everywhere: with a mark at each place of its files that can bear one, in both directions in turn,
- run: under ``jaxlint run``,

and prints how many passed, failed and were skipped, how many places were marked and ran (of `run`: how many were
recorded, and their transfers), and each test whose outcome is another than plain. It ends with 1 if there is one. The
Python that runs it needs jax and pytest; what else a library needs is installed into a folder that is gone at the end.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from jaxlint.witness.plan import VARIABLE, Mark  # noqa: E402  # after the checkout is on the path
from witnessing import SITE, marks, plan  # noqa: E402

# Those of chex that start their own devices are others in a process that has them already, plain or not.
LIBRARIES: Mapping[str, Sequence[str]] = {
    "chex": ("--ignore-glob=*fake*", "--ignore-glob=*pmap*"),
    "mctx": (),
    "rlax": (),
}
# Marks between devices would offer the program a second device: chex counts its devices.
DIRECTIONS = ("device_to_host", "host_to_device")
ALL = ("--select", "JT1,JT2,JT3,JT4", "--min-heat", "cold", "--min-confidence", "low", "--no-cache", "-q")


@dataclass(frozen=True)
class Outcome:
    """What became of each test, and of the marks."""

    tests: Mapping[str, str]
    marked: int = 0
    ran: int = 0
    trouble: Sequence[str] = field(default_factory=tuple)


class Suite:
    """The tests of one library, in a folder of their own."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder, self.name = folder, name
        pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
        archives, beside = folder / "archives", folder / "beside"
        subprocess.run([*pip, "download", "--no-deps", "--no-binary", name, "--dest", str(archives), name], check=True)
        with tarfile.open(next(archives.iterdir())) as archive:
            archive.extractall(folder, filter="data")
        self.source = next(path for path in folder.glob(f"{name}-*") if path.is_dir())
        self.version = self.source.name.rpartition("-")[2]
        needed = ["absl-py", "toolz", "dm-env", "distrax", "dm-tree", "chex", "cloudpickle"]
        subprocess.run([*pip, "install", "--no-deps", "--target", str(beside), *needed], check=True)
        self.tests = sorted(str(path.relative_to(self.source)) for path in (self.source / name).rglob("*_test.py"))
        self.path = os.pathsep.join(map(str, (self.source, beside, ROOT)))

    @property
    def words(self) -> list[str]:
        """The arguments of Python that run the tests."""
        report = f"--junitxml={self.folder / 'results.xml'}"
        quiet = ["-q", "-p", "no:cacheprovider", "-p", "no:jaxlint.pytest_plugin", "--tb=no", report]
        return ["-m", "pytest", *quiet, *LIBRARIES.get(self.name, ()), *self.tests]

    def run(self, words: Sequence[str], **more: str) -> "subprocess.CompletedProcess[str]":
        """A command in the folder of the sources."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX", "XLA_", "PYTHON"))}
        names = {**kept, "PYTHONPATH": self.path, "JAX_PLATFORMS": "cpu", **more}
        (self.folder / "results.xml").unlink(missing_ok=True)
        return subprocess.run(
            [sys.executable, *words], cwd=self.source, env=names, capture_output=True, text=True, check=False
        )

    def outcomes(self, said: str) -> dict[str, str]:
        """What the last run said of each test."""
        try:
            cases = xml.parse(self.folder / "results.xml").iter("testcase")
        except OSError:
            raise SystemExit(f"{self.name}: no results:\n{said[-3000:]}") from None
        return {f"{case.get('classname')}.{case.get('name')}": next((c.tag for c in case), "passed") for case in cases}

    def plain(self) -> Outcome:
        return Outcome(self.outcomes(self.run(self.words).stderr))

    def confirm(self) -> Outcome:
        command = " ".join(["python", *self.words])
        words = ["-m", "jaxlint", "check", "--isolated", *ALL, "--confirm", "--backend", "sentinel"]
        words += ["--timeout", "3600", "--output-format", "json", "--run", command, self.name]
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        done = self.run(words, PATH=path)
        report = json.loads(done.stdout)
        verdicts = [finding["verdict"] for finding in report["findings"] if finding["verdict"]]
        return Outcome(self.outcomes(done.stderr), len(verdicts), sum(bool(v["runs"]) for v in verdicts))

    def everywhere(self) -> Outcome:
        wanted: dict[Path, tuple[Mark, ...]] = {}
        for path in sorted((self.source / self.name).rglob("*.py")):
            wanted[path] = marks(path.read_text("utf-8"), DIRECTIONS, start=sum(map(len, wanted.values())))
        aside = self.folder / "aside"
        place = os.pathsep.join([str(SITE), self.path])
        done = self.run(self.words, PYTHONPATH=place, **{VARIABLE: str(plan(aside, wanted))})
        lines = [json.loads(line) for path in (aside / "records").glob("*.jsonl") for line in path.open()]
        placed = {number for line in lines for number in line.get("marked", ())}
        ran = {line["number"] for line in lines if line.get("runs")}
        trouble = [str(line) for line in lines if "trouble" in line or "distrust" in line]
        return Outcome(self.outcomes(done.stderr), len(placed), len(ran), trouble)

    def record(self) -> Outcome:
        report = self.folder / "report.json"
        words = ["-m", "jaxlint", "run", "--isolated", "-q", "--backend", "sentinel", "--report", str(report)]
        done = self.run([*words, "--python", sys.executable, *self.words])
        transfers = json.loads(report.read_text("utf-8"))["transfers"]
        return Outcome(self.outcomes(done.stderr), len(transfers), sum(row["count"] for row in transfers))


def main() -> int:
    """Prints a table, and what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", default=["chex", "mctx"], choices=[*LIBRARIES, []])
    differ = 0
    print("| suite | | passed | failed | skipped | marked | ran | other outcome than plain |\n" + "|---" * 8 + "|")
    for name in parser.parse_args().libraries:
        with tempfile.TemporaryDirectory(prefix="suites-") as folder:
            suite = Suite(name, Path(folder))
            plain = suite.plain()
            ways = {"plain": plain, "confirm": suite.confirm(), "everywhere": suite.everywhere(), "run": suite.record()}
        for way, found in ways.items():
            counts = Counter(found.tests.values())
            tests = plain.tests.keys() | found.tests.keys()
            other = sorted(test for test in tests if plain.tests.get(test) != found.tests.get(test))
            differ += len(other) + len(found.trouble)
            numbers = [
                counts["passed"],
                counts["failure"] + counts["error"],
                counts["skipped"],
                found.marked,
                found.ran,
            ]
            print(f"| {name} {suite.version} | {way} | {' | '.join(map(str, numbers))} | {len(other)} |")
            for line in [*other, *found.trouble]:
                print(f"  {line}", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())

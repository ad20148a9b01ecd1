"""The marks of fixtures/programs, held from both sides: every finding is marked and every mark has its finding; and
each program is run, and JAX's own guard says at which instructions it transfers (``program_probe.py``)."""

import functools
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path

import pytest

import program_probe
import programs
from backends import REASON
from jaxlint.check import check_paths
from jaxlint.findings import Finding
from jaxlint.settings import Settings
from jaxlint.sites import Heat
from program_probe import Account, Place
from running import recorded

# The backends take turns.
SERVING = ("sentinel",) if REASON else ("sentinel", "virtual")
ROOT = Path(__file__).parent.parent
PROGRAMS = ROOT / "fixtures" / "programs"
NAMES = sorted(path.name for path in PROGRAMS.iterdir() if re.match(r"\d\d_", path.name))
MARK = re.compile(r"\b(confirmed|refuted|unreached|unasked): (JT\d{3}(?:, JT\d{3})*)")
NEEDS = re.compile(r"# needs: (.+)")
FAMILIES = {"1": "device_to_host", "2": "host_to_device", "3": "device_to_device", "4": "tracer"}
# A test stands at its operand in the source and at the whole statement in the bytecode; before Python 3.12
# all parts of an f-string stand at one place.
LOOSE = {"JT102", "JT105", "JT116", "JT401"}

Marks = dict[tuple[str, int], set[tuple[str, str]]]


def sources(name: str) -> Iterator[Path]:
    path = PROGRAMS / name
    yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def marks(name: str) -> Marks:
    """What the comments say, by path below fixtures/programs and line."""
    found: Marks = {}
    for path in sources(name):
        with tokenize.open(path) as file:
            comments = [t for t in tokenize.generate_tokens(file.readline) if t.type == tokenize.COMMENT]
        for comment in comments:
            said = {(verdict, code) for verdict, codes in MARK.findall(comment.string) for code in codes.split(", ")}
            if said:
                found[path.relative_to(PROGRAMS).as_posix(), comment.start[0]] = said
    return found


@functools.cache
def findings(name: str) -> tuple[Finding, ...]:
    report = check_paths(Settings(min_heat=Heat.COLD), [name])
    assert not report.errors
    return report.findings


@functools.cache
def needed(name: str) -> tuple[str, ...]:
    first = next(sources(name)).read_text("utf-8").partition("\n")[0]
    said = NEEDS.match(first)
    return tuple(said[1].split(", ")) if said else ()


def run(name: str, folder: Path) -> Account:
    """Runs a copy of a program, so that nothing is written beside the fixtures, and reads what its processes noted."""
    copy, library, logs = folder / "programs", folder / "library", folder / "logs"
    for made in (copy, library, logs):
        made.mkdir()
    if (PROGRAMS / name).is_dir():
        shutil.copytree(PROGRAMS / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        place, command = copy / name, (copy / name / "command.txt").read_text("utf-8")
    else:
        shutil.copy(PROGRAMS / name, copy)
        place, command = copy, f"python {name}"
    shutil.copy(program_probe.__file__, library)
    start = f"import program_probe\nprogram_probe.watch({str(copy)!r}, {str(logs)!r})\n"
    (library / "sitecustomize.py").write_text(start, "utf-8")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_", "PYTEST_"))}
    environment |= {
        "PYTHONPATH": os.pathsep.join((str(library), str(ROOT))),
        "PYTHONDONTWRITEBYTECODE": "1",
        "JAX_PLATFORMS": "cpu",
        # What pytest takes from file descriptor 2 is not in the log.
        "PYTEST_ADDOPTS": "-s",
    }
    words = [sys.executable, *shlex.split(command)[1:]]
    done = subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, timeout=300)
    account = Account()
    for log in logs.iterdir():
        text = log.read_text("utf-8", "replace")
        assert done.returncode == 0, "\n".join(line for line in text.splitlines() if not line.startswith("@"))
        program_probe.read(text, account)
    assert account.ran
    return below(account, str(copy))


@functools.cache
def account_of(name: str) -> Account:
    with tempfile.TemporaryDirectory() as folder:
        return run(name, Path(folder).resolve())


def below(account: Account, folder: str) -> Account:
    """The same with paths as the marks have them."""

    def path_of(path: str) -> str:
        return Path(path).relative_to(folder).as_posix()

    def of(place: Place) -> Place:
        return (path_of(place[0]), *place[1:])

    return Account(
        ran={of(place) for place in account.ran},
        moved=Counter({(of(place), direction): count for (place, direction), count in account.moved.items()}),
        tracer={of(place) for place in account.tracer},
        leaked={(path_of(path), line) for path, line in account.leaked},
    )


def place_of(finding: Finding) -> Place:
    span = finding.span
    return (span.path, span.line, span.column - 1, span.end_line, span.end_column - 1)


def within(inner: Place, outer: Place) -> bool:
    return inner[0] == outer[0] and outer[1:3] <= inner[1:3] and inner[3:] <= outer[3:]


def verdict(finding: Finding, account: Account, all_places: set[Place]) -> str:
    """What the run says of a finding. The instruction of the operation itself counts, not those of its operands."""
    family, place = FAMILIES.get(finding.code[2]), place_of(finding)
    if family is None:
        return "unasked"
    happened = {p for p, direction in account.moved if direction == family} if family != "tracer" else account.tracer
    leaked = {line for path, line in account.leaked if path == place[0]}
    if place in happened or (finding.code == "JT406" and leaked & set(range(place[1], place[3] + 1))):
        return "confirmed"
    if finding.code in LOOSE:
        others = happened - all_places
        if any(within(p, place) or (within(place, p) and p[1] == place[1]) for p in others):
            return "confirmed"
    return "refuted" if place in account.ran else "unreached"


@pytest.mark.parametrize("name", NAMES)
def test_every_finding_is_marked_and_every_mark_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROGRAMS)
    found = {(finding.span.path, finding.span.line, finding.code) for finding in findings(name)}
    assert found == {(*place, code) for place, said in marks(name).items() for _, code in said}


@pytest.mark.parametrize("name", NAMES)
def test_the_guard_says_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = [package for package in needed(name) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    monkeypatch.chdir(PROGRAMS)
    account = account_of(name)
    places = {place_of(finding) for finding in findings(name)}
    seen: Marks = {}
    for finding in findings(name):
        said = (verdict(finding, account, places), finding.code)
        seen.setdefault((finding.span.path, finding.span.line), set()).add(said)
    assert seen == marks(name)


@pytest.mark.parametrize(
    ("name", "backend"), [pytest.param(n, b, id=n) for n, b in zip(NAMES, cycle(SERVING), strict=False)]
)
def test_the_record_says_the_same(name: str, backend: str, tmp_path: Path) -> None:
    """The program once more under `jaxlint run`: the same lines in the same directions, and as often. Between devices
    the guard counts questions and the record copies, so of these the lines are compared."""
    missing = [package for package in needed(name) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    expected: Counter[tuple[str, int, str]] = Counter()
    for (place, direction), count in account_of(name).moved.items():
        expected[place[0], place[1], direction] += count
    folder, command = programs.copy(name, tmp_path.resolve())
    more = {"JAX_PLATFORMS": "cpu", "PYTEST_ADDOPTS": ""}
    report = recorded(folder, backend, *shlex.split(command)[1:], more=more)
    # In a folder the marks' paths begin with its name.
    prefix = "" if name.endswith(".py") else f"{name}/"
    found: Counter[tuple[str, int, str]] = Counter()
    for transfer in report["transfers"]:
        if not transfer["explicit"]:
            found[prefix + transfer["path"], transfer["line"], transfer["direction"]] += transfer["count"]
    assert counted(found) == counted(expected)


def counted(transfers: Mapping[tuple[str, int, str], int]) -> dict[tuple[str, int, str], int]:
    return {key: min(count, 1) if key[2] == "device_to_device" else count for key, count in transfers.items()}


def test_the_marks_cover_all_verdicts_and_directions() -> None:
    said = [mark for name in NAMES for place in marks(name).values() for mark in place]
    counts = {kind: sum(verdict == kind for verdict, _ in said) for kind in ("confirmed", "refuted", "unreached")}
    assert counts["confirmed"] >= 100
    assert counts["refuted"] >= 10
    assert counts["unreached"] >= 10
    assert {code[2] for verdict, code in said if verdict == "confirmed"} == set(FAMILIES)

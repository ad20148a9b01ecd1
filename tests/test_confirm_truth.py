"""`check --confirm` against what is known: the programs of the rule pages, and the rows of the measured table."""

import ast
import functools
import importlib.metadata
import importlib.util
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest

import guard_table
from backends import BACKENDS
from confirming import DRIVER, confirmed
from jaxlint.rulebook import Rule, load_rules

PAGES = [rule for rule in load_rules() if rule.family in "1234" and rule.proof.backend == "sentinel"]
DIRECTIONS = {"1": "d2h", "2": "h2d", "3": "d2d"}
LIBRARIES = ("cloudpickle", "joblib", "orjson")
ROWS_IN_A_PROGRAM = 300
# Rows whose verdict is not the table's, with the reason.
OF_BOTH = {
    "threading_print": "the table's guard was entered by another thread; the witness judges in the thread that fetches",
    "make_array_from_process_local": "asked for by name: JT292 is judged by disallow_explicit",
    "dd_put_np_named": "asked for by name: JT292 is judged by disallow_explicit",
    "dd_tree_put_mixed": "asked for by name: JT292 is judged by disallow_explicit",
}
OF_BACKEND = {
    "sentinel": {},
    "virtual": {"live_arrays_print": "the arrays that live in that process had been fetched before"},
}


def by_devices() -> Mapping[int, list[Rule]]:
    groups: dict[int, list[Rule]] = defaultdict(list)
    for rule in PAGES:
        if all(importlib.util.find_spec(package) for package in rule.proof.needs):
            groups[rule.proof.devices].append(rule)
    return groups


def going_on(text: str) -> str:
    """A program in which no top-level statement keeps the next one from running, with the same lines."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Expr, ast.Assign)) and not isinstance(getattr(node.value, "value", None), str):
            lines[node.lineno - 1] = "with contextlib.suppress(Exception): " + lines[node.lineno - 1]
    return "import contextlib; " + "".join(lines)


@functools.cache
def page_verdicts(backend: str, folder: Path) -> Mapping[tuple[str, int, str], set[str]]:
    """Statuses by file, line and code, of every page's two programs."""
    (folder / "drive.py").write_text(DRIVER)
    commands = []
    for devices, rules in by_devices().items():
        names = []
        for rule in rules:
            for name, example in (("bad", rule.bad), ("good", rule.good)):
                names.append(f"{rule.code}_{name}.py")
                (folder / names[-1]).write_text(going_on(example.text) if rule.family == "4" else example.text)
        flags = f"XLA_FLAGS=--xla_force_host_platform_device_count={devices}"
        commands.append(f"{flags} python drive.py {' '.join(names)}")
    found: dict[tuple[str, int, str], set[str]] = defaultdict(set)
    codes = ",".join(rule.code for rule in PAGES)
    for finding in confirmed(folder, backend, commands, "--select", codes, "--min-confidence", "low"):
        found[finding["path"], finding["line"], finding["code"]].add(finding["verdict"]["status"])
    return found


@pytest.fixture(scope="module")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_marked_line_of_a_page_is_confirmed_and_no_other(backend: str, page_folder: Path) -> None:
    found = page_verdicts(backend, page_folder)
    wrong: list[tuple[str, int, list[str]]] = []
    for rules in by_devices().values():
        for rule in rules:
            bad = f"{rule.code}_bad.py"
            statuses = {line: found.get((bad, line, rule.code), {"no finding"}) for line in rule.marked}
            wrong += [(bad, line, sorted(status)) for line, status in statuses.items() if status != {"confirmed"}]
            good = f"{rule.code}_good.py"
            wrong += [
                (path, line, sorted(status))
                for (path, line, code), status in found.items()
                if (path, code) == (good, rule.code) and "confirmed" in status
            ]
    assert wrong == []


@functools.cache
def row_verdicts(backend: str, folder: Path) -> Mapping[tuple[str, str], set[str]]:
    """Statuses by row and direction."""
    owners: dict[str, dict[int, str]] = {}
    rows = guard_table.rows()
    for number, (text, owner) in enumerate(guard_table.programs(rows, ROWS_IN_A_PROGRAM)):
        installed = [library for library in LIBRARIES if importlib.util.find_spec(library)]
        text = text.replace(f"import {', '.join(LIBRARIES)}", f"import {', '.join(['sys', *installed])}")
        calls = ", ".join(f"row_{row}" for row in dict.fromkeys(owner.values()))
        text += "\n\nlogging.basicConfig(level=logging.INFO)\n"
        text += f"for row in [{calls}]:\n    try:\n        row()\n    except BaseException as error:\n"
        text += "        print(row.__name__, type(error).__name__)\n"
        owners[f"rows_{number}.py"] = owner
        (folder / f"rows_{number}.py").write_text(text)
    flags = "XLA_FLAGS=--xla_force_host_platform_device_count=4"
    options = ("--select", "JT1,JT2,JT3," + ",".join(rule.code for rule in PAGES), "--min-confidence", "low")
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for finding in confirmed(folder, backend, [f"{flags} python {name}" for name in owners], *options):
        row = owners[finding["path"]].get(finding["line"])
        if row is not None and finding["code"][2] in DIRECTIONS:
            found[row, DIRECTIONS[finding["code"][2]]].add(finding["verdict"]["status"])
    return found


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_verdict_differs_from_the_table(backend: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    version = importlib.metadata.version("jax")
    rows = {row.id: row for row in guard_table.rows()}
    found = row_verdicts(backend, tmp_path_factory.mktemp("rows"))
    judged = {key: statuses for key, statuses in found.items() if "unreached" not in statuses}
    excepted = {**OF_BOTH, **OF_BACKEND[backend]}
    wrong = {
        (row, direction, rows[row].expected(version, direction), *sorted(statuses))
        for (row, direction), statuses in judged.items()
        if ("confirmed" in statuses) is not rows[row].expected(version, direction).startswith(guard_table.TRANSFERS)
        and row not in excepted
    }
    assert wrong == set()
    # Rows whose library is not at hand are not reached; the others are judged, nearly all.
    assert len(judged) > 0.9 * len(found) > 500

"""The budget of steps: what a file may take of an analysis, counted, and what is said where it takes more."""

from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis.strategies import SearchStrategy, booleans, integers, just, lists, recursive, sampled_from, tuples

from jaxlint.check import check_paths
from jaxlint.interp import budget
from jaxlint.interp.budget import Budget, GaveUp
from jaxlint.settings import Settings
from jaxlint.sites import Heat
from snippets import PRELUDE, check, expected, reported

GOOD = PRELUDE + "def good():\n    for i in range(9):\n        print(step(1.0))  # d2h hot\n"
"""What stands in the file beside, which must be found whatever the other one takes."""


def nested(line: str, count: int) -> str:
    return "".join("    " * (n + 1) + line.format(n) + "\n" for n in range(count))


LONG: Mapping[str, str] = {
    "an end that runs twice, in an end that runs twice": (
        "def f(x):\n"
        + "".join(
            "    " * (n + 1) + "try:\n" + "    " * (n + 2) + "if x:\n" + "    " * (n + 3) + "return x\n"
            + "    " * (n + 1) + "finally:\n"
            for n in range(16)
        )
        + "    " * 17 + "x = step(x)\n"
    ),
    "comprehensions inside one another": "y = " + "[" * 16 + "1" + " for v in range(3)]" * 16 + "\n",
    "loops inside one another, in each of many functions": "".join(
        f"def f{m}(k, a, b, c, d):\n" + nested("for i{} in k:", 6) + "    " * 7 + "a, b, c, d = b, c, d, (a, b)\n"
        for m in range(40)
    ),
    "an object of many fields, walked and stored to by each of its methods": (
        "class A:\n    def __init__(self, o):\n"
        + "".join(f"        self.x{n} = o\n" for n in range(99))
        + "".join(f"    def m{n}(self):\n        self.x{n} = [self]\n        jax.device_get(self)\n" for n in range(99))
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_file_that_takes_too_many_steps_is_given_up_once_and_costs_no_other_its_findings(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "STEPS_PER_FILE", 3_000)
    monkeypatch.setattr(budget, "STEPS_PER_LINE", 0)
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(PRELUDE + text, "utf-8")
    Path("b.py").write_text(GOOD, "utf-8")
    report = check_paths(Settings(min_heat=Heat.COLD), ["."])
    (note,) = report.unanalysed
    assert note.path == "a.py"
    assert "too much to follow in this file" in note.message
    assert {key: heat for key, heat in reported(report).items() if key[0] == "b.py"} == expected(GOOD, "b.py")


def test_who_calls_what_takes_too_many_steps_is_analysed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "STEPS_PER_FILE", 3_000)
    monkeypatch.setattr(budget, "STEPS_PER_LINE", 0)
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(PRELUDE + LONG["an end that runs twice, in an end that runs twice"], "utf-8")
    caller = "import a\n" + GOOD.replace("    for i", "    a.f(step(1.0))\n    for i")
    Path("b.py").write_text(caller, "utf-8")
    report = check_paths(Settings(min_heat=Heat.COLD), ["."])
    assert {note.path for note in report.unanalysed} == {"a.py"}
    assert {key: heat for key, heat in reported(report).items() if key[0] == "b.py"} == expected(caller, "b.py")


def test_what_a_file_may_take_grows_with_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "STEPS_PER_FILE", 0)
    lines = "".join(f"x{n} = step({n})\n" for n in range(50))
    assert check(PRELUDE + lines).unanalysed == ()
    monkeypatch.setattr(budget, "STEPS_PER_LINE", 1)
    assert len(check(PRELUDE + lines).unanalysed) == 1


Run = tuple[str, int, bool, list["Run"]]
"""A file, the steps that a run of its code takes itself, whether it is an entry of its own, and what it calls."""

RUNS: SearchStrategy[Run] = recursive(
    tuples(sampled_from("abc"), integers(0, 9), booleans(), just([])),
    lambda inner: tuples(sampled_from("abc"), integers(0, 9), booleans(), lists(inner, max_size=3)),
    max_leaves=12,
)


def own_steps(run: Run, path: str) -> int:
    return (run[1] if run[0] == path else 0) + sum(own_steps(inner, path) for inner in run[3])


def take(spent: Budget, run: Run, allowed: Mapping[str, int]) -> set[str]:
    """Run it; the files that gave up."""
    path, steps, is_entry, inner = run
    gave_up: set[str] = set()
    left = spent.enter() if is_entry else None
    before = spent.begin(path, allowed[path])
    try:
        for _ in range(steps // 2):
            spent.step()
        for below in inner:
            gave_up |= take(spent, below, allowed)
        for _ in range(steps - steps // 2):
            spent.step()
    except GaveUp:
        assert not spent.entry_is_over
        gave_up.add(path)
    spent.end(before)
    if left is not None:
        spent.leave(left)
    return gave_up


@given(RUNS, sampled_from("abc"))
def test_a_file_is_charged_with_its_own_steps_whoever_calls_it_and_whomever_it_calls(run: Run, path: str) -> None:
    needed = {name: own_steps(run, name) for name in "abc"}
    with mock.patch.multiple(budget, STEPS_PER_FILE=0, STEPS_PER_LINE=1):
        assert take(Budget(), run, needed) == set()
        if needed[path]:
            assert take(Budget(), run, {**needed, path: needed[path] - 1}) == {path}


def test_an_entry_that_is_over_is_told_from_a_file_that_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "STEPS_PER_ENTRY", 10)
    spent = Budget()
    left = spent.enter()
    spent.begin("a", 0)
    for _ in range(10):
        spent.step()
    with pytest.raises(GaveUp):
        spent.walk(budget.CELLS_PER_STEP)
    assert spent.entry_is_over
    spent.leave(left)
    spent.step()

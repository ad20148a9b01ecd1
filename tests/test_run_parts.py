"""The parts of `jaxlint run` by themselves: statements and loops, the sums of a process, the records of several."""

import json
import sys
from pathlib import Path

import pytest

from jaxlint.errors import UserError
from jaxlint.findings import Direction
from jaxlint.ranks import from_json
from jaxlint.records import Records
from jaxlint.report import run_compare, run_json, run_text
from jaxlint.report.run_text import amount, duration
from jaxlint.statements import Statements
from jaxlint.transfers import Run, Steps, Transfer
from jaxlint.witness.plan import Plan, Traced, read_plan, write_plan
from jaxlint.witness.recording import BINS, LAUNCH, PLACES, Recording
from jaxlint.witness.records import Recorder

TEXT = """\
import jax
def f(x):
    for i in range(3):
        x = g(
            x,
        )
        def inner():
            return x
    while (x
           > 3):
        x = [float(y) for y in x]
    return x
"""


def test_statements_and_loops() -> None:
    found = Statements.of_text(TEXT)
    assert [found.lines(line) for line in (1, 2, 5, 6, 8, 11)] == [(1, 1), (2, 2), (4, 6), (4, 6), (8, 8), (11, 11)]
    loops = {line: found.loop(line) for line in range(1, 13)}
    assert loops == {1: None, 2: None, 3: None, 4: 3, 5: 3, 6: 3, 7: 3, 8: None, 9: 9, 10: 9, 11: 11, 12: None}


@pytest.mark.parametrize("text", ["def", "\0", "(" * 5000])
def test_a_file_that_does_not_parse(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    found = Statements.of_file(str(tmp_path / "a.py"))
    assert (found.lines(3), found.loop(3)) == ((3, 3), None)


def recording(folder: Path) -> Recording:
    return Recording(Recorder(str(folder)))


def cross(made: Recording, times: int, *, explicit: bool = False) -> None:
    for _ in range(times):
        made.note("device_to_host", explicit, 4, 0.001, str)


def test_sums_by_site(tmp_path: Path) -> None:
    made = recording(tmp_path)
    cross(made, 10)
    cross(made, 5)
    cross(made, 2, explicit=True)
    sites = [*made.sites.values()]
    assert [(s.count, s.bytes, s.explicit, s.function) for s in sites] == [
        (15, 60, False, "cross"),
        (2, 8, True, "cross"),
    ]
    assert sites[0].path == __file__
    assert sites[0].stack[0].endswith(" cross")
    assert sites[0].seconds == pytest.approx(0.015)


def test_bins_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recording(tmp_path)
    now = [0.0]
    monkeypatch.setattr(sys.modules["jaxlint.witness.recording"], "_clock", lambda: now[0])
    for _ in range(3000):
        now[0] += 0.37
        cross(made, 1)
    (site,) = made.sites.values()
    assert len(site.bins) <= BINS
    assert sum(entry[0] for entry in site.bins.values()) == 3000


def test_code_made_anew_does_not_fill_the_memory(tmp_path: Path) -> None:
    made = recording(tmp_path)
    for _ in range(200):
        names = {"made": made}
        exec(compile("made.note('device_to_host', False, 4, 0.0, str)", "new.py", "exec"), names)
    assert len(made.places) <= PLACES
    assert [site.count for site in made.sites.values()] == [200]


def test_nothing_is_noted_silently(tmp_path: Path) -> None:
    made = recording(tmp_path)
    with made.silently():
        cross(made, 3)
    assert made.sites == {}


def test_a_transfer_of_a_thread_without_python_is_said_to_have_no_line() -> None:
    row = Transfer("", 0, "", Direction.HOST_TO_DEVICE, False, 3, 12, 0.1, "Dummy-1", ())
    run = Run("virtual", ("a.py",), 0, 1.0, (row,), missed=(0,))
    lines = run_text.render(run).splitlines()
    assert lines[-1] == "missed by the static pass (1): (no Python line)"
    assert [line for line in lines if line.endswith("  -        (no Python line)")]
    changed = run_compare.render(run, Run("virtual", ("a.py",), 0, 1.0, ()))
    assert changed.splitlines()[1].endswith("implicit  (no Python line)")


def test_the_time_of_a_fetch_is_the_whole_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = recording(tmp_path)
    now = [0.0]
    monkeypatch.setattr(sys.modules["jaxlint.witness.recording"], "_clock", lambda: now[0])

    def fetch() -> str:
        made.note("device_to_host", False, 4, 0.25, str)
        now[0] += 2.0
        return "value"

    assert made.timed(fetch, lambda: False) == "value"
    (site,) = made.sites.values()
    assert (site.count, site.seconds) == (1, 2.0)


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = Plan({}, {}, "records", "cache", "auto", traced=Traced({"device_to_host": "log"}))
    write_plan(plan, str(tmp_path / "plan.json"))
    assert read_plan(str(tmp_path / "plan.json")) == plan


def told(folder: Path, number: int, sites: list[dict[str, object]]) -> None:
    (folder / f"{number}.jsonl").write_text('{"started": 1}\n{"backend": "sentinel"}\n{"loaded": ["/p/a.py"]}\n{"brok')
    lines = [{"began": 100.0, "width": 0.5}, *sites]
    (folder / f"{number}.sites").write_text("".join(json.dumps(line) + "\n" for line in lines))


def site(line: int, direction: str, count: int, seconds: float, **more: object) -> dict[str, object]:
    return {
        "path": "/p/a.py", "line": line, "function": "f", "direction": direction, "explicit": False, "thread": "main",
        "stack": [f"/p/a.py:{line} f"], "first": 1.0, "last": 10.0, "count": count, "allowed": 0, "bytes": 4 * count,
        "seconds": seconds, "bins": [[2, count, 4 * count, seconds]], **more,
    }  # fmt: skip


def test_processes_are_put_together(tmp_path: Path) -> None:
    told(tmp_path, 1, [site(3, "device_to_host", 10, 1.0), site(4, "host_to_device", 1, 3.0)])
    told(tmp_path, 2, [site(3, "device_to_host", 5, 1.5), site(4, LAUNCH, 10, 0.0)])
    run = Records.read(tmp_path).run(["a.py"], 0, 12.0, 99.0)
    assert [(t.line, t.direction, t.count, t.bytes, t.seconds) for t in run.transfers] == [
        (4, Direction.HOST_TO_DEVICE, 1, 4, 3.0),
        (3, Direction.DEVICE_TO_HOST, 15, 60, 2.5),
    ]
    assert (run.processes, run.backend, run.files) == (2, "sentinel", ("/p/a.py",))


def test_turns_are_what_most_lines_agree_on(tmp_path: Path) -> None:
    source = tmp_path / "a.py"
    source.write_text("def f():\n    for i in range(9):\n        a\n        b\n        c\n        d\n")
    rows = [(3, LAUNCH, 20), (4, "host_to_device", 20), (5, "device_to_host", 40), (6, "device_to_host", 2)]
    sites = [
        site(line, direction, count, 0.1, path=str(source), stack=[f"{source}:{line} f"])
        for line, direction, count in rows
    ]
    told(tmp_path, 1, sites)
    run = Records.read(tmp_path).run(["a.py"], 0, 12.0, 99.0)
    assert {t.line: t.per_turn for t in run.transfers} == {4: 1.0, 5: 2.0, 6: 0.1}
    assert run.steps is not None
    assert (run.steps.line, run.steps.count) == (2, 20)
    assert run.steps.seconds == pytest.approx(9 / 19)


def test_nobody_was_watched(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no Python of the program was watched"):
        Records.read(tmp_path).run(["a.py"], 0, 1.0, 0.0)


def a_run(count: int, step: float, *, function: str = "f", backend: str = "virtual") -> Run:
    row = Transfer("a.py", 3, function, Direction.DEVICE_TO_HOST, False, count, 4 * count, 0.1, "main", ())
    return Run(backend, ("a.py",), 0, 100 * step, (row,), steps=Steps("a.py", 2, 100, step))


def test_a_report_is_read_again() -> None:
    run = a_run(100, 0.002)
    again = from_json(json.loads(run_json.render(run)), "x")
    assert (again.transfers, again.steps) == (run.transfers, run.steps)


@pytest.mark.parametrize(
    "data", [None, [], {}, {"version": 1}, {"version": 1, "transfers": [{}]}, {"version": 1, "transfers": []}]
)
def test_what_is_no_report(data: object) -> None:
    with pytest.raises(UserError, match="x is no report"):
        from_json(data, "x")


def test_compare() -> None:
    text = run_compare.render(a_run(100, 0.002), a_run(10, 0.001))
    row = " ".join(text.splitlines()[1].split())
    assert row == "fewer 100 -> 10 400 B -> 40 B 100.00 ms -> 100.00 ms device to host implicit a.py f"
    assert "a turn of the loop: 2.00 ms -> 1.00 ms, 2.00 times faster (100 and 100 turns)" in text
    same = run_compare.render(a_run(100, 0.002), a_run(100, 0.00201))
    assert same.splitlines()[0] == "as before: 1"
    assert "the same" in same
    other = run_compare.render(a_run(1, 0.002), a_run(1, 0.003, function="g", backend="sentinel"))
    assert [line.split()[0] for line in other.splitlines()[1:3]] == ["gone", "new"]
    assert "1.50 times slower" in other
    assert "times do not compare" in other


@pytest.mark.parametrize(
    ("count", "turns", "shown"),
    [
        (10, 10, "1"),
        (25, 10, "2.5"),
        (1, 3, "0.33"),
        (20, 10_000, "0.002"),
        (7, 100, "0.07"),
        (3, 1, ""),
        (3, None, ""),
    ],
)
def test_how_many_a_turn(count: int, turns: int | None, shown: str) -> None:
    row = Transfer("a.py", 3, "f", Direction.DEVICE_TO_HOST, False, count, 4, 0.1, "main", (), turns=turns)
    assert run_text.per_turn(row) == shown


def test_words_for_people() -> None:
    assert [duration(s) for s in (2.5, 0.0021, 3e-6)] == ["2.50 s", "2.10 ms", "3 us"]
    assert [amount(b) for b in (0, 999, 1000, 2_500_000, 7e15)] == ["0 B", "999 B", "1.0 KB", "2.5 MB", "7000.0 TB"]

"""Programs of several processes: a report for each, and all put together with the lines at which they differ."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confirming import ROOT, environment
from jaxlint import ranks
from jaxlint.errors import UserError
from jaxlint.findings import Direction
from jaxlint.report import run_json, run_text
from jaxlint.transfers import Moment, Run, Steps, Transfer, Unreached

SCHEMA = json.loads((ROOT / "schema" / "jaxlint-run-1.schema.json").read_text("utf-8"))
RANK = """\
import sys
import jax, jax.numpy as jnp, numpy as np

jax.distributed.initialize(f"127.0.0.1:{sys.argv[2]}", 2, int(sys.argv[1]))
step = jax.jit(lambda x, b: x + b)
x = jax.device_put(np.ones(4, np.float32), jax.local_devices()[0])
for turn in range(10):
    x = step(x, x)
    if jax.process_index() == 0:
        print(float(x.sum()))  # line 10
x.tolist()  # line 11
"""
LAUNCH = """\
import subprocess, sys
ranks = [subprocess.Popen([sys.executable, "rank.py", rank, sys.argv[1]]) for rank in "01"]
sys.exit(max(rank.wait() for rank in ranks))
"""
CPU = {"JAX_PLATFORMS": "cpu"}
DIFFERENT = "  rank.py:10 <module>, device to host, implicit: 10 by rank 0; 0 by rank 1"


def free_port() -> str:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return str(place.getsockname()[1])


def start(folder: Path, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "jaxlint", *words],
        cwd=folder, env={**environment(), **CPU}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process: "subprocess.Popen[str]") -> tuple[str, str]:
    said = process.communicate(timeout=120)
    assert process.returncode == 0, said[1][-3000:]
    return said


@pytest.mark.parametrize("launched_by", ["the program", "the user"])
def test_two_processes_of_jax_distributed(tmp_path: Path, launched_by: str) -> None:
    """A launcher under one `jaxlint run`, and ranks that are each started under their own."""
    (tmp_path / "rank.py").write_text(RANK)
    (tmp_path / "launch.py").write_text(LAUNCH)
    port = free_port()
    options = ("run", "-q", "--isolated", "--backend", "sentinel", "--report", "out")
    if launched_by == "the user":
        for process in [start(tmp_path, *options, "rank.py", rank, port) for rank in "01"]:
            finish(process)
    else:
        finish(start(tmp_path, *options, "launch.py", port))
    reports = sorted((tmp_path / "out").glob("*.json"))
    assert [path.name.partition("-")[0] for path in reports] == ["rank0", "rank1"]
    first, second = (json.loads(path.read_text("utf-8")) for path in reports)
    assert (first["process"], second["process"]) == (0, 1)
    fetched = [
        {t["line"]: t["count"] for t in report["transfers"] if t["direction"] == "device_to_host"}
        for report in (first, second)
    ]
    assert fetched == [{10: 10, 11: 1}, {11: 1}]
    said, _ = finish(start(tmp_path, "report", "out", "--report", "all.json"))
    lines = said.splitlines()
    assert lines[lines.index("processes differ (1):") + 1] == DIFFERENT
    assert lines[0].endswith("exit status 0, sentinel, 2 processes")
    merged = json.loads((tmp_path / "all.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(merged)
    jsonschema.Draft202012Validator(SCHEMA).validate(second)
    counts = {t["line"]: t["count"] for t in merged["transfers"] if t["direction"] == "device_to_host"}
    assert counts == {10: 10, 11: 2}
    assert [row["counts"] for row in merged["differing"]] == [{"rank 0": 10, "rank 1": 0}]
    page, _ = finish(start(tmp_path, "report", "out", "--report", "all.html"))
    assert page == said
    assert "rank 1" in (tmp_path / "all.html").read_text("utf-8")


def test_the_workers_of_multiprocessing(tmp_path: Path) -> None:
    """They have no ranks, and are told apart by a number."""
    (tmp_path / "pool.py").write_text(
        "import multiprocessing, sys\n"
        "def work(turns):\n"
        "    import jax.numpy as jnp\n"
        "    for turn in range(turns):\n"
        "        float(jnp.arange(3.0).sum())\n"
        'if __name__ == "__main__":\n'
        '    context = multiprocessing.get_context("spawn")\n'
        "    workers = [context.Process(target=work, args=(n,)) for n in (2, 5)]\n"
        "    [worker.start() for worker in workers]\n"
        "    [worker.join() for worker in workers]\n"
    )
    finish(start(tmp_path, "run", "-q", "--isolated", "--backend", "sentinel", "--report", "out", "pool.py"))
    said, _ = finish(start(tmp_path, "report", "out"))
    row = next(line for line in said.splitlines() if "pool.py:5 work, device to host, implicit: " in line)
    assert {*row.partition("implicit: ")[2].split("; ")} in ({"2 by #0", "5 by #1"}, {"5 by #0", "2 by #1"})


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("empty",), "empty: no report is there: jaxlint run --report empty … writes one for each process"),
        (("nonesuch.json",), "nonesuch.json: cannot be read: No such file or directory"),
        (("a.txt",), "a.txt is no report of `jaxlint run`: write one by --report FILE.json"),
        (
            ("a.txt", "--report", "x.pdf"),
            "--report x.pdf: the suffix chooses the form",
        ),
        (("a.txt", "--report", "folder"), "--report folder: the suffix chooses the form"),
    ],
)
def test_wrong_requests_are_one_line(tmp_path: Path, words: tuple[str, ...], line: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.txt").write_text("no report")
    process = start(tmp_path, "report", *words)
    said, trouble = process.communicate(timeout=60)
    assert (process.returncode, said, len(trouble.splitlines())) == (2, "", 1)
    assert trouble.startswith(f"jaxlint: {line}")


def moments() -> st.SearchStrategy[tuple[Moment, ...]]:
    part = st.builds(Moment, st.integers(0, 239), st.integers(1, 9), st.integers(0, 99), st.floats(0, 1))
    return st.lists(part, min_size=1, max_size=4, unique_by=lambda m: m.number).map(
        lambda parts: tuple(sorted(parts, key=lambda m: m.number))
    )


@st.composite
def a_run(draw: st.DrawFn) -> Run:
    """A record in which the moments of a site add up to its sums."""
    rows = []
    keys = st.tuples(st.integers(1, 3), st.sampled_from([*Direction]), st.booleans())
    for line, direction, explicit in draw(st.lists(keys, max_size=4, unique=True)):
        parts = draw(moments())
        count, size = sum(m.count for m in parts), sum(m.bytes for m in parts)
        seconds = sum(m.seconds for m in parts)
        row = Transfer("a.py", line, "f", direction, explicit, count, size, seconds, "main", (), moments=parts)
        rows.append(replace(row, allowed=count // 2))
    began = draw(st.floats(1e9, 1e9 + 5))
    return Run("sentinel", ("a.py",), 0, 9.0, tuple(rows), width=draw(st.floats(0.001, 1.0)), start=0.5, began=began)


@given(st.lists(a_run(), min_size=1, max_size=4))
def test_nothing_is_lost_in_putting_together(runs: list[Run]) -> None:
    whole = ranks.merged(runs)
    for direction in Direction:
        told = [t for run in runs for t in run.transfers if t.direction is direction]
        kept = [t for t in whole.transfers if t.direction is direction]
        assert sum(t.allowed for t in told) == sum(t.allowed for t in kept)
        for one, other in ((told, kept), (kept, [m for t in kept for m in t.moments])):
            assert sum(t.count for t in one) == sum(t.count for t in other)
            assert sum(t.bytes for t in one) == sum(t.bytes for t in other)
            assert sum(t.seconds for t in one) == pytest.approx(sum(t.seconds for t in other))
    numbers = [m.number for t in whole.transfers for m in t.moments]
    longest = max((m.number for run in runs for t in run.transfers for m in t.moments), default=0)
    assert all(0 <= number <= longest + 1 for number in numbers), "the page has room for so many"
    assert {(d.line, d.direction, d.explicit) for d in whole.differing} == {
        key
        for key in {(t.line, t.direction, t.explicit) for run in runs for t in run.transfers}
        if len({sum(t.count for t in r.transfers if (t.line, t.direction, t.explicit) == key) for r in runs}) > 1
    }


@given(a_run())
def test_a_report_is_read_as_it_was_written(run: Run) -> None:
    again = ranks.from_json(json.loads(run_json.render(run)), "x")
    assert [(t.line, t.count, len(t.moments)) for t in again.transfers] == [
        (t.line, t.count, len(t.moments)) for t in run.transfers
    ]
    # Times are written to the nanosecond: what was read once stays as it is.
    assert run_json.render(again) == run_json.render(run)
    twice = ranks.from_json(json.loads(run_json.render(again)), "x")
    assert run_text.render(twice) == run_text.render(again)


def test_a_line_that_one_process_reached_is_reached() -> None:
    first, second = Unreached("JT101", "a.py", 3), Unreached("JT104", "a.py", 5)
    run = Run("sentinel", ("a.py",), 0, 1.0, (), unreached=(first, second), steps=Steps("a.py", 2, 10, 0.1))
    other = Run("virtual", ("a.py",), 3, 2.0, (), unreached=(second,), process=1, steps=Steps("a.py", 2, 10, 0.5))
    whole = ranks.merged([run, other])
    assert whole.unreached == (second,)
    assert (whole.backend, whole.exit_status, whole.seconds, whole.processes) == ("sentinel, virtual", 3, 2.0, 2)
    assert whole.steps is not None
    assert whole.steps.seconds == 0.5


def test_runs_of_different_times_are_noticed() -> None:
    def at(began: float) -> Run:
        return Run("sentinel", ("a.py",), 0, 10.0, (), began=began)

    assert not ranks.are_apart([at(100.0)])
    assert not ranks.are_apart([at(100.0), at(109.0)])
    assert ranks.are_apart([at(100.0), at(111.0)])


def test_a_folder_of_other_things(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    with pytest.raises(UserError, match=r"package\.json is no report"):
        ranks.read_folder(tmp_path)

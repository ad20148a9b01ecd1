"""`--confirm --run analysis.ipynb`: the notebook in a kernel, as Jupyter runs it, or its cells as one program."""

import ast
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from confirming import environment
from test_confirm_truth import by_devices

HEAD = "import os, jax, jax.numpy as jnp\nx = jnp.ones(3)\n"
TOLD = "_ = open('pid', 'w').write(str(os.getpid()))\n"
LOOP = "for i in range(2):\n    print(float(x[0] + i))\n"
CHECK = ("check", "--isolated", "--min-heat", "cold", "--confirm", "--backend", "sentinel", "--run", "sub/n.ipynb")


def code(source: str, *tags: str) -> dict[str, Any]:
    metadata = {"tags": tags}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}


def write(folder: Path, *cells: str | dict[str, Any]) -> Path:
    (folder / "sub").mkdir()
    path = folder / "sub" / "n.ipynb"
    metadata = {"kernelspec": {"name": "nonesuch", "language": "python", "display_name": "gone"}}
    made = [cell if isinstance(cell, dict) else code(cell) for cell in cells]
    path.write_text(json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}))
    return path


def start(folder: Path, *words: str, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "jaxlint", *CHECK, *words, "sub"],
        cwd=folder, env={**environment(), **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(folder: Path, *words: str, **variables: str) -> tuple[list[dict[str, Any]], str]:
    """The findings, and what was said."""
    out, said = start(folder, "--output-format", "json", *words, **variables).communicate(timeout=200)
    return json.loads(out)["findings"], said


def verdicts(findings: list[dict[str, Any]]) -> list[tuple[int | None, int, str, int]]:
    return [(f["cell"], f["line"], f["verdict"]["status"], f["verdict"]["runs"]) for f in findings]


def is_gone(folder: Path) -> bool:
    """Whether the process that the notebook told of is no more."""
    try:
        os.kill(int((folder / "sub" / "pid").read_text()), 0)
    except ProcessLookupError:
        return True
    return False


def test_what_only_a_kernel_runs_is_judged_by_cell_and_line(tmp_path: Path) -> None:
    cells = (
        f"\n\n%matplotlib inline\n!echo \\\n  continued\n{HEAD}{TOLD}",
        LOOP,
        "%%time\ny = jnp.arange(4.0)\nfloat(y[0])",
        "async def f(v):\n    return v * 2\n%timeit -n 3 -r 2 float(x.sum())\nfloat(x.sum())\nfloat(await f(x)[0])"
        .replace("await f(x)[0]", "(await f(x))[0]"),
        code(f"{LOOP}raise ValueError('meant')", "raises-exception"),
        LOOP,
        f"if x[0] > 1:\n    {LOOP}".replace("\n    print", "\n        print"),
        "float(x[1])",
        "open('shown', 'w').write(repr(Out))\n%run -i tool",
    )  # fmt: skip
    path = write(tmp_path, *cells)
    before = path.read_bytes()
    (tmp_path / "sub" / "tool.py").write_text("import jax.numpy as jnp\nprint(float(jnp.ones(3)[0]))\n")
    findings, said = run(tmp_path)
    assert verdicts(findings) == [
        (2, 2, "confirmed", 2),
        (3, 3, "confirmed", 1),
        (4, 3, "confirmed", 6),
        (4, 4, "confirmed", 1),
        (4, 5, "confirmed", 1),
        (5, 2, "confirmed", 2),
        (6, 2, "confirmed", 2),
        (7, 1, "confirmed", 1),
        (7, 3, "unreached", 0),
        (8, 1, "confirmed", 1),
        (None, 2, "confirmed", 1),
    ], said
    assert "`sub/n.ipynb`: the notebook runs in a kernel, by nbclient " in said
    assert "error" not in said
    assert path.read_bytes() == before
    # What a cell gives is still displayed, in its folder.
    assert (tmp_path / "sub" / "shown").read_text() == "{3: 0.0, 4: 2.0, 8: 1.0}"
    assert is_gone(tmp_path)
    assert sorted(entry.name for entry in (tmp_path / "sub").iterdir()) == ["n.ipynb", "pid", "shown", "tool.py"]


def test_what_a_killed_kernel_ran_was_told_cell_by_cell(tmp_path: Path) -> None:
    # nbclient kills a kernel that does not leave: this one leaves when its program's own last word is spoken.
    late = "import atexit, time\natexit.register(time.sleep, 1000)\n"
    write(tmp_path, f"{late}{HEAD}", LOOP.replace("range(2)", "range(7)"), LOOP.replace("range(2)", "range(13)"))
    findings, said = run(tmp_path)
    assert verdicts(findings) == [(2, 2, "confirmed", 7), (3, 2, "confirmed", 13)], said


def statements(text: str) -> Iterator[tuple[int, str]]:
    """The top-level statements of a program, each with its first line."""
    lines = text.splitlines(keepends=True)
    nodes = ast.parse(text).body
    begins = [min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]) for node in nodes]
    for begin, node in zip(begins, nodes, strict=True):
        yield begin, "".join(lines[begin - 1 : node.end_lineno])


def test_every_marked_line_of_a_page_is_confirmed_in_a_kernel(tmp_path: Path) -> None:
    """The programs of the rules that need one device: each statement a cell, which may raise as the page says."""
    rules = by_devices()[1]
    cells: list[dict[str, Any]] = []
    wanted = []
    for rule in rules:
        for begin, text in statements(rule.bad.text):
            cells.append(code(text, "raises-exception"))
            end = begin + text.rstrip("\n").count("\n")
            wanted += [(len(cells), line - begin + 1, rule.code) for line in rule.marked if begin <= line <= end]
    write(tmp_path, *cells)
    findings, said = run(tmp_path, "--min-confidence", "low", "--select", ",".join(rule.code for rule in rules))
    statuses = {(f["cell"], f["line"], f["code"]): f["verdict"]["status"] for f in findings}
    assert len(wanted) > 40
    assert {place: statuses.get(place) for place in wanted} == dict.fromkeys(wanted, "confirmed"), said


@pytest.mark.skipif(sys.platform == "win32", reason="signals end no process there")
@pytest.mark.parametrize(
    ("end", "says"),
    [
        ("{}['no']", "cell 2 raised KeyError"),
        ("os.kill(os.getpid(), 9)", "the program was killed by SIGKILL"),
    ],
)
def test_a_notebook_that_does_not_come_to_its_end(tmp_path: Path, end: str, says: str) -> None:
    write(tmp_path, f"{HEAD}{TOLD}'displayed'", f"{LOOP}{end}", LOOP)
    findings, said = run(tmp_path)
    assert [(f["cell"], f["verdict"]["status"]) for f in findings] == [(2, "confirmed"), (3, "undecided")], said
    assert findings[1]["verdict"]["message"] == f"not reached before the end: {says}"
    assert f"sub/n.ipynb: error: {says}" in said
    assert "  'displayed'\n" in said
    assert is_gone(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="signals end no process there")
@pytest.mark.parametrize(("seconds", "status"), [("8", 2), ("600", 130)])
def test_no_kernel_is_left_when_the_time_is_up_or_the_user_has_enough(
    tmp_path: Path, seconds: str, status: int
) -> None:
    write(tmp_path, f"import os, time\n{TOLD}time.sleep(600)", HEAD + LOOP)
    process = start(tmp_path, "--timeout", seconds)
    while not (tmp_path / "sub" / "pid").exists():
        time.sleep(0.05)
        assert process.poll() is None
    if seconds == "600":
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=100)
    assert process.returncode == status
    assert is_gone(tmp_path)


def test_where_nbclient_can_not_be_imported_the_cells_are_one_program(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "nbclient.py").write_text("raise ImportError('broken')")
    write(tmp_path, f"%matplotlib inline\n{HEAD}{TOLD}", LOOP, "float(x[1])")
    folders = os.pathsep.join([str(tmp_path / "broken"), environment()["PYTHONPATH"]])
    findings, said = run(tmp_path, PYTHONPATH=folders)
    assert verdicts(findings) == [(2, 2, "confirmed", 2), (3, 1, "confirmed", 1)]
    assert "`sub/n.ipynb`: the cells run as one program without magics: " in said
    assert "has not both nbclient and ipykernel" in said
    # In the folder of the notebook here too.
    assert (tmp_path / "sub" / "pid").exists()


def test_a_fix_is_proven_in_the_kernel(tmp_path: Path) -> None:
    """Times and addresses, which differ from run to run, are in the way of no proof."""
    path = write(tmp_path, HEAD + "object()", f"%time\n{LOOP}")
    _, said = start(tmp_path, "--fix").communicate(timeout=400)
    sources = [cell["source"] for cell in json.loads(path.read_text())["cells"]]
    proven = LOOP.replace("x[0] + i", "jax.device_get(x[0] + i)")
    assert sources == [HEAD + "object()", f"%time\n{proven}"], said
    assert "1 finding fixed in 1 file" in said

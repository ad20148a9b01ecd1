"""Marks at every place of a program, and a program run plain and watched, for tests of the witness."""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxlint import witness
from jaxlint.witness.plan import VARIABLE, Mark, Plan, write_plan

SITE = Path(witness.__file__).resolve().parent / "site"
SECONDS = 120
# What differs from one run to the next: addresses, and the time and the thread in lines that jaxlib logs.
VOLATILE = re.compile(r"0x[0-9a-f]{6,}|^W\d{4} \S+ +\d+|^\S+ \S+(?=: W external)", re.MULTILINE)
OPERATIONS = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Attribute, ast.Subscript)


def places(text: str) -> Iterator[tuple[ast.expr, str]]:
    """Every node that a mark can be at, with the mark's form."""
    tree = ast.parse(text)
    found = list(_places(tree))
    tests = {node for node, form in found if form == "truth"}
    constant = {part for node in ast.walk(tree) if isinstance(node, ast.pattern) for part in ast.walk(node)}
    annotations = [getattr(node, name, None) for node in ast.walk(tree) for name in ("annotation", "returns")]
    read = {part for node in annotations if node is not None for part in ast.walk(node)}
    for node, form in found:
        match node:
            case _ if node in read:
                continue  # an annotation is no operation of the program
            case _ if form == "operation" and node in constant:
                continue  # a pattern calls nothing
            case ast.BoolOp() if form == "truth":
                continue  # its operands are asked, not it
            case ast.Compare(ops=[_, _, *_]) if form == "operation" and node in tests:
                continue  # wrapped as a value it is asked for its truth twice, which only the program's classes see
            case ast.Compare() if form == "operation" and node in tests and sys.version_info < (3, 12):
                continue  # wrapped as a value it fails at the place of its statement
        yield node, form


def _places(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.FormattedValue():
                yield node.value, "field"
            case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
                yield node.test, "truth"
            case ast.comprehension():
                yield from ((test, "truth") for test in node.ifs)
            case ast.BoolOp():
                yield from ((value, "truth") for value in node.values[:-1])
            case ast.MatchValue():
                yield node.value, "truth"
        if isinstance(node, OPERATIONS):
            yield node, "operation"


def marks(text: str, directions: Sequence[str], raises: Sequence[str] = (), start: int = 0) -> tuple[Mark, ...]:
    """Marks at every place of a text, the directions taken in turn."""
    lines = text.split("\n")

    def column(line: int, offset: int) -> int:
        return len(lines[line - 1].encode()[:offset].decode()) + 1

    found: dict[tuple[int, int, int, int, str], Mark] = {}
    for node, form in places(text):
        line, end = node.lineno, node.end_lineno or 0
        place = (line, column(line, node.col_offset), end, column(end, node.end_col_offset or 0))
        number = start + len(found)
        direction = (directions[number % len(directions)],) if directions else ()
        found.setdefault((*place, form), Mark(number, *place, form, direction, False, tuple(raises)))
    return tuple(found.values())


@dataclass(slots=True)
class Run:
    """How a program ended, and what its watched processes told of the marks."""

    status: int
    stdout: str
    stderr: str
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def placed(self) -> set[int]:
        """The marks that were put into the code."""
        return {number for line in self.lines for number in line.get("marked", ())}

    @property
    def hit(self) -> set[int]:
        """The marks that ran and were judged."""
        return {line["number"] for line in self.lines if line.get("runs")}

    @property
    def crossed(self) -> dict[int, dict[str, Any]]:
        """What crossed at each mark, by direction: the last word of each process."""
        return {line["number"]: line["crossings"] for line in self.lines if line.get("crossings")}


def plan(folder: Path, wanted: dict[Path, tuple[Mark, ...]], backend: str = "sentinel") -> Path:
    """Writes a plan for files; its records go to ``records`` in the folder."""
    (folder / "records").mkdir(parents=True)
    files = {os.path.realpath(path): found for path, found in wanted.items()}
    digests = {path: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in files}
    path = folder / "plan.json"
    write_plan(Plan(files, digests, str(folder / "records"), str(folder / "cache"), backend), str(path))
    return path


def run(folder: Path, words: Sequence[str], **environment: str) -> Run:
    """A program by itself: arguments for this interpreter."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX", "XLA_", "PYTHON"))}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**kept, "JAX_PLATFORMS": "cpu", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Run(done.returncode, VOLATILE.sub("", done.stdout), VOLATILE.sub("", done.stderr))


def watched(folder: Path, aside: Path, words: Sequence[str], wanted: dict[Path, tuple[Mark, ...]]) -> Run:
    """The same with the witness; what it needs lies `aside`."""
    made = run(folder, words, **{VARIABLE: str(plan(aside, wanted)), "PYTHONPATH": str(SITE)})
    for path in sorted((aside / "records").glob("*.jsonl")):
        made.lines += [json.loads(line) for line in path.read_text().splitlines()]
    return made

"""Marks in cells: places in jaxlint's Python of a cell are found again in IPython's, whatever magics do to lines."""

import ast
import hashlib

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from jaxlint.source.magics import to_python
from jaxlint.witness.cells import Cells, _Running, _statements, _wanted
from jaxlint.witness.marks import Marks
from jaxlint.witness.plan import Cell, Mark, Plan
from jaxlint.witness.records import Recorder

DOWN = 10


def calls(tree: ast.AST) -> dict[int, ast.Call]:
    """The calls ``f(N)``, by their number."""
    return {
        node.args[0].value: node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.args[:1], list)
        if node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, int)
    }


def cell(text: str) -> Cell:
    return Cell(hashlib.sha256(text.encode()).hexdigest(), DOWN, to_python(text + "\n"))


def marks(text: str) -> tuple[Mark, ...]:
    """A mark at each of a cell's calls, of its number."""
    found = []
    for number, node in calls(ast.parse(to_python(text))).items():
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        line = to_python(text).split("\n")[node.lineno - 1].encode()
        columns = [len(line[:at].decode()) + 1 for at in (node.col_offset, node.end_col_offset)]
        down = DOWN - 1
        place = (node.lineno + down, columns[0], node.end_lineno + down, columns[1])
        found.append(Mark(number, *place, "operation", ("device_to_host",), False, ()))
    return tuple(found)


def found(running: _Running, tree: ast.Module) -> list[int]:
    """The numbers of the calls in a tree that have their own mark there, and no other's."""
    places = running.places(tree)
    own = []
    for number, node in calls(tree).items():
        place = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        if place in places:
            assert [mark.number for mark in places.pop(place)] == [number]
            own.append(number)
    assert not places
    return own


@pytest.mark.parametrize(
    ("text", "whole", "inner"),
    [
        ("x = f(1)\nf(2)", [1, 2], []),
        ("\n  \n\nf(1)", [1], []),
        ("!ls \\\n -l\nf(1)\nif f(2):\n    !ls \\\n  .\n    f(3)\nelse:\n    f(4)", [1, 2, 3, 4], []),
        ("x = !ls\nx?\ng('é', f(1))", [1], []),
        ("%%time\nfor i in f(1):\n    f(2)", [], [("for i in f(1):\n    f(2)", [1, 2])]),
        ("%%capture\n%time f(1)\nf(2)", [], [("%time f(1)\nf(2)\n", [2]), ("f(1)", [1])]),
        ("%time f(1)\nf(2)\n%timeit f(3)", [2], [("f(1)", [1]), ("f(3)", [3])]),
        ("\ntry:\n    f(1)\nexcept f(2):\n    f(3)\nmatch f(4):\n    case 1 if f(5): f(6)", [1, 2, 3, 4, 5, 6], []),
        ("async with f(1) as a:\n    await f(2)\n[f(3) async for _ in f(4)]", [1, 2, 3, 4], []),
        ("def g():\n    %time f(1)\n    return lambda: f(2)", [2], [("f(1)", [1])]),
    ],
)  # fmt: skip
def test_a_mark_is_at_its_own_call(text: str, whole: list[int], inner: list[tuple[str, list[int]]]) -> None:
    manager = TransformerManager()  # type: ignore[no-untyped-call]
    made = cell(text)
    running = _Running("p", "f", _wanted(made, marks(text)), [*_statements(ast.parse(made.python))])
    assert sorted(found(running, ast.parse(manager.transform_cell(text)))) == whole
    for part, numbers in inner * 2:
        assert found(running, ast.parse(manager.transform_cell(part))) == numbers


def test_what_says_the_same_twice_is_told_apart_by_its_order() -> None:
    text = "%time float(a)\nfloat(a)"
    python = to_python(text + "\n")
    places = [(1, 7, 1, 15), (2, 1, 2, 9)]
    assert python.split("\n")[0].strip() == "if 1: float(a)"
    wanted = _wanted(
        Cell("", 1, python), tuple(Mark(n, *place, "operation", (), False, ()) for n, place in enumerate(places))
    )
    running = _Running("p", "f", wanted, [*_statements(ast.parse(python))])
    seen = [
        [mark.number for mark in marks]
        for tree in (ast.parse("get_ipython().run_line_magic('time', 'float(a)')\nfloat(a)"), ast.parse("float(a)"))
        for marks in running.places(tree).values()
    ]
    assert seen == [[1], [0]]


def test_cells_with_the_same_text_are_told_apart_by_their_order(tmp_path: object) -> None:
    texts = ["f(1)", "f(2)", "f(1)", "f(3)"]
    plan = Plan({}, {}, str(tmp_path), "", "sentinel", cells={"p": tuple(map(cell, texts))})
    recorder = Recorder(str(tmp_path))
    cells = Cells(plan, Marks(plan, recorder), recorder)
    seen = []
    for text in ["f(1)", "other", "f(2)", "f(1)", "f(3)", "f(1)", "f(1)", "f(1)"]:
        cells.enter(text, "name")
        seen.append(cells.last)
    assert seen == [0, 0, 1, 2, 3, 0, 2, 0]

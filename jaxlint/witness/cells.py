"""Marks in the cells that an IPython shell runs, as the kernel of a notebook does.

The marks are places in the Python that jaxlint made of a cell. What IPython makes of it is other text: blank lines and
indentation go, a magic over several lines becomes one, and the body of ``%%time`` is a cell of its own. So statements
are matched by what they say, in their order, and never by their lines.
"""

import ast
import copy
import functools
import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from types import ModuleType
from typing import Any

from .marks import Marks
from .plan import NOTEBOOK_VARIABLE, Cell, Mark, Plan
from .records import Recorder
from .rewrite import Place, by_place, instrument


class Cells:
    """The cells of the plan's notebooks in this process. A kernel whose notebook is named runs cells of that alone."""

    def __init__(self, plan: Plan, marks: Marks, recorder: Recorder) -> None:
        self.plan, self.marks, self.recorder = plan, marks, recorder
        named = os.environ.get(NOTEBOOK_VARIABLE)
        self.cells = [(path, cell) for path in plan.cells if named in (None, path) for cell in plan.cells[path]]
        # The cell that ran last, and the one that runs now: its path, marks by place and statements not yet matched.
        self.last = -1
        self.now: _Running | None = None

    def watch(self, module: ModuleType) -> None:
        """IPython's shell has been imported: it tells each cell that it runs, and each tree that it made."""
        shell: Any = module.InteractiveShell
        run, transform = shell.run_cell_async, shell.transform_ast

        @functools.wraps(run)
        def run_cell_async(this: Any, raw_cell: str, store_history: bool = False, *rest: Any, **more: Any) -> Any:
            # Without a history it is a part of a cell: the body of a magic.
            if store_history:
                self.enter(raw_cell, _file_name(this, raw_cell))
            return run(this, raw_cell, store_history, *rest, **more)

        @functools.wraps(transform)
        def transform_ast(this: Any, node: Any) -> Any:
            return self.marked(transform(this, node))

        shell.run_cell_async, shell.transform_ast = run_cell_async, transform_ast

    def enter(self, text: str, file_name: str) -> None:
        """A cell begins: the next one with this text. Its code will be of a file of that name."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        after = self.last + 1
        order = (*range(after, len(self.cells)), *range(min(after, len(self.cells))))
        index = next((index for index in order if self.cells[index][1].digest == digest), None)
        self.now = None
        if index is not None:
            self.last = index
            path, cell = self.cells[index]
            wanted = _wanted(cell, self.plan.files.get(path, ()))
            if wanted:
                self.now = _Running(path, file_name, wanted, [*_statements(ast.parse(cell.python))])

    def marked(self, tree: Any) -> Any:
        """What IPython is to run of a cell, with the marks of that; or as it was, if there are none or it fails."""
        now = self.now
        if now is None or not isinstance(tree, ast.Module):
            return tree
        try:
            new, found = instrument(copy.deepcopy(tree), now.places(tree), displays=True)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(copy.deepcopy(new), now.file_name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except Exception as error:
            self.recorder.tell(file=now.path, trouble=f"a cell could not be marked: {type(error).__name__}")
            return tree
        self.marks.errors.place(now.file_name, found)
        left = {mark.number for marks in now.wanted.values() for mark in marks} - found.keys()
        self.recorder.tell(file=now.path, marked=sorted(found), unmarked=sorted(left))
        return new


class _Running:
    """The cell that runs now."""

    def __init__(
        self, path: str, file_name: str, wanted: dict[Place, list[Mark]], statements: list[tuple[int, ast.stmt]]
    ) -> None:
        self.path, self.file_name, self.wanted = path, file_name, wanted
        # Those that are not in the cell as IPython reads it are in its magics.
        self.statements = statements
        self.whole = True

    def places(self, tree: ast.Module) -> dict[Place, list[Mark]]:
        """The marks by their places in a tree: at first the cell's own, then those of what its magics run."""
        places: dict[Place, list[Mark]] = {}
        theirs = [*_statements(tree)]
        ours = self.statements
        # What a magic runs stands elsewhere than in the cell.
        first, second = (
            [(depth if self.whole else 0, _said(node)) for depth, node in statements] for statements in (ours, theirs)
        )
        matched: set[int] = set()
        for begin, there, size in SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks():
            matched.update(range(begin, begin + size))
            for (_, one), (_, other) in zip(ours[begin : begin + size], theirs[there : there + size], strict=True):
                for mine, its in zip(_own(one), _own(other), strict=True):
                    marks = self.wanted.get(_place(mine))
                    if marks:
                        places[_place(its)] = marks
        if self.whole:
            self.whole = False
            self.statements = [entry for index, entry in enumerate(ours) if index not in matched]
        return places


def _wanted(cell: Cell, marks: tuple[Mark, ...]) -> dict[Place, list[Mark]]:
    """The marks of a cell by their places in its own Python."""
    lines = cell.python.split("\n")
    down = cell.first_line - 1
    inside = (mark for mark in marks if 0 < mark.line - down < len(lines))
    return by_place((replace(mark, line=mark.line - down, end_line=mark.end_line - down) for mark in inside), lines)


def _file_name(shell: Any, text: str) -> str:
    """The file that IPython says the code of a cell is of; kernels name it by the cell's text alone."""
    try:
        name: str = shell.compile.get_code_name(text, text, shell.execution_count)
    except Exception:
        return "<cell>"
    return name


def _statements(node: ast.AST, depth: int = 0) -> Iterator[tuple[int, ast.stmt]]:
    """All statements in their order, each with the number of those around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield depth, child
            yield from _statements(child, depth + 1)
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            yield from _statements(child, depth)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without those of the statements in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt):
            yield from _own(child)


def _said(node: ast.AST) -> tuple[object, ...]:
    """What a statement says, without its place and without the statements in it."""
    return (type(node).__name__, *(_part(value) for _, value in ast.iter_fields(node)))


def _part(value: object) -> object:
    if isinstance(value, list):
        return tuple(_part(item) for item in value if not isinstance(item, ast.stmt))
    # By its spelling: 1, 1.0 and True are equal.
    return _said(value) if isinstance(value, ast.AST) else repr(value)


def _place(node: ast.AST) -> Place:
    known: Mapping[str, int] = vars(node)
    return (
        known.get("lineno", 0),
        known.get("col_offset", 0),
        known.get("end_lineno", 0),
        known.get("end_col_offset", 0),
    )

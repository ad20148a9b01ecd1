"""What the checked program is watched for: marks at places of its files, as the parent process wrote them down."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

# The environment variable that names the file of a plan; every Python that inherits it is watched.
VARIABLE = "JAXLINT_WITNESS"
CACHE_VARIABLE = "JAXLINT_CACHE_DIR"
# Names the program of the one notebook that a kernel runs, where that is known.
NOTEBOOK_VARIABLE = "JAXLINT_NOTEBOOK"
# Beside the classes of jax.errors, what a mark may look for of tracers.
FORMATTED, LEAKED = "formatted", "leaked"


@dataclass(frozen=True, slots=True)
class Mark:
    """A place to watch: lines and columns from 1, columns in characters, end exclusive. `form` says what runs there:
    "operation" (the expression's own last step), "truth" (the truth of the expression), "field" (the formatting of an
    f-string's field). `directions` are those of the transfer guard, each judged by `explicit` (explicit transfers are
    refused as well) or not; `raises` are the names of ``jax.errors`` classes that are looked for instead."""

    number: int
    line: int
    column: int
    end_line: int
    end_column: int
    form: str
    directions: tuple[str, ...]
    explicit: bool
    raises: tuple[str, ...]

    @property
    def place(self) -> tuple[int, int, int, int]:
        """The place alone, as a key."""
        return (self.line, self.column, self.end_line, self.end_column)


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell of a notebook: the SHA-256 of its text, which is how a kernel's cells are known, the first of
    its lines in the program that the notebook's cells make, from 1, and its Python there, whole lines."""

    digest: str
    first_line: int
    python: str


@dataclass(frozen=True, slots=True)
class Traced:
    """Everything that crosses is recorded. `levels` are those of the transfer guard by direction, as far as the run
    sets them."""

    levels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """`files` maps a real path to its marks; `digests` to the SHA-256 of the text that they were made for. `records` is
    the folder that answers go to, `cache` one that outlives the run, `backend` the one asked for. `cells` are those
    of the files that are a notebook's program. With `traced` the run is recorded, and no file has marks."""

    files: Mapping[str, tuple[Mark, ...]]
    digests: Mapping[str, str]
    records: str
    cache: str
    backend: str
    traced: Traced | None = None
    cells: Mapping[str, tuple[Cell, ...]] = field(default_factory=dict)

    def marks(self, path: str) -> tuple[Mark, ...]:
        """The marks of a file, by any path that leads there; none for what is not a file of the plan."""
        return self.files.get(os.path.realpath(path), ())


def cache_folder() -> Path:
    """Where what is known of this machine's backends outlives a run; a place that can not be written where there is no
    home folder."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxlint"
    except RuntimeError:  # no home folder
        return Path(os.devnull) / "jaxlint"


def read_plan(path: str) -> Plan:
    """Reads what `write_plan` wrote. OSError or ValueError where that is not so."""
    data = json.loads(Path(path).read_text("utf-8"))
    files = {name: tuple(_mark(mark) for mark in marks) for name, marks in data["files"].items()}
    traced = Traced(data["levels"]) if data["levels"] is not None else None
    cells = {name: tuple(Cell(*cell) for cell in cells) for name, cells in data["cells"].items()}
    return Plan(files, data["digests"], data["records"], data["cache"], data["backend"], traced, cells)


def _mark(row: Sequence[Any]) -> Mark:
    number, line, column, end_line, end_column, form, directions, explicit, raises = row
    return Mark(number, line, column, end_line, end_column, form, tuple(directions), explicit, tuple(raises))


def write_plan(plan: Plan, path: str) -> None:
    """Writes a plan as JSON."""
    files = {
        name: [[m.number, *m.place, m.form, m.directions, m.explicit, m.raises] for m in marks]
        for name, marks in plan.files.items()
    }
    data = {"files": files, "digests": dict(plan.digests), "records": plan.records, "cache": plan.cache}
    levels = dict(plan.traced.levels) if plan.traced is not None else None
    choices = {"backend": plan.backend, "levels": levels}
    cells = {name: [astuple(cell) for cell in cells] for name, cells in plan.cells.items()}
    Path(path).write_text(json.dumps({**data, **choices, "cells": cells}), "utf-8")

"""How a notebook is run: by nbclient in a kernel where the user's Python has both, else its cells as one program."""

import hashlib
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jaxlint.confirm.marking import Source
from jaxlint.source.notebooks import Notebook
from jaxlint.witness.plan import NOTEBOOK_VARIABLE, Cell

RUNNER = Path(__file__).resolve().parent / "kernel.py"
SECONDS = 60
ASK = "import ipykernel, nbclient; print(nbclient.__version__)"


@dataclass(frozen=True, slots=True)
class Way:
    """How a notebook is run: the words of a command and what they add to the environment, and what to say of it."""

    words: tuple[str, ...]
    environment: Mapping[str, str]
    said: str


def program(notebook: Notebook, folder: Path, path: str) -> Source:
    """The cells of a notebook as one program, in a file of `folder` that can be run."""
    number = len(list(folder.iterdir()))
    location = folder / f"{Path(path).stem}-{number}.py"
    location.write_text(notebook.source.text, "utf-8")
    lines = notebook.source.text.splitlines(keepends=True)
    ends = [*(cell.first_line - 1 for cell in notebook.cells[1:]), len(lines)]
    cells = tuple(
        Cell(
            hashlib.sha256(cell.text.encode("utf-8", "surrogatepass")).hexdigest(),
            cell.first_line,
            "".join(lines[cell.first_line - 1 : end]),
        )
        for cell, end in zip(notebook.cells, ends, strict=True)
    )
    return Source(location, {cell.number: cell.first_line for cell in notebook.cells}, cells)


def way(notebook: Path, program: Path, python: str) -> Way:
    """How the notebook whose cells make `program` is run by a Python."""
    version = _nbclient(python)
    if version is not None:
        environment = {NOTEBOOK_VARIABLE: os.path.realpath(program)}
        # Without the folder of the runner among those that are imported from.
        words = (python, "-P", str(RUNNER), str(notebook))
        return Way(words, environment, f"the notebook runs in a kernel, by nbclient {version}")
    # What a kernel would import from: the folder of the notebook.
    folders = os.pathsep.join(filter(None, (str(notebook.parent), os.environ.get("PYTHONPATH"))))
    said = f"the cells run as one program without magics: {python} has not both nbclient and ipykernel"
    return Way((python, str(program)), {"PYTHONPATH": folders}, said)


def _nbclient(python: str) -> str | None:
    """The version of nbclient in a Python that can import it and ipykernel; else None."""
    try:
        done = subprocess.run(
            [python, "-P", "-c", ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None

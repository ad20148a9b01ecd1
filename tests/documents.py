"""The blocks of the documentation's pages, and how they are tried as a reader would.

A block `python` is a whole program (with a title a file), a block `py` a line out of one; a line that begins with `$`
is a command with its output below.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
ELLIPSIS = "…"
_FENCE = re.compile(r"^([ ]*)(`{3,})([\w-]*)(?:[ ]+title=\"([^\"]+)\")?[ ]*$")
_CALL = re.compile(
    r"(?:^|^\s*- run: |^\s*- |\|.*?)\bjaxlint "
    r"((?:check|run|merge|rule|rules|server|doctor|clean|completion)\b.*)$"
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the file that it is to be, and its first line in the page."""

    language: str
    title: str
    line: int
    text: str


def blocks(text: str) -> Iterator[Block]:
    """The outermost fenced blocks of a page."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opened = _FENCE.match(lines[number])
        number += 1
        if opened is None:
            continue
        indent, fence, language, title = opened.groups()
        begin = number
        while lines[number].strip() != fence:
            number += 1
        body = "".join(line.removeprefix(indent) + "\n" for line in lines[begin:number])
        yield Block(language, title or "", begin + 1, body)
        number += 1


@dataclass(frozen=True, slots=True)
class Command:
    """A command with what the page shows of its output."""

    words: tuple[str, ...]
    shown: tuple[str, ...]


def session(block: Block) -> list[Command]:
    """The commands of a block that shows a terminal: each after `$`, its output below; none where it shows none."""
    found: list[Command] = []
    for line in block.text.splitlines():
        if line.startswith("$ "):
            found.append(Command(tuple(shlex.split(line[2:], comments=True)), ()))
        elif found:
            found[-1] = Command(found[-1].words, (*found[-1].shown, line))
    return found


def run(words: tuple[str, ...], folder: Path) -> list[str]:
    """The lines that a command prints, of both streams."""
    command = [sys.executable, "-m", "jaxlint", *words[1:]] if words[0] == "jaxlint" else [sys.executable, *words[1:]]
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, "JAX_PLATFORMS": "cpu", "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.stdout.splitlines()


def agrees(shown: tuple[str, ...], printed: list[str]) -> bool:
    """Whether what is printed is what is shown, where a line `…` stands for any lines."""
    pattern = "".join(r"(?:.*\n)*?" if line == ELLIPSIS else re.escape(line) + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed)) is not None


def lines_to_parse(block: Block) -> Iterator[list[str]]:
    """The words of each call of jaxlint that a block of shell lines or a workflow holds, up to a pipe."""
    for line in block.text.splitlines():
        called = _CALL.search(line)
        if called:
            yield shlex.split(re.split(r" \| | >> ", called[1])[0], comments=True)

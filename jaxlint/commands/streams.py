"""What a command prints and writes, and its exit statuses.

Standard output carries findings (or what was asked for) and nothing else; every remark goes to standard error.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from jaxlint.errors import UserError
from jaxlint.findings import FileError
from jaxlint.report.context import escape, place

CLEAN, FOUND, WRONG = 0, 1, 2


def wants_color(choice: str, stream: TextIO | None) -> bool:
    """Whether to colour: `choice` is always, never, or auto, which asks the environment and the stream."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def show(text: str, stream: TextIO | None = None) -> None:
    """Prints to standard output. A reader that goes away (``| head``) wants no more: that is no error."""
    stream = stream or sys.stdout
    if stream is None:
        raise UserError("standard output is closed: name a file by --output-file")
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # The interpreter would flush once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise UserError(f"standard output: cannot write the report: {error.strerror}") from None


def write(text: str, path: Path | None) -> None:
    """Prints a report, or writes it as a whole: nobody reads half of one, and an old one stays until then."""
    if path is None:
        show(text)
        return
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device, which is to be written to and not to be replaced.
            scratch = path
        # A new file: never through a link that somebody put there.
        with scratch.open("w" if scratch is path else "x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        if scratch is not path:
            scratch.replace(path.resolve())
    except OSError as error:
        if scratch is not path:
            with suppress(OSError):
                scratch.unlink()
        raise UserError(f"{path}: cannot write the report: {error.strerror}") from None


def say(text: str) -> None:
    """Prints a remark to standard error."""
    show(f"{printable(text)}\n", sys.stderr)


def printable(text: str) -> str:
    """Lines with text from files, arguments and programs, safe for a terminal."""
    return "\n".join(map(escape, text.split("\n")))


def error_line(error: FileError) -> str:
    """The one line that tells of an error in a file."""
    return f"{place(error.path, error.line, error.column, error.cell)}: error: {escape(error.message)}"

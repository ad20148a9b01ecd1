"""The progress of a runtime pass, on one line of a terminal."""

import time
from typing import TextIO

from jaxlint.report.context import escape

SPINNER = "|/-\\"


class Progress:
    """Shows the current command and how many places have an answer; nothing where there is no terminal."""

    def __init__(self, stream: TextIO | None) -> None:
        self.stream = stream
        self.begun = time.monotonic()
        self.turns = 0

    def show(self, command: str, decided: int, total: int) -> None:
        """One more turn."""
        if self.stream is None:
            return
        self.turns += 1
        spent = int(time.monotonic() - self.begun)
        line = f"{SPINNER[self.turns % len(SPINNER)]} {decided}/{total} places decided, {spent} s, running {command}"
        self.stream.write(f"\r\x1b[2K{escape(line)[:118]}")
        self.stream.flush()

    def end(self) -> None:
        """Takes the line away."""
        if self.stream is not None and self.turns:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()

"""The terminal of a program, which may leave it in a state of its own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def restored() -> Iterator[None]:
    """At the end the terminal on standard input, where there is one, is as it was."""
    if sys.platform == "win32":
        yield
        return
    import signal
    import termios

    try:
        before = termios.tcgetattr(0)
    except (OSError, termios.error):
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError, ValueError, termios.error):
            if termios.tcgetattr(0) != before:
                # In the background a change would stop this process.
                handler = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                termios.tcsetattr(0, termios.TCSADRAIN, before)
                signal.signal(signal.SIGTTOU, handler)

"""`check --watch`: the same check again and again, as files change. Knows no finding: it compares what is printed.

On a terminal a report takes the place of the last one; elsewhere it is printed below it, and no escape code with it.
"""

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from jaxlint.check import project_folder
from jaxlint.configuration import OWN_FILE, SHARED_FILE
from jaxlint.errors import UserError
from jaxlint.report.context import escape
from jaxlint.source.files import DEFAULT_EXCLUDE, SUFFIXES

NAMES = (OWN_FILE, SHARED_FILE, ".gitignore")
# Milliseconds until a configuration above the watched folders is looked at.
PATIENCE = 1000
CLEAR = "\x1b[2J\x1b[H"
WRONG, INTERRUPTED = 2, 130


class _Held(io.StringIO):
    """A stream that keeps what is written, and says of itself what the real one would."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream

    def isatty(self) -> bool:
        return self._stream.isatty()


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one check prints, and its exit status."""

    out: str
    err: str
    status: int


def watch(check: Callable[[], int], paths: Sequence[str]) -> int:
    """Checks until Ctrl-C; the exit status of the last check."""
    try:
        import watchfiles
    except ModuleNotFoundError:
        raise UserError("--watch needs watchfiles: install jaxlint with the extra `watch`") from None
    roots = sorted({_watched(Path(path).resolve()) for path in paths})
    for root in roots:
        if not root.exists():
            raise UserError(f"{root}: no such file or folder")
    last: _Outcome | None = None
    # Watching begins with the first turn of the loop: what changed before that is seen by checking again then.
    configurations: dict[Path, int] | None = None
    changes: Iterator[object] = watchfiles.watch(
        *roots,
        watch_filter=lambda _, path: _matters(Path(path), roots),
        rust_timeout=PATIENCE,
        yield_on_timeout=True,
        raise_interrupt=True,
    )
    try:
        while True:
            before, last = last, _outcome(check)
            if last != before:
                _show(last)
            for changed in changes:
                stamps = _stamps(roots)
                if changed or stamps != configurations:
                    configurations = stamps
                    break
    except KeyboardInterrupt:
        return last.status if last is not None else INTERRUPTED


def _outcome(check: Callable[[], int]) -> _Outcome:
    out, err = _Held(sys.stdout), _Held(sys.stderr)
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = check()
        except UserError as error:
            print(f"jaxlint: {escape(str(error))}", file=err)
            status = WRONG
    return _Outcome(out.getvalue(), err.getvalue(), status)


def _show(outcome: _Outcome) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    for stream, text in ((sys.stdout, outcome.out), (sys.stderr, outcome.err)):
        stream.write(text)
        stream.flush()


def _watched(path: Path) -> Path:
    """A folder itself; for a file its project, with all that it may import."""
    return path if path.is_dir() or not path.exists() else project_folder(path)


def _matters(path: Path, roots: Sequence[Path]) -> bool:
    """Whether a change of a file can change the report. What the defaults exclude is not looked at either."""
    if path.suffix not in SUFFIXES and path.name not in NAMES:
        return False
    parts = next((path.relative_to(root).parts for root in roots if path.is_relative_to(root)), path.parts)
    return not any(part in DEFAULT_EXCLUDE for part in parts)


def _stamps(roots: Sequence[Path]) -> dict[Path, int]:
    """When the configurations above the watched folders were changed."""
    above = {folder / name for root in roots for folder in root.parents for name in NAMES}
    found = {}
    for path in above:
        try:
            found[path] = path.stat().st_mtime_ns
        except OSError:
            continue
    return found

"""Where a run keeps its plan and its records: a temporary folder, gone at the end."""

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jaxlint.errors import UserError

# Root's programs can become another user, who then has to reach the records: whoever knows their name may.
PASSABLE, OPEN_TO_ALL = 0o711, 0o777


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A temporary folder for what one call runs. UserError where none can be made."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="jaxlint-", ignore_cleanup_errors=True)
    except OSError as error:
        raise UserError(f"no folder for temporary files: {error.strerror or error}: set TMPDIR to one") from None
    with folder as name:
        if _is_root():
            os.chmod(name, PASSABLE)
        yield Path(name)


def records_folder(temporary: Path) -> Path:
    """A new folder for the records of a run, in a temporary one. Nobody guesses its name."""
    folder = temporary / f"records-{uuid.uuid4().hex}"
    folder.mkdir()
    if _is_root():
        folder.chmod(OPEN_TO_ALL)
    return folder


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0

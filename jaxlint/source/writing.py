"""Files written whole or not at all: beside the file first, then put in its place. Keeps the file's mode; a link stays
a link, and the file that it leads to is written."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from jaxlint.errors import SourceError


def write(location: Path, before: bytes, after: bytes, path: str) -> None:
    """Replaces the bytes of a file, which must still be `before`. Whatever hinders it is a SourceError about `path`."""
    target = os.path.realpath(location)
    scratch = ""
    try:
        if Path(target).read_bytes() != before:
            raise SourceError(path, "not changed: something else has written to it meanwhile")
        if not os.access(target, os.W_OK):
            raise SourceError(path, "not changed: it is not to be written (read-only)")
        descriptor, scratch = tempfile.mkstemp(prefix=".jaxlint-", dir=os.path.dirname(target))
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        shutil.copymode(target, scratch)
        os.replace(scratch, target)
    except OSError as error:
        with suppress(OSError):
            if scratch:
                os.unlink(scratch)
        raise SourceError(path, f"not changed: {error.strerror or error}") from None

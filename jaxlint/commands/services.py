"""The commands beside checks and runs: for machines, caches, shards and editors."""

from collections.abc import Sequence
from pathlib import Path

from jaxlint import cache
from jaxlint import settings as choices
from jaxlint.commands.checks import start
from jaxlint.commands.streams import CLEAN, FOUND, WRONG, say, show, write
from jaxlint.errors import UserError
from jaxlint.report.context import counted
from jaxlint.rulebook import load_rules, names_of
from jaxlint.settings import Flags


def doctor(python: str) -> int:
    """Prints which guard backends can serve, and why the others can not."""
    from jaxlint.confirm.doctor import examine

    settings = choices.resolve(Flags(), names_of(load_rules()), Path.cwd())
    text, serves = examine(python or settings.confirm.python)
    show(text)
    return CLEAN if serves else WRONG


def merge(reports: Sequence[Path], output_file: Path | None) -> int:
    """Puts reports together; the exit status is that of a check of all their files."""
    from jaxlint.report.merge import merge as merged

    texts = {}
    for path in reports:
        try:
            texts[str(path)] = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    whole = merged(texts)
    write(whole.text, output_file)
    return WRONG if whole.errors else FOUND if whole.findings else CLEAN


def server() -> int:
    """Serves an editor."""
    try:
        from jaxlint.server.language import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("jaxlint"):
            raise
        raise UserError(f"the server needs {error.name}: install jaxlint with the extra `lsp`") from None
    serve()
    return CLEAN


def clean(paths: Sequence[str]) -> int:
    """Removes the cache that a check of these paths would use."""
    settings = choices.resolve(Flags(), names_of(load_rules()), start(paths or ["."]))
    base = settings.config.parent if settings.config is not None else Path.cwd()
    say(f"{counted(cache.clean(base / settings.cache_dir), 'report')} removed")
    return CLEAN

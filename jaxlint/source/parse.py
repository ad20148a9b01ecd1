"""Text to syntax tree. Whatever cannot be parsed is one SourceError with its place and reason; the process survives it.

Reads the syntax of Python 3.0 to 3.14, whatever Python runs it. Never runs the code.
"""

import ast
import sys
import warnings
from functools import partial

from jaxlint.errors import SourceError
from jaxlint.source.collector import collector_paused
from jaxlint.source.size import check_depth, check_size
from jaxlint.source.stack import on_a_deep_stack
from jaxlint.source.text import SourceText

_NEWEST_SYNTAX = (3, 14)


def parse(source: SourceText) -> ast.Module:
    """The syntax tree of a file."""
    check_size(source)
    try:
        with collector_paused(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = on_a_deep_stack(partial(_parse, source))
    except SyntaxError as error:
        raise _error(source, error) from None
    except UnicodeEncodeError as error:
        message = f"source code cannot contain the lone surrogate U+{ord(source.text[error.start]):04X}"
        raise SourceError(source.path, message, *source.place(error.start)) from None
    except (RecursionError, MemoryError):
        raise SourceError(source.path, "nested too deeply or too large for this Python, not analysed") from None
    check_depth(source, tree)
    return tree


def _parse(source: SourceText) -> ast.Module:
    try:
        return ast.parse(source.text)
    except SyntaxError as error:
        if sys.version_info >= _NEWEST_SYNTAX:
            raise
        refused = error
    except (UnicodeDecodeError, SystemError) as error:
        # An escape in a string with fields that names no character, which some Pythons fail to tell.
        refused = SyntaxError(str(error))
    from jaxlint.source.newer import parse_newer

    try:
        tree = parse_newer(source)
    except SyntaxError as error:
        # Newer syntax is not to blame for what is wrong behind it.
        raise max(refused, error, key=_place) from None
    if tree is None:
        raise refused
    return tree


def _place(error: SyntaxError) -> tuple[int, int]:
    return error.lineno or 1, max(error.offset or 1, 1)


def _error(source: SourceText, error: SyntaxError) -> SourceError:
    line, column = _place(error)
    reason = " ".join(error.msg.split()).replace("invalid syntax. Perhaps", "perhaps")
    message = "syntax error" if reason == "invalid syntax" else f"syntax error: {reason}"
    return SourceError(source.path, message, min(line, len(source.line_starts)), column)

"""Text to syntax tree. Whatever cannot be parsed is one SourceError with its place and reason; the process survives it.

Reads the syntax of Python 3.0 to 3.14, as the installed libcst does, whatever Python runs it. Never runs the code.
"""

import ast
import re
import sys
import warnings
from functools import partial

import libcst
from libcst._nodes.internal import CodegenState

from jaxlint.errors import SourceError
from jaxlint.source.codegen import generate
from jaxlint.source.collector import collector_paused
from jaxlint.source.nesting import longest_chain
from jaxlint.source.stack import on_a_deep_stack
from jaxlint.source.text import SourceText

_PARSER_ERROR = re.compile(r"parser error: error at (\d+):(\d+): ")
_LAST_TOKEN = re.compile(r"(?:\w+|\S)\s*\Z")
_NEWEST_SYNTAX = (3, 14)
_LONG_CHAIN = 200


def parse(source: SourceText) -> libcst.Module:
    """The syntax tree of a file."""
    long = longest_chain(source) > _LONG_CHAIN
    try:
        with collector_paused():
            return on_a_deep_stack(partial(_parse, source, verify=long))
    except RecursionError:
        raise SourceError(source.path, "nested too deeply for this Python, not analysed") from None
    except MemoryError:
        raise SourceError(source.path, "too large for the memory of this process") from None


def _parse(source: SourceText, verify: bool) -> libcst.Module:
    try:
        module = libcst.parse_module(source.text)
        if verify:
            # The tree may be deeper than this Python bears: better told here than by an analysis.
            generate(module, CodegenState(module.default_indent, module.default_newline))
        return module
    except libcst.ParserSyntaxError as error:
        raise _explained(source, error.message) from None
    except UnicodeEncodeError as error:
        message = f"source code cannot contain the lone surrogate U+{ord(source.text[error.start]):04X}"
        raise SourceError(source.path, message, *source.place(error.start)) from None
    except BaseException as error:
        # A panic of the native parser; its class derives from BaseException and is not exported.
        if type(error).__name__ != "PanicException":
            raise
        reason = " ".join(str(error).split())
        raise SourceError(source.path, f"libcst {libcst.LIBCST_VERSION} cannot read this file: {reason}") from None


def _explained(source: SourceText, message: str) -> SourceError:
    """The error in Python's words where Python sees it too: libcst's are a list of the tokens that it hoped for."""
    python = _python_error(source.text)
    if python is not None and not _reads_on_after(source, python[0]):
        line, column, reason = python
        return SourceError(source.path, _worded(reason), line, column)
    place = _PARSER_ERROR.match(message)
    if place is None:
        return SourceError(source.path, _worded(message.removeprefix("tokenizer error: ")), 1, 1)
    # libcst names the token after the one that it refuses.
    before = source.text[: source.offset(int(place[1]), int(place[2]) + 1)]
    token = _LAST_TOKEN.search(before)
    line, column = source.place(token.start() if token else 0)
    if python is None:
        return SourceError(source.path, f"syntax that libcst {libcst.LIBCST_VERSION} cannot read", line, column)
    return SourceError(source.path, "syntax error", line, column)


def _worded(reason: str) -> str:
    if reason == "invalid syntax":
        return "syntax error"
    reason = reason.replace("invalid syntax. Perhaps", "perhaps")
    return f"syntax error: {reason}"


def _python_error(text: str) -> tuple[int, int, str] | None:
    """Line, column and reason of the error that the running Python sees, or None if it sees none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError as error:
            return error.lineno or 1, max(error.offset or 1, 1), error.msg
        except (ValueError, RecursionError, MemoryError):
            return None
    return None


def _reads_on_after(source: SourceText, line: int) -> bool:
    """True if libcst has no complaint up to this line: then Python complains of syntax newer than itself."""
    if sys.version_info >= _NEWEST_SYNTAX:
        return False
    end = source.line_starts[line] if line < len(source.line_starts) else len(source.text)
    head, last = source.text[:end], source.line(min(line, len(source.line_starts)))
    indent = last[: len(last) - len(last.lstrip())]
    for text in (head, f"{head}\n{indent} pass\n"):
        try:
            libcst.parse_module(text)
        except libcst.ParserSyntaxError:
            continue
        return True
    return False

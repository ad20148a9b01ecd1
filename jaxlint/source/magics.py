"""A notebook cell's text as plain Python: what only IPython reads gives way to Python of as many lines.

Never shifts a line, nor a column of the code that stays. Leaves alone what stands inside strings and brackets.
"""

import re

from jaxlint.source.lexer import Mark, marks
from jaxlint.source.text import LINE_END

# The body of these runs as Python in the notebook's own names; any other cell magic may hold anything.
_BODY_IS_PYTHON = frozenset({"capture", "debug", "ipytest", "prun", "time", "timeit", "wandb"})

_BLANK_START = re.compile(r"(?:[ \t\f]*(?:\r\n?|\n))*")
_CELL_MAGIC = re.compile(r"%%([\w.]*)")
_CONTINUED_LINE = r"(?:[^\\\r\n]|\\(?:\r\n|.))*"
_ESCAPE = re.compile(rf"([ \t\f]*)[%!?]{_CONTINUED_LINE}", re.DOTALL)
_ASSIGNED = re.compile(rf"([ \t\f]*[^\W\d][^=!%#'\"\r\n]*=[ \t]*)[%!](?!=){_CONTINUED_LINE}", re.DOTALL)
_HELP = re.compile(r"([ \t\f]*)[%\w.*\[\]-]+\?\??[ \t;]*(?=[\r\n]|\Z)")
_AUTOMAGIC = re.compile(
    rf"([ \t\f]*)(?:pip3?|conda|mamba|cd)[ \t]+(?!(?:in|is|and|or|if|not|for|else)\b)(?:[\w~]|\.\.){_CONTINUED_LINE}",
    re.DOTALL,
)
_TIMED = re.compile(r"([ \t\f]*)%(?:time|timeit)((?:[ \t]+-\w+(?:[ \t]*\d+)?)*)[ \t]+(?=[^\s%!?#])")
_COMPOUND = re.compile(r"(?:if|for|while|with|try|def|class|async|match)\b|@")


def to_python(text: str) -> str:
    """The Python of a cell: magics, shell commands and questions for help replaced, all else in its place."""
    blank = _BLANK_START.match(text)
    position = blank.end() if blank else 0
    parts = [text[:position]]
    cell_magic = _CELL_MAGIC.match(text, position)
    if cell_magic:
        if cell_magic[1] not in _BODY_IS_PYTHON:
            return "".join(LINE_END.findall(text))
        end = LINE_END.search(text, position)
        position = end.start() if end else len(text)
    while position < len(text):
        taken, python = _statement(text, position)
        parts.append(python)
        position = taken
    return "".join(parts)


def _statement(text: str, start: int) -> tuple[int, str]:
    """The end of the logical line that begins at `start`, and its Python."""
    timed = _TIMED.match(text, start)
    if timed and not _COMPOUND.match(text, timed.end()):
        # As long as the magic, so that the timed statement stays in its columns.
        end = _logical_line_end(text, timed.end())
        return end, (timed[1] + "if 1:").ljust(timed.end() - start) + text[timed.end() : end]
    for pattern, python in ((_ESCAPE, "pass"), (_HELP, "pass"), (_AUTOMAGIC, "pass"), (_ASSIGNED, "None")):
        found = pattern.match(text, start)
        if found:
            return found.end(), found[1] + python + "".join(LINE_END.findall(found.group()))
    end = _logical_line_end(text, start)
    return end, text[start:end]


def _logical_line_end(text: str, start: int) -> int:
    return next((end for kind, _, end in marks(text, start) if kind == Mark.NEWLINE), len(text))

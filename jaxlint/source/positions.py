"""Where the nodes of a syntax tree stand in its text: in characters, and right also where Python's own parser errs."""

import ast
import re
import sys
from typing import NamedTuple

from jaxlint.source.text import SourceText

# Before 3.12, Python tells wrong places of what stands in the fields of a string.
_FIELDS_HAVE_PLACES = sys.version_info >= (3, 12)
_MAY_HAVE_FIELDS = re.compile(r"[fF][rR]?['\"]")


class Place(NamedTuple):
    """A stretch of a file: lines and columns from 1, columns in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


class Places:
    """Where the nodes of a tree stand in its text. Nothing is worked out before it is asked for."""

    def __init__(self, source: SourceText, tree: ast.Module) -> None:
        self._source, self._tree = source, tree
        self._settled = False

    def of(self, node: ast.AST) -> Place:
        """The place of a node. One that has none (an operator, a clause of a comprehension) is a ValueError."""
        if not self._settled:
            settle(self._source, self._tree)
            self._settled = True
        line, end_line = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if line is None or end_line is None:
            raise ValueError(f"a {type(node).__name__} without a place")
        begin, end = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]  # there as the line is
        column = self._source.character_column
        return Place(line, column(line, begin), end_line, column(end_line, end))

    def text(self, node: ast.AST) -> str:
        """The source of a node, as it stands."""
        line, column, end_line, end_column = self.of(node)
        return self._source.text[self._source.offset(line, column) : self._source.offset(end_line, end_column)]


def settle(source: SourceText, tree: ast.Module) -> None:
    """Puts right the places in a tree that Python tells wrong."""
    if not _FIELDS_HAVE_PLACES and _MAY_HAVE_FIELDS.search(source.text):
        from jaxlint.source.grafting import place_fields

        place_fields(source, tree)

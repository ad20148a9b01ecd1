"""How large and how deep a program is: what would take all memory, or be too deep for whoever walks its tree."""

import ast
import re

from jaxlint.errors import SourceError
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.text import SourceText

MAX_TOKENS = 1_000_000  # brackets, commas, strings, lines and operators: one to two GiB of tree
MAX_DEPTH = 2900  # expressions within each other; Python 3.12.1 itself reads no more than 2990

_OPERATOR = re.compile(r"[-+*/%@&|^~.<>=]|\b(?:not|and|or|if|else|for|in|is|await|lambda|yield)\b")
_CODE = re.compile(r"\S")


def check_size(source: SourceText) -> None:
    """A program whose tree would be too large is a SourceError."""
    text = source.text
    if len(text) <= MAX_TOKENS:
        return
    tokens = previous = 0
    for kind, start, end in marks(text):
        tokens += len(_OPERATOR.findall(text, previous, start))
        # A line without code is nothing to a tree.
        tokens += kind not in (Mark.NEWLINE, Mark.COMMENT) or _CODE.search(text, previous, start) is not None
        previous = end
        if tokens > MAX_TOKENS:
            message = f"too large: more than {MAX_TOKENS} operators, brackets and lines, not analysed"
            raise SourceError(source.path, message)


def check_depth(source: SourceText, tree: ast.Module) -> None:
    """A program with an expression that is too deep is a SourceError."""
    starts = (*source.line_starts, len(source.text))
    todo: list[tuple[ast.AST, int, ast.AST]] = [(tree, 0, tree)]
    while todo:
        node, depth, statement = todo.pop()
        if depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} expressions in one another, not analysed"
            raise SourceError(source.path, message, *_begin(source, statement))
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt):
                todo.append((child, depth + 1, statement))
            elif child.end_lineno and starts[child.end_lineno] - starts[child.lineno - 1] > MAX_DEPTH:
                # In a shorter one not even signs would be that deep.
                todo.append((child, 0, child))


def _begin(source: SourceText, node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.stmt)
    return node.lineno, source.character_column(node.lineno, node.col_offset)

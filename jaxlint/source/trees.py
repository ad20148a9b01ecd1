"""Syntax trees that are kept: of a file that is read again, only those top-level statements are parsed that are new.

For a process that checks the same files again and again, as an editor's does. A tree is the one that `parse` gives,
but for the place where white space hangs in it; the code that it generates is the same.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from jaxlint.errors import SourceError
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.parse import parse
from jaxlint.source.text import SourceText

# Characters of source whose trees are kept: a tree takes some fifty times the memory of its text.
CAPACITY = 5_000_000
_BLANK_LINES = re.compile(r"(?:[ \t\f]*(?:\#[^\r\n]*)?(?:\r\n?|\n))*")
_CODE = re.compile(r"[ \t\f]*[^\s#]")
# What belongs to the statement above it, and the end with its comments.
_CONTINUES = re.compile(r"(?:else|elif|except|finally)\b|[\s#]|\Z")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of text and its tree. No node is in two pieces."""

    text: str
    tree: cst.Module


@dataclass(frozen=True, slots=True)
class _Kept:
    text: str
    tree: cst.Module
    pieces: tuple[_Piece, ...]


class Trees:
    """The last tree of each path."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}

    def parse(self, source: SourceText) -> cst.Module:
        """The syntax tree of a file; whatever is wrong with it is a SourceError."""
        known = self._kept.get(source.path)
        if known is None or known.text != source.text:
            # What cannot be parsed leaves the last good tree in its place: the next text will be near to it.
            known = _reparsed(source, known.pieces if known is not None else ())
        self._kept.pop(source.path, None)
        self._kept[source.path] = known
        self._forget_oldest()
        return known.tree

    def _forget_oldest(self) -> None:
        size = sum(len(kept.text) for kept in self._kept.values())
        for path in list(self._kept)[:-1]:
            if size <= CAPACITY:
                return
            size -= len(self._kept.pop(path).text)


def _reparsed(source: SourceText, old: tuple[_Piece, ...]) -> _Kept:
    """The tree put together from pieces, old ones where the text is the same."""
    pool: dict[str, list[_Piece]] = {}
    for piece in old:
        pool.setdefault(piece.text, []).append(piece)
    pieces = []
    try:
        for text in split(source.text):
            same = pool.get(text)
            pieces.append(same.pop() if same else _Piece(text, parse(SourceText(source.path, text))))
    except SourceError:
        # Its place is one in the piece, and only the whole file tells what is wrong.
        pieces = []
    tree = _joined(pieces)
    return _Kept(source.text, tree or parse(source), tuple(pieces))


def split(text: str) -> Iterator[str]:
    """The text in pieces, each with a top-level statement or a few, and the comments above it."""
    begin = start = 0
    for kind, at, end in marks(text):
        if kind != Mark.NEWLINE:
            continue
        line, start = text[start:at], end
        blank = _BLANK_LINES.match(text, end)
        following = blank.end() if blank else end
        if _CODE.match(line) and line[0] != "@" and not _CONTINUES.match(text, following):
            yield text[begin:end]
            begin = end
    if begin < len(text):
        yield text[begin:]


def _joined(pieces: list[_Piece]) -> cst.Module | None:
    """The module of some pieces; None where they do not make one: mixed indentation, mixed line ends, no statement."""
    if not pieces or any(not piece.tree.body for piece in pieces):
        return None
    first, last = pieces[0].tree, pieces[-1].tree
    indents = {piece.tree.default_indent for piece in pieces if _is_indented(piece.tree)}
    newlines = {piece.tree.default_newline for piece in pieces if "\n" in piece.text or "\r" in piece.text}
    if len(indents) > 1 or len(newlines) > 1 or any(piece.tree.footer for piece in pieces[:-1]):
        return None
    body = [*first.body]
    for piece in pieces[1:]:
        head, *rest = piece.tree.body
        if piece.tree.header:
            head = head.with_changes(leading_lines=[*piece.tree.header, *head.leading_lines])
        body += [head, *rest]
    return first.with_changes(
        body=body,
        footer=last.footer,
        default_indent=next(iter(indents), first.default_indent),
        default_newline=next(iter(newlines), first.default_newline),
        has_trailing_newline=last.has_trailing_newline,
    )


def _is_indented(tree: cst.Module) -> bool:
    """Whether a tree may hold a block, from which its indentation is told."""
    return any(isinstance(statement, cst.BaseCompoundStatement) for statement in tree.body)

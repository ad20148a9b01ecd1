"""Where nodes stand: the places of only those nodes that are asked for, from libcst's own code generation.

Costs little more than ``module.code``, and less where the last node stands early. Builds no metadata, copies no tree.
"""

from bisect import bisect_right
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import accumulate
from types import TracebackType
from typing import NamedTuple

import libcst
from libcst._nodes.internal import CodegenState

from jaxlint.source.codegen import generate
from jaxlint.source.stack import on_a_deep_stack
from jaxlint.source.text import LINE_END


class Place(NamedTuple):
    """A stretch of a file: lines and columns from 1, columns in characters, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


def spans_of(module: libcst.Module, nodes: Collection[libcst.CSTNode], text: str = "") -> dict[libcst.CSTNode, Place]:
    """The place of each node, as libcst's PositionProvider has it. A node that is not in the module is a ValueError.

    With `text`, the text that was parsed, places are right also behind the white space that libcst forgets: a form
    feed before code, blanks before the colon of an ``except`` and behind the conversion in an f-string.
    """
    if not nodes:
        return {}
    try:
        recorder = _record(module, nodes)
    except RecursionError:
        recorder = on_a_deep_stack(partial(_record, module, nodes))
    code = "".join(recorder.tokens)
    offsets = [0, *accumulate(map(len, recorder.tokens))]
    starts = [0, *(match.end() for match in LINE_END.finditer(code))]
    forgotten = _Forgotten(code, text) if text and not text.startswith(code) else None
    places: dict[libcst.CSTNode, Place] = {}
    for node in nodes:
        found = recorder.found.get(id(node))
        if found is None:
            raise ValueError(f"a {type(node).__name__} without a place in this module")
        begin, end = offsets[found[0]], offsets[found[1]]
        line, end_line = bisect_right(starts, begin), bisect_right(starts, end)
        column, end_column = begin - starts[line - 1], end - starts[end_line - 1]
        if forgotten is not None:
            column, end_column = forgotten.begin(line, column), forgotten.end(end_line, end_column)
        places[node] = Place(line, column + 1, end_line, end_column + 1)
    return places


class _Forgotten:
    """The white space of a text that is missing from the code generated from it."""

    def __init__(self, code: str, text: str) -> None:
        self.code, self.text = LINE_END.split(code), LINE_END.split(text)

    def begin(self, line: int, column: int) -> int:
        """The column in the text, from 0, of the character at a column of the code."""
        return self.columns(line)[column]

    def end(self, line: int, column: int) -> int:
        """The column in the text behind the character before a column of the code."""
        return self.columns(line)[column - 1] + 1 if column else 0

    def columns(self, line: int) -> Sequence[int]:
        """The columns in the text of the characters of a line of the code, and of its end."""
        code, text = self.code[line - 1], self.text[line - 1] if line <= len(self.text) else ""
        columns: list[int] = []
        column = 0
        for character in code:
            while column < len(text) and text[column] != character and text[column].isspace():
                column += 1
            columns.append(column)
            column += 1
        return [*columns, column]


class _AllFound(Exception):
    """No node is left to look for: the rest of the code need not be generated."""


class _Recorder(CodegenState):
    """Keeps, for each wanted node, the numbers of its first token and of the one after its last."""

    __slots__ = ("begun", "found", "missing", "wanted")

    def __init__(self, module: libcst.Module, nodes: Collection[libcst.CSTNode]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted = {id(node) for node in nodes}
        self.missing = len(self.wanted)
        self.begun: list[int] = []
        self.found: dict[int, tuple[int, int]] = {}

    def before_codegen(self, node: libcst.CSTNode) -> None:
        if id(node) in self.wanted:
            self.begun.append(len(self.tokens))

    def after_codegen(self, node: libcst.CSTNode) -> None:
        if id(node) in self.wanted:
            begin = self.begun.pop()
            # A node that told its syntactic place (without parentheses, without comments) keeps it.
            self.found.setdefault(id(node), (begin, len(self.tokens)))
            self.missing -= 1
            if not self.missing:
                raise _AllFound

    def record_syntactic_position(  # type: ignore[override]  # libcst's is typed as the generator that it happens to be
        self,
        node: libcst.CSTNode,
        *,
        start_node: libcst.CSTNode | None = None,
        end_node: libcst.CSTNode | None = None,
    ) -> AbstractContextManager[None]:
        if id(node) not in self.wanted:
            return _NOT_WANTED
        for neighbour in (start_node, end_node):
            # Its place is part of the node's; it is generated within it, so that it can still be asked for.
            if neighbour is not None and id(neighbour) not in self.wanted:
                self.wanted.add(id(neighbour))
                self.missing += 1
        return _SyntacticPlace(self, node, start_node, end_node)


_NOT_WANTED: AbstractContextManager[None] = nullcontext()


class _SyntacticPlace(AbstractContextManager[None]):
    __slots__ = ("begin", "end_node", "node", "recorder", "start_node")

    def __init__(
        self,
        recorder: _Recorder,
        node: libcst.CSTNode,
        start_node: libcst.CSTNode | None,
        end_node: libcst.CSTNode | None,
    ) -> None:
        self.recorder, self.node, self.start_node, self.end_node = recorder, node, start_node, end_node
        self.begin = len(recorder.tokens)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        found = self.recorder.found
        begin = self.begin if self.start_node is None else found[id(self.start_node)][0]
        end = len(self.recorder.tokens) if self.end_node is None else found[id(self.end_node)][1]
        found[id(self.node)] = (begin, end)


def _record(module: libcst.Module, nodes: Collection[libcst.CSTNode]) -> _Recorder:
    recorder = _Recorder(module, nodes)
    with suppress(_AllFound):
        generate(module, recorder)
    return recorder

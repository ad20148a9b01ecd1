"""Strings with replacement fields as syntax trees, put together from their text as Python 3.12 and later do.

An older Python refuses a field that holds its string's own quote, a backslash, a comment or the end of a line, and of
those fields that it reads it tells wrong places. In a tree for it, each such string is covered by a nought in
parentheses while it parses, and grafted afterwards.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TypeVar

from jaxlint.source.formatted import Field, Part, String, Unreadable, runs
from jaxlint.source.text import LINE_END, SourceText

_DOUBLED = re.compile(r"(?P<name>\\N\{[^}]*\})|(?P<brace>[{}])(?P=brace)")
_COMMENT = re.compile(r"#[^\r\n]*")
_LINE = re.compile(r"[^\r\n]+")
_CONVERSIONS = {"": -1, "s": 115, "r": 114, "a": 97}
# Where a stretch begins and ends, and what is to stand there.
Change = tuple[int, int, str]
Node = TypeVar("Node", bound=ast.expr)


def covered(text: str) -> str:
    """An expression that takes as many bytes as a text, on as many lines."""
    return "(0" + blanked(text)[2:-1] + ")"


def blanked(text: str) -> str:
    """Blanks for the bytes of a text, and the ends of its lines."""
    return _LINE.sub(lambda line: " " * len(line[0].encode("utf-8", "surrogatepass")), text)


def strings_in(source: SourceText, start: int, stop: int, *, bracketed: bool) -> list[list[String]]:
    """The strings with fields in a stretch of code, each with those that stand beside it."""
    try:
        return list(runs(source.text, start, stop, bracketed=bracketed))
    except Unreadable as unreadable:
        raise refusal(source, unreadable.at, "a string with fields that has no end") from None


def changed(text: str, changes: Iterable[Change], start: int = 0, stop: int | None = None) -> str:
    """A stretch of a text with changes made; one within another is none."""
    pieces: list[str] = []
    at = start
    for begin, end, new in sorted(changes):
        if begin >= at:
            pieces += (text[at:begin], new)
            at = end
    return "".join((*pieces, text[at:stop]))


def covers(source: SourceText, strings: Iterable[Sequence[String]]) -> list[Change]:
    """Changes that cover strings with fields."""
    stretches = ((run[0].begin, run[-1].end) for run in strings)
    return [(begin, end, covered(source.text[begin:end])) for begin, end in stretches]


def placed_error(source: SourceText, error: SyntaxError, code: str, down: int = 0) -> SyntaxError:
    """An error in changed code that stands so many lines further down, placed in the text itself."""
    lines = SourceText(source.path, code)
    line = min(error.lineno or 1, len(lines.line_starts))
    error.lineno = max(min(line + down, len(source.line_starts)), 1)
    error.offset = source.character_column(error.lineno, lines.byte_column(line, error.offset or 1))
    return error


def graft(source: SourceText, tree: ast.AST, found: Iterable[Sequence[String]]) -> None:
    """Puts the strings with fields where their covers are."""
    new = {_place(source, run[0].begin + 1): run for run in found}
    todo = [tree] if new else []
    while todo:
        node = todo.pop()
        for name, value in ast.iter_fields(node):
            for index, child in enumerate(value if isinstance(value, list) else (value,)):
                if isinstance(child, ast.Constant) and (child.lineno, child.col_offset) in new:
                    string = _string(source, new[child.lineno, child.col_offset])
                    if isinstance(value, list):
                        value[index] = string
                    else:
                        setattr(node, name, string)
                elif isinstance(child, ast.AST):
                    todo.append(child)


def place_fields(source: SourceText, tree: ast.AST) -> None:
    """Puts right the places of what stands in strings with fields, in a tree that an older Python has made."""
    todo = [tree]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while todo:
            node = todo.pop()
            if isinstance(node, ast.JoinedStr):
                # What only an older Python reads so keeps the places that it has.
                with suppress(Unreadable, SyntaxError):
                    _place_string(source, node)
            else:
                todo += ast.iter_child_nodes(node)


def _place_string(source: SourceText, node: ast.JoinedStr) -> None:
    begin, end = (source.offset(line, source.character_column(line, column)) for line, column in _ends(node))
    for run in runs(source.text, begin, end, bracketed=True):
        _take_places(node, joined(source, run))


def _ends(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _take_places(tree: ast.AST, model: ast.AST) -> None:
    """Places each node as the one at the same place of an equal tree."""
    todo = [(tree, model)]
    while todo:
        node, placed = todo.pop()
        if type(node) is not type(placed):
            continue
        ast.copy_location(node, placed)
        todo += zip(ast.iter_child_nodes(node), ast.iter_child_nodes(placed), strict=False)


def _string(source: SourceText, run: Sequence[String]) -> ast.expr:
    """The tree of strings side by side. A template formats nothing: it is a tuple of what stands in its fields."""
    fields = joined(source, run)
    if not any(_is_template(source, string) for string in run):
        return fields
    parts = [n for f in fields.values if isinstance(f, ast.FormattedValue) for n in (f.value, f.format_spec) if n]
    return put(source, ast.Tuple(parts, ast.Load()), run[0].begin, run[-1].end)


def _is_template(source: SourceText, string: String) -> bool:
    return "t" in source.text[string.begin : string.begin + 2].partition(string.quote)[0].lower()


def joined(source: SourceText, run: Sequence[String]) -> ast.JoinedStr:
    """The tree of strings side by side."""
    parts: list[ast.expr] = []
    for string in run:
        if string.parts is None:
            begin, end = string.begin, string.end
            _add_text(source, parts, _evaluated(source, source.text[begin:end], begin), begin, end)
        else:
            _add_parts(source, parts, string, string.parts)
    return put(source, ast.JoinedStr(parts), run[0].begin, run[-1].end)


def expression(source: SourceText, start: int, stop: int) -> ast.expr:
    """The tree of an expression that stands somewhere in a text, within brackets."""
    strings = strings_in(source, start, stop, bracketed=True)
    line, column = _place(source, start)
    code = " " * column + changed(source.text, covers(source, strings), start, stop)
    tree: ast.Expression
    try:
        # A subscript has no parentheses of its own, as what stands in a field has none.
        tree = ast.parse(f"_[\n{code}\n]", mode="eval")
        bare = True
    except SyntaxError:
        bare = False
        try:
            tree = ast.parse(f"(\n{code}\n)", mode="eval")
        except SyntaxError as error:
            raise placed_error(source, error, f"(\n{code}\n)", line - 2) from None
    ast.increment_lineno(tree, line - 2)
    graft(source, tree, strings)
    if bare:
        assert isinstance(tree.body, ast.Subscript)
        return tree.body.slice
    if tree.body.lineno < line:
        if isinstance(tree.body, ast.Tuple):
            raise refusal(source, start, "an expression is missing")
        # A generator, which takes the parentheses for its own.
        put(source, tree.body, start, stop)
    return tree.body


def _add_parts(source: SourceText, into: list[ast.expr], string: String, parts: Sequence[Part]) -> None:
    for part in parts:
        if isinstance(part, Field):
            if part.shown:
                shown = source.text[part.start : part.stop] + _COMMENT.sub("", source.text[part.stop : part.shown])
                _add_text(source, into, LINE_END.sub("\n", shown), part.start, part.shown)
            into.append(_formatted_value(source, string, part))
        else:
            _add_text(source, into, _decoded(source, string, part.begin, part.end), part.begin, part.end)


def _add_text(source: SourceText, into: list[ast.expr], text: str, begin: int, end: int) -> None:
    last = into[-1] if into else None
    if isinstance(last, ast.Constant) and isinstance(last.value, str):
        last.value += text
        last.end_lineno, last.end_col_offset = _place(source, end)
    elif text:
        into.append(put(source, ast.Constant(text), begin, end))


def _formatted_value(source: SourceText, string: String, field: Field) -> ast.FormattedValue:
    spec = None
    if field.format is not None:
        parts: list[ast.expr] = []
        _add_parts(source, parts, string, field.format.parts)
        spec = put(source, ast.JoinedStr(parts), field.format.begin, field.format.end)
    conversion = _CONVERSIONS[field.conversion or ("r" if field.shown and spec is None else "")]
    value = expression(source, field.start, field.stop)
    return put(source, ast.FormattedValue(value, conversion, spec), field.begin, field.end)


def _decoded(source: SourceText, string: String, begin: int, end: int) -> str:
    """What a stretch of a string stands for."""
    text = source.text[begin:end]
    text = _DOUBLED.sub(r"\g<name>\g<brace>", text) if not string.raw else text.replace("{{", "{").replace("}}", "}")
    # With a blank behind it, neither a backslash nor a quote stands before the end.
    return _evaluated(source, f"{'r' * string.raw}{string.quote}{text} {string.quote}", begin)[:-1]


def _evaluated(source: SourceText, code: str, begin: int) -> str:
    try:
        value = ast.literal_eval(code)
    except (SyntaxError, ValueError) as error:
        raise refusal(source, begin, getattr(error, "msg", str(error))) from None
    if not isinstance(value, str):
        raise refusal(source, begin, "cannot mix bytes and nonbytes literals")
    return value


def put(source: SourceText, node: Node, begin: int, end: int) -> Node:
    """The node, placed where a stretch of the text is."""
    node.lineno, node.col_offset = _place(source, begin)
    node.end_lineno, node.end_col_offset = _place(source, end)
    return node


def _place(source: SourceText, offset: int) -> tuple[int, int]:
    """The line and the column of an offset, as a tree has them."""
    line, column = source.place(offset)
    return line, source.byte_column(line, column)


def refusal(source: SourceText, offset: int, message: str) -> SyntaxError:
    """The error at a place, as Python would tell it."""
    return SyntaxError(message, (source.path, *source.place(offset), None))

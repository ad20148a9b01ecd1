"""Syntax that is newer than the running Python, in words that this one reads. No position moves: what stands for newer
syntax is as long, and on as many lines.

Lists of type parameters are left out, and statements that name a type; exceptions without parentheses are joined by
bars; strings with fields are covered, and grafted on the tree.
"""

import ast
import re
from collections.abc import Iterator

from jaxlint.source.grafting import (
    Change,
    blanked,
    changed,
    covered,
    covers,
    expression,
    graft,
    placed_error,
    refusal,
    strings_in,
)
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.text import SourceText

_B, _NAME = r"[^\S\r\n]", r"[^\W\d]\w*"
_PARAMETERS = rf"\[(?P<inside>{_B}*)\]"
_FUNCTION = re.compile(rf"^{_B}*(?:async{_B}+)?def{_B}+{_NAME}{_B}*(?P<list>{_PARAMETERS}{_B}*\()", re.MULTILINE)
_CLASS = re.compile(rf"^{_B}*class{_B}+{_NAME}{_B}*(?P<list>{_PARAMETERS}(?:{_B}*\()?)", re.MULTILINE)
_TYPE = re.compile(
    rf"(?:^|(?<=[;:])){_B}*(?P<all>type{_B}+{_NAME}{_B}*(?:{_PARAMETERS}{_B}*)?=(?P<value>[^;\r\n]*[^;\s]))",
    re.MULTILINE,
)
_EXCEPT = re.compile(rf"^{_B}*(?P<except>except)\b{_B}*\*?(?P<types>[^:\r\n]*):", re.MULTILINE)
_AS = re.compile(r"\bas\b")
_PARAMETER = re.compile(
    rf"\s*\*{{0,2}}\s*{_NAME}\s*(?::(?P<bound>(?:[^=!<>]|[=!<>]=|[<>])*))?(?:=(?P<default>.*))?", re.DOTALL
)
_JOINED_LINE = re.compile(r"\\(?:\r\n?|\n)")


def parse_newer(source: SourceText) -> ast.Module | None:
    """The tree of a text that this Python refuses; None where no newer syntax is seen in it, and a SyntaxError where
    there is more that it refuses."""
    text = source.text
    strings = strings_in(source, 0, len(text), bracketed=False)
    # For a look at the code beside the strings with fields, with each character at its place.
    stretches = ((run[0].begin, run[-1].end) for run in strings)
    plain = changed(text, ((begin, end, "0" * (end - begin)) for begin, end in stretches))
    flat = _flat(plain, 0, len(plain))
    bars = [*_with_bars(flat)]
    code = changed(text, (*covers(source, strings), *_without_types(source, plain, flat), *bars))
    if code == text:
        return None
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise placed_error(source, error, code) from None
    graft(source, tree, strings)
    if bars:
        _tell_tuples(tree, {source.place(begin)[0] for begin, _, _ in bars})
    return tree


def _without_types(source: SourceText, plain: str, flat: str) -> Iterator[Change]:
    """Changes that leave out type parameters and the statements that name a type."""
    for match in (*_FUNCTION.finditer(flat), *_CLASS.finditer(flat)):
        _check_parameters(source, plain, *match.span("inside"))
        begin, end = match.span("list")
        last = " " if flat[end - 1] == "(" else ")"
        # The parentheses of what is called or inherited begin with the list, so that it may end on another line.
        yield begin, end, "(" + blanked(source.text[begin:end])[1:-1] + last
    for match in _TYPE.finditer(flat):
        if match["inside"] is not None:
            _check_parameters(source, plain, *match.span("inside"))
        expression(source, *match.span("value"))
        begin, end = match.span("all")
        yield begin, end, covered(source.text[begin:end])


def _check_parameters(source: SourceText, plain: str, start: int, stop: int) -> None:
    """Bounds and defaults are expressions."""
    at = start
    for text in _flat(plain, start, stop).rstrip().removesuffix(",").split(","):
        parameter = _PARAMETER.fullmatch(text)
        if parameter is None:
            raise refusal(source, at, "invalid syntax")
        for part in ("bound", "default"):
            if parameter[part] is not None:
                expression(source, at + parameter.start(part), at + parameter.end(part))
        at += len(text) + 1


def _with_bars(flat: str) -> Iterator[Change]:
    """Changes that join the exceptions of a clause by bars where they have commas."""
    for match in _EXCEPT.finditer(flat):
        types = match["types"].rstrip()
        last = len(types) - 1 if types.endswith(",") else len(types)
        if "," in types and not _AS.search(types):
            begin = match.start("types")
            for index, mark in enumerate(types):
                if mark == ",":
                    yield begin + index, begin + index + 1, " " if index == last else "|"


def _tell_tuples(tree: ast.Module, lines: set[int]) -> None:
    """Exceptions that were joined by bars on some lines are tuples."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.ExceptHandler) or node.type is None or node.type.end_lineno not in lines:
            continue
        types, found = node.type, []
        while isinstance(types, ast.BinOp) and isinstance(types.op, ast.BitOr):
            found.append(types.right)
            types = types.left
        if found:
            node.type = ast.copy_location(ast.Tuple([types, *reversed(found)], ast.Load()), node.type)


def _flat(code: str, start: int, stop: int) -> str:
    """A stretch of code, as long as it is, in which what stands in brackets and comments is blank, and so are the ends
    of lines that end no statement; strings are quotes alone."""
    pieces: list[str] = []
    at, depth = start, 0
    for kind, begin, end in marks(code, start):
        if begin >= stop:
            break
        pieces.append(_level(code[at:begin], depth))
        depth -= kind == Mark.CLOSE and depth > 0
        if depth or kind == Mark.COMMENT:
            pieces.append(" " * (end - begin))
        else:
            pieces.append('"' * (end - begin) if kind == Mark.STRING else code[begin:end])
        depth += kind == Mark.OPEN
        at = end
    return "".join((*pieces, _level(code[at:stop], depth)))


def _level(text: str, depth: int) -> str:
    return " " * len(text) if depth else _JOINED_LINE.sub(lambda joined: " " * len(joined[0]), text)

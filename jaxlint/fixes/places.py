"""Operands in the text: where they stand, whether they can be replaced, and the call that is put round them."""

import ast
import re
from dataclasses import dataclass

from jaxlint.findings import Edit, Finding
from jaxlint.fixes.edits import edit
from jaxlint.fixes.syntax import Syntax
from jaxlint.kinds import Kind
from jaxlint.sites import Span

ITEM_ASSIGNMENT = "item assignment"
_READERS = (ast.FormattedValue, ast.If, ast.While, ast.Assert, ast.IfExp, ast.BoolOp, ast.UnaryOp, ast.comprehension)
_WRITTEN_BY_NAME = re.compile(r"[\w.]*\bdevice_(?:get|put)\s*\(")


@dataclass(frozen=True, slots=True)
class Place:
    """An operand in the text: where it begins and ends, and its node."""

    start: int
    end: int
    node: ast.expr


def places(finding: Finding, kind: Kind, syntax: Syntax) -> list[Place] | None:
    """The operands of a kind, in the order of the text; None where one of them can not be replaced."""
    spans: dict[Span, None] = {}
    for operand in finding.operands:
        if operand.kind.may_be(kind):
            span = operand.span or _assigned(finding, syntax)
            if span is None or (span == finding.span and _hands_on(span, syntax)):
                return None
            spans[span] = None
    found = [_place(span, syntax) for span in sorted(spans)]
    kept = [place for place in found if place is not None]
    return kept if kept and len(kept) == len(found) else None


def called(name: str, place: Place, syntax: Syntax) -> Edit:
    """The edit that puts a call of `name` round an operand."""
    text = syntax.source.text
    inner = text[place.start : place.end]
    if not _is_one_argument(inner):
        inner = f"({inner})"
    apart = " " if re.match(r"\w", text[place.start - 1 : place.start]) else ""
    return edit(syntax.source, place.start, place.end, f"{apart}{name}({inner})")


def _hands_on(span: Span, syntax: Syntax) -> bool:
    """Whether what reads an operand is no syntax, and the operand is the call that hands it to a function: ``map(float,
    losses)``."""
    node = syntax.expression(span)
    return isinstance(node, ast.Call) and not isinstance(syntax.parents.get(node), _READERS)


def _place(span: Span, syntax: Syntax) -> Place | None:
    source = syntax.source
    start, end = source.offset(span.line, span.column), source.offset(span.end_line, span.end_column)
    if _WRITTEN_BY_NAME.match(source.text, start, end):
        return None
    node = syntax.expression(span)
    if node is None or isinstance(node, ast.Slice) or _shares_parentheses(node, syntax):
        return None
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return None
    if any(isinstance(around, ast.pattern) for around in syntax.above(node)):
        return None  # a call would be another pattern: one of a class
    return Place(start, end, node)


def _shares_parentheses(node: ast.expr, syntax: Syntax) -> bool:
    """Whether the parentheses of a generator are also those of the call that it is the argument of."""
    call = syntax.parents.get(node)
    return (
        isinstance(node, ast.GeneratorExp)
        and isinstance(call, ast.Call)
        and call.end_col_offset == node.end_col_offset
        and call.end_lineno == node.end_lineno
    )


def _assigned(finding: Finding, syntax: Syntax) -> Span | None:
    """Where the value stands that an assignment to an item stores, if it is the only target."""
    target = syntax.expression(finding.span)
    statement = None if target is None else syntax.parents.get(target)
    if finding.callee != ITEM_ASSIGNMENT or not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return None
    start, end = syntax.offsets(statement.value)
    return Span(finding.span.path, *syntax.source.place(start), *syntax.source.place(end))


def _is_one_argument(text: str) -> bool:
    """Whether a text can stand between the parentheses of a call, and is then its only argument."""
    try:
        call = ast.parse(f"f({text}\n)", mode="eval").body
    except (SyntaxError, ValueError):
        return False
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1:
        return False
    return not isinstance(call.args[0], ast.Starred)

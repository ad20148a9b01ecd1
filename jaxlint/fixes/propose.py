"""From a finding and the remedy that its page names to a fix: the edits, and whether they may be made unasked.

A fix is proposed only where it can be made as the page says; what the syntax forbids stays a finding without one.
"""

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from jaxlint.findings import Finding, Fix
from jaxlint.fixes.edits import edit
from jaxlint.fixes.gather import gathered
from jaxlint.fixes.hoist import hoisted
from jaxlint.fixes.naming import name_of
from jaxlint.fixes.places import Place, called, places
from jaxlint.fixes.syntax import COMPREHENSIONS, Syntax, read
from jaxlint.kinds import Kind
from jaxlint.rulebook import Making, Remedy
from jaxlint.sites import Operand, Operation
from jaxlint.source.text import SourceText

# Where a program speaks of several devices, the one that jax.device_put takes may be another than the call would.
SEVERAL_DEVICES = re.compile(r"\b(?:pmap|pjit|shard_map|\w*[sS]harding\w*|Mesh|make_mesh|default_device|devices)\b")
FETCHED = "make the fetch explicit: `{}`"
PUT = "make the upload explicit: `{}`"
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Starred, ast.Constant, *COMPREHENSIONS)


Maker = Callable[[Finding, Remedy, Syntax], Fix | None]


def with_fixes(
    findings: Sequence[Finding],
    remedy: Callable[[Finding], Remedy | None],
    source: SourceText,
    part: Callable[[int], int] | None = None,
) -> list[Finding]:
    """The findings in one file, those that can be repaired with their fixes. `part` is that of `Syntax`."""
    remedies = [remedy(finding) for finding in findings]
    syntax = None
    if source.exact and any(remedies):
        syntax = read(source) if part is None else read(source, part)
    made = [
        replace(finding, fix=_MAKERS[found.make](finding, found, syntax)) if found and syntax else finding
        for finding, found in zip(findings, remedies, strict=True)
    ]
    if syntax is None:
        return made
    fetched = [found is not None and found.make is Making.FETCH for found in remedies]
    return gathered(made, fetched, syntax)


def _fetch(finding: Finding, remedy: Remedy, syntax: Syntax) -> Fix | None:
    found = places(finding, Kind.DEVICE, syntax)
    if found is None or not all(operand.tree for operand in finding.operands):
        return None
    naming = name_of(syntax, "device_get", found[0].node)
    formats = [_format(place, syntax) for place in found]
    if naming is None or None in formats:
        return None
    safe = remedy.safe and naming.safe and all(formats) and _is_only_tested(finding, found[0], syntax)
    if finding.operation is Operation.FORMAT:
        safe = safe and all(operand.whole for operand in finding.operands)
    edits = (*naming.edits, *(called(naming.text, place, syntax) for place in found))
    return Fix(FETCHED.format(f"{naming.text}(…)"), safe, edits)


def _format(place: Place, syntax: Syntax) -> bool | None:
    """Of an operand that is a field of an f-string: whether a NumPy array looks the same there; None where the field
    shows its own source. True of any other."""
    parent = syntax.parents.get(place.node)
    if not isinstance(parent, ast.FormattedValue):
        return True
    rest = syntax.source.text[place.end :].lstrip(" \t)")
    if rest.startswith("=") and not rest.startswith("=="):
        return None
    # `!s` of a large array is its shape alone, `!r` names the class.
    return not rest.startswith("!") or rest.startswith("!=")


def _is_only_tested(finding: Finding, place: Place, syntax: Syntax) -> bool:
    """Whether an operand that is asked for its truth gives nothing else: ``a and b`` may be `a`, and what a match
    statement compares it may take by its class or under a name too."""
    if finding.operation is not Operation.TRUTH:
        return True
    node: ast.expr = place.node
    parent = syntax.parents.get(node)
    matching = syntax.statement(node)
    if isinstance(matching, ast.Match) and isinstance(parent, ast.Match | ast.Tuple | ast.List):
        return all(map(_only_compares, matching.cases))
    if not isinstance(parent, ast.BoolOp):
        return True
    while isinstance(parent, ast.BoolOp):
        node, parent = parent, syntax.parents.get(parent)
    match parent:
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) | ast.IfExp(test=test):
            return test is node
        case ast.UnaryOp(op=ast.Not()):
            return True
        case ast.comprehension(ifs=ifs):
            return node in ifs
    return False


def _only_compares(case: ast.match_case) -> bool:
    """True of a case that asks for values alone."""
    kinds = (ast.MatchValue, ast.MatchSingleton, ast.MatchOr, ast.MatchSequence)
    return all(
        isinstance(n, kinds) or (isinstance(n, ast.MatchAs) and n.name is None)
        for n in ast.walk(case.pattern)
        if isinstance(n, ast.pattern)
    )


def _put(finding: Finding, remedy: Remedy, syntax: Syntax) -> Fix | None:
    found = _arrays(finding, syntax)
    if found is None:
        return None
    naming = name_of(syntax, "device_put", found[0].node)
    if naming is None:
        return None
    safe = remedy.safe and naming.safe and not SEVERAL_DEVICES.search(syntax.source.text)
    edits = (*naming.edits, *(called(naming.text, place, syntax) for place in found))
    return Fix(PUT.format(f"{naming.text}(…)"), safe, edits)


def _arrays(finding: Finding, syntax: Syntax) -> list[Place] | None:
    """The host operands, where each is one NumPy array: what holds others would be put as a tree."""
    if not all(operand.whole for operand in finding.operands if _is_host(operand)):
        return None
    found = places(finding, Kind.NUMPY, syntax)
    if found is None or any(isinstance(place.node, _DISPLAYS) for place in found):
        return None
    return found


def _is_host(operand: Operand) -> bool:
    return operand.kind.may_be(Kind.NUMPY)


def _hoist(finding: Finding, remedy: Remedy, syntax: Syntax) -> Fix | None:
    found = _arrays(finding, syntax)
    naming = None if found is None else name_of(syntax, "device_put", found[0].node)
    sure = remedy.safe and naming is not None and naming.safe
    if found is not None and naming is not None and sure and not SEVERAL_DEVICES.search(syntax.source.text):
        fix = hoisted(found, naming, syntax)
        if fix is not None:
            return fix
    return _put(finding, remedy, syntax)


def _debug_print(finding: Finding, remedy: Remedy, syntax: Syntax) -> Fix | None:
    """``print("y is", y)`` as ``jax.debug.print("y is {}", y)``."""
    call = syntax.expression(finding.span)
    if not isinstance(call, ast.Call) or call.keywords or not isinstance(syntax.parents.get(call), ast.Expr):
        return None
    parts = [_format_part(argument, syntax) for argument in call.args]
    naming = name_of(syntax, "debug.print", call)
    if naming is None or None in parts or not parts:
        return None
    template = " ".join(part[0] for part in parts if part)
    arguments = [text for part in parts if part for text in part[1]]
    quote = "'" if '"' in template and "'" not in template else '"'
    body = repr(template)[1:-1].replace("\\'", "'")
    if quote == '"' and not repr(template).startswith('"'):
        body = body.replace('"', '\\"')
    text = f"{naming.text}({', '.join([f'{quote}{body}{quote}', *arguments])})"
    place = edit(syntax.source, *syntax.offsets(call), text)
    return Fix(f"print the values: `{naming.text}(…)`", remedy.safe and naming.safe, (*naming.edits, place))


def _format_part(argument: ast.expr, syntax: Syntax) -> tuple[str, list[str]] | None:
    """A printed argument as a part of a format string, and the values for its fields."""
    match argument:
        case ast.Starred() | ast.JoinedStr():
            return None
        case ast.Constant(value=str(text)):
            return text.replace("{", "{{").replace("}", "}}"), []
    return "{}", [syntax.text(argument)]


_MAKERS: dict[Making, Maker] = {
    Making.FETCH: _fetch,
    Making.PUT: _put,
    Making.HOIST: _hoist,
    Making.DEBUG_PRINT: _debug_print,
}

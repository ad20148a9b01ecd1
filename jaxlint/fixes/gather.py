"""Several fetches in statements that follow one another, as one: ``a_host, b_host = jax.device_get((a, b))``.

Only of what is read in any case and keeps its value until then: so one fetch, which waits once, gives what the others
would. That is known of plain names, and within a statement of paths from a name (``metrics["loss"]``, ``state.step``)
if nothing is called there before they are read.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jaxlint.findings import Finding, Fix
from jaxlint.fixes.edits import edit
from jaxlint.fixes.hoist import free_name
from jaxlint.fixes.naming import Naming, name_of
from jaxlint.fixes.places import Place, places
from jaxlint.fixes.syntax import COMPREHENSIONS, Syntax
from jaxlint.kinds import Kind

SUFFIX = "_host"
GATHERED = "fetch {} at once: `{}`"
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)
_CONVERSIONS = {"bool", "float", "format", "int", "round", "str"}
_LATER = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, *COMPREHENSIONS)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A finding whose operands are names or paths, and its statement."""

    index: int
    safe: bool
    statement: ast.stmt
    places: tuple[Place, ...]

    @property
    def operands(self) -> set[str]:
        """The operands, as Python spells them: what is spelled alike is fetched once."""
        return {ast.unparse(place.node) for place in self.places}

    @property
    def names(self) -> set[str]:
        """The names that the operands begin with."""
        return {next(_steps(place.node)) for place in self.places}

    @property
    def is_plain(self) -> bool:
        return all(isinstance(place.node, ast.Name) for place in self.places)


def gathered(findings: Sequence[Finding], fetched: Sequence[bool], syntax: Syntax) -> list[Finding]:
    """The findings, those that one fetch can serve with one fix. `fetched` says whose fix is a fetch."""
    out = list(findings)
    readers = [
        reader
        for index, finding in enumerate(findings)
        if finding.fix is not None and fetched[index] and (reader := _reader(index, finding, finding.fix, syntax))
    ]
    # What reads an operand may be called: it is what is found.
    reading = {id(call) for finding in findings if (call := syntax.expression(finding.span)) is not None}
    readers = [reader for reader in readers if reader.is_plain or _calls_late(reader.statement, reading)]
    for group in _groups(readers, syntax):
        fix = _fix(group, syntax)
        if fix is not None:
            for reader in group:
                out[reader.index] = replace(out[reader.index], fix=fix)
    return out


def _reader(index: int, finding: Finding, fix: Fix, syntax: Syntax) -> _Reader | None:
    found = places(finding, Kind.DEVICE, syntax)
    if found is None or not all(all(_steps(place.node)) for place in found):
        return None
    statement = syntax.statement(found[0].node)
    if not isinstance(statement, _SIMPLE) or any(isinstance(n, _LATER) for n in ast.walk(statement)):
        return None
    if any(isinstance(n, ast.Compare) and len(n.ops) > 1 for n in ast.walk(statement)):
        return None
    return _Reader(index, fix.safe, statement, tuple(found))


def _steps(node: ast.expr) -> Iterator[str]:
    """The words of a path, from its name on; one that is empty where it is none."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Attribute(value=value, attr=word) | ast.Subscript(value=value, slice=ast.Constant(value=str(word))):
            yield from _steps(value)
            yield word
        case ast.Subscript(value=value, slice=ast.Constant(value=int(number))):
            yield from _steps(value)
            yield str(number)
        case _:
            yield ""


def _calls_late(statement: ast.stmt, reading: set[int]) -> bool:
    """Whether all that a statement calls before its last call is what reads the operands, or their like."""
    last = getattr(statement, "value", None)
    return all(
        id(n) in reading or n is last or (isinstance(n.func, ast.Name) and n.func.id in _CONVERSIONS)
        for n in ast.walk(statement)
        if isinstance(n, ast.Call)
    )


def _groups(readers: Sequence[_Reader], syntax: Syntax) -> list[list[_Reader]]:
    """Runs of readers in statements that follow one another in one block, of one safety."""
    shared = {name for n in ast.walk(syntax.tree) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    groups: list[list[_Reader]] = []
    for reader in sorted(readers, key=lambda reader: (reader.statement.lineno, reader.statement.col_offset)):
        if reader.names & shared:
            continue
        last = groups[-1][-1] if groups else None
        joins = last is not None and last.safe == reader.safe and _follows(last, reader, syntax)
        if joins and not reader.names & _bound([r.statement for r in groups[-1]], reader.statement):
            groups[-1].append(reader)
        else:
            groups.append([reader])
    return [group for group in groups if len({operand for reader in group for operand in reader.operands}) > 1]


def _follows(last: _Reader, reader: _Reader, syntax: Syntax) -> bool:
    """Whether the statement is the same, or of plain names the next one in the same block."""
    one, other = last.statement, reader.statement
    if one is other:
        return True
    if not (last.is_plain and reader.is_plain):
        return False
    if syntax.part(one.lineno) != syntax.part(other.lineno):
        return False
    for block in ("body", "orelse", "finalbody"):
        statements = getattr(syntax.parents.get(one), block, None)
        if isinstance(statements, list) and one in statements:
            at = statements.index(one)
            return at + 1 < len(statements) and statements[at + 1] is other
    return False


def _bound(before: Sequence[ast.stmt], last: ast.stmt) -> set[str]:
    """The names that the statements before one bind."""
    return {
        n.id
        for statement in before
        if statement is not last
        for n in ast.walk(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _fix(group: Sequence[_Reader], syntax: Syntax) -> Fix | None:
    source = syntax.source
    first = group[0].statement
    naming: Naming | None = name_of(syntax, "device_get", group[0].places[0].node)
    line = source.line(first.lineno)
    indent = line[: len(line) - len(line.lstrip())]
    if naming is None or source.byte_column(first.lineno, len(indent) + 1) != first.col_offset:
        return None
    hosts: dict[str, str] = {}
    fetched = []
    reads = []
    for place in (place for reader in group for place in reader.places):
        operand = ast.unparse(place.node)
        if operand not in hosts:
            words = "_".join(re.sub(r"\W+", "_", word) for word in _steps(place.node))
            hosts[operand] = free_name(words + SUFFIX, syntax, hosts.values())
            text = source.text[place.start : place.end]
            fetched.append(text if text.isprintable() else operand)
        reads.append(edit(source, place.start, place.end, hosts[operand]))
    start = source.line_starts[first.lineno - 1]
    call = f"{naming.text}(({', '.join(fetched)}))"
    made = edit(source, start, start, f"{indent}{', '.join(hosts.values())} = {call}{source.newline}")
    said = ", ".join(f"`{operand}`" for operand in fetched)
    return Fix(GATHERED.format(said, call), group[0].safe, (*naming.edits, made, *dict.fromkeys(reads)))

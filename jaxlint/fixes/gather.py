"""Several fetches in statements that follow one another, as one: ``a_host, b_host = jax.device_get((a, b))``.

Only of plain names, each of which is read in any case and keeps its value until then: so one fetch, which waits once,
gives what the others would.
"""

import ast
from collections.abc import Sequence
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
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)
_LATER = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, *COMPREHENSIONS)


@dataclass(frozen=True, slots=True)
class _Reader:
    """A finding whose operands are plain names, and its statement."""

    index: int
    safe: bool
    statement: ast.stmt
    places: tuple[Place, ...]

    @property
    def names(self) -> set[str]:
        return {place.node.id for place in self.places if isinstance(place.node, ast.Name)}


def gathered(findings: Sequence[Finding], fetched: Sequence[bool], syntax: Syntax) -> list[Finding]:
    """The findings, those that one fetch can serve with one fix. `fetched` says whose fix is a fetch."""
    out = list(findings)
    readers = [
        reader
        for index, finding in enumerate(findings)
        if finding.fix is not None and fetched[index] and (reader := _reader(index, finding, finding.fix, syntax))
    ]
    for group in _groups(readers, syntax):
        fix = _fix(group, syntax)
        if fix is not None:
            for reader in group:
                out[reader.index] = replace(out[reader.index], fix=fix)
    return out


def _reader(index: int, finding: Finding, fix: Fix, syntax: Syntax) -> _Reader | None:
    found = places(finding, Kind.DEVICE, syntax)
    if found is None or not all(isinstance(place.node, ast.Name) and not place.in_string for place in found):
        return None
    statement = syntax.statement(found[0].node)
    if not isinstance(statement, _SIMPLE) or any(isinstance(n, _LATER) for n in ast.walk(statement)):
        return None
    if any(isinstance(n, ast.Compare) and len(n.ops) > 1 for n in ast.walk(statement)):
        return None
    return _Reader(index, fix.safe, statement, tuple(found))


def _groups(readers: Sequence[_Reader], syntax: Syntax) -> list[list[_Reader]]:
    """Runs of readers in statements that follow one another in one block, of one safety."""
    shared = {name for n in ast.walk(syntax.tree) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    groups: list[list[_Reader]] = []
    for reader in sorted(readers, key=lambda reader: (reader.statement.lineno, reader.statement.col_offset)):
        if reader.names & shared:
            continue
        last = groups[-1][-1] if groups else None
        joins = last is not None and last.safe == reader.safe and _follows(last.statement, reader.statement, syntax)
        if joins and not reader.names & _bound([r.statement for r in groups[-1]], reader.statement):
            groups[-1].append(reader)
        else:
            groups.append([reader])
    return [group for group in groups if len({name for reader in group for name in reader.names}) > 1]


def _follows(one: ast.stmt, other: ast.stmt, syntax: Syntax) -> bool:
    """Whether a statement is another, or the next one in the same block."""
    if one is other:
        return True
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
    for reader in group:
        for place in reader.places:
            assert isinstance(place.node, ast.Name)
            hosts.setdefault(place.node.id, free_name(place.node.id + SUFFIX, syntax))
    start = source.line_starts[first.lineno - 1]
    call = f"{naming.text}(({', '.join(hosts)}))"
    made = edit(source, start, start, f"{indent}{', '.join(hosts.values())} = {call}{source.newline}")
    reads = [
        edit(source, place.start, place.end, hosts[source.text[place.start : place.end]])
        for reader in group
        for place in reader.places
    ]
    said = ", ".join(f"`{name}`" for name in hosts)
    return Fix(GATHERED.format(said, call), group[0].safe, (*naming.edits, made, *dict.fromkeys(reads)))

"""The name by which a fix calls a function of jax at a place, and the import that a file may need for it."""

import ast
import re
import sys
from dataclasses import dataclass

from jaxlint.findings import Edit
from jaxlint.fixes.syntax import Import, Scope, Syntax

JAX = "jax"
# What imports jax by itself: beside its import jax can be imported at no cost and to no other effect.
RELATED = re.compile(
    r"(?:blackjax|brax|chex|clu|diffrax|distrax|dm_pix|e3nn_jax|equinox|evosax|flashbax|flax|gymnax|haiku|haliax|jax"
    r"|jaxopt|jmp|jraph|jumanji|lineax|mctx|numpyro|optax|optimistix|orbax|penzai|pgx|rlax)\b"
)


@dataclass(frozen=True, slots=True)
class Naming:
    """What to write for a function, and the edit that imports it where the file does not yet. Not `safe` where jax may
    be missing, or is not known to be imported by then: the file would ask for what it does not ask for now."""

    text: str
    edits: tuple[Edit, ...] = ()
    safe: bool = True


def name_of(syntax: Syntax, function: str, node: ast.AST) -> Naming | None:
    """How to name `jax.FUNCTION` at a node: by what is imported there already, else by ``import jax``. None where every
    name for it means something else there."""
    scopes = syntax.scopes(node)
    for scope in scopes:
        for found in syntax.imports(scope):
            text = _text(found, function)
            if text and _holds(syntax, found, scope, scopes, node):
                return Naming(text, safe=not _is_optional(syntax, found.statement))
    beside = _imported_by(syntax, scopes, node)
    if beside is None:
        if not _is_free(syntax, scopes) or _optional_imports(syntax):
            return None
        return Naming(f"{JAX}.{function}", (_import_edit(syntax, syntax.statement(node)),), safe=False)
    scope, statement = beside
    if scope is syntax.tree:
        edit = _import_edit(syntax, syntax.statement(node)) if _is_free(syntax, scopes) else None
    else:
        edit = _beside(syntax, statement) if _is_free_in(syntax, scopes, scope) else None
    return None if edit is None else Naming(f"{JAX}.{function}", (edit,))


def _imported_by(
    syntax: Syntax, scopes: list[Scope], node: ast.AST
) -> tuple[Scope, ast.Import | ast.ImportFrom] | None:
    """Where something that imports jax by itself is imported in any case before a node is reached: the outermost."""
    for scope in reversed(scopes):
        if isinstance(scope, ast.ClassDef | ast.Lambda):
            continue
        for statement in scope.body:
            if _line_in(syntax, scope, scopes, node) <= statement.lineno:
                break
            if isinstance(statement, ast.Import | ast.ImportFrom) and any(map(RELATED.match, _modules(statement))):
                return scope, statement
    return None


def _line_in(syntax: Syntax, scope: Scope, scopes: list[Scope], node: ast.AST) -> int:
    """The line of a scope at which a node is reached at the earliest: where the function around it is defined."""
    inner = scopes[: scopes.index(scope)]
    function = inner[-1] if inner else syntax.statement(node)
    return function.lineno if isinstance(function, ast.stmt) else syntax.statement(function).lineno


def _is_optional(syntax: Syntax, statement: ast.stmt) -> bool:
    """Whether the program goes on where an import fails."""
    return any(isinstance(n, ast.Try) and n.handlers for n in syntax.above(statement))


def _optional_imports(syntax: Syntax) -> bool:
    """Whether a file can do without jax: what imports it is imported in a ``try``."""
    imports = (n for n in ast.walk(syntax.tree) if isinstance(n, ast.Import | ast.ImportFrom))
    return any(any(map(RELATED.match, _modules(n))) and _is_optional(syntax, n) for n in imports)


def _text(found: Import, function: str) -> str:
    """The function by way of an import; empty where that does not lead to it."""
    if found.module == JAX and not found.attribute:
        return f"{found.name}.{function}"
    if found.module == JAX and found.attribute == function:
        return found.name
    if found.module == JAX and function.startswith(f"{found.attribute}."):
        return f"{found.name}{function.removeprefix(found.attribute)}"
    return ""


def _holds(syntax: Syntax, found: Import, scope: Scope, scopes: list[Scope], node: ast.AST) -> bool:
    """Whether the name that an import binds in a scope is bound, and to that, at a node."""
    if not found.sure or isinstance(scope, ast.ClassDef):
        return False
    inner = scopes[: scopes.index(scope)]
    if any(found.name in syntax.binds(between) for between in inner):
        return False
    binders = syntax.binds(scope)[found.name]
    if not all(_binds_jax(syntax, binder, found) for binder in binders):
        return False
    # A function may be called as soon as it is defined.
    return (found.statement.end_lineno or 0) < _line_in(syntax, scope, scopes, node)


def _binds_jax(syntax: Syntax, binder: ast.AST, found: Import) -> bool:
    """Whether a binding is of the same thing, or of nothing (``jax = None`` where the import fails)."""
    if isinstance(binder, ast.Import | ast.ImportFrom):
        names = [alias for alias in binder.names if (alias.asname or alias.name.partition(".")[0]) == found.name]
        if isinstance(binder, ast.ImportFrom):
            return binder.module == found.module and all(alias.name == found.attribute for alias in names)
        return all((alias.name if alias.asname else alias.name.partition(".")[0]) == JAX for alias in names)
    parent = syntax.parents.get(binder)
    is_none = isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Constant) and parent.value.value is None
    return is_none and any(isinstance(n, ast.ExceptHandler) for n in syntax.above(binder))


def _is_free(syntax: Syntax, scopes: list[Scope]) -> bool:
    """Whether an import at the top of the file may bind the name ``jax`` for a place with these scopes."""
    if any(JAX in syntax.binds(scope) for scope in scopes if scope is not syntax.tree):
        return False
    module = Import(JAX, JAX, "", syntax.tree.body[0], sure=True)
    return all(_binds_jax(syntax, binder, module) for binder in syntax.binds(syntax.tree).get(JAX, ()))


def _is_free_in(syntax: Syntax, scopes: list[Scope], scope: Scope) -> bool:
    """Whether an import in a function may bind the name ``jax``: nothing binds or uses it there."""
    if any(JAX in syntax.binds(each) for each in scopes[: scopes.index(scope) + 1]):
        return False
    return not any(isinstance(n, ast.Name) and n.id == JAX for n in ast.walk(scope))


def _beside(syntax: Syntax, statement: ast.stmt) -> Edit | None:
    """``import jax`` on a line of its own before an import in a function, which must have its line for itself."""
    line = syntax.source.line(statement.lineno)
    indent = line[: len(line) - len(line.lstrip())]
    if syntax.source.byte_column(statement.lineno, len(indent) + 1) != statement.col_offset:
        return None
    return Edit(statement.lineno, 1, statement.lineno, 1, f"{indent}import {JAX}{syntax.source.newline}")


def _import_edit(syntax: Syntax, user: ast.stmt) -> Edit:
    """The edit that adds ``import jax`` to the imports at the top of the file, as an import sorter would place it."""
    body = syntax.tree.body
    at_top = next((n for n in (user, *syntax.above(user)) if n in body), user)
    before = [n for n in body if n.lineno <= at_top.lineno]
    imports = [n for n in before if isinstance(n, ast.Import | ast.ImportFrom) and not _is_future(n)]
    related = [n for n in imports if any(map(RELATED.match, _modules(n)))]
    line = f"import {JAX}"
    if imports:
        if related:
            first = related[0]
            if isinstance(first, ast.Import) and _modules(first)[0] < JAX:
                return _after(syntax, first, line)
            return _before(syntax, first, line) or _after(syntax, first, line)
        last = imports[-1]
        apart = _modules(last)[0].partition(".")[0] in sys.stdlib_module_names
        return _after(syntax, last, f"{syntax.source.newline}{line}" if apart else line)
    head = [n for n in body if _is_future(n) or (n is body[0] and _is_docstring(n))]
    if head:
        return _after(syntax, head[-1], f"{syntax.source.newline}{line}")
    return _at_top(syntax, f"{line}{syntax.source.newline}")


def _modules(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(statement, ast.ImportFrom):
        return ["." * statement.level + (statement.module or "")]
    return [alias.name for alias in statement.names]


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _before(syntax: Syntax, statement: ast.stmt, text: str) -> Edit | None:
    """A line before a statement, which must be the first on its line."""
    if any(n is not statement and n.lineno <= statement.lineno <= (n.end_lineno or 0) for n in syntax.tree.body):
        return None
    return Edit(statement.lineno, 1, statement.lineno, 1, f"{text}{syntax.source.newline}")


def _after(syntax: Syntax, statement: ast.stmt, text: str) -> Edit:
    """A line after the line on which a statement ends, and after whatever else ends there."""
    end = statement.end_lineno or statement.lineno
    for other in syntax.tree.body:
        if other.lineno <= end < (other.end_lineno or 0):
            end = other.end_lineno or end
    column = len(syntax.source.line(end)) + 1
    return Edit(end, column, end, column, f"{syntax.source.newline}{text}")


def _at_top(syntax: Syntax, text: str) -> Edit:
    """Before the first statement, and below the comments at the head of the file."""
    first = syntax.tree.body[0]
    line = first.lineno
    decorators = getattr(first, "decorator_list", [])
    if decorators:
        line = min(node.lineno for node in decorators)
    return Edit(line, 1, line, 1, f"{text}{syntax.source.newline}")

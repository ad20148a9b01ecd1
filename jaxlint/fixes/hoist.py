"""An upload moved out of its loop, where nothing can tell the difference.

A NumPy array may be written to, and a device array keeps what it was: so the array must be reachable by one name alone,
and that name be given to compiled calls and to nothing else.
"""

import ast
from collections.abc import Iterable, Sequence

from jaxlint.findings import Fix
from jaxlint.fixes.edits import edit
from jaxlint.fixes.naming import Naming
from jaxlint.fixes.places import Place
from jaxlint.fixes.syntax import FUNCTIONS, LOOPS, Scope, Syntax

SUFFIX = "_device"
HOISTED = "put it on the device once, before the loop: `{}`"
# What a name may be asked for without handing the array on.
HARMLESS = {"dtype", "nbytes", "ndim", "shape", "size"}


def hoisted(operands: Sequence[Place], naming: Naming, syntax: Syntax) -> Fix | None:
    """The fix that puts a name's array on the device before the outermost loop in which it does not change."""
    node = operands[0].node
    if len(operands) != 1 or not isinstance(node, ast.Name) or "donate" in syntax.source.text:
        return None
    call = syntax.parents.get(node)
    if not isinstance(call, ast.Call) or node not in call.args or not isinstance(call.func, ast.Name):
        return None
    scope = syntax.scopes(node)[0]
    assignment = _made_once(node.id, scope, syntax)
    if assignment is None or not _is_own_function(call.func.id, syntax):
        return None
    uses = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == node.id and isinstance(n.ctx, ast.Load)]
    if not all(_is_harmless(use, call.func.id, syntax) for use in uses):
        return None
    loop = _loop(node, assignment, scope, syntax)
    # Where the loop is reached the array is made, whatever branch was taken.
    if loop is None or not _is_made_before(assignment, loop, syntax):
        return None
    line = syntax.source.line(loop.lineno)
    indent = line[: len(line) - len(line.lstrip())]
    if len(indent) != loop.col_offset:
        return None
    name = free_name(node.id + SUFFIX, syntax)
    start = syntax.source.line_starts[loop.lineno - 1]
    made = f"{indent}{name} = {naming.text}({node.id}){syntax.source.newline}"
    edits = (*naming.edits, edit(syntax.source, start, start, made), edit(syntax.source, *syntax.offsets(node), name))
    return Fix(HOISTED.format(f"{naming.text}({node.id})"), True, edits)


def free_name(name: str, syntax: Syntax, others: Iterable[str] = ()) -> str:
    """The name, or it with underscores behind it if it occurs already, in the file or among others."""
    taken = {*syntax.names(), *others}
    while name in taken:
        name += "_"
    return name


def _made_once(name: str, scope: Scope, syntax: Syntax) -> ast.Assign | None:
    """The only binding of a name in its scope, where that assigns a new array: the result of a call of NumPy."""
    binders = syntax.binds(scope).get(name, [])
    statement = syntax.parents.get(binders[0]) if len(binders) == 1 else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    value = statement.value
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    numpy = {found.name for found in syntax.imports(syntax.tree) if found.module == "numpy" and not found.attribute}
    if not isinstance(value.func.value, ast.Name) or value.func.value.id not in numpy:
        return None
    return statement if value.func.attr in NEW_ARRAYS else None


# These never give a view of something that has a name.
NEW_ARRAYS = {"arange", "array", "eye", "full", "identity", "linspace", "logspace", "ones", "zeros"}


def _is_made_before(assignment: ast.stmt, loop: ast.stmt, syntax: Syntax) -> bool:
    """Whether a statement stands in a block that the loop is in, too."""
    around = {loop, *syntax.above(loop)}
    blocks = (getattr(syntax.parents[assignment], name, None) for name in ("body", "orelse", "finalbody"))
    block = next(block for block in blocks if isinstance(block, list) and assignment in block)
    return not around.isdisjoint(block)


def _is_own_function(name: str, syntax: Syntax) -> bool:
    """Whether a name is a function of this file, so that all that is said of its compilation stands here."""
    binders = syntax.binds(syntax.tree).get(name, [])
    return len(binders) == 1 and isinstance(binders[0], ast.FunctionDef | ast.Name)


def _is_harmless(use: ast.Name, function: str, syntax: Syntax) -> bool:
    """Whether a use of the name can neither change the array nor hand it on to what could."""
    match syntax.parents.get(use):
        case ast.Call(func=ast.Name(id=called), args=arguments):
            return called == function and use in arguments
        case ast.Attribute(attr=attribute):
            return attribute in HARMLESS
    return False


def _loop(node: ast.expr, assignment: ast.stmt, scope: Scope, syntax: Syntax) -> ast.stmt | None:
    """The outermost loop round a node, in its scope, that does not assign the array itself."""
    found: ast.stmt | None = None
    for around in syntax.above(node):
        if around is scope or isinstance(around, FUNCTIONS):
            break
        if isinstance(around, LOOPS):
            if any(n is assignment for n in ast.walk(around)):
                break
            found = around
    return found

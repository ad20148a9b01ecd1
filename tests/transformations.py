"""Transformations of a program that change nothing of what it does, and what a check finds in it, by statement.

Each statement carries a number in a comment, which the transformations leave where it is: so findings can be compared
however the lines are moved about.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

import libcst as cst
from libcst.metadata import FunctionScope, MetadataWrapper, ScopeProvider

from jaxlint.check import check_bytes
from jaxlint.settings import Settings
from jaxlint.sites import Heat

EVERY_HEAT = Settings(min_heat=Heat.COLD)
_NUMBER = re.compile(r"# @(\d+)")
Findings = Counter[tuple[str, str, str]]
Transformation = Callable[[str], str]


def findings(text: str) -> Findings:
    """The code, the statement's number and the heat of each finding."""
    report = check_bytes(EVERY_HEAT, text.encode(), "page.py")
    assert report.errors == (), report.errors
    numbers = _numbers(text)
    return Counter((f.code, numbers.get(f.span.line, "?"), f.heat.name) for f in report.findings)


def _numbers(text: str) -> Mapping[int, str]:
    """By line, the number of the innermost statement whose own lines these are."""
    lines, numbers = text.split("\n"), dict[int, str]()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None) or getattr(node, "cases", None)
        end = node.end_lineno or node.lineno
        if isinstance(body, list) and body:
            inner = body[0].pattern.lineno if isinstance(body[0], ast.match_case) else _first_line(body[0])
            end = max(node.lineno, inner - 1)
        own = [found[1] for line in lines[node.lineno - 1 : end] if (found := _NUMBER.search(line))]
        for line in range(_first_line(node), end + 1):
            numbers[line] = own[0] if body and own else own[-1] if own else "?"
    return numbers


def _first_line(node: ast.AST) -> int:
    decorators = getattr(node, "decorator_list", ())
    return min(int(getattr(one, "lineno", 1)) for one in (node, *decorators))


class _Numbered(cst.CSTTransformer):
    """Gives each statement its number."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def comment(self, old: cst.TrailingWhitespace) -> cst.TrailingWhitespace:
        self.count += 1
        before = "" if old.comment is None else f"{old.comment.value}  "
        return old.with_changes(whitespace=cst.SimpleWhitespace("  "), comment=cst.Comment(f"{before}# @{self.count}"))

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine:
        return updated_node.with_changes(trailing_whitespace=self.comment(updated_node.trailing_whitespace))

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(header=self.comment(updated_node.header))


def numbered(text: str) -> str:
    """The program with a number in a comment at each statement."""
    return cst.parse_module(text).visit(_Numbered()).code


class _Renamed(cst.CSTTransformer):
    def __init__(self, nodes: set[int], suffix: str) -> None:
        super().__init__()
        self.nodes, self.suffix = nodes, suffix

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        renamed = id(original_node) in self.nodes
        return updated_node.with_changes(value=updated_node.value + self.suffix) if renamed else updated_node


def rename_locals(text: str) -> str:
    """Other names for the local variables of functions, but for parameters, which callers may name."""
    if re.search(r"\b(?:locals|vars|eval|exec)\(|\bnonlocal\b", text):
        return text
    wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
    nodes: set[int] = set()
    for scope in {s for s in wrapper.resolve(ScopeProvider).values() if isinstance(s, FunctionScope)}:
        by_name: dict[str, list[cst.CSTNode]] = {}
        for assignment in scope.assignments:
            node = getattr(assignment, "node", None)
            if assignment.scope is not scope or node is None:
                continue
            by_name.setdefault(assignment.name, []).append(node)
            by_name[assignment.name] += [access.node for access in assignment.references]
        for found in by_name.values():
            if all(isinstance(node, cst.Name) for node in found):
                nodes.update(map(id, found))
    return wrapper.module.visit(_Renamed(nodes, "_q")).code


class _Reimported(cst.CSTTransformer):
    """Names of modules in place of the short ones."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self.names = names

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        full = self.names.get(updated_node.value)
        return updated_node if full is None else cst.parse_expression(full)


def _once_bound(text: str, names: Sequence[str]) -> list[str]:
    """Those names that stand nowhere as a target, a parameter or a keyword."""
    tree = ast.parse(text)
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    bound |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    bound |= {name for n in ast.walk(tree) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
    return [name for name in names if name not in bound]


def import_from(text: str) -> str:
    """``import jax.numpy as jnp`` as ``from jax import numpy as jnp``, wherever it stands."""
    return re.sub(r"^(\s*)import (\w+)\.(\w+) as (\w+)\b", r"\1from \2 import \3 as \4", text, flags=re.MULTILINE)


def import_whole(text: str) -> str:
    """``import jax.numpy as jnp`` as ``import jax.numpy``, with the whole name at each use."""
    found = {m[2]: m[1] for m in re.finditer(r"^import ([\w.]+) as (\w+)\b", text, re.MULTILINE)}
    roots = {full.partition(".")[0] for full in found.values()}
    names = {n: found[n] for n in _once_bound(text, list(found)) if roots == set(_once_bound(text, list(roots)))}
    text = re.sub(
        r"^import ([\w.]+) as (\w+)\b", lambda m: f"import {m[1]}" if m[2] in names else m[0], text, flags=re.MULTILINE
    )
    return cst.parse_module(text).visit(_Reimported(names)).code


def import_renamed(text: str) -> str:
    """``import jax`` under another name, and ``jnp``, ``np`` too."""
    if re.search(r"^import jax\.\w+\s*(?:#.*)?$|^\s+import|^\s+from \w+ import", text, re.MULTILINE):
        return text
    names = {name: f"{name}_q" for name in _once_bound(text, ["jax", "jnp", "np"]) if f'"{name}' not in text}
    for name in names:
        text = re.sub(rf"^import ([\w.]+) as {name}\b", rf"import \1 as {name}_q", text, flags=re.MULTILINE)
        text = re.sub(rf"^import {name}(?=\s|$)(?! as)", f"import {name} as {name}_q", text, flags=re.MULTILINE)
    bound = {n: to for n, to in names.items() if re.search(rf"^import .*\bas {to}\b", text, re.MULTILINE)}
    return cst.parse_module(text).visit(_Reimported(bound)).code


class _Typed(cst.CSTTransformer):
    ANY = cst.Annotation(cst.parse_expression("typing.Any"))

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        parameters = updated_node.params
        typed = [
            p if p.annotation or p.name.value in ("self", "cls") else p.with_changes(annotation=self.ANY)
            for p in parameters.params
        ]
        only = [p if p.annotation else p.with_changes(annotation=self.ANY) for p in parameters.kwonly_params]
        returns = updated_node.returns or self.ANY
        params = parameters.with_changes(params=typed, kwonly_params=only)
        return updated_node.with_changes(params=params, returns=returns)


def add_types(text: str) -> str:
    """``typing.Any`` for what has no type."""
    return _with_import(cst.parse_module(text).visit(_Typed()).code, "import typing\n")


def _with_import(text: str, line: str) -> str:
    """A line in front of the first import that is not of the future."""
    at = re.search(r"^(?:import|from (?!__future__))", text, re.MULTILINE)
    return text[: at.start()] + line + text[at.start() :] if at else text


_STAYS = (cst.FunctionDef, cst.ClassDef)


def wrap_in_function(text: str) -> str:
    """The statements behind the last definition or import, in a function that is called once. Not where the
    definitions may know a variable of theirs: it would have to be declared global."""
    module = cst.parse_module(text)
    moved = list(takewhile(lambda node: not isinstance(node, _STAYS) and not _imports(node), reversed(module.body)))
    body = [*reversed(moved)]
    if not body or any(isinstance(node, cst.SimpleStatementLine) and _is_docstring(node) for node in body):
        return text
    made = cst.Module(body, default_indent=module.default_indent)
    tree = ast.parse(made.code)
    bound = sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)})
    if any(isinstance(n, ast.Await | ast.Yield | ast.Global | ast.Delete | ast.Starred) for n in ast.walk(tree)):
        return text
    head = module.with_changes(body=module.body[: len(module.body) - len(body)], footer=[]).code
    if any(re.search(rf"\b{name}\b", head) for name in bound):
        return text
    inner = "".join(f"    {line}" if line.strip() else line for line in made.code.splitlines(keepends=True))
    if '"""' in inner or "'''" in inner or "\\\n" in inner:
        return text
    return f"{head}\n\ndef wrapped_q():\n{inner}\n\nwrapped_q()\n"


def _imports(node: cst.BaseStatement | cst.BaseSmallStatement) -> bool:
    parts = node.body if isinstance(node, cst.SimpleStatementLine) else ()
    return any(isinstance(part, cst.Import | cst.ImportFrom) for part in parts)


def _is_docstring(node: cst.SimpleStatementLine) -> bool:
    (part, *_) = node.body
    return isinstance(part, cst.Expr) and isinstance(part.value, cst.SimpleString | cst.ConcatenatedString)


class _Reordered(cst.CSTTransformer):
    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return updated_node.with_changes(body=_swapped(updated_node.body))

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        return updated_node.with_changes(body=_swapped(updated_node.body))


def _swapped(body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Each pair of neighbours the other way round that do not depend on one another."""
    out = list(body)
    at = 0
    while at + 1 < len(out):
        one, other = map(_effects, out[at : at + 2])
        if one and other and one[0].isdisjoint(other[0] | other[1]) and other[0].isdisjoint(one[1]):
            out[at], out[at + 1] = out[at + 1], out[at]
            at += 1
        at += 1
    return out


def _effects(node: cst.BaseStatement) -> tuple[set[str], set[str]] | None:
    """The names that a statement binds and those that it reads, if it does nothing else: a function, which runs
    later, or the assignment of what calls nothing."""
    if not isinstance(node, cst.SimpleStatementLine | cst.BaseCompoundStatement):
        return None
    tree = ast.parse(cst.Module([node]).code).body[0]
    if isinstance(tree, ast.FunctionDef):
        now = [*tree.decorator_list, *tree.args.defaults, *(d for d in tree.args.kw_defaults if d)]
        return {tree.name}, {n.id for part in now for n in ast.walk(part) if isinstance(n, ast.Name)}
    if not isinstance(tree, ast.Assign) or not all(isinstance(target, ast.Name) for target in tree.targets):
        return None
    if any(isinstance(n, ast.Call | ast.Subscript | ast.Attribute | ast.BinOp | ast.Await) for n in ast.walk(tree)):
        return None
    bound = {target.id for target in tree.targets if isinstance(target, ast.Name)}
    return bound, {n.id for n in ast.walk(tree.value) if isinstance(n, ast.Name)}


def reorder(text: str) -> str:
    """Neighbouring definitions and assignments that do not depend on one another, the other way round."""
    return cst.parse_module(text).visit(_Reordered()).code


def format_narrow(text: str) -> str:
    """What ``ruff format`` makes of it where lines may have 60 columns."""
    words = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "60", "-"]
    return subprocess.run(words, input=text, capture_output=True, text=True, encoding="utf-8", check=True).stdout


TRANSFORMATIONS: tuple[Transformation, ...] = (
    rename_locals, import_from, import_whole, import_renamed, add_types, wrap_in_function, reorder, format_narrow,
)  # fmt: skip


def everything(text: str) -> str:
    """All of them, one after the other."""
    for transform in TRANSFORMATIONS:
        text = transform(text)
    return text

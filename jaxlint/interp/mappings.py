"""Names that a function uses as dicts: what has ``items()`` is no array, however much it looks like a tree of them."""

import ast
from collections.abc import Iterator

from jaxlint.interp.frames import Frame
from jaxlint.interp.guessing import guess
from jaxlint.interp.syntax import path_of, walk
from jaxlint.interp.values import Value

_METHODS = {"get", "items", "keys", "popitem", "setdefault", "update", "values"}
"""Methods of dicts that arrays do not have."""


def doubted_array(frame: Frame, node: ast.AST, value: Value) -> Value:
    """The value of a name, as a guess where it is used as a dict elsewhere in the function."""
    path = path_of(node) if isinstance(node, ast.Name | ast.Attribute) else None
    if path is None or path not in _used_as_dicts(frame):
        return value
    return guess(value, frame.origin(node, "an array or a dict of arrays"))


def _used_as_dicts(frame: Frame) -> frozenset[str]:
    root: ast.AST = frame.module.tree if frame.info is None else frame.info.node
    known = frame.engine.used_as_dicts.get(id(root))
    if known is None:
        known = frame.engine.used_as_dicts[id(root)] = frozenset(_dicts_in(root))
    return known


def _dicts_in(root: ast.AST) -> Iterator[str]:
    """The names with methods of dicts, and those that are looked into for what indexes them: ``k in x``, ``x[k]``."""
    asked, indexed = set[tuple[str | None, str]](), set[tuple[str | None, str]]()
    for node in walk(root):
        match node:
            case ast.Call(func=ast.Attribute(value=held, attr=method)) if method in _METHODS:
                if (path := path_of(held)) is not None:
                    yield path
            case ast.Compare(left=ast.Name(id=key), ops=[ast.In() | ast.NotIn()], comparators=[held]):
                asked.add((path_of(held), key))
            case ast.Subscript(value=held, slice=ast.Name(id=key)):
                indexed.add((path_of(held), key))
    yield from (path for path, _ in asked & indexed if path is not None)

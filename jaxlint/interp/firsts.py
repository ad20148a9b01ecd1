"""What is made when it is first asked for and then kept: ``if self._data is None: self._data = load()``.

Code behind such a test runs once, however often its function is called.
"""

import ast
from collections.abc import Iterator

from jaxlint.interp.classes import lasts
from jaxlint.interp.engine import Engine
from jaxlint.interp.frames import Frame
from jaxlint.interp.syntax import DEFINITIONS, LOOPS, Definition, Suite, is_none, targets_of, walk

_MAKERS = {"__init__", "__post_init__", "setup"}
"""The methods in which an attribute gets its first value, which says that nothing is kept yet."""


def made_once(frame: Frame, test: ast.expr, body: Suite, *, holds: bool) -> bool:
    """True if the statements run only while something is absent, and put it there. `holds`: they run where the test
    holds, not where it fails."""
    asked = _asked(test)
    if asked is None or asked[1] is not holds:
        return False
    target = asked[0]
    if not (_is_own(frame, target) and lasts(frame.engine, frame.receiver)) and not _is_global(frame, target):
        return False
    return any(_stores(node, target) for node in walk(body)) and not _is_reset(frame, target)


def made_in_one_turn(frame: Frame, test: ast.expr, body: Suite) -> bool:
    """True if the statements run in one turn of the loops around them: ``if best is None: best = evaluate()``, where
    only what comes before the loops sets the name to None."""
    if not frame.loops or frame.info is None:
        return False
    while isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        test = test.values[0]
    is_asked = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is)
    asked = _asked(test) if is_asked else None
    if asked is None or not asked[1] or not isinstance(asked[0], ast.Name):
        return False
    target = asked[0]
    if target.id not in frame.info.local_names or not any(_stores(node, target) for node in walk(body)):
        return False
    loops = [node for node in walk(frame.info.body) if isinstance(node, LOOPS)]
    resets = [sum(_empties(node, target) for node in walk(part)) for part in (frame.info.body, *loops)]
    return resets[0] == 1 and not any(resets[1:])


def _empties(node: ast.AST, target: ast.Name) -> bool:
    """True of an assignment of None to the name."""
    if not isinstance(node, ast.Assign) or not any(_is_same(t, target) for t in node.targets):
        return False
    return _is_empty(node.value)


def _asked(test: ast.expr) -> tuple[ast.expr, bool] | None:
    """What a test asks for, and whether it is absent where the test holds."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _asked(test.operand)
        return None if inner is None else (inner[0], not inner[1])
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator, other = test.ops[0], test.comparators[0]
        if isinstance(operator, ast.Is | ast.IsNot) and is_none(other):
            left = test.left.value if isinstance(test.left, ast.NamedExpr) else test.left
            return left, isinstance(operator, ast.Is)
        if isinstance(operator, ast.In | ast.NotIn):
            return other, isinstance(operator, ast.NotIn)
    match test:
        case ast.Call(func=ast.Name(id="hasattr"), args=[subject, ast.Constant(value=str(name))], keywords=[]):
            return ast.Attribute(subject, name, ast.Load()), False
    return None


def _is_own(frame: Frame, node: ast.expr) -> bool:
    """True of an attribute of the receiver."""
    info = frame.info
    if info is None or info.enclosing_class is None or not info.parameters or not isinstance(node, ast.Attribute):
        return False
    return isinstance(node.value, ast.Name) and node.value.id == info.parameters[0].name


def _is_global(frame: Frame, node: ast.expr) -> bool:
    """True of a name of the module that the function assigns."""
    return frame.info is not None and isinstance(node, ast.Name) and node.id in frame.info.outer_names


def _stores(node: ast.AST, target: ast.expr) -> bool:
    """True of an assignment to the target or to an item of it."""
    places = [part for to in targets_of(node) for part in (to.elts if isinstance(to, ast.Tuple) else [to])]
    return any(_is_same(p.value if isinstance(p, ast.Subscript | ast.Starred) else p, target) for p in places)


def _is_same(a: ast.expr, b: ast.expr) -> bool:
    if isinstance(a, ast.Attribute) and isinstance(b, ast.Attribute):
        return a.attr == b.attr and _is_same(a.value, b.value)
    return isinstance(a, ast.Name) and isinstance(b, ast.Name) and a.id == b.id


def _is_reset(frame: Frame, target: ast.expr) -> bool:
    """True if the class takes away again what it keeps: then it is made more than once."""
    if not isinstance(target, ast.Attribute):
        return False
    return any(
        isinstance(node, ast.Assign)
        and _is_empty(node.value)
        and any(isinstance(t, ast.Attribute) and t.attr == target.attr for t in node.targets)
        for method in _methods(frame.engine, frame)
        if method.name not in _MAKERS
        for node in walk(method.body)
    )


def _methods(engine: Engine, frame: Frame) -> Iterator[Definition]:
    place = None if frame.info is None else frame.info.enclosing_class
    for cls in engine.classes_at.get(place, ())[:1] if place is not None else ():
        node = engine.classes[cls].node
        if isinstance(node, ast.ClassDef):
            yield from (n for n in node.body if isinstance(n, DEFINITIONS))


def _is_empty(node: ast.expr) -> bool:
    """True of None and of an empty display."""
    if isinstance(node, ast.Dict):
        return not node.keys
    return is_none(node) or (isinstance(node, ast.List) and not node.elts)

"""What is made when it is first asked for and then kept: ``if self._data is None: self._data = load()``.

Code behind such a test runs once, however often its function is called.
"""

from collections.abc import Iterable, Iterator

import libcst as cst

from jaxlint.interp.classes import lasts
from jaxlint.interp.engine import Engine, Frame
from jaxlint.interp.program import walk

_MAKERS = {"__init__", "__post_init__", "setup"}
"""The methods in which an attribute gets its first value, which says that nothing is kept yet."""


def made_once(frame: Frame, test: cst.BaseExpression, body: Iterable[cst.CSTNode], *, holds: bool) -> bool:
    """True if the statements run only while something is absent, and put it there. `holds`: they run where the test
    holds, not where it fails."""
    asked = _asked(test)
    if asked is None or asked[1] is not holds:
        return False
    target = asked[0]
    if not (_is_own(frame, target) and lasts(frame.engine, frame.receiver)) and not _is_global(frame, target):
        return False
    return any(_stores(node, target) for part in body for node in walk(part)) and not _is_reset(frame, target)


def made_in_one_turn(frame: Frame, test: cst.BaseExpression, body: cst.CSTNode) -> bool:
    """True if the statements run in one turn of the loops around them: ``if best is None: best = evaluate()``, where
    only what comes before the loops sets the name to None."""
    if not frame.loops or frame.info is None:
        return False
    while isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        test = test.left
    is_asked = isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.Is)
    asked = _asked(test) if is_asked else None
    if asked is None or not asked[1] or not isinstance(asked[0], cst.Name):
        return False
    target = asked[0]
    if target.value not in frame.info.local_names or not any(_stores(node, target) for node in walk(body)):
        return False
    loops = [node for node in walk(frame.info.node.body) if isinstance(node, cst.For | cst.While)]
    resets = [sum(_empties(node, target) for node in walk(part)) for part in (frame.info.node.body, *loops)]
    return resets[0] == 1 and not any(resets[1:])


def _empties(node: cst.CSTNode, target: cst.Name) -> bool:
    """True of an assignment of None to the name."""
    if not isinstance(node, cst.Assign) or not any(_is_same(t.target, target) for t in node.targets):
        return False
    return _is_empty(node.value)


def _asked(test: cst.BaseExpression) -> tuple[cst.BaseExpression, bool] | None:
    """What a test asks for, and whether it is absent where the test holds."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = _asked(test.expression)
        return None if inner is None else (inner[0], not inner[1])
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        operator, other = test.comparisons[0].operator, test.comparisons[0].comparator
        if isinstance(operator, cst.Is | cst.IsNot) and isinstance(other, cst.Name) and other.value == "None":
            return test.left, isinstance(operator, cst.Is)
        if isinstance(operator, cst.In | cst.NotIn):
            return other, isinstance(operator, cst.NotIn)
    if isinstance(test, cst.Call) and isinstance(test.func, cst.Name) and test.func.value == "hasattr":
        name = test.args[1].value if len(test.args) == 2 else None
        text = name.evaluated_value if isinstance(name, cst.SimpleString) else ""
        if isinstance(text, str) and text.isidentifier():
            return cst.Attribute(test.args[0].value, cst.Name(text)), False
    return None


def _is_own(frame: Frame, node: cst.BaseExpression) -> bool:
    """True of an attribute of the receiver."""
    info = frame.info
    if info is None or info.enclosing_class is None or not info.parameters or not isinstance(node, cst.Attribute):
        return False
    return isinstance(node.value, cst.Name) and node.value.value == info.parameters[0].name


def _is_global(frame: Frame, node: cst.BaseExpression) -> bool:
    """True of a name of the module that the function assigns."""
    return frame.info is not None and isinstance(node, cst.Name) and node.value in frame.info.outer_names


def _stores(node: cst.CSTNode, target: cst.BaseExpression) -> bool:
    """True of an assignment to the target or to an item of it."""
    if not isinstance(node, cst.AssignTarget | cst.AnnAssign):
        return False
    places: list[cst.BaseExpression] = [node.target]
    if isinstance(node.target, cst.Tuple):
        places = [element.value for element in node.target.elements]
    return any(_is_same(p.value if isinstance(p, cst.Subscript) else p, target) for p in places)


def _is_same(a: cst.BaseExpression, b: cst.BaseExpression) -> bool:
    if isinstance(a, cst.Attribute) and isinstance(b, cst.Attribute):
        return a.attr.value == b.attr.value and _is_same(a.value, b.value)
    return isinstance(a, cst.Name) and isinstance(b, cst.Name) and a.value == b.value


def _is_reset(frame: Frame, target: cst.BaseExpression) -> bool:
    """True if the class takes away again what it keeps: then it is made more than once."""
    if not isinstance(target, cst.Attribute):
        return False
    return any(
        isinstance(node, cst.Assign)
        and _is_empty(node.value)
        and any(isinstance(t.target, cst.Attribute) and t.target.attr.value == target.attr.value for t in node.targets)
        for method in _methods(frame.engine, frame)
        if method.name.value not in _MAKERS
        for node in walk(method.body)
    )


def _methods(engine: Engine, frame: Frame) -> Iterator[cst.FunctionDef]:
    place = None if frame.info is None else frame.info.enclosing_class
    for cls in engine.classes_at.get(place, ())[:1] if place is not None else ():
        node = engine.classes[cls].node
        if isinstance(node, cst.ClassDef):
            yield from (n for n in node.body.body if isinstance(n, cst.FunctionDef))


def _is_empty(node: cst.BaseExpression) -> bool:
    """True of None and of an empty display."""
    if isinstance(node, cst.Name):
        return node.value == "None"
    return isinstance(node, cst.Dict | cst.List) and not node.elements

"""Gates: the tests by which loops do something only now and then ("every n steps", first turn, debug flags)."""

import re
from dataclasses import replace

import libcst as cst

from jaxlint.interp.engine import Frame
from jaxlint.interp.heat import Gate
from jaxlint.interp.literals import string_of
from jaxlint.interp.program import path_of, walk
from jaxlint.interp.values import Value

_RARE_NAME = re.compile(
    r"(^|_)(debug|verbose|dry_run|should_\w+|is_last\w*|is_first\w*|is_log\w*|log_now|do_log\w*)($|_)|every|interval|(^|_)freq",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(^|_)(time|perf_counter|monotonic|now|elapsed|last_\w*time|clock)($|_)|time$", re.I)


def gate_of(frame: Frame, test: cst.BaseExpression) -> Gate:
    """Which branch of a test runs rarely inside a loop, by the usual forms of periodic work."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        if _is_modulo(test.expression):
            return Gate.PASSED
        return {Gate.PASSED: Gate.FAILED, Gate.FAILED: Gate.PASSED, Gate.NONE: Gate.NONE}[
            gate_of(frame, test.expression)
        ]
    if isinstance(test, cst.BooleanOperation):
        sides = (gate_of(frame, test.left), gate_of(frame, test.right))
        wanted = Gate.PASSED if isinstance(test.operator, cst.And) else Gate.FAILED
        if wanted in sides:
            return wanted
        other = Gate.FAILED if wanted is Gate.PASSED else Gate.PASSED
        return other if sides == (other, other) else _either(sides)
    if _is_modulo(test):
        return Gate.FAILED
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        return _comparison(frame, test)
    if isinstance(test, cst.Call) and _last_name(test) == "isEnabledFor":
        return Gate.PASSED
    if isinstance(test, cst.Call) and _last_name(test) == "get" and test.args:
        return _setting(test.args[0].value)
    if isinstance(test, cst.Subscript) and len(test.slice) == 1 and isinstance(test.slice[0].slice, cst.Index):
        return _setting(test.slice[0].slice.value)
    if isinstance(test, cst.Name | cst.Attribute | cst.Call):
        return Gate.PASSED if _RARE_NAME.search(_last_name(test)) else _carried(frame, test)
    return Gate.NONE


def _carried(frame: Frame, test: cst.Name | cst.Attribute | cst.Call) -> Gate:
    """What a value says of the test by which it was made, under a name or by a function."""
    if isinstance(test, cst.Call):
        return frame.answers.get(id(test), Gate.NONE)
    key = path_of(test)
    value = None if key is None else frame.state.names.get(key)
    return Gate.NONE if value is None else value.gate


def gated(frame: Frame, node: cst.BaseExpression | None, value: Value) -> Value:
    """The value of a test that is kept for later, with what the test says."""
    if isinstance(node, cst.Comparison | cst.BooleanOperation | cst.UnaryOperation | cst.BinaryOperation):
        gate = gate_of(frame, node)
        return value if gate is value.gate else replace(value, gate=gate)
    return value


def _setting(key: cst.BaseExpression) -> Gate:
    """A setting looked up by name: ``config["debug"]``."""
    text = string_of(key) if isinstance(key, cst.SimpleString) else ""
    return Gate.PASSED if isinstance(text, str) and _RARE_NAME.search(text) else Gate.NONE


def _either(sides: tuple[Gate, Gate]) -> Gate:
    # `step % n == 0 or step == last`: rare as long as both sides are.
    return sides[0] if sides[0] is sides[1] else Gate.NONE


def _is_modulo(node: cst.CSTNode) -> bool:
    if isinstance(node, cst.Call) and _last_name(node) in {"mod", "remainder", "fmod"}:
        return True
    return (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Modulo)
        and not isinstance(node.left, cst.SimpleString | cst.ConcatenatedString)
    )


def _comparison(frame: Frame, test: cst.Comparison) -> Gate:
    target = test.comparisons[0]
    sides = (test.left, target.comparator)
    if any(_is_modulo(n) for side in sides for n in walk(side)):
        if isinstance(target.operator, cst.Equal):
            return Gate.PASSED
        if isinstance(target.operator, cst.NotEqual | cst.GreaterThan) or _is_all_but_few(frame, test):
            return Gate.FAILED
        return Gate.PASSED
    if isinstance(target.operator, cst.Equal | cst.In) and any(_is_counter(frame, s) for s in sides):
        return Gate.PASSED
    if isinstance(target.operator, cst.NotEqual) and any(_is_counter(frame, s) for s in sides):
        return Gate.FAILED
    if isinstance(target.operator, cst.GreaterThan | cst.GreaterThanEqual | cst.LessThan | cst.LessThanEqual):
        if any(_is_time_difference(s) or _is_clock(s) for s in sides):
            return Gate.PASSED
        if _is_first_turns(frame, test) or any(_last_name(s) in {"random", "rand", "uniform"} for s in sides):
            return Gate.PASSED
        if any(_last_name(s).startswith("next_") for s in sides):
            return Gate.PASSED
        if any(isinstance(s, cst.Name | cst.Attribute) and _RARE_NAME.search(_last_name(s)) for s in sides):
            return Gate.PASSED
    return Gate.NONE


def _is_all_but_few(frame: Frame, test: cst.Comparison) -> bool:
    """``i % n < n - 1``: all turns but the last few of each n."""
    left, right = test.left, test.comparisons[0].comparator
    return (
        isinstance(left, cst.BinaryOperation)
        and isinstance(left.operator, cst.Modulo)
        and isinstance(right, cst.BinaryOperation)
        and isinstance(right.operator, cst.Subtract)
        and isinstance(test.comparisons[0].operator, cst.LessThan | cst.LessThanEqual)
        and frame.module.text_of(left.right) == frame.module.text_of(right.left)
    )


def _is_first_turns(frame: Frame, test: cst.Comparison) -> bool:
    """``i < 3``: the first few turns of a loop."""
    target = test.comparisons[0]
    few = target.comparator
    return (
        isinstance(target.operator, cst.LessThan | cst.LessThanEqual)
        and _is_counter(frame, test.left)
        and isinstance(few, cst.Integer)
        and len(few.value) == 1
    )


def _is_counter(frame: Frame, node: cst.BaseExpression) -> bool:
    return any(isinstance(n, cst.Name) and n.value in frame.loop_names for n in walk(node)) and not any(
        isinstance(n, cst.Call | cst.Attribute | cst.Subscript) for n in walk(node)
    )


def _is_clock(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and _last_name(node) in {"time", "monotonic", "perf_counter", "now"}


def _is_time_difference(node: cst.BaseExpression) -> bool:
    if not (isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract)):
        return False
    return any(isinstance(n, cst.Name | cst.Attribute) and _CLOCK.search(_last_name(n)) for n in walk(node))


def _last_name(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Call):
        return _last_name(node.func)
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""

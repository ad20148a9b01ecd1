"""Gates: the tests by which loops do something only now and then ("every n steps", first turn, debug flags)."""

import ast
import re
from collections.abc import Sequence

from jaxlint.interp.frames import Frame
from jaxlint.interp.heat import Gate
from jaxlint.interp.syntax import last_name, path_of, text_in, walk
from jaxlint.interp.values import Value, replace

_RARE_NAME = re.compile(
    r"(^|_)(debug|verbose|dry_run|should_\w+|is_last\w*|is_first\w*|is_log\w*|log_now|do_log\w*)($|_)|every|interval|(^|_)freq",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"(^|_)(time|perf_counter|monotonic|now|elapsed|last_\w*time|clock)($|_)|time$", re.I)


def gate_of(frame: Frame, test: ast.expr) -> Gate:
    """Which branch of a test runs rarely inside a loop, by the usual forms of periodic work."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        if _is_modulo(test.operand):
            return Gate.PASSED
        return {Gate.PASSED: Gate.FAILED, Gate.FAILED: Gate.PASSED, Gate.NONE: Gate.NONE}[gate_of(frame, test.operand)]
    if isinstance(test, ast.BoolOp):
        return gate_of_all(frame, test.op, test.values)
    if _is_modulo(test):
        return Gate.FAILED
    if isinstance(test, ast.NamedExpr):
        gate = gate_of(frame, test.value)
        return gate_of(frame, test.target) if gate is Gate.NONE else gate
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(frame, test)
    if isinstance(test, ast.Call) and _last_name(test) == "isEnabledFor":
        return Gate.PASSED
    if isinstance(test, ast.Call) and _last_name(test) == "get" and test.args:
        return _setting(test.args[0])
    if isinstance(test, ast.IfExp):
        return _chosen(frame, test)
    if isinstance(test, ast.Subscript):
        gate = _setting(test.slice)
        return frame.answers.get(id(test), Gate.NONE) if gate is Gate.NONE else gate
    if isinstance(test, ast.Name | ast.Attribute | ast.Call):
        return Gate.PASSED if _RARE_NAME.search(_last_name(test)) else _carried(frame, test)
    return Gate.NONE


def _chosen(frame: Frame, choice: ast.IfExp) -> Gate:
    """``True if step % n == 0 else False``: what the test says."""
    match choice:
        case ast.IfExp(body=ast.Constant(value=True), orelse=ast.Constant(value=False | None)):
            return gate_of(frame, choice.test)
        case ast.IfExp(body=ast.Constant(value=False | None), orelse=ast.Constant(value=True)):
            return gate_of(frame, ast.UnaryOp(ast.Not(), choice.test))
    return Gate.NONE


def gate_of_all(frame: Frame, operator: ast.boolop, operands: Sequence[ast.expr]) -> Gate:
    """The branch of ``and`` or ``or`` that runs rarely: of ``step % n == 0 or step == last`` only if both sides do."""
    sides = {gate_of(frame, operand) for operand in operands}
    wanted = Gate.PASSED if isinstance(operator, ast.And) else Gate.FAILED
    if wanted in sides:
        return wanted
    return sides.pop() if len(sides) == 1 else Gate.NONE


def gate_of_case(frame: Frame, pattern: ast.pattern, subject: ast.expr) -> Gate:
    """The same of a case of a match statement: ``match step % n: case 0`` asks as ``step % n == 0`` does."""
    match pattern:
        case ast.MatchValue(value=value):
            return gate_of(frame, ast.Compare(subject, [ast.Eq()], [value]))
        case ast.MatchSingleton(value=bool(value)):
            return gate_of(frame, subject if value else ast.UnaryOp(ast.Not(), subject))
        case ast.MatchAs(pattern=ast.pattern() as inner):
            return gate_of_case(frame, inner, subject)
        case ast.MatchOr(patterns=patterns):
            sides = {gate_of_case(frame, one, subject) for one in patterns}
            return sides.pop() if len(sides) == 1 else Gate.NONE
    return Gate.NONE


def _carried(frame: Frame, test: ast.Name | ast.Attribute | ast.Call) -> Gate:
    """What a value says of the test by which it was made, under a name or by a function."""
    if isinstance(test, ast.Call):
        return frame.answers.get(id(test), Gate.NONE)
    key = path_of(test)
    value = None if key is None else frame.state.names.get(key)
    return Gate.NONE if value is None else value.gate


def gated(frame: Frame, node: ast.expr | None, value: Value) -> Value:
    """The value of a test that is kept for later, with what the test says."""
    if isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.BinOp | ast.NamedExpr | ast.IfExp):
        gate = gate_of(frame, node)
        return value if gate is value.gate else replace(value, gate=gate)
    return value


def evaluate_gated(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression that is put somewhere, with what it says if it is a test."""
    return gated(frame, node, frame.engine.evaluate(frame, node))


def _setting(key: ast.expr) -> Gate:
    """A setting looked up by name: ``config["debug"]``."""
    return Gate.PASSED if _RARE_NAME.search(text_in(key) or "") else Gate.NONE


def _is_modulo(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and _last_name(node) in {"mod", "remainder", "fmod"}:
        return True
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str | bytes))
    )


def _comparison(frame: Frame, test: ast.Compare) -> Gate:
    operator = test.ops[0]
    sides = (test.left, test.comparators[0])
    if any(_is_modulo(n) for n in walk(sides)):
        if isinstance(operator, ast.Eq):
            return Gate.PASSED
        if isinstance(operator, ast.NotEq | ast.Gt) or _is_all_but_few(frame, test):
            return Gate.FAILED
        return Gate.PASSED
    if isinstance(operator, ast.Eq | ast.In) and any(_is_counter(frame, s) for s in sides):
        return Gate.PASSED
    if isinstance(operator, ast.NotEq) and any(_is_counter(frame, s) for s in sides):
        return Gate.FAILED
    if isinstance(operator, ast.Gt | ast.GtE | ast.Lt | ast.LtE):
        if any(_is_time_difference(s) or _is_clock(s) for s in sides):
            return Gate.PASSED
        if _is_first_turns(frame, test) or any(_last_name(s) in {"random", "rand", "uniform"} for s in sides):
            return Gate.PASSED
        if any(_last_name(s).startswith("next_") for s in sides):
            return Gate.PASSED
        if any(isinstance(s, ast.Name | ast.Attribute) and _RARE_NAME.search(_last_name(s)) for s in sides):
            return Gate.PASSED
    return Gate.NONE


def _is_all_but_few(frame: Frame, test: ast.Compare) -> bool:
    """``i % n < n - 1``: all turns but the last few of each n."""
    left, right = test.left, test.comparators[0]
    return (
        isinstance(left, ast.BinOp)
        and isinstance(left.op, ast.Mod)
        and isinstance(right, ast.BinOp)
        and isinstance(right.op, ast.Sub)
        and isinstance(test.ops[0], ast.Lt | ast.LtE)
        and frame.module.text_of(left.right) == frame.module.text_of(right.left)
    )


def _is_first_turns(frame: Frame, test: ast.Compare) -> bool:
    """``i < 3``: the first few turns of a loop."""
    few = test.comparators[0]
    return (
        isinstance(test.ops[0], ast.Lt | ast.LtE)
        and _is_counter(frame, test.left)
        and isinstance(few, ast.Constant)
        and type(few.value) is int
        and few.value < 10
    )


def _is_counter(frame: Frame, node: ast.expr) -> bool:
    return any(isinstance(n, ast.Name) and n.id in frame.loop_names for n in walk(node)) and not any(
        isinstance(n, ast.Call | ast.Attribute | ast.Subscript) for n in walk(node)
    )


def _is_clock(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _last_name(node) in {"time", "monotonic", "perf_counter", "now"}


def _is_time_difference(node: ast.expr) -> bool:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)):
        return False
    return any(isinstance(n, ast.Name | ast.Attribute) and _CLOCK.search(_last_name(n)) for n in walk(node))


def _last_name(node: ast.AST) -> str:
    return last_name(node.func if isinstance(node, ast.Call) else node)

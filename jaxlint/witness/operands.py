"""Where an operation has its last operand, which is what is handed to a mark just before Python does the operation."""

import ast

from . import nodes

# The functions of `operator` that do what the syntax does, without a Python frame.
BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.BitAnd: "and_",
}  # fmt: skip
COMPARISONS = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}


def begun(value: ast.expr, number: int, where: ast.AST, name: str = nodes.BEGIN) -> ast.expr:
    """The value handed through `begin`; of a starred one what is unpacked."""
    if isinstance(value, ast.Starred):
        value.value = nodes.call(name, number, value.value, where)
        return value
    return nodes.call(name, number, value, where)


def hand_through(node: ast.expr, number: int, name: str = nodes.BEGIN) -> bool:
    """Hands the operand that is evaluated last through `begin`, or another of that name; False if the node has none."""
    match node:
        case ast.Call(keywords=[*_, last]):
            last.value = nodes.call(name, number, last.value, place_of_result(node))
        case ast.Call(args=[*_, last]):
            node.args[-1] = begun(last, number, place_of_result(node), name)
        case ast.Call(func=ast.Attribute() as method):
            method.value = nodes.call(nodes.BEGIN, number, method.value, method.value)
        case ast.Call():
            node.func = nodes.call(nodes.BEGIN, number, node.func, node)
        case ast.BinOp(op=ast.Mod(), right=ast.Tuple(elts=[*before, last]) as parts) if _is_format(node):
            # Python formats the parts one by one, as those of an f-string.
            opened = [nodes.call(nodes.OPEN, number, part, part) for part in before]
            parts.elts = [*opened, nodes.call(nodes.BEGIN, number, last, last)]
        case ast.BinOp():
            node.right = nodes.call(nodes.BEGIN, number, node.right, node)
        case ast.UnaryOp():
            node.operand = nodes.call(nodes.BEGIN, number, node.operand, node)
        case ast.Compare():
            node.comparators[0] = nodes.call(nodes.BEGIN, number, node.comparators[0], node)
        case ast.Attribute():
            node.value = nodes.call(nodes.BEGIN, number, node.value, node.value)
        case ast.Subscript():
            if not _hand_through_slice(node, number):
                node.value = nodes.call(nodes.BEGIN, number, node.value, node.value)
        case _:
            return False
    return True


def place_of_result(node: ast.AST) -> ast.AST:
    """Where Python says that a node is evaluated: at its beginning, but an attribute of a later line at its name."""
    attribute = node.func if isinstance(node, ast.Call) else node
    if not isinstance(attribute, ast.Attribute) or attribute.lineno == attribute.end_lineno:
        return node
    line, end = attribute.end_lineno or 0, attribute.end_col_offset or 0
    return ast.Pass(lineno=line, end_lineno=line, col_offset=end - len(attribute.attr.encode()), end_col_offset=end)


def _hand_through_slice(node: ast.Subscript, number: int) -> bool:
    match node.slice:
        case ast.Tuple(elts=elements) if any(isinstance(element, (ast.Slice, ast.Starred)) for element in elements):
            for index in reversed(range(len(elements))):
                element = elements[index]
                if not isinstance(element, ast.Slice):
                    elements[index] = begun(element, number, element)
                    return True
                if _hand_through_bound(element, number):
                    return True
            return False
        case ast.Slice() as bounds:
            return _hand_through_bound(bounds, number)
        case index:
            node.slice = nodes.call(nodes.BEGIN, number, index, node)
            return True


def _hand_through_bound(bounds: ast.Slice, number: int) -> bool:
    for name in ("step", "upper", "lower"):
        bound: ast.expr | None = getattr(bounds, name)
        if bound is not None:
            setattr(bounds, name, nodes.call(nodes.BEGIN, number, bound, bound))
            return True
    return False


def attempt(node: ast.expr, number: int) -> ast.expr | None:
    """``f(a, k=b)`` becomes ``choose(n, f)(a, k=hand(n, b))``: what `choose` gives is the function, or tries it first.
    ``a + b`` becomes ``attempt(n, add, a, b)()``: what `attempt` returns does the addition, in the user's frame."""
    match node:
        case ast.Call():
            last = ast.Constant(not node.args and not node.keywords)
            named = nodes.at(ast.Constant(number), nodes.first(node.func))
            chosen = nodes.at(
                ast.Call(nodes.name(nodes.CHOOSE, node.func), [named, node.func, last], []), place_of_result(node.func)
            )
            if not last.value:
                hand_through(node, number, nodes.HAND)
            node.func = chosen
            return node
        case ast.BinOp() if type(node.op) in BINARY and not _is_format(node):
            function, arguments = _operator(BINARY[type(node.op)], node), [node.left, node.right]
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            function, arguments = _operator(COMPARISONS[type(operator)], node), [node.left, *node.comparators]
        case _:
            return None
    made = ast.Call(
        nodes.name(nodes.ATTEMPT, node), [nodes.at(ast.Constant(number), nodes.first(node)), function, *arguments], []
    )
    return nodes.at(ast.Call(nodes.at(made, node), [], []), node)


def _is_format(node: ast.BinOp) -> bool:
    """True for ``"%s %s" % (a, b)``."""
    match node:
        case ast.BinOp(ast.Constant(str()), ast.Mod(), ast.Tuple([_, *_] as parts)):
            return not any(isinstance(part, ast.Starred) for part in parts)
    return False


def _operator(name: str, node: ast.expr) -> ast.expr:
    return nodes.at(ast.Attribute(nodes.name(nodes.OPERATOR, node), name, ast.Load()), nodes.first(node))

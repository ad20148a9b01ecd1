"""What string literals say. Knows nothing of the interpreter."""

import warnings

import libcst as cst


def string_of(node: cst.SimpleString) -> str | bytes:
    """The value of a string literal; an empty one where Python refuses an escape in it. What Python only warns of is
    for whoever compiles the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return node.evaluated_value
        except (ValueError, SyntaxError):
            return ""

"""libcst's generation of code, so that it bears trees as deep as Python's own.

libcst calls each node's generation in a way that nests in C. Python 3.12.0 and 3.12.1 bear 1,500 such calls, whatever
the stack: a sum of 750 terms. Called by its class, a node's generation nests in Python alone, whose limit can be set.
"""

import libcst
from libcst._nodes.internal import CodegenState


def generate(node: libcst.CSTNode, state: CodegenState) -> None:
    """Has the node write its code into the state."""
    node._codegen(state)


def _codegen(self: libcst.CSTNode, state: CodegenState, **how: object) -> None:
    state.before_codegen(self)
    type(self)._codegen_impl(self, state, **how)
    state.after_codegen(self)


# A node's generation calls its children's by this name.
setattr(libcst.CSTNode, "_codegen", _codegen)  # noqa: B010  # an assignment is an error to mypy

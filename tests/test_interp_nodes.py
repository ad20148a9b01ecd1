"""Kinds of syntax: what the running Python has, each is looked at; and what a newer one has, as that one does."""

import ast

import pytest

from jaxlint.interp.engine import Engine
from snippets import check, check_marks, rows

WITHIN_OTHERS = {"FormattedValue", "Interpolation", "Starred"}
"""Expressions that stand in others alone, which look at them."""
DOES_NOTHING = {"Global", "Nonlocal", "Pass", "TypeAlias"}
"""Statements that tell of names, or that evaluate nothing when they run."""


def test_each_kind_of_node_of_this_python_is_looked_at() -> None:
    check("import jax")  # which takes in all that looks at nodes
    expressions = {kind.__name__ for kind in ast.expr.__subclasses__()}
    statements = {kind.__name__ for kind in ast.stmt.__subclasses__()}
    assert expressions - {kind.__name__ for kind in Engine.expressions} <= WITHIN_OTHERS
    assert statements - {kind.__name__ for kind in Engine.statements} <= DOES_NOTHING


TEMPLATES = {
    "formats nothing": """
        def f(n):
            x = step(1.0)
            made = t"{x} {x!r:>3} {n}"
            float(x)  # d2h
            return made
        f(1)
    """,
    "evaluates what is in its fields": """
        def f(n):
            made = t"{float(step(1.0))}" t"{step(2.0)}"  # d2h
            return made, t'''{
                float(step(3.0))  # d2h
            }'''
        f(1)
    """,
    "formats its formats": """
        def f(n):
            return t"{n:{step(1.0)}}"  # d2h
        f(1)
    """,
}


@pytest.mark.parametrize("text", rows(TEMPLATES, {}))
def test_templates(text: str) -> None:
    check_marks(text)

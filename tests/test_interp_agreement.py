"""How sure a finding is where the runs of a function do not agree about it."""

import pytest

from jaxlint.sites import Confidence, Heat
from snippets import PRELUDE, check

LOW, MEDIUM, HIGH = Confidence.LOW, Confidence.MEDIUM, Confidence.HIGH

LOSS = """
def loss(w, x):
    return jnp.sum(w * x)  # here

compiled = jax.jit(jax.grad(loss))
w = step(jnp.ones(3))
"""
MET = """
def met(x):
    return float(x)  # here

"""
FAILS = """
def fails(x):
    if x > 0:  # here
        return 1.0
    return 0.0

"""


def confidence(text: str) -> dict[str, Confidence]:
    """By the first digit of their codes: how sure the findings on the marked line are."""
    marked = next(n for n, line in enumerate((PRELUDE + text).splitlines(), 1) if line.endswith("# here"))
    return {f.code[2]: f.confidence for f in check(PRELUDE + text, LOW).findings if f.span.line == marked}


@pytest.mark.parametrize(
    ("calls", "sure"),
    [
        ("for i in range(9):\n    met(step(1.0))\n", HIGH),
        ("met(step(1.0))\nfor i in range(9):\n    met(jnp.ones(3).sum())\n", HIGH),
        ("met(2.0)\nfor i in range(9):\n    met(step(1.0))\n", MEDIUM),
        ("met(2.0)\nmet('3')\nmet(step(1.0))\n", MEDIUM),
        ("for i in range(9):\n    met(step(1.0) if i else read())\n", MEDIUM),
        ("met(2.0)\nfor i in range(9):\n    met(step(1.0) if i else read())\n", LOW),
        ("met(2.0)\nmet(step(1.0) if more() else read())\n", MEDIUM),
    ],
)
def test_what_some_runs_of_a_function_do_not_show_is_medium_or_a_guess(calls: str, sure: Confidence) -> None:
    assert confidence(MET + calls) == {"1": sure}


def test_a_function_that_runs_once_is_sure_of_it() -> None:
    assert confidence("def f(x):\n    print(x)  # here\n\nf(step(1.0))\n") == {"1": HIGH}


def test_a_module_has_no_other_runs() -> None:
    assert confidence("for x in range(9):\n    print(step(x))  # here\n") == {"1": HIGH}


@pytest.mark.parametrize(
    ("calls", "sure"),
    [
        ("for i in range(9):\n    loss(w, np.ones(3))\n", HIGH),
        ("compiled(w, np.ones(3))\nfor i in range(9):\n    loss(w, np.ones(3))\n", MEDIUM),
        ("compiled(w, np.ones(3))\nfor i in range(9):\n    loss(w, np.ones(3))\nloss(w, jnp.ones(3))\n", LOW),
        ("compiled(w, np.ones(3))\nfor i in range(9):\n    if i % 3 == 0:\n        loss(w, np.ones(3))\n", MEDIUM),
        ("compiled(w, np.ones(3))\nloss(w, np.ones(3))\n", HIGH),
        ("compiled(w, np.ones(3))\nloss(w, np.ones(3))\nloss(w, jnp.ones(3))\n", MEDIUM),
    ],
)
def test_what_is_compiled_elsewhere_is_hardly_eager_in_a_loop(calls: str, sure: Confidence) -> None:
    """It is eager once often enough: to see what comes out."""
    assert confidence(LOSS + calls) == {"2": sure}


def test_of_a_doubtful_hot_reading_and_a_sure_cold_one_the_cold_is_told() -> None:
    text = (
        PRELUDE
        + LOSS.replace("w, x)", "w, x, k=0)", 1)
        + ("compiled(w, 1.0)\nloss(w, np.ones(3))\nloss(w, w)\nfor i in range(9):\n    loss(w, np.ones(3), k=1)\n")
    )
    found = [f for f in check(text, LOW).findings if f.code == "JT204"]
    assert [(f.heat, f.confidence) for f in found] == [(Heat.COLD, MEDIUM)]


@pytest.mark.parametrize(
    ("calls", "sure"),
    [
        ("jax.jit(lambda x: fails(x))(1.0)\n", HIGH),
        ("jax.jit(lambda x: fails(x) + fails(2.0))(1.0)\n", MEDIUM),
        ("jax.jit(lambda x: fails(x) + fails(2.0) + fails(3.0) + fails(4))(1.0)\n", LOW),
    ],
)
def test_what_one_of_many_callers_makes_fail_works_in_all_likelihood(calls: str, sure: Confidence) -> None:
    assert confidence(FAILS + calls) == {"4": sure}


def test_of_two_readings_of_a_traced_value_the_one_that_works_is_the_likelier() -> None:
    text = "def fails(x, k):\n    if k:\n        x = 2.0\n    if x > 0:  # here\n        return 1.0\n    return 0.0\n\n"
    calls = "import sys\njax.jit(lambda x: fails(x, len(sys.argv)))(1.0)\n"
    assert confidence(text + calls) == {"4": LOW}


CHOOSES = "import sys, tool\nx = step(jnp.ones(3))\nchosen = {} if len(sys.argv) > 1 else {}\nchosen(x)  # here\n"


@pytest.mark.parametrize(
    ("one", "other", "sure"),
    [
        ("float", "int", HIGH),
        ("np.asarray", "jnp.asarray", MEDIUM),
        ("np.asarray", "tool.convert", MEDIUM),
        ("np.asarray", "print", MEDIUM),
        ("np.median", "np.linalg.norm", HIGH),
    ],
)
def test_of_several_functions_each_has_to_show_it(one: str, other: str, sure: Confidence) -> None:
    for text in (CHOOSES.format(one, other), CHOOSES.format(other, one)):
        assert confidence(text) == {"1": sure}


def test_a_module_that_may_be_jnp_is_no_reason_for_an_error() -> None:
    chosen = "import sys\nxp = np if len(sys.argv) > 1 else jnp\n\n"
    text = "@jax.jit\ndef f(x):\n    return xp.clip(x, 0, 1)  # here\n"
    assert confidence(chosen + text) == {"4": LOW}


def test_what_only_shows_a_tracer_fails_in_no_run() -> None:
    text = "def shows(x):\n    print(x)  # here\n    return x\n\n"
    calls = "jax.jit(lambda x: shows(x) + shows(2.0) + shows(3.0) + shows(4))(1.0)\n"
    assert confidence(text + calls) == {"4": MEDIUM}

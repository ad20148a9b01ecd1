"""The models against the libraries: what public functions of NumPy and jax.numpy really return, by what a check says of
each result. Of each call that succeeds three lines are checked: a compiled call uploads what is a NumPy array,
printing fetches what is or holds a device array, asking for the truth fetches what is a device array itself.
"""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from types import ModuleType

import pytest

from jaxlint.sites import Confidence
from snippets import check, reported

jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")
jnp = jax.numpy

NUMPY_CALLS = ("2.0", "j", "[2.0, 2.0]", "2.0, 2.0", "m, 1", "[2.0, 2.0], 2.0", "n", "jm", "n, n", "m", "3", "n, 1")
JAX_CALLS = ("n, return_counts=True", "jm, compute_uv=False", "n, (3, 1)", "jm", "j", "j, j", "jm, jm", "j, 1")
DRAWS = ("", "2.0", "2.0, 2.0", "2, 3", "2.0, 2.0, 3", "1.0, 2.0, 3.0", "n", "n, 2.0", "2.0, size=3", "n, n")

EFFECTS = ("save", "load", "set", "show", "dump", "from", "test", "info", "printoptions", "shuffle", "get_")
"""Parts of the names of what is not called here: it reads or writes files and settings, or prints."""

EXCEPTIONS = {
    "np.bmat": "nothing at all of a number",
    "np.gradient": "an empty list of a number",
    "np.imag": "a number of a number",
    "np.isreal": "a number of a number",
    "np.real": "a number of a number",
    "np.trim_zeros": "a list of a list",
    "jnp.atleast_1d": "a version before 0.6 leaves a tuple what it is",
    "jnp.gradient": "a list of arrays for a matrix: how many axes there are is not known",
}
"""Functions of which the models say what is not so in some call: what is so in the others matters more."""

PRELUDE = """\
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def step(x):
    return x

n = np.array([1.0, 2.0, 3.0])
m = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]])
g = np.random.default_rng(0)
j = jnp.asarray(n)
jm = jnp.asarray(m)
"""


def functions(module: object) -> Iterator[str]:
    for name in dir(module):
        value = getattr(module, name, None)
        if name.startswith("_") or any(part in name for part in EFFECTS) or isinstance(value, type | ModuleType):
            continue
        if callable(value):
            yield name


def places(value: object) -> set[str]:
    """Where the arrays and numbers of a result are."""
    if isinstance(value, jax.Array):
        return {"device"}
    if isinstance(value, np.generic):
        return {"number"}
    if isinstance(value, np.ndarray):
        return {"numpy"}
    if isinstance(value, tuple | list):
        return {place for part in value for place in places(part)} | {"several"}
    return {"python"}


def measured(
    prefix: str, names: Iterator[str], calls: tuple[str, ...], run: Callable[[str], object], most: int
) -> dict[str, set[str]]:
    """What each call that succeeds returns, of a function at most so many."""
    found: dict[str, set[str]] = {}
    for name in names:
        of_this = 0
        for arguments in calls:
            if of_this == most:
                break
            text = f"{prefix}.{name}({arguments})"
            with suppress(Exception), warnings.catch_warnings(), redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                result = run(text)
                if not callable(result):
                    found[text] = places(result)
                    of_this += 1
    return found


def eager() -> dict[str, set[str]]:
    """Of NumPy, by calling it."""
    names: dict[str, object] = {}
    exec(PRELUDE, names)
    found = measured("np", functions(np), NUMPY_CALLS, lambda text: eval(text, dict(names)), 4)
    for prefix, module in (("np.random", np.random), ("g", names["g"])):
        found |= measured(prefix, functions(module), DRAWS, lambda text: eval(text, dict(names)), 4)
    return found


def traced() -> dict[str, set[str]]:
    """Of jax.numpy, by tracing it: nothing is compiled."""
    names: dict[str, object] = {}
    exec(PRELUDE, names)

    def run(text: str) -> object:
        results = []
        jax.eval_shape(lambda j, jm: results.append(eval(text, names | {"j": j, "jm": jm})), names["j"], names["jm"])
        return results[0]

    found = measured("jnp", functions(jnp), JAX_CALLS, run, 3)
    return found | measured("jnp.linalg", functions(jnp.linalg), JAX_CALLS, run, 3)


def differences(found: dict[str, set[str]]) -> list[str]:
    """Where a check says of a result what is not so."""
    lines = PRELUDE.splitlines()
    at = {}
    for text in found:
        at[text] = len(lines)
        lines += [f"r = {text}", "step(r)", "print(r)", f"r = {text}", "bool(r)"]
    marks = {(line, family) for _, line, family in reported(check("\n".join(lines), Confidence.LOW))}
    out = []
    for text, where in found.items():
        first = at[text] + 1
        said = {
            "uploaded": (first + 1, "h2d") in marks,
            "printed": (first + 2, "d2h") in marks,
            "asked": (first + 4, "d2h") in marks,
        }
        real = {"uploaded": "numpy" in where, "printed": "device" in where, "asked": where == {"device"}}
        if "number" in where:
            del said["uploaded"], real["uploaded"]  # a scalar of NumPy may count as either
        out += [f"{text}: {key} {said[key]}" for key in said if said[key] != real[key]]
    return out


@pytest.mark.parametrize("measure", [eager, traced])
def test_results_are_where_the_models_say(measure: Callable[[], dict[str, set[str]]]) -> None:
    found = measure()
    assert len(found) > 300
    assert [each for each in differences(found) if each.partition("(")[0] not in EXCEPTIONS] == []

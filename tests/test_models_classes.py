"""The models against the classes of the libraries: an instance is no array."""

import importlib
import inspect

import pytest

from jaxlint.interp.models import load_models
from snippets import check_marks

MODELS = load_models()
LIBRARIES = ("jax", "jax.lax", "jax.nn", "jax.random", "jax.scipy.stats", "jax.sharding", "jax.tree_util", "optax")


def of_arrays_by_family(module: str) -> list[str]:
    names = (
        MODELS.canonical(f"{module}.{n}")
        for n, v in vars(importlib.import_module(module)).items()
        if inspect.isclass(v) and not n.startswith("_")
    )
    found = ((n, MODELS.function(n)) for n in names)
    return [n for n, model in found if model is not None and model.returns == "device" and not MODELS.exact(n)]


@pytest.mark.parametrize("module", LIBRARIES)
def test_a_family_of_functions_makes_no_array_of_a_class(module: str) -> None:
    pytest.importorskip(module)
    assert of_arrays_by_family(module) == []


def test_what_is_compared_with_an_instance_is_no_array() -> None:
    check_marks("""\
import optax

def count(trees):
    return sum(1 for tree in trees if tree == optax.MaskedNode())

def show(trees):
    for tree in trees:
        print(optax.a_norm_to_come(tree))  # d2h hot
""")

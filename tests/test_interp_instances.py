"""The tables of what isinstance asks for, against what Python, NumPy and JAX answer."""

import importlib
import numbers
import warnings

import pytest

from jaxlint.interp.instances import PROTOCOLS, SIZED, places_of
from jaxlint.kinds import HOST, Kind

jax = pytest.importorskip("jax")
np = pytest.importorskip("numpy")

STANDARD = (
    "builtins", "collections", "collections.abc", "datetime", "decimal", "enum", "fractions", "io", "numbers", "os",
    "pathlib", "types", "typing",
)  # fmt: skip


def arrays() -> list[object]:
    """Arrays with an axis and without, on the device and traced."""
    seen: list[object] = [jax.numpy.ones(3), jax.numpy.float32(1.0), jax.numpy.int32(1)]
    jax.make_jaxpr(lambda *tracers: seen.extend(tracers))(*seen)
    assert len(seen) == 6
    return seen


@pytest.mark.parametrize("module", STANDARD)
def test_arrays_are_of_no_class_of_the_standard_library_but_of_those_that_ask_for_methods(module: str) -> None:
    seen, asked = arrays(), 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for name, cls in vars(importlib.import_module(module)).items():
            try:
                answers = {isinstance(value, cls) for value in seen}
            except TypeError:
                continue  # no class, or one that is not to be asked for
            asked += not name.startswith("_")
            assert answers == {False} or name.startswith("_") or f"{module}.{name}" in PROTOCOLS, name
    assert asked


@pytest.mark.parametrize("full", sorted(SIZED))
def test_every_array_is_sized(full: str) -> None:
    module, _, name = full.rpartition(".")
    assert all(isinstance(value, getattr(importlib.import_module(module), name)) for value in arrays())


@pytest.mark.parametrize("name", ["Complex", "Integral", "Number", "Rational", "Real"])
def test_numbers_of_python_and_of_numpy_are_numbers(name: str) -> None:
    cls = getattr(numbers, name)
    assert isinstance(1, cls)
    assert isinstance(np.int32(1), cls)
    assert not isinstance(np.ones(3), cls)
    assert not any(isinstance(value, cls) for value in arrays())
    assert places_of([f"numbers.{name}"]) == HOST


@pytest.mark.parametrize("name", ["bool_", "complexfloating", "floating", "inexact", "integer", "number"])
def test_classes_of_numpy_take_no_array_of_jax(name: str) -> None:
    assert not any(isinstance(value, getattr(np, name)) for value in arrays())
    assert places_of([f"numpy.{name}"]) == Kind.NUMPY

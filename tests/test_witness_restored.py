"""An instrumented tree is the tree of the source but for the marks: taken out again, they leave what was there before,
with every place, in generated programs and in real modules."""

import ast
import copy
import sysconfig
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlint.witness.plan import Mark
from jaxlint.witness.rewrite import by_place, instrument
from restoring import numbers, restored
from test_witness_rewrite import DIRECTIONS, FETCH, UPLOAD, program
from witnessing import marks

STANDARD = Path(sysconfig.get_paths()["stdlib"])
# Of the standard library, and of the packages that are there.
MODULES = sorted(path for path in STANDARD.glob("*.py") if 4_000 < path.stat().st_size < 60_000)[::6]
FIXTURES = sorted((Path(__file__).resolve().parent.parent / "fixtures").rglob("*.py"))[::8]


def assert_restored(text: str, wanted: tuple[Mark, ...]) -> int:
    """The number of marks that were found."""
    before, tree = ast.parse(text), ast.parse(text)
    new, found = instrument(tree, by_place(wanted, text.split("\n")))
    assert numbers(new) == {*found}
    assert ast.dump(restored(copy.deepcopy(new)), include_attributes=True) == ast.dump(before, include_attributes=True)
    return len(found)


@settings(settings.get_profile("witness"), max_examples=100)
@given(text=program, directions=st.sampled_from(DIRECTIONS), chosen=st.randoms(use_true_random=False))
def test_a_generated_program(text: str, directions: tuple[str, ...], chosen: Random) -> None:
    every = marks(text, directions)
    assert_restored(text, every)
    assert_restored(text, tuple(mark for mark in every if chosen.random() < 0.3))


@pytest.mark.parametrize("path", [*MODULES, *FIXTURES], ids=lambda path: path.name)
def test_a_real_module(path: Path) -> None:
    try:
        text = path.read_text("utf-8")
        ast.parse(text)
    except (SyntaxError, UnicodeDecodeError):
        pytest.skip("no module")
    # Lines as Python counts them.
    if "\f" in text or "\r" in text:
        pytest.skip("lines that end otherwise")
    assert assert_restored(text, marks(text, (FETCH, UPLOAD))) or not marks(text, (FETCH,))
    assert assert_restored(text, marks(text, (FETCH,))[::7]) or not marks(text, (FETCH,))[::7]


def test_without_marks_nothing_changes() -> None:
    text = MODULES[0].read_text("utf-8")
    tree = instrument(ast.parse(text), {})[0]
    assert ast.dump(tree, include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


def test_a_tree_that_differs_elsewhere_is_told() -> None:
    """The test can fail."""
    text = "x = f(a) + 1\ny = 2\n"
    new, _ = instrument(ast.parse(text), by_place(marks(text, (UPLOAD,)), text.split("\n")))
    new.body.pop()
    assert ast.dump(restored(new)) != ast.dump(ast.parse(text))

"""Loops over few items: slices, and what a module or a class displays, under all of its names."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlint.interp.fewness import most_of
from snippets import PRELUDE, check_marks, check_project

few = settings(max_examples=100, deadline=None)
FEW_SLICES = (
    "xs[-1:]", "xs[:1]", "xs[:3]", "xs[:8]", "xs[-8:]", "xs[2:10]", "xs[-5:-2]", "xs[-3:2]", "xs[-2:100]", "xs[:6:2]",
    "xs[5:2]", "xs[i : i + 1]", "xs[i - 1 : i + 1]", "xs[self.i : self.i + 8]", "xs[:2, 1:]", "enumerate(xs[:3])",
    "zip(xs, xs[-2:])", "list(xs)[:3]", "make()[-1:]", "short[1:]", "short[i:]", "short[::-1]", "pair[i:n]",
    "sorted(short)[n:]",
)  # fmt: skip
MANY_SLICES = (
    "xs[1:]", "xs[:9]", "xs[-9:]", "xs[:-1]", "xs[1:-1]", "xs[::2]", "xs[:n]", "xs[i:n]", "xs[i : i + n]",
    "xs[i : i + 9]", "xs[i : i - 1]", "xs[i : j + 1]", "xs[make() : make() + 1]", "xs[:3:-1]", "xs[:3:n]", "xs[:, :3]",
    "xs[1:][:-1]", "long[1:]", "long[n:]", "xs[0]", "short[0]", "xs[:]",
)  # fmt: skip


def sliced(heat: str, loop: str) -> str:
    return (
        f"{PRELUDE}def f(self, xs, i, j, n, make):\n"
        "    short, pair, long = [1, 2, 3], (1, 2), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
        f"    for x in {loop}:\n        print(step(1.0))  # d2h {heat}\n"
    )


@pytest.mark.parametrize("loop", FEW_SLICES)
def test_a_slice_of_few_items_is_no_hot_loop(loop: str) -> None:
    check_marks(sliced("cold", loop))


@pytest.mark.parametrize("loop", MANY_SLICES)
def test_a_slice_of_nobody_knows_how_many_items_is_a_hot_loop(loop: str) -> None:
    check_marks(sliced("hot", loop))


KINDS = """
# kinds.py
from collections import OrderedDict
LIST = ["a", "b", "c"]
SET = {"a", "b"}
DICT = {"a": 1, "b": 2}
TUPLE = ("a", "b")
CODE = (len, print)
PAIRS = [("a", 1), ("b", 2)]
TABLE = {"few": [1, 2, 3], "many": [1, 2, 3, 4, 5, 6, 7, 8, 9]}
MANY = [1, 2, 3, 4, 5, 6, 7, 8, 9]
REPEATED = [0.0] * 100
GROWN = ["a"]
FILLED = {}
EXTENDED = ["a"]
ADDED = ["a"]
def register(name):
    GROWN.append(name)
    FILLED[name] = 1
    ADDED.insert(0, name)
EXTENDED += open("kinds.txt")
EITHER = ("a", "b") if open("kinds.txt").read() else ()
NEITHER = ("a", "b") if open("kinds.txt").read() else tuple(range(100))
class Kinds:
    OWN = ["a", "b"]
def copied():
    return LIST.copy()
# use.py
import copy
import jax
import jax.numpy as jnp
import kinds
import kinds as k
from kinds import LIST as L, MANY as M, GROWN as G, Kinds, register
@jax.jit
def step(x):
    return x + 1
HERE = sorted(L)
class T(Kinds):
    FEW = ["a", "b"]
    def __init__(self):
        self.kinds = kinds.LIST
        self.copy = kinds.LIST.copy()
        self.copy.remove("a")
        self.deep = copy.deepcopy(kinds.LIST)
        self.list = list(L)
        self.sorted = sorted(kinds.SET)
        self.tuple = tuple(k.LIST)
        self.dict = dict(kinds.DICT)
        self.again = list(self.copy)
        self.literals = list(("a", "b"))
        self.many = M.copy()
        self.longer = L.copy()
        self.longer.append("d")
        self.grown = sorted(kinds.GROWN)
        self.filled = dict(kinds.FILLED)
    def run(self, given, data):
        renamed = kinds.LIST
        for x in LOOP:
            print(step(1.0))  # d2h HEAT
T().run(kinds.LIST, load())
register("b")
register(load())
"""
SHORT = (
    "kinds.LIST", "kinds.EITHER", "k.SET", "kinds.DICT", "kinds.DICT.items()", "kinds.TUPLE", "kinds.CODE",
    "kinds.PAIRS", "L",
    "kinds.TABLE", 'kinds.TABLE["few"]', "Kinds.OWN", "self.OWN", "self.FEW", "T.FEW", "self.kinds", "self.copy",
    "self.deep", "self.list", "self.sorted", "self.tuple", "self.dict", "self.dict.values()", "self.again",
    "self.literals", "renamed", "HERE", "zip(self.kinds, data)", "enumerate(self.copy)", "L.copy()", "list(kinds.LIST)",
    "tuple(L)", "sorted(self.kinds)", "reversed(kinds.LIST)", "dict(kinds.DICT)", "set(kinds.LIST)", "self.copy[1:]",
    "sorted(kinds.LIST)[1:]", "list(dict(kinds.DICT).items())",
)  # fmt: skip
LONG = (
    "kinds.MANY", "M", "kinds.NEITHER", 'kinds.TABLE["many"]', "kinds.TABLE[data]", "kinds.REPEATED", "kinds.GROWN",
    "G", "kinds.ADDED",
    "kinds.EXTENDED", "self.many", "self.longer", "self.grown", "given", "given.copy()",
    "list(given)", "data", "sorted(data)", "data.copy()", "zip(data, kinds.MANY)",
)  # fmt: skip


@pytest.mark.parametrize(("loop", "heat"), [*((loop, "cold") for loop in SHORT), *((loop, "hot") for loop in LONG)])
def test_what_a_module_displays_is_short_under_every_name_if_nothing_is_added_to_it(
    loop: str, heat: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_project(KINDS.replace("LOOP", loop).replace("HEAT", heat), tmp_path, monkeypatch)


bounds_ = st.none() | st.integers(-12, 12)


@few
@given(bounds_, bounds_, st.none() | st.integers(-2, 3).filter(bool), st.integers(0, 40))
def test_slices_give_no_more_items_than_is_said_of_them(
    lower: int | None, upper: int | None, step: int | None, length: int
) -> None:
    written = ":".join("" if bound is None else str(bound) for bound in (lower, upper, step))
    node = ast.parse(f"x[{written}]", mode="eval").body
    assert isinstance(node, ast.Subscript)
    assert isinstance(node.slice, ast.Slice)
    most = most_of(node.slice)
    assert most is None or len(range(length)[lower:upper:step]) <= most


@few
@given(st.integers(-12, 12), st.integers(-3, 3), st.integers(-3, 9), st.integers(0, 40))
def test_slices_about_a_name_give_no_more_items_than_is_said_of_them(i: int, a: int, b: int, length: int) -> None:
    node = ast.parse(f"x[i + {a} : i + {b}]" if a % 2 else f"x[i - {-a} : i + {b}]", mode="eval").body
    assert isinstance(node, ast.Subscript)
    assert isinstance(node.slice, ast.Slice)
    most = most_of(node.slice)
    assert most is None or len(range(length)[i + a : i + b]) <= most

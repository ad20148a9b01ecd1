"""Large and strange programs: the analysis ends within seconds, without an error, and still sees what is ordinary."""

import time
from collections.abc import Callable

import pytest

from jaxlint.check import check_text
from snippets import PRELUDE, check, expected, reported

SECONDS = 15.0
"""Of the processor, many times what each of these takes."""
PLAIN = "print(step(1.0))  # d2h\n"


def lines(count: int, line: Callable[[int], str], first: int = 0) -> str:
    return "".join(line(n) for n in range(first, count))


LARGE = {
    # Python 3.12.1 itself compiles no more than 2,990.
    "a chain of 2,900 elif": (
        "def f(k, x):\n    if k == 0:\n        y = 0\n"
        + lines(2_900, lambda n: f"    elif k == {n}:\n        y = {n}\n", 1)
        + "    print(y)\n    print(step(x))  # d2h\n"
    ),
    "2,000 statements": (
        "def f(x):\n    v0 = step(x)\n"
        + lines(2_000, lambda n: f"    v{n} = v{n - 1} * {n}\n", 1)
        + "    print(v1999)  # d2h\n"
    ),
    "2,000 statements in a loop": (
        "def f(x):\n    for i in range(9):\n        x = step(x)\n"
        + lines(2_000, lambda n: f"        v{n} = x * {n}\n")
        + "        print(x)  # d2h hot\n"
    ),
    "2,000 branches": (
        "def f(x, k):\n    x = step(x)\n"
        + lines(2_000, lambda n: f"    if k > {n}:\n        x = x * {n}\n")
        + "    print(x)  # d2h\n"
    ),
    "1,000 cases of a match": (
        "def f(x, k):\n    x = step(x)\n    match k:\n"
        + lines(1_000, lambda n: f"        case {n}:\n            y = {n}\n")
        + "    print(x)  # d2h\n"
    ),
    "a sum of 2,000": "x = step(1.0)\nprint(" + " + ".join(["x"] * 2_000) + ")  # d2h\n",
    "5,000 items of a dict": "D = {" + lines(5_000, lambda n: f"'k{n}': {n}, ") + "}\nprint(D['k7'])\n" + PLAIN,
    "5,000 items of a list": "D = [" + lines(5_000, lambda n: f"{n}, ") + "]\nprint(D[7])\n" + PLAIN,
    "an effect behind 5,000 items of a list": (
        "D = [" + lines(5_000, lambda n: f"-{n}, ") + "\nfloat(step(1.0)),  # d2h\n]\n"
        "D = {" + lines(5_000, lambda n: f"{n}: [{n}], ") + "\nfloat(step(2.0)): 1,  # d2h\n}\n"
        "D = " + lines(5_000, lambda n: f"{n}, ") + "float(step(3.0))  # d2h\n"
    ),
    "a table of 40 by 40 by 40": f"D = {[[[1] * 40] * 40] * 40}\n" + PLAIN,
    "500 functions": (
        lines(500, lambda n: f"def f{n}(x):\n    return f{(n * 7 + 1) % 500}(step(x)) if x.ndim else x\n") + PLAIN
    ),
    "constructors that may be any of 12 classes": (
        "KINDS = []\n\ndef pick(n):\n    return KINDS[n]\n\n"
        + lines(12, lambda n: f"class C{n}:\n    __init__ = pick({n})\n\nKINDS.append(C{n})\n")
        + "C3(step(1.0))\n"
        + PLAIN
    ),
    "200 methods that call each other": (
        "class A:\n"
        + lines(
            200, lambda n: f"    def m{n}(self, x):\n        self.x{n} = x\n        return self.m{n * 3 % 200}(x)\n"
        )
        + PLAIN
    ),
    "a call chain of depth 20": (
        lines(20, lambda n: f"def f{n}(x):\n    return f{n + 1}(x)\n")
        + "def f20(x):\n    print(x)  # d2h\n    return step(x)\nprint(f0(step(1.0)))  # d2h\n"
    ),
    "a call chain of depth 200": (
        lines(200, lambda n: f"def f{n}(x):\n    return f{n + 1}(x)\n")
        + "def f200(x):\n    return x\nf0(1.0)\n"
        + PLAIN
    ),
    "100 classes, each above the next": (
        "class C0:\n    def f(self):\n        return 1\n"
        + lines(100, lambda n: f"class C{n}(C{n - 1}):\n    def f(self):\n        return super().f()\n", 1)
        + "print(C99().f())\n"
        + PLAIN
    ),
    "100 decorators": (
        "def d(f):\n    return lambda x: f(x)\n" + "@d\n" * 100 + "def g(x):\n    return x\ng(1)\n" + PLAIN
    ),
}

DEEP = {
    "90 branches inside one another": (
        "def f(x, k):\n    x = step(x)\n"
        + lines(90, lambda n: "    " * (n + 1) + f"if k > {n}:\n")
        + "    " * 91
        + "print(x)  # d2h\n"
    ),
    "15 loops inside one another": (
        "def f(k):\n    a = b = c = d = 1.0\n"
        + lines(15, lambda n: "    " * (n + 1) + f"for i{n} in range(k):\n")
        + "    " * 16
        + "a, b, c, d = b, c, d, step(1.0)\n"
        + "    " * 16
        + "print(a)  # d2h hot\n"
    ),
    "15 try inside one another": (
        "def f(x):\n    x = step(x)\n"
        + lines(15, lambda n: "    " * (n + 1) + "try:\n")
        + "    " * 16
        + "x = step(x)\n"
        + "".join("    " * n + "except ValueError:\n" + "    " * (n + 1) + "x = 1\n" for n in range(15, 0, -1))
        + "    print(x)  # d2h\n"
    ),
    "60 functions inside one another": (
        lines(60, lambda n: "    " * n + f"def f{n}(x):\n") + "    " * 60 + "return x\n" + PLAIN
    ),
    "150 calls inside one another": "print(" + "step(" * 150 + "1.0" + ")" * 150 + ")  # d2h\n",
    "150 tuples inside one another": "t = " + "(" * 150 + "1" + ",)" * 150 + "\nprint(t)\n" + PLAIN,
    "150 lists inside one another": "t = " + "[" * 150 + "1" + "]" * 150 + "\nprint(t)\n" + PLAIN,
    "150 lambdas inside one another": "f = " + "lambda x: " * 150 + "x\n" + PLAIN,
    "400 attributes after one another": "class A:\n    pass\na = A()\na.a = a\na" + ".a" * 400 + "\n" + PLAIN,
    "300 method calls after one another": (
        "class A:\n    def then(self):\n        return self\nA()" + ".then()" * 300 + "\n" + PLAIN
    ),
    "10 comprehensions inside one another": "y = " + "[" * 10 + "1" + " for v in range(3)]" * 10 + "\n" + PLAIN,
    "a tuple twice in a tuple, 14 times over": "x = 1.0\n" + "x = (x, x)\n" * 14 + PLAIN,
    "a dict in a dict, 60 times over": "x = 1.0\n" + "x = {'a': x, 'b': x}\n" * 60 + PLAIN,
}

STRANGE = {
    "recursion that never ends": "def f(x):\n    return f(x)\nf(1.0)\n" + PLAIN,
    "recursion with a growing argument": "def f(x, n):\n    return f((x, x), n - 1) if n else x\nf(1.0, 9)\n" + PLAIN,
    "recursion with a growing list": (
        "def f(x, n):\n    return f([x, {'a': x}], n - 1) if n else x\nf(1.0, 9)\n" + PLAIN
    ),
    "recursion in an argument": (
        "def a(m, n):\n    if m == 0:\n        return n + 1\n    return a(m - 1, a(m, n - 1))\na(3, 2)\n" + PLAIN
    ),
    "mutual recursion of thirty": (
        lines(
            30,
            lambda n: (
                f"def f{n}(x, k):\n"
                + lines(30, lambda m: f"    if k == {m}:\n        return f{m}((x, {m}), k - 1)\n")
                + "    return x\n"
            ),
        )
        + "f0(1.0, 9)\n"
        + PLAIN
    ),
    "a tree of calls": (
        lines(14, lambda n: f"def f{n}(x):\n    return f{n + 1}((x, 1)), f{n + 1}((x, 2.0))\n")
        + "def f14(x):\n    return x\nf0(1.0)\n"
        + PLAIN
    ),
    "a function applied to itself": "def w(x):\n    return x(x)\nw(w)\n" + PLAIN,
    "a fixpoint combinator": (
        "y = lambda f: (lambda x: x(x))(lambda x: f(lambda v: x(x)(v)))\n"
        "y(lambda g: lambda n: g(n - 1) if n else 1)(3)\n" + PLAIN
    ),
    "a callable wrapped each turn": (
        "from functools import partial\nf = abs\nfor i in range(50):\n    f = jax.jit(partial(f, f, i))\n" + PLAIN
    ),
    "a closure wrapped each turn": (
        "f = abs\nfor i in range(50):\n    f = (lambda g: lambda x: g(x))(f)\nf(1.0)\n" + PLAIN
    ),
    "containers that hold one another": (
        "a, b, c = {}, [], {}\n"
        + lines(300, lambda n: f"a['k{n}'] = b\nb.append(c)\nc['k{n}'] = a\na['x{n}'] = float(step(1.0))  # d2h\n")
        + "for i in range(9):\n    print(a, b)\n"
    ),
    "a list that holds itself": "x = []\nx.append(x)\nfor y in x:\n    x = y\nprint(len(x))\n" + PLAIN,
    "an instance that holds itself": "class A:\n    pass\na = A()\na.a = a\na.a.a.b = a\n" + PLAIN,
    "a class that is its own base": (
        "class A(B):\n    pass\nclass B(A):\n    pass\nclass C(C):\n    pass\nC().x\n" + PLAIN
    ),
    "a module that defines its own builtins": "import builtins\nbuiltins.len = print\nrange = list\n" + PLAIN,
    "a decorator that is no function": "@1\ndef f():\n    pass\n@(lambda g: 3)\ndef g():\n    pass\nf()\n" + PLAIN,
    "names that are never bound": "def f():\n    return a.b[c](*d, **e)\nf()\n" + PLAIN,
    "nothing fits": "a, b = 1\n[c, d], e = 2, 3\nx = 1()()\nfor i in 3:\n    pass\n" + PLAIN,
    "arguments that do not fit": (
        "def f(a, /, b, *, c):\n    return a\nf()\nf(1, 2, 3, 4)\nf(d=1)\nf(*1, **2)\n" + PLAIN
    ),
}


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=name) for table in (LARGE, DEEP, STRANGE) for name, text in table.items()]
)
def test_ends_soon_and_sees_what_is_ordinary(text: str) -> None:
    start = time.process_time()
    report = check(PRELUDE + text)
    assert time.process_time() - start < SECONDS
    assert set(reported(report)) == set(expected(PRELUDE + text))
    assert report.errors == ()
    assert [error for error in report.unanalysed if "calls deep" not in error.message] == []


def test_what_lies_too_many_calls_deep_is_said_once_with_its_line() -> None:
    chain = lines(30, lambda n: f"def f{n}(x):\n    return f{n + 1}(x)\n")
    (note,) = check(PRELUDE + chain + "def f30(x):\n    return x\nf0(1.0)\n").unanalysed
    assert "more than 24 calls deep" in note.message
    assert note.line == PRELUDE.count("\n") + 2 * 24


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = " + "(" * 1_000 + "1" + ")" * 1_000 + "\n", "nested"),
        ("x = " + " + ".join(["1"] * 10_000) + "\n", "not analysed"),
    ],
    ids=["nesting", "chain"],
)
def test_what_is_too_deep_to_follow_is_said_in_one_line(text: str, words: str) -> None:
    report = check(PRELUDE + text + PLAIN)
    (error,) = (*report.errors, *report.unanalysed)
    assert words in error.message
    assert "\n" not in error.message


def test_values_that_nest_in_themselves_stay_bounded() -> None:
    """Tuples and lists of the value before, on alternative paths: what lies deeper than a bound is unknown."""
    lines = ["import jax.numpy as jnp", "x = jnp.ones(3)"]
    lines += ["x = (x, x) if x else [x]"] * 40 + ["x = (x, x) if x[0] else [x, {1: x}]"] * 40
    report = check_text("\n".join(lines) + "\n")
    assert report.errors == report.unanalysed == ()
    assert [finding.span.line for finding in report.findings][:1] == [3]

"""Text that nobody would write: it ends soon, in findings or in an error of one line, and hides nothing beside it.

What `bench/fuzz.py` has found at large is here as one of its kind; a few of the same inputs are tried each time.
"""

import ast
import random
from collections.abc import Callable

import pytest

from jaxlint.interp.engine import Engine
from jaxlint.interp.frames import Frame
from jaxlint.interp.values import Value
from jaxlint.source.positions import Place, Places
from mutants import KINDS, Laws, Mutants, programs
from snippets import PRELUDE, check, expected, reported

LAWS = Laws()
PLAIN = "print(step(1.0))  # d2h\n"
LONG = "9" * 6_000
HUGE = "0x" + "f" * 6_000

# After each of these the ordinary line is still seen.
READ = {
    "characters that turn the direction": 's = "\u202e\u2066 # )x(tnirp\u2069"  # \u200f\u061c\n',
    "names that Python reads as others": "\U0001d535 = step(1.0)\n\u210c = x\nH.x = \u210c\n",
    "an escape code and a bell": 's = "\x1b[2J\x07"  # \x1b]0;title\x07\n',
    "form feeds and vertical tabs": "\x0cs = 1 \x0c\n",
    "line separators that end no line": 's = "\u2028\u2029\x85"  # \u2028 print(1)\n',
    "a byte order mark inside": 's = "\ufeff"\n',
    "many short lines": "x = 1\n" * 1_000 + "\n" * 1_000_100,
    "a string of ten million characters": 's = "' + "a" * 10_000_000 + '"\n',
    "a comment of ten million characters": "# " + "a" * 10_000_000 + "\n",
    "a number of six thousand digits": f"n = {HUGE}\nd = {{n: 1, {HUGE}: step(1.0)}}\nd[n] = d[{HUGE}]\n",
    "arithmetic with enormous numbers": (
        "n = 10 ** 10 ** 10\nm = 1 << 10 ** 12\ns = 'a' * 10 ** 12\nt = [0] * 10 ** 12\nt[10 ** 30 : -(10 ** 30)]\n"
        f"u = (1, 2)[{HUGE}]\nv = 1e400\nw = 1e400 ** 1e400\n"
    ),
    "escapes that Python warns of": (
        "d = {'\\(': 1}\nif d['\\(']:\n    pass\ndef f(x: '\\(', y: 'list[\\d]') -> '\\w':\n    pass\n"
    ),
    "an index from the end of a class": (
        "from typing import List, NamedTuple\nclass A(List[int]):\n    def top(self):\n        return self[-1]\n"
        "class B(NamedTuple):\n    a: int\n    b: int\nB(1, 2)[-1]\nB(1, 2)[-3]\nB(1, 2)[2]\nA().top()\n"
    ),
    "annotations in strings in strings": "def f(x: '\\'\"int\"\\'', y: '((((') -> 'f(':\n    return x\n",
    "comments that say nothing": (
        "# jaxlint: ignore[\n# jaxlint: ignore[]]\n# jaxlint:\n# noqa: JT\n# jaxlint: skip-files\n# jaxlint: hot hot\n"
    ),
}

# These are no programs; the message is one line with a place, and stands alone.
REFUSED = {
    "a null byte": b"x = 1\0\n",
    "a lone surrogate": "x = '\ud800'\n".encode("utf-8", "surrogatepass"),
    "bytes of no encoding": b"x = '\xff\xfe'\n",
    "UTF-16": "x = 1\n".encode("utf-16"),
    "an encoding of host names": b"# coding: idna\n\x82\n",
    "an encoding that is none": b"# coding: zlib\n\x82\n",
    "a decimal number beyond the limit": f"x = {LONG}\n".encode(),
    "ten thousand brackets": b"x = " + b"(" * 10_000 + b"1" + b")" * 10_000 + b"\n",
    "ten thousand open brackets": b"[" * 10_000,
    "ten thousand signs": b"x = " + b"-" * 10_000 + b"1\n",
    "ten thousand lambdas": b"x = " + b"lambda: " * 10_000 + b"1\n",
    "a hundred f-strings in one another": b"f'{" * 100,
    "millions of short statements": b"1\n" * 1_000_100,
    "a thousand levels of indentation": b"".join(b" " * n + b"if x:\n" for n in range(1_000)) + b" " * 1_000 + b"x\n",
}


@pytest.mark.parametrize("name", READ)
def test_the_ordinary_is_seen_beside_the_strange(name: str) -> None:
    text = PRELUDE + PLAIN + READ[name]
    report = check(text)
    assert {mark for mark in reported(report) if mark[2] != "comment"} == set(expected(PRELUDE + PLAIN))
    assert report.errors == report.unanalysed == ()


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_program_is_an_error_of_one_line(name: str) -> None:
    data = b"import jax\n" + REFUSED[name] if not REFUSED[name].startswith(b"# coding") else REFUSED[name] + b"# jax\n"
    assert list(LAWS.broken(data)) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_input_breaks_a_law(kind: Callable[[Mutants, random.Random], str | bytes]) -> None:
    """A few of those that `python bench/fuzz.py inputs` tries by the hundred thousand."""
    mutants = Mutants(0, programs())
    for number in range(40):
        made = kind(mutants, random.Random(number))
        data = made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")
        assert list(LAWS.broken(data)) == [], (kind.__name__, number)


def test_an_input_is_what_its_seed_and_number_say() -> None:
    one, other = (Mutants(seed, programs()) for seed in (1, 1))
    assert [one[number] for number in (5, 3)] == [other[5], other[3]]
    assert one[5] != Mutants(2, programs())[5]


@pytest.mark.parametrize(
    ("data", "law"),
    [
        (b"import jax\nboom()\n", "jaxlint failed"),
        (b"import jax\nprint(jax.numpy.ones(3))\n", "beyond its line"),
    ],
    ids=["a function given up", "a finding beyond its line"],
)
def test_the_laws_can_fail(data: bytes, law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _break_names(monkeypatch, ValueError("x"))
    monkeypatch.setattr(Places, "of", lambda places, node: Place(1, 1, 1, 99))
    assert any(law in broken for broken in LAWS.broken(data))


FAILURES: tuple[BaseException, ...] = (
    RecursionError("deep"), MemoryError(), ValueError("x"), KeyError("x"), IndexError(), TypeError("x"),
    AttributeError("x"), AssertionError(), OverflowError(), ZeroDivisionError(), UnicodeError(), StopIteration(),
    RuntimeError("x"), NotImplementedError(), OSError(5, "x"), EOFError(), ExceptionGroup("x", [ValueError()]),
)  # fmt: skip
WHOLE = PRELUDE + (
    "def early(x):\n    return float(step(x))  # d2h\n\ndef broken(x):\n    boom(step(x))\n    print(step(x))\n\n"
    "def late(x):\n    while step(x) > 1:  # d2h\n        broken(x)\n    return int(step(x))  # d2h\n\n"
    "print(late(step(1.0)))\nprint(step(1.0))  # d2h\n"
)


def _break_names(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """A fault of the interpreter that shows where a name is looked up."""
    real = Engine.expressions[ast.Name]

    def evaluate(frame: Frame, node: ast.AST) -> Value:
        if isinstance(node, ast.Name) and node.id == "boom":
            raise error
        return real(frame, node)

    monkeypatch.setitem(Engine.expressions, ast.Name, evaluate)


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
def test_a_fault_in_one_function_costs_that_function_alone(
    error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its callers, their callers and the module go on."""
    _break_names(monkeypatch, error)
    report = check(WHOLE)
    assert set(reported(report)) == set(expected(WHOLE))
    assert [(e.line, e.message.partition(" was not analysed: ")[0]) for e in report.unanalysed] == [(12, "broken")]


def test_a_fault_in_a_modules_body_costs_that_statement_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    _break_names(monkeypatch, ValueError("x"))
    text = PRELUDE + "boom(step(1.0))\n" + PLAIN + "def f(x):\n    print(step(x))  # d2h\n"
    report = check(text)
    assert set(reported(report)) == set(expected(text))
    (error,) = report.unanalysed
    assert error.message == "<module> was not analysed: jaxlint failed (ValueError: x); please report this"


def test_a_fault_wherever_the_interpreter_works_is_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each construct fails in its turn, then each model of a function at once: the check ends in a report."""

    def fail(*_: object) -> Value:
        raise KeyError("fault")

    for construct in (*Engine.statements, *Engine.expressions):
        with monkeypatch.context() as patched:
            patched.setitem(Engine.statements, construct, fail)
            patched.setitem(Engine.expressions, construct, fail)
            assert check(WHOLE).errors == ()
    for name in list(Engine.handlers):
        monkeypatch.setitem(Engine.handlers, name, fail)
    for text in programs()[:20]:
        assert check(text).errors == ()


def test_who_interrupts_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    _break_names(monkeypatch, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        check(WHOLE)

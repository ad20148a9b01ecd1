"""Marks in the syntax tree: a program with marks at every place does what it does without them, in the same order, with
the same errors at the same places, and no mark is said to be found that is not there."""

import ast
import builtins
import itertools
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import CodeType, FrameType
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxlint.witness import rewrite
from jaxlint.witness.marks import Marks
from jaxlint.witness.plan import Mark, Plan
from jaxlint.witness.records import Recorder
from witnessing import marks

if TYPE_CHECKING:
    from _typeshed import TraceFunction

FETCH, UPLOAD = "device_to_host", "host_to_device"
DIRECTIONS = ((FETCH,), (UPLOAD,), (FETCH, UPLOAD))
FILE = "program.py"
# A value that takes part in everything, and says so. Some truths are false, and `boom` raises.
PRELUDE = """
class Value:
    def __init__(self, name): self.name = name
    def __repr__(self): log(("repr", self.name)); return "<" + self.name + ">"
    def __format__(self, spec): log(("format", self.name, spec)); return self.name + spec
    def __bool__(self): log(("bool", self.name)); return len(self.name) % 3 != 0
    def __call__(self, *args, **kwargs):
        log(("call", self.name, len(args), tuple(kwargs)))
        return Value(self.name + "c")
    def __getitem__(self, key): log(("get", self.name, str(key))); return Value(self.name + "g")
    def __setitem__(self, key, value): log(("set", self.name, str(key), str(value)))
    def __delitem__(self, key): log(("del", self.name, str(key)))
    def __iter__(self): log(("iter", self.name)); return iter([Value(self.name + "0"), Value(self.name + "1")])
    def __enter__(self): log(("enter", self.name)); return self
    def __exit__(self, *what): log(("exit", self.name, what[0] is None))
    def __contains__(self, other): log(("in", self.name)); return True
    def __eq__(self, other): log(("eq", self.name)); return self
    def __hash__(self): return 1
    def m(self, *args, **kwargs): log(("m", self.name, len(args), tuple(kwargs))); return Value(self.name + "m")
    @property
    def p(self): log(("p", self.name)); return Value(self.name + "p")
def say(name): log(("say", name)); return Value(name)
def boom(*args): log("boom"); raise KeyError(len(args))
for _name in ("add", "sub", "mul", "matmul", "mod", "lt", "gt", "le", "ge", "neg", "pos", "iadd"):
    def _method(self, *others, _name=_name):
        log((_name, self.name)); return Value(self.name + _name[0])
    setattr(Value, f"__{_name}__", _method)
"""


# There the failure of an `assert` stands at its comparison or at the whole statement, as the compiler jumps.
ASSERTS_LOOSELY = sys.version_info < (3, 12)


@pytest.fixture(autouse=True)
def _builtins() -> Iterator[None]:
    before = {*vars(builtins)}
    yield
    for name in {*vars(builtins)} - before:
        delattr(builtins, name)


def instrumented(text: str, wanted: tuple[Mark, ...], folder: Path | None) -> tuple[CodeType, set[int], Marks]:
    """The code with marks, those found, and the marks that its calls lead to."""
    found_marks = Marks(Plan({FILE: wanted}, {}, "", "", "sentinel"), Recorder(str(folder or "/nowhere")))
    found_marks.install()
    tree, found = rewrite.instrument(ast.parse(text), rewrite.by_place(wanted, text.split("\n")))
    return compile(tree, FILE, "exec"), {*found}, found_marks


def outcome(code: CodeType) -> tuple[list[object], object]:
    """What a program logs, and how it ends: the error with the places of its frames."""
    log: list[object] = []
    names: dict[str, object] = {"log": log.append, "__name__": "program"}
    exec(PRELUDE, names)
    try:
        exec(code, names)
    except Exception as error:  # noqa: BLE001 a generated program may raise anything
        context: BaseException | None = error
        chain = []
        while context is not None:
            frames: list[tuple[str, int | None, int | None, int | None, int | None]] = [
                (frame.name, frame.lineno, frame.end_lineno, frame.colno, frame.end_colno)
                for frame in traceback.extract_tb(context.__traceback__)
                if frame.filename == FILE
            ]
            if ASSERTS_LOOSELY and isinstance(context, AssertionError):
                frames = [(name, line, None, None, None) for name, line, *_ in frames]
            chain.append((type(context).__name__, str(context), frames))
            context = context.__context__
        return log, chain
    return log, None


def told(code: CodeType, text: str) -> tuple[list[object], object]:
    """The outcome; where the text chains comparisons, a truth that is asked twice in a row counts once: a marked chain
    is a value, which Python asks again where it would else have jumped (docs/confirm.md)."""
    log, end = outcome(code)
    if any(isinstance(node, ast.Compare) and len(node.ops) > 1 for node in ast.walk(ast.parse(text))):
        pairs = zip([None, *log], log, strict=False)
        log = [entry for before, entry in pairs if entry != before or "'bool'" not in repr(entry)]
    return log, end


def assert_same(text: str, wanted: tuple[Mark, ...], *, all_found: bool = True) -> Marks:
    """Also that nothing is left begun."""
    plain = compile(text, FILE, "exec")
    code, found, seen = instrumented(text, wanted, None)
    assert told(code, text) == told(plain, text), text
    assert not all_found or found == {mark.number for mark in wanted}, text
    # What is told by its place has no end; neither has what an error ended.
    assert outcome(code)[1] or not [entry for entry in seen.thread.entries if not entry.patterns], text
    return seen


names = (f"'{first}{second}'" for first, second in itertools.product("abcdefghijk", "abcdefghijk"))
leaf = st.sampled_from([f"say({name})" for name in names])


def several(expression: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Arguments of a call."""
    argument = st.one_of(
        expression, expression.map("*{}".format), expression.map("k={}".format), st.just("**{'z': say('dict')}")
    )

    def ordered(parts: list[str]) -> str:
        plain = [part for part in parts if not part.startswith(("k=", "**"))]
        return ", ".join([*plain, *sorted({part for part in parts if part.startswith("k=")})[:1], *parts_of(parts)])

    def parts_of(parts: list[str]) -> list[str]:
        return [part for part in parts if part.startswith("**")][:1]

    return st.lists(argument, max_size=3).map(ordered)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of expressions."""

    def build(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda made: form.format(*made))

    binary = st.sampled_from(["+", "-", "*", "@", "%"])
    order = st.sampled_from(["<", ">", "<=", ">=", "==", "in"])
    forms = [
        build("({} {} {})", inner, binary, inner),
        build("({}\n  {} {})", inner, binary, inner),
        build("({} {} {})", inner, order, inner),
        build("({} < {} > {})", inner, inner, inner),
        build("({} and {} or {})", inner, inner, inner),
        build("(not {})", inner),
        build("(-{})", inner),
        build("({} if {} else {})", inner, inner, inner),
        build("{}({})", inner, several(inner)),
        build("{}.m({})", inner, several(inner)),
        build("({}\n   .m({}))", inner, several(inner)),
        build("{}.p", inner),
        build("{}[{}]", inner, inner),
        build("{}[{}:{}]", inner, inner, inner),
        build("{}[{}, :, {}]", inner, inner, inner),
        build("{}[{}, ::{}, :]", inner, inner, inner),
        build("{}[:]", inner),
        build("(lambda a={}: say('q') + {})({})", inner, inner, inner),
        build("[{} for x in {} if {}]", inner, inner, inner),
        build("list({} for x in {} if {})", inner, inner, inner),
        build("{{{}: {} for x in {}}}", inner, inner, inner),
        build("({}, *{})", inner, inner),
        build("(w := {})", inner),
        build("('%s %r' % ({}, {}))", inner, inner),
        build("boom({})", inner),
        build("f'{{{}}}'", leaf).map(lambda made: made.replace("'", '"', 1)[:-1] + '"'),
        build('f"{{{}!r:{{{}}}}} {{{}:>{{{}}}}} {{{}=}}"', leaf, leaf, leaf, leaf, leaf),
    ]
    return st.one_of(forms)


expression = st.recursive(leaf, larger, max_leaves=6)


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Statements made of statements."""
    body = st.lists(inner, min_size=1, max_size=2).map("\n".join).map(indented)

    def build(form: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.tuples(*parts).map(lambda made: form.format(*made))

    return st.one_of(
        [
            build("if {}:\n{}\nelse:\n{}", expression, body, body),
            build("while {}:\n{}\n    break\nelse:\n{}", expression, body, body),
            build("for x in say({}):\n{}\n    continue", st.just("'each'"), body),
            build("for say('t')[{}] in say('u'):\n{}", expression, body),
            build("with say('ctx') as y, {}:\n{}", leaf, body),
            build("with say('ctx') as say('z')[{}]:\n{}", leaf, body),
            build("try:\n{}\nexcept KeyError as e:\n{}\nfinally:\n{}", body, body, body),
            build("try:\n{}\nexcept (KeyError, TypeError):\n{}\n    raise", body, body),
            build("def f(a={}, *b, k={}):\n{}\n    return {}\nf()", expression, expression, body, expression),
            build("def g():\n{}\n    yield {}\n    h = yield {}\nlist(g())", body, expression, expression),
            build("@({})\nclass C:\n    a = {}\n{}", leaf, expression, body),
            build(
                "match {}:\n    case 1 if {}:\n{}\n    case 2:\n{}\n    case _:\n        say('no')",
                expression, expression, body, body,
            ),
            build(
                "async def co():\n{}\n    return {}\ntry:\n    co().send(None)\nexcept StopIteration:\n    pass",
                body, leaf,
            ),
        ]
    )  # fmt: skip


simple = st.one_of(
    expression,
    expression.map("n = {}".format),
    st.tuples(expression, expression, expression).map(lambda made: "{}[{}] = {}".format(*made)),
    st.tuples(leaf, leaf, expression).map(lambda made: "{}[0], {}[1] = {}".format(*made)),
    st.tuples(leaf, expression, expression).map(lambda made: "v = {}\nv[{}] += {}".format(*made)),
    st.tuples(leaf, expression).map(lambda made: "del {}[{}]".format(*made)),
    st.tuples(expression, expression).map(lambda made: "assert {}, {}".format(*made)),
    expression.map("raise KeyError({})".format),
)
statement = st.recursive(simple, compound, max_leaves=5)


def compiles(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            compile(text, FILE, "exec")
        except SyntaxError:
            return False
    return True


program = st.lists(statement, min_size=1, max_size=3).map("\n".join).filter(compiles)
settings.register_profile(
    "witness", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


@settings(settings.get_profile("witness"), max_examples=150)
@given(text=program, directions=st.sampled_from(DIRECTIONS))
def test_marks_at_every_place_change_nothing(text: str, directions: tuple[str, ...]) -> None:
    assert_same(text, marks(text, directions), all_found=False)


@settings(settings.get_profile("witness"), max_examples=80)
@given(text=program, directions=st.sampled_from(DIRECTIONS), chosen=st.randoms(use_true_random=False))
def test_some_marks_change_nothing(text: str, directions: tuple[str, ...], chosen: Random) -> None:
    every = marks(text, directions)
    assert_same(text, tuple(mark for mark in every if chosen.random() < 0.3), all_found=False)


@settings(settings.get_profile("witness"), max_examples=60)
@given(text=program, line=st.integers(-1, 8), column=st.integers(0, 12), length=st.integers(0, 12))
def test_what_is_said_to_be_found_is_there(text: str, line: int, column: int, length: int) -> None:
    mark = Mark(0, line, column, line, column + length, "operation", (FETCH,), False, ())
    there = {mark.place for mark in marks(text, (FETCH,)) if mark.form == "operation"}
    try:
        _, found, _ = instrumented(text, (mark,), None)
    except (IndexError, ValueError):
        pytest.fail(f"{mark.place} of {text!r}")
    assert not found or mark.place in there


EXPRESSIONS = (
    "say('a')", "say('a').m()", "say('a').m(say('b'), *say('c'), k=say('d'), **{'y': say('e')})", "say('a')(*say('b'))",
    "say('a') + say('b')", "say('a') @ say('b')", "say('a') < say('b')", "say('a') < say('b') < say('c')",
    "say('a') in say('b')", "-say('a')", "say('a').p", "say('a')[say('b')]", "say('a')[say('b'):]", "say('a')[:]",
    "say('a')[say('b'), :]", "say('a')[..., say('b')]", "say('a')[*say('b')]", "'%s' % say('a')",
    "'%s %s' % (say('a'), say('b'))",
    "f'{say(1.5)}'", "print", "[say('x') for _ in say('i') if say('c')]", "(say('x') for _ in say('i'))",
    "[*(say('x') for _ in say('i') if say('c'))]", "(lambda x: say('l') + x)(say('m'))",
    "say('a') if say('b') else say('c')",
    "say('a') and say('b') or say('c')", "not say('a')", "(y := say('a'))",
)  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_form_of_expression(text: str) -> None:
    text = text.replace("say(1.5)", "say('s')" if '"' in text else 'say("s")')
    for directions in DIRECTIONS:
        wanted = marks(text, directions)
        seen = assert_same(text, wanted)
        assert sum(seen.seen[mark.number].runs for mark in wanted) or not wanted


@pytest.mark.parametrize(
    "text",
    [
        """print(f'{say("a")!r:>{say("b").name and 5}} {say("c"):{say("d")}.{say("e")}} {say("f")=} {say("g")!s}')""",
        "say('a')[say('b')] = say('c')",
        "say('a')[say('b')], say('c')[say('d')] = say('e'), say('f')",
        "x = say('a')\nx[say('b')] += say('c')",
        "for say('a')[say('b')] in say('c'): say('d')",
        "with say('a') as say('b')[say('c')]: say('d')",
        "del say('a')[say('b')]",
        "match say('a'):\n    case 1 if say('bbb'): say('c')\n    case 2: say('d')",
        "match 3:\n    case 1: say('c')\n    case 3 if say('aaa'): pass\n    case 3: say('d')\n    case _: say('e')",
    ],
)
def test_every_form_of_statement(text: str) -> None:
    for directions in DIRECTIONS:
        assert_same(text, marks(text, directions))


@pytest.mark.parametrize(
    "text",
    [
        "def f(n):\n    return (n +\n        (n / 0))\nf(1)",
        "x = [1 for i in [1, 0] if 1 / i]",
        "list(1 for i in [1, 0] if 1 / i)",
        "(lambda n: n.missing(n))(3)",
        "f'{3:>q}'",
        "f'{3!r:q}'",
        "f'{1/0}'",
        "say(*5)",
        "say(1, *5)",
        "say(**5)",
        "say(**{'a': 1}, **{'a': 2})",
        "say()",
        "None < 3",
        "1 < None < 3",
        "3 in 4",
        "-'a'",
        "'%d' % 'a'",
        "[1][5]",
        "[][0] = 3",
        "x = {}\nx[[]] = 3",
        "def g():\n    yield 1\n    say('a').q\nlist(g())",
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError(str(e)) from e",
        "try:\n    1 / 0\nfinally:\n    say('a').q",
        "with say('a'):\n    1 / 0",
        "assert say('aaa'), say('b').name",
        "class A:\n    b = say('x').q",
    ],
)
def test_errors_keep_their_places(text: str) -> None:
    for directions in DIRECTIONS:
        wanted = marks(text, directions)
        code, found, _ = instrumented(text, wanted, None)
        plain, watched = outcome(compile(text, FILE, "exec")), outcome(code)
        assert plain[1] is not None
        assert watched == plain
        assert found == {mark.number for mark in wanted}


def test_columns_are_counted_in_characters() -> None:
    text = "äöü = 'ß' + say('ä').name; print(äöü, say('é').p.name)\n"
    seen = assert_same(text, marks(text, (FETCH,)))
    assert all(told.runs for told in seen.seen.values())


def test_the_operation_keeps_its_place_in_the_code() -> None:
    text = "x = say('a').m(\n    say('b'),\n    k=say('c'))\ny = (x +\n     x)\n"
    wanted = marks(text, (UPLOAD,))
    code, _, _ = instrumented(text, wanted, None)
    positions = {position for position in code.co_positions() if position[0] is not None}
    plain = set(compile(text, FILE, "exec").co_positions())
    assert {(4, 5, 5, 6), (2, 2, 4, 12)} <= positions
    # Nothing that is added stands anywhere else.
    assert {position[:2] for position in positions} <= {position[:2] for position in plain}


def lines_of(code: CodeType) -> list[tuple[str, int]]:
    seen: list[tuple[str, int]] = []

    def tracer(frame: FrameType, event: str, _: object) -> "TraceFunction | None":
        if frame.f_code.co_filename != FILE:
            return None
        if event == "line":
            seen.append((frame.f_code.co_name, frame.f_lineno))
        return tracer

    names: dict[str, object] = {"log": lambda what: None, "__name__": "program"}
    exec(PRELUDE, names)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        exec(code, names)
    finally:
        sys.settrace(before)
    return seen


def test_a_tracer_sees_the_same_lines() -> None:
    text = """
def f(a=say('d')):
    for i in range(2):
        if (i %
                2):
            a = say(
                'x')
        else:
            a = (
                say('y') + say('z'))
    while a:
        a = say('aaa')
    with say('c') as c, \\
            say('d'):
        a = c.m(
            say('e'), k=say(
                'f'))
    try:
        x = [say('g') for i in range(2) if say('h')]
        z = list(say('i') for i in
                 range(3))
        boom(a)
    except KeyError:
        a = say('j')
    finally:
        say('k')
    @say('l')
    @say('m')
    def g():
        return (
            say('n'))
    class C(say):
        pass
    return a
try:
    f()
except TypeError:
    pass
f"{say('o')} {say('p')!r:>{say('q').name.upper() and 9}}"
"""
    text = text.replace("class C(say)", "class C(type(say('r')))")
    for directions in DIRECTIONS:
        code, found, _ = instrumented(text, marks(text, directions), None)
        assert found
        assert lines_of(code) == lines_of(compile(text, FILE, "exec"))


class TestPairs:
    """What is begun is ended: no mark holds longer than its operation."""

    def entries_at(self, text: str) -> list[object]:
        wanted = marks(text, (FETCH,))
        code, _, seen = instrumented(text, wanted, None)
        by_place = {
            mark.number: text.split("\n")[mark.line - 1][mark.column - 1 : mark.end_column - 1] for mark in wanted
        }
        held: list[object] = []
        names: dict[str, object] = {
            "look": lambda *_: held.append([by_place[entry.mark.number] for entry in seen.thread.entries]),
            "f": lambda *_, **__: 3,
            "boom": lambda *_: 1 / 0,
        }
        exec(code, names)
        return held

    @pytest.mark.parametrize(
        ("text", "held"),
        [
            ("f(1)\nlook()", [["look()"]]),
            ("f(look())", [["look()"]]),
            ("f(f, k=look)\nlook", []),
            ("if f(1): look()", [["look()"]]),
            ("if f(1) < f(2) < f(3): look()\nelse: look()", [["look()"]]),
            ("match f(1):\n    case 2: f(3)\n    case 3: look()", [["look()"]]),
            ("match f(1):\n    case 3 if look(): f(3)\n    case 3: look()", [["look()"], ["look()"]]),
            ("x = [1]\nx[f(1) - 3] = f(2)\nlook()", [["look()"]]),
            ("try: boom(1)\nexcept ZeroDivisionError: look()", [["look()"]]),
            ("try: (lambda: boom(1))()\nexcept ZeroDivisionError: look()", [["look()"]]),
            ("g = lambda: boom(1)\ntry:\n    g()\nexcept ZeroDivisionError:\n    look()", [["look()"]]),
            ("g = (boom(1) for _ in [1])\ntry:\n    next(g)\nexcept ZeroDivisionError:\n    look()", [["look()"]]),
            ("def g():\n    yield f(1)\n    look()\nfor x in g(): look()", [["look()"], ["look()"]]),
            ("def g(): look()\nf(g())", [["g()", "look()"]]),
            ("def g():\n    f(1) < f(2) < f(3)\n    return look() or 1\nx = f(g(), 2)", [["g()", "look()"]]),
        ],
    )
    def test_what_holds(self, text: str, held: list[list[str]]) -> None:
        assert self.entries_at(text) == held

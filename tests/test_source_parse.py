"""Text to tree: what is read, what is refused and in which words, and that nothing ends the process."""

import ast
import gc
import sys
import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.errors import SourceError
from jaxlint.source.parse import parse
from jaxlint.source.size import MAX_DEPTH, MAX_TOKENS
from jaxlint.source.stack import on_a_deep_stack
from jaxlint.source.text import SourceText


def tree(text: str) -> ast.Module:
    return parse(SourceText("a.py", text))


def failure(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        tree(text)
    return str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "\n", "   ", "# a", "x", "x = 1\r\ny = 2\r\n", "x\ry", "\f\nx = 1\n", "if x:\n\ty\n"]
)
def test_plain_text_is_read_as_python_reads_it(text: str) -> None:
    assert ast.dump(tree(text), include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


@pytest.mark.parametrize(
    "text",
    [
        "if (n := f(x)) > 1: pass\n",  # 3.8
        "def f(a, /, b, *, c): ...\n",
        "print(f'{x=}')\n",
        "@a[0].b\ndef f(): ...\n",  # 3.9
        "with (open(a) as b, open(c) as d): pass\n",  # 3.10
        "match x:\n  case [1, *rest] | {'a': A(b=1), **more} if rest: pass\n  case _: pass\n",
        "try: pass\nexcept* E: pass\n",  # 3.11
        "def f(*args: *Ts): x[*args]\n",
        "type X[T: int, *Ts, **P] = list[T]\n",  # 3.12
        "def f[T](x: T) -> T: ...\nclass A[T]: ...\n",
        'x = f"{a["b"]} {"\\n".join(c)} {\n d # e\n}"\n',
        "class A[T = int, *Ts = *tuple[int], **P = [int]]: ...\n",  # 3.13
        "try: pass\nexcept A, B: pass\n",  # 3.14
        't"{x!r:>{w}}"\n',
        "x = await f()\nasync with a: pass\n[x async for x in y]\n",  # as in a notebook
        "match = type = case = _ = 1; print(match, type[case])\n",
    ],
)
def test_syntax_newer_than_the_running_python_is_read(text: str) -> None:
    tree(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = (\n", "a.py:2:5: syntax error: '(' was never closed"),
        ("x = = 1\n", "a.py:1:5: syntax error"),
        ("é = é é\n", "a.py:1:7: syntax error"),
        ("a\r\nb c\r\n", "a.py:2:3: syntax error"),
        ("a\rb c\r", "a.py:2:3: syntax error"),
        ("for x in y\n  pass", "a.py:1:11: syntax error: expected ':'"),
        ("if x:\npass\n", "a.py:2:1: syntax error: expected an indented block after 'if' statement on line 1"),
        ("if x:\n    a\n  b\n", "a.py:3:4: syntax error: unindent does not match any outer indentation level"),
        ("y = (1 2)\n", "a.py:1:6: syntax error: perhaps you forgot a comma?"),
        ("x = 'a\n", "a.py:1:5: syntax error: unterminated string literal (detected at line 1)"),
        ("print 'a'\n", "a.py:1:1: syntax error: Missing parentheses in call to 'print'. Did you mean print(...)?"),
        ('import a\nx = (u"a"\n     b"b")\n', "a.py:3:10: syntax error: cannot mix bytes and nonbytes literals"),
        ("x = '\ud800'\n", "a.py:1:6: source code cannot contain the lone surrogate U+D800"),
    ],
)
def test_a_syntax_error_has_its_place_and_reason(text: str, message: str) -> None:
    assert failure(text) == message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("type X = int\nx = = 1\n", "2:5"),
        ("def f[T](x):\n    return 1\n\ny = = 1\n", "4:5"),
        ('x = f"{a["b"]}"\ny = 1 1\n', "2:7"),
        ("try:\n  a\nexcept A, B:\n  pass\nx = = 3", "5:5"),
    ],
)
def test_newer_syntax_is_not_blamed_for_an_error_behind_it(text: str, place: str) -> None:
    assert failure(text).startswith(f"a.py:{place}: syntax error")


NESTS: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "x = " + "(" * n + "1" + ")" * n,
    "lists": lambda n: "x = " + "[" * n + "]" * n,
    "calls": lambda n: "x = " + "f(" * n + ")" * n,
    "fields": lambda n: "x = " + "f'{" * n + "1" + "}'" * n,
    "brackets in a field": lambda n: "x = f'{" + "(" * n + "1" + ")" * n + "}'",
    "brackets behind strings": lambda n: "x = " + "(')', " * n + "1" + ")" * n,
    "brackets behind comments": lambda n: "x = " + "( # )\n" * n + "1" + ")" * n,
    "brackets behind a format": lambda n: 'f"{x:\'>9}" + ' + "(" * n + "'a'" + ")" * n,
    "minuses": lambda n: "x = " + "-" * n + "1",
    "nots": lambda n: "x = " + "not " * n + "1",
    "sums": lambda n: "x = 1" + " + 1" * n,
    "attributes": lambda n: "x = a" + ".b" * n,
    "chained calls": lambda n: "x = a" + ".b()" * n,
    "conditions": lambda n: "x = " + "1 if 1 else " * n + "1",
    "lambdas": lambda n: "x = " + "lambda: " * n + "1",
    "strings": lambda n: "x = " + "'a' " * n,
    "comprehensions": lambda n: "x = [1 " + "for a in b " * n + "]",
    "elifs": lambda n: "if 1:\n pass\n" + "elif 1:\n pass\n" * n,
    "sequence patterns": lambda n: "match x:\n case " + "[" * n + "]" * n + ": pass\n",
    "mapping patterns": lambda n: "match x:\n case " + "{1: " * n + "a" + "}" * n + ": pass\n",
    "targets": lambda n: "x = " * n + "1",
}


@pytest.mark.parametrize("name", NESTS)
def test_what_a_person_writes_is_read(name: str) -> None:
    tree(NESTS[name](8))


# These are long, not deep.
LONG = ("strings", "comprehensions", "targets")


@pytest.mark.parametrize("name", NESTS)
def test_what_is_too_deep_is_refused(name: str) -> None:
    text = NESTS[name](100_000)
    if name in LONG:
        tree(text)
    else:
        assert "\n" not in failure(text)


def test_unclosed_brackets_are_as_dangerous() -> None:
    assert failure("(" * 100_000) == "a.py:1:201: syntax error: too many nested parentheses"
    assert failure("f'{" * 100_000).startswith("a.py:1:")


def test_no_depth_between_the_usual_and_the_absurd_ends_the_process() -> None:
    for nest in NESTS.values():
        for depth in (150, 500, 1500, 2900, 5000, 20_000):
            source = SourceText("a.py", nest(depth))
            try:
                parse(source)
            except SourceError as error:
                check_error(error, source)


def test_the_limit_of_depth_is_exact() -> None:
    """A sum of so many terms is one level deeper than its first number, which is one below the statement."""
    tree(NESTS["sums"](MAX_DEPTH - 1))
    assert failure(NESTS["sums"](MAX_DEPTH)) == "a.py:1:1: more than 2900 expressions in one another, not analysed"
    inside = "é = 1\ndef f():\n  if x:\n    é = " + "a" + ".b" * MAX_DEPTH + "\n"
    assert failure(inside) == "a.py:4:5: more than 2900 expressions in one another, not analysed"


def test_a_long_table_is_no_deep_nest() -> None:
    tree("x = [\n" + "    (1, -2.5, 'a', {'b': a.b.c()}),\n" * 2000 + "]\n")
    tree("x = 1 + 2\n" * 5000)


def test_a_program_too_large_for_memory_is_refused() -> None:
    message = failure("x = [" + "1," * (MAX_TOKENS + 1) + "]")
    assert message == f"a.py: too large: more than {MAX_TOKENS} operators, brackets and lines, not analysed"


def test_what_is_no_code_does_not_make_a_program_large() -> None:
    tree("\n" * (MAX_TOKENS + 1) + "# a\n" * 1000 + "x = '" + "a + b, " * MAX_TOKENS + "'\n")


def test_a_chain_is_read_wherever_it_is_asked_for() -> None:
    """In a thread with a small stack, too."""
    results: list[ast.Module] = []
    # What lies about in cycles is not to be freed there: the deep trees of other tests, say.
    gc.collect()
    gc.disable()
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(tree(NESTS["calls"](150) + "\n" + NESTS["sums"](500))))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
        gc.enable()
    assert len(results) == 1


@pytest.mark.parametrize("error", [RecursionError(), MemoryError()], ids=["deep", "large"])
def test_a_python_that_gives_up_says_so(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(_: str) -> ast.Module:
        raise error

    monkeypatch.setattr(ast, "parse", give_up)
    assert failure("x") == "a.py: nested too deeply or too large for this Python, not analysed"


def test_an_interrupt_is_no_error_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> ast.Module:
        raise KeyboardInterrupt

    monkeypatch.setattr(ast, "parse", interrupt)
    with pytest.raises(KeyboardInterrupt):
        tree("x")


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_as_before(enabled: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        tree("x")
        failure("x x")
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_warnings_about_the_code_are_not_ours(recwarn: pytest.WarningsRecorder) -> None:
    failure("x = '\\d'\nx is 1\ny = = 1\n")
    assert not recwarn.list


def test_work_on_a_deep_stack_returns_raises_and_restores() -> None:
    def depth(n: int) -> int:
        return n and 1 + depth(n - 1)

    limit = sys.getrecursionlimit()
    assert on_a_deep_stack(lambda: depth(5000)) == 5000
    assert on_a_deep_stack(lambda: on_a_deep_stack(lambda: depth(5000))) == 5000
    with pytest.raises(ZeroDivisionError):
        on_a_deep_stack(lambda: 1 // 0)
    assert sys.getrecursionlimit() == limit
    assert threading.stack_size() == 0


def test_no_room_for_a_deep_stack_is_an_error_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert failure("x") == "a.py: nested too deeply or too large for this Python, not analysed"


words = [
    *("a", "1", "'", '"', "'''", "f'", "{", "}", "(", ")", "[", "]", ":", ",", ";", "=", "==", ".", "->", "**", "*"),
    *("@", "#", "\\", "\n", "\r", "\t", "\f", "!", "$", "?", "%", "é", ":=", "\n    ", " ", "if ", "def ", "class "),
    *("match ", "case ", "try", "except ", "lambda ", "async ", "await ", "yield ", "with ", "as ", "for ", " in "),
    *("not ", "type ", "import "),
]


@given(st.lists(st.sampled_from(words), max_size=20).map("".join))
def test_any_text_is_a_tree_or_a_source_error_in_one_line(text: str) -> None:
    source = SourceText("a.py", text)
    try:
        parse(source)
    except SourceError as error:
        check_error(error, source)


def check_error(error: SourceError, source: SourceText) -> None:
    assert "\n" not in error.message
    assert error.line is None or 1 <= error.line <= len(source.line_starts)

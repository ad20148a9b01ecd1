"""Text to tree: what is read, what is refused and in which words, and that nothing ends the process."""

import gc
import sys
import threading
from collections.abc import Callable

import libcst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.errors import SourceError
from jaxlint.source.nesting import MAX_BRACKETS, MAX_CHAIN, MAX_TOKENS, longest_chain
from jaxlint.source.parse import parse
from jaxlint.source.stack import on_a_deep_stack
from jaxlint.source.text import SourceText


def tree(text: str) -> libcst.Module:
    return parse(SourceText("a.py", text))


def failure(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        tree(text)
    return str(caught.value)


def skip_where_libcst_is_older(text: str) -> None:
    """The syntax of Python 3.14 is read by libcst 1.9, and by some before."""
    if ("except A" in text or text.startswith('t"')) and tuple(map(int, libcst.LIBCST_VERSION.split(".")[:2])) < (1, 9):
        pytest.skip("this libcst is older than the syntax")


@pytest.mark.parametrize(
    "text", ["", "\n", "   ", "# a", "x", "x = 1\r\ny = 2\r\n", "x\ry", "\f\nx = 1\n", "if x:\n\ty\n"]
)
def test_plain_text_is_read_and_given_back(text: str) -> None:
    assert tree(text).code == text


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
    skip_where_libcst_is_older(text)
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
    skip_where_libcst_is_older(text)
    assert failure(text).startswith(f"a.py:{place}: syntax error")


def test_what_python_reads_and_libcst_does_not_is_said_to_be_so() -> None:
    assert failure("x = 1\n(a): int = 1\n") == f"a.py:2:4: syntax that libcst {libcst.LIBCST_VERSION} cannot read"


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


@pytest.mark.parametrize("name", NESTS)
def test_what_would_end_the_process_is_refused(name: str) -> None:
    assert failure(NESTS[name](100_000)).endswith("not analysed")


def test_unclosed_brackets_are_as_dangerous() -> None:
    assert failure("(" * 100_000) == "a.py:1:201: more than 200 nested brackets, not analysed"
    assert failure("f'{" * 100_000) == "a.py:1:603: more than 200 nested brackets, not analysed"


def test_the_limits_are_exact() -> None:
    tree(NESTS["lists"](MAX_BRACKETS))
    assert failure(NESTS["lists"](MAX_BRACKETS + 1)) == "a.py:1:205: more than 200 nested brackets, not analysed"
    chained = SourceText("a.py", NESTS["sums"](MAX_CHAIN - 1))
    assert longest_chain(chained) == MAX_CHAIN
    assert failure(NESTS["sums"](MAX_CHAIN)) == "a.py:1:12006: more than 3000 chained operations, not analysed"
    assert failure(NESTS["mapping patterns"](9)) == "a.py:2:39: case pattern nested too deeply, not analysed"
    assert failure(NESTS["elifs"](MAX_CHAIN + 1)) == "a.py: more than 3000 elif branches in one file, not analysed"


def test_a_long_table_is_no_deep_nest() -> None:
    table = "x = [\n" + "    (1, -2.5, 'a', {'b': a.b.c()}),\n" * 2000 + "]\n"
    assert longest_chain(SourceText("a.py", table)) < 20
    assert longest_chain(SourceText("a.py", "x = 1 + 2\n" * 5000)) == 0


def test_a_program_too_large_for_memory_is_refused() -> None:
    message = failure("x = [" + "1," * (MAX_TOKENS + 1) + "]")
    assert message == f"a.py: too large: more than {MAX_TOKENS} operators, brackets and lines, not analysed"


def test_a_chain_is_read_wherever_it_is_asked_for() -> None:
    """In a thread with a small stack, too."""
    results: list[libcst.Module] = []
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(tree(NESTS["calls"](150) + "\n" + NESTS["sums"](500))))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert len(results) == 1


def test_a_python_that_cannot_walk_the_tree_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(libcst.Module, "_codegen_impl", give_up)
    assert failure(NESTS["sums"](300)) == "a.py: nested too deeply for this Python, not analysed"


def test_a_panic_of_the_parser_is_an_error_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    panic = type("PanicException", (BaseException,), {})

    def fail(_: str) -> libcst.Module:
        raise panic("index out of bounds")

    monkeypatch.setattr(libcst, "parse_module", fail)
    assert failure("x") == f"a.py: libcst {libcst.LIBCST_VERSION} cannot read this file: index out of bounds"


def test_an_interrupt_is_no_error_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> libcst.Module:
        raise KeyboardInterrupt

    monkeypatch.setattr(libcst, "parse_module", interrupt)
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
    assert failure("x") == "a.py: too large for the memory of this process"


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

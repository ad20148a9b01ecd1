"""Newer syntax in words that each Python reads: the same program, and nothing moves."""

import ast
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxlint.source.newer import parse_newer
from jaxlint.source.text import SourceText, read_source

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
STANDARD_LIBRARY = sorted(
    file for file in Path(sysconfig.get_path("stdlib")).glob("[a-z]*.py") if file.stat().st_size < 60_000
)
# As it is written, and what is left of it. (A statement that names a type is a nought.)
PAIRS = [
    ("def f[T](x: T) -> T: ...", "def f(x: T) -> T: ..."),
    ("async  def f [ T: (int, str), *Ts, **P, ] (x): await x", "async  def f(x): await x"),
    ("@a\ndef f[\n  T: int,  # ](\n\n  U\n](x=1): pass", "@a\ndef f(x=1): pass"),
    ("def f[T]\\\n(x): pass", "def f(x): pass"),
    ("class A[T = int, *Ts = *tuple[int], **P = [int]]: a: T", "class A: a: T"),
    ("if x:\n  class A [T](\n  B, metaclass=C): a", "if x:\n  class A(\n  B, metaclass=C): a"),
    ("class A[T: f'{a['b']}', U: (a == b, c <= d) = e == f]: pass", "class A: pass"),
    ("type X = int", "0"),
    ("type type[type] = type[type]; type = 1", "0; type = 1"),
    ("if x: type X = (\n  # c\n  int); y\nz", "if x: 0; y\nz"),
    ("type X = 'int'  # type Y = int", "0"),
    ("try: a\nexcept A, B: b", "try: a\nexcept (A, B): b"),
    ("try: a\nexcept* A[1, 2], (B), c.d(e, f),: b\nelse: c", "try: a\nexcept* (A[1, 2], (B), c.d(e, f)): b\nelse: c"),
    ("t'{a!r:>{b}}' + T\"\" + rt'\\{a}' t'{c}'", "(a, f'>{b}') + () + (a, c)"),
    ("f'{a['b']}'", "f'{a[\"b\"]}'"),
    ('f"{f"{f"{f"{1 + 1}"}"}"}"', "f\"\"\"{f'''{f\"{f'{1 + 1}'}\"}'''}\"\"\""),
    ("f'{'\\n'.join(a)}'", "f\"\"\"{'''\n'''.join(a)}\"\"\""),
    ("f'a{\n  b  # }\n  +\n  c\n}d' 'e'", "f'a{b + c}de'"),
    ("'a' f'{b['c']}' \"d{\"\n", "f'a{b[\"c\"]}d{{'"),
    ("print('a' # (\n f'{b['c']:{d['e']}f}'\n)", 'print(f\'a{b["c"]:{d["e"]}f}\')'),
    ("f'{a['b']=}{c = !s}{d=:>5}'", "f'a[\\'b\\']={a[\"b\"]!r}c = {c!s}d={d:>5}'"),
    ("f'''{a[''']''']}\\N{DIGIT ONE}{{\\{b}\"'''", "f'''{a[\"]\"]}1{{\\\\{b}\"'''"),
    ("f'a' \\\n f'{b['c']}'\nf'd'", "f'a{b[\"c\"]}'\nf'd'"),
]
# Python has always read these.
OLD = [
    "f'{a if b else c!r} {(lambda: d)()} {e != f} {g,} {*h, i} {(yield)} {yield}' if 1 else 2",
    "f'{a:{b}{c!s}}}}{{{d == e}{f<=g}{h[i:j]}{{k: l}}' 'm' rf'\\{n}\\N{o}' u'p'",
    "x = [f'''{\na\n+ b}{c:\n>{d}}''' for c in e]; y = b'f{' b\"'\"; z = 'f{' if f'' else f\"\"",
    "def f(x: f'{a}' = f'{b}') -> f'{c}': return f'{x!a:^{w}}'.join(y)\n@g(f'{d}')\nclass A(f'{e}'): f'{f}'",
    "type = match = 1; type(x)[type]; print(type, match)\nexcept_ = a, b\nx = {type: 1, 'except': 2}",
    "try: a\nexcept (A, B): b\nexcept C as d: e\nexcept: f\ntry:\n  a\nexcept* D: b",
]


def dump(tree: ast.AST, *, places: bool = False) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            # Python 3.12 has an empty text behind some fields.
            node.values = [part for part in node.values if not isinstance(part, ast.Constant) or part.value]
        elif isinstance(node, ast.Constant):
            node.kind = None
    return ast.dump(tree, include_attributes=places)


def names(source: SourceText, tree: ast.AST) -> list[tuple[str, str]]:
    """Each name, and what stands at its place."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            start = source.offset(node.lineno, source.character_column(node.lineno, node.col_offset))
            found.append((node.id, source.text[start : start + len(node.id)]))
    return found


@pytest.mark.parametrize(("newer", "older"), PAIRS)
def test_newer_syntax_is_read_in_older_words(newer: str, older: str) -> None:
    source = SourceText("a.py", newer + "\n")
    tree = parse_newer(source)
    assert tree is not None
    assert dump(tree) == dump(ast.parse(older))
    assert all(name == text for name, text in names(source, tree))


def check_same(text: str) -> None:
    """What Python reads is read the same, or has nothing new."""
    source = SourceText("a.py", text)
    mine, pythons = parse_newer(source), ast.parse(text)
    # A newer Python reads types where there are none for an older.
    names_types = any(getattr(n, "type_params", ()) or type(n).__name__ == "TypeAlias" for n in ast.walk(pythons))
    if mine is not None and not names_types:
        # Before, Python tells other places of fields.
        places = sys.version_info >= (3, 12)
        assert dump(mine, places=places) == dump(pythons, places=places)


@pytest.mark.parametrize("text", OLD)
def test_old_syntax_stays_as_it_is(text: str) -> None:
    check_same(text + "\n")


@pytest.mark.parametrize("file", STANDARD_LIBRARY[::4], ids=lambda file: file.name)
def test_the_standard_library_stays_as_it_is(file: Path) -> None:
    check_same(read_source(file).text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("def f[T: = 3](x): pass", None),
        ("def f[1](x): pass", (1, 7)),
        ("def f[T: a b](x): pass", (1, 10)),
        ("def f[T]: pass", None),
        ("type X =", None),
        ("type X = = 1", (1, 10)),
        ("\n\ntype X[T: a b] = int", (3, 11)),
        ("try: a\nexcept A, B as c: b", None),
        ("é = f'{a b}'", (1, 8)),
        ("x = f'{a['b' 'c'}'", None),
        ("x = f'{a]}'", (1, 9)),
        ("x = f'{a][b}'", (1, 9)),
        ("x = f'{}'", (1, 8)),
        ("x = f'{  }'", (1, 8)),
        ("x = f'{!r}'", (1, 8)),
        ("x = f'{a!z}'", (1, 9)),
        ("x = f'a' b'{c}'", (1, 10)),
        ("x = f'{a", (1, 8)),
        ("x = f'''{a['b']}", (1, 5)),
        ("x = 'a", (1, 5)),
    ],
)
def test_what_no_python_reads_is_refused(text: str, place: tuple[int, int] | None) -> None:
    source = SourceText("a.py", text + "\n")
    if place is None:
        with suppress(SyntaxError):
            assert parse_newer(source) is None
    else:
        with pytest.raises(SyntaxError) as caught:
            parse_newer(source)
        assert (caught.value.lineno, caught.value.offset) == place


WORDS = [
    *("f'", 'f"', "f'''", "t'", "'", '"', "'''", "rf'", "{", "}", "{{", "}}", "(", ")", "[", "]", ":", ",", ";", "="),
    *("a", "é", "1", "\\", "\n", "\r", "\f", "#", " ", "\\N{", "\n  ", "def f", "class A", "type X", "type ", "!r"),
    *("try: a\n", "except ", "if a: ", "lambda: ", "async ", "|", "=="),
]


@settings(derandomize=True, max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=15).map("".join))
def test_any_text_is_read_as_it_is_or_refused(text: str) -> None:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        with suppress(SyntaxError):
            parse_newer(SourceText("a.py", text))
    else:
        check_same(text)

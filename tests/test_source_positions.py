"""Places of nodes against the text itself: what stands at the place of an expression is that expression."""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxlint.source.parse import parse
from jaxlint.source.positions import Places
from jaxlint.source.text import SourceText, decode_source

STANDARD_LIBRARY = sorted(
    file for file in Path(sysconfig.get_path("stdlib")).glob("[a-z]*.py") if file.stat().st_size < 60_000
)
FIELDS = Path(__file__).parent / "data" / "fields.txt"


def expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """All expressions but the parts of strings with fields, which are none by themselves."""
    todo = [tree]
    while todo:
        node = todo.pop()
        parts = isinstance(node, ast.JoinedStr)
        for child in ast.iter_child_nodes(node):
            todo.append(child)
            is_format = isinstance(node, ast.FormattedValue) and child is node.format_spec
            if isinstance(child, ast.expr) and not parts and not is_format:
                yield child


def read_again(text: str, node: ast.expr) -> str:
    """The dump of an expression's text, parsed by itself."""
    if isinstance(node, ast.Slice | ast.Starred):
        # These stand in brackets alone.
        tuple_ = sliced(f"_[\n{text}\n,]")
        assert isinstance(tuple_, ast.Tuple)
        return plain(tuple_.elts[0])
    # A tuple in a subscript may have slices, and no parentheses.
    return plain(sliced(f"_[\n{text}\n]") if isinstance(node, ast.Tuple) else parsed(f"(\n{text}\n)"))


def sliced(text: str) -> ast.expr:
    tree = parsed(text)
    assert isinstance(tree, ast.Subscript)
    return tree.slice


def parsed(text: str) -> ast.expr:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        # Newer than this Python.
        tree = parse(SourceText("b.py", text))
    (statement,) = tree.body
    assert isinstance(statement, ast.Expr)
    return statement.value


def plain(node: ast.expr) -> str:
    return ast.dump(node).replace("ctx=Store()", "ctx=Load()").replace("ctx=Del()", "ctx=Load()")


def check(source: SourceText) -> None:
    tree = parse(source)
    places = Places(source, tree)
    for node in expressions(tree):
        text = places.text(node)
        assert read_again(text, node) == plain(node), (node.lineno, text)


def test_a_place() -> None:
    source = SourceText("a.py", "# é\nxé = [f(\n  (a) ) ]\n")
    tree = parse(source)
    places = Places(source, tree)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    assert {node.id: tuple(places.of(node)) for node in names} == {
        "xé": (2, 1, 2, 3),
        "f": (2, 7, 2, 8),
        "a": (3, 4, 3, 5),
    }
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert (places.of(call), places.text(call)) == ((2, 7, 3, 8), "f(\n  (a) )")


def test_a_node_without_a_place_is_an_error() -> None:
    source = SourceText("a.py", "[a for a in b]\n")
    tree = parse(source)
    clause = next(node for node in ast.walk(tree) if isinstance(node, ast.comprehension))
    with pytest.raises(ValueError, match=r"^a comprehension without a place$"):
        Places(source, tree).of(clause)


@pytest.mark.parametrize("file", STANDARD_LIBRARY[::6], ids=lambda file: file.name)
@pytest.mark.parametrize("change", [("\n", "\n"), ("\n", "\r\n"), ("\n", "\r")], ids=["lf", "crlf", "cr"])
def test_expressions_of_the_standard_library(file: Path, change: tuple[str, str]) -> None:
    data = file.read_text(encoding="utf-8").replace(*change).encode()
    check(decode_source(b"\xef\xbb\xbf" + data if change[1] == "\r" else data, "a.py"))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_each_line_ending_ends_a_line(newline: str) -> None:
    text = newline.join(["a", '"""b', 'c"""; d', "e \\", "; f", "g = (", "", "h)", ""])
    source = SourceText("a.py", text)
    tree = parse(source)
    places = Places(source, tree)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    assert {node.id: places.of(node)[:2] for node in names} == {
        "a": (1, 1),
        "d": (3, 7),
        "e": (4, 1),
        "f": (5, 3),
        "g": (6, 1),
        "h": (8, 1),
    }


@pytest.mark.parametrize(
    "text",
    [
        "\fx = 1\nif x:\n  \f  y\n",
        "try: a\nexcept E : b = c\n",
        "try: a\nexcept  ( E )  : b = c\n",
        'f"{a!r  :>{w}}{b}" + c\n',
        'f"{ a = !r }" + c; d\n',
        "try: a\nexcept A , B: c\n",
        "def f():\n    a\n    \\\nfor b in c:\n        d\n\ne = f\n",
        "a\n\\\nb \\\n = c\n  \\\n\nd\n",
        "\f\\\na\r\nb\r\n",
        'é = f"é{é}é{é!r:é>{é}}" "é" f"""é\né{ é = }{é,é}""" + é\n',
        "x = (a for a in b), f(a for a in b), (a, b), [(a), (b, c)][d:e]\nfor i, j in (k, l): pass\n",
        "print(f'''{\na\n:\n{b}}{c\n}''' f'{d}' rf'\\{e}\\N{f}' '{' f'\\N{DIGIT ONE}{{{g}}}')\n",
        'f"{a["b"]}{f"{c["d"]:{e["f"]}}"}" + g["h"]; i\n',
        'x = f"{\n  a # }"\n + b}" + c\n',
        "def f[\n T: (A, B)\n](x: T = y) -> f'{z}': w\nclass C[T]: a\n",
    ],
)
def test_nothing_shifts_what_is_behind_it(text: str) -> None:
    source = SourceText("a.py", text)
    check(source)
    tree = parse(source)
    places = Places(source, tree)
    assert all(places.text(node) == node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def test_a_deep_tree_has_places() -> None:
    text = "x = 1" + " + 1" * 600 + " + y\n"
    source = SourceText("a.py", text)
    tree = parse(source)
    (name,) = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "y")
    assert Places(source, tree).of(name) == (1, len(text) - 1, 1, len(text))


def test_places_in_fields_are_those_written_by_hand() -> None:
    """The same on each Python. Below a line with a string, a caret is under the first character of each name."""
    lines = FIELDS.read_text(encoding="utf-8").splitlines()
    text = "\n".join("" if line.startswith("#^") else line for line in lines) + "\n"
    wanted = {
        (number, column)
        for number, line in enumerate(lines)
        if line.startswith("#^")
        for column, character in enumerate(line, 1)
        if character == "^" and column > 2
    }
    source = SourceText("a.py", text)
    tree = parse(source)
    places = Places(source, tree)
    strings = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {node for string in strings for node in ast.walk(string) if isinstance(node, ast.Name)}
    assert {places.of(node)[:2] for node in inside} == wanted

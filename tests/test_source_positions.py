"""Places of nodes against libcst's PositionProvider, and against the text itself."""

import sysconfig
from collections.abc import Iterator
from pathlib import Path

import libcst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from jaxlint.source.parse import parse
from jaxlint.source.positions import Place, spans_of
from jaxlint.source.text import SourceText, read_source

STANDARD_LIBRARY = sorted(
    file for file in Path(sysconfig.get_path("stdlib")).glob("[a-z]*.py") if file.stat().st_size < 60_000
)


def walk(module: libcst.Module) -> Iterator[libcst.CSTNode]:
    stack: list[libcst.CSTNode] = [module]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children)


def provided(module: libcst.Module) -> dict[libcst.CSTNode, Place]:
    """The same from libcst's own metadata."""
    ranges = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    return {
        node: Place(found.start.line, found.start.column + 1, found.end.line, found.end.column + 1)
        for node, found in ranges.items()
    }


def test_no_nodes_have_no_places() -> None:
    assert spans_of(libcst.parse_module("x = 1\n"), []) == {}


def test_a_place() -> None:
    text = "# é\nxé = [f(\n  (a) ) ]\n"
    source = SourceText("a.py", text)
    module = parse(source)
    names = [node for node in walk(module) if isinstance(node, libcst.Name)]
    places = spans_of(module, names, text)
    assert {node.value: tuple(places[node]) for node in names} == {
        "xé": (2, 1, 2, 3),
        "f": (2, 7, 2, 8),
        "a": (3, 4, 3, 5),
    }
    call = next(node for node in walk(module) if isinstance(node, libcst.Call))
    assert spans_of(module, [call]) == {call: (2, 7, 3, 8)}


def test_a_node_of_another_module_is_an_error() -> None:
    module, other = libcst.parse_module("x"), libcst.parse_module("x")
    with pytest.raises(ValueError, match=r"^a Module without a place in this module$"):
        spans_of(module, [other])


@pytest.mark.parametrize("file", STANDARD_LIBRARY[::6], ids=lambda file: file.name)
def test_all_nodes_of_the_standard_library_at_once(file: Path) -> None:
    source = read_source(file)
    module = parse(source)
    expected = provided(module)
    assert spans_of(module, expected) == expected


@pytest.mark.parametrize("file", STANDARD_LIBRARY[3::12], ids=lambda file: file.name)
@pytest.mark.parametrize("kind", [libcst.BaseExpression, libcst.Call, libcst.BaseStatement, libcst.With])
def test_some_nodes_of_the_standard_library(file: Path, kind: type[libcst.CSTNode]) -> None:
    """What is asked for beside a node does not change its place; a statement ends with its last inner one."""
    source = read_source(file)
    module = parse(source)
    expected = {node: place for node, place in provided(module).items() if isinstance(node, kind)}
    assert spans_of(module, expected) == expected
    for node in [*expected][:: max(len(expected) // 5, 1)]:
        assert spans_of(module, [node]) == {node: expected[node]}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_each_line_ending_ends_a_line(newline: str) -> None:
    text = newline.join(["a", '"""b', 'c"""; d', "e \\", "; f", "g = (", "", "h)", ""])
    module = parse(SourceText("a.py", text))
    names = {node.value: node for node in walk(module) if isinstance(node, libcst.Name)}
    places = spans_of(module, list(names.values()), text)
    assert {name: places[node][:2] for name, node in names.items()} == {
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
        "try: a\nexcept A , B : c\n",
    ],
)
def test_space_that_libcst_forgets_does_not_shift_what_is_behind_it(text: str) -> None:
    if "except A ," in text and tuple(map(int, libcst.LIBCST_VERSION.split(".")[:2])) < (1, 9):
        pytest.skip("this libcst is older than the syntax")
    source = SourceText("a.py", text)
    module = parse(source)
    assert module.code != text
    names = [node for node in walk(module) if isinstance(node, libcst.Name)]
    places = spans_of(module, names, text)
    for node in names:
        begin, end = source.offset(*places[node][:2]), source.offset(*places[node][2:])
        assert text[begin:end] == node.value


def test_a_deep_tree_has_places() -> None:
    text = "x = 1" + " + 1" * 600 + " + y\n"
    module = parse(SourceText("a.py", text))
    name = next(node for node in reversed(list(deep_walk(module))) if isinstance(node, libcst.Name))
    assert spans_of(module, [name], text) == {name: (1, len(text) - 1, 1, len(text))}


def deep_walk(module: libcst.Module) -> Iterator[libcst.CSTNode]:
    statement = module.body[0]
    assert isinstance(statement, libcst.SimpleStatementLine)
    assignment = statement.body[0]
    assert isinstance(assignment, libcst.Assign)
    node: libcst.BaseExpression = assignment.value
    while isinstance(node, libcst.BinaryOperation):
        yield node.right
        node = node.left

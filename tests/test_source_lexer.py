"""The marks of the lexer against Python's own tokenizer."""

import io
import sys
import sysconfig
import tokenize
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.source.lexer import Mark, marks
from jaxlint.source.text import SourceText, read_source

STANDARD_LIBRARY = sorted(Path(sysconfig.get_path("stdlib")).glob("[a-t]*.py"))


def seen(text: str, start: int = 0) -> list[str]:
    return [f"{Mark(kind).name}:{text[begin:end]}" for kind, begin, end in marks(text, start)]


def test_nothing_has_no_marks() -> None:
    assert seen("") == []
    assert seen("x = a + b") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1  # c\n", ["COMMENT:# c", "NEWLINE:\n"]),
        ("x = '# c'\r\n", ["STRING:'# c'", "NEWLINE:\r\n"]),
        ("f(a,\n  b)\r", ["OPEN:(", "SEPARATOR:,", "CLOSE:)", "NEWLINE:\r"]),
        ("x = \\\n1\n", ["NEWLINE:\n"]),
        ("x = \\\r\n1\n", ["NEWLINE:\n"]),
        ("'''a\n# b'''  # c", ["STRING:'''a\n# b'''", "COMMENT:# c"]),
        (r"'\'' # c", [r"STRING:'\''", "COMMENT:# c"]),
        ("'a\\\nb' # c", ["STRING:'a\\\nb'", "COMMENT:# c"]),
        ("'a # b\nc # d", ["STRING:'a # b", "NEWLINE:\n", "COMMENT:# d"]),
        ("'''a # b\nc", ["STRING:'''a # b\nc"]),
        ("'' \"\" ''''''", ["STRING:''", 'STRING:""', "STRING:''''''"]),
        ("r'\\' # '", ["STRING:'\\' # '"]),
        ("x) # c\n", ["COMMENT:# c", "NEWLINE:\n"]),
        ("$ ? ! \\ x # c", ["COMMENT:# c"]),
        ("elif'a # b':", ["STRING:'a # b'"]),
        ("xf'a{b}'", ["STRING:'a{b}'"]),
    ],
)
def test_marks(text: str, expected: list[str]) -> None:
    assert seen(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f'a{b}c'", ["STRING:a", "OPEN:{", "CLOSE:}", "STRING:c"]),
        ("f'{{#}}' # c", ["STRING:{{#}}", "COMMENT:# c"]),
        ("f'{a[\"#\"]}'", ["STRING:", "OPEN:{", "OPEN:[", 'STRING:"#"', "CLOSE:]", "CLOSE:}", "STRING:"]),
        ("f'{a['#']}'", ["STRING:", "OPEN:{", "OPEN:[", "STRING:'#'", "CLOSE:]", "CLOSE:}", "STRING:"]),
        (
            "f'{a:#>{w}}' # c",
            ["STRING:", "OPEN:{", "STRING:#>", "OPEN:{", "CLOSE:}", "STRING:", "CLOSE:}", "STRING:", "COMMENT:# c"],
        ),
        ("f'{a:\"}' # c", ["STRING:", "OPEN:{", 'STRING:"', "CLOSE:}", "STRING:", "COMMENT:# c"]),
        ("f'{a[1:2]}'", ["STRING:", "OPEN:{", "OPEN:[", "CLOSE:]", "CLOSE:}", "STRING:"]),
        ("f'''{\na # c\n}'''", ["STRING:", "OPEN:{", "COMMENT:# c", "CLOSE:}", "STRING:"]),
        ("rf'\\{a}'", ["STRING:\\", "OPEN:{", "CLOSE:}", "STRING:"]),
        ("t'{f'{a}'}'", ["STRING:", "OPEN:{", "STRING:", "OPEN:{", "CLOSE:}", "STRING:", "CLOSE:}", "STRING:"]),
        ("f'{a:x' # c", ["STRING:", "OPEN:{", "STRING:x", "CLOSE:", "COMMENT:# c"]),
        ("f'a\nb' # c", ["STRING:a", "NEWLINE:\n", "STRING:' # c"]),
    ],
)
def test_marks_of_formatted_strings(text: str, expected: list[str]) -> None:
    assert seen(text) == expected


def test_marks_from_a_place_on() -> None:
    assert seen("# a\n# b", 4) == ["COMMENT:# b"]


def python_marks(source: SourceText) -> Iterator[tuple[int, str, str]]:
    """The same marks, but those of strings, from the tokens of the running Python."""
    for token in tokenize.generate_tokens(io.StringIO(source.text, newline="").readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], "COMMENT", token.string
        elif token.type == tokenize.OP and token.string in "([{":
            yield token.start[0], "OPEN", token.string
        elif token.type == tokenize.OP and token.string in ")]}":
            yield token.start[0], "CLOSE", token.string
        elif token.type == tokenize.OP and token.string in ",;":
            yield token.start[0], "SEPARATOR", token.string


@pytest.mark.skipif(sys.version_info < (3, 12), reason="its tokenizer does not look into f-strings")
@pytest.mark.parametrize("file", STANDARD_LIBRARY[::6], ids=lambda file: file.name)
def test_the_standard_library_with_formatted_strings(file: Path) -> None:
    compare(file, {Mark.COMMENT, Mark.OPEN, Mark.CLOSE, Mark.SEPARATOR})


@pytest.mark.parametrize("file", STANDARD_LIBRARY[::3], ids=lambda file: file.name)
def test_the_comments_of_the_standard_library(file: Path) -> None:
    compare(file, {Mark.COMMENT})


def compare(file: Path, kinds: set[Mark]) -> None:
    source = read_source(file)
    names = {kind.name for kind in kinds}
    expected = [mark for mark in python_marks(source) if mark[1] in names]
    found = [
        (source.place(begin)[0], Mark(kind).name, source.text[begin:end])
        for kind, begin, end in marks(source.text)
        if Mark(kind).name in names
    ]
    assert found == expected


@given(st.lists(st.sampled_from([*"ab\n\r\\#'\"({[]}),;:fr!", "'''", '"""', "f'", 'rf"', "{{"]), max_size=25))
def test_any_text_has_marks_in_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    end = 0
    for _, begin, mark_end in islice(marks(text), 1000):
        assert end <= begin <= mark_end <= len(text)
        end = mark_end


def test_a_long_text_without_marks_takes_no_time() -> None:
    assert seen("a" * 1_000_000) == []
    assert seen("a " * 300_000 + "$ ") == []
    assert len(seen("'" * 300_001)) > 0
    assert len(seen("f'{" * 100_000)) > 0

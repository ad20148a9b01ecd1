"""Bytes to text and back, and the columns of characters and of bytes."""

import ast
import encodings.aliases
import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.errors import SourceError
from jaxlint.sites import Span
from jaxlint.source.text import MAX_BYTES, SourceText, checked_source, decode_source, read_source

CODECS_WITHOUT_ALIAS = ("raw_unicode_escape", "unicode_escape", "undefined", "utf_8_sig", "idna", "punycode")
lines_of_text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)


def failure(data: bytes) -> str:
    with pytest.raises(SourceError) as caught:
        decode_source(data, "a.py")
    return str(caught.value)


def test_an_empty_file() -> None:
    source = decode_source(b"", "a.py")
    assert (source.text, source.encoding, source.bom, source.line_starts, source.newline) == (
        "",
        "utf-8",
        False,
        (0,),
        "\n",
    )
    assert source.line(1) == ""
    assert source.encode("") == b""


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("# é\n".encode(), "utf-8"),
        (b"# coding: latin-1\n# \xe9\n", "latin-1"),
        (b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\n# \xe9\n", "latin-1"),
        (b"# vim: set fileencoding=cp1252 :\n# \x80\n", "cp1252"),
        (b"# coding: latin-1\r# \xe9\r", "latin-1"),
        (b"\n# coding: latin-1\n# \xe9\n", "latin-1"),
        (b"# coding: utf8\n", "utf-8"),
        (b"# -*- coding: UTF-8-unix -*-\n", "utf-8"),
        (b"# -*- coding: latin-1-dos -*-\n", "latin-1"),
        (b"x = 1\n# coding: latin-1\n", "utf-8"),
        (b"\n\n# coding: latin-1\n", "utf-8"),
        (b"x = 'coding: latin-1'\n", "utf-8"),
        (b'# coding: iso-2022-jp\n# \x1b$B$"\x1b(B\n', "iso-2022-jp"),
    ],
)
def test_the_encoding_is_the_declared_one(data: bytes, encoding: str) -> None:
    source = decode_source(data, "a.py")
    assert source.encoding == encoding
    assert source.encode(source.text) == data
    assert source.exact


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfx = 1\n", b"\xef\xbb\xbf# coding: utf-8\n", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_no_text_and_is_kept(data: bytes) -> None:
    source = decode_source(data, "a.py")
    assert source.bom
    assert source.text == data[3:].decode()
    assert source.encode(source.text) == data


def test_a_stateful_encoding_may_not_give_the_same_bytes() -> None:
    source = decode_source(b"# coding: iso-2022-jp\n# \x1b(B\x1b(B\n", "a.py")
    assert not source.exact


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x\ny = '\xff'\n", "a.py:2:6: byte 0xff is not utf-8 and no other encoding is declared"),
        ("x\r\n# é ".encode() + b"\xe9\n", "a.py:2:5: byte 0xe9 is not utf-8 and no other encoding is declared"),
        (b"\xef\xbb\xbfx = \xff\n", "a.py:1:5: byte 0xff is not utf-8 and no other encoding is declared"),
        (b"# coding: ascii\n# \xe9\n", "a.py:2:3: byte 0xe9 is not ascii"),
        (b"# coding: nonsense\n", "a.py:1:11: unknown encoding 'nonsense'"),
        (b"#!x\n# coding=nonsense\n", "a.py:2:10: unknown encoding 'nonsense'"),
        (
            b"\xef\xbb\xbf# coding: latin-1\n",
            "a.py:1:11: declares the encoding 'latin-1' but begins with a UTF-8 byte order mark",
        ),
        (b"# coding: idna\n\xff\n", "a.py:1:11: encoding 'idna' is one of host names, not read as source code"),
        (b"# coding: punycode\n", "a.py:1:11: encoding 'punycode' is one of host names, not read as source code"),
        (b"# coding: rot13\n", "a.py:1:1: encoding 'rot13' cannot be used: 'rot13' is not a text encoding"),
        (b"x = 1\ny = '\0'\n", "a.py:2:6: source code cannot contain null bytes"),
        ("x = 1".encode("utf-16"), "a.py:1:1: byte 0xff is not utf-8 and no other encoding is declared"),
    ],
)
def test_what_is_no_text_is_an_error_with_its_place(data: bytes, message: str) -> None:
    assert failure(data).startswith(message)


@given(st.binary(max_size=80) | st.binary(max_size=40).map(lambda data: b"# coding: " + data))
def test_any_bytes_are_text_or_a_source_error(data: bytes) -> None:
    try:
        source = decode_source(data, "a.py")
    except SourceError:
        return
    assert not source.exact or source.encode(source.text) == data


@pytest.mark.parametrize("name", sorted({*encodings.aliases.aliases.values(), *CODECS_WITHOUT_ALIAS}))
@pytest.mark.parametrize("body", [b"x = 1\n", b"\x82\xff\xfe\x00abc", bytes(range(256)), b"\xff" * 9999])
def test_every_declared_encoding_is_text_or_a_source_error(name: str, body: bytes) -> None:
    with suppress(SourceError):
        source = decode_source(f"# coding: {name}\n".encode() + body, "a.py")
        assert not source.exact or source.encode(source.text).endswith(body)


@pytest.mark.skipif(os.name == "nt", reason="no pipes in folders there")
def test_what_became_a_pipe_since_it_was_found_keeps_nobody_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.py")
    with pytest.raises(SourceError, match=r"^a\.py: not a regular file$"):
        read_source(tmp_path / "a.py", "a.py")


def test_the_error_of_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^gone\.py: cannot be read: No such file or directory$"):
        read_source(tmp_path / "gone.py", "gone.py")
    with pytest.raises(SourceError, match=r"^here: cannot be read: Is a directory$"):
        read_source(tmp_path, "here")


def test_a_file_of_unbearable_size_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)
    with pytest.raises(SourceError, match=r"^a\.py: larger than 16 MiB, not read$"):
        read_source(file, "a.py")


def test_a_file_is_shown_by_its_location_if_nothing_else_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x\r\ny\rz\n")
    source = read_source(tmp_path / "a.py")
    assert source.path == (tmp_path / "a.py").as_posix()
    assert source.text == "x\r\ny\rz\n"


def test_lines_end_where_pythons_end_and_nowhere_else() -> None:
    source = SourceText("a.py", "a\fb\r\nc\u2028d\x0be\x85f\rg\n\n")
    assert [source.line(number) for number in range(1, 6)] == ["a\fb", "c\u2028d\x0be\x85f", "g", "", ""]
    assert source.newline == "\r\n"
    with pytest.raises(ValueError, match=r"^a\.py has no line 6$"):
        source.line(6)
    with pytest.raises(ValueError, match=r"^a\.py has no line 0$"):
        source.line(0)


def test_the_excerpt_is_the_first_line() -> None:
    source = SourceText("a.py", "x = [\n  1,\n]\n")
    assert source.excerpt(Span("a.py", 1, 5, 3, 2)) == "x = ["
    assert source.excerpt(Span("a.py", 2, 3, 2, 4)) == "  1,"


def test_text_that_the_encoding_lacks_cannot_be_written() -> None:
    source = decode_source(b"# coding: latin-1\n", "a.py")
    with pytest.raises(SourceError, match=r"^a\.py:2:2: the file's encoding 'latin-1' has no character U\+20AC$"):
        source.encode("# coding: latin-1\nx€")


def test_a_checked_source_is_itself() -> None:
    source = SourceText("a.py", "x")
    assert checked_source(source) is source


@given(st.lists(lines_of_text, max_size=5), st.sampled_from(["\n", "\r\n", "\r"]))
def test_places_and_offsets_are_inverse(lines: list[str], newline: str) -> None:
    source = SourceText("a.py", newline.join(lines))
    for offset, character in enumerate(source.text):
        line, column = source.place(offset)
        if character not in "\r\n":
            assert source.offset(line, column) == offset
            assert source.line(line)[column - 1] == character
    assert source.place(len(source.text)) == (len(source.line_starts), len(source.line(len(source.line_starts))) + 1)


@given(lines_of_text.filter(lambda text: "\r" not in text and "\n" not in text))
def test_byte_columns_are_those_of_the_encoded_line(line: str) -> None:
    source = SourceText("a.py", f"x\n{line}\ny")
    for column in range(1, len(line) + 2):
        byte_column = len(line[: column - 1].encode())
        assert source.byte_column(2, column) == byte_column
        assert source.character_column(2, byte_column) == column
    assert source.character_column(2, len(line.encode()) + 7) == len(line) + 1
    assert source.byte_column(2, len(line) + 7) == len(line.encode())


@given(lines_of_text.filter(lambda text: "\r" not in text and "\n" not in text))
def test_a_byte_inside_a_character_is_that_character(line: str) -> None:
    source = SourceText("a.py", line)
    expected = [column for column, character in enumerate(line, 1) for _ in character.encode()]
    assert [source.character_column(1, byte) for byte in range(len(line.encode()))] == expected


def test_columns_are_those_of_the_syntax_tree_of_python() -> None:
    text = "ä = öü + '😀' + f(ß)\n"
    source = SourceText("a.py", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            column = source.character_column(node.lineno, node.col_offset)
            assert text[column - 1 :].startswith(node.id)
            assert source.byte_column(node.lineno, column) == node.col_offset

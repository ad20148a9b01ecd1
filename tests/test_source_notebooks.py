"""Notebooks: cells as one program, what only IPython reads, and cells written back."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.errors import SourceError
from jaxlint.findings import FileError
from jaxlint.sites import Span
from jaxlint.source.magics import to_python
from jaxlint.source.notebooks import Notebook, decode_notebook, read_notebook, replace_cell_sources
from jaxlint.source.parse import parse
from jaxlint.source.text import LINE_END, SourceText

Json = Mapping[str, object]


def code(*lines: str, metadata: Json | None = None) -> Json:
    return {"cell_type": "code", "metadata": metadata or {}, "outputs": [], "source": list(lines)}


def markdown(text: str) -> Json:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def document(*cells: Json, metadata: Json | None = None) -> bytes:
    whole = {"cells": cells, "metadata": metadata or {}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(whole, indent=1, ensure_ascii=False) + "\n").encode()


def notebook(*cells: Json) -> Notebook:
    return decode_notebook(document(*cells), "a.ipynb")


def test_a_notebook_without_code_is_an_empty_program() -> None:
    assert notebook() == Notebook(SourceText("a.ipynb", ""), (), ())
    assert notebook(markdown("# x")).source.text == ""


def test_code_cells_are_one_program_and_all_cells_are_counted() -> None:
    found = notebook(markdown("a"), code("x = 1\n", "y = 2"), code(), markdown("b"), code("z = 3\n"))
    assert found.source.text == "x = 1\ny = 2\n\nz = 3\n"
    assert [(cell.number, cell.first_line, cell.text) for cell in found.cells] == [
        (2, 1, "x = 1\ny = 2"),
        (3, 3, ""),
        (5, 4, "z = 3\n"),
    ]
    assert [found.locate(line) for line in (1, 2, 3, 4)] == [(2, 1), (2, 2), (3, 1), (5, 1)]
    span = Span("a.ipynb", 4, 1, 4, 2)
    assert found.in_cell(span) == Span("a.ipynb", 1, 1, 1, 2, cell=5)
    assert not found.errors


def test_a_source_may_be_one_string() -> None:
    found = notebook({"cell_type": "code", "source": "x = 1\r\ny = 2"}, {"cell_type": "code"})
    assert found.source.text == "x = 1\r\ny = 2\n\n"


def test_a_cell_that_does_not_parse_hides_no_other() -> None:
    found = notebook(code("x = (\n", "\n", "y"), markdown(""), code("z = 1"), code("w w"), code("a = '\0'"))
    assert found.source.text == "\n\n\nz = 1\n\n\n"
    assert found.errors == (
        FileError("a.ipynb", "syntax error: '(' was never closed", 1, 5, 1),
        FileError("a.ipynb", "syntax error", 1, 3, 4),
        FileError("a.ipynb", "source code cannot contain null bytes", 1, 6, 5),
    )


def test_a_cell_is_a_program_of_its_own() -> None:
    """Two halves of a statement are no statement, though they would be if joined."""
    found = notebook(code("if x:"), code("    y = 1"))
    assert [error.cell for error in found.errors] == [1, 2]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"kernelspec": {"language": "python", "name": "python3"}},
        {"language_info": {"name": "python"}},
        {"language_info": {"name": "Python"}, "kernelspec": {"name": "x"}},
        {"kernelspec": "broken"},
    ],
)
def test_kernels_that_speak_python(metadata: Json) -> None:
    assert decode_notebook(document(code("x = 1"), metadata=metadata), "a.ipynb").cells


@pytest.mark.parametrize("metadata", [{"kernelspec": {"language": "R"}}, {"language_info": {"name": "julia"}}])
def test_kernels_of_other_languages_are_passed_over(metadata: Json) -> None:
    found = decode_notebook(document(code("x <- 1"), metadata=metadata), "a.ipynb")
    assert found == Notebook(SourceText("a.ipynb", ""), (), ())


def test_cells_of_other_languages_are_passed_over() -> None:
    found = notebook(
        code("select *", metadata={"vscode": {"languageId": "sql"}}),
        code("x = 1", metadata={"vscode": {"languageId": "python"}}),
    )
    assert [cell.number for cell in found.cells] == [2]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.ipynb:1:1: not a notebook: Expecting value"),
        (b"{\n x}", "a.ipynb:2:2: not a notebook: Expecting property name enclosed in double quotes"),
        (b"[]", "a.ipynb: not a notebook: no JSON object"),
        (b"{}", "a.ipynb: notebook format None is not read, only 4"),
        (b'{"nbformat": 3, "worksheets": []}', "a.ipynb: notebook format 3 is not read, only 4"),
        (b'{"nbformat": 4}', "a.ipynb: not a notebook: no list of cells"),
        (b'{"nbformat": 4, "cells": [1]}', "a.ipynb: not a notebook: cell 1 is no JSON object"),
        (
            b'{"nbformat": 4, "cells": [{"cell_type": "code", "source": [1]}]}',
            "a.ipynb: not a notebook: the source of cell 1 is no text",
        ),
        (b"\xff", "a.ipynb: not a notebook: 'utf-8' codec can't decode byte 0xff"),
        (b"[" * 100_000, "a.ipynb: not a notebook: maximum recursion depth exceeded"),
    ],
)
def test_a_file_that_is_no_notebook(data: bytes, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        decode_notebook(data, "a.ipynb")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_notebook_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "a.ipynb"
    file.write_bytes(b"\xef\xbb\xbf" + document(code("x = 'é'")))
    assert read_notebook(file, "a.ipynb").source.text == "x = 'é'\n"
    with pytest.raises(SourceError, match=r"^b\.ipynb: cannot be read: No such file or directory$"):
        read_notebook(tmp_path / "b.ipynb", "b.ipynb")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1\n",
        "x = a % b\n",
        "x = (a\n% b)\n",
        "x = a \\\n% b\n",
        "x = '''\n%matplotlib inline\n!ls\n?x\nx?\n'''\n",
        "f(\n    a,\n    # why?\n)\n",
        "x = 1  # why?\n",
        "x != y\n",
        "x = y != z\n",
        "x = {'a': 1 if a != b else 2}\n",
        "x = 'a = !b'\n",
        "x = f'{a!r}'\n",
        "pip in installers\n",
        "cd = ls - l\n",
        "await f(x)\n",
        "x;\n",
    ],
)
def test_python_stays_as_it_is(text: str) -> None:
    assert to_python(text) == text


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("%matplotlib inline\nx = 1\n", "pass\nx = 1\n"),
        ("x = 1\n%load_ext a", "x = 1\npass"),
        ("!pip install 'a\nx = 1\n", "pass\nx = 1\n"),
        ("!ls \\\n  -l\nx = 1\n", "pass\n\nx = 1\n"),
        ("!!ls\n", "pass\n"),
        ("if x:\n    !ls\n    %run a.py\n    y = 1\n", "if x:\n    pass\n    pass\n    y = 1\n"),
        ("if x:\r\n\t!ls\r\n", "if x:\r\n\tpass\r\n"),
        ("files = !ls *.py\n", "files = None\n"),
        ("a, b = !cmd \\\n more\n", "a, b = None\n\n"),
        ("for x in y:\n    out = %timeit -o f(x)\n", "for x in y:\n    out = None\n"),
        ("a.b['c'] = 1\nd=!ls\n", "a.b['c'] = 1\nd=None\n"),
        ("?x\n", "pass\n"),
        ("x?\n", "pass\n"),
        ("a.b[0].c??\n", "pass\n"),
        ("x = 1\n%time?\n", "x = 1\npass\n"),
        ("pip install a\n", "pass\n"),
        ("cd ..\n", "pass\n"),
        ("%time x = f(y)\n", "if 1: x = f(y)\n"),
        ("%time x = f(y,\n  z)\nw\n", "if 1: x = f(y,\n  z)\nw\n"),
        ("  %time x\n", "  if 1: x\n"),
        ("%timeit -n 10 -r3 f(x)\n", "if 1:             f(x)\n"),
        ("%time for x in y: z\n", "pass\n"),
        ("%time %run a.py\n", "pass\n"),
        ("%time\n", "pass\n"),
        ("%%time\nx = 1\n", "\nx = 1\n"),
        ("%%timeit -n 1 y = 2\nx = 1\n%run a\n", "\nx = 1\npass\n"),
        ("\n\n%%capture out\nx = 1", "\n\n\nx = 1"),
        ("%%bash\nls 'a\n", "\n\n"),
        ("%%writefile a.py\nx = 1\r\ny", "\n\r\n"),
        ("%%html", ""),
        ("x = 1\n%%bash\n", "x = 1\npass\n"),
    ],
)
def test_what_only_ipython_reads_gives_way(text: str, python: str) -> None:
    assert to_python(text) == python
    parse(SourceText("a.ipynb", python if not python.startswith("  ") else f"if x:\n{python}"))


cell_text = st.lists(
    st.sampled_from(
        ["%", "!", "?", "x", " = ", "(", ")", "'", '"""', "\\", "\n", "\r\n", "#", "%time ", "%%", " ", "f'{"]
    ),
    max_size=20,
).map("".join)


@given(cell_text)
def test_no_line_is_ever_shifted(text: str) -> None:
    assert LINE_END.findall(to_python(text)) == LINE_END.findall(text)


@given(st.lists(cell_text, max_size=4))
def test_any_cells_are_a_program_that_parses(texts: list[str]) -> None:
    found = notebook(*(code(*text.splitlines(keepends=True)) for text in texts))
    parse(found.source)
    assert [cell.text for cell in found.cells] == texts
    assert len(found.source.line_starts) - 1 == sum(
        len(LINE_END.findall(text if text.endswith("\n") else text + "\n")) for text in texts
    )


DATA = document(
    markdown("# é\n"),
    code("x = 1\n", "y = 2"),
    {
        "cell_type": "code",
        "source": "x = 1\ny = 2",
        "outputs": [{"text": ["source", "\\"]}],
        "metadata": {"b": 1, "a": 2},
    },
    code(),
    code("z"),
)


def test_no_new_text_changes_no_byte() -> None:
    assert replace_cell_sources(DATA, {}) == DATA
    same = {1: "# é\n", 2: "x = 1\ny = 2", 3: "x = 1\ny = 2", 4: "", 5: "z"}
    assert replace_cell_sources(DATA, same) == DATA


def test_new_text_replaces_the_sources_alone() -> None:
    new = {2: "x = 1\nnew = 'ü'\ny = 2\n", 3: "a\nb", 4: "c\nd", 5: "e\nf"}
    written = replace_cell_sources(DATA, new)
    expected = json.loads(DATA)
    expected["cells"][1]["source"] = ["x = 1\n", "new = 'ü'\n", "y = 2\n"]
    expected["cells"][2]["source"] = "a\nb"
    expected["cells"][3]["source"] = ["c\n", "d"]
    expected["cells"][4]["source"] = ["e\n", "f"]
    assert written.decode() == json.dumps(expected, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_layout_of_the_file_stays(indent: int | str | None, end: str, newline: str) -> None:
    def dumped(whole: object) -> bytes:
        return (json.dumps(whole, indent=indent, ensure_ascii=False) + end).replace("\n", newline).encode()

    whole = json.loads(DATA)
    before = dumped(whole)
    for number, text in ((2, "a\nb\nc"), (4, "a\nb"), (5, "a\nb")):
        whole["cells"][number - 1]["source"] = text.splitlines(keepends=True)
    whole["cells"][2]["source"] = "é"
    assert replace_cell_sources(before, {2: "a\nb\nc", 3: "é", 4: "a\nb", 5: "a\nb"}) == dumped(whole)


def test_a_file_of_escapes_keeps_to_escapes() -> None:
    data = json.dumps({"nbformat": 4, "cells": [code("x = 'é'\n", "y")]}).encode()
    assert replace_cell_sources(data, {1: "x = 'ü'\ny"}) == data.replace(b"\\u00e9", b"\\u00fc")


def test_a_line_that_stays_keeps_its_spelling() -> None:
    data = b'{"nbformat": 4, "cells": [{"source": ["\\u0078 = \\"\\/\\"\\n", "y"], "cell_type": "code"}]}'
    assert replace_cell_sources(data, {1: 'x = "/"\nz'}) == data.replace(b'"y"', b'"z"')


def test_a_byte_order_mark_stays() -> None:
    data = b"\xef\xbb\xbf" + DATA
    assert replace_cell_sources(data, {5: "z"}) == data


def test_an_emptied_cell_has_an_empty_list() -> None:
    assert json.loads(replace_cell_sources(DATA, {2: ""}))["cells"][1]["source"] == []


def test_a_cell_that_is_not_there_cannot_be_written() -> None:
    with pytest.raises(ValueError, match=r"^the notebook has no cell 6 with a source$"):
        replace_cell_sources(DATA, {6: "x"})


@given(st.dictionaries(st.integers(1, 5), st.text(max_size=20)))
def test_what_is_written_is_what_is_read(new: dict[int, str]) -> None:
    written = json.loads(replace_cell_sources(DATA, new))
    for number, cell in enumerate(json.loads(DATA)["cells"], 1):
        cell["source"] = new.get(number, "".join(cell["source"]))
        found = written["cells"][number - 1]
        assert {**found, "source": "".join(found["source"])} == cell

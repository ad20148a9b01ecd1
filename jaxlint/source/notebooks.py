"""Jupyter notebooks: the code cells as one program, places in it as places in cells, and new cell texts written back.

Reads notebook format 4. Never runs a cell, never looks at an output, changes nothing but the text of the cells given.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jaxlint.errors import SourceError
from jaxlint.findings import Edit, FileError
from jaxlint.sites import Span
from jaxlint.source.magics import to_python
from jaxlint.source.text import LINE_END, SourceText, checked_source, read_bytes


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell: its number among all cells, from 1, its text as stored, and its first line in the program."""

    number: int
    text: str
    first_line: int


@dataclass(frozen=True, slots=True)
class Notebook:
    """A notebook as one program. A cell that does not parse is an error, and blank in the program."""

    source: SourceText
    cells: tuple[Cell, ...]
    errors: tuple[FileError, ...]

    def locate(self, line: int) -> tuple[int, int]:
        """The number of the cell of a line of the program, and the line in the cell."""
        cell = self.cells[bisect_right(self.cells, line, key=lambda cell: cell.first_line) - 1]
        return cell.number, line - cell.first_line + 1

    def cell_of(self, line: int) -> int:
        """The number of the cell of a line of the program."""
        return self.locate(line)[0]

    def in_cell(self, span: Span) -> Span:
        """A span of the program as one of a cell."""
        cell, line = self.locate(span.line)
        return replace(span, line=line, end_line=span.end_line - span.line + line, cell=cell)

    def in_program(self, span: Span) -> Span:
        """A span of a cell as one of the program."""
        down = next((cell.first_line - 1 for cell in self.cells if cell.number == span.cell), 0)
        return replace(span, line=span.line + down, end_line=span.end_line + down, cell=None)

    def edit_in_cell(self, edit: Edit) -> Edit:
        """An edit of the program as one of a cell."""
        cell, line = self.locate(edit.line)
        return replace(edit, line=line, end_line=edit.end_line - edit.line + line, cell=cell)


def read_notebook(location: Path, path: str | None = None) -> Notebook:
    """The notebook at `location`, shown as `path`. Whatever is wrong with the file is a SourceError."""
    shown = location.as_posix() if path is None else path
    return decode_notebook(read_bytes(location, shown), shown)


def decode_notebook(data: bytes, path: str) -> Notebook:
    """The notebook of a file's bytes. One whose kernel does not speak Python has no cells."""
    # Loaded where it is needed: a report from the cache reads no cell.
    from jaxlint.source.parse import parse

    document = _document(data, path)
    texts: list[str] = []
    cells: list[Cell] = []
    errors: list[FileError] = []
    line = 1
    for number, text in _code_cells(document, path) if _speaks_python(document.get("metadata")) else ():
        program = to_python(text if text.endswith("\n") else text + "\n")
        lines = len(LINE_END.findall(program))
        try:
            parse(checked_source(SourceText(path, program)))
        except SourceError as error:
            errors.append(FileError(path, error.message, error.line, error.column, number))
            program = "\n" * lines
        cells.append(Cell(number, text, line))
        texts.append(program)
        line += lines
    return Notebook(SourceText(path, "".join(texts)), tuple(cells), tuple(errors))


def replace_cell_sources(data: bytes, sources: Mapping[int, str]) -> bytes:
    """A notebook's bytes with new texts for the cells of these numbers; all other bytes stay as they are."""
    text = data.decode("utf-8")
    places = dict(_source_places(text))
    pieces: list[str] = []
    end = len(text)
    for number in sorted(sources, reverse=True):
        if number not in places:
            raise ValueError(f"the notebook has no cell {number} with a source")
        start, stop = places[number]
        pieces += [text[stop:end], _rendered(text, start, stop, sources[number])]
        end = start
    pieces.append(text[:end])
    return "".join(reversed(pieces)).encode("utf-8")


def _document(data: bytes, path: str) -> dict[str, object]:
    try:
        document: object = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise SourceError(path, f"not a notebook: {error.msg}", error.lineno, error.colno) from None
    except (ValueError, RecursionError) as error:
        raise SourceError(path, f"not a notebook: {error}") from None
    if not isinstance(document, dict):
        raise SourceError(path, "not a notebook: no JSON object")
    version = document.get("nbformat")
    if version != 4:
        raise SourceError(path, f"notebook format {version} is not read, only 4")
    return document


def _speaks_python(metadata: object) -> bool:
    """True unless the metadata name another language."""
    names: list[object] = []
    if isinstance(metadata, dict):
        for part, key in (("language_info", "name"), ("kernelspec", "language")):
            described = metadata.get(part)
            names.append(described.get(key) if isinstance(described, dict) else None)
    named = [name.lower() for name in names if isinstance(name, str)]
    return not named or named[0] in ("python", "ipython")


def _code_cells(document: dict[str, object], path: str) -> Iterator[tuple[int, str]]:
    cells = document.get("cells")
    if not isinstance(cells, list):
        raise SourceError(path, "not a notebook: no list of cells")
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            raise SourceError(path, f"not a notebook: cell {number} is no JSON object")
        if cell.get("cell_type") == "code" and _cell_speaks_python(cell.get("metadata")):
            yield number, _joined(cell.get("source", ""), number, path)


def _cell_speaks_python(metadata: object) -> bool:
    """False for a cell that an editor has marked as one of another language."""
    editor = metadata.get("vscode") if isinstance(metadata, dict) else None
    language = editor.get("languageId") if isinstance(editor, dict) else None
    return language in (None, "python")


def _joined(source: object, number: int, path: str) -> str:
    lines = source if isinstance(source, list) else [source]
    text = [line for line in lines if isinstance(line, str)]
    if len(text) < len(lines):
        raise SourceError(path, f"not a notebook: the source of cell {number} is no text")
    return "".join(text)


_decode = json.JSONDecoder().raw_decode


def _source_places(text: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """The number of each cell and the begin and end of its source, in the text of a notebook's JSON."""
    members = {key: begin for key, begin, _ in _members(text, _past_space(text, int(text.startswith("\ufeff"))))}
    for number, (begin, _) in enumerate(_elements(text, members["cells"]), 1):
        for key, start, end in _members(text, begin):
            if key == "source":
                yield number, (start, end)


def _members(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """The keys of the JSON object at an offset, and where their values begin and end."""
    at = _past_space(text, begin + 1)
    while text[at] != "}":
        key, at = _decode(text, at)
        start = _past_space(text, _past_space(text, at) + 1)
        _, end = _decode(text, start)
        yield str(key), start, end
        at = _past_comma(text, end)


def _elements(text: str, begin: int) -> Iterator[tuple[int, int]]:
    """Where the elements of the JSON array at an offset begin and end."""
    start = _past_space(text, begin + 1)
    while text[start] != "]":
        _, end = _decode(text, start)
        yield start, end
        start = _past_comma(text, end)


def _past_space(text: str, at: int) -> int:
    while text[at] in " \t\r\n":
        at += 1
    return at


def _past_comma(text: str, at: int) -> int:
    at = _past_space(text, at)
    return _past_space(text, at + 1) if text[at] == "," else at


def _rendered(text: str, start: int, stop: int, source: str) -> str:
    """A new source in the form of the one at `start`: a string or a list of lines, its indentation, its escapes."""
    escape = text.isascii() and "\\u" in text
    if text[start] != "[":
        return _string(source, escape)
    places = list(_elements(text, start))
    lines = source.splitlines(keepends=True)
    if not lines:
        return "[]"
    if places:
        opening = text[start + 1 : places[0][0]]
        between = text[places[0][1] : places[1][0]] if len(places) > 1 else "," + (opening or " ")
        closing = text[places[-1][1] : stop - 1]
    else:
        opening, between, closing = _layout_of_empty(text, start)
    # A line that stays keeps its spelling, whoever wrote it.
    known = {_decode(text, begin)[0]: text[begin:end] for begin, end in places}
    return f"[{opening}{between.join(known.get(line) or _string(line, escape) for line in lines)}{closing}]"


def _layout_of_empty(text: str, start: int) -> tuple[str, str, str]:
    """What opens, parts and closes a list of lines where the present list is empty, from the indentation of its key."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    indent = line[: len(line) - len(line.lstrip())]
    if not line.lstrip().startswith('"source"') or not indent:
        return "", ", ", ""
    newline = "\r\n" if "\r\n" in text else "\n"
    # The key stands three levels deep: in the document, in the list of cells, in the cell.
    deeper = newline + indent + indent[: max(len(indent) // 3, 1)]
    return deeper, "," + deeper, newline + indent


def _string(line: str, escape: bool) -> str:
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        escape = True
    return json.dumps(line, ensure_ascii=escape)

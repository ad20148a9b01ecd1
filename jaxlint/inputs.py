"""Inputs: the files of one check, read and parsed when they are asked for, and once more for the report's excerpts.

Knows no rule. A file that cannot be read or parsed is remembered as an error; the others go on.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxlint.errors import SourceError
from jaxlint.findings import FileError, Finding, Fix
from jaxlint.sites import Note, Span
from jaxlint.source.files import SourceFile
from jaxlint.source.notebooks import Notebook, decode_notebook
from jaxlint.source.suppressions import Suppressions, read_suppressions
from jaxlint.source.text import SourceText, checked_source, decode_source, read_bytes

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from jaxlint.interp.program import SourceFile as Program

    Parser = Callable[[SourceText], ast.Module]


class Inputs:
    """The files by the path under which each is shown. `given` holds the bytes of those that are no files, `texts` what
    an editor has of others; `parse` is for who keeps trees from check to check."""

    def __init__(
        self,
        given: Mapping[str, bytes] | None = None,
        *,
        texts: Mapping[str, str] | None = None,
        parse: "Parser | None" = None,
    ) -> None:
        self.given = dict(given or {})
        self.texts = texts or {}
        self.parse = parse
        self.files: dict[str, SourceFile] = {}
        self.beside: dict[str, SourceFile] = {}
        self.errors: list[FileError] = []
        self.suppressions: dict[str, Suppressions] = {}
        self.notebooks: dict[str, Notebook] = {}
        # What a check has found, and its user chose not to be told.
        self.silenced: list[Finding] = []
        self._sources: dict[str, SourceText | None] = {}
        self._lines: dict[tuple[str, int | None], Sequence[str]] = {}

    def apart(self) -> "Inputs":
        """Inputs of their own for some of the files."""
        return Inputs(self.given, texts=self.texts, parse=self.parse)

    def take(self, other: "Inputs") -> None:
        """Know also what the inputs of some of the files know, their trees left out."""
        self.files.update(other.files)
        self.beside.update(other.beside)
        self.errors += other.errors
        self.suppressions.update(other.suppressions)
        self.notebooks.update(other.notebooks)
        self.silenced += other.silenced
        self._sources.update(other._sources)

    def add(self, files: Sequence[SourceFile]) -> None:
        """Files to check."""
        self.files.update((file.path, file) for file in files)

    def add_beside(self, files: Sequence[SourceFile]) -> None:
        """Files that are not to be checked, but that one to check may import. What is wrong with them is not told."""
        self.beside.update((file.path, file) for file in files if file.path not in self.files and not file.notebook)

    def roots(self, libraries: Collection[str]) -> list[str]:
        """The files that name a library. Of the others it is only asked whether they can be parsed: what happens in
        them can matter only to a file that imports them."""
        word = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, libraries)))})", re.IGNORECASE)
        named: dict[str, None] = {}
        imported: dict[str, set[str]] = {}
        for path in self.files:
            source = self.source(path)
            if source is None or self.suppressions[path].skip_file:
                continue
            if word.search(source.text):
                named[path] = None
            else:
                imported[path] = _imported_names(source.text) | _given_names(path)
        _close_under_importers(named, imported)
        for path in imported:
            if path not in named:
                self._tree(path)
        return list(named)

    def load(self, path: str) -> "Program | None":
        """A file's syntax tree and heat comments; None where there is none, with the reason among the errors."""
        tree, source = self._tree(path), self.source(path)
        if tree is None or source is None:
            return None
        from jaxlint.interp.program import SourceFile as Program

        return Program(path, tree, source, _Marks(self.suppressions[path]))

    def _tree(self, path: str) -> "ast.Module | None":
        source = self.source(path)
        if source is None:
            return None
        from jaxlint.source.parse import parse

        try:
            return (self.parse or parse)(source)
        except SourceError as error:
            # Whoever asks again gets the same answer, and the error is told once.
            self._sources[path] = None
            if not self.suppressions[path].skip_file:
                self._fail(path, error)
            return None

    def _fail(self, path: str, error: SourceError) -> None:
        if path in self.beside:
            return
        self.errors.append(FileError(path, error.message, error.line, error.column))

    def source(self, path: str) -> SourceText | None:
        """A file's text, read once, and its comments with it; None where it can not be read or parsed."""
        if path not in self._sources:
            self._sources[path] = None
            try:
                source = self._sources[path] = self.read(path)
            except SourceError as error:
                self._fail(path, error)
                return None
            suppressions = self.suppressions[path] = read_suppressions(source)
            if path in self.notebooks and not suppressions.skip_file:
                self.errors.extend(self.notebooks[path].errors)
        return self._sources[path]

    def read(self, path: str) -> SourceText:
        """The text of a file; of a notebook the program that its cells make."""
        if path in self.texts:
            return checked_source(SourceText(path, self.texts[path]))
        data = self.bytes_of(path)
        if not (self.files.get(path) or self.beside[path]).notebook:
            return decode_source(data, path)
        notebook = self.notebooks[path] = decode_notebook(data, path)
        return notebook.source

    def bytes_of(self, path: str) -> bytes:
        """The bytes of a file. Whatever is wrong with it is a SourceError."""
        data = self.given.get(path)
        return read_bytes((self.files.get(path) or self.beside[path]).location, path) if data is None else data

    def programs(self) -> Mapping[str, Notebook]:
        """The programs of those files that are notebooks and can be read."""
        for path, file in self.files.items():
            if file.notebook and path not in self.notebooks:
                with suppress(SourceError):
                    self.read(path)
        return self.notebooks

    def in_cells(self, finding: Finding) -> Finding:
        """A finding as the report shows it: in a notebook, lines count within the cell."""
        notebook = self.notebooks.get(finding.span.path)
        span = finding.span if notebook is None else notebook.in_cell(finding.span)
        fix = finding.fix and self.in_cells_fix(finding.span.path, finding.fix)
        return replace(finding, span=span, notes=tuple(map(self._note_in_cell, finding.notes)), fix=fix)

    def in_cells_fix(self, path: str, fix: Fix) -> Fix:
        """A fix of what was checked as one of the file: in a notebook, of its cells."""
        notebook = self.notebooks.get(path)
        return fix if notebook is None else replace(fix, edits=tuple(map(notebook.edit_in_cell, fix.edits)))

    def in_program(self, span: Span) -> Span:
        """A span as the report has it, as one of the text that was checked: the other way round."""
        notebook = self.notebooks.get(span.path)
        return span if notebook is None else notebook.in_program(span)

    def _note_in_cell(self, note: Note) -> Note:
        notebook = self.notebooks.get(note.path)
        if notebook is None:
            return note
        cell, line = notebook.locate(note.line)
        return replace(note, line=line, cell=cell)

    def lines(self, path: str, cell: int | None) -> Sequence[str]:
        """The lines of a file or of a notebook's cell; none where they cannot be read any more."""
        if (path, cell) not in self._lines:
            try:
                source = self.read(path)
            except (SourceError, KeyError):
                return ()
            if cell is not None:
                texts = {found.number: found.text for found in self.notebooks[path].cells}
                source = SourceText(path, texts.get(cell, ""))
            self._lines[path, cell] = [source.line(number + 1) for number in range(len(source.line_starts))]
        return self._lines[path, cell]


class _Marks(Mapping[int, str]):
    """The heat comments by line, as the interpreter asks for them. A line that is asked for holds a loop or function,
    so that asking makes its comment one of use."""

    def __init__(self, suppressions: Suppressions) -> None:
        self._suppressions = suppressions

    def __getitem__(self, line: int) -> str:
        heat = self._suppressions.heat(line)
        if heat is None:
            raise KeyError(line)
        return heat.name.lower()

    def __iter__(self) -> Iterator[int]:
        return iter(self._suppressions.marks)

    def __len__(self) -> int:
        return len(self._suppressions.marks)


_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+([^\n#]+)|import[ \t]+([^\n#]+))", re.MULTILINE)


def _imported_names(text: str) -> set[str]:
    """The last parts of all dotted names in a file's import statements, as its text tells."""
    found: set[str] = set()
    for match in _IMPORT.finditer(text):
        for part in match.groups():
            for name in re.findall(r"[\w.]+", part or ""):
                found.update(name.split("."))
    return found


def _given_names(path: str) -> set[str]:
    """What pytest imports for a file of tests, whose fixtures may come from there."""
    name = path.rpartition("/")[2]
    return {"conftest"} if name.startswith("test_") or name.endswith("_test.py") else set()


def _close_under_importers(named: dict[str, None], imported: Mapping[str, set[str]]) -> None:
    """A file that imports one that matters can matter itself: it may read what that one computed."""
    stems = {_stem(path) for path in named}
    grown = True
    while grown:
        grown = False
        for path, names in imported.items():
            if path not in named and not stems.isdisjoint(names):
                named[path] = None
                stems.add(_stem(path))
                grown = True


def _stem(path: str) -> str:
    """The last part of the name under which a file is imported."""
    parts = path.rpartition(".")[0].split("/")
    return parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]

"""What the client has open: Python documents and notebooks, and where each is for jaxlint.

A notebook is checked as one, and shown cell by cell: the protocol makes each cell a text document of its own. What was
never saved lies in the folder that is open.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument, Workspace

from jaxlint.server.places import Places
from jaxlint.source.text import SourceText

SUFFIXES = (".py", ".pyi")
NOTEBOOK = ".ipynb"


@dataclass(frozen=True, slots=True)
class Part:
    """A text that the client shows what was found in: a document, or a cell of a notebook with its number, from 1."""

    uri: str
    version: int | None
    text: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What is checked as one, and where it lies; of a notebook, the bytes of a file that holds its cells."""

    location: Path
    parts: tuple[Part, ...]
    notebook: bytes | None = None


class Opened:
    """What is open now. Names are those of `key`: clients differ in what they escape."""

    def __init__(self, workspace: Workspace) -> None:
        self._root = Path(workspace.root_path or Path.cwd())
        if workspace.root_path is None and workspace.folders:
            folder = next(iter(workspace.folders.values()))
            self._root = Path(to_fs_path(folder.uri) or self._root)
        self.documents = {key(document.uri): document for document in workspace.text_documents.values()}
        self.notebooks = {key(notebook.uri): notebook for notebook in workspace.notebook_documents.values()}
        self._notebook_of = {
            key(cell.document): name for name, notebook in self.notebooks.items() for cell in notebook.cells
        }

    def owner(self, uri: str) -> str:
        """The name of what a document is checked with: its notebook, if it is a cell, else itself."""
        return self._notebook_of.get(key(uri), key(uri))

    def names(self) -> list[str]:
        """The names of all that is checked."""
        return [*dict.fromkeys(map(self.owner, self.documents))]

    def target(self, name: str) -> Target | None:
        """What is to be checked under a name; None for what is not open or is no Python of this machine."""
        notebook = self.notebooks.get(name)
        if notebook is not None:
            location = self._notebook_location(notebook.uri)
            return None if location is None else self._notebook_target(location, notebook)
        document = self.documents.get(name)
        location = None if document is None or name in self._notebook_of else self._location(document)
        if document is None or location is None:
            return None
        return Target(location, (Part(document.uri, document.version, document.source),))

    def texts(self) -> Mapping[Path, Part]:
        """The documents that are files or were never saved, by where they lie; without cells."""
        targets = (self.target(name) for name in self.documents if name not in self._notebook_of)
        return {target.location: target.parts[0] for target in targets if target is not None}

    def _notebook_target(self, location: Path, notebook: types.NotebookDocument) -> Target:
        cells: list[Mapping[str, object]] = []
        parts = []
        for number, cell in enumerate(notebook.cells, 1):
            document = self.documents.get(key(cell.document))
            is_code = cell.kind == types.NotebookCellKind.Code
            if document is not None and is_code and document.language_id == "python":
                parts.append(Part(document.uri, document.version, document.source, number))
                cells.append({"cell_type": "code", "source": document.source})
            else:
                cells.append({"cell_type": "markdown"})
        # Lone surrogates stay escapes.
        data = json.dumps({"nbformat": 4, "cells": cells}).encode()
        return Target(location, tuple(parts), data)

    def _location(self, document: TextDocument) -> Path | None:
        uri, is_python = document.uri, document.language_id == "python"
        if uri.startswith("untitled:"):
            return self._root.resolve() / f"{_plain(uri)}.py" if is_python else None
        path = to_fs_path(uri) if uri.startswith("file:") else None
        if path is None or not (path.endswith(SUFFIXES) or (is_python and not path.endswith(NOTEBOOK))):
            return None
        return Path(path).resolve()

    def _notebook_location(self, uri: str) -> Path | None:
        if uri.startswith("untitled:"):
            return self._root.resolve() / f"{_plain(uri)}{NOTEBOOK}"
        path = to_fs_path(uri) if uri.startswith("file:") else None
        return Path(path).resolve().with_suffix(NOTEBOOK) if path else None


class CellText(TextDocument):
    """The text of a cell. Of cells, clients send what changed, even to a server that wants whole documents."""

    encoding = types.PositionEncodingKind.Utf16.value

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """The text as the change makes it."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            source = SourceText(self.uri, self.source)
            places = Places(source, self.encoding)
            begin, end = (source.offset(*places.place(at)) for at in (change.range.start, change.range.end))
            text = source.text[:begin] + change.text + source.text[end:]
            change = types.TextDocumentContentChangeWholeDocument(text)
        super().apply_change(change)


def adopt(workspace: Workspace, items: Iterable[types.TextDocumentItem]) -> None:
    """Cells were opened: from now on their texts are kept as those of cells."""
    encoding = workspace.position_encoding
    for item in items:
        cell = CellText(item.uri, item.text, item.version, item.language_id, sync_kind=types.TextDocumentSyncKind.Full)
        cell.encoding = str(getattr(encoding, "value", encoding))
        for name in [name for name, document in workspace.text_documents.items() if document.uri == item.uri]:
            workspace.text_documents[name] = cell


def key(uri: str) -> str:
    """The name of a document, whatever its client escapes in it."""
    return unquote(uri)


def _plain(uri: str) -> str:
    """The name of a document that was never saved, as the name of a file."""
    return re.sub(r"\W+", "-", unquote(uri).partition(":")[2].partition("?")[0]).strip("-") or "untitled"

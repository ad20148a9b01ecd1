"""An editor for the tests: a client of the language server in a process of its own, over standard input and output."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0


class Editor:
    """One client and its server. `shown` has the last diagnostics of each document, `said` what the server told."""

    def __init__(self) -> None:
        self.client = LanguageClient("editor", "1")
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.versions: dict[str, int | None] = {}
        self.said: list[str] = []
        self.registered: list[types.Registration] = []
        self.process = 0
        self._arrived = asyncio.Condition()

        for method, answer in (
            (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, self._published),
            (types.WINDOW_SHOW_MESSAGE, self._told),
            (types.WINDOW_LOG_MESSAGE, self._told),
            (types.CLIENT_REGISTER_CAPABILITY, self._register),
        ):
            # Pygls marks what it is given, and a method takes no marks.
            self.client.feature(method)(partial(answer))

    async def _published(self, params: types.PublishDiagnosticsParams) -> None:
        async with self._arrived:
            self.shown[params.uri] = list(params.diagnostics)
            self.versions[params.uri] = params.version
            self._arrived.notify_all()

    async def _told(self, params: types.ShowMessageParams | types.LogMessageParams) -> None:
        async with self._arrived:
            self.said.append(params.message)
            self._arrived.notify_all()

    async def _register(self, params: types.RegistrationParams) -> None:
        self.registered += params.registrations

    def open(self, path: Path, text: str | None = None) -> None:
        """Opens a file with what it holds, or with a text that is not saved."""
        shown = path.read_text("utf-8") if text is None else text
        item = types.TextDocumentItem(path.as_uri(), "python", 1, shown)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, path: Path, text: str, version: int) -> None:
        """Makes the text of an open file another one."""
        document = types.VersionedTextDocumentIdentifier(version, path.as_uri())
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def open_notebook(self, uri: str, *cells: tuple[str, str, str]) -> None:
        """Opens a notebook; of each cell its name, its language and its text."""
        kinds = {"markdown": types.NotebookCellKind.Markup}
        made = [types.NotebookCell(kinds.get(kind, types.NotebookCellKind.Code), name) for name, kind, _ in cells]
        texts = [types.TextDocumentItem(name, kind, 1, text) for name, kind, text in cells]
        document = types.NotebookDocument(uri, "jupyter-notebook", 1, made)
        self.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, texts))

    def change_notebook(self, uri: str, version: int, cells: types.NotebookDocumentCellChanges) -> None:
        """Changes the cells of a notebook, or what is in them."""
        document = types.VersionedNotebookDocumentIdentifier(version, uri)
        change = types.NotebookDocumentChangeEvent(cells=cells)
        self.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(document, change))

    def save(self, path: Path) -> None:
        """Says that a file was saved."""
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(_named(path)))

    def close(self, path: Path) -> None:
        """Closes a file."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(_named(path)))

    async def diagnostics(self, path: Path | str, version: int | None = 1) -> list[types.Diagnostic]:
        """What is shown of a version of a file, as soon as it is."""
        uri = _named(path).uri
        async with self._arrived:
            arrived = self._arrived.wait_for(lambda: uri in self.shown and self.versions[uri] == version)
            await asyncio.wait_for(arrived, PATIENCE)
        return self.shown[uri]

    async def next(self, path: Path) -> list[types.Diagnostic]:
        """What is shown of a file the next time."""
        self.shown.pop(path.as_uri(), None)
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: path.as_uri() in self.shown), PATIENCE)
        return self.shown[path.as_uri()]

    async def message(self) -> str:
        """The first thing that the server tells."""
        async with self._arrived:
            await asyncio.wait_for(self._arrived.wait_for(lambda: self.said), PATIENCE)
        return self.said.pop(0)

    async def hover(self, path: Path | str, line: int, character: int) -> types.Hover | None:
        """What is told of a place, in lines and columns from 0."""
        position = types.Position(line, character)
        return await self.client.text_document_hover_async(types.HoverParams(_named(path), position))

    async def actions(self, path: Path | str, line: int, character: int) -> list[types.CodeAction]:
        """What can be done at a place, in lines and columns from 0."""
        here = types.Position(line, character)
        params = types.CodeActionParams(_named(path), types.Range(here, here), types.CodeActionContext([]))
        answer = await self.client.text_document_code_action_async(params)
        return [action for action in answer or () if isinstance(action, types.CodeAction)]


def _named(path: Path | str) -> types.TextDocumentIdentifier:
    return types.TextDocumentIdentifier(path if isinstance(path, str) else path.as_uri())


@asynccontextmanager
async def editor(folder: Path, encodings: list[str] | None = None) -> AsyncIterator[Editor]:
    """An editor in which a folder is open; `encodings` are the ways to count columns that it offers."""
    made = Editor()
    client = made.client
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path}
    await client.start_io(sys.executable, "-m", "jaxlint", "server", "--stdio", env=environment)
    assert client._server is not None
    made.process = client._server.pid
    offered = [types.PositionEncodingKind(encoding) for encoding in encodings or ()]
    general = types.GeneralClientCapabilities(position_encodings=offered or None)
    watching = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    capabilities = types.ClientCapabilities(
        general=general, workspace=types.WorkspaceClientCapabilities(did_change_watched_files=watching)
    )
    workspace = [types.WorkspaceFolder(folder.as_uri(), folder.name)]
    try:
        await client.initialize_async(
            types.InitializeParams(capabilities, process_id=os.getpid(), workspace_folders=workspace)
        )
        client.initialized(types.InitializedParams())
        yield made
    finally:
        await asyncio.wait_for(client.shutdown_async(None), PATIENCE)
        client.exit(None)
        await asyncio.wait_for(client.stop(), PATIENCE)  # type: ignore[no-untyped-call]  # pygls types its servers alone


def edited(text: str, action: types.CodeAction) -> str:
    """A text after an action, as a client that counts in UTF-16 makes it."""
    assert action.edit is not None
    assert action.edit.changes is not None
    (edits,) = action.edit.changes.values()
    for edit in sorted(edits, key=lambda edit: (edit.range.start.line, edit.range.start.character), reverse=True):
        begin, end = (_offset(text, place) for place in (edit.range.start, edit.range.end))
        text = text[:begin] + edit.new_text + text[end:]
    return text


def _offset(text: str, place: types.Position) -> int:
    lines = text.split("\n")
    units = lines[place.line].encode("utf-16-le")[: 2 * place.character]
    return sum(len(line) + 1 for line in lines[: place.line]) + len(units.decode("utf-16-le"))

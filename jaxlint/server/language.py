"""The language server's messages, each handed to the session. Speaks over standard input and output."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from jaxlint import __version__
from jaxlint.server import answers
from jaxlint.server.opened import adopt
from jaxlint.server.session import Session

# All with cells of Python, from whatever program.
NOTEBOOKS = types.NotebookDocumentFilterWithCells(cells=[types.NotebookCellLanguage("python")])
WATCHED = ("**/*.py", "**/*.pyi", "**/pyproject.toml", "**/jaxlint.toml", "**/.gitignore")


class Protocol(LanguageServerProtocol):
    """Pygls' own, which keeps the future of each notification for ever, so of each keystroke. Here it does not."""

    def _execute_handler(
        self,
        msg_id: str | int,
        handler: Callable[..., Any],
        callback: Callable[[Future[Any]], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        def done(future: Future[Any]) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, done, args, kwargs)


def serve() -> None:
    """Serves one client until it says goodbye or goes away."""
    make_server().start_io()


def make_server() -> LanguageServer:
    """A server with all its answers."""
    # Clients send whole texts: pygls takes other characters for line ends than the protocol does.
    server = LanguageServer(
        "jaxlint",
        __version__,
        protocol_cls=Protocol,
        text_document_sync_kind=types.TextDocumentSyncKind.Full,
        notebook_document_sync=types.NotebookDocumentSyncOptions([NOTEBOOKS], save=True),
    )
    session = Session(server)
    tasks: set[asyncio.Task[None]] = set()

    def ask(uri: str, opened: Iterable[types.TextDocumentItem]) -> None:
        """A notebook changed. Called before the next message is read, which may be about the cells just opened."""
        adopt(server.workspace, opened)
        task = asyncio.create_task(session.ask(uri))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        tasks.add(asyncio.create_task(session.work()))
        workspace = server.client_capabilities.workspace
        watching = workspace.did_change_watched_files if workspace else None
        if watching is not None and watching.dynamic_registration:
            watchers = [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            await server.client_register_capability_async(
                types.RegistrationParams([types.Registration("jaxlint-files", method, options)])
            )

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        await session.ask(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        await session.ask(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        await session.ask_all(files_changed=True, first=params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        await session.close(params.text_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_opened(params: types.DidOpenNotebookDocumentParams) -> None:
        ask(params.notebook_document.uri, params.cell_text_documents)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_changed(params: types.DidChangeNotebookDocumentParams) -> None:
        structure = params.change.cells.structure if params.change.cells else None
        ask(params.notebook_document.uri, (structure.did_open if structure else None) or ())

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    async def notebook_saved(params: types.DidSaveNotebookDocumentParams) -> None:
        await session.ask_all(files_changed=True, first=params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    async def notebook_closed(params: types.DidCloseNotebookDocumentParams) -> None:
        await session.close(params.notebook_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(_: types.DidChangeWatchedFilesParams) -> None:
        await session.ask_all(files_changed=True)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(_: types.DidChangeWorkspaceFoldersParams) -> None:
        await session.ask_all(files_changed=True)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        document = await session.document(params.text_document.uri)
        return None if document is None else answers.hover(document, params.position)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = await session.document(params.text_document.uri)
        return [] if document is None else answers.actions(document, params.range)

    return server

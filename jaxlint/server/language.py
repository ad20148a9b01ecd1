"""The language server's messages, each handed to the session. Speaks over standard input and output."""

import asyncio

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from jaxlint import __version__
from jaxlint.server import answers
from jaxlint.server.session import Session

WATCHED = ("**/*.py", "**/*.pyi", "**/pyproject.toml", "**/jaxlint.toml", "**/.gitignore")


def serve() -> None:
    """Serves one client until it says goodbye or goes away."""
    make_server().start_io()


def make_server() -> LanguageServer:
    """A server with all its answers."""
    # Clients send whole texts: pygls takes other characters for line ends than the protocol does.
    server = LanguageServer("jaxlint", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    session = Session(server)
    tasks: list[asyncio.Task[None]] = []

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        tasks.append(asyncio.create_task(session.work()))
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

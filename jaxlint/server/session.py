"""The open documents of one client: which of them wait for a check, what was found in them, and who waits for that.

A check runs in a thread of its own, one at a time, on the newest text; texts that were typed over meanwhile are never
checked. What is wrong with jaxlint itself is logged, and the next keystroke is checked all the same.
"""

import asyncio
import traceback
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from jaxlint.server.answers import Document, diagnostics
from jaxlint.server.projects import Projects
from jaxlint.source.stack import on_a_deep_stack

# Seconds between a keystroke and the check: keys that come as fast as this (a paste, a held key) are one change.
DELAY = 0.01
SUFFIXES = (".py", ".pyi")


class Session:
    """What the server knows between two messages of its client."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._projects = Projects()
        self._documents: dict[str, Document] = {}
        # In the order in which they were asked for; the last one is checked first.
        self._waiting: dict[str, None] = {}
        self._checking: str | None = None
        self._changed = asyncio.Condition()
        self._pool = ThreadPoolExecutor(1, "jaxlint-check")
        self._complaint = ""

    async def ask(self, *uris: str) -> None:
        """Documents are to be checked."""
        async with self._changed:
            for uri in uris:
                self._waiting.pop(uri, None)
                self._waiting[uri] = None
            self._changed.notify_all()

    async def ask_all(self, *, files_changed: bool = False, first: str = "") -> None:
        """Every open document is to be checked, because what they import may have changed."""
        if files_changed:
            self._projects.files_changed()
        uris = [uri for uri in self._server.workspace.text_documents if uri != first]
        await self.ask(*uris, *([first] if first else ()))

    async def close(self, uri: str) -> None:
        """A document is open no longer: nothing is shown of it."""
        self._documents.pop(uri, None)
        self._waiting.pop(uri, None)
        self._publish(uri, [], None)
        await self.ask_all()

    async def document(self, uri: str) -> Document | None:
        """A document by its present text, as soon as that is checked; None for one that is not checked."""
        async with self._changed:
            await self._changed.wait_for(lambda: uri not in self._waiting and uri != self._checking)
        found, now = self._documents.get(uri), self._server.workspace.text_documents.get(uri)
        # Where a check failed, what is known is about an older text, and an edit made of it would spoil this one.
        return found if found and now and found.checked.source.text == now.source else None

    async def work(self) -> None:
        """Checks what waits, for ever."""
        while True:
            async with self._changed:
                await self._changed.wait_for(lambda: self._waiting)
            await asyncio.sleep(DELAY)
            async with self._changed:
                if not self._waiting:
                    continue
                self._checking, _ = self._waiting.popitem()
            try:
                await self._check(self._checking)
            except Exception:  # noqa: BLE001  # whatever comes here is a bug of ours, and must not end the session
                self._log(f"this is a bug in jaxlint, please report it:\n{traceback.format_exc()}")
            async with self._changed:
                self._checking = None
                self._changed.notify_all()

    async def _check(self, uri: str) -> None:
        open_now = self._server.workspace.text_documents
        if uri not in open_now or _location(uri, open_now[uri].language_id) is None:
            return
        version = open_now[uri].version
        texts = {
            uri: (location, document.source)
            for uri, document in open_now.items()
            if (location := _location(uri, document.language_id)) is not None
        }
        document, found = await asyncio.get_running_loop().run_in_executor(
            self._pool, partial(on_a_deep_stack, partial(self._answer, uri, texts))
        )
        if uri in self._waiting or uri not in self._server.workspace.text_documents:
            return
        self._documents[uri] = document
        self._complain(document.checked.complaint)
        self._publish(uri, found, version)

    def _answer(self, uri: str, texts: dict[str, tuple[Path, str]]) -> tuple[Document, list[types.Diagnostic]]:
        """What is found in a document; runs in the thread."""
        checked = self._projects.check(texts[uri][0], dict(texts.values()))
        names = {location: name for name, (location, _) in texts.items()}
        document = Document(
            uri,
            str(getattr(self._server.workspace.position_encoding, "value", self._server.workspace.position_encoding)),
            checked,
            self._projects.rules,
            lambda location: names.get(location) or location.as_uri(),
        )
        return document, diagnostics(document)

    def _publish(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _complain(self, complaint: str) -> None:
        """Tells what is wrong with the configuration, once."""
        if complaint and complaint != self._complaint:
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"jaxlint: {complaint}"))
        self._complaint = complaint

    def _log(self, text: str) -> None:
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Error, text))


def _location(uri: str, language: str | None) -> Path | None:
    """Where a document lies, by a path without links; None for what is no Python file of this machine."""
    path = to_fs_path(uri) if uri.startswith("file:") else None
    if path is None or not (path.endswith(SUFFIXES) or (language == "python" and not path.endswith(".ipynb"))):
        return None
    return Path(path).resolve()

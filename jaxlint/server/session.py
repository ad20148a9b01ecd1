"""The open documents of one client: which of them wait for a check, what was found in them, and who waits for that.

A check runs in a thread of its own, one at a time, on the newest text; texts that were typed over meanwhile are never
checked. What is wrong with jaxlint itself is logged, and the next keystroke is checked all the same.
"""

import asyncio
import traceback
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from jaxlint.server.answers import Document, diagnostics
from jaxlint.server.opened import Opened, Part, Target, key
from jaxlint.server.parts import documents
from jaxlint.server.projects import Projects
from jaxlint.source.stack import on_a_deep_stack

# Seconds between a keystroke and the check: keys that come as fast as this (a paste, a held key) are one change.
DELAY = 0.01
Answer = tuple[Part, Document, list[types.Diagnostic]]


class Session:
    """What the server knows between two messages of its client."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._projects = Projects()
        # By the name of each text, and of what is checked as one the texts in which something may be shown.
        self._documents: dict[str, tuple[str, Document]] = {}
        self._shown: dict[str, list[str]] = {}
        # In the order in which they were asked for; the last one is checked first.
        self._waiting: dict[str, None] = {}
        self._checking: str | None = None
        self._changed = asyncio.Condition()
        self._pool = ThreadPoolExecutor(1, "jaxlint-check")
        self._complaint = ""

    async def ask(self, *uris: str) -> None:
        """Documents are to be checked."""
        async with self._changed:
            for name in map(self._opened().owner, uris):
                self._waiting.pop(name, None)
                self._waiting[name] = None
            self._changed.notify_all()

    async def ask_all(self, *, files_changed: bool = False, first: str = "") -> None:
        """Every open document is to be checked, because what they import may have changed."""
        if files_changed:
            self._projects.files_changed()
        await self.ask(*self._opened().names(), *([first] if first else ()))

    async def close(self, uri: str) -> None:
        """A document or a notebook is open no longer: nothing is shown of it."""
        self._waiting.pop(key(uri), None)
        self._forget(self._shown.pop(key(uri), [uri]))
        await self.ask_all()

    async def document(self, uri: str) -> Document | None:
        """A document by its present text, as soon as that is checked; None for one that is not checked."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._opened().owner(uri) not in {*self._waiting, self._checking})
        found, now = self._documents.get(key(uri)), self._opened().documents.get(key(uri))
        # Where a check failed, what is known is about an older text, and an edit made of it would spoil this one.
        return found[1] if found and now and found[0] == now.source else None

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

    async def _check(self, name: str) -> None:
        opened = self._opened()
        target = opened.target(name)
        if target is None:
            return
        found = await asyncio.get_running_loop().run_in_executor(
            self._pool, partial(on_a_deep_stack, partial(self._answer, target, opened.texts()))
        )
        if name in self._waiting or self._opened().target(name) != target:
            return
        before, self._shown[name] = self._shown.get(name, []), [part.uri for part, _, _ in found]
        self._forget([uri for uri in before if uri not in self._shown[name]])
        for part, document, shown in found:
            self._documents[key(part.uri)] = part.text, document
            self._complain(document.checked.complaint)
            self._publish(part.uri, shown, part.version)

    def _answer(self, target: Target, texts: Mapping[Path, Part]) -> list[Answer]:
        """What is found in a document, or in each cell of a notebook; runs in the thread."""
        known = {location: part.text for location, part in texts.items()}
        if target.notebook is None:
            checked = self._projects.check(target.location, known)
        else:
            checked = self._projects.check_notebook(target.location, target.notebook, known)
        encoding = self._server.workspace.position_encoding
        document = Document(
            target.parts[0].uri if target.parts else "",
            str(getattr(encoding, "value", encoding)),
            checked,
            self._projects.rules,
            lambda location: texts[location].uri if location in texts else location.as_uri(),
        )
        return [(part, each, diagnostics(each)) for part, each in documents(document, target.parts)]

    def _opened(self) -> Opened:
        return Opened(self._server.workspace)

    def _forget(self, uris: Iterable[str]) -> None:
        """Nothing is shown any longer of these."""
        for uri in uris:
            self._documents.pop(key(uri), None)
            self._publish(uri, [], None)

    def _publish(self, uri: str, found: list[types.Diagnostic], version: int | None) -> None:
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def _complain(self, complaint: str) -> None:
        """Tells what is wrong with the configuration, once."""
        if complaint and complaint != self._complaint:
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"jaxlint: {complaint}"))
        self._complaint = complaint

    def _log(self, text: str) -> None:
        self._server.window_log_message(types.LogMessageParams(types.MessageType.Error, text))

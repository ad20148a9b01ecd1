"""What the language server keeps of a long session: nothing that grows with the keystrokes."""

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import Future
from typing import cast

from lsprotocol import types

from jaxlint.server.language import make_server

NAME = "untitled:train"


class Nowhere:
    """A client that reads nothing."""

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def futures() -> int:
    gc.collect()
    return sum(isinstance(one, Future | asyncio.Future) for one in gc.get_objects())


def test_messages_that_were_dealt_with_are_forgotten() -> None:
    async def script() -> list[int]:
        server = make_server()
        server.protocol.set_writer(Nowhere())
        # Its annotation leaves notifications out.
        handle = cast(Callable[[object], None], server.protocol.handle_message)
        handle(types.InitializeRequest(1, types.InitializeParams(types.ClientCapabilities())))
        document = types.TextDocumentItem(NAME, "python", 1, "")
        handle(types.DidOpenTextDocumentNotification(types.DidOpenTextDocumentParams(document)))
        held = []
        for version in range(2, 202):
            now = types.VersionedTextDocumentIdentifier(version, NAME)
            change = types.TextDocumentContentChangeWholeDocument(f"x = {version}")
            handle(types.DidChangeTextDocumentNotification(types.DidChangeTextDocumentParams(now, [change])))
            if version in (101, 201):
                await asyncio.sleep(0.01)
                held.append(futures())
        assert server.workspace.text_documents[NAME].source == "x = 201"
        return held

    early, late = asyncio.run(script())
    assert late <= early

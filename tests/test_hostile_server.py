"""The language server fed with what no editor sends: it answers or is silent, and goes on serving."""

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 60.0
HOT = "import jax.numpy as jnp\n\nfor i in range(3):\n    print(jnp.ones(3) * i)\n"
Message = dict[str, object]


class Raw:
    """A server and a client that sends bytes."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        words = [sys.executable, "-m", "jaxlint", "server"]
        self.process = subprocess.Popen(
            words, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.answers = queue.SimpleQueue[Message]()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        while header := self.process.stdout.readline():
            length = int(header.split(b":")[1])
            while self.process.stdout.readline().strip():
                pass
            self.answers.put(json.loads(self.process.stdout.read(length)))

    def send(self, *messages: object) -> None:
        """Sends bytes as they are, anything else as JSON."""
        assert self.process.stdin is not None
        for message in messages:
            body = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def call(self, method: str, params: object, number: int | None = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number}))

    def until(self, uri: str) -> list[object]:
        """The diagnostics of a document, as soon as they come."""
        while True:
            message = self.answers.get(timeout=PATIENCE)
            params = message.get("params")
            if message.get("method") != "textDocument/publishDiagnostics" or not isinstance(params, dict):
                continue
            if params["uri"] == uri:
                found = params["diagnostics"]
                assert isinstance(found, list)
                return found

    def open(self, uri: object, text: object = HOT, language: object = "python") -> None:
        document = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.call("textDocument/didOpen", {"textDocument": document})


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[Raw]:
    served = Raw(tmp_path)
    served.call("initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}, 0)
    served.call("initialized", {})
    yield served
    served.process.kill()
    served.process.wait()
    served.reader.join(PATIENCE)
    for stream in (served.process.stdin, served.process.stdout):
        assert stream is not None
        stream.close()


NO_MESSAGES = (
    b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"\0" * 9, b"[" * 100_000, b'{"jsonrpc": "2.0"}', b"{}",
    b'{"jsonrpc": "1.0", "method": 7}', b'{"jsonrpc": "2.0", "method": "no/such", "id": 9}', b"9" * 10_000,
    b'{"jsonrpc": "2.0", "id": 3, "result": null}', b'{"jsonrpc": "2.0", "id": {}, "method": "shutdown", "params": 3}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didOpen"}',
    b'{"jsonrpc": "2.0", "method": "textDocument/hover", "id": 4}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": null}}',
)  # fmt: skip
NAMES = (
    "", "x", "file:", "file://", "file:///", "file:///a%00b.py", "file:///%ff.py", "file:///" + "a/" * 9_000 + "b.py",
    "file:///a\nb.py", "file://host/share/a.py", "untitled:a.py", "file:///../../a.py", "\x1b[2J",
    "file:///proc/self/mem.py", "http://x/a.py", "file:///a.py?x#y", "file:///%E2%80%AE.py",
)  # fmt: skip
TEXTS = ("\0", "x" * 1_000_000, "(" * 10_000, "\r\r\n\n\r", "\ufeff\u202e", "import jax\n" + "f'{" * 200, "\ud800")


def is_served(raw: Raw, folder: Path, name: str = "good.py") -> bool:
    """Whether a document is checked as ever."""
    uri = (folder / name).as_uri()
    raw.open(uri)
    return len(raw.until(uri)) == 1


def test_what_is_no_message_is_passed_over(raw: Raw, tmp_path: Path) -> None:
    for body in NO_MESSAGES:
        raw.send(body)
    assert is_served(raw, tmp_path)


def test_documents_of_any_name_and_text(raw: Raw, tmp_path: Path) -> None:
    for name in NAMES:
        raw.open(name)
        for method in ("textDocument/hover", "textDocument/didSave", "textDocument/didClose"):
            raw.call(method, {"textDocument": {"uri": name}, "position": {"line": 0, "character": 0}}, 5)
    for number, text in enumerate(TEXTS):
        raw.open((tmp_path / f"a{number}.py").as_uri(), text)
    nothing: tuple[object, ...] = (None, 1, [], {})
    for wrong in nothing:
        raw.open(wrong)
        raw.open((tmp_path / "b.py").as_uri(), wrong)
    assert is_served(raw, tmp_path)


def test_places_that_are_none(raw: Raw, tmp_path: Path) -> None:
    uri = (tmp_path / "good.py").as_uri()
    assert is_served(raw, tmp_path)
    for line in (-1, 0, 3, 4, 99, 2**31 - 1, 2**31, 10**30):
        for character in (-1, 0, 5, 10**6, 2**31):
            place = {"line": line, "character": character}
            document = {"textDocument": {"uri": uri}, "position": place, "range": {"start": place, "end": place}}
            raw.call("textDocument/hover", document, 7)
            raw.call("textDocument/codeAction", document | {"context": {"diagnostics": []}}, 8)
    assert is_served(raw, tmp_path, "other.py")


def test_versions_and_changes_that_fit_nothing(raw: Raw, tmp_path: Path) -> None:
    uri = (tmp_path / "good.py").as_uri()
    assert is_served(raw, tmp_path)
    far = {"line": 10**6, "character": 10**6}
    for version in (-5, 0, 1, 1, 2**31):
        for change in ({"text": HOT}, {"text": "x = (", "range": {"start": far, "end": far}}, {}, None, {"text": 1}):
            changes = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}
            raw.call("textDocument/didChange", changes)
    gone = {"textDocument": {"uri": "file:///never/opened.py", "version": 1}, "contentChanges": [{"text": HOT}]}
    raw.call("textDocument/didChange", gone)
    raw.call("textDocument/didClose", gone)
    assert is_served(raw, tmp_path, "other.py")


@pytest.mark.parametrize(
    "header",
    [b"Content-Length: -5\r\n\r\n{}", b"Content-Length: x\r\n\r\n", b"\r\n\r\n\0\xff", b"GET / HTTP/1.1\r\n\r\n"],
)
def test_what_is_no_header_ends_nothing_but_perhaps_the_session(raw: Raw, header: bytes) -> None:
    """What follows cannot be told apart any more; when the client goes, the server goes."""
    assert raw.process.stdin is not None
    raw.process.stdin.write(header)
    raw.process.stdin.close()
    raw.process.wait(PATIENCE)

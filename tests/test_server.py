"""The language server as an editor meets it: a real client, a process of its own, standard input and output."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from lsprotocol import types

from editing import Editor, edited, editor
from jaxlint.check import check_text
from loop_program import LOOP as BAD

GOOD = BAD.replace("        print(x)\n", "    return x\n")


def session(folder: Path, script: Callable[[Editor], Awaitable[None]], encodings: list[str] | None = None) -> None:
    async def run() -> None:
        async with editor(folder, encodings) as opened:
            await script(opened)

    asyncio.run(run())


def codes(diagnostics: list[types.Diagnostic]) -> list[int | str | None]:
    return [diagnostic.code for diagnostic in diagnostics]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.jaxlint]\n")
    return tmp_path.resolve()


def test_open_type_save_and_close(folder: Path) -> None:
    """What is shown is what the text holds that was typed last, saved or not; of a closed file nothing is."""
    path = folder / "train.py"
    path.write_text(GOOD)

    async def script(opened: Editor) -> None:
        opened.open(path)
        assert await opened.diagnostics(path) == []
        opened.type(path, BAD, 2)
        assert codes(await opened.diagnostics(path, 2)) == ["JT101"]
        for version in range(3, 30):
            opened.type(path, BAD if version % 2 else GOOD, version)
        assert codes(await opened.diagnostics(path, 29)) == ["JT101"]
        path.write_text(BAD)
        opened.save(path)
        assert codes(await opened.next(path)) == ["JT101"]
        opened.close(path)
        assert await opened.diagnostics(path, None) == []

    session(folder, script)


def test_a_diagnostic_says_what_the_report_says(folder: Path) -> None:
    path = folder / "train.py"

    async def script(opened: Editor) -> None:
        opened.open(path, BAD)
        (shown,) = await opened.diagnostics(path)
        (finding,) = check_text(BAD).findings
        assert shown.range == types.Range(types.Position(9, 8), types.Position(9, 16))
        assert shown.message == f"{finding.message} [hot]"
        assert (shown.code, shown.source, shown.severity) == ("JT101", "jaxlint", types.DiagnosticSeverity.Warning)
        assert shown.code_description is not None
        page = Path(shown.code_description.href.removeprefix("file://"))
        assert page.read_text("utf-8").startswith("# JT101 ")
        related = [
            (step.location.uri, step.location.range.start, step.message) for step in shown.related_information or ()
        ]
        assert related == [
            (path.as_uri(), types.Position(note.line - 1, note.column - 1), note.message) for note in finding.notes
        ]
        assert related

    session(folder, script)


@pytest.mark.parametrize(("encodings", "column"), [(None, 22), (["utf-16"], 22), (["utf-32"], 21), (["utf-8"], 24)])
def test_columns_count_in_the_units_of_the_client(folder: Path, encodings: list[str] | None, column: int) -> None:
    """A character beyond the first plane is two units of UTF-16, one of UTF-32 and four of UTF-8."""
    path = folder / "train.py"
    text = BAD.replace("        print(x)", "        '🙂', str(7), print(x)")

    async def script(opened: Editor) -> None:
        opened.open(path, text)
        (shown,) = await opened.diagnostics(path)
        assert shown.range.start == types.Position(9, column)
        assert shown.range.end == types.Position(9, column + len("print(x)"))
        assert await opened.hover(path, 9, column) is not None
        assert await opened.hover(path, 9, column - 1) is None

    session(folder, script, encodings)


def test_lines_end_where_the_protocol_says(folder: Path) -> None:
    """A form feed and a line separator of Unicode end a line for some, but neither for Python nor for the protocol."""
    path = folder / "train.py"
    text = "#\f\n# \u2028 \x1c\r\n" + BAD

    async def script(opened: Editor) -> None:
        opened.open(path, text)
        (shown,) = await opened.diagnostics(path)
        assert shown.range.start == types.Position(11, 8)

    session(folder, script)


def test_the_other_files_of_the_project_are_seen_as_they_are_open(folder: Path) -> None:
    """The compiled function lies in a file beside; a text that is open goes before the file."""
    model, path = folder / "model.py", folder / "train.py"
    model.write_text("def step(x):\n    return x\n")
    compiled = "import jax\n\n@jax.jit\ndef step(x):\n    return x + 1\n"
    text = "import jax\nfrom model import step\n" + BAD[BAD.index("def train") :]

    async def script(opened: Editor) -> None:
        opened.open(path, text)
        assert await opened.diagnostics(path) == []
        opened.open(model, compiled)
        await opened.diagnostics(model)
        opened.save(model)
        (shown,) = await opened.next(path)
        opened.close(model)
        assert await opened.next(path) == []
        model.write_text(compiled)
        changed = types.FileEvent(model.as_uri(), types.FileChangeType.Changed)
        opened.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([changed]))
        assert codes(await opened.next(path)) == [shown.code] == ["JT101"]
        assert [registration.method for registration in opened.registered] == ["workspace/didChangeWatchedFiles"]

    session(folder, script)


def test_what_does_not_parse_is_shown_where_it_breaks(folder: Path) -> None:
    path = folder / "train.py"

    async def script(opened: Editor) -> None:
        opened.open(path, BAD + "x = = 1\n")
        (shown,) = await opened.diagnostics(path)
        assert shown.message.startswith("syntax error")
        assert shown.severity == types.DiagnosticSeverity.Error
        assert shown.range == types.Range(types.Position(10, 4), types.Position(10, 7))
        opened.type(path, BAD + "\0", 2)
        (shown,) = await opened.diagnostics(path, 2)
        assert "null bytes" in shown.message
        opened.type(path, BAD + "'", 3)
        (shown,) = await opened.diagnostics(path, 3)
        assert shown.range.start.line == 10
        opened.type(path, BAD, 4)
        assert codes(await opened.diagnostics(path, 4)) == ["JT101"]

    session(folder, script)


def test_settings_are_those_of_the_nearest_file(folder: Path) -> None:
    """Each document has its own; an edit of them holds at the next check; a wrong one is told and nothing is shown."""
    inner = folder / "inner"
    inner.mkdir()
    outer, path = folder / "train.py", inner / "train.py"
    (inner / "jaxlint.toml").write_text('ignore = ["JT101"]\n')

    async def script(opened: Editor) -> None:
        opened.open(outer, BAD)
        opened.open(path, BAD)
        assert codes(await opened.diagnostics(outer)) == ["JT101"]
        assert await opened.diagnostics(path) == []
        (inner / "jaxlint.toml").write_text("min-heat = 'tepid'\n")
        opened.type(path, BAD, 2)
        assert await opened.diagnostics(path, 2) == []
        assert 'jaxlint.toml:1: "min-heat" cannot be "tepid"' in await opened.message()
        (inner / "jaxlint.toml").unlink()
        opened.type(path, BAD, 3)
        assert codes(await opened.diagnostics(path, 3)) == ["JT101"]
        (folder / "pyproject.toml").write_text("[tool.jaxlint]\nexclude = ['inner']\n")
        opened.type(path, BAD, 4)
        assert await opened.diagnostics(path, 4) == []

    session(folder, script)


def test_what_is_no_python_file_is_left_alone(folder: Path) -> None:
    path, notebook = folder / "train.py", folder / "train.ipynb"

    async def script(opened: Editor) -> None:
        opened.open(notebook, "{}")
        for uri, language in (("untitled:Untitled-1", "julia"), ("git:/x/train.py", "python")):
            item = types.TextDocumentItem(uri, language, 1, BAD)
            opened.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        assert await opened.hover(notebook, 0, 0) is None
        opened.open(path, BAD)
        await opened.diagnostics(path)
        assert list(opened.shown) == [path.as_uri()]

    session(folder, script)


def test_hover_shows_the_provenance_and_the_page(folder: Path) -> None:
    path = folder / "train.py"
    text = BAD.replace("print(x)", "print(x)  # not JT104")

    async def script(opened: Editor) -> None:
        opened.open(path, text)
        told = await opened.hover(path, 9, 10)
        assert told is not None
        assert isinstance(told.contents, types.MarkupContent)
        assert "train.py:9: " in told.contents.value
        assert "# JT101 print" in told.contents.value
        assert "[[match]]" not in told.contents.value
        assert "## Good" in told.contents.value
        in_comment = await opened.hover(path, 9, text.split("\n")[9].index("JT104") + 2)
        assert in_comment is not None
        assert isinstance(in_comment.contents, types.MarkupContent)
        assert "# JT104 scalar-conversion" in in_comment.contents.value
        assert await opened.hover(path, 0, 0) is None

    session(folder, script)


def test_an_action_ignores_the_finding(folder: Path) -> None:
    """The action is about the text as it is now, and after it nothing is found there."""
    path = folder / "train.py"
    text = BAD.replace("        print(x)", "        f('🙂'), print(x)  # 🙂")

    async def script(opened: Editor) -> None:
        opened.open(path, BAD)
        opened.type(path, "\n" + text, 2)
        (action,) = [a for a in await opened.actions(path, 10, 20) if "ignore" in a.title]
        assert action.title == "jaxlint: ignore JT101 here"
        after = edited("\n" + text, action)
        assert after == "\n" + text.replace("# 🙂", "# 🙂  # jaxlint: ignore[JT101]")
        opened.type(path, after, 3)
        assert await opened.diagnostics(path, 3) == []
        assert await opened.actions(path, 0, 0) == []

    session(folder, script)


def test_an_action_repairs_the_finding(folder: Path) -> None:
    path = folder / "train.py"
    text = BAD.replace("        print(x)", "        print('🙂', x)")

    async def script(opened: Editor) -> None:
        opened.open(path, text)
        action, silence = await opened.actions(path, 9, 10)
        assert action.title == "jaxlint: make the fetch explicit: `jax.device_get(…)` (unsafe)"
        assert "ignore" in silence.title
        assert not action.is_preferred
        after = edited(text, action)
        assert after == text.replace("print('🙂', x)", "print('🙂', jax.device_get(x))")
        opened.type(path, after, 2)
        assert await opened.diagnostics(path, 2) == []

    session(folder, script)


def test_a_bug_of_ours_is_told_and_the_session_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A module that is loaded before jaxlint breaks the check of one text alone."""
    path, broken = folder / "train.py", tmp_path_factory.mktemp("broken")
    (broken / "sitecustomize.py").write_text(
        "from jaxlint.server import projects\n"
        "check = projects.Projects.check\n"
        "def once_broken(self, location, texts):\n"
        "    if 'boom' in texts[location]:\n"
        "        raise ZeroDivisionError('oops')\n"
        "    return check(self, location, texts)\n"
        "projects.Projects.check = once_broken\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(broken))

    async def script(opened: Editor) -> None:
        opened.open(path, BAD)
        await opened.diagnostics(path)
        opened.type(path, f"# boom\n{BAD}", 2)
        told = await opened.message()
        assert "bug in jaxlint" in told
        assert "ZeroDivisionError: oops" in told
        assert await opened.actions(path, 10, 10) == []
        opened.type(path, BAD, 3)
        assert codes(await opened.diagnostics(path, 3)) == ["JT101"]

    session(folder, script)


def test_without_the_extra_the_command_says_so(tmp_path: Path) -> None:
    code = "import sys\nsys.modules['pygls'] = None\nfrom jaxlint import cli\nsys.exit(cli.main(['server']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "extra `lsp`" in done.stderr

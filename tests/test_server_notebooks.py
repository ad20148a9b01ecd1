"""Notebooks in an editor, cell by cell, and what was never saved: a real client, a process of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types

from editing import Editor, edited
from loop_program import LOOP as BAD
from test_server import codes, folder, session

__all__ = ["folder"]

STEP = BAD.partition("def train")[0]
TRAIN = "%matplotlib inline\nx = 1.0\nfor _ in range(9):\n    x = step(x)\n    '🙂', print(x)\n"


def uri_of(name: str, folder: Path) -> Callable[[int], str]:
    """The names of the cells of a notebook, as VS Code gives them."""
    return lambda number: f"vscode-notebook-cell:{folder.as_posix()}/{name}#W{number}%3D"


def place(line: int, begin: int, end: int) -> types.Range:
    return types.Range(types.Position(line, begin), types.Position(line, end))


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_notebook_is_shown_cell_by_cell(folder: Path, is_saved: bool) -> None:
    path = folder / "an analysis.ipynb"
    uri = path.as_uri() if is_saved else "untitled:Untitled-1.ipynb?jupyter-notebook"
    cell = uri_of(path.name, folder)
    (folder / "pyproject.toml").write_text("[tool.jaxlint]\nunfixable = ['JT102']\n")

    async def script(opened: Editor) -> None:
        opened.open_notebook(
            uri,
            (cell(0), "markdown", "# x"),
            (cell(1), "python", STEP),
            (cell(2), "r", "("),
            (cell(3), "python", TRAIN),
        )
        (shown,) = await opened.diagnostics(cell(3))
        assert (shown.code, shown.range) == ("JT101", place(4, 10, 18))
        assert await opened.diagnostics(cell(1)) == []
        assert {step.location.uri for step in shown.related_information or ()} <= {cell(1), cell(3)}
        assert shown.related_information
        assert await opened.hover(cell(3), 4, 12) is not None
        fixed, ignored = await opened.actions(cell(3), 4, 12)
        assert edited(TRAIN, fixed) == TRAIN.replace("print(x)", "print(jax.device_get(x))")
        assert edited(TRAIN, ignored) == TRAIN.replace("print(x)", "print(x)  # jaxlint: ignore[JT101]")
        assert set(opened.shown) == {cell(1), cell(3)}

    session(folder, script)


def test_cells_change_come_and_go(folder: Path) -> None:
    """What is sent is a stretch of a cell, in units of UTF-16, or all of it, also of a cell that has just come."""
    uri, cell = (folder / "a.ipynb").as_uri(), uri_of("a.ipynb", folder)

    def typed(
        version: int, name: str, *changes: types.TextDocumentContentChangeEvent
    ) -> types.NotebookDocumentCellChanges:
        document = types.VersionedTextDocumentIdentifier(version, name)
        return types.NotebookDocumentCellChanges(
            text_content=[types.NotebookDocumentCellContentChanges(document, changes)]
        )

    async def script(opened: Editor) -> None:
        opened.open_notebook(uri, (cell(1), "python", STEP), (cell(2), "python", "x = (\n"))
        (error,) = await opened.diagnostics(cell(2))
        assert error.severity == types.DiagnosticSeverity.Error
        whole = types.TextDocumentContentChangeWholeDocument(TRAIN.replace("print(x)", "str(x)\r"))
        part = types.TextDocumentContentChangePartial(place(4, 10, 16), "print(x)")
        opened.change_notebook(uri, 2, typed(2, cell(2), whole, part))
        (shown,) = await opened.diagnostics(cell(2), 2)
        assert shown.range == place(4, 10, 18)

        new = types.NotebookCell(types.NotebookCellKind.Code, cell(3))
        item = types.TextDocumentItem(cell(3), "python", 1, "x = step(2.0)\n")
        structure = types.NotebookDocumentCellChangeStructure(
            types.NotebookCellArrayChange(1, 1, [new]), [item], [types.TextDocumentIdentifier(cell(2))]
        )
        opened.change_notebook(uri, 3, types.NotebookDocumentCellChanges(structure=structure))
        end = types.TextDocumentContentChangePartial(place(1, 0, 0), "for _ in range(9): print(x * 2)")
        opened.change_notebook(uri, 4, typed(4, cell(3), end))
        assert codes(await opened.diagnostics(cell(3), 4)) == ["JT101"]
        assert await opened.diagnostics(cell(2), None) == []

        named = types.NotebookDocumentIdentifier(uri)
        cells = [types.TextDocumentIdentifier(cell(number)) for number in (1, 3)]
        opened.client.notebook_document_did_close(types.DidCloseNotebookDocumentParams(named, cells))
        for number in (1, 3):
            assert await opened.diagnostics(cell(number), None) == []
        assert opened.said == []

    session(folder, script)


def test_what_was_never_saved_is_checked_in_the_open_folder(folder: Path) -> None:
    """With its settings, and beside its modules."""
    (folder / "steps.py").write_text(STEP)
    (folder / "pyproject.toml").write_text("[tool.jaxlint]\nignore = ['JT102']\n")
    text = f"import jax\nfrom steps import step\n{BAD.partition('    return x + 1')[2]}        str(x)\n"

    async def script(opened: Editor) -> None:
        for name, source in (("Untitled-1", text), ("Untitled-2", text.replace("steps", "nowhere"))):
            item = types.TextDocumentItem(f"untitled:{name}", "python", 1, source)
            opened.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        (shown,) = await opened.diagnostics("untitled:Untitled-1")
        assert shown.code == "JT101"
        assert await opened.diagnostics("untitled:Untitled-2") == []
        assert len(await opened.actions("untitled:Untitled-1", 7, 10)) == 2

    session(folder, script)


def test_names_may_be_escaped(folder: Path) -> None:
    path = folder / "my träin.py"

    async def script(opened: Editor) -> None:
        opened.open(path, BAD)
        assert codes(await opened.diagnostics(path)) == ["JT101"]
        assert await opened.hover(path, 9, 10) is not None

    session(folder, script)

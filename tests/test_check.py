"""The check as a function: selection, suppression comments, heat comments, notebooks, and files that cannot be read."""

import json
import tomllib
from pathlib import Path

import pytest

from jaxlint.check import ARRAY_LIBRARIES, check_bytes, check_paths, check_text
from jaxlint.findings import Finding, Report
from jaxlint.inputs import Inputs
from jaxlint.settings import FileIgnores, Pattern, Settings
from jaxlint.sites import Confidence, Heat
from loop_program import LOOP


def lines(report: Report) -> list[tuple[str, int]]:
    return [(finding.code, finding.span.line) for finding in report.findings]


def with_comment(comment: str) -> str:
    return LOOP.replace("print(x)", f"print(x)  {comment}")


def notebook(*cells: str, **metadata: object) -> bytes:
    listed = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": listed}).encode()


def test_nothing_to_say_of_nothing() -> None:
    assert check_text("") == Report((), files=1)
    assert check_text("import numpy as np\nfor i in range(9):\n    print(np.ones(3))\n").findings == ()


def test_a_text_is_checked_at_every_heat_by_the_default_rules() -> None:
    assert lines(check_text(LOOP)) == [("JT101", 10)]
    (finding,) = check_text(LOOP, path="src/x.py").findings
    assert finding.span.path == "src/x.py"
    assert finding.heat is Heat.HOT


def test_selected_and_filtered() -> None:
    assert lines(check_text(LOOP, select=("JT2",))) == []
    assert lines(check_text(LOOP.replace("    for _ in range(9):", "    if x is not None:"), min_heat=Heat.HOT)) == []


def test_confidence_filters() -> None:
    (finding,) = check_text(LOOP).findings
    for level in Confidence:
        settings = Settings(min_heat=Heat.COLD, min_confidence=level)
        found = check_bytes(settings, LOOP.encode(), "x.py").findings
        assert bool(found) == (finding.confidence >= level)


class TestSuppressions:
    @pytest.mark.parametrize(
        "comment",
        [
            "# jaxlint: ignore[JT101] shown to a person",
            "# jaxlint: ignore[JT104, JT101]",
            "# jaxlint: ignore",
            "# noqa: JT101",
            "# noqa",
        ],
    )
    def test_silence_a_finding(self, comment: str) -> None:
        codes = [code for code, _ in lines(check_text(with_comment(comment)))]
        assert "JT101" not in codes
        assert codes == (["JT001"] if "JT104" in comment else [])

    @pytest.mark.parametrize(
        ("comment", "code", "message"),
        [
            ("# jaxlint: ignore[JT104] x", "JT001", "this suppression of JT104 silences nothing here: remove it"),
            ("# jaxlint: ignore[JT999]", "JT002", "there is no rule JT999: this suppression silences nothing"),
            (
                "# jaxlint: ignore JT101",
                "JT003",
                'this comment is no suppression that jaxlint can read: codes belong in brackets: "ignore[JT101]"',
            ),
            ("# jaxlint: hot", "JT001", '"hot" marks no loop and no function'),
        ],
    )
    def test_that_do_nothing_are_findings_beside_the_one_that_stays(
        self, comment: str, code: str, message: str
    ) -> None:
        findings = {finding.code: finding for finding in check_text(with_comment(comment)).findings}
        assert set(findings) == {"JT101", code}
        assert findings[code].message == message
        assert findings[code].span.line == 10

    def test_a_bare_one_that_silences_nothing(self) -> None:
        (finding,) = check_text("x = 1  # jaxlint: ignore\n").findings
        assert finding.message == "this suppression of every rule silences nothing here: remove it"
        assert check_text("x = 1  # noqa\n").findings == ()

    def test_of_a_rule_or_heat_that_is_not_asked_for_is_not_unused(self) -> None:
        cold = "import jax.numpy as jnp\nprint(jnp.ones(3))  # jaxlint: ignore[JT101]\n"
        assert check_text(cold, min_heat=Heat.HOT).findings == ()
        assert check_text(with_comment("# jaxlint: ignore[JT191]")).findings[0].code == "JT101"
        assert lines(check_text(with_comment("# jaxlint: ignore[JT104]"), select=("JT101", "JT001"))) == [("JT101", 10)]

    def test_can_be_left_alone(self) -> None:
        settings = Settings(ignore=("JT0",), min_heat=Heat.COLD)
        assert check_bytes(settings, b"x = 1  # jaxlint: ignore\n", "x.py").findings == ()

    def test_a_file_can_be_skipped_even_if_it_does_not_parse(self) -> None:
        assert check_text("# jaxlint: skip-file\n" + LOOP) == Report((), files=1)
        assert check_text("# jaxlint: skip-file\nx = (\n") == Report((), files=1)


class TestHeatComments:
    def test_cold_on_a_loop_and_hot_on_a_function(self) -> None:
        cold = LOOP.replace("range(9):", "range(9):  # jaxlint: cold")
        assert [finding.heat for finding in check_text(cold).findings] == [Heat.COLD]
        hot = LOOP.replace("    for _ in range(9):", "    if x is not None:")
        assert [finding.heat for finding in check_text(hot).findings] == [Heat.COLD]
        hot = hot.replace("def train(x):", "def train(x):  # jaxlint: hot")
        assert [finding.heat for finding in check_text(hot).findings] == [Heat.HOT]


class TestNotebooks:
    CELLS = (
        "%matplotlib inline\nimport jax\nstep = jax.jit(lambda x: x + 1)",
        "y = step(1.0)\nfor _ in range(3):\n  print(y)",
    )

    def check(self, *cells: str, name: str = "book.ipynb") -> tuple[Report, Inputs]:
        inputs = Inputs()
        return check_bytes(Settings(min_heat=Heat.COLD), notebook(*cells), name, inputs=inputs), inputs

    def test_cells_are_one_program_and_places_count_in_the_cell(self) -> None:
        report, inputs = self.check(*self.CELLS)
        (finding,) = [finding for finding in report.findings if finding.code == "JT101"]
        assert (finding.span.cell, finding.span.line, finding.span.column) == (2, 3, 3)
        assert inputs.lines("book.ipynb", 2)[2] == "  print(y)"
        assert inputs.lines("book.ipynb", 1)[0] == "%matplotlib inline"
        assert [note.cell for note in finding.notes]
        assert all(note.cell in (1, 2) for note in finding.notes)

    def test_suppressions_hold_in_cells(self) -> None:
        silenced = self.CELLS[1].replace("print(y)", "print(y)  # jaxlint: ignore[JT101]")
        report, _ = self.check(self.CELLS[0], silenced, "x = 1  # jaxlint: ignore")
        assert [(f.code, f.span.cell, f.span.line) for f in report.findings] == [("JT001", 3, 1)]

    def test_a_cell_that_does_not_parse_hides_no_other(self) -> None:
        report, _ = self.check(self.CELLS[0], "x = (", self.CELLS[1])
        assert [(error.path, error.cell, error.line) for error in report.errors] == [("book.ipynb", 2, 1)]
        assert [(f.code, f.span.cell) for f in report.findings] == [("JT101", 3)]

    def test_no_notebook(self) -> None:
        report = check_bytes(Settings(), b"[1", "book.ipynb")
        assert [error.path for error in report.errors] == ["book.ipynb"]
        assert report.errors[0].message.startswith("not a notebook: ")


class TestFiles:
    @pytest.fixture(autouse=True)
    def _in_empty_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def check(self, **files: bytes) -> Report:
        for name, data in files.items():
            Path(f"{name}.py").write_bytes(data)
        return check_paths(Settings(min_heat=Heat.COLD), ["."])

    def test_each_fault_is_one_error_with_its_place_and_the_others_are_checked(self) -> None:
        report = self.check(
            a=b"x = (\n",
            b=b"# coding: klingon\n",
            c=b"x = '\xff'\n",
            d=b"x = 1\0\n",
            good=LOOP.encode(),
        )
        assert [(f.span.path, f.code) for f in report.findings] == [("good.py", "JT101")]
        assert [(e.path, e.line) for e in report.errors] == [("a.py", 1), ("b.py", 1), ("c.py", 1), ("d.py", 1)]
        assert report.files == 5
        for error in report.errors:
            assert "\n" not in error.message

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
    def test_line_ends_and_encodings_move_no_place(self, newline: str, encoding: str) -> None:
        head = "# -*- coding: latin-1 -*-\n" if encoding == "latin-1" else "# été\n"
        text = (head + LOOP.replace("print(x)", "print('é', x)")).replace("\n", newline)
        (finding,) = self.check(a=text.encode(encoding)).findings
        assert (finding.span.line, finding.span.column, finding.span.end_column) == (11, 9, 22)

    def test_columns_count_characters_behind_wide_ones_and_tabs(self) -> None:
        text = LOOP.replace("    ", "\t").replace("print(x)", "'名前'; print(x)")
        (finding,) = self.check(a=text.encode()).findings
        assert finding.span.column == len("\t\t'名前'; ") + 1

    def test_per_file_ignores_count_from_their_base(self) -> None:
        Path("sub").mkdir()
        Path("sub/a.py").write_text(LOOP)
        Path("b.py").write_text(LOOP)

        def found(text: str, base: Path) -> list[str]:
            settings = Settings(per_file_ignores=(FileIgnores(Pattern(text, base), ("JT101",)),))
            return [finding.span.path for finding in check_paths(settings, ["."]).findings]

        here = Path.cwd()
        assert found("sub/*.py", here) == ["b.py"]
        assert found("sub/", here) == ["b.py"]
        assert found("a.py", here) == ["b.py"]
        assert found("*.py", here / "sub") == []
        assert found("/*.py", here / "sub") == ["b.py"]
        assert found("sub/*.py", here.parent) == ["b.py", "sub/a.py"]
        assert found(f"{here.name}/sub/*.py", here.parent) == ["b.py"]

    def test_excludes_count_from_their_base(self) -> None:
        Path("sub/deep").mkdir(parents=True)
        for name in ("a.py", "sub/a.py", "sub/deep/a.py"):
            Path(name).write_text(LOOP)

        def found(*patterns: Pattern) -> list[str]:
            return [finding.span.path for finding in check_paths(Settings(exclude=patterns), ["."]).findings]

        here = Path.cwd()
        assert found(Pattern("deep", here)) == ["a.py", "sub/a.py"]
        assert found(Pattern("/a.py", here)) == ["sub/a.py", "sub/deep/a.py"]
        assert found(Pattern("/a.py", here / "sub"), Pattern("deep/a.py", here / "sub")) == ["a.py"]
        assert found(Pattern(f"/{here.name}/sub", here.parent)) == ["a.py"]


def test_every_library_that_gives_device_arrays_makes_a_file_matter() -> None:
    models = Path(__file__).parent.parent / "jaxlint" / "models"
    for path in models.glob("*.toml"):
        for block in tomllib.loads(path.read_text("utf-8")).get("function", []):
            if "device" in block.get("returns", ""):
                for name in block["names"]:
                    assert any(part.startswith(ARRAY_LIBRARIES) for part in name.lower().split(".")), name


@pytest.mark.parametrize(
    ("models", "value"),
    [
        ({"function": [{"names": ["mylab.load"], "returns": "device"}]}, "mylab.load()"),
        ({"attribute": [{"names": ["mylab.data"], "returns": "device"}]}, "mylab.data"),
        ({"alias": {"mylab.numpy": "jax.numpy"}}, "mylab.numpy.ones(3)"),
    ],
)
def test_so_does_a_library_of_the_users_own_models(models: dict[str, object], value: str) -> None:
    text = f"import mylab\nfor _ in range(9):\n    print({value} + 1)\n".encode()
    settings = Settings(models=models, models_place="jaxlint.toml:1")
    assert lines(check_bytes(settings, text, "page.py")) == [("JT101", 3)]
    assert check_bytes(Settings(), text, "page.py").findings == ()


def test_a_file_without_arrays_is_still_parsed_and_its_comments_read(tmp_path: Path) -> None:
    assert check_text("x = (\n").errors[0].message
    assert lines(check_text("x = 1  # jaxlint: ignore[JT999]\n")) == [("JT002", 1)]


def test_findings_hold_no_syntax_and_can_be_compared() -> None:
    def first() -> Finding:
        return check_text(LOOP).findings[0]

    assert first() == first()
    assert hash(first()) == hash(first())

"""What a server keeps from check to check changes nothing of what it finds, and no text ends it."""

import ast
import random
from pathlib import Path

import pytest
from lsprotocol import types

from jaxlint.server import projects
from jaxlint.server.answers import Document, actions, diagnostics, hover
from jaxlint.server.projects import Projects
from jaxlint.source.parse import parse
from jaxlint.source.text import SourceText

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = sorted((ROOT / "fixtures" / "programs").glob("*.py"))[::6]
CHARACTERS = "()[]{}\"'\\:#,= \t🙂\0\f\r"


def mistyped(text: str, chance: random.Random) -> str:
    """The text after an edit, right or wrong: lines away, lines twice, a character more, a line half."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    column = chance.randrange(len(lines[at]) + 1)
    match chance.randrange(4):
        case 0:
            del lines[at : at + chance.choice((1, 2, 9))]
        case 1:
            lines[at:at] = lines[: chance.choice((1, 9))]
        case 2:
            lines[at] = lines[at][:column] + chance.choice(CHARACTERS) + lines[at][column:]
        case _:
            lines[at] = lines[at][:column]
    return "\n".join(lines)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_text_is_judged_alike_whatever_was_typed_before(program: Path, tmp_path: Path) -> None:
    (tmp_path / "jaxlint.toml").write_text('min-heat = "cold"\n')
    path, text = tmp_path.resolve() / "train.py", program.read_text("utf-8")
    chance, kept, seen = random.Random(program.name), Projects(), 0
    for _ in range(12):
        checked = kept.check(path, {path: text})
        assert checked == Projects().check(path, {path: text})
        document = Document(path.as_uri(), "utf-16", checked, kept.rules, Path.as_uri)
        seen += len(diagnostics(document))
        end = types.Position(len(checked.source.line_starts) + 1, 9)
        assert len(actions(document, types.Range(types.Position(0, 0), end))) <= 2 * len(checked.report.findings)
        hover(document, types.Position(chance.randrange(end.line), chance.randrange(90)))
        text = mistyped(text, chance)
    assert seen


def test_only_what_was_typed_is_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path.resolve()
    (here / "jaxlint.toml").write_text('min-heat = "cold"\n')
    (here / "model.py").write_text("import jax.numpy as jnp\ndef step():\n    return jnp.ones(3)\n")
    text, parsed = "import jax\nfrom model import step\nprint(step())\n", []
    (here / "train.py").write_text(text)

    def counted(source: SourceText) -> ast.Module:
        parsed.append(source.path)
        return parse(source)

    monkeypatch.setattr(projects, "parse", counted)
    kept = Projects()
    for typed in ("", "#", "# a"):
        report = kept.check(here / "train.py", {here / "train.py": text + typed}).report
        assert [finding.span.line for finding in report.findings] == [3]
    assert sorted(parsed) == ["model.py", "train.py", "train.py", "train.py"]

"""The reports of shards, merged, are the report of the whole."""

import json
from pathlib import Path

import jsonschema
import pytest

from jaxlint import cli
from test_report_sarif import validator

__all__ = ["validator"]

ROOT = Path(__file__).resolve().parent.parent
BAD = (
    "import jax\n\nstep = jax.jit(lambda x: x + 1)\nx = step(1.0)\nfor _ in range(9):\n    x = step(x)\n    print(x)\n"
)
TRUTH = BAD.replace("print(x)", "if x > 3: break")


@pytest.fixture(autouse=True)
def shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"a/x.py": BAD, "a/y.py": "x = (", "b/x.py": TRUTH, "b/y.py": "x = 1\n", "c/z.py": ""}.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)


def report(form: str, *paths: str) -> Path:
    """A report of some paths in a file of its own."""
    file = Path(f"{'-'.join(path.replace('/', '_') for path in paths)}.{form}")
    cli.main(["check", "-q", "--isolated", "--no-cache", "--output-format", f"{form}={file}", *paths])
    return file


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_shards_give_the_whole(
    form: str, capsys: pytest.CaptureFixture[str], validator: jsonschema.Draft4Validator
) -> None:
    whole = json.loads(report(form, ".").read_text())
    shards = [str(report(form, folder)) for folder in ("c", "b", "a")]
    capsys.readouterr()
    assert cli.main(["merge", *shards]) == 2
    printed = capsys.readouterr().out
    assert json.loads(printed) == whole
    assert cli.main(["merge", *reversed(shards), "--output-file", "whole"]) == 2
    assert Path("whole").read_text() == printed
    if form == "sarif":
        validator.validate(json.loads(printed))


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_what_stands_in_two_shards_is_told_once(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(report(form, "b")), str(report(form, "b/x.py"))]
    capsys.readouterr()
    assert cli.main(["merge", *files]) == 1
    document = json.loads(capsys.readouterr().out)
    assert len(document["findings"] if form == "json" else document["runs"][0]["results"]) == 1


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_what_is_refuted_fails_nothing(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = report(form, "b")
    document = json.loads(file.read_text())
    if form == "json":
        document["findings"][0]["verdict"] = {"status": "refuted"}
    else:
        document["runs"][0]["results"][0]["kind"] = "pass"
    file.write_text(json.dumps(document))
    assert cli.main(["merge", str(file), str(report(form, "c"))]) == 0


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["{"], "0.json: no JSON: "),
        (["[]"], "0.json: no report of jaxlint in the format json or sarif"),
        (['{"version": 2, "findings": []}'], "0.json: no report of jaxlint in the format json or sarif"),
        (['{"version": "2.1.0", "runs": []}'], "0.json: no report of jaxlint in the format json or sarif"),
        (
            ['{"version": 1, "jaxlint": "0.1", "findings": []}', '{"version": 1, "jaxlint": "0.2", "findings": []}'],
            "1.json: json by jaxlint 0.2, and 0.json is json by jaxlint 0.1: merge what is alike",
        ),
        (
            ['{"version": 1, "jaxlint": "0.1", "findings": [{}]}'],
            "0.json: one of them is no whole report of jaxlint: 'verdict'",
        ),
        ([None], "0.json: cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_report_is_one_line(texts: list[str | None], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    for number, text in enumerate(texts):
        if text is not None:
            Path(f"{number}.json").write_text(text)
    assert cli.main(["merge", *(f"{number}.json" for number in range(len(texts)))]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"jaxlint: {line}")
    assert said.err.count("\n") == 1

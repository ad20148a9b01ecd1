"""Models as they are read: a word that does not exist is an error that helps."""

import tomllib
from pathlib import Path

import pytest

from jaxlint.errors import UserError
from jaxlint.interp.models import Models


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('operation = "metrics"', 'unknown operation "metrics": did you mean "metric"?'),
        ('returns = "devise"', 'unknown word "devise": did you mean "device"?'),
        ("read = [0]", 'unknown key "read": did you mean "reads"?'),
    ],
)
def test_an_unknown_word_names_its_line_and_the_nearest(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "jaxlint.toml"
    file.write_text(f'# metrics\n[[models.function]]\nnames = ["a.b"]\n{line}\n')
    data = tomllib.loads(file.read_text())["models"]
    with pytest.raises(UserError) as caught:
        Models().add(data, f"{file}:2")
    assert str(caught.value) == f"{file}:4: {message}"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("reads = 0", '3: reads is a list of positions from 0 and of keywords, as [0, "x"]'),
        (
            'reads = ["x", -1]\noperation = "print"',
            '3: reads is a list of positions from 0 and of keywords, as [0, "x"]',
        ),
        ("reads = [0]", "3: reads needs an operation: what is done to what is read"),
        ('deep = "yes"\nreturns = "none"', "3: deep is true or false"),
        ("returns = 3", "3: returns is a text"),
        ("only_arity = true", "3: only_arity is a number of arguments"),
        ("takes = true", "3: takes is a number of arguments"),
        ('brings = ["x"]', '3: brings is a table of parameters, each "device", "numpy" or "python"'),
        ('brings = { x = "tracer" }', '3: brings is a table of parameters, each "device", "numpy" or "python"'),
        ("", "1: a block that says nothing of its names: give returns, reads or uploads"),
        ('returns = ""', "3: returns is empty: leave it out, or say what comes back"),
    ],
)
def test_a_value_of_another_kind_names_its_line(line: str, message: str, tmp_path: Path) -> None:
    assert refusal(f'[[models.function]]\nnames = ["a.b"]\n{line}\n', tmp_path).startswith(message)


@pytest.mark.parametrize("names", ['"a.b"', "[]", '["a b"]', "[1]", '["a..b"]'])
def test_names_are_dotted_names(names: str, tmp_path: Path) -> None:
    said = refusal(f'[[models.function]]\nreturns = "none"\nnames = {names}\n', tmp_path)
    assert said == '3: names is a list of dotted names, as ["library.function"]'


@pytest.mark.parametrize("line", ['"a" = 3', '"a" = ["x"]', '"a" = "b c"'])
def test_an_alias_is_a_name(line: str, tmp_path: Path) -> None:
    said = refusal(f"[models.alias]\n{line}\n", tmp_path)
    assert said == "2: an alias is the other name of a library or of a part of it"


def test_aliases_lead_somewhere(tmp_path: Path) -> None:
    said = refusal('[models.alias]\n"a" = "b"\n"b" = "c"\n"c" = "a"\n', tmp_path)
    assert said == '4: the alias "c" leads back to itself'


def refusal(text: str, folder: Path) -> str:
    """The error of a configuration file, from its line on."""
    file = folder / "jaxlint.toml"
    file.write_text(text)
    with pytest.raises(UserError) as caught:
        Models().add(tomllib.loads(text)["models"], f"{file}:1")
    return str(caught.value).removeprefix(f"{file}:")

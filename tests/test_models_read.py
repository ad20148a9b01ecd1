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

"""`check --confirm` on whole programs: every verdict is the one that the marks in the program demand."""

from pathlib import Path

import pytest

import programs
from backends import BACKENDS


def test_there_are_enough_programs_and_marks() -> None:
    statuses = [
        status
        for name in programs.names()
        for file in (
            [programs.FOLDER / name] if name.endswith(".py") else sorted((programs.FOLDER / name).rglob("*.py"))
        )
        for _, found in programs.expected_of(file.read_text("utf-8"), "").verdicts.items()
        for status in [found]
    ]
    assert len(programs.names()) >= 12
    assert {status: statuses.count(status) >= 10 for status in ("confirmed", "refuted", "unreached")} == {
        "confirmed": True,
        "refuted": True,
        "unreached": True,
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", programs.names())
def test_verdicts_are_the_marked_ones(name: str, backend: str, tmp_path: Path) -> None:
    if lacking := programs.missing(name):
        pytest.skip(f"needs {', '.join(lacking)}")
    folder, command = programs.copy(name, tmp_path)
    assert programs.differences(folder, command, backend) == []

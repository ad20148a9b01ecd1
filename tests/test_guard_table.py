"""The law of the table: an operation that the real guard refuses is reported by some rule of its direction, and one
that it lets pass by none. `left_out.toml` names each row for which this does not hold, and why; a row that is named
there and does hold fails the test too."""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from guard_table import DIRECTIONS, answers, family, programs, rows
from jaxlint.check import check_text
from jaxlint.rulebook import load_rules
from jaxlint.sites import Confidence

LEFT_OUT = Path(__file__).with_name("left_out.toml")
EVERY_CODE = tuple(rule.code for rule in load_rules())
CASES = [(direction, reported) for direction in DIRECTIONS for reported in (False, True)]


@functools.cache
def found() -> Mapping[str, set[str]]:
    return answers(rows(), lambda text: check_text(text, select=EVERY_CODE, min_confidence=Confidence.LOW))


def left_out(direction: str, reported: bool) -> dict[str, str]:
    """Row -> reason: rows of a direction that are reported though nothing crosses, or not though something does."""
    kept: dict[str, str] = {}
    for entry in tomllib.loads(LEFT_OUT.read_text("utf-8"))["group"]:
        if (entry["direction"], entry["reported"]) == (direction, reported):
            for row in entry["rows"]:
                assert row not in kept, f"{row} stands twice"
                kept[row] = entry["reason"]
    return kept


def test_every_row_is_a_program() -> None:
    for text, _ in programs(rows()):
        compile(text, "rows.py", "exec")


def test_what_is_left_out_names_rows_and_gives_reasons() -> None:
    known = {row.id: row for row in rows()}
    for direction, reported in CASES:
        for row, reason in left_out(direction, reported).items():
            assert row in known
            assert known[row].transfers(direction) is not reported
            assert len(reason.split()) >= 3


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_row_that_the_guard_refuses_is_reported(direction: str) -> None:
    missed = {row.id for row in rows() if row.transfers(direction) and not family(found()[row.id], direction)}
    listed = set(left_out(direction, False))
    assert (sorted(missed - listed), sorted(listed - missed)) == ([], []), "newly missed; listed but reported now"


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_row_that_the_guard_lets_pass_is_not_reported(direction: str) -> None:
    wrong = {row.id for row in rows() if row.transfers(direction) is False and family(found()[row.id], direction)}
    listed = set(left_out(direction, True))
    assert (sorted(wrong - listed), sorted(listed - wrong)) == ([], []), "newly reported; listed but silent now"

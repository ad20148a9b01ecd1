"""The record of each row of the guard's table: what crossed, in which direction, and whether it was asked for by name,
is what the guard said of it. What differs is named here, with the reason."""

from collections.abc import Mapping
from importlib import metadata

import pytest

from backends import BACKENDS
from guard_table import DIRECTIONS, Row, rows
from test_backend_table import FEWEST, MEASURED_VERSIONS, NOT_INSTALLED, Answer, measured

ITS_OWN = "the CPU device that it names is the one that its arrays are on: nothing moves, and what is there is fetched"
OF_BACKEND: Mapping[str, Mapping[str, str]] = {
    "sentinel": {
        "dd_put_cpu_backend": ITS_OWN,
        "dd_put_from_cpu_backend": ITS_OWN,
        "dd_mix_cpu_array": ITS_OWN,
        "dd_np_of_cpu_array": ITS_OWN,
        "dd_print_cpu_array": ITS_OWN,
    },
    "virtual": {},
}
# Rows of which a part runs in threads that a guard of one thread does not see.
THREADED = {"threading_print", "executor_np", "asyncio_to_thread"}


def difference(row: Row, answer: Answer, version: str) -> str | None:
    """Nothing if a row is recorded as the guard counted it; None where it can not be run here, or was not there."""
    expected = {direction: row.expected(version, direction) for direction in DIRECTIONS}
    fails = any(said.startswith(("n/a", "error")) for said in expected.values())
    if "failed" in answer:
        return None if fails or NOT_INSTALLED.search(answer["failed"]) else answer["failed"]
    if fails:
        return None
    found = {"h2d": answer["h2d"], "d2h": answer["d2h"], "d2d": answer["d2d"]}
    return "; ".join(
        f"{direction} was {said}, is {found[direction]}"
        for direction, said in expected.items()
        if found[direction] != ("implicit" if said.startswith(("implicit", "first")) else said)
    )


def answers(backend: str) -> tuple[str, Mapping[str, Answer]]:
    """The version of jax, and what the record has of each row."""
    version = metadata.version("jax")
    if version not in MEASURED_VERSIONS:
        pytest.skip(f"the table was not measured with jax {version}")
    return version, measured(backend, "record_probe.py")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_row_is_recorded_as_the_guard_counted_it(backend: str) -> None:
    version, answered = answers(backend)
    found = {row.id: difference(row, answered[row.id], version) for row in rows()}
    assert sum(what is not None for what in found.values()) > FEWEST
    listed = OF_BACKEND[backend]
    different = {row: what for row, what in found.items() if what}
    assert {row: what for row, what in different.items() if row not in listed} == {}
    assert sorted(listed.keys() - different.keys()) == [], "listed, but recorded as measured"


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_other_threads_transfer_a_guard_of_the_whole_process_counts(backend: str) -> None:
    _, answered = answers(backend)
    threaded = {row: answer for row, answer in answered.items() if answer.get("others")}
    assert threaded.keys() == THREADED
    for row, answer in threaded.items():
        assert answer["others"] == answer["guarded"] == {"d2h": 1}, row


def test_every_listed_row_exists_and_has_a_reason() -> None:
    names = {row.id for row in rows()}
    for listed in OF_BACKEND.values():
        assert set(listed) <= names
        assert all(len(reason.split()) > 3 for reason in listed.values())

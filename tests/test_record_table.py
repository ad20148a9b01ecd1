"""The record of each row of the guard's table: what crossed, in which direction, and whether it was asked for by name,
is what the guard said of it. What differs is named here, with the reason."""

from collections.abc import Mapping
from importlib import metadata

import pytest

from backends import BACKENDS
from guard_table import DIRECTIONS, Row, rows
from test_backend_table import FEWEST, MEASURED_VERSIONS, NOT_INSTALLED, Answer, measured

THREAD = "it runs in a thread of its own, which the guard of one thread does not see, and the record does"
ALLOWED = "the program allows it, so the guard is silent; it crosses all the same"
TO_CPU = "what a host callback gives back goes to the CPU device first, which is the host itself"
ONE_CLIENT = "one CPU client: what is copied to the CPU device for a callback stays where it is"
ON_PURPOSE = "an array that the program put on a CPU device is taken for a device's"
OTHER_CLIENT = "the CPU device is another client's: what comes from there is an upload, what goes there a fetch"
EVERYWHERE: Mapping[str, str] = {
    "threading_print": THREAD,
    "executor_np": THREAD,
    "asyncio_to_thread": THREAD,
    "id_context_explicit_get": ALLOWED,
    "debug_print_jit": TO_CPU,
    "debug_callback_jit": TO_CPU,
    "debug_callback_np_inside": TO_CPU,
    "pure_callback_jit": TO_CPU,
    "pure_callback_eager": TO_CPU,
    "io_callback_jit": TO_CPU,
    "io_callback_eager": TO_CPU,
    "debug_print_eager": ONE_CLIENT,
    "debug_breakpoint_na": ONE_CLIENT,
}
OF_BACKEND: Mapping[str, Mapping[str, str]] = {
    "sentinel": {
        "dd_put_cpu_backend": ON_PURPOSE,
        "dd_put_from_cpu_backend": ON_PURPOSE,
        "dd_mix_cpu_array": ON_PURPOSE,
        "dd_np_of_cpu_array": ON_PURPOSE,
        "dd_print_cpu_array": ON_PURPOSE,
    },
    "virtual": {
        "dd_put_cpu_backend": OTHER_CLIENT,
        "dd_put_from_cpu_backend": OTHER_CLIENT,
        "dd_mix_cpu_array": OTHER_CLIENT,
    },
}
# The table was measured with this one; others differ from it in rows of their own.
VERSION = MEASURED_VERSIONS[0]


def difference(row: Row, answer: Answer, version: str) -> str | None:
    """Nothing if a row is recorded as the guard counted it; None where it can not be run here."""
    expected = {direction: row.expected(version, direction) for direction in DIRECTIONS}
    if "failed" in answer:
        if NOT_INSTALLED.search(answer["failed"]) or any(e.startswith(("n/a", "error")) for e in expected.values()):
            return None
        return answer["failed"]
    found = {"h2d": answer["h2d"], "d2h": answer["d2h"], "d2d": answer["d2d"]}
    return "; ".join(
        f"{direction} was {said}, is {found[direction]}"
        for direction, said in expected.items()
        if found[direction] != ("implicit" if said.startswith(("implicit", "first")) else said)
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_row_is_recorded_as_the_guard_counted_it(backend: str) -> None:
    version = metadata.version("jax")
    if version != VERSION:
        pytest.skip(f"the table was measured with jax {VERSION}, not {version}")
    answers = measured(backend, "record_probe.py")
    found = {row.id: difference(row, answers[row.id], version) for row in rows()}
    assert sum(what is not None for what in found.values()) > FEWEST
    listed = {**EVERYWHERE, **OF_BACKEND[backend]}
    different = {row: what for row, what in found.items() if what}
    assert {row: what for row, what in different.items() if row not in listed} == {}
    assert sorted(listed.keys() - different.keys()) == [], "listed, but recorded as measured"


def test_every_listed_row_exists_and_has_a_reason() -> None:
    names = {row.id for row in rows()}
    for listed in (EVERYWHERE, *OF_BACKEND.values()):
        assert set(listed) <= names
        assert all(len(reason.split()) > 3 for reason in listed.values())

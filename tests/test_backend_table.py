"""The law of the backends: on each row of the guard's table they let pass, refuse and count as explicit what the guard
did when the table was measured. What a backend can not know is named here, with the reason."""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import TypedDict

import pytest

from guard_table import ARRAYS, DIRECTIONS, PREAMBLE, Row, rows
from jaxlint.witness import virtual

ROOT = Path(__file__).resolve().parent.parent
MEASURED_VERSIONS = ("0.12.0.1", "0.10.2", "0.8.3", "0.6.2", "0.4.35")
NOT_INSTALLED = re.compile(
    r"ModuleNotFoundError|ImportError|requires `rich`|name '(cloudpickle|joblib|orjson)'"
    r"|module 'jax' has no attribute|Could not find memory addressable"
)
FEWEST = 1000
ON_PURPOSE = "an array that the program put on a CPU device is taken for a device's"
NOT_COPIED = "one CPU client: nothing is copied to the CPU device for a callback"
ALWAYS: Mapping[str, Mapping[str, str]] = {
    "virtual": {},
    "sentinel": {
        "debug_print_eager": NOT_COPIED,
        "debug_breakpoint_na": NOT_COPIED,
        "dd_put_cpu_backend": ON_PURPOSE,
        "dd_put_from_cpu_backend": ON_PURPOSE,
        "dd_mix_cpu_array": ON_PURPOSE,
        "dd_np_of_cpu_array": ON_PURPOSE,
        "dd_print_cpu_array": ON_PURPOSE,
    },
}
SOMETIMES: Mapping[str, Mapping[str, str]] = {
    "virtual": {},
    "sentinel": {
        "live_arrays_print": "prints whatever is alive: the backend's own arrays, and those of rows before",
        "bytes_builtin": "before Python 3.12 an array without a buffer is read item by item",
        "bytearray_builtin": "before Python 3.12 an array without a buffer is read item by item",
    },
}
# Of any backend: the table was measured with one Python and one NumPy for each JAX.
ELSEWHERE: Mapping[str, str] = {
    "np_ptp": "NumPy 1 hands it over to the array's own method",
    "dataclass_eq_scalar": "from Python 3.13 on it gives back what the fields' comparison gave, and asks for no truth",
    "traceback_locals": "from Python 3.12 on the traceback swallows what a local's text raises",
}


class Answer(TypedDict, total=False):
    """A line of the probe."""

    begun: str
    id: str
    failed: str
    refused: bool
    error: str
    h2d: str
    d2h: str
    d2d: str
    others: dict[str, int]
    guarded: dict[str, int]


@functools.cache
def measured(backend: str, probe: str = "table_probe.py") -> Mapping[str, Answer]:
    """What a probe answers on each row."""
    tasks = [
        {
            "id": row.id,
            # Some rows look at whatever is alive.
            "arrays": "\n".join(row.arrays() or [f"x = {ARRAYS['x']}"]),
            "setup": row.setup,
            "snippet": row.snippet,
            "first": any(answer.startswith("first") for answer in row.directions.values()),
        }
        for row in rows()
    ]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    environment |= {
        "PYTHONPATH": str(ROOT),
        **({} if backend == "device" else {"JAX_PLATFORMS": "cpu"}),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "MPLBACKEND": "Agg",
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "answers")
        request = {"backend": backend, "preamble": PREAMBLE, "rows": tasks, "answers": str(file)}
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests" / probe)],
            input=json.dumps(request),
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            timeout=600,
        )
        answers: list[Answer] = (
            [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []
        )
    assert done.returncode == 0, f"{answers[-1:]}: {done.stderr[-2000:]}"
    return {answer["id"]: answer for answer in answers if "id" in answer}


def difference(row: Row, answer: Answer, version: str) -> str:
    """Nothing if a backend answers as measured, otherwise what differs. "not installed" where that can not be known:
    the row did not run where the table was measured, or does not here."""
    expected = {direction: row.expected(version, direction) for direction in DIRECTIONS}
    fails = any(value.startswith("error") for value in expected.values())
    if "failed" in answer:
        if NOT_INSTALLED.search(answer["failed"]) or "n/a" in expected.values():
            return "not installed"
        return "" if fails else answer["failed"]
    if fails or "n/a" in expected.values():
        return "not installed"
    fetches = expected["d2h"].startswith(("implicit", "first"))
    swallowed = expected["d2h"].endswith("swallowed")
    found = [
        f"{direction} was {value}, is {got}"
        for direction, value in expected.items()
        for got in [{"h2d": answer["h2d"], "d2h": answer["d2h"], "d2d": answer["d2d"]}[direction]]
        if got != ("implicit" if value.startswith(("implicit", "first")) else value)
    ]
    if answer["refused"] is not fetches and not swallowed:
        found.append(f"refused is {answer['refused']}: {answer['error']}")
    return "; ".join(found)


@pytest.mark.parametrize("backend", ALWAYS)
def test_a_backend_answers_as_the_guard_did(backend: str) -> None:
    version = metadata.version("jax")
    if version not in MEASURED_VERSIONS:
        pytest.skip(f"the table was not measured with jax {version}")
    if backend == virtual.NAME and (reason := virtual.why_not()):
        pytest.skip(f"no virtual devices here: {reason}")
    found = {row.id: difference(row, measured(backend)[row.id], version) for row in rows()}
    known = {row: what for row, what in found.items() if what != "not installed"}
    assert len(known) > FEWEST
    different = {row: what for row, what in known.items() if what}
    listed = {**ALWAYS[backend], **SOMETIMES[backend], **ELSEWHERE}
    assert {row: what for row, what in different.items() if row not in listed} == {}
    assert sorted(ALWAYS[backend].keys() - different.keys()) == [], "listed, but answered as measured"


def test_every_listed_row_exists_and_has_a_reason() -> None:
    names = {row.id for row in rows()}
    for listed in (*ALWAYS.values(), *SOMETIMES.values(), ELSEWHERE):
        assert set(listed) <= names
        assert all(len(reason.split()) > 3 for reason in listed.values())

"""Measures rows of the guard's table in a child process, on the backend that is asked for.

Reads one JSON object from standard input: the backend, a program that makes the names which rows use, and the rows.
Writes one JSON line a row to the file that is named, so that a row which ends the process is known. Every attempt has
fresh arrays, and functions that were called before, as in the steady state of a loop; rows that differ in their first
call are measured in that one, with nothing compiled.
"""

import ast
import contextlib
import io
import json
import logging
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypedDict

import jax

from page_probe import captured_descriptor

DIRECTIONS = {"host-to-device": "h2d", "device-to-host": "d2h", "device-to-device": "d2d"}
LOGGED = re.compile(rf"({'|'.join(DIRECTIONS)}) transfer")
# What a row's setup makes and a loop would make once.
KEPT = ("f", "g", "st", "obj", "md")


class Task(TypedDict):
    """A row: its arrays, its setup, the operation, and whether its first call is of interest."""

    id: str
    arrays: str
    setup: str
    snippet: str
    first: bool


class Request(TypedDict):
    """What to measure."""

    backend: str
    preamble: str
    rows: list[Task]
    answers: str


Namespace = dict[str, object]


def start(backend: str) -> None:
    def fail(reason: str) -> None:
        raise SystemExit(f"the backend {backend} does not start: {reason}")

    if backend == "virtual":
        from jaxlint.witness import virtual

        virtual.start(fail)
    elif backend == "sentinel":
        from jaxlint.witness import sentinel

        sentinel.install()


class Attempt(NamedTuple):
    """The transfers that were logged, the error if there was one, whether the guard made it, and what was made."""

    logged: Counter[str]
    error: str
    refused: bool
    names: Namespace


class Probe:
    """Runs rows."""

    def __init__(self, preamble: str) -> None:
        self.helpers: Namespace = {"__name__": "rows"}
        for statement in ast.parse(preamble).body:
            # Rows that need a package which is not installed fail by themselves.
            parts = (
                [ast.Import([name]) for name in statement.names] if isinstance(statement, ast.Import) else [statement]
            )
            for part in parts:
                with contextlib.suppress(ImportError):
                    tree = ast.fix_missing_locations(ast.Module([part], []))
                    exec(compile(tree, "preamble.py", "exec"), self.helpers)
        self.ready: Callable[[object], object] = jax.block_until_ready
        self.configure: Callable[[str, object], None] = jax.config.update
        self.clear: Callable[[], None] = jax.clear_caches

    def prepared(self, task: Task, kept: Namespace) -> Namespace:
        """Fresh arrays, and functions that were called before unless the first call is of interest."""
        names = dict(self.helpers)
        exec(task["arrays"], names)
        exec(task["setup"], names)
        names |= {name: kept[name] for name in KEPT if callable(kept.get(name))}
        self.ready([value for value in names.values() if isinstance(value, jax.Array) and not value.is_deleted()])
        if task["first"]:
            self.clear()
        return names

    def attempt(self, task: Task, guard: str, level: str, kept: Namespace) -> Attempt:
        names = self.prepared(task, kept)
        enter: Callable[[str], contextlib.AbstractContextManager[None]] = getattr(jax, guard)
        message, refused = "", False
        with captured_descriptor() as file:
            with enter(level):
                try:
                    exec(task["snippet"], names)
                except (Exception, SystemExit) as error:  # noqa: BLE001 an error is an answer
                    message, refused = f"{type(error).__name__}: {error}"[:300], is_refusal(error)
                    error.__traceback__ = None
            file.seek(0)
            text = file.read().decode("utf-8", "replace")
        self.configure("jax_debug_nans", False)
        return Attempt(Counter(DIRECTIONS[found] for found in LOGGED.findall(text)), message, refused, names)

    def measure(self, task: Task) -> dict[str, object]:
        kept: Namespace = {}
        if not task["first"]:
            warm = self.attempt(task, "transfer_guard", "allow", {})
            if warm.error:
                return {"failed": warm.error}
            kept = warm.names
        implicit = self.attempt(task, "transfer_guard", "log", kept).logged
        every = self.attempt(task, "transfer_guard", "log_explicit", kept).logged
        last = self.attempt(task, "transfer_guard_device_to_host", "disallow", kept)
        answer: dict[str, object] = {"refused": last.refused, "error": last.error}
        for direction in DIRECTIONS.values():
            answer[direction] = "implicit" if implicit[direction] else "explicit" if every[direction] else "allowed"
        return answer


def is_refusal(error: BaseException | None) -> bool:
    """True for the guard's error about a fetch, and for one that was raised in its place."""
    while error is not None:
        if "Disallowed device-to-host" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def main() -> None:
    request: Request = json.load(sys.stdin)
    start(request["backend"])
    warnings.simplefilter("ignore")
    sys.stdin = io.StringIO()
    logging.getLogger("probe").addHandler(logging.StreamHandler())
    probe = Probe(request["preamble"])
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with open(request["answers"], "a", encoding="utf-8", buffering=1) as answers:
        for task in request["rows"]:
            answers.write(json.dumps({"begun": task["id"]}) + "\n")
            try:
                answer = probe.measure(task)
            except Exception as error:  # noqa: BLE001 a setup that fails is an answer
                answer = {"failed": f"setup: {type(error).__name__}: {error}"[:300]}
            answers.write(json.dumps({"id": task["id"], **answer}) + "\n")


if __name__ == "__main__":
    main()

"""Records rows of the guard's table in a child process: what ``jaxlint.record`` has of each.

Reads and writes what ``table_probe`` does. A direction's answer is "implicit" if anything crossed unasked, "explicit"
if all was asked for by name, "allowed" if nothing crossed.
"""

import io
import json
import logging
import os
import sys
import warnings

import jaxlint
from jaxlint.findings import Direction
from table_probe import DIRECTIONS, Namespace, Probe, Request, Task


def recorded(probe: Probe, task: Task) -> dict[str, object]:
    """The row in the steady state, as it is measured for the guard."""
    kept: Namespace = {}
    if not task["first"]:
        warm = probe.attempt(task, "transfer_guard", "allow", {})
        if warm.error:
            return {"failed": warm.error}
        kept = warm.names
    names, error = probe.prepared(task, kept), ""
    with jaxlint.record() as transfers:
        try:
            exec(task["snippet"], names)
        except (Exception, SystemExit) as raised:  # noqa: BLE001 an error is an answer
            error = f"{type(raised).__name__}: {raised}"[:300]
    probe.configure("jax_debug_nans", False)
    answer: dict[str, object] = {"error": error}
    for direction in Direction:
        crossed = transfers.of(direction)
        short = DIRECTIONS[direction.replace("_", "-")]
        answer[short] = "implicit" if crossed.implicit.count else "explicit" if crossed.count else "allowed"
    return answer


def main() -> None:
    request: Request = json.load(sys.stdin)
    jaxlint.watch(request["backend"])
    warnings.simplefilter("ignore")
    sys.stdin = io.StringIO()
    logging.getLogger("probe").addHandler(logging.StreamHandler())
    probe = Probe(request["preamble"])
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with open(request["answers"], "a", encoding="utf-8", buffering=1) as answers:
        for task in request["rows"]:
            answers.write(json.dumps({"begun": task["id"]}) + "\n")
            try:
                answer = recorded(probe, task)
            except Exception as error:  # noqa: BLE001 a setup that fails is an answer
                answer = {"failed": f"setup: {type(error).__name__}: {error}"[:300]}
            answers.write(json.dumps({"id": task["id"], **answer}) + "\n")


if __name__ == "__main__":
    main()

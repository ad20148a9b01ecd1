"""Records rows of the guard's table in a child process: what ``jaxlint.record`` has of each.

Reads and writes what ``table_probe`` does. A direction's answer is "implicit" if anything crossed unasked, "explicit"
if all was asked for by name, "allowed" if nothing crossed but what a level of the program's own allows: in the thread
of the row, as the guard was asked. Where others took part, `others` is what crossed in them unasked, by direction, and
`guarded` what a guard of the whole process says of the row, less what that of its thread says.
"""

import io
import json
import logging
import os
import sys
import threading
import warnings
from collections import Counter

import jaxlint
from jaxlint.findings import Direction
from page_probe import captured_descriptor
from table_probe import DIRECTIONS, LOGGED, Namespace, Probe, Request, Task

SHORT = {direction: DIRECTIONS[direction.replace("_", "-")] for direction in Direction}


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
            # Rows have the same lines; a site of the record is to be of one row.
            exec(compile(task["snippet"], f"<{task['id']}>", "exec"), names)
        except (Exception, SystemExit) as raised:  # noqa: BLE001 an error is an answer
            error = f"{type(raised).__name__}: {raised}"[:300]
    probe.configure("jax_debug_nans", False)
    here = threading.current_thread().name
    answer: dict[str, object] = {"error": error}
    for direction, short in SHORT.items():
        asked = {transfer.asked for transfer in transfers.of(direction) if transfer.thread == here}
        answer[short] = next((word for word in ("implicit", "explicit") if word in asked), "allowed")
    others = Counter[str]()
    for transfer in transfers.implicit:
        if transfer.thread != here:
            others[SHORT[transfer.direction]] += transfer.count
    if others:
        every, own = (logged(probe, task, kept, everywhere=everywhere) for everywhere in (True, False))
        answer |= {"others": others, "guarded": every - own}
    return answer


def logged(probe: Probe, task: Task, kept: Namespace, *, everywhere: bool) -> Counter[str]:
    """What the guard logs of a row, by direction: that of the whole process, or that of this thread."""
    if not everywhere:
        return probe.attempt(task, "transfer_guard", "log", kept).logged
    names = probe.prepared(task, kept)
    with captured_descriptor() as file:
        probe.configure("jax_transfer_guard", "log")
        try:
            exec(task["snippet"], names)
        finally:
            probe.configure("jax_transfer_guard", "allow")
        file.seek(0)
        text = file.read().decode("utf-8", "replace")
    return Counter(DIRECTIONS[found] for found in LOGGED.findall(text))


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

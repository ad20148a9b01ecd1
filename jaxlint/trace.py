"""A program, run as it would run without jaxlint but with its transfers recorded; the record joined with findings.

The program keeps the terminal: its standard streams are ours. What is recorded comes from the witness in each of its
Pythons, through files in a temporary folder. Nothing is checked here: findings are given.
"""

import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jaxlint import witness
from jaxlint.errors import UserError
from jaxlint.findings import Finding
from jaxlint.processes.folders import records_folder, temporary_folder
from jaxlint.processes.interrupts import Told, noted
from jaxlint.processes.kept import start
from jaxlint.processes.terminal import restored
from jaxlint.records import Records
from jaxlint.sites import Operation
from jaxlint.statements import Statements
from jaxlint.transfers import Run, Transfer, Unreached
from jaxlint.witness.plan import VARIABLE, Plan, Traced, write_plan

SITE = Path(witness.__file__).resolve().parent / "site"
EXPLICIT = (Operation.EXPLICIT_FETCH, Operation.EXPLICIT_UPLOAD, Operation.REDUNDANT_PUT)
SIGNAL_STATUS = 128


def run(
    words: Sequence[str],
    *,
    python: str,
    levels: Mapping[str, str],
    backend: str,
    cache: Path,
    plugin: str,
) -> list[Run]:
    """Runs ``python WORDS…`` to its end and gives its record: first that of all its processes, then that of each which
    imported jax. `levels` are those of the guard by direction. UserError where it can not be started, or was not
    watched."""
    with noted() as told, temporary_folder() as temporary, restored():
        records = records_folder(temporary)
        plan = temporary / "plan.json"
        write_plan(Plan({}, {}, str(records), str(cache), backend, traced=Traced(levels)), str(plan))
        environment = {**os.environ}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(SITE), environment.get("PYTHONPATH"))))
        if plugin:
            environment["JAXLINT_PLUGIN"] = str(Path(plugin).absolute())
        began, began_at = time.perf_counter(), time.time()
        status = _run(python, words, environment, plan, told)
        seconds = time.perf_counter() - began
        each = [one for one in Records.read_each(records) if one.backends]
        return [one.run(words, status, seconds, began_at) for one in (Records.read(records), *each)]


def _run(python: str, words: Sequence[str], environment: Mapping[str, str], plan: Path, told: Told) -> int:
    """The exit status as a shell would have it. An interrupt from the terminal reaches the program by itself, and is
    its business; what is sent to us alone is handed on."""
    try:
        kept = start([python, *words], environment, (VARIABLE, str(plan)))
    except OSError as error:
        raise UserError(f"{python}: cannot be started: {error.strerror}") from None
    told.hand_on = kept.tell
    status = kept.wait()
    return status if status >= 0 else SIGNAL_STATUS - status


def joined(
    run: Run,
    findings: Sequence[Finding],
    checked: Mapping[str, str],
    *,
    silenced: Sequence[Finding] = (),
    skipped: Collection[str] = (),
) -> Run:
    """The run with what the static pass says of its lines. `checked` maps the checked files as the record names them to
    the paths that findings have. Of `silenced` findings, and of the `skipped` ones among the checked files, the user
    chose not to be told: their transfers are not missed."""
    by_path, quiet = _by_path(findings), _by_path(silenced)
    statements = {path: Statements.of_file(path) for path in checked}
    met: set[int] = set()
    transfers = []
    for transfer in run.transfers:
        found = _finding_of(transfer, by_path, checked, statements)
        met.update(map(id, found))
        told = bool(found)
        found = found or _finding_of(transfer, quiet, checked, statements)
        silent = bool(found) or _is_skipped(transfer, checked, skipped)
        transfers.append(replace(transfer, finding=found[0].code if found else None, silenced=silent and not told))
    missed = tuple(n for n, t in enumerate(transfers) if t.is_missed)
    unreached = tuple(
        Unreached(finding.code, finding.span.path, finding.span.line)
        for found in by_path.values()
        for finding in found
        if id(finding) not in met
    )
    return replace(run, transfers=tuple(transfers), missed=missed, unreached=unreached)


def _by_path(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    made: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.direction is not None and finding.span.cell is None:
            made.setdefault(finding.span.path, []).append(finding)
    return made


def _is_skipped(transfer: Transfer, checked: Mapping[str, str], skipped: Collection[str]) -> bool:
    """True where the nearest checked file that led there is one that asks not to be checked."""
    return next((checked[path] in skipped for path, _ in map(_place, transfer.stack) if path in checked), False)


def _finding_of(
    transfer: Transfer,
    by_path: Mapping[str, Sequence[Finding]],
    checked: Mapping[str, str],
    statements: Mapping[str, Statements],
) -> list[Finding]:
    """The findings that speak of a transfer, the best first: at its own line, or at the line of the nearest checked
    file that led there."""
    for path, line in (_place(call) for call in transfer.stack):
        if path not in checked:
            continue
        known = [f for f in by_path.get(checked[path], ()) if f.direction == transfer.direction]
        first, last = statements[path].lines(line)
        found = [f for f in known if f.span.line <= line <= f.span.end_line]
        found = found or [f for f in known if first <= f.span.line <= last]
        found = [f for f in found if transfer.explicit or f.operation not in EXPLICIT]
        return sorted(found, key=lambda f: (f.operation in EXPLICIT) != transfer.explicit)
    return []


def _place(call: str) -> tuple[str, int]:
    """``path:line name`` as path and line."""
    place = call.rpartition(" ")[0]
    path, _, line = place.rpartition(":")
    return path, int(line) if line.isdigit() else 0

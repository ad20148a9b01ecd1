"""The record of a run as JSON, version 1: ``schema/jaxlint-run-1.schema.json``."""

import json

from jaxlint import __version__
from jaxlint.transfers import VERSION, Run, Transfer


def render(run: Run) -> str:
    """One object."""
    return json.dumps(as_data(run), indent=1) + "\n"


def as_data(run: Run) -> dict[str, object]:
    """What the JSON says, also for the page."""
    steps = run.steps and {
        "path": run.steps.path,
        "line": run.steps.line,
        "count": run.steps.count,
        "seconds": run.steps.seconds,
        "moments": [[number, round(turns, 2)] for number, turns in run.steps.moments],
    }
    return {
        "version": VERSION,
        "jaxlint": __version__,
        "backend": run.backend,
        "command": list(run.command),
        "exit_status": run.exit_status,
        "seconds": round(run.seconds, 6),
        "process": run.process,
        "transfers": [_transfer(transfer) for transfer in run.transfers],
        "missed": list(run.missed),
        "unreached": [{"code": row.code, "path": row.path, "line": row.line} for row in run.unreached],
        "steps": steps,
        "width": run.width,
    }


def _transfer(transfer: Transfer) -> dict[str, object]:
    return {
        "path": transfer.path,
        "line": transfer.line,
        "function": transfer.function,
        "direction": str(transfer.direction),
        "explicit": transfer.explicit,
        "count": transfer.count,
        "bytes": transfer.bytes,
        "seconds": round(transfer.seconds, 9),
        "thread": transfer.thread,
        "stack": list(transfer.stack),
        "finding": transfer.finding,
        "turns": transfer.turns,
        "moments": [[m.number, m.count, m.bytes, round(m.seconds, 9)] for m in transfer.moments],
    }

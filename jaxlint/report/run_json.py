"""The record of a run as JSON, version 1: ``schema/jaxlint-run-1.schema.json``."""

import json

from jaxlint import __version__
from jaxlint.transfers import VERSION, Run, Transfer


def render(run: Run) -> str:
    """One object, with a line for each of its parts and each transfer."""
    parts = []
    for name, value in as_data(run).items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
        parts.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


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
        "transfers": [transfer_object(transfer) for transfer in run.transfers],
        "missed": list(run.missed),
        "unreached": [{"code": row.code, "path": row.path, "line": row.line} for row in run.unreached],
        "steps": steps,
        "start": round(run.start, 6),
        "width": round(run.width, 9),
        "began": round(run.began, 6),
        "differing": [
            {
                "path": row.path,
                "line": row.line,
                "function": row.function,
                "direction": str(row.direction),
                "explicit": row.explicit,
                "counts": dict(row.counts),
            }
            for row in run.differing
        ],
    }


def transfer_object(transfer: Transfer) -> dict[str, object]:
    """A transfer in the form of the schema."""
    return {
        "path": transfer.path,
        "line": transfer.line,
        "function": transfer.function,
        "direction": str(transfer.direction),
        "explicit": transfer.explicit,
        "count": transfer.count,
        "allowed": transfer.allowed,
        "bytes": transfer.bytes,
        "seconds": round(transfer.seconds, 9),
        "thread": transfer.thread,
        "stack": list(transfer.stack),
        "finding": transfer.finding,
        "turns": transfer.turns,
        "moments": [[m.number, m.count, m.bytes, round(m.seconds, 9)] for m in transfer.moments],
        "silenced": transfer.silenced,
    }

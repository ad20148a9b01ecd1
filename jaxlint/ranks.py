"""Reports of runs, read again; and those of the processes of one program, put together, with the lines at which they
differ.

Nothing here runs a program or prints.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jaxlint.errors import UserError
from jaxlint.findings import Direction
from jaxlint.transfers import VERSION, Differing, Moment, Run, Steps, Transfer, Unreached

Key = tuple[str, int, str, Direction, bool]


def read(path: Path) -> Run:
    """The run of a report that was written as JSON. UserError where it is none."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        data = None
    return from_json(data, str(path))


def read_folder(folder: Path) -> list[Run]:
    """The runs of a folder. UserError where there is none."""
    runs = [read(path) for path in sorted(folder.glob("*.json"))]
    if not runs:
        raise UserError(f"{folder}: no report is there: jaxlint run --report {folder} … writes one for each process")
    return runs


def from_json(data: object, name: str) -> Run:
    """The run of a report. UserError where it is none."""
    try:
        match data:
            case {"version": int(version), "transfers": list(rows)} if version == VERSION:
                assert isinstance(data, dict)
                transfers = tuple(map(_transfer, rows))
                return Run(
                    backend=str(data["backend"]),
                    command=tuple(map(str, data["command"])),
                    exit_status=int(data["exit_status"]),
                    seconds=float(data["seconds"]),
                    process=int(data["process"]),
                    transfers=transfers,
                    missed=tuple(int(index) for index in data["missed"] if 0 <= int(index) < len(transfers)),
                    unreached=tuple(Unreached(row["code"], row["path"], int(row["line"])) for row in data["unreached"]),
                    steps=_steps(data.get("steps")),
                    start=float(data["start"]),
                    width=float(data["width"]),
                    began=float(data.get("began", 0.0)),
                )
            case {"version": version} if version != VERSION:
                raise UserError(f"{name}: a report of version {version}: this jaxlint reads version {VERSION}")
    except (KeyError, TypeError, ValueError, AssertionError):
        pass
    raise UserError(f"{name} is no report of `jaxlint run`: write one by --report FILE.json")


def _transfer(row: Mapping[str, object]) -> Transfer:
    match row:
        case {
            "path": str(path), "line": int(line), "function": str(function), "direction": str(direction),
            "explicit": bool(explicit), "count": int(count), "bytes": int(size), "thread": str(thread),
            "seconds": int(seconds) | float(seconds), "stack": list(stack), "finding": str() | None as finding,
            "turns": int() | None as turns, "moments": list(moments),
        }:  # fmt: skip
            return Transfer(
                path, line, function, Direction(direction), explicit, count, size, float(seconds), thread,
                tuple(map(str, stack)), finding, turns, tuple(Moment(*moment) for moment in moments),
                row.get("silenced") is True, int(str(row.get("allowed", 0))),
            )  # fmt: skip
    raise ValueError(row)


def _steps(row: object) -> Steps | None:
    match row:
        case {"path": str(path), "line": int(line), "count": int(count), "seconds": seconds, "moments": list(moments)}:
            parts = tuple((int(number), float(turns)) for number, turns in moments)
            return Steps(path, line, count, None if seconds is None else float(seconds), parts)
    return None


def merged(runs: Sequence[Run]) -> Run:
    """The runs of the processes of one program as one. Its loop is that of the process which took longest over it."""
    began = min(run.began for run in runs)
    start = min(run.began - began + run.start for run in runs)
    ends = [run.began - began + run.start + run.width * (1 + _last(run)) for run in runs]
    width = max(max(run.width for run in runs), (max(ends) - start) / (1 + max(map(_last, runs))))
    sums: dict[Key, Transfer] = {}
    for run in runs:
        place = _placing(run, run.began - began - start, width)
        for transfer in run.transfers:
            placed = replace(transfer, moments=_placed(transfer.moments, place))
            known = sums.get(_key(transfer))
            sums[_key(transfer)] = placed if known is None else _sum(known, placed)
    transfers = tuple(sorted(sums.values(), key=lambda t: (t.cost, t.path, t.line, t.direction)))
    longest = max(runs, key=lambda run: run.steps.count * (run.steps.seconds or 0.0) if run.steps else -1.0)
    steps = longest.steps
    if steps is not None:
        place = _placing(longest, longest.began - began - start, width)
        turns: dict[int, float] = {}
        for number, count in steps.moments:
            turns[place(number)] = turns.get(place(number), 0.0) + count
        steps = replace(steps, moments=tuple(sorted(turns.items())))
    return replace(
        runs[0],
        backend=", ".join(dict.fromkeys(run.backend for run in runs if run.backend)),
        exit_status=max((run.exit_status for run in runs), key=abs),
        seconds=max(run.began + run.seconds for run in runs) - began,
        transfers=transfers,
        missed=tuple(n for n, t in enumerate(transfers) if t.is_missed),
        unreached=tuple(row for row in runs[0].unreached if all(row in run.unreached for run in runs)),
        process=0,
        processes=len(runs),
        start=start,
        width=width,
        steps=steps,
        refused=tuple(row for run in runs for row in run.refused),
        began=began,
        differing=differing(runs),
    )


def _last(run: Run) -> int:
    """The number of the last moment."""
    return max((moment.number for transfer in run.transfers for moment in transfer.moments), default=0)


def _placing(run: Run, offset: float, width: float) -> Callable[[int], int]:
    """From a run's moments to those of all."""
    return lambda number: int((offset + run.start + run.width * (number + 0.5)) / width) if width else 0


def _placed(moments: Sequence[Moment], place: Callable[[int], int]) -> tuple[Moment, ...]:
    made: dict[int, Moment] = {}
    for moment in moments:
        number = place(moment.number)
        before = made.get(number, Moment(number, 0, 0, 0.0))
        count, size = before.count + moment.count, before.bytes + moment.bytes
        made[number] = Moment(number, count, size, before.seconds + moment.seconds)
    return tuple(made[number] for number in sorted(made))


def _sum(one: Transfer, other: Transfer) -> Transfer:
    return replace(
        one,
        count=one.count + other.count,
        allowed=one.allowed + other.allowed,
        bytes=one.bytes + other.bytes,
        seconds=one.seconds + other.seconds,
        finding=one.finding or other.finding,
        silenced=one.silenced or other.silenced,
        turns=(one.turns or 0) + (other.turns or 0) or None,
        moments=_placed((*one.moments, *other.moments), lambda number: number),
    )


def _key(transfer: Transfer) -> Key:
    return (transfer.path, transfer.line, transfer.function, transfer.direction, transfer.explicit)


def are_apart(runs: Sequence[Run]) -> bool:
    """True if one had ended before another began: then a folder holds more than one run of a program."""
    return min(run.began + run.seconds for run in runs) < max(run.began for run in runs)


def names(runs: Sequence[Run]) -> list[str]:
    """What the processes are called: by their rank, where each has its own."""
    ranks = [run.process for run in runs]
    return [f"rank {rank}" for rank in ranks] if len({*ranks}) == len(ranks) else [f"#{n}" for n in range(len(runs))]


def differing(runs: Sequence[Run]) -> tuple[Differing, ...]:
    """The lines of which not all processes transferred the same number, the greatest difference first."""
    called = names(runs)
    counts: dict[Key, list[int]] = {}
    for index, run in enumerate(runs):
        for transfer in run.transfers:
            counts.setdefault(_key(transfer), [0] * len(runs))[index] += transfer.count
    made = [
        Differing(*key, counts=tuple(zip(called, numbers, strict=True)))
        for key, numbers in counts.items()
        if len({*numbers}) > 1
    ]
    return tuple(sorted(made, key=lambda row: (-_spread(row), row.path, row.line, row.direction)))


def _spread(row: Differing) -> int:
    numbers = [count for _, count in row.counts]
    return max(numbers) - min(numbers)

"""Transfers: the record of a run, what it is joined with, and how it is read again from a report.

Nothing here runs a program or prints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxlint.errors import UserError
from jaxlint.findings import Direction

VERSION = 1


@dataclass(frozen=True, slots=True)
class Moment:
    """What crossed in one part of the run's time: `number` counts parts of equal width."""

    number: int
    count: int
    bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Transfer:
    """All transfers of one line, direction and explicitness. `stack` are the first one's calls, innermost first;
    `seconds` is how long the host waited or worked; `turns` how often the loop around it turned, where that is known;
    `finding` the code of the static finding of that line."""

    path: str
    line: int
    function: str
    direction: Direction
    explicit: bool
    count: int
    bytes: int
    seconds: float
    thread: str
    stack: tuple[str, ...]
    finding: str | None = None
    turns: int | None = None
    moments: tuple[Moment, ...] = ()

    @property
    def cost(self) -> tuple[float, int, int]:
        """The order of reports: the most expensive first."""
        return (-self.seconds, -self.bytes, -self.count)

    @property
    def per_turn(self) -> float | None:
        """How many in each turn of its loop."""
        return self.count / self.turns if self.turns else None


@dataclass(frozen=True, slots=True)
class Steps:
    """The loop in which the program spends its time: where it begins, how often it turned, how long a turn took (None
    if it turned only once), and turns by part of the run's time."""

    path: str
    line: int
    count: int
    seconds: float | None
    moments: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Unreached:
    """A static finding at whose line nothing crossed."""

    code: str
    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Refused:
    """The transfer at which the guard's level stopped the program or a thread."""

    path: str
    line: int
    function: str
    direction: str
    what: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program. `start` is when the first moment begins, in seconds after the program did, and `width` the
    length of each; `process` is the number among the processes of a distributed program, `processes` how many Pythons
    the program had."""

    backend: str
    command: tuple[str, ...]
    exit_status: int
    seconds: float
    transfers: tuple[Transfer, ...]
    missed: tuple[int, ...] = ()
    unreached: tuple[Unreached, ...] = ()
    process: int = 0
    processes: int = 1
    start: float = 0.0
    width: float = 0.0
    steps: Steps | None = None
    refused: tuple[Refused, ...] = ()
    files: tuple[str, ...] = ()


def from_json(data: object, name: str) -> Run:
    """The run of a report that was written as JSON. UserError where it is none."""
    try:
        match data:
            case {"version": int(version), "transfers": list(rows)} if version == VERSION:
                assert isinstance(data, dict)
                return Run(
                    backend=str(data["backend"]),
                    command=tuple(map(str, data["command"])),
                    exit_status=int(data["exit_status"]),
                    seconds=float(data["seconds"]),
                    process=int(data["process"]),
                    transfers=tuple(map(_transfer, rows)),
                    steps=_steps(data.get("steps")),
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
            "seconds": int(seconds) | float(seconds), "stack": list(stack),
        }:  # fmt: skip
            return Transfer(
                path, line, function, Direction(direction), explicit, count, size, float(seconds), thread,
                tuple(map(str, stack)),
            )  # fmt: skip
    raise ValueError(row)


def _steps(row: object) -> Steps | None:
    match row:
        case {"path": str(path), "line": int(line), "count": int(count), "seconds": seconds}:
            return Steps(path, line, count, None if seconds is None else float(seconds))
    return None


def total(transfers: Sequence[Transfer], direction: Direction | None = None) -> tuple[int, int, float]:
    """Count, bytes and seconds of all, or of one direction."""
    chosen = [transfer for transfer in transfers if direction in (None, transfer.direction)]
    return sum(t.count for t in chosen), sum(t.bytes for t in chosen), sum(t.seconds for t in chosen)

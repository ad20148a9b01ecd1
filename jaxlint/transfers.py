"""Transfers: the record of a run, and what it is joined with.

Nothing here runs a program or prints.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxlint.findings import Direction

VERSION = 1
NOWHERE = "(no Python line)"


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
    `finding` the code of the static finding of that line, and `silenced` whether its user does not want to be told;
    `allowed` how many crossed under a level `allow` that the program had set for itself."""

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
    silenced: bool = False
    allowed: int = 0

    @property
    def asked(self) -> str:
        """Whether the program asked by name, or allowed them all by a level of its own."""
        if self.explicit:
            return "explicit"
        return "allowed" if self.allowed >= self.count > 0 else "implicit"

    @property
    def is_missed(self) -> bool:
        """True where the static pass should have said something."""
        return self.finding is None and self.asked == "implicit" and not self.silenced

    @property
    def place(self) -> str:
        """Where, for people. A thread of the runtime runs no line of the program."""
        return f"{self.path}:{self.line} {self.function}" if self.path else NOWHERE

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
class Differing:
    """A line, direction and explicitness of which not all processes transferred the same number: how many each did, by
    the process's name."""

    path: str
    line: int
    function: str
    direction: Direction
    explicit: bool
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program. `start` is when the first moment begins, in seconds after the program did, and `width` the
    length of each; `process` is the number among the processes of a distributed program, `processes` how many Pythons
    the program had, `began` when it did, in seconds of the epoch. `differing` are the lines at which processes differ,
    where several runs were put together."""

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
    began: float = 0.0
    differing: tuple[Differing, ...] = ()


def total(transfers: Sequence[Transfer], direction: Direction | None = None) -> tuple[int, int, float]:
    """Count, bytes and seconds of all, or of one direction."""
    chosen = [transfer for transfer in transfers if direction in (None, transfer.direction)]
    return sum(t.count for t in chosen), sum(t.bytes for t in chosen), sum(t.seconds for t in chosen)

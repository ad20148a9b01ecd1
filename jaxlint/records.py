"""The records of a run's processes, put together: sites by line, moments on one clock, the loop of the steps."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxlint.errors import UserError
from jaxlint.findings import Direction
from jaxlint.statements import Statements
from jaxlint.transfers import Moment, Refused, Run, Steps, Transfer

LAUNCH = "launch"
MOMENTS = 240
UNWATCHED = "no Python of the program was watched: one started with -I, -E or -S can not be"


@dataclass(slots=True)
class _Site:
    """A site, summed over processes. `moments` is by seconds since the run began."""

    thread: str
    stack: tuple[str, ...]
    count: int = 0
    allowed: int = 0
    bytes: int = 0
    seconds: float = 0.0
    first: float = float("inf")
    last: float = 0.0
    moments: list[tuple[float, int, int, float]] = field(default_factory=list)


Key = tuple[str, int, str, str, bool]


@dataclass(slots=True)
class Records:
    """What the processes of one run told."""

    sites: dict[Key, _Site] = field(default_factory=dict)
    backends: dict[str, Mapping[str, object]] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    distrust: str = ""
    width: float = 1e-3
    processes: int = 0
    process: int = 0

    @classmethod
    def read(cls, folder: Path) -> "Records":
        """Reads all records of a folder."""
        made = cls()
        for path in sorted(folder.glob("*.jsonl")):
            made._add_file(path)
        return made

    @classmethod
    def read_each(cls, folder: Path) -> "list[Records]":
        """Reads the record of each process by itself."""
        made = []
        for path in sorted(folder.glob("*.jsonl")):
            made.append(cls())
            made[-1]._add_file(path)
        return made

    def _add_file(self, path: Path) -> None:
        for line in _lines(path):
            self._add(line)
        lines = list(_lines(path.with_suffix(".sites")))
        match lines[:1]:
            case [{"began": float(began), "width": float(width)}]:
                self.width = max(self.width, width)
                for line in lines[1:]:
                    self.add_site(line, began, width)

    def _add(self, line: Mapping[str, object]) -> None:
        match line:
            case {"started": _}:
                self.processes += 1
            case {"backend": str(name)}:
                self.backends[name] = line
            case {"distrust": str(reason)}:
                self.distrust = reason
            case {"process": int(number)}:
                self.process = number
            case {"loaded": list(files)}:
                self.files.update(map(str, files))
            case {"refused": [str(path), int(number), str(function), str(direction), str(what)]}:
                self.refused.append(Refused(path, number, function, direction, what))

    def add_process(self, told: Mapping[str, object]) -> None:
        """The record of a process that was asked, and wrote none."""
        self.processes += 1
        match told:
            case {"backend": str(name), "began": float(began), "width": float(width), "sites": list(sites)}:
                if name:
                    self.backends[name] = told
                self.width = max(self.width, width)
                for site in sites:
                    self.add_site(site, began, width)

    def add_site(self, line: Mapping[str, object], began: float, width: float) -> None:
        """One site of a process whose clock began then."""
        match line:
            case {
                "path": str(path), "line": int(number), "function": str(function), "direction": str(direction),
                "explicit": bool(explicit), "thread": str(thread), "stack": list(stack), "count": int(count),
                "allowed": int(allowed),
                "bytes": int(size), "seconds": float(seconds), "first": float(first), "last": float(last),
                "bins": list(bins),
            }:  # fmt: skip
                key = (path, number, function, direction, explicit)
                site = self.sites.setdefault(key, _Site(thread, tuple(map(str, stack))))
                site.count += count
                site.allowed += allowed
                site.bytes += size
                site.seconds += seconds
                site.first, site.last = min(site.first, began + first), max(site.last, began + last)
                for place, counted, weight, spent in bins:
                    site.moments.append((began + (place + 0.5) * width, int(counted), int(weight), float(spent)))

    def run(self, words: Sequence[str], status: int, seconds: float, began: float) -> Run:
        """The record as a run, most expensive first. UserError where nothing could be watched."""
        if not self.processes:
            raise UserError(UNWATCHED)
        if self.distrust:
            raise UserError(f"the guard can not be relied on here: {self.distrust}")
        # From the first to the last transfer: most of a short run is the import of libraries.
        times = [moment[0] for site in self.sites.values() for moment in site.moments] or [began]
        start = min(times) - self.width / 2
        # No finer than the witness kept them.
        width = max((max(times) - start) / MOMENTS, self.width)
        statements: dict[str, Statements] = {}
        turns = _turns(self.sites, statements)
        transfers = [
            _transfer(key, site, start, width, turns.get(loop) if (loop := _loop(site, statements)) else None)
            for key, site in self.sites.items()
            if key[3] != LAUNCH and site.count
        ]
        transfers.sort(key=lambda transfer: (transfer.cost, transfer.path, transfer.line, transfer.direction))
        return Run(
            backend=next(reversed(self.backends), ""),
            command=tuple(words),
            exit_status=status,
            seconds=seconds,
            transfers=tuple(transfers),
            process=self.process,
            processes=self.processes,
            start=start - began,
            width=width,
            steps=_steps(self.sites, turns, statements, start, width),
            refused=tuple(self.refused),
            files=tuple(sorted(self.files)),
            began=began,
        )


def _transfer(key: Key, site: _Site, start: float, width: float, turns: int | None) -> Transfer:
    path, line, function, direction, explicit = key
    sums: dict[int, Moment] = {}
    for at, count, size, seconds in site.moments:
        number = _moment(at, start, width)
        before = sums.get(number, Moment(number, 0, 0, 0.0))
        sums[number] = Moment(number, before.count + count, before.bytes + size, before.seconds + seconds)
    moments = tuple(sums[number] for number in sorted(sums))
    return Transfer(
        path, line, function, Direction(direction), explicit, site.count, site.bytes, site.seconds, site.thread,
        site.stack, None, turns, moments, allowed=site.allowed,
    )  # fmt: skip


def _loop(site: _Site, statements: dict[str, Statements]) -> tuple[str, int] | None:
    """The nearest loop around a site: in its function, or in one that called it."""
    for call in site.stack:
        place = call.rpartition(" ")[0]
        path, _, line = place.rpartition(":")
        if path not in statements:
            statements[path] = Statements.of_file(path)
        begin = statements[path].loop(int(line)) if line.isdigit() else None
        if begin is not None:
            return path, begin
    return None


def _turns(sites: Mapping[Key, _Site], statements: dict[str, Statements]) -> dict[tuple[str, int], int]:
    """How often each loop turned: the count that most of its lines have. A line that runs only at times, or several
    times a turn, is outvoted by the others."""
    counts: dict[tuple[str, int], Counter[int]] = {}
    for site in sites.values():
        loop = _loop(site, statements)
        if loop is not None and site.count:
            counts.setdefault(loop, Counter())[site.count] += 1
    return {loop: max(votes, key=lambda count: (votes[count], count)) for loop, votes in counts.items()}


def _steps(
    sites: Mapping[Key, _Site],
    turns: Mapping[tuple[str, int], int],
    statements: dict[str, Statements],
    start: float,
    width: float,
) -> Steps | None:
    """The loop whose launches and transfers take most of the time."""
    spent: Counter[tuple[str, int]] = Counter()
    launches: dict[tuple[str, int], _Site] = {}
    for (_, _, _, direction, _), site in sites.items():
        loop = _loop(site, statements)
        if loop is None or turns[loop] < 2:
            continue
        # Counted in microseconds: a Counter of floats has no type.
        spent[loop] += int(1e6 * site.seconds) + 1
        if direction == LAUNCH and (loop not in launches or _is_nearer(site, launches[loop], turns[loop])):
            launches[loop] = site
    for loop, _ in spent.most_common():
        if loop in launches:
            site, count = launches[loop], turns[loop]
            parts: Counter[int] = Counter()
            for at, counted, _, _ in site.moments:
                parts[_moment(at, start, width)] += counted
            scale = count / site.count
            moments = tuple((number, parts[number] * scale) for number in sorted(parts))
            return Steps(loop[0], loop[1], count, (site.last - site.first) / (count - 1), moments)
    return None


def _moment(at: float, start: float, width: float) -> int:
    return min(max(int((at - start) / width), 0), MOMENTS - 1)


def _is_nearer(site: _Site, other: _Site, turns: int) -> bool:
    return (abs(site.count - turns), -site.seconds) < (abs(other.count - turns), -other.seconds)


def shown(run: Run, folder: Path) -> Run:
    """The run with paths as reports have them: relative to a folder where they lie below it."""
    steps = replace(run.steps, path=_shown(run.steps.path, folder)) if run.steps else None
    transfers = tuple(with_shown_path(transfer, folder) for transfer in run.transfers)
    refused = tuple(replace(row, path=_shown(row.path, folder)) for row in run.refused)
    return replace(run, transfers=transfers, steps=steps, refused=refused)


def with_shown_path(transfer: Transfer, folder: Path) -> Transfer:
    """A transfer with its paths as reports have them."""
    stack = tuple(_shown(call, folder) for call in transfer.stack)
    return replace(transfer, path=_shown(transfer.path, folder), stack=stack)


def _shown(path: str, folder: Path) -> str:
    return path.removeprefix(f"{folder}{os.sep}").replace(os.sep, "/")


def _lines(path: Path) -> Iterator[Mapping[str, object]]:
    """The whole lines of a record; a process that was killed may have left half of one."""
    try:
        texts = path.read_bytes().split(b"\n")
    except OSError:
        return
    for text in texts:
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            yield line

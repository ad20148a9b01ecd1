"""What the witness told, process by process, put together for each mark."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Crossing:
    """Transfers of one direction at a mark, over all processes; evidence, message and backend of the first."""

    transfers: int = 0
    bytes: int = 0
    evidence: str = ""
    message: str = ""
    backend: str = ""


@dataclass(slots=True)
class Answer:
    """All that was seen of one mark."""

    runs: int = 0
    explicit: int = 0
    known: int = 0
    calls: int = 0
    deferred: int = 0
    raised: str = ""
    said: str = ""
    backend: str = ""
    crossings: dict[str, Crossing] = field(default_factory=dict)
    processes: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Answers:
    """The answers of all processes. `distrusted` are runs that are no evidence, with the reason; `troubles` what kept a
    file from being marked; `loaded` the files that any process loaded, with the marks that were found there;
    `unmarked` the marks that were not."""

    marks: dict[int, Answer] = field(default_factory=dict)
    loaded: dict[str, set[int]] = field(default_factory=dict)
    unmarked: set[int] = field(default_factory=set)
    troubles: dict[str, str] = field(default_factory=dict)
    distrusted: str = ""
    backends: dict[str, Mapping[str, object]] = field(default_factory=dict)
    processes: int = 0
    crashed: str = ""

    def read(self, folder: Path) -> None:
        """Adds what the processes of one command told."""
        for path in sorted(folder.glob("*.jsonl")):
            self._add_process(list(_lines(path)))

    def _add_process(self, lines: list[Mapping[str, object]]) -> None:
        backend, trusted = "", True
        last: dict[int, dict[str, object]] = {}
        number: int | None = None
        for line in lines:
            match line:
                case {"started": _}:
                    self.processes += 1
                case {"backend": str(name)}:
                    backend = name
                    self.backends[name] = line
                case {"distrust": str(reason)}:
                    trusted, self.distrusted = False, reason
                case {"crashed": str(kind)}:
                    where = f"cell {line['cell']}" if "cell" in line else "the program"
                    self.crashed = f"{where} raised {kind}"
                case {"file": str(path), "trouble": str(reason)}:
                    self.troubles[path] = reason
                case {"file": str(path), "marked": list(found), "unmarked": list(missing)}:
                    self.loaded.setdefault(path, set()).update(found)
                    self.unmarked.update(missing)
                case {"process": int(process)}:
                    number = process
                case {"number": int(mark)}:
                    last[mark] = dict(line)
        for mark, seen in last.items():
            if trusted:
                self._add_mark(self.marks.setdefault(mark, Answer()), seen, backend, number)

    def _add_mark(self, answer: Answer, seen: Mapping[str, object], backend: str, process: int | None) -> None:
        match seen:
            case {
                "runs": int(runs), "explicit": int(explicit), "known": int(known), "raised": str(raised),
                "calls": int(calls), "deferred": int(deferred),
                "said": str(said), "crossings": dict(crossings),
            }:  # fmt: skip
                answer.runs += runs
                answer.explicit += explicit
                answer.known += known
                answer.calls += calls
                answer.deferred += deferred
                answer.backend = answer.backend or backend
                if raised and not answer.raised:
                    answer.raised, answer.said = raised, said
                if process is not None:
                    answer.processes.add(process)
                for direction, crossed in crossings.items():
                    _add_crossing(answer.crossings.setdefault(direction, Crossing()), crossed, backend)


def _add_crossing(crossing: Crossing, crossed: Mapping[str, object], backend: str) -> None:
    match crossed:
        case {
            "transfers": int(transfers), "bytes": int(size), "evidence": str(evidence), "message": str(message),
        }:  # fmt: skip
            crossing.transfers += transfers
            crossing.bytes += size
            if not crossing.evidence or (crossing.evidence == "trace" and evidence == "guard"):
                crossing.evidence, crossing.message, crossing.backend = evidence, message, backend


def _lines(path: Path) -> Iterator[Mapping[str, object]]:
    """The whole lines of a record; a process that was killed may have left half of one."""
    for text in path.read_bytes().split(b"\n"):
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            yield line

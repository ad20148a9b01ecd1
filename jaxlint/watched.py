"""A test suite that is watched: budgets of tests, levels of the guard, and the records of all its processes.

Knows nothing of pytest, whose plugin it serves.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from jaxlint.api import Transfers, record, watch_inside
from jaxlint.findings import Direction
from jaxlint.records import Records, shown
from jaxlint.report import run_text
from jaxlint.report.context import counted

Mark = tuple[tuple[object, ...], Mapping[str, object]]
LOGGING = ("log", "log_explicit")
EXPLICIT = "explicit"


class Watched:
    """The suite in this process. `shows` is the number of lines in its summary, 0 for none. UserError where it can not
    be watched."""

    def __init__(self, backend: str, levels: dict[str, str], shows: int) -> None:
        self.inside = watch_inside(backend)
        self.levels, self.shows = levels, shows
        self.backend = backend
        self.others: list[Mapping[str, object]] = []
        self.began, self.began_at = time.perf_counter(), time.time()

    def set_levels(self) -> None:
        """From now on the guard has the levels of the suite."""
        if self.levels:
            self.inside.set_levels(self.levels)

    def record(self) -> AbstractContextManager[Transfers]:
        """Records what crosses in a test."""
        return record()

    def add_note(self, error: BaseException) -> None:
        """Names the line of a refusal, for whoever reads the traceback."""
        if self.inside.name:
            self.inside.levels.add_note(error)

    def over_budget(self, marks: Sequence[Mark], transfers: Transfers) -> str:
        """What is to be said of a test that made more than its marks allow, the nearest first; nothing of others."""
        budget: dict[str, object] = {}
        for args, kwargs in reversed(marks):
            if args:
                return f"@pytest.mark.transfers takes directions by name, as in device_to_host=0, not {args[0]!r}"
            budget.update(kwargs)
        judged = transfers if budget.pop(EXPLICIT, False) else transfers.implicit
        for name, most in budget.items():
            if name not in [*Direction]:
                known = ", ".join((*Direction, EXPLICIT))
                return f"@pytest.mark.transfers has no {name!r}: it takes {known}"
            if not isinstance(most, int) or isinstance(most, bool) or most < 0:
                return f"@pytest.mark.transfers({name}={most!r}): a number of transfers is due"
        lines = []
        for name, most in budget.items():
            crossed = judged.of(name)
            if isinstance(most, int) and crossed.count > most:
                words, allowed = name.replace("_", " "), "is" if most == 1 else "are"
                lines.append(f"{counted(crossed.count, 'transfer')} {words}, {most} {allowed} allowed:")
                lines += [f"  {line}" for line in str(crossed).splitlines()]
        return "\n".join(lines)

    def told(self) -> Mapping[str, object]:
        """The record of this process, as its controller is given it."""
        recording = self.inside.recording
        sites = [{**site.told(), "stack": list(site.stack)} for site in recording.sites.values()]
        return {"backend": self.inside.name, "began": recording.began_at, "width": recording.width, "sites": sites}

    def add(self, told: Mapping[str, object] | None) -> None:
        """The record of another process; None of one that ended before it had any."""
        if told is not None:
            self.others.append(told)

    def summary(self, folder: Path) -> list[str]:
        """The lines whose transfers cost most, of all processes; all lines where the guard is to log them."""
        if not self.shows:
            return []
        records = Records()
        for told in self.others or [self.told()]:
            records.add_process(told)
        run = records.run(("pytest",), 0, time.perf_counter() - self.began, self.began_at)
        limit = None if set(LOGGING) & {*self.levels.values()} else self.shows
        return run_text.render_suite(shown(run, folder), limit=limit).splitlines()

"""Two runs of a program, before and after a change: what is gone, what is new, and whether a step became faster.

The guard shows transfers, it proves no speed-up: so whole steps are compared. Lines move when a program is edited;
therefore transfers are put together by file, function, direction and explicitness.
"""

from dataclasses import dataclass

from jaxlint.report.context import escape
from jaxlint.report.run_text import ARROWS, amount, duration
from jaxlint.transfers import NOWHERE, Run

HEADS = ("", "count", "bytes", "time", "direction", "asked", "function")
NUMBERS = range(1, 4)
# A difference below this share is noise.
SAME = 0.05


@dataclass(slots=True)
class _Sum:
    count: int = 0
    bytes: int = 0
    seconds: float = 0.0


Key = tuple[str, str, str, bool]


def render(before: Run, after: Run) -> str:
    """A table of what changed, and two lines on time."""
    old, new = _sums(before), _sums(after)
    rows = [
        _row(key, old.get(key), new.get(key)) for key in sorted({*old, *new}, key=lambda key: _weight(key, old, new))
    ]
    changed = [row for row in rows if row[0] != "same"]
    table = [HEADS, *changed] if changed else []
    widths = [max(len(row[column]) for row in table) for column in range(len(HEADS))] if table else []
    lines = [
        "  ".join(
            cell.rjust(width) if column in NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]
    if len(rows) > len(changed):
        lines.append(f"as before: {len(rows) - len(changed)}")
    lines += [*_times(before, after)]
    return "".join(line + "\n" for line in lines)


def _sums(run: Run) -> dict[Key, _Sum]:
    made: dict[Key, _Sum] = {}
    for transfer in run.transfers:
        key = (transfer.path, transfer.function, transfer.direction, transfer.explicit)
        entry = made.setdefault(key, _Sum())
        entry.count += transfer.count
        entry.bytes += transfer.bytes
        entry.seconds += transfer.seconds
    return made


def _weight(key: Key, old: dict[Key, _Sum], new: dict[Key, _Sum]) -> tuple[float, Key]:
    return (-max(side[key].seconds for side in (old, new) if key in side), key)


def _row(key: Key, old: _Sum | None, new: _Sum | None) -> tuple[str, ...]:
    path, function, direction, explicit = key
    before, after = old or _Sum(), new or _Sum()
    if old is None:
        word = "new"
    elif new is None:
        word = "gone"
    elif before.count == after.count and before.bytes == after.bytes:
        word = "same"
    else:
        word = "fewer" if (after.count, after.bytes) < (before.count, before.bytes) else "more"
    return (
        word,
        f"{before.count} -> {after.count}",
        f"{amount(before.bytes)} -> {amount(after.bytes)}",
        f"{duration(before.seconds)} -> {duration(after.seconds)}",
        next(words for known, words in ARROWS.items() if known == direction),
        "explicit" if explicit else "implicit",
        f"{escape(path)} {escape(function)}" if path else NOWHERE,
    )


def _times(before: Run, after: Run) -> list[str]:
    lines = []
    old, new = before.steps, after.steps
    if old is not None and new is not None and old.seconds and new.seconds:
        lines.append(f"a turn of the loop: {_change(old.seconds, new.seconds)} ({old.count} and {new.count} turns)")
    else:
        lines.append("a turn of the loop: not known in both runs, so nothing is said of the speed of a step")
    lines.append(f"the whole run: {_change(before.seconds, after.seconds)}")
    if before.backend != after.backend:
        lines.append(f"the backends differ ({before.backend}, {after.backend}): times do not compare")
    return lines


def _change(before: float, after: float) -> str:
    ratio = before / after if after else 1.0
    if abs(ratio - 1) < SAME:
        said = "the same"
    else:
        said = f"{ratio:.2f} times faster" if ratio > 1 else f"{1 / ratio:.2f} times slower"
    return f"{duration(before)} -> {duration(after)}, {said}"

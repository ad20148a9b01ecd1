"""The record of a run as a text table, and what is to be said beside it."""

import math
from collections.abc import Sequence

from jaxlint.findings import Direction
from jaxlint.report.context import counted, escape
from jaxlint.transfers import Differing, Run, Transfer, total

ARROWS = {
    Direction.DEVICE_TO_HOST: "device to host",
    Direction.HOST_TO_DEVICE: "host to device",
    Direction.DEVICE_TO_DEVICE: "device to device",
}
HEADS = ("time", "count", "a turn", "bytes", "direction", "asked", "finding", "line")
NUMBERS = 4
FINDING = HEADS.index("finding")
SHOWN = 40
KILO, UNITS = 1000, ("B", "KB", "MB", "GB", "TB")


def render(run: Run, *, stacks: bool = False, limit: int | None = SHOWN) -> str:
    """A summary, the table of the most expensive lines (all without a limit), and what the static pass says."""
    parts = (*_summary(run), *_table(run, stacks, limit), *_differing(run), *_static(run), *_refused(run))
    return "".join(line + "\n" for line in parts)


def render_suite(run: Run, *, limit: int | None) -> str:
    """The transfers of a test suite, which has no static pass beside it."""
    parts = [_processes(run.backend or "no jax", run), *_directions(run), *_table(run, False, limit, FINDING)]
    return "".join(line + "\n" for line in parts)


def _processes(text: str, run: Run) -> str:
    return f"{text}, {run.processes} processes" if run.processes > 1 else text


def _summary(run: Run) -> list[str]:
    command = f"{escape(' '.join(run.command))}: {duration(run.seconds)}, exit status {run.exit_status}"
    lines = [_processes(f"{command}, {run.backend or 'no jax'}", run)]
    if run.steps is not None:
        each = f", {duration(run.steps.seconds)} each" if run.steps.seconds else ""
        lines.append(f"loop at {escape(run.steps.path)}:{run.steps.line}: {counted(run.steps.count, 'turn')}{each}")
    return lines + _directions(run)


def _directions(run: Run) -> list[str]:
    lines = []
    for direction, words in ARROWS.items():
        count, size, seconds = total(run.transfers, direction)
        if count:
            asked = sum(t.count for t in run.transfers if t.direction is direction and t.explicit)
            lines.append(
                f"{words + ':':<17} {counted(count, 'transfer')} ({count - asked} implicit), {amount(size)}, "
                f"{duration(seconds)}"
            )
    if not run.transfers:
        lines.append("nothing was transferred")
    return lines


def _table(run: Run, stacks: bool, limit: int | None, without: int | None = None) -> list[str]:
    if not run.transfers:
        return []
    shown = run.transfers if limit is None else run.transfers[:limit]
    rows = [HEADS, *map(_row, shown)]
    if without is not None:
        rows = [(*row[:without], *row[without + 1 :]) for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = [""]
    for number, row in enumerate(rows):
        cells = [
            cell.rjust(width) if column < NUMBERS else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join((*cells, row[-1])))
        if stacks and number:
            lines += [f"{'':>{sum(widths) + 2 * len(widths)}}  {escape(call)}" for call in _calls(shown[number - 1])]
    left = len(run.transfers) - len(shown)
    if left:
        costs = "costs" if left == 1 else "cost"
        more = "" if without else ": --report FILE has all of them"
        lines.append(f"… and {counted(left, 'line')} that {costs} less{more}")
    return lines


def _calls(transfer: Transfer) -> list[str]:
    """Those besides the line itself: of libraries that it called, and of what called it."""
    return [call for call in transfer.stack if call != transfer.place]


def _row(transfer: Transfer) -> tuple[str, ...]:
    return (
        duration(transfer.seconds),
        str(transfer.count),
        per_turn(transfer),
        amount(transfer.bytes),
        ARROWS[transfer.direction],
        transfer.asked,
        _finding(transfer),
        escape(transfer.place),
    )


def _finding(transfer: Transfer) -> str:
    """What the static pass says, and that its user chose not to hear it."""
    if transfer.silenced:
        return f"({transfer.finding})" if transfer.finding else "(skipped)"
    return transfer.finding or "-"


def _differing(run: Run) -> list[str]:
    lines = [
        f"  {escape(row.path)}:{row.line} {escape(row.function)}, {ARROWS[row.direction]}, "
        f"{'explicit' if row.explicit else 'implicit'}: {_counts(row)}"
        for row in run.differing[:SHOWN]
    ]
    return ["", f"processes differ ({len(run.differing)}):", *lines] if lines else []


def _counts(row: Differing) -> str:
    """Those processes together that transferred the same number."""
    by_count: dict[int, list[str]] = {}
    for name, count in row.counts:
        by_count.setdefault(count, []).append(name)
    return "; ".join(f"{count} by {_listed(names)}" for count, names in by_count.items())


def _static(run: Run) -> list[str]:
    lines = []
    if run.missed:
        places = [_line(run.transfers[index]) for index in run.missed]
        lines += ["", _counted_list("missed by the static pass", places)]
    quiet = [_line(transfer) for transfer in run.transfers if transfer.silenced]
    if quiet:
        lines += ["", _counted_list("silenced by a comment or the configuration", quiet)]
    if run.unreached:
        places = [f"{row.code} {escape(row.path)}:{row.line}" for row in run.unreached]
        lines += ["", _counted_list("found by the static pass, never seen to transfer", places)]
    return lines


def _line(transfer: Transfer) -> str:
    return f"{escape(transfer.path)}:{transfer.line}" if transfer.path else transfer.place


def _refused(run: Run) -> list[str]:
    return [
        f"refused by the guard: {escape(row.path)}:{row.line} in {escape(row.function)}, "
        f"{row.direction.replace('_', ' ')}: {escape(row.what)}"
        for row in run.refused
    ]


def _counted_list(what: str, places: Sequence[str]) -> str:
    """Lines of the program: one that transfers in both directions counts once."""
    return f"{what} ({len({*places})}): {_listed(places)}"


def _listed(places: Sequence[str], most: int = 8) -> str:
    distinct = list(dict.fromkeys(places))
    return ", ".join(distinct[:most]) + (f" and {len(distinct) - most} more" if len(distinct) > most else "")


def per_turn(transfer: Transfer) -> str:
    """How many in each turn of the loop, where that is known."""
    rate = transfer.per_turn if transfer.turns and transfer.turns > 1 else None
    if rate is None:
        return ""
    return f"{rate:.2g}" if 1e-4 <= rate < 0.1 else f"{rate:.2f}".rstrip("0").rstrip(".")


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{1e3 * seconds:.2f} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.0f} us"


def amount(size: float) -> str:
    """Bytes for people."""
    if size < KILO:
        return f"{size:.0f} B"
    unit = min(int(math.log(size, KILO)), len(UNITS) - 1)
    return f"{size / KILO**unit:.1f} {UNITS[unit]}"

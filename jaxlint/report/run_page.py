"""The record of a run as one HTML page: nothing is loaded from elsewhere, and nothing of the program's is markup.

The page's own script builds it from the JSON of the record and the sources, by text nodes alone. The template lies
beside this module.
"""

import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from jaxlint.report.run_json import as_data, transfer_object
from jaxlint.transfers import Run, Transfer

TEMPLATE = Path(__file__).with_name("run_page.html")
PLACE = re.compile(r"\{\{(title|data)\}\}")
# A file that is longer is shown around its transfers alone, and so are all where the sources are larger together.
LONGEST, LARGEST = 1500, 500_000
AROUND = 6
# A line that is longer is cut: generated code, data.
WIDEST = 400
# Stacks are what a record of many sites is made of; the page needs the nearest calls.
CALLS = 8
SITES = 1000
# So many sites have their moments as they are; the others in coarser ones, of so many each.
DETAILED, COARSE = 60, 16
Lines = Callable[[str], Sequence[str]]


def render(run: Run, lines: Lines) -> str:
    """The page. `lines` gives the source lines of a path as reports show it, none where they cannot be had."""
    data = as_data(run)
    data["left"] = max(0, len(run.transfers) - SITES)
    data["transfers"] = [_short(transfer, index) for index, transfer in enumerate(run.transfers[:SITES])]
    data["missed"] = [index for index in run.missed if index < SITES]
    data["refused"] = [
        {"path": row.path, "line": row.line, "function": row.function, "direction": row.direction, "what": row.what}
        for row in run.refused
    ]
    data["files"] = list(_files(run, lines))
    parts = {"title": html.escape(" ".join(run.command)), "data": in_script(data)}
    return PLACE.sub(lambda match: parts[match[1]], TEMPLATE.read_text("utf-8"))


def _short(transfer: Transfer, index: int) -> dict[str, object]:
    """A transfer as the page needs it: the nearest calls, fewer moments where it is one of many."""
    step = 1 if index < DETAILED else COARSE
    moments: dict[int, list[float]] = {}
    for moment in transfer.moments:
        first = moment.number // step * step
        entry = moments.setdefault(first, [first, 0, 0, 0.0])
        entry[1:] = [entry[1] + moment.count, entry[2] + moment.bytes, round(entry[3] + moment.seconds, 7)]
    return {**transfer_object(transfer), "stack": transfer.stack[:CALLS], "moments": [*moments.values()]}


def in_script(data: object) -> str:
    """JSON that can stand in a script element: no character of it begins markup."""
    text = json.dumps(data, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _files(run: Run, lines: Lines) -> Iterator[dict[str, object]]:
    """The sources of lines that transferred, the most expensive file first: [number, text] by line."""
    wanted: dict[str, set[int]] = {}
    for transfer in run.transfers[:SITES]:
        wanted.setdefault(transfer.path, set()).add(transfer.line)
    for row in run.unreached:
        if row.path in wanted:
            wanted[row.path].add(row.line)
    texts = {path: lines(path) for path in wanted}
    all_of_it = sum(len(line) for text in texts.values() for line in text) <= LARGEST
    for path, marked in wanted.items():
        numbers = range(1, len(texts[path]) + 1)
        chosen = numbers if all_of_it and len(numbers) <= LONGEST else sorted(_near(marked, len(numbers)))
        rows = [[number, texts[path][number - 1].rstrip("\r\n")[:WIDEST]] for number in chosen]
        if rows:
            yield {"path": path, "lines": rows}


def _near(marked: set[int], last: int) -> set[int]:
    return {number for line in marked for number in range(max(1, line - AROUND), min(last, line + AROUND) + 1)}

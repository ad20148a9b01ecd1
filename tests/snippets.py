"""Snippets: small programs that say in a comment on each line what a check must find there, and nowhere else.

A mark is ``# d2h``, ``# h2d``, ``# d2d``, ``# tracer`` or ``# guard``, with a heat where that is asked for
(``# d2h periodic``); a line may have several (``# h2d, d2h``). A project is a text whose parts begin with ``# a/b.py``.
"""

import functools
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import pytest

from jaxlint.check import check_bytes, check_paths
from jaxlint.findings import Report
from jaxlint.interp.models import load_models
from jaxlint.settings import Settings
from jaxlint.sites import Confidence, Heat

FAMILIES = {"1": "d2h", "2": "h2d", "3": "d2d", "4": "tracer", "5": "guard", "0": "comment"}
PRELUDE = """\
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def step(x):
    return x + 1

"""
"""What most snippets start from: ``step(1.0)`` is an array on the device, ``np.ones(3)`` one on the host."""

BY_DEFAULT = Settings().min_confidence

_HEAT = "|".join(heat.name.lower() for heat in Heat)
_ONE = rf"(?:{'|'.join(FAMILIES.values())})(?: (?:{_HEAT}))?"
_MARKS = re.compile(rf"#\s*({_ONE}(?:, {_ONE})*)$")
_PART = re.compile(r"^# ([\w./-]+\.py)\n", re.MULTILINE)

# Reading the models takes longer than the check of a snippet, and no snippet brings models of its own.
_load_models = functools.cache(load_models)

Marks = dict[tuple[str, int, str], str]
"""By path, line and family: the heat, empty where a mark does not ask for it."""


def expected(text: str, path: str = "page.py") -> Marks:
    """What the comments of a text say."""
    marks: Marks = {}
    for number, line in enumerate(text.splitlines(), 1):
        found = _MARKS.search(line)
        for word in found[1].split(", ") if found else ():
            family, _, heat = word.partition(" ")
            marks[path, number, family] = heat
    return marks


def reported(report: Report) -> Marks:
    """What a report says, in the form of marks; the hottest where there are several."""
    heats: dict[tuple[str, int, str], Heat] = {}
    for finding in report.findings:
        key = (finding.span.path, finding.span.line, FAMILIES[finding.code[2]])
        heats[key] = max(finding.heat, heats.get(key, Heat.COLD))
    return {key: heat.name.lower() for key, heat in heats.items()}


def check(text: str, min_confidence: Confidence = BY_DEFAULT) -> Report:
    """A check of one text by the default rules at every heat."""
    settings = Settings(min_heat=Heat.COLD, min_confidence=min_confidence)
    with mock.patch("jaxlint.interp.models.load_models", _load_models):
        return check_bytes(settings, text.encode(), "page.py")


def check_marks(text: str, min_confidence: Confidence = BY_DEFAULT) -> None:
    """A check of a text finds what is marked, and nothing else."""
    _compare(check(text, min_confidence), expected(text))


def check_project(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same of a text that is several files, written to a folder of their own."""
    monkeypatch.chdir(folder)
    marks: Marks = {}
    pieces = _PART.split(textwrap.dedent(text))
    assert pieces[0].strip() == ""
    for path, part in zip(pieces[1::2], pieces[2::2], strict=True):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(part, "utf-8")
        marks |= expected(part, path)
    with mock.patch("jaxlint.interp.models.load_models", _load_models):
        _compare(check_paths(Settings(min_heat=Heat.COLD), ["."]), marks)


def _compare(report: Report, marks: Marks) -> None:
    """Fails with everything in which the two differ."""
    found = {key: heat if marks.get(key) else "" for key, heat in reported(report).items()}
    faults = [f"error: {error}" for error in (*report.errors, *report.unanalysed)]
    faults += [f"missed: {_shown(key, marks[key])}" for key in sorted(set(marks) - set(found))]
    faults += [f"false: {_shown(key, heat)}" for key, heat in sorted(reported(report).items()) if key not in marks]
    both = sorted(set(marks) & set(found))
    faults += [f"not {_shown(key, marks[key])}: {found[key]}" for key in both if marks[key] != found[key]]
    if faults:
        pytest.fail("; ".join(faults), pytrace=False)


def _shown(key: tuple[str, int, str], heat: str) -> str:
    path, line, family = key
    return f"{path}:{line} {family} {heat}".rstrip()


def rows(table: Mapping[str, str], gaps: Mapping[str, str], prelude: str = PRELUDE) -> list[object]:
    """A table of snippets by name as parameters of a test; `gaps` are those that fail, each with its reason."""
    assert set(gaps) <= set(table), "a gap that names no row"
    return [
        pytest.param(
            prelude + textwrap.dedent(text),
            id=name,
            marks=[pytest.mark.xfail(strict=True, reason=gaps[name])] if name in gaps else [],
        )
        for name, text in table.items()
    ]

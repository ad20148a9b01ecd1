"""Small programs whose expected findings are marked in their own comments, each checked at every heat.

A case of ``fixtures/cases`` is a module, a notebook or a folder of modules. Marks, in the comments of a line:

    # expect: KIND[, KIND] [hot]   d2h, h2d, d2d, guard-misuse or tracer-...; hot: in a loop, each turn or every few
    # ok                           looks suspicious and must not be reported
    # scalar-h2d                   one number goes to the device: reporting that is neither right nor wrong
    # cached-d2h, # not-reached    the host copy exists, or the program never runs the line: the same of a fetch

A mark holds for the statement that it stands in, and a finding on a statement without a fitting mark is a false alarm.
What is not as marked is listed with its reason in ``cases_known.toml``: a gap that is not listed fails, and so does one
that is listed and closed.
"""

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jaxlint.check import check_paths
from jaxlint.findings import Finding
from jaxlint.settings import Settings
from jaxlint.sites import Heat

CASES = Path(__file__).parent.parent / "fixtures" / "cases"
KNOWN = tomllib.loads((Path(__file__).parent / "cases_known.toml").read_text("utf-8"))

FAMILIES = {"d2h": "JT1", "h2d": "JT2", "d2d": "JT3", "tracer": "JT4", "guard-misuse": "JT5"}
FREE = {"scalar-h2d": "JT2", "cached-d2h": "JT1", "not-reached": "JT1"}
WORD = r"[a-z0-9]+(?:-[a-z0-9]+)*"
EXPECT = re.compile(rf"\bexpect:\s*(?P<kinds>{WORD}(?:,\s*{WORD})*)(?P<hot>\s+hot\b)?")


@dataclass(frozen=True)
class Source:
    """A text of a case: its path as a report shows it, and the number of its cell in a notebook."""

    path: str
    cell: int | None
    text: str

    def place(self, line: int) -> str:
        """A line as the list of known gaps names it."""
        return f"{self.path}:{line}" if self.cell is None else f"{self.path}:cell {self.cell}:{line}"


@dataclass(frozen=True)
class Mark:
    """What the comment of a line says: the families that must be found, whether in a loop, and those that may be."""

    line: int
    expected: tuple[str, ...]
    hot: bool
    free: tuple[str, ...]


def sources(case: Path) -> Iterator[Source]:
    """Every text of a case."""
    if case.suffix == ".ipynb":
        for number, cell in enumerate(json.loads(case.read_text("utf-8"))["cells"], 1):
            if cell["cell_type"] == "code":
                yield Source(case.name, number, "".join(cell["source"]))
    else:
        for file in sorted(case.rglob("*.py")) if case.is_dir() else [case]:
            yield Source(file.relative_to(case.parent).as_posix(), None, file.read_text("utf-8"))


def marks(text: str) -> Iterator[Mark]:
    """The marks of a text; a word that looks like one and is none is an error."""
    for number, line in enumerate(text.splitlines(), 1):
        comment = line[line.find("#") :] if "#" in line else ""
        found = EXPECT.search(comment)
        kinds = re.findall(WORD, found["kinds"]) if found else []
        expected = tuple(FAMILIES["tracer" if kind.startswith("tracer-") else kind] for kind in kinds)
        free = tuple(family for word, family in FREE.items() if re.search(rf"\b{word}\b", comment))
        assert found or "expect" not in comment, f"line {number}: no mark can be read in {comment!r}"
        if expected or free:
            yield Mark(number, expected, bool(found and found["hot"]), free)


def statements(text: str) -> dict[int, tuple[int, int]]:
    """The first and last line of the innermost statement at each line; of a compound one, its head alone."""
    spans: dict[int, tuple[int, int]] = {}
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt | ast.ExceptHandler)]
    for node in sorted(nodes, key=lambda node: node.lineno - (node.end_lineno or node.lineno)):
        body = getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno
        spans.update(dict.fromkeys(range(node.lineno, last + 1), (node.lineno, last)))
    return spans


def differences(source: Source, findings: list[Finding]) -> Iterator[str]:
    """Where the findings in a text are not what its marks say."""
    spans = statements(source.text) if any(marks(source.text)) else {}
    fitting: set[int] = set()
    for mark in marks(source.text):
        first, last = spans.get(mark.line, (mark.line, mark.line))
        inside = [finding for finding in findings if first <= finding.span.line <= last]
        fitting.update(id(finding) for finding in inside if finding.code.startswith((*mark.expected, *mark.free)))
        for family in mark.expected:
            hits = [finding for finding in inside if finding.code.startswith(family)]
            if not hits:
                yield f"{source.place(mark.line)} missed {family}xx"
            elif mark.hot and all(finding.heat is Heat.COLD for finding in hits):
                yield f"{source.place(mark.line)} cold {family}xx"
    for finding in findings:
        if not finding.code.startswith("JT0") and id(finding) not in fitting:
            yield f"{source.place(finding.span.line)} false {finding.code}"


def gaps_of(case: Path) -> set[str]:
    """What a check of a case misses, reports falsely or takes for cold. The working directory must hold the case."""
    report = check_paths(Settings(min_heat=Heat.COLD), [case.name])
    assert report.errors == ()
    assert report.unanalysed == ()
    texts = list(sources(case))
    shown = {(source.path, source.cell) for source in texts}
    assert {(finding.span.path, finding.span.cell) for finding in report.findings} <= shown
    return {
        gap
        for source in texts
        for gap in differences(
            source, [f for f in report.findings if (f.span.path, f.span.cell) == (source.path, source.cell)]
        )
    }


NAMES = sorted(path.name for path in CASES.iterdir() if re.match(r"\d{3}_", path.name))


@pytest.mark.parametrize("name", NAMES)
def test_findings_are_as_marked_but_for_the_known_gaps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CASES)
    found, listed = gaps_of(CASES / name), set(KNOWN.get(name, {}))
    assert found - listed == set(), "not as marked, and not listed in cases_known.toml"
    assert listed - found == set(), "listed in cases_known.toml, but closed: take it off the list"


def test_the_list_of_known_gaps_names_cases_and_reasons() -> None:
    assert set(KNOWN) <= set(NAMES)
    for gaps in KNOWN.values():
        assert gaps
        assert all(isinstance(reason, str) and len(reason) > 10 for reason in gaps.values())


class TestMarks:
    """The reading of marks, that the cases rely on."""

    @staticmethod
    def differing(text: str, *findings: Finding) -> list[str]:
        return list(differences(Source("a.py", None, text), list(findings)))

    @staticmethod
    def finding(code: str, line: int, heat: Heat = Heat.HOT) -> Finding:
        from jaxlint.sites import Confidence, Span

        return Finding(Span("a.py", line, 1, line, 2), code, "x", None, "x", heat, Confidence.HIGH)

    def test_no_mark_and_no_finding_is_no_difference(self) -> None:
        assert self.differing("x = 1\n") == []
        assert self.differing("x = 1  # ok\n") == []

    def test_an_expected_finding_is_missed_found_cold_or_found(self) -> None:
        text = "f(x)  # expect: d2h hot\n"
        assert self.differing(text) == ["a.py:1 missed JT1xx"]
        assert self.differing(text, self.finding("JT104", 1, Heat.COLD)) == ["a.py:1 cold JT1xx"]
        assert self.differing(text, self.finding("JT104", 1, Heat.PERIODIC)) == []
        assert self.differing("f(x)  # expect: d2h\n", self.finding("JT104", 1, Heat.COLD)) == []

    def test_a_finding_without_a_fitting_mark_is_false(self) -> None:
        assert self.differing("f(x)  # ok\n", self.finding("JT104", 1)) == ["a.py:1 false JT104"]
        both = [self.finding("JT104", 1), self.finding("JT201", 1)]
        assert self.differing("f(x)  # expect: d2h hot\n", *both) == ["a.py:1 false JT201"]
        assert self.differing("f(x)  # expect: d2h, h2d\n", *both) == []
        assert self.differing("f(x)  # noqa\n", self.finding("JT001", 1)) == []

    def test_free_marks_neither_ask_nor_forbid(self) -> None:
        text = "f(x)  # expect: tracer-bool; scalar-h2d\n"
        assert self.differing(text, self.finding("JT401", 1), self.finding("JT290", 1)) == []
        assert self.differing("f(x)  # cached-d2h\n", self.finding("JT101", 1)) == []
        assert self.differing("f(x)  # cached-d2h\n", self.finding("JT201", 1)) == ["a.py:1 false JT201"]

    def test_a_mark_holds_for_its_statement_and_of_a_compound_one_for_the_head(self) -> None:
        assert self.differing("f(\n  x,\n)  # expect: d2h\n", self.finding("JT104", 2)) == []
        text = "if f(\n  x\n):  # expect: d2h\n    g(x)\n"
        assert self.differing(text, self.finding("JT105", 1)) == []
        assert self.differing(text, self.finding("JT105", 4)) == ["a.py:3 missed JT1xx", "a.py:4 false JT105"]

    def test_a_mark_that_cannot_be_read_is_an_error(self) -> None:
        with pytest.raises(AssertionError):
            self.differing("f(x)  # expect d2h\n")
        with pytest.raises(KeyError):
            self.differing("f(x)  # expect: dh2\n")

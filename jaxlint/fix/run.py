"""What is found is repaired, in memory, until nothing is left that can be; then the files are written.

A file that would not parse after its fixes stays as it was, and is an error of the report.
"""

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from jaxlint.errors import SourceError
from jaxlint.findings import Edit, FileError, Finding, Report
from jaxlint.fixes.edits import apply, choose
from jaxlint.inputs import Inputs
from jaxlint.source.notebooks import decode_notebook, replace_cell_sources
from jaxlint.source.text import LINE_END, SourceText, checked_source, decode_source
from jaxlint.source.writing import write

# A fix may wait for another that it overlaps; more than a few levels deep nobody writes.
MAX_PASSES = 10

Check = Callable[[Inputs], Report]


@dataclass(frozen=True, slots=True)
class Changed:
    """A file that fixes change: where it is (None for standard input), and its bytes."""

    path: str
    location: Path | None
    before: bytes
    after: bytes


@dataclass(slots=True)
class Fixed:
    """What came of it: the report of what is left, the inputs that it speaks of, the files changed, the findings
    repaired, and what could not be done."""

    report: Report
    inputs: Inputs
    files: list[Changed] = field(default_factory=list)
    repaired: list[Finding] = field(default_factory=list)
    errors: list[FileError] = field(default_factory=list)


def fix(
    check: Check,
    wanted: Callable[[Finding], bool],
    given: Mapping[str, bytes] | None = None,
    *,
    passes: int = MAX_PASSES,
) -> Fixed:
    """Repairs the findings that are wanted, and checks again, until there are none. Writes nothing. `given` holds the
    bytes of what is no file."""
    before: dict[str, bytes] = {}
    now = dict(given or {})
    refused: list[FileError] = []
    repaired: list[Finding] = []
    for _ in range(passes):
        inputs = Inputs(now)
        report = check(inputs)
        skipped = {error.path for error in refused}
        todo = [f for f in report.findings if wanted(f) and f.span.path not in skipped]
        changed = False
        for path, findings in by_path(todo).items():
            chosen = choose(findings)
            try:
                old = inputs.bytes_of(path)
                new = rewritten(path, old, chosen.edits)
            except SourceError as error:
                message = f"left as it was, its fixes would not do: {error.message}"
                refused.append(FileError(path, message, error.line, error.column))
                continue
            before.setdefault(path, old)
            now[path] = new
            repaired += chosen.findings
            changed = True
        if not changed:
            break
    files = [
        Changed(path, None if given and path in given else inputs.files[path].location, old, now[path])
        for path, old in before.items()
        if now[path] != old
    ]
    return Fixed(report, inputs, files, repaired, refused)


def by_path(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings of each file."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.span.path, []).append(finding)
    return found


def rewritten(path: str, data: bytes, edits: Iterable[Edit]) -> bytes:
    """A file's bytes with the edits made. A SourceError where the result would not parse or can not be encoded."""
    from jaxlint.source.parse import parse

    edits = tuple(edits)
    if not path.endswith(".ipynb"):
        source = decode_source(data, path)
        text = apply(source, edits)
        parse(checked_source(SourceText(path, text)))
        return source.encode(text)
    notebook = decode_notebook(data, path)
    cells = {cell.number: cell.text for cell in notebook.cells}
    texts = {
        number: apply(SourceText(path, cells[number]), [edit for edit in edits if edit.cell == number])
        for number in {edit.cell for edit in edits if edit.cell is not None}
    }
    new = replace_cell_sources(data, texts)
    broken = [error for error in decode_notebook(new, path).errors if error not in notebook.errors]
    if broken:
        raise SourceError(path, broken[0].message, broken[0].line, broken[0].column)
    return new


def write_files(files: Iterable[Changed]) -> list[FileError]:
    """Writes what was changed; what could not be written, and why."""
    errors = []
    for file in files:
        if file.location is not None:
            try:
                write(file.location, file.before, file.after, file.path)
            except SourceError as error:
                errors.append(FileError(file.path, error.message))
    return errors


def difference(file: Changed) -> str:
    """What a change is, as a unified diff."""
    before, after = (_lines(decoded, file.path) for decoded in (file.before, file.after))
    lines = difflib.unified_diff(before, after, file.path, file.path)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes, path: str) -> list[str]:
    text = data.decode("utf-8", "replace") if path.endswith(".ipynb") else decode_source(data, path).text
    ends = [0, *(match.end() for match in LINE_END.finditer(text)), len(text)]
    return [LINE_END.sub("\n", text[start:end]) for start, end in pairwise(ends) if end > start]

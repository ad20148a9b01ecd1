"""A checked notebook as documents, one a cell: each with what was found in it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jaxlint.server.answers import Document
from jaxlint.server.opened import Part
from jaxlint.source.magics import to_python
from jaxlint.source.text import SourceText


def documents(document: Document, parts: Sequence[Part]) -> Iterator[tuple[Part, Document]]:
    """Each text that the client shows with its document: of a notebook, one a cell; else the document as it is."""
    checked = document.checked
    # The cells as they were checked: magics take as many lines and columns there.
    cells = {part.cell: (part.uri, SourceText(checked.source.path, to_python(part.text))) for part in parts}
    for part in parts:
        if part.cell is None:
            yield part, document
            continue
        uri, source = cells[part.cell]
        report = replace(
            checked.report,
            findings=tuple(finding for finding in checked.report.findings if finding.span.cell == part.cell),
            errors=tuple(error for error in checked.report.errors if error.cell == part.cell),
        )
        yield part, replace(document, uri=uri, checked=replace(checked, source=source, report=report), cells=cells)

"""The format `concise`: one line a finding."""

from jaxlint.findings import Finding, Report
from jaxlint.report.context import Context, escape, heat_word, place


def render(report: Report, context: Context) -> str:
    """Every finding as ``path:line:column: CODE message [heat]``."""
    return "".join(headline(finding, context) + "\n" for finding in report.findings)


def headline(finding: Finding, context: Context) -> str:
    """A finding in one line, coloured where the context says so."""
    span = finding.span
    where, code = place(span.path, span.line, span.column, span.cell), finding.code
    tags = [word for word in (heat_word(finding), finding.verdict.status.value if finding.verdict else "") if word]
    tail = f" [{', '.join(tags)}]" if tags else ""
    if context.color:
        where, code, tail = (
            f"\x1b[1m{where}\x1b[0m",
            f"\x1b[1;31m{code}\x1b[0m",
            f"\x1b[2m{tail}\x1b[0m" if tail else "",
        )
    return f"{where}: {code} {escape(finding.message)}{tail}"

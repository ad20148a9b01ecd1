"""The format `github`: workflow commands, which GitHub Actions shows at the lines of a pull request."""

from jaxlint.findings import FileError, Finding, Report
from jaxlint.report.context import Context, Severity, escape, full_message, place, severity

COMMANDS = {Severity.NOTE: "notice", Severity.WARNING: "warning", Severity.ERROR: "error"}


def render(report: Report, context: Context) -> str:
    """One workflow command a finding, and one a file that could not be checked."""
    commands = [*map(_error, report.errors), *map(_finding, report.findings)]
    return "".join(command + "\n" for command in commands)


def _finding(finding: Finding) -> str:
    span = finding.span
    properties = {"title": f"jaxlint {finding.code}", "file": span.path}
    if span.cell is None:
        properties |= {"line": str(span.line), "endLine": str(span.end_line)}
        # GitHub takes columns only for a region on one line.
        if span.line == span.end_line:
            properties |= {"col": str(span.column), "endColumn": str(span.end_column)}
    text = f"{place(span.path, span.line, span.column, span.cell)}: {finding.code} {full_message(finding)}"
    return _command(COMMANDS[severity(finding)], properties, text)


def _error(error: FileError) -> str:
    properties = {"title": "jaxlint", "file": error.path}
    if error.line is not None and error.cell is None:
        properties |= {"line": str(error.line), "col": str(error.column or 1)}
    return _command("error", properties, f"{place(error.path, error.line, error.column, error.cell)}: {error.message}")


def _command(command: str, properties: dict[str, str], text: str) -> str:
    inner = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{command} {inner}::{_data(text)}"


def _data(text: str) -> str:
    return escape(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")

"""The formats by name."""

from collections.abc import Callable, Mapping

from jaxlint.findings import Report
from jaxlint.report import concise, github, gitlab, json, junit, sarif, text
from jaxlint.report.context import Context

RENDERERS: Mapping[str, Callable[[Report, Context], str]] = {
    "text": text.render,
    "concise": concise.render,
    "json": json.render,
    "sarif": sarif.render,
    "github": github.render,
    "gitlab": gitlab.render,
    "junit": junit.render,
}


def render(report: Report, output_format: str, context: Context) -> str:
    """The report in a format that the settings know."""
    return RENDERERS[output_format](report, context)

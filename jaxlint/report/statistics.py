"""Statistics: how many findings each rule has, in place of the findings themselves."""

import json
from collections import Counter

from jaxlint.findings import Report


def render(report: Report, output_format: str) -> str:
    """The counts, most frequent first: a table, or a list of objects where the format is json."""
    counts = Counter((finding.code, finding.name) for finding in report.findings)
    rows = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    if output_format == "json":
        return (
            json.dumps([{"code": code, "name": name, "count": count} for (code, name), count in rows], indent=1) + "\n"
        )
    width = max((len(str(count)) for _, count in rows), default=0)
    return "".join(f"{count:>{width}}  {code}  {name}\n" for (code, name), count in rows)

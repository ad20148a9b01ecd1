"""Reports of parts of a repository, put together as the report of the whole: the formats `json` and `sarif`.

Reads what other calls of jaxlint wrote, and refuses what is none of it in one line.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlint.errors import UserError
from jaxlint.report.json import VERSION

SARIF = "2.1.0"
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Merged:
    """One document, and how many findings and errors it has that count."""

    text: str
    findings: int
    errors: int


def merge(texts: Mapping[str, str]) -> Merged:
    """The report of all, given the text of each by its file's name."""
    documents = {name: _document(name, text) for name, text in texts.items()}
    kinds = {name: _kind(name, document) for name, document in documents.items()}
    first = next(iter(kinds))
    for name, kind in kinds.items():
        if kind != kinds[first]:
            raise UserError(f"{name}: {_named(kind)}, and {first} is {_named(kinds[first])}: merge what is alike")
    join = _joined_json if kinds[first][0] == "json" else _joined_sarif
    try:
        return join(list(documents.values()))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise UserError(f"{', '.join(texts)}: one of them is no whole report of jaxlint: {error}") from None


def _document(name: str, text: str) -> Document:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name}: no JSON: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"{name}: no report of jaxlint in the format json or sarif")
    return document


def _kind(name: str, document: Document) -> tuple[str, str]:
    """The form of a report and the jaxlint that made it."""
    if document.get("version") == VERSION and isinstance(document.get("findings"), list):
        return "json", str(document.get("jaxlint"))
    runs = document.get("runs")
    if document.get("version") == SARIF and isinstance(runs, list) and len(runs) == 1 and isinstance(runs[0], dict):
        driver = runs[0].get("tool", {}).get("driver", {})
        if driver.get("name") == "jaxlint":
            return "sarif", str(driver.get("version"))
    raise UserError(f"{name}: no report of jaxlint in the format json or sarif")


def _named(kind: tuple[str, str]) -> str:
    return f"{kind[0]} by jaxlint {kind[1]}"


def _joined_json(documents: Sequence[Document]) -> Merged:
    findings = _once(finding for document in documents for finding in document["findings"])
    findings.sort(key=lambda finding: (_is_refuted(finding), *_order(finding), finding["code"]))
    errors = _once(error for document in documents for error in document["errors"])
    errors.sort(key=_order)
    summary = {
        "files": sum(document["summary"]["files"] for document in documents),
        "findings": len(findings),
        "errors": len(errors),
    }
    whole = documents[0] | {"findings": findings, "errors": errors, "summary": summary}
    return Merged(_text(whole), sum(not _is_refuted(finding) for finding in findings), len(errors))


def _order(entry: Document) -> tuple[str, int, int, int]:
    return entry["path"], entry["cell"] or 0, entry["line"] or 0, entry["column"] or 0


def _is_refuted(finding: Document) -> bool:
    return (finding["verdict"] or {}).get("status") == "refuted"


def _joined_sarif(documents: Sequence[Document]) -> Merged:
    """One run, because a code scanning service takes one of each tool."""
    runs = [document["runs"][0] for document in documents]
    rules = {rule["id"]: rule for run in runs for rule in run["tool"]["driver"]["rules"]}
    codes = sorted(rules)
    results = _once(result | {"ruleIndex": codes.index(result["ruleId"])} for run in runs for result in run["results"])
    results.sort(key=_sarif_order)
    invocations = [invocation for run in runs for invocation in run["invocations"]]
    told = _once(note for invocation in invocations for note in invocation["toolExecutionNotifications"])
    driver = runs[0]["tool"]["driver"] | {"rules": [rules[code] for code in codes]}
    run = runs[0] | {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": all(invocation["executionSuccessful"] for invocation in invocations),
                "toolExecutionNotifications": told,
            }
        ],
        "results": results,
    }
    counted = sum(result.get("kind") != "pass" for result in results)
    return Merged(_text(documents[0] | {"runs": [run]}), counted, len(told))


def _sarif_order(result: Document) -> tuple[bool, str, int, int, str]:
    place = result["locations"][0]["physicalLocation"]
    region = place["region"]
    uri = place["artifactLocation"]["uri"]
    return result.get("kind") == "pass", uri, region["startLine"], region["startColumn"], result["ruleId"]


def _once(entries: Iterable[Document]) -> list[Document]:
    """Each entry once, in the order in which they come."""
    return list({json.dumps(entry, sort_keys=True): entry for entry in entries}.values())


def _text(document: Document) -> str:
    return json.dumps(document, indent=1) + "\n"

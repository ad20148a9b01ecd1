"""Operation probes: what no run reached is tried on a fresh array in a child process. The verdict says it is weaker."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from jaxlint import witness
from jaxlint.confirm.marking import is_explicit
from jaxlint.findings import Finding, Status, Verdict
from jaxlint.rulebook import Rule

SECONDS = 120


def probed(
    findings: Sequence[Finding], python: str, backend: str, rules: Mapping[str, Rule], folder: Path
) -> tuple[Finding, ...]:
    """The findings, those that no run reached with what their operation does elsewhere, where that can be tried. They
    stay unreached. `folder` is for the request."""
    keys = {index: _key(finding, rules) for index, finding in enumerate(findings) if _is_open(finding)}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    if not numbers:
        return tuple(findings)
    names = ("operation", "callee", "direction", "explicit")
    probes = [{"number": number, **dict(zip(names, key, strict=True))} for key, number in numbers.items()]
    request = folder / "probes.json"
    request.write_text(json.dumps({"backend": backend, "folder": str(folder), "probes": probes}), "utf-8")
    answers = _ask(python, request)
    told = list(findings)
    for index, key in keys.items():
        said = answers.get(str(numbers[key]))
        verdict = told[index].verdict
        if said is not None and verdict is not None:
            told[index] = replace(told[index], verdict=_weaker(verdict, said, backend))
    return tuple(told)


def _is_open(finding: Finding) -> bool:
    return finding.direction is not None and finding.verdict is not None and finding.verdict.status is Status.UNREACHED


def _key(finding: Finding, rules: Mapping[str, Rule]) -> tuple[str, str | None, str, bool]:
    return (str(finding.operation), finding.callee, str(finding.direction), is_explicit(finding, rules[finding.code]))


def _weaker(verdict: Verdict, said: str, backend: str) -> Verdict:
    if not said:
        message = "no run came by; the same operation on a fresh array was not refused"
        return replace(verdict, backend=backend, message=message)
    message = f"no run came by; the same operation on a fresh array was refused: {said}"
    return replace(verdict, evidence="operation", backend=backend, message=message)


def _ask(python: str, request: Path) -> Mapping[str, str]:
    command = [python, str(Path(witness.__file__).resolve().parent), "probe", str(request)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        answers: Mapping[str, str] = json.loads(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return {}
    return answers

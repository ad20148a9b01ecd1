"""Operation probes: what no run reached is tried on a fresh array in a child process. The verdict says it is weaker."""

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from jaxlint import witness
from jaxlint.confirm.marking import is_explicit
from jaxlint.findings import Finding, Status, Verdict
from jaxlint.processes.interrupts import Told
from jaxlint.rulebook import Rule

SECONDS = 120
POLL_SECONDS = 0.1


def probed(
    findings: Sequence[Finding], python: str, backend: str, rules: Mapping[str, Rule], folder: Path, told: Told
) -> tuple[Finding, ...]:
    """The findings, those that no run reached with what their operation does elsewhere, where that can be tried. They
    stay unreached. `folder` is for the request; nothing is tried once this process is `told` to end."""
    keys = {index: _key(finding, rules) for index, finding in enumerate(findings) if _is_open(finding)}
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys.values()))}
    if not numbers:
        return tuple(findings)
    names = ("operation", "callee", "direction", "explicit")
    probes = [{"number": number, **dict(zip(names, key, strict=True))} for key, number in numbers.items()]
    request = folder / "probes.json"
    request.write_text(json.dumps({"backend": backend, "folder": str(folder), "probes": probes}), "utf-8")
    answers = _ask(python, request, told)
    made = list(findings)
    for index, key in keys.items():
        said = answers.get(str(numbers[key]))
        verdict = made[index].verdict
        if said is not None and verdict is not None:
            made[index] = replace(made[index], verdict=_weaker(verdict, said, backend))
    return tuple(made)


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


def _ask(python: str, request: Path, told: Told) -> Mapping[str, str]:
    words = [python, str(Path(witness.__file__).resolve().parent), "probe", str(request)]
    output, deadline = request.with_name("probed.json"), time.monotonic() + SECONDS
    try:
        with output.open("wb") as file:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL, start_new_session=True
            )
        with process:
            try:
                while process.poll() is None and time.monotonic() < deadline and not told.number:
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(POLL_SECONDS)
            finally:
                process.kill()
        answers: Mapping[str, str] = json.loads(output.read_bytes().splitlines()[-1])
    except (OSError, ValueError, IndexError):
        return {}
    return answers

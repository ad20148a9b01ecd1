"""A verdict in words, as every format says it."""

from jaxlint.findings import Direction, Finding, Status, Verdict

# How the backend that asks by a stand-in is to be named with the guard's word: the guard did not see the user's array.
STAND_IN = "sentinel"


def is_refuted(finding: Finding) -> bool:
    """True for what the runtime pass has refuted: it is listed apart, and fails nothing."""
    return finding.verdict is not None and finding.verdict.status is Status.REFUTED


def in_words(verdict: Verdict, direction: Direction | None) -> str:
    """One line: the status, what it rests on, how often, and the guard's own words or the reason. `direction` is the
    finding's: only fetches are asked about through a stand-in."""
    basis = "; ".join(filter(None, (_evidence(verdict, direction), _counts(verdict), _processes(verdict))))
    head = f"{verdict.status}{f' ({basis})' if basis else ''}"
    return f"{head}: {verdict.message}" if verdict.message else head


def _evidence(verdict: Verdict, direction: Direction | None) -> str:
    backend = verdict.backend or ""
    match verdict.evidence:
        case "guard" if backend == STAND_IN and direction is Direction.DEVICE_TO_HOST:
            return f"by the guard, asked through a stand-in, backend {backend}"
        case "guard":
            return f"by the guard, backend {backend}"
        case "trace":
            return f"seen while it ran, backend {backend}"
        case "error":
            return "raised while it ran"
    return f"backend {backend}" if backend else ""


def _counts(verdict: Verdict) -> str:
    if not verdict.runs:
        return ""
    runs = f"{verdict.runs} judged run{'' if verdict.runs == 1 else 's'}"
    if not verdict.transfers:
        return runs
    size = f", {verdict.bytes} bytes" if verdict.bytes else ""
    return f"{verdict.transfers} transfer{'' if verdict.transfers == 1 else 's'} in {runs}{size}"


def _processes(verdict: Verdict) -> str:
    if not verdict.processes:
        return ""
    return f"process{'' if len(verdict.processes) == 1 else 'es'} {', '.join(map(str, verdict.processes))}"

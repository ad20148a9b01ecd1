"""From answers to verdicts."""

from jaxlint.confirm.answers import Answer, Answers
from jaxlint.confirm.marking import Marking, is_decidable
from jaxlint.findings import Finding, Status, Verdict
from jaxlint.sites import Heat

NOT_EXECUTED = "a misuse of the guard is judged by reading, not by running"
NO_FILE = "only files can be run, and this is none"


def verdict(index: int, finding: Finding, marking: Marking, answers: Answers, trouble: str) -> Verdict | None:
    """The verdict on a finding; None for one about a comment. `trouble` says how a command failed to come to its end,
    if one did: then what was not reached might have been."""
    if finding.operation is None:
        return None
    if not is_decidable(finding):
        return Verdict(Status.UNDECIDED, message=NOT_EXECUTED)
    place = marking.of_finding.get(index)
    if place is None:
        return Verdict(Status.UNDECIDED, message=NO_FILE)
    path, number = place
    answer = answers.marks.get(number)
    if answer is not None:
        return _seen(finding, answer)
    if answers.distrusted:
        return Verdict(
            Status.UNDECIDED, message=f"the guard of this process can not be relied on: {answers.distrusted}"
        )
    if path in answers.troubles:
        return Verdict(Status.UNDECIDED, message=f"the file was not watched: {answers.troubles[path]}")
    if number in answers.unmarked and number not in answers.loaded[path]:
        return Verdict(Status.UNDECIDED, message="this place could not be marked")
    if trouble:
        return Verdict(Status.UNDECIDED, message=f"not reached before the end: {trouble}")
    return Verdict(Status.UNREACHED, message="" if path in answers.loaded else "no run loaded this file")


def _seen(finding: Finding, answer: Answer) -> Verdict:
    processes = tuple(sorted(answer.processes))
    if finding.direction is None:
        if answer.raised:
            said = f"{answer.raised}: {answer.said}" if answer.raised[:1].isupper() else answer.said
            evidence = "error" if answer.raised[:1].isupper() else "trace"
            return Verdict(Status.CONFIRMED, evidence, answer.backend, answer.runs, message=said, processes=processes)
        return Verdict(
            Status.REFUTED,
            None,
            answer.backend,
            answer.runs,
            message="it ran, and no tracer failed",
            processes=processes,
        )
    crossing = answer.crossings.get(str(finding.direction))
    if crossing is None:
        if answer.deferred:
            return Verdict(Status.UNDECIDED, None, answer.backend, message="what is begun here runs elsewhere")
        if answer.runs and answer.calls > answer.runs and finding.heat is Heat.PERIODIC:
            message = f"nothing was refused in {answer.runs} of {answer.calls} runs, and it may happen in the others"
            return Verdict(Status.UNDECIDED, None, answer.backend, answer.runs, message=message)
        if not answer.runs:
            return Verdict(Status.UNDECIDED, None, answer.backend, message="it ran, but could not be judged there")
        why = "; what crossed here was asked for by name" if answer.explicit else ""
        if answer.known and not answer.explicit:
            why = "; what was read here had been fetched before"
        return Verdict(
            Status.REFUTED,
            None,
            answer.backend,
            answer.runs,
            message=f"nothing was refused in {answer.runs} {'run' if answer.runs == 1 else 'runs'}{why}",
            processes=processes,
        )
    return Verdict(
        Status.CONFIRMED,
        crossing.evidence,
        crossing.backend,
        answer.runs,
        crossing.transfers,
        crossing.bytes,
        crossing.message,
        processes,
    )

"""Findings and what becomes of them: a rule's word on a site, its fix and its verdict."""

import enum
from dataclasses import dataclass, field

from jaxlint.sites import Confidence, Heat, Note, Operand, Operation, Span


class Direction(enum.StrEnum):
    """A direction of JAX's transfer guard."""

    DEVICE_TO_HOST = "device_to_host"
    HOST_TO_DEVICE = "host_to_device"
    DEVICE_TO_DEVICE = "device_to_device"


class Status(enum.StrEnum):
    """What the runtime pass says of a finding."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    UNREACHED = "unreached"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The runtime pass's answer. `evidence` is "guard" (the guard refused it there), "trace" (it was seen to copy
    there), "error" (JAX raised there), "operation" (the same operation was refused elsewhere) or None. `runs` counts
    the runs that were judged, `transfers` those that crossed, `bytes` what crossed as far as that is known;
    `processes` are those of a distributed program that came by; `message` is the guard's, or the reason why there is
    no answer."""

    status: Status
    evidence: str | None = None
    backend: str | None = None
    runs: int = 0
    transfers: int = 0
    bytes: int = 0
    message: str = ""
    processes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the text between two places (1-based, columns in characters, end exclusive) by `text`; in a
    notebook lines count within the cell. An insertion has no extent."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together, in the finding's file; `safe` ones never change what the program computes or prints.
    Findings that are repaired at once have the same fix."""

    description: str
    safe: bool
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's word on a site. `use` is what becomes of a fetched value (shown, decision, stored, host-compute,
    round-trip) or None; `direction` is None for the JT0xx, JT4xx and JT5xx families; `operation`, `callee`
    and `operands` are the site's; the last only until a fix was looked for."""

    span: Span
    code: str
    name: str
    direction: Direction | None
    message: str
    heat: Heat
    confidence: Confidence
    use: str | None = None
    notes: tuple[Note, ...] = ()
    fix: Fix | None = None
    verdict: Verdict | None = None
    operation: Operation | None = None
    callee: str | None = None
    operands: tuple[Operand, ...] = ()

    @property
    def order(self) -> tuple[str, int, int, int, str]:
        """The sorting key of every report: path, cell, line, column, code."""
        return (self.span.path, self.span.cell or 0, self.span.line, self.span.column, self.code)


@dataclass(frozen=True, slots=True)
class FileError:
    """A file that could not be checked, or not wholly: one line for the user, and the place where there is one."""

    path: str
    message: str
    line: int | None = None
    column: int | None = None
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All that a check found, in report order."""

    findings: tuple[Finding, ...]
    errors: tuple[FileError, ...] = ()
    files: int = 0
    unanalysed: tuple[FileError, ...] = field(default=())

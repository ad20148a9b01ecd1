"""The rulebook: the pages of ``rules/`` as `Rule` values, and the judgement of sites by them.

A page is a title (``# JT104 scalar-conversion``), one toml block, prose, and one program each under ``## Bad``
and ``## Good``. This module knows pages, sites and findings; it never sees a syntax tree and never imports jax.
"""

import enum
import fnmatch
import functools
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jaxlint.errors import UserError
from jaxlint.findings import Direction, Finding
from jaxlint.kinds import ARRAY, HOST, NOWHERE, Kind
from jaxlint.pages import Example, Table, block, example, heading, toml, wrong
from jaxlint.sites import Heat, Operand, Operation, Site

KINDS: Mapping[str, Kind] = {
    "python": Kind.PYTHON,
    "numpy": Kind.NUMPY,
    "device": Kind.DEVICE,
    "tracer": Kind.TRACER,
    "host": HOST,
    "array": ARRAY,
}
USES = ("shown", "decision", "stored", "host-compute", "round-trip")
LEVELS = ("disallow", "disallow_explicit")
BACKENDS = ("sentinel", "cpu")
PLACEHOLDERS = ("callee", "what", "detail")
DIRECTIONS: Mapping[str, Direction] = {
    "1": Direction.DEVICE_TO_HOST,
    "2": Direction.HOST_TO_DEVICE,
    "3": Direction.DEVICE_TO_DEVICE,
}
TRACER_FAMILY = "4"
SHORT_NAMES = (("builtins.", ""), ("jax.numpy.", "jnp."), ("numpy.", "np."), ("matplotlib.pyplot.", "plt."))
SHOWN_OPERANDS = 3

_TITLE = re.compile(r"# (JT(\d)\d\d) ([a-z0-9]+(?:-[a-z0-9]+)*)")
_KEYS = {"direction", "message", "default", "use", "syntax", "match", "fix", "proof"}
_MATCH_KEYS = {"operation", "operand", "callee", "heat", "message"}
_FIX_KEYS = {"make", "operation", "callee", "safe"}
_PROOF_KEYS = {"level", "devices", "needs", "raises", "backend"}


@dataclass(frozen=True, slots=True)
class Match:
    """One ``[[match]]`` block: any of `operations`, an operand that may be of `kind` (none asked if empty), a callee
    that fits one of the glob patterns `callees` (any if empty) and none of those after a ``!``, at least as hot as
    `heat`. `message` is this block's own, or empty for the rule's."""

    operations: tuple[Operation, ...]
    kind: Kind = NOWHERE
    callees: tuple[str, ...] = ()
    heat: Heat = Heat.COLD
    message: str = ""

    @property
    def names_callees(self) -> bool:
        """True if it is about some callees alone: then it says more than a block that takes any."""
        return any(not pattern.startswith("!") for pattern in self.callees)

    def fits(self, site: Site) -> bool:
        """True if the site has what this block asks for."""
        if site.operation not in self.operations or site.heat < self.heat:
            return False
        if self.kind and not any(operand.kind.may_be(self.kind) for operand in site.operands):
            return False
        return not self.callees or _fits_callee(self.callees, site.callee)


class Making(enum.StrEnum):
    """What a fix makes of the source. A page names these values in its ``[[fix]]`` blocks."""

    FETCH = "fetch"  # jax.device_get round each operand that is on the device
    PUT = "put"  # jax.device_put round each operand that is one NumPy array
    HOIST = "hoist"  # the same, before the loop where that is provably the same
    DEBUG_PRINT = "debug-print"  # print(...) as jax.debug.print(...)

    @property
    def words(self) -> str:
        """What it does, for the tables of the documentation."""
        return _MAKINGS[self]


_MAKINGS = {
    Making.FETCH: "`jax.device_get` at the operand",
    Making.PUT: "`jax.device_put` at the operand",
    Making.HOIST: "`jax.device_put` before the loop, or at the operand",
    Making.DEBUG_PRINT: "`jax.debug.print` for `print`",
}


@dataclass(frozen=True, slots=True)
class Remedy:
    """One ``[[fix]]`` block: what to make of a site of these operations and callees (any if empty). If `safe`, it may
    be made unasked: the program computes and prints the same afterwards."""

    make: Making
    operations: tuple[Operation, ...] = ()
    callees: tuple[str, ...] = ()
    safe: bool = False

    def fits(self, finding: Finding) -> bool:
        """True if the block is about such a finding."""
        if self.operations and finding.operation not in self.operations:
            return False
        return not self.callees or _fits_callee(self.callees, finding.callee)


@dataclass(frozen=True, slots=True)
class Proof:
    """How the tests prove a page: the guard's level, the number of devices, packages that the programs import, the
    ``jax.errors`` classes that marked lines raise, and the backend (the plain ``cpu`` only for what is said of it)."""

    level: str = "disallow"
    devices: int = 1
    needs: tuple[str, ...] = ()
    raises: tuple[str, ...] = ()
    backend: str = "sentinel"


@dataclass(frozen=True, slots=True)
class Rule:
    """One page. In `message`, ``{callee}`` and ``{what}`` are quoted code; `syntax` is what ``{callee}`` says where a
    site has none (an f-string). `summary` is the first paragraph of `prose`; `text` is the page as it was read."""

    path: str
    code: str
    name: str
    direction: Direction | None
    message: str
    default: bool
    use: str | None
    syntax: str
    matches: tuple[Match, ...]
    remedies: tuple[Remedy, ...]
    summary: str
    prose: str
    bad: Example
    good: Example
    proof: Proof
    text: str

    @property
    def family(self) -> str:
        """The digit after JT: 1 device to host, 2 host to device, 3 between devices, 4 tracers, 5 the guard, 0 own."""
        return self.code[2]

    @property
    def marked(self) -> tuple[int, ...]:
        """The lines of the bad program that carry this rule's code."""
        return self.bad.lines(self.code)

    def remedy(self, finding: Finding) -> Remedy | None:
        """The first remedy that fits a finding of this rule."""
        return next((remedy for remedy in self.remedies if remedy.fits(finding)), None)


def load_rules() -> tuple[Rule, ...]:
    """Every page, in the order of codes. Reads the installed package's pages, or the checkout's where this is one."""
    return read_rules(rules_folder())


def names_of(rules: Iterable[Rule]) -> Mapping[str, str]:
    """The names of rules by code."""
    return {rule.code: rule.name for rule in rules}


def rules_folder() -> Path:
    """Where the pages are: inside the package, or beside the ``pyproject.toml`` of a checkout of this project."""
    package = Path(__file__).resolve().parent
    if (inside := package / "rules").is_dir():
        return inside
    project = package.parent / "pyproject.toml"
    beside = package.parent / "rules"
    if (
        beside.is_dir()
        and project.is_file()
        and re.search(r'^name = "jaxlint"', project.read_text("utf-8"), re.MULTILINE)
    ):
        return beside
    raise UserError(f"{inside}: no rule pages here: the installation of jaxlint is incomplete, install it again")


def read_rules(folder: Path) -> tuple[Rule, ...]:
    """The pages of a folder, in the order of codes; two pages of one code or name are an error."""
    rules = tuple(
        parse_page(path.read_text("utf-8"), str(path)) for path in sorted(folder.iterdir()) if path.suffix == ".md"
    )
    if not rules:
        raise UserError(f"{folder}: no rule pages here")
    seen: dict[str, Rule] = {}
    for rule in rules:
        for key in (rule.code, rule.name):
            if key in seen:
                raise UserError(f"{rule.path}:1: {key} is the page {seen[key].path} already")
            seen[key] = rule
    return rules


def parse_page(text: str, path: str) -> Rule:
    """One page as a rule. A page that is not of the form is a `UserError` that names the file and the line."""
    lines = text.splitlines()
    title = _TITLE.fullmatch(lines[0].rstrip()) if lines else None
    if title is None:
        raise wrong(path, 1, "the title must be `# JT123 some-name`")
    code, digit, name = title.groups()
    if Path(path).name != f"{code}-{name}.md":
        raise wrong(path, 1, f"the file of {code} must be named {code}-{name}.md")
    start, end = block(lines, "toml", 0, len(lines), path)
    bad_at, good_at = heading(lines, "## Bad", path), heading(lines, "## Good", path)
    if not end < bad_at < good_at:
        raise wrong(path, bad_at + 1, "the order must be title, toml block, prose, ## Bad, ## Good")
    table = Table(toml("\n".join(lines[start:end]), path, start), path, lines, start)
    table.only(_KEYS)
    direction = table.word("direction", tuple(Direction), "")
    wanted = DIRECTIONS.get(digit)
    if direction != (wanted or ""):
        raise table.wrong("direction", f"{code} must have " + (f'direction = "{wanted}"' if wanted else "no direction"))
    matches = tuple(_match(block) for block in table.tables("match"))
    if bool(matches) == (digit == "0"):
        raise wrong(path, start + 1, f"{code} must have " + ("no [[match]]" if matches else "a [[match]] block"))
    prose = "\n".join(lines[end + 1 : bad_at]).strip()
    if not prose:
        raise wrong(path, end + 2, "there must be prose between the toml block and ## Bad")
    return Rule(
        path=path,
        code=code,
        name=name,
        direction=wanted,
        message=_message(table),
        default=table.flag("default"),
        use=table.word("use", USES, "") or None,
        syntax=table.text("syntax", "this operation"),
        matches=matches,
        remedies=tuple(_remedy(block) for block in table.tables("fix")),
        summary=" ".join(prose.split("\n\n", 1)[0].split()),
        prose=prose,
        bad=example(lines, bad_at, good_at, path),
        good=example(lines, good_at, len(lines), path),
        proof=_proof(table),
        text=text,
    )


def judge(rules: Iterable[Rule], sites: Iterable[Site]) -> Iterator[Finding]:
    """The findings of `rules` on `sites`, one a (span, code): the hottest, then the most confident.

    In each family one rule wins that fits a site: a block that names its callees before one that takes any, then the
    lowest code. Where an operand may be a tracer or an array, the site's being traced decides between the tracer rule
    and the others. Give every rule here and select afterwards:
    a rule that is left out would hand its sites to the next one.
    """
    index: dict[Operation, list[tuple[Rule, Match]]] = {}
    for rule in sorted(rules, key=lambda rule: rule.code):
        for match in rule.matches:
            for operation in match.operations:
                index.setdefault(operation, []).append((rule, match))
    for candidates in index.values():
        candidates.sort(key=lambda candidate: not candidate[1].names_callees)
    best: dict[tuple[object, str], Finding] = {}
    for site in sites:
        for rule, match in _winners(index.get(site.operation, ()), site):
            key = (site.span, rule.code)
            old = best.get(key)
            if old is None or (old.heat, old.confidence) < (site.heat, site.confidence):
                best[key] = _finding(rule, match, site)
    yield from best.values()


def _winners(candidates: Sequence[tuple[Rule, Match]], site: Site) -> list[tuple[Rule, Match]]:
    first: dict[str, tuple[Rule, Match]] = {}
    for rule, match in candidates:
        if rule.family not in first and match.fits(site):
            first[rule.family] = (rule, match)
    if TRACER_FAMILY in first and any(family in DIRECTIONS for family in first):
        return [pair for family, pair in first.items() if (family == TRACER_FAMILY) == site.traced]
    return list(first.values())


def _finding(rule: Rule, match: Match, site: Site) -> Finding:
    return Finding(
        span=site.span,
        code=rule.code,
        name=rule.name,
        direction=rule.direction,
        message=(match.message or rule.message).format(
            callee=_quoted(_short(site.callee)) or rule.syntax,
            what=_what(site.operands, match.kind),
            detail=site.detail,
        ),
        heat=site.heat,
        confidence=site.confidence,
        use=rule.use and (site.use or rule.use),
        notes=site.notes,
        operation=site.operation,
        callee=site.callee,
        operands=site.operands,
    )


def _what(operands: Sequence[Operand], kind: Kind) -> str:
    """The texts of the operands that the rule speaks of, each once."""
    guilty = [operand.text for operand in operands if not kind or operand.kind.may_be(kind)]
    texts = list(dict.fromkeys(_quoted(text) for text in guilty if text))
    return ", ".join(texts[:SHOWN_OPERANDS]) + (", ..." if len(texts) > SHOWN_OPERANDS else "") or "a value"


def _quoted(text: str) -> str:
    return f"`{text}`" if text else ""


def _short(callee: str | None) -> str:
    for prefix, short in SHORT_NAMES:
        if callee is not None and callee.startswith(prefix):
            return short + callee.removeprefix(prefix)
    return callee or ""


@functools.lru_cache(maxsize=4096)
def _fits_callee(patterns: tuple[str, ...], callee: str | None) -> bool:
    wanted = [pattern for pattern in patterns if not pattern.startswith("!")]
    unwanted = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    name = callee or ""
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in unwanted):
        return False
    return not wanted or any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)


def _match(table: Table) -> Match:
    table.only(_MATCH_KEYS)
    operations = table.words("operation")
    if not operations:
        raise table.wrong("match", "a [[match]] block must name its operation")
    for key, names, allowed in (
        ("operation", operations, tuple(Operation)),
        ("operand", table.words("operand"), tuple(KINDS)),
    ):
        for name in names:
            if name not in allowed:
                raise table.wrong(key, f"unknown {key} {name!r}; one of {', '.join(allowed)}")
    kind = NOWHERE
    for name in table.words("operand"):
        kind |= KINDS[name]
    heat = table.word("heat", tuple(heat.name.lower() for heat in Heat), "cold")
    message = _message(table) if "message" in table.values else ""
    chosen = tuple(Operation(name) for name in operations)
    return Match(chosen, kind, table.words("callee"), Heat[heat.upper()], message)


def _remedy(table: Table) -> Remedy:
    table.only(_FIX_KEYS)
    make = table.word("make", tuple(Making), "")
    if not make:
        raise table.wrong("fix", f"a [[fix]] block must say what to make: one of {', '.join(Making)}")
    for name in table.words("operation"):
        if name not in tuple(Operation):
            raise table.wrong("operation", f"unknown operation {name!r}; one of {', '.join(Operation)}")
    operations = tuple(Operation(name) for name in table.words("operation"))
    return Remedy(Making(make), operations, table.words("callee"), table.flag("safe"))


def _proof(table: Table) -> Proof:
    value = table.values.get("proof", {})
    if not isinstance(value, dict):
        raise table.wrong("proof", "'proof' must be written [proof]")
    inner = Table(value, table.path, table.lines, table.start)
    inner.only(_PROOF_KEYS)
    devices = value.get("devices", 1)
    if not isinstance(devices, int) or isinstance(devices, bool) or devices < 1:
        raise inner.wrong("devices", "'devices' must be a number from 1")
    return Proof(
        level=inner.word("level", LEVELS, "disallow"),
        devices=devices,
        needs=inner.words("needs"),
        raises=inner.words("raises"),
        backend=inner.word("backend", BACKENDS, "sentinel"),
    )


def _message(table: Table) -> str:
    message = table.text("message")
    if not message or "\n" in message:
        raise table.wrong("message", "'message' must be one line")
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(message) if name is not None]
    except ValueError as error:
        raise table.wrong("message", f"'message' is no format string: {error}") from None
    for name in names:
        if name not in PLACEHOLDERS:
            raise table.wrong("message", f"unknown placeholder {{{name}}}; one of {', '.join(PLACEHOLDERS)}")
    return message

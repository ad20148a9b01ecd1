"""The static check: settings and paths in, a report out. Imports neither jax nor the code that it checks.

One bad file never hides the rest: what cannot be read or parsed becomes an error of the report.
"""

import errno
import gc
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jaxlint.cache import Cache
from jaxlint.errors import SourceError
from jaxlint.findings import FileError, Finding, Report
from jaxlint.fixes.propose import with_fixes
from jaxlint.inputs import Inputs
from jaxlint.projects import apart, project_folder
from jaxlint.rulebook import Rule, judge, load_rules
from jaxlint.selection import anchored, common_root, enabled, file_ignores, matcher, wanted
from jaxlint.settings import Settings
from jaxlint.sites import Confidence, Heat
from jaxlint.source.collector import collector_paused
from jaxlint.source.files import Discovery, SourceFile, discover, shown_path
from jaxlint.source.suppressions import Complaint, Suppressions, Word
from jaxlint.source.text import read_bytes
from jaxlint.workers import in_processes

if TYPE_CHECKING:
    from jaxlint.interp.models import Models
    from jaxlint.interp.run import Analysis

# A file that names none of these makes no device array: it matters only if one that does imports it.
ARRAY_LIBRARIES = (
    *("blackjax", "brax", "chex", "clu", "diffrax", "distrax", "dm_pix", "e3nn_jax", "equinox", "evosax", "flashbax"),
    *("flax", "gymnax", "haiku", "haliax", "jax", "jmp", "jraph", "jumanji", "lineax", "mctx", "numpyro", "optax"),
    *("optimistix", "orbax", "penzai", "pgx", "rlax", "tjax"),
)
_NAMES_ARRAYS = re.compile("|".join(ARRAY_LIBRARIES).encode(), re.IGNORECASE)
UNUSED, UNKNOWN, MALFORMED = "JT001", "JT002", "JT003"

# The models of the last settings.
_READ_MODELS: dict[str, "Models"] = {}


@dataclass(frozen=True, slots=True)
class Part:
    """The files of one repository, and how they are checked."""

    settings: Settings
    paths: Sequence[str]
    found: Discovery
    cached: bool


def check_paths(
    settings: Settings,
    paths: Sequence[str],
    *,
    rules: Mapping[str, Rule] | None = None,
    inputs: Inputs | None = None,
    cached: bool = False,
    jobs: int = 1,
) -> Report:
    """Checks files and folders, the files of each repository by themselves. `inputs` is for a caller who wants to look
    at the sources afterwards. If `cached`, a report that was made of the same before is taken instead, and a new one
    kept. With several `jobs` so many processes check repositories at once; the inputs then know the files alone."""
    inputs = inputs or Inputs()
    found = find_files(settings, paths)
    parts = [Part(settings, paths, files, cached) for files in apart(found, paths)]
    if len(parts) < 2:
        report = _check_part(Part(settings, paths, Discovery(found.files, ()), cached), rules, inputs)
    elif jobs > 1:
        inputs.add(found.files)
        kept = {n: known for n, part in enumerate(parts) if (known := _kept(part, rules)) is not None}
        left = [part for n, part in enumerate(parts) if n not in kept]
        left.sort(key=lambda part: -len(part.found.files))
        report = merged((*kept.values(), *in_processes(_check_apart, left, jobs)))
    else:
        report = merged([_check_alone(part, rules, inputs) for part in parts])
    errors = sorted((*found.errors, *report.errors), key=_error_order)
    return replace(report, errors=tuple(errors))


def merged(reports: Iterable[Report]) -> Report:
    """One report of several that have no file in common."""
    reports = tuple(reports)
    findings = sorted((finding for report in reports for finding in report.findings), key=lambda f: f.order)
    errors = sorted((error for report in reports for error in report.errors), key=_error_order)
    unanalysed = sorted((error for report in reports for error in report.unanalysed), key=_error_order)
    return Report(tuple(findings), tuple(errors), sum(report.files for report in reports), tuple(unanalysed))


def _check_apart(part: Part) -> Report:
    """Checks one of several repositories in a process that does nothing else."""
    return _check_part(part, None, Inputs())


def _check_alone(part: Part, rules: Mapping[str, Rule] | None, inputs: Inputs) -> Report:
    """Checks one of several repositories, and drops what only this needed before the next one is begun."""
    own = inputs.apart()
    report = _check_part(part, rules, own)
    inputs.take(own)
    gc.collect()
    return report


def _kept(part: Part, rules: Mapping[str, Rule] | None) -> Report | None:
    """The report of an earlier check of the same, where there is one."""
    if not part.cached:
        return None
    cache = Cache(part.settings, rules if rules is not None else {rule.code: rule for rule in load_rules()})
    name = cache.name(_contents(part.found, _beside(part.settings, part.paths, part.found)))
    return None if name is None else cache.read(name)


def _contents(found: Discovery, beside: Discovery) -> list[tuple[str, SourceFile]]:
    """All files on which a report depends, each with its part in the check."""
    return [*(("checked", file) for file in found.files), *(("beside", file) for file in beside.files)]


def _check_part(part: Part, rules: Mapping[str, Rule] | None, inputs: Inputs) -> Report:
    settings, paths, found = part.settings, part.paths, part.found
    if not part.cached or not any(map(_is_of_interest, found.files)):
        return _check(settings, found, rules, inputs, beside=lambda: _beside(settings, paths, found))
    pages = rules if rules is not None else {rule.code: rule for rule in load_rules()}
    beside = _beside(settings, paths, found)
    files = _contents(found, beside)
    cache = Cache(settings, pages)
    name = cache.name(files)
    report = cache.read(name) if name is not None else None
    if report is None:
        report = _check(settings, found, pages, inputs, beside=lambda: beside)
        # What changed while it was read is not what was found.
        if name is not None and cache.name(files) == name:
            cache.write(name, report)
    else:
        inputs.add(found.files)
    return report


def check_bytes(
    settings: Settings,
    data: bytes,
    path: str,
    *,
    rules: Mapping[str, Rule] | None = None,
    inputs: Inputs | None = None,
) -> Report:
    """Checks the bytes of one file under a name; nothing is read from there."""
    inputs = inputs or Inputs()
    shown, location = shown_path(path, Path.cwd()), Path(path).absolute()
    inputs.given[shown] = data
    return check_file(settings, SourceFile(shown, location), inputs, rules=rules)


def check_file(
    settings: Settings,
    file: SourceFile,
    inputs: Inputs,
    *,
    rules: Mapping[str, Rule] | None = None,
    beside: Sequence[SourceFile] = (),
) -> Report:
    """Checks one file, which the inputs may have from elsewhere, among those `beside` it."""
    excluded = settings.force_exclude and matcher(settings.exclude)(file.location)
    found = Discovery(() if excluded else (file,), ())
    return _check(settings, found, rules, inputs, beside=lambda: Discovery(tuple(beside), ()))


def check_text(
    text: str,
    *,
    path: str = "page.py",
    select: tuple[str, ...] | None = None,
    min_heat: Heat = Heat.COLD,
    min_confidence: Confidence = Confidence.MEDIUM,
) -> Report:
    """Checks one text by default settings but for those given: what tests and other tools call."""
    settings = Settings(select=select, min_heat=min_heat, min_confidence=min_confidence)
    return check_bytes(settings, text.encode(), path)


def _is_of_interest(file: SourceFile) -> bool:
    """True if a file names a library of arrays: then checking it is work worth keeping."""
    try:
        return _NAMES_ARRAYS.search(read_bytes(file.location, file.path)) is not None
    except SourceError:
        return False


def find_files(settings: Settings, paths: Sequence[str]) -> Discovery:
    """The files that are to be checked. A path that does not exist is an error beside them."""
    missing = [FileError(path, "no such file or folder") for path in paths if _is_missing(path)]
    root = common_root(settings.exclude)
    found = discover(
        [path for path in paths if not _is_missing(path)],
        root=root,
        exclude=[anchored(pattern, root) for pattern in settings.exclude],
        force_exclude=settings.force_exclude,
        respect_gitignore=settings.respect_gitignore,
    )
    return Discovery(found.files, (*missing, *found.errors))


def _is_missing(path: str) -> bool:
    try:
        os.stat(path)
    except OSError as error:
        return error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
    except ValueError:
        return True
    return False


def _beside(settings: Settings, paths: Sequence[str], found: Discovery) -> Discovery:
    """The other files of the project: what a file given alone (by a hook, an editor) may import."""
    if not found.files:
        return Discovery((), ())
    root = project_folder(found.files[0].location.resolve())
    if any(os.path.isdir(path) and root.is_relative_to(Path(path).resolve()) for path in paths):
        return Discovery((), ())
    return project_files(settings, root)


def project_files(settings: Settings, root: Path, cwd: Path | None = None) -> Discovery:
    """The files of a project, shown as from `cwd`."""
    return discover(
        [root],
        root=root,
        exclude=[anchored(pattern, root) for pattern in settings.exclude],
        respect_gitignore=settings.respect_gitignore,
        cwd=cwd,
    )


def _nothing_beside() -> Discovery:
    return Discovery((), ())


@collector_paused()
def _check(
    settings: Settings,
    found: Discovery,
    rules: Mapping[str, Rule] | None,
    inputs: Inputs,
    beside: Callable[[], Discovery] = _nothing_beside,
) -> Report:
    pages = rules if rules is not None else {rule.code: rule for rule in load_rules()}
    inputs.add(found.files)
    analysis = _analyse(inputs, settings, beside)
    in_force = enabled(settings, {code: rule.default for code, rule in pages.items()})
    judged = [*judge(pages.values(), analysis.sites if analysis else ())]
    kept = _unsuppressed(judged, inputs)
    ignores = file_ignores(settings.per_file_ignores)
    findings = [
        finding
        for finding in (*kept, *_own_findings(pages, in_force, inputs))
        if finding.code in in_force
        and wanted(settings, finding)
        and not ignores(inputs.files[finding.span.path].location, finding.code)
    ]
    findings = [inputs.in_cells(finding) for finding in _repairable(findings, pages, inputs)]
    inputs.silenced = _silenced(judged, findings, settings, inputs)
    findings.sort(key=lambda finding: finding.order)
    errors = [*found.errors, *inputs.errors]
    errors.sort(key=_error_order)
    given_up = tuple(
        FileError(g.path, f"{g.name} was not analysed: {g.reason}", g.line or None)
        for g in (analysis.given_up if analysis else ())
    )
    return Report(tuple(findings), tuple(errors), len(found.files), given_up)


def _analyse(inputs: Inputs, settings: Settings, beside: Callable[[], Discovery]) -> "Analysis | None":
    """What the interpreter finds; None where no file is of interest. Loads it only then: that takes longer than a check
    that the cache answers."""
    roots, paths = inputs.roots((*ARRAY_LIBRARIES, *_own_libraries(settings))), tuple(inputs.files)
    if not roots and not settings.models:
        return None
    from jaxlint.interp.run import analyse

    inputs.add_beside(beside().files)
    return analyse(roots, paths, (*paths, *inputs.beside), inputs.load, _models(settings))


def _error_order(error: FileError) -> tuple[str, int, int, int]:
    return (error.path, error.cell or 0, error.line or 0, error.column or 0)


def _own_libraries(settings: Settings) -> set[str]:
    """The libraries that the user's models speak of: a file may have its arrays from them alone."""
    names: list[object] = [*_mapping(settings.models.get("alias"))]
    for table in ("function", "attribute"):
        blocks = settings.models.get(table)
        for block in blocks if isinstance(blocks, list) else ():
            listed = _mapping(block).get("names")
            names += listed if isinstance(listed, list) else ()
    return {name.partition(".")[0] for name in names if isinstance(name, str)}


def _mapping(value: object) -> Mapping[str, object]:
    """A table of the configuration; what is none is told of where the models are read."""
    return value if isinstance(value, Mapping) else {}


def _models(settings: Settings) -> "Models":
    """The models for some settings, read once in a process: an editor checks with every keystroke."""
    key = f"{settings.models_place}\0{settings.models!r}"
    known = _READ_MODELS.get(key)
    if known is None:
        from jaxlint.interp.models import load_models

        known = load_models()
        if settings.models:
            known.add(dict(settings.models), settings.models_place)
        _READ_MODELS.clear()
        _READ_MODELS[key] = known
    return known


def _repairable(findings: Iterable[Finding], rules: Mapping[str, Rule], inputs: Inputs) -> Iterator[Finding]:
    """The findings, with the fixes of those that their pages know a remedy for."""
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.span.path, []).append(finding)
    for path, found in by_path.items():
        source, notebook = inputs.source(path), inputs.notebooks.get(path)
        made = found
        if source is not None:
            cells = None if notebook is None else notebook.cell_of
            made = with_fixes(found, lambda finding: rules[finding.code].remedy(finding), source, cells)
        yield from (replace(finding, operands=()) for finding in made)


def _unsuppressed(findings: Iterable[Finding], inputs: Inputs) -> list[Finding]:
    """The findings that no comment silences. All are put to the comments, also those of rules that are not in force
    and heats that are not wanted: a comment is of use if it silences anything that another choice would show."""
    kept = []
    for finding in findings:
        suppressions = inputs.suppressions[finding.span.path]
        if not suppressions.match(finding.code, finding.span) and not suppressions.skip_file:
            kept.append(finding)
    return kept


def _silenced(
    judged: Iterable[Finding], findings: Iterable[Finding], settings: Settings, inputs: Inputs
) -> list[Finding]:
    """What is found and wanted, but the user chose not to be told: by a comment, or by the code."""
    told = {(finding.code, finding.span) for finding in findings}
    shown = (inputs.in_cells(finding) for finding in judged if wanted(settings, finding))
    return [finding for finding in shown if (finding.code, finding.span) not in told]


def _own_findings(pages: Mapping[str, Rule], in_force: frozenset[str], inputs: Inputs) -> Iterator[Finding]:
    """What is to be said of the comments themselves, after they were put to every finding."""
    for path, suppressions in inputs.suppressions.items():
        if suppressions.skip_file or path in inputs.beside:
            continue
        for complaint in suppressions.unused(in_force):
            yield _own_finding(pages[UNUSED], complaint, _unused_detail(complaint, suppressions))
        for complaint in suppressions.unknown(pages):
            yield _own_finding(pages[UNKNOWN], complaint, _code_at(complaint, suppressions))
        for complaint in suppressions.malformed:
            yield _own_finding(pages[MALFORMED], complaint, complaint.message)


def _unused_detail(complaint: Complaint, suppressions: Suppressions) -> str | None:
    """What an unused comment would silence; None for a heat comment, which silences nothing."""
    for directive in suppressions.directives:
        if directive.span == complaint.span:
            return "every rule" if directive.word is Word.IGNORE else None
    return _code_at(complaint, suppressions)


def _code_at(complaint: Complaint, suppressions: Suppressions) -> str:
    codes = (code for directive in suppressions.directives for code in directive.codes)
    return next(code.code for code in codes if code.span == complaint.span)


def _own_finding(rule: Rule, complaint: Complaint, detail: str | None) -> Finding:
    message = complaint.message if detail is None else rule.message.format(detail=detail)
    return Finding(complaint.span, rule.code, rule.name, rule.direction, message, Heat.COLD, Confidence.HIGH)

"""The static check: settings and paths in, a report out. Imports neither jax nor the code that it checks.

One bad file never hides the rest: what cannot be read or parsed becomes an error of the report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jaxlint.errors import SourceError
from jaxlint.findings import FileError, Report
from jaxlint.interp import program
from jaxlint.interp.models import Models, load_models
from jaxlint.interp.run import Analysis, analyse
from jaxlint.rulebook import Rule, judge, load_rules
from jaxlint.selection import anchored, common_root, enabled, file_ignores, matcher, wanted
from jaxlint.settings import Settings
from jaxlint.sites import Heat
from jaxlint.source.files import Discovery, SourceFile, discover, shown_path
from jaxlint.source.parse import parse
from jaxlint.source.positions import spans_of
from jaxlint.source.text import SourceText, decode_source, read_source


@dataclass(slots=True)
class Sources:
    """Reads the files of one check, and their lines once more for the report. `given` holds texts that are no files."""

    given: dict[str, bytes] = field(default_factory=dict)
    locations: dict[str, Path] = field(default_factory=dict)
    _lines: dict[str, Sequence[str]] = field(default_factory=dict)

    def read(self, path: str) -> SourceText:
        """The text of a file by the path under which it is shown."""
        data = self.given.get(path)
        return decode_source(data, path) if data is not None else read_source(self.locations[path], path)

    def lines(self, path: str, cell: int | None) -> Sequence[str]:
        """The lines of a file; none where it cannot be read any more."""
        if path not in self._lines:
            try:
                source = self.read(path)
                self._lines[path] = [source.line(number) for number in range(1, len(source.line_starts) + 1)]
            except (SourceError, KeyError):
                self._lines[path] = ()
        return self._lines[path]


def check_paths(
    settings: Settings,
    paths: Sequence[str],
    *,
    rules: Mapping[str, Rule] | None = None,
    sources: Sources | None = None,
) -> Report:
    """Checks files and folders."""
    return _check(settings, find_files(settings, paths), rules, sources or Sources())


def check_bytes(
    settings: Settings,
    data: bytes,
    path: str,
    *,
    rules: Mapping[str, Rule] | None = None,
    sources: Sources | None = None,
) -> Report:
    """Checks the bytes of one file under a name; nothing is read from there."""
    sources = sources or Sources()
    shown = shown_path(path, Path.cwd())
    sources.given[shown] = data
    found = Discovery((SourceFile(shown, Path(path).absolute()),), ())
    if settings.force_exclude and matcher(settings.exclude)(Path(path).absolute()):
        found = Discovery((), ())
    return _check(settings, found, rules, sources)


def check_text(
    text: str, *, path: str = "page.py", select: tuple[str, ...] | None = None, min_heat: Heat = Heat.COLD
) -> Report:
    """Checks one text by default settings but for those given: what tests and other tools call."""
    return check_bytes(Settings(select=select, min_heat=min_heat), text.encode(), path)


def find_files(settings: Settings, paths: Sequence[str]) -> Discovery:
    """The files that are to be checked. A path that does not exist is an error beside them."""
    missing = [FileError(path, "no such file or folder") for path in paths if not Path(path).exists()]
    root = common_root(settings.exclude)
    found = discover(
        [path for path in paths if Path(path).exists()],
        root=root,
        exclude=[anchored(pattern, root) for pattern in settings.exclude],
        force_exclude=settings.force_exclude,
        respect_gitignore=settings.respect_gitignore,
    )
    return Discovery(found.files, (*missing, *found.errors))


def _check(settings: Settings, found: Discovery, rules: Mapping[str, Rule] | None, sources: Sources) -> Report:
    pages = rules if rules is not None else {rule.code: rule for rule in load_rules()}
    models = _models(settings)
    sources.locations.update((file.path, file.location) for file in found.files)
    errors = list(found.errors)
    analysis = _analyse([file.path for file in found.files], sources, models, errors)
    in_force = enabled(settings, {code: rule.default for code, rule in pages.items()})
    ignores = file_ignores(settings.per_file_ignores)
    findings = [
        finding
        for finding in judge(pages.values(), analysis.sites)
        if finding.code in in_force
        and wanted(settings, finding)
        and not ignores(sources.locations[finding.span.path], finding.code)
    ]
    findings.sort(key=lambda finding: finding.order)
    errors.sort(key=lambda error: (error.path, error.cell or 0, error.line or 0, error.column or 0))
    given_up = tuple(FileError(g.path, f"{g.name} is too large to follow", g.line or None) for g in analysis.given_up)
    return Report(tuple(findings), tuple(errors), len(found.files), given_up)


def _models(settings: Settings) -> Models:
    models = load_models()
    if settings.models:
        models.add(dict(settings.models), settings.models_place)
    return models


def _analyse(paths: Sequence[str], sources: Sources, models: Models, errors: list[FileError]) -> Analysis:
    """The sites of all files that can be read; each of the others becomes an error."""
    texts: dict[int, str] = {}

    def load(path: str) -> program.SourceFile | None:
        try:
            source = sources.read(path)
            tree = parse(source)
        except SourceError as error:
            errors.append(FileError(error.path, error.message, error.line, error.column))
            return None
        texts[id(tree)] = source.text
        return program.SourceFile(path, tree)

    return analyse(
        paths,
        paths,
        load,
        models,
        lambda tree, nodes: {id(node): place for node, place in spans_of(tree, nodes, texts[id(tree)]).items()},
    )

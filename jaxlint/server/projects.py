"""The documents of an editor, checked as `jaxlint check FILE` checks them, from texts that need not be saved.

Keeps what the next check can use again: syntax trees and the list of a project's files. Knows no protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from jaxlint import settings as choices
from jaxlint.check import check_file, project_files
from jaxlint.errors import UserError
from jaxlint.findings import Report
from jaxlint.inputs import Inputs
from jaxlint.projects import project_folder
from jaxlint.rulebook import Rule, load_rules, names_of
from jaxlint.settings import Flags, Settings
from jaxlint.source.files import SourceFile, shown_path
from jaxlint.source.parse import parse
from jaxlint.source.text import SourceText

# Of a document and what it imports only the document is new with each key. A tree takes ten to fifty times its text.
KEPT_TREES = 64


@dataclass(frozen=True, slots=True)
class Checked:
    """A document's text and what was found in it; `sources` has the other files that notes name, with the places where
    they lie. `complaint` is what is wrong with the configuration: then nothing was checked."""

    source: SourceText
    report: Report
    sources: Mapping[str, tuple[Path, SourceText]]
    complaint: str = ""


class Projects:
    """Everything that one server knows of files."""

    def __init__(self) -> None:
        self.rules: Mapping[str, Rule] = {rule.code: rule for rule in load_rules()}
        self._parse = lru_cache(KEPT_TREES)(parse)
        self._files: dict[str, tuple[SourceFile, ...]] = {}

    def files_changed(self) -> None:
        """Files have come or gone: projects are looked through once more."""
        self._files = {}

    def check(self, location: Path, texts: Mapping[Path, str]) -> Checked:
        """Checks a document by its text; `texts` are those of all that are open, by absolute path without links."""
        return self._check(location, texts[location], {}, texts)

    def check_notebook(self, location: Path, data: bytes, texts: Mapping[Path, str]) -> Checked:
        """Checks a notebook by the bytes of its file, among the documents that are open."""
        return self._check(location, "", {location: data}, texts)

    def _check(self, location: Path, text: str, given: Mapping[Path, bytes], texts: Mapping[Path, str]) -> Checked:
        root = project_folder(location)
        file = SourceFile(shown_path(location, root), location)
        source = SourceText(file.path, text)
        shown = {shown_path(path, root): known for path, known in texts.items()}
        inputs = Inputs({shown_path(path, root): data for path, data in given.items()}, texts=shown, parse=self._parse)
        try:
            settings = replace(
                choices.resolve(Flags(), names_of(self.rules.values()), location.parent), force_exclude=True
            )
            report = check_file(settings, file, inputs, rules=self.rules, beside=self._project(settings, root))
        except UserError as error:
            return Checked(source, Report(()), {}, str(error))
        return Checked(source, report, dict(_sources(report, file.path, inputs)))

    def _project(self, settings: Settings, root: Path) -> tuple[SourceFile, ...]:
        key = repr((root, settings.exclude, settings.respect_gitignore))
        if key not in self._files:
            self._files[key] = project_files(settings, root, cwd=root).files
        return self._files[key]


def _sources(report: Report, own: str, inputs: Inputs) -> Mapping[str, tuple[Path, SourceText]]:
    """The files that a report's notes name, but for the document itself."""
    named = {note.path for finding in report.findings for note in finding.notes} - {own}
    found = {}
    for path in sorted(named):
        lines = inputs.lines(path, None)
        if lines:
            found[path] = (inputs.beside[path].location, SourceText(path, "\n".join(lines)))
    return found

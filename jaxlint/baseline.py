"""Baselines: findings that are known, by what they are about and not by where they stand.

A finding is known by its code, its file, the function that it is in and the text of its place: what is written above it
changes nothing. Where several are alike, as many are known as were counted.
"""

import ast
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from jaxlint import __version__
from jaxlint.errors import UserError
from jaxlint.findings import Finding
from jaxlint.fixes.syntax import Syntax, read
from jaxlint.inputs import Inputs
from jaxlint.sites import Span
from jaxlint.source.text import SourceText

VERSION = 1


@dataclass(frozen=True, slots=True, order=True)
class Known:
    """What a finding is about. `path` counts from the baseline's folder; `function` is dotted, empty outside of any;
    `text` is that of the place, with single spaces."""

    path: str
    function: str
    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The findings that are not known, and what is known but was not found any more, each with how many."""

    new: tuple[Finding, ...] = ()
    gone: tuple[tuple[Known, int], ...] = ()


def compare(findings: Iterable[Finding], inputs: Inputs, file: Path, in_force: Collection[str]) -> Compared:
    """The findings against the baseline in a file. Gone is only what this check would have reported: of the rules in
    force, in the files that were checked or are no more."""
    known = _load(file)
    left = Counter(known)
    new = []
    for finding, about in described(findings, inputs, file):
        if left[about] > 0:
            left[about] -= 1
        else:
            new.append(finding)
    checked = {_from(file, source.location) for source in inputs.files.values()}
    gone = [
        (about, count)
        for about, count in sorted(left.items())
        if count and about.code in in_force and (about.path in checked or not (file.parent / about.path).exists())
    ]
    return Compared(tuple(new), tuple(gone))


def render(findings: Iterable[Finding], inputs: Inputs, file: Path) -> str:
    """The baseline of these findings, as the text of a file."""
    counted = Counter(about for _, about in described(findings, inputs, file))
    entries = [
        {"code": about.code, "path": about.path, "function": about.function, "text": about.text, "count": count}
        for about, count in sorted(counted.items())
    ]
    document = {"version": VERSION, "jaxlint": __version__, "findings": entries}
    return json.dumps(document, indent=1) + "\n"


def described(findings: Iterable[Finding], inputs: Inputs, file: Path) -> Iterator[tuple[Finding, Known]]:
    """Each finding with what it is about."""
    syntaxes: dict[str, Syntax | None] = {}
    for finding in findings:
        path = finding.span.path
        source = inputs.source(path)
        if path not in syntaxes:
            syntaxes[path] = read(source) if source is not None else None
        span = inputs.in_program(finding.span)
        location = _from(file, inputs.files[path].location)
        text = "" if source is None else _text(source, span)
        yield finding, Known(location, _function(syntaxes[path], span), finding.code, text)


def _from(file: Path, location: Path) -> str:
    """A checked file's path from the baseline's folder, with forward slashes."""
    try:
        relative = os.path.relpath(location.absolute(), file.absolute().parent)
    except ValueError:  # another drive of Windows
        relative = str(location.absolute())
    return relative.replace(os.sep, "/").encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _text(source: SourceText, span: Span) -> str:
    start, end = source.offset(span.line, span.column), source.offset(span.end_line, span.end_column)
    return " ".join(source.text[start:end].split())


def _function(syntax: Syntax | None, span: Span) -> str:
    """The dotted name of the innermost function or class round a place."""
    names: list[str] = []
    scope: ast.AST | None = None if syntax is None else syntax.tree
    while scope is not None:
        inner = None
        for node in _definitions(scope):
            if node.lineno <= span.line <= (node.end_lineno or 0):
                inner = node
        if inner is not None:
            names.append(inner.name)
        scope = inner
    return ".".join(names)


def _definitions(scope: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    todo = [*ast.iter_child_nodes(scope)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        else:
            todo += ast.iter_child_nodes(node)


def look_at(file: Path) -> None:
    """Refuses to let a baseline take the place of what is none: a UserError."""
    if file.is_file() and file.stat().st_size:
        _load(file)


def _load(file: Path) -> Counter[Known]:
    wrong = f"{file}: not a baseline of jaxlint: remove it and write one by --write-baseline"
    try:
        document = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UserError(f"{file}: cannot read the baseline: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise UserError(wrong) from None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise UserError(wrong)
    counted: Counter[Known] = Counter()
    try:
        for entry in document["findings"]:
            words = [entry[key] for key in ("path", "function", "code", "text")]
            if not all(isinstance(word, str) for word in words) or not isinstance(entry["count"], int):
                raise UserError(wrong)
            counted[Known(*words)] += entry["count"]
    except (KeyError, TypeError):
        raise UserError(wrong) from None
    return counted

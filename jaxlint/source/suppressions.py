"""What a file's comments tell jaxlint: findings to suppress, files to skip, lines that are hot or cold.

    # jaxlint: ignore[JT101, JT104] reason      # jaxlint: ignore       # noqa: JT101       # noqa
    # jaxlint: skip-file                        # jaxlint: hot          # jaxlint: cold

A jaxlint comment on a line of its own is about the next line of code. Reads comments, never strings that look like
them. Keeps which comments were of use; makes no findings.
"""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from jaxlint.sites import Heat, Span
from jaxlint.source.lexer import Mark, marks
from jaxlint.source.text import SourceText


class Word(StrEnum):
    """What a directive says."""

    IGNORE = "ignore"
    SKIP_FILE = "skip-file"
    HOT = "hot"
    COLD = "cold"
    NOQA = "noqa"


@dataclass(frozen=True, slots=True)
class Code:
    """A rule's code in a directive, and where it stands."""

    code: str
    span: Span


@dataclass(frozen=True, slots=True)
class Directive:
    """A comment's word to jaxlint. No `codes` means all codes; `lines` are those that it is about."""

    word: Word
    span: Span
    lines: tuple[int, ...]
    codes: tuple[Code, ...] = ()


@dataclass(frozen=True, slots=True)
class Complaint:
    """A directive, or a code in it, that does not do what its author meant, and why."""

    span: Span
    message: str


_HINTS = ("jaxlint", "Jaxlint", "JaxLint", "JAXLINT", "noqa", "NoQA", "NOQA")
_DIRECTIVE = re.compile(
    r"\#\s*(?: jaxlint\b (?P<colon>\s*:)? \s* (?P<word>[A-Za-z][A-Za-z_-]*)? | (?P<noqa>noqa)\b (?P<of>\s*:)? )",
    re.VERBOSE | re.IGNORECASE,
)
_BRACKETS = re.compile(r"\s*\[([^\]#]*)(\])?")
_ITEM = re.compile(r"[^\s,]+")
_CODE = re.compile(r"[A-Za-z]+[0-9]+")
_BARE_CODE = re.compile(r"[\s:=(]*[A-Za-z]{1,4}[0-9]{2,}\b")
_NOQA_CODES = re.compile(r"\s*(?:[A-Za-z]+[0-9]+\b[,\s]*)+")
_OWN_CODE = re.compile(r"JT[0-9]+", re.IGNORECASE)
_BLANK_LINES = re.compile(r"(?:[ \t\f]*(?:\#[^\r\n]*)?(?:\r\n?|\n))*")
_DECORATED = re.compile(r"[ \t\f]*@")
_DEFINITION = re.compile(r"^[ \t\f]*(?:async[ \t]+def|def|class)\b", re.MULTILINE)
_HEATS = {Word.HOT: Heat.HOT, Word.COLD: Heat.COLD}
_OWN_WORDS = tuple(word.value for word in Word if word is not Word.NOQA)
_OTHER_TOOLS_WORDS = {
    "disable": Word.IGNORE,
    "noqa": Word.IGNORE,
    "ignore-file": Word.SKIP_FILE,
    "skip": Word.SKIP_FILE,
}


class Suppressions:
    """A file's directives, and which of them were of use so far."""

    def __init__(
        self,
        directives: tuple[Directive, ...] = (),
        malformed: tuple[Complaint, ...] = (),
        statements: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        """`statements` has the first and the last line of each statement of several lines that holds a directive."""
        self.directives = directives
        self.malformed = malformed
        self._statements = statements or {}
        self._of_line: dict[int, list[Directive]] = {}
        for directive in directives:
            for line in directive.lines:
                self._of_line.setdefault(line, []).append(directive)
        self._used: set[tuple[Directive, str]] = set()

    @property
    def skip_file(self) -> bool:
        """True if the file asks not to be checked."""
        return any(directive.word is Word.SKIP_FILE for directive in self.directives)

    @property
    def marks(self) -> dict[int, Heat]:
        """The heat that is marked on lines: the first of a loop or function, and the one that holds the comment."""
        marked = [directive for directive in self.directives if directive.word in _HEATS]
        return {line: _HEATS[directive.word] for directive in marked for line in directive.lines}

    def match(self, code: str, span: Span, statement: Span | None = None) -> bool:
        """True if a finding is suppressed: by a comment on its first or last line, or on those of its statement.

        The statement (of a compound one the header) is known from the text; `statement` widens it.
        """
        lines = [span.line, span.end_line, *self._statements.get(span.line, ())]
        if statement is not None:
            lines += [statement.line, statement.end_line]
        suppressed = False
        for directive in (directive for line in lines for directive in self._of_line.get(line, ())):
            if directive.word in (Word.IGNORE, Word.NOQA):
                named = {named.code for named in directive.codes}
                if code in named or not named:
                    self._used.add((directive, code if named else ""))
                    suppressed = True
        return suppressed

    def heat(self, line: int) -> Heat | None:
        """The heat that is marked on a loop or function whose first line this is."""
        marked = None
        for directive in self._of_line.get(line, ()):
            if directive.word in _HEATS:
                self._used.add((directive, ""))
                marked = _HEATS[directive.word]
        return marked

    def unused(self, judged: Collection[str]) -> Iterator[Complaint]:
        """The directives that were of no use, given the codes that were looked for. Never a bare ``noqa``."""
        for directive in self.directives:
            if directive.word in _HEATS:
                if (directive, "") not in self._used:
                    yield Complaint(directive.span, f'"{directive.word}" marks no loop and no function')
            elif directive.word is Word.IGNORE and not directive.codes:
                if (directive, "") not in self._used:
                    yield Complaint(directive.span, "unused suppression")
            else:
                for named in directive.codes:
                    if named.code in judged and (directive, named.code) not in self._used:
                        yield Complaint(named.span, f"unused suppression of {named.code}")

    def unknown(self, known: Collection[str]) -> Iterator[Complaint]:
        """The codes in directives that no rule has."""
        for directive in self.directives:
            for named in directive.codes:
                if named.code not in known:
                    yield Complaint(named.span, f'unknown code "{named.code}"')


def read_suppressions(source: SourceText) -> Suppressions:
    """The directives in a file's comments. Works on any text, also one that does not parse."""
    text = source.text
    if not any(hint in text for hint in _HINTS):
        return Suppressions()
    directives: list[Directive] = []
    malformed: list[Complaint] = []
    statements: dict[int, tuple[int, int]] = {}
    comments: list[tuple[int, int]] = []
    begin = 0
    for kind, start, end in chain(marks(text), [(Mark.NEWLINE, len(text), len(text))]):
        if kind == Mark.COMMENT:
            comments.append((start, end))
        if kind != Mark.NEWLINE:
            continue
        before = len(directives)
        for comment in comments:
            for found in _read_comment(source, *comment, begin):
                if isinstance(found, Directive):
                    directives.append(found)
                else:
                    malformed.append(found)
        if len(directives) > before:
            first, last = source.place(begin)[0], source.place(start)[0]
            statements.update((line, (first, last)) for line in range(first, last + 1) if last > first)
        comments.clear()
        begin = end
    return Suppressions(tuple(directives), tuple(malformed), statements)


def _read_comment(source: SourceText, start: int, end: int, statement: int) -> Iterator[Directive | Complaint]:
    """The directives in a comment, in the statement that begins at the offset `statement`."""
    line, column = source.place(start)
    lines, head = [line], statement
    if not source.line(line)[: column - 1].strip():
        # Alone on its line, it is about the code that follows.
        head = _next_code(source.text, end)
        lines.append(source.place(head)[0])
    for match in _DIRECTIVE.finditer(source.text, start, end):
        following = source.text.find("#", match.end(), end)
        stop = end if following < 0 else following
        if match["noqa"]:
            yield from _read_noqa(source, match, stop, (line,))
        else:
            yield from _read_own(source, match, stop, lines, head)


def _next_code(text: str, offset: int) -> int:
    """The offset of the line of the first code behind a comment that ends at `offset`, or of the text's end."""
    blank = _BLANK_LINES.match(text, offset)
    return blank.end() if blank else offset


def _marked_lines(source: SourceText, head: int) -> Iterator[int]:
    """The first line of the loop or function whose header, or whose first decorator, begins at an offset."""
    yield source.place(head)[0]
    definition = _DECORATED.match(source.text, head) and _DEFINITION.search(source.text, head)
    if definition:
        yield source.place(definition.start())[0]


def _read_noqa(source: SourceText, match: re.Match[str], stop: int, lines: tuple[int, ...]) -> Iterator[Directive]:
    if not match["of"]:
        yield Directive(Word.NOQA, _span(source, match.start(), match.end()), lines)
        return
    listed = _NOQA_CODES.match(source.text, match.end(), stop)
    if listed is None:
        return
    end = match.end() + len(listed.group().rstrip(", \t"))
    codes = tuple(
        Code(item.group().upper(), _span(source, item.start(), item.end()))
        for item in _ITEM.finditer(source.text, match.end(), end)
        if _OWN_CODE.fullmatch(item.group())
    )
    # Codes of other linters are theirs; a list of them alone is not addressed to jaxlint.
    if codes:
        yield Directive(Word.NOQA, _span(source, match.start(), end), lines, codes)


def _read_own(
    source: SourceText, match: re.Match[str], stop: int, lines: list[int], head: int
) -> Iterator[Directive | Complaint]:
    text = source.text
    span = _span(source, match.start(), match.end())
    written = match["word"] or ""
    word = written.lower()
    if not match["colon"]:
        if word in _OWN_WORDS and text[match.end() : stop].strip()[:1] in ("", "["):
            yield Complaint(span, f'a colon is missing: "# jaxlint: {word}"')
        return
    if not word:
        yield Complaint(span, f"a directive is missing, one of {', '.join(_OWN_WORDS)}")
        return
    if word not in _OWN_WORDS:
        near = _OTHER_TOOLS_WORDS.get(word) or next(iter(difflib.get_close_matches(word, _OWN_WORDS, 1)), None)
        hint = f'did you mean "{near}"?' if near else f"it is one of {', '.join(_OWN_WORDS)}"
        yield Complaint(span, f'unknown directive "{written}"; {hint}')
        return
    if word == Word.IGNORE:
        yield from _read_ignore(source, match, stop, tuple(lines))
    else:
        yield Directive(Word(word), span, (lines[0], *_marked_lines(source, head)))


def _read_ignore(
    source: SourceText, match: re.Match[str], stop: int, lines: tuple[int, ...]
) -> Iterator[Directive | Complaint]:
    brackets = _BRACKETS.match(source.text, match.end(), stop)
    if brackets is None:
        bare = _BARE_CODE.match(source.text, match.end(), stop)
        if bare:
            span = _span(source, match.start(), bare.end())
            yield Complaint(span, 'codes belong in brackets: "ignore[JT101]"')
        else:
            yield Directive(Word.IGNORE, _span(source, match.start(), match.end()), lines)
        return
    span = _span(source, match.start(), brackets.end())
    items = list(_ITEM.finditer(source.text, *brackets.span(1)))
    if not brackets[2]:
        yield Complaint(span, 'the bracket of "ignore[" is not closed')
        return
    if not items:
        yield Complaint(span, '"ignore[]" names no code')
    codes: list[Code] = []
    for item in items:
        place = _span(source, item.start(), item.end())
        if _CODE.fullmatch(item.group()):
            codes.append(Code(item.group().upper(), place))
        else:
            yield Complaint(place, f'"{item.group()}" is not a code')
    if codes:
        yield Directive(Word.IGNORE, span, lines, tuple(codes))


def _span(source: SourceText, start: int, end: int) -> Span:
    return Span(source.path, *source.place(start), *source.place(end))

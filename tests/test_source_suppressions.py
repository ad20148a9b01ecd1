"""Comments to jaxlint: which findings they suppress, which are of no use, which are wrong."""

import pytest

from jaxlint.sites import Heat, Span
from jaxlint.source.suppressions import Suppressions, Word, read_suppressions
from jaxlint.source.text import SourceText

KNOWN = ("JT101", "JT102", "JT201")


def read(text: str) -> Suppressions:
    return read_suppressions(SourceText("a.py", text))


def at(line: int, end_line: int | None = None) -> Span:
    return Span("a.py", line, 1, end_line or line, 2)


def complaints(text: str) -> list[str]:
    return [f"{c.span.line}:{c.span.column}-{c.span.end_column} {c.message}" for c in read(text).malformed]


def unknown(text: str) -> list[str]:
    return [f"{c.span.line}:{c.span.column}-{c.span.end_column} {c.message}" for c in read(text).unknown(KNOWN)]


def unused(suppressions: Suppressions) -> list[str]:
    found = suppressions.unused(KNOWN)
    return [f"{c.span.line}:{c.span.column}-{c.span.end_column} {c.message}" for c in found]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1  # a comment\n",
        "x = '# jaxlint: ignore'\n",
        "'''\n# jaxlint: skip-file\n'''\n",
        "f'{x}# noqa'\n",
        "x  # see jaxlint: ignore\n",
        "x  # the noqa comment\n",
        "x  # noqa: E501\n",
        "x  # noqa: E501, F401 and more\n",
        "x  # noqa: because\n",
        "x  # jaxlint is a linter\n",
        "x  # jaxlint.org\n",
        "x  # jaxlinter: ignore\n",
        "x  # flake8: noqa\n",
    ],
)
def test_text_without_directives(text: str) -> None:
    suppressions = read(text)
    assert not suppressions.directives
    assert not suppressions.malformed
    assert not suppressions.skip_file
    assert not suppressions.match("JT101", at(1))
    assert unused(suppressions) == []


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("# jaxlint: ignore", ""),
        ("#jaxlint:ignore", ""),
        ("# jaxlint: ignore because it is rare", ""),
        ("# jaxlint: ignore - once a day", ""),
        ("# jaxlint: ignore[JT101]", "JT101"),
        ("# jaxlint: ignore[JT101] reason", "JT101"),
        ("# jaxlint: ignore[JT102, JT101] reason", "JT102 JT101"),
        ("# jaxlint: ignore [ jt101,JT102, ]", "JT101 JT102"),
        ("# JaxLint: Ignore[JT101]", "JT101"),
        ("# type: ignore  # jaxlint: ignore[JT101]", "JT101"),
        ("# jaxlint: ignore[JT101]  # noqa: E501", "JT101"),
        ("# noqa", ""),
        ("# NOQA", ""),
        ("# noqa because", ""),
        ("# noqa: JT101", "JT101"),
        ("# noqa:JT101,JT102", "JT101 JT102"),
        ("# noqa: E501, JT101 F401 some words", "JT101"),
        ("# noqa : jt101", "JT101"),
        ("# fmt: skip # noqa: JT101", "JT101"),
    ],
)
def test_a_comment_suppresses_its_codes_on_its_line(comment: str, codes: str) -> None:
    suppressions = read(f"x\nprint(y)  {comment}\nz\n")
    assert not suppressions.malformed
    assert [" ".join(named.code for named in d.codes) for d in suppressions.directives] == [codes]
    assert suppressions.match("JT101", at(2))
    assert not suppressions.match("JT101", at(1))
    assert not suppressions.match("JT101", at(3))
    assert suppressions.match("JT201", at(2)) is (not codes)


STATEMENT = """\
first = f(  # 1
    a,  # 2
    g(  # 3
        b,  # 4
    ),  # 5
    c,  # 6
)  # 7
other = 1  # 8
"""


@pytest.mark.parametrize(("marked", "suppressed"), [(1, 1), (2, 0), (3, 1), (4, 0), (5, 1), (6, 0), (7, 1), (8, 0)])
def test_a_finding_is_suppressed_on_its_lines_and_at_the_ends_of_its_statement(marked: int, suppressed: int) -> None:
    text = STATEMENT.replace(f"# {marked}\n", "# jaxlint: ignore[JT101]\n")
    assert read(text).match("JT101", at(3, 5)) is bool(suppressed)


def test_the_header_of_a_compound_statement_is_the_statement() -> None:
    text = "if (\n  a\n  and b\n):  # jaxlint: ignore\n    c\n    d  # noqa\n"
    suppressions = read(text)
    assert suppressions.match("JT101", at(2))
    assert not suppressions.match("JT101", at(5))
    assert suppressions.match("JT101", at(6))


def test_a_statement_may_be_named_by_the_caller() -> None:
    suppressions = read("with a:\n  b\n  c  # jaxlint: ignore[JT101]\n")
    assert not suppressions.match("JT101", at(2))
    assert suppressions.match("JT101", at(2), at(1, 3))


@pytest.mark.parametrize("between", ["", "\n", "# another comment\n\n  # and one\n"])
def test_a_comment_on_its_own_line_is_about_the_next_code(between: str) -> None:
    text = f"if x:\n    # jaxlint: ignore[JT101] reason\n{between}    print(y)\n    print(y)\n"
    line = 3 + between.count("\n")
    suppressions = read(text)
    assert suppressions.match("JT101", at(line))
    assert not suppressions.match("JT101", at(line + 1))
    assert not suppressions.match("JT101", at(1))


def test_a_comment_on_its_own_line_within_a_statement() -> None:
    suppressions = read("f(\n    # jaxlint: ignore[JT101]\n    float(x),\n    float(y),\n)\n")
    assert suppressions.match("JT101", at(3))
    assert not suppressions.match("JT101", at(4))


def test_noqa_on_its_own_line_is_about_nothing() -> None:
    assert not read("# noqa: JT101\nprint(x)\n").match("JT101", at(2))


def test_a_comment_at_the_very_end_is_about_nothing() -> None:
    suppressions = read("x\n# jaxlint: ignore[JT101]")
    assert not suppressions.match("JT101", at(1))
    assert unused(suppressions) == ["2:19-24 unused suppression of JT101"]


@pytest.mark.parametrize(
    "text", ["x = (\ny  # jaxlint: ignore\n", "x = 'a\ny  # jaxlint: ignore\n", "def (:\ny  # noqa\n"]
)
def test_comments_of_text_that_does_not_parse_are_read(text: str) -> None:
    assert read(text).match("JT101", at(2))


def test_comments_before_an_unclosed_string_are_read() -> None:
    suppressions = read("x  # jaxlint: ignore\n'''\ny  # jaxlint: ignore\n")
    assert [directive.span.line for directive in suppressions.directives] == [1]


def test_skip_file() -> None:
    assert read("import a\n\n# jaxlint: skip-file, generated\n").skip_file
    assert unused(read("# jaxlint: skip-file\n")) == []


def test_what_was_of_no_use() -> None:
    suppressions = read(
        "a  # jaxlint: ignore[JT101, JT102]\n"
        "b  # jaxlint: ignore\n"
        "c  # jaxlint: ignore\n"
        "d  # noqa: JT101, E501\n"
        "e  # noqa\n"
        "f  # jaxlint: ignore[JT999]\n"
    )
    assert suppressions.match("JT102", at(1))
    assert suppressions.match("JT101", at(3))
    assert unused(suppressions) == [
        "1:22-27 unused suppression of JT101",
        "2:4-21 unused suppression",
        "4:12-17 unused suppression of JT101",
    ]
    assert list(suppressions.unused(())) == [c for c in suppressions.unused(KNOWN) if c.message == "unused suppression"]


def test_two_comments_that_suppress_the_same_are_both_of_use() -> None:
    suppressions = read("f(  # jaxlint: ignore[JT101]\n  a)  # jaxlint: ignore\n")
    assert suppressions.match("JT101", at(1, 2))
    assert unused(suppressions) == []


def test_unknown_codes() -> None:
    text = "a  # jaxlint: ignore[JT101, JT1, E501]\nb  # noqa: JT999, E501\n"
    assert unknown(text) == [
        '1:29-32 unknown code "JT1"',
        '1:34-38 unknown code "E501"',
        '2:12-17 unknown code "JT999"',
    ]


@pytest.mark.parametrize(
    ("comment", "complaint"),
    [
        ("# jaxlint: ingore[JT101]", '1:1-18 unknown directive "ingore"; did you mean "ignore"?'),
        ("# jaxlint: skip_file", '1:1-21 unknown directive "skip_file"; did you mean "skip-file"?'),
        ("# jaxlint: skipfile", '1:1-20 unknown directive "skipfile"; did you mean "skip-file"?'),
        ("# jaxlint: disable=JT101", '1:1-19 unknown directive "disable"; did you mean "ignore"?'),
        ("# jaxlint: noqa", '1:1-16 unknown directive "noqa"; did you mean "ignore"?'),
        ("# jaxlint: ignore-file", '1:1-23 unknown directive "ignore-file"; did you mean "skip-file"?'),
        ("# jaxlint: Whatever", '1:1-20 unknown directive "Whatever"; it is one of ignore, skip-file, hot, cold'),
        ("# jaxlint:", "1:1-11 a directive is missing, one of ignore, skip-file, hot, cold"),
        ("# jaxlint: [JT101]", "1:1-12 a directive is missing, one of ignore, skip-file, hot, cold"),
        ("# jaxlint ignore[JT101]", '1:1-17 a colon is missing: "# jaxlint: ignore"'),
        ("# jaxlint hot", '1:1-14 a colon is missing: "# jaxlint: hot"'),
        ("# jaxlint: ignore[JT101", '1:1-24 the bracket of "ignore[" is not closed'),
        ("# jaxlint: ignore[]", '1:1-20 "ignore[]" names no code'),
        ("# jaxlint: ignore[ , ]", '1:1-23 "ignore[]" names no code'),
        ("# jaxlint: ignore JT101", '1:1-24 codes belong in brackets: "ignore[JT101]"'),
        ("# jaxlint: ignore: JT101", '1:1-25 codes belong in brackets: "ignore[JT101]"'),
        ("# jaxlint: ignore[print]", '1:19-24 "print" is not a code'),
    ],
)
def test_a_directive_that_does_not_do_what_its_author_meant(comment: str, complaint: str) -> None:
    assert complaints(comment) == [complaint]
    assert not read(f"x  {comment}").match("JT101", at(1))


def test_a_wrong_code_does_not_hide_the_right_ones() -> None:
    text = "x  # jaxlint: ignore[print, JT101]"
    assert complaints(text) == ['1:22-27 "print" is not a code']
    assert read(text).match("JT101", at(1))
    assert not read(text).match("JT102", at(1))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("for x in y:  # jaxlint: hot\n  pass\n", {1: Heat.HOT}),
        ("while x:  # jaxlint: cold, it ends at once\n  pass\n", {1: Heat.COLD}),
        ("def f(\n  a,\n):  # jaxlint: hot\n  pass\n", {1: Heat.HOT, 3: Heat.HOT}),
        ("# jaxlint: hot\ndef f(): ...\n", {1: Heat.HOT, 2: Heat.HOT}),
        ("@jit  # jaxlint: hot\n@other(\n)\ndef f(): ...\n", {1: Heat.HOT, 4: Heat.HOT}),
        ("# jaxlint: cold\n@jit\nasync def f(): ...\n", {1: Heat.COLD, 2: Heat.COLD, 3: Heat.COLD}),
        ("x = 1\n", {}),
    ],
)
def test_marked_lines(text: str, lines: dict[int, Heat]) -> None:
    assert read(text).marks == lines


def test_a_mark_that_marks_nothing_is_of_no_use() -> None:
    suppressions = read("for x in y:  # jaxlint: hot\n  z  # jaxlint: cold\n")
    assert suppressions.heat(1) is Heat.HOT
    assert suppressions.heat(3) is None
    assert unused(suppressions) == ['2:6-21 "cold" marks no loop and no function']
    assert not suppressions.match("JT101", at(1))


def test_the_span_of_a_directive_is_the_comment_it_needs() -> None:
    (directive,) = read("é = 1  # a # jaxlint: ignore[JT101] because # more\n").directives
    assert directive.word is Word.IGNORE
    assert directive.span == Span("a.py", 1, 12, 1, 36)
    assert directive.codes[0].span == Span("a.py", 1, 30, 1, 35)

"""The formats for people: `text`, `concise` and the statistics, word for word."""

from dataclasses import replace

from jaxlint.findings import Report
from jaxlint.report import concise, statistics, text
from jaxlint.report.context import escape, place
from report_sample import CONTEXT, EMPTY, PLAIN, RICH, SCALAR


def test_nothing_found_is_nothing_printed() -> None:
    assert text.render(EMPTY, CONTEXT) == ""
    assert concise.render(EMPTY, CONTEXT) == ""
    assert statistics.render(EMPTY, "text") == ""
    assert statistics.render(EMPTY, "json") == "[]\n"


def test_text_shows_headline_source_caret_and_provenance() -> None:
    assert text.render(PLAIN, CONTEXT) == (
        "src/train.py:4:14: JT104 float() fetches loss and waits for the device [hot]\n"
        "  |\n"
        "4 |     total += float(loss)\n"
        "  |              ^^^^^^^^^^^\n"
        "  = src/train.py:1:1: step is compiled by jax.jit\n"
        "  = src/train.py:3:5: loss comes from step\n"
    )


def test_text_without_the_source_still_shows_the_finding() -> None:
    shown = text.render(Report((replace(SCALAR, notes=()),)), replace(CONTEXT, lines=lambda path, cell: ()))
    assert shown == "src/train.py:4:14: JT104 float() fetches loss and waits for the device [hot]\n"


def test_text_of_everything() -> None:
    blocks = text.render(RICH, CONTEXT).split("\n\n")
    assert blocks[0] == "book.ipynb:cell 3:1:7: JT101 m [cold]\n  |\n1 | print(z)\n  |       ^"
    # The two wide characters take two columns each; the escape code is shown, not obeyed.
    assert blocks[1] == (
        "odd, 100%:\\x1b[1m.py:1:11: JT104 float() of \\x1b[2J'名前', 100% <&> [periodic, confirmed]\n"
        "  |\n"
        "1 | x = '名前', float(loss)  # \\x1b[31m\n"
        "  |             ^^^^^^^^^^^\n"
        "  = confirmed (by the guard, backend virtual; 20 transfers in 20 judged runs, 80 bytes): "
        "Disallowed device-to-host transfer\n"
        "  = fix (unsafe): move it out of the loop"
    )
    # A tab is four columns; tracer errors have no heat.
    assert blocks[2].splitlines() == [
        "odd, 100%:\\x1b[1m.py:2:5: JT401 if of a tracer",
        "  |",
        "2 |     if err < tol:",
        "  |        ^^^^^^^^^",
    ]
    # A long line is cut round the place.
    source, caret = blocks[3].splitlines()[2:]
    assert source == "3 | …" + "a" * 39 + " float(y)"
    assert caret == "  |  " + " " * 40 + "^" * 8
    # A span of several lines is marked to the end of its first.
    assert blocks[5].splitlines()[3] == "  |           " + "^" * 10


def test_colour_only_adds_escape_codes() -> None:
    coloured = replace(CONTEXT, color=True)
    for render in (text.render, concise.render):
        shown = render(PLAIN, coloured)
        assert "\x1b[1;31mJT104\x1b[0m" in shown
        for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;31m"):
            shown = shown.replace(code, "")
        assert shown == render(PLAIN, CONTEXT)


def test_concise_is_one_line_a_finding() -> None:
    assert concise.render(RICH, CONTEXT).splitlines() == [
        "book.ipynb:cell 3:1:7: JT101 m [cold]",
        "odd, 100%:\\x1b[1m.py:1:11: JT104 float() of \\x1b[2J'名前', 100% <&> [periodic, confirmed]",
        "odd, 100%:\\x1b[1m.py:2:5: JT401 if of a tracer",
        "odd, 100%:\\x1b[1m.py:3:302: JT501 no such level",
        "src/train.py:4:14: JT104 float() fetches loss and waits for the device [hot]",
        "src/train.py:5:11: JT102 m [hot]",
    ]


def test_statistics_count_by_rule_most_frequent_first() -> None:
    assert statistics.render(RICH, "text").splitlines() == [
        "2  JT104  scalar-conversion",
        "1  JT101  print",
        "1  JT102  formatting",
        "1  JT401  tracer",
        "1  JT501  level",
    ]
    assert statistics.render(PLAIN, "json") == (
        '[\n {\n  "code": "JT104",\n  "name": "scalar-conversion",\n  "count": 1\n }\n]\n'
    )


def test_escape_leaves_no_control_or_direction_character() -> None:
    assert escape("plain 名前 é \t") == "plain 名前 é \t"
    assert escape("\x1b]0;t\x07\r\n\x9b") == "\\x1b]0;t\\x07\\x0d\\x0a\\x9b"
    assert escape("a\u202eb\u2066\u2028\udc80") == "a\\u202eb\\u2066\\u2028\\udc80"


def test_place() -> None:
    assert place("a.py", None, None) == "a.py"
    assert place("a.py", 3, None) == "a.py:3:1"
    assert place("a.ipynb", 3, 4, 2) == "a.ipynb:cell 2:3:4"

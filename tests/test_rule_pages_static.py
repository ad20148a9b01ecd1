"""The laws of the rule pages, statically: a check of a Bad program reports exactly the marked lines, and a check of a
Good one nothing. The same programs are executed under the real guard by `test_rule_pages`."""

import pytest

from jaxlint.check import check_text
from jaxlint.findings import Finding
from jaxlint.rulebook import Rule, load_rules

RULES = {rule.code: rule for rule in load_rules()}
# The Good programs of these families transfer nothing, so no other rule has anything to say of them either. Those of
# the guard's misuse (5) fetch in order to be refused.
CONVERSIONS = {"JT104", "JT106", "JT108", "JT191"}
QUIET = [rule.code for rule in RULES.values() if rule.family in "01234"]


def found(text: str, rule: Rule) -> list[Finding]:
    """The findings of one rule. Rules about suppressions need the rules that these name, so nothing is deselected."""
    select = None if rule.family == "0" else (rule.code,)
    return [finding for finding in check_text(text, select=select).findings if finding.code == rule.code]


@pytest.mark.parametrize("code", RULES)
def test_the_good_program_has_no_finding(code: str) -> None:
    rule = RULES[code]
    assert found(rule.good.text, rule) == []


@pytest.mark.parametrize("code", RULES)
def test_the_marked_lines_of_the_bad_program_are_found_and_no_others(code: str) -> None:
    rule = RULES[code]
    findings = found(rule.bad.text, rule)
    assert sorted(finding.span.line for finding in findings) == list(rule.marked)
    for finding in findings:
        assert (finding.name, finding.direction) == (rule.name, rule.direction)
        # What a conversion is for depends on what becomes of its result; the page has the last word on all others.
        assert finding.use == rule.use or (code in CONVERSIONS and finding.use is not None)


@pytest.mark.parametrize("code", QUIET)
def test_no_default_rule_reports_the_good_program(code: str) -> None:
    report = check_text(RULES[code].good.text)
    assert [(finding.code, finding.span.line) for finding in report.findings] == []


@pytest.mark.parametrize("code", RULES)
def test_the_programs_of_a_page_parse(code: str) -> None:
    rule = RULES[code]
    for example in (rule.bad, rule.good):
        assert check_text(example.text).errors == ()

"""The laws of the fixes, by execution: the Bad program of each page with a fix, once repaired, is refused only where a
finding is left, prints the same, and is not repaired again."""

import functools
from collections.abc import Mapping

import pytest

from jaxlint.check import check_bytes
from jaxlint.findings import Report
from jaxlint.fix.run import Fixed, fix
from jaxlint.inputs import Inputs
from jaxlint.rulebook import Rule, load_rules
from jaxlint.settings import Settings
from jaxlint.sites import Heat
from page_runs import Seen, probe, runnable

PATH = "page.py"
RULES = {rule.code: rule for rule in load_rules()}
FIXED = [rule.code for rule in RULES.values() if rule.remedies]
TRACER_WORDS = ("Traced<", "Tracer")


def repaired(text: str, code: str, *, unsafe: bool = True) -> Fixed:
    """A program with all that one rule's fixes make of it, the safe ones or all."""
    settings = Settings(select=(code,), min_heat=Heat.COLD)

    def check(inputs: Inputs) -> Report:
        return check_bytes(settings, inputs.given[PATH], PATH, inputs=inputs)

    return fix(check, lambda f: f.fix is not None and (unsafe or f.fix.safe), {PATH: text.encode()})


@functools.cache
def after(code: str) -> tuple[str, tuple[int, ...]]:
    """The repaired Bad program of a page, and the lines of the findings that are left."""
    done = repaired(RULES[code].bad.text, code)
    text = done.files[0].after.decode() if done.files else RULES[code].bad.text
    return text, tuple(sorted({finding.span.line for finding in done.report.findings}))


@functools.cache
def ran(backend: str, devices: int) -> Mapping[str, Seen]:
    """What the repaired programs did, and what they and those before them printed."""
    rules = [RULES[code] for code in FIXED if runnable(RULES[code])]
    tasks = [
        {"key": f"{rule.code}_{key}", "text": text, "way": way, "direction": rule.direction or "", "level": "disallow"}
        for rule in rules
        if (rule.proof.backend, rule.proof.devices) == (backend, devices)
        for key, text, way in (
            ("guarded", after(rule.code)[0], "guard" if rule.direction else "prints"),
            ("before", rule.bad.text, "prints"),
            ("after", after(rule.code)[0], "prints"),
        )
    ]
    return probe(tasks, backend, devices)


def seen(rule: Rule, key: str) -> Seen:
    if not runnable(rule):
        pytest.skip(f"needs {', '.join(rule.proof.needs)}")
    found = ran(rule.proof.backend, rule.proof.devices)[f"{rule.code}_{key}"]
    assert found["crash"] == "", rule.path
    return found


@pytest.mark.parametrize("code", FIXED)
def test_a_fix_repairs_findings_of_the_page(code: str) -> None:
    assert len(after(code)[1]) < len(RULES[code].marked), "the fixes of this page repair nothing in its Bad program"


@pytest.mark.parametrize("code", [code for code in FIXED if RULES[code].direction is not None])
def test_the_guard_refuses_nothing_that_was_repaired(code: str) -> None:
    rule = RULES[code]
    guarded = seen(rule, "guarded")
    left = set(after(code)[1])
    assert {int(line) for line in guarded["refused"]} == left
    assert {int(line) for line in guarded["logged"]} == left


@pytest.mark.parametrize("code", [code for code in FIXED if RULES[code].direction is not None])
def test_the_repaired_program_prints_the_same(code: str) -> None:
    before, now = seen(RULES[code], "before"), seen(RULES[code], "after")
    assert "".join(text for _, text in now["printed"]) == "".join(text for _, text in before["printed"])


@pytest.mark.parametrize("code", [code for code in FIXED if RULES[code].family == "4"])
def test_a_repaired_print_shows_no_tracer(code: str) -> None:
    assert not any(word in text for _, text in seen(RULES[code], "after")["printed"] for word in TRACER_WORDS)


@pytest.mark.parametrize("code", FIXED)
def test_a_second_run_changes_nothing(code: str) -> None:
    assert repaired(after(code)[0], code).files == []

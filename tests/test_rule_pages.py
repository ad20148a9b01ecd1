"""The laws of the rule pages, by execution: in each Bad program the real guard of the page's direction refuses exactly
the marked lines (or these raise the named error of ``jax.errors``), and in each Good program nothing at all."""

import functools
from collections.abc import Mapping

import pytest

from jaxlint.pages import Example
from jaxlint.rulebook import Rule, load_rules
from page_runs import Seen, probe, runnable

PRINTS = "# prints: "
TRACER_WORDS = ("Traced<", "Tracer")
RULES = {rule.code: rule for rule in load_rules()}
GUARDED = [rule.code for rule in RULES.values() if rule.direction is not None]
RAISING = [rule.code for rule in RULES.values() if rule.proof.raises]
PRINTING = [rule.code for rule in RULES.values() if rule.family == "4" and not rule.proof.raises]
OBSERVED = [rule.code for rule in RULES.values() if rule.family == "5"]


def way(rule: Rule) -> str:
    return "guard" if rule.direction is not None else "raises" if rule.proof.raises else "prints"


def tasks(rule: Rule) -> list[dict[str, str]]:
    return [
        {
            "key": f"{rule.code}_{name}",
            "text": example.text,
            "way": way(rule),
            "direction": rule.direction or "",
            "level": rule.proof.level,
        }
        for name, example in (("bad", rule.bad), ("good", rule.good))
    ]


@functools.cache
def together(backend: str, devices: int) -> Mapping[str, Seen]:
    """The pages that disturb nobody, one child process a backend and number of devices."""
    rules = [rule for rule in RULES.values() if rule.family in "1234" and runnable(rule)]
    fitting = [rule for rule in rules if (rule.proof.backend, rule.proof.devices) == (backend, devices)]
    return probe([task for rule in fitting for task in tasks(rule)], backend, devices)


def seen(rule: Rule) -> tuple[Seen, Seen]:
    """What the page's Bad and Good programs did; a program that crashed fails the test here."""
    if not runnable(rule):
        pytest.skip(f"needs {', '.join(rule.proof.needs)}")
    backend, devices = rule.proof.backend, rule.proof.devices
    found: dict[str, Seen] = {}
    if rule.family == "5":
        # A misuse of the guard may leave it set: each of these programs has a process of its own.
        for task in tasks(rule):
            found |= probe([task], backend, devices)
    else:
        found |= together(backend, devices)
    bad, good = found[f"{rule.code}_bad"], found[f"{rule.code}_good"]
    assert (bad["crash"], good["crash"]) == ("", ""), rule.path
    return bad, good


def lines(counts: Mapping[str, int], rule: Rule) -> list[int]:
    """The lines that the guard spoke of. An explicit transfer that happens once is not what an explicit page means."""
    least = 2 if rule.proof.level == "disallow_explicit" else 1
    return sorted(int(line) for line, count in counts.items() if count >= least)


@pytest.mark.parametrize("code", GUARDED)
def test_the_guard_refuses_exactly_the_marked_lines(code: str) -> None:
    rule = RULES[code]
    bad, good = seen(rule)
    assert rule.marked, "no line of the Bad program is marked"
    assert (lines(bad["refused"], rule), lines(good["refused"], rule)) == (list(rule.marked), [])


@pytest.mark.parametrize("code", GUARDED)
def test_the_guard_logs_exactly_the_marked_lines_of_the_unchanged_program(code: str) -> None:
    rule = RULES[code]
    bad, good = seen(rule)
    assert (lines(bad["logged"], rule), lines(good["logged"], rule)) == (list(rule.marked), [])


@pytest.mark.parametrize("code", RAISING)
def test_the_marked_lines_raise_the_named_error(code: str) -> None:
    rule = RULES[code]
    bad, good = seen(rule)
    assert {line for line, _ in bad["raised"]} == set(rule.marked)
    assert {name for _, name in bad["raised"]} == set(rule.proof.raises)
    assert good["raised"] == []


@pytest.mark.parametrize("code", PRINTING)
def test_the_marked_lines_print_a_tracer_once_a_trace(code: str) -> None:
    rule = RULES[code]
    bad, good = seen(rule)
    shown = [line for line, text in bad["printed"] if any(word in text for word in TRACER_WORDS)]
    assert shown == list(rule.marked)
    assert not any(word in text for _, text in good["printed"] for word in TRACER_WORDS)


def promised(example: Example) -> str:
    first = example.text.splitlines()[0]
    assert first.startswith(PRINTS), f"the program must say in its first line what it prints: `{PRINTS}...`"
    return first.removeprefix(PRINTS)


@pytest.mark.parametrize("code", OBSERVED)
def test_a_misuse_shows_as_the_page_says(code: str) -> None:
    rule = RULES[code]
    bad, good = seen(rule)
    for example, happened in ((rule.bad, bad), (rule.good, good)):
        printed = "".join(text for _, text in happened["printed"])
        assert "; ".join(printed.splitlines()) == promised(example)


CACHED = """\
import jax.numpy as jnp

x = jnp.arange(3.0)
y = x + 1.0
for _ in range(2):
    print(x)
    print(x)
if x.sum() > 1e9 or float(x[0]):
    y = None
values = [float(row) for row in y]
print(values)
"""


def test_the_probe_sees_a_fetch_once_an_array_and_on_its_own_line() -> None:
    task = {"key": "cached", "text": CACHED, "way": "guard", "direction": "device_to_host", "level": "disallow"}
    seen = probe([task], "sentinel", 1)["cached"]
    assert seen["crash"] == ""
    assert seen["refused"] == {"6": 1, "8": 1, "10": 1}
    assert set(seen["logged"]) == {"6", "8", "10"}
    # Without the backend a plain CPU refuses none of them: then every page would fail, not pass.
    assert probe([task], "cpu", 1)["cached"]["refused"] == {}


def test_every_page_is_proved_by_one_of_these_ways() -> None:
    proved = {*GUARDED, *RAISING, *PRINTING, *OBSERVED}
    assert {rule.code for rule in RULES.values() if rule.family != "0"} == proved
    assert len(GUARDED) + len(RAISING) + len(PRINTING) + len(OBSERVED) == len(proved)

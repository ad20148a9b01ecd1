"""The laws of the rulebook: what a page may say, what is refused and where, and how sites become findings."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxlint.errors import UserError
from jaxlint.findings import Direction, Finding
from jaxlint.kinds import ARRAY, Kind
from jaxlint.rulebook import Rule, judge, load_rules, parse_page, read_rules
from jaxlint.sites import Confidence, Heat, Operand, Operation, Site, Span

NAME = "JT104-scalar-conversion.md"
TOML = """\
direction = "device_to_host"
message = "{callee} of {what} waits"
default = true
use = "stored"

[[match]]
operation = "scalar"
operand = "device"
"""


def page(toml: str = TOML, title: str = "# JT104 scalar-conversion", prose: str = "It waits.\n\nReally.") -> str:
    return f"""\
{title}

```toml
{toml}```

{prose}

## Bad

```python
y = float(x)  # JT104
z = y  # the hash in "#JT999" is no mark: JT998 # JT104, JT105
```

## Good

```python
y = x
```
"""


def site(
    operation: Operation = Operation.SCALAR,
    kinds: Sequence[Kind] = (Kind.DEVICE,),
    *,
    callee: str | None = "builtins.float",
    heat: Heat = Heat.HOT,
    traced: bool = False,
    confidence: Confidence = Confidence.HIGH,
    line: int = 1,
) -> Site:
    operands = tuple(Operand(kind, f"x{number}") for number, kind in enumerate(kinds))
    return Site(Span("a.py", line, 1, line, 9), operation, callee, operands, heat, traced, confidence, (), "extra")


def codes(rules: Sequence[Rule], *sites: Site) -> list[str]:
    return [finding.code for finding in judge(rules, sites)]


def only(rules: Sequence[Rule], *sites: Site) -> Finding:
    (finding,) = judge(rules, sites)
    return finding


def test_a_page_is_a_rule() -> None:
    rule = parse_page(page(), NAME)
    assert (rule.code, rule.name, rule.direction, rule.default) == (
        "JT104",
        "scalar-conversion",
        Direction.DEVICE_TO_HOST,
        True,
    )
    assert (rule.summary, rule.prose, rule.use) == ("It waits.", "It waits.\n\nReally.", "stored")
    assert rule.marked == (1, 2)
    assert rule.bad.marks == ((1, "JT104"), (2, "JT104"), (2, "JT105"))
    assert rule.good.marks == ()
    assert page().splitlines()[rule.bad.page_line - 1] == rule.bad.text.splitlines()[0]
    assert rule.matches[0].operations == (Operation.SCALAR,)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "the title must be `# JT123 some-name`"),
        (page(title="# JT104"), 1, "the title must be `# JT123 some-name`"),
        (page(title="# JT105 truth-test"), 1, "the file of JT105 must be named JT105-truth-test.md"),
        (
            page(TOML + "colour = 1\n"),
            12,
            "unknown key 'colour'; the keys here are callee, heat, message, operand, operation",
        ),
        (
            page("colour = 1\n" + TOML),
            4,
            "unknown key 'colour'; the keys here are default, direction, fix, match, message, proof, ",
        ),
        (page(TOML + '\n[[fix]]\nmake = "tea"\nsafe = true\n'), 14, "make = 'tea' must be one of fetch, put, hoist, "),
        (page(TOML + "\n[[fix]]\nsafe = true\n"), 13, "a [[fix]] block must say what to make: one of fetch, "),
        (page(TOML + '\n[[fix]]\nmake = "fetch"\n'), 4, "'safe' must be true or false"),
        (page("colour =\n"), 4, "the toml block is not valid: Invalid value"),
        (page(TOML.replace("device_to_host", "host")), 4, "direction = 'host' must be one of device_to_host, "),
        (page(TOML.replace("device_to_host", "host_to_device")), 4, 'JT104 must have direction = "device_to_host"'),
        (page(TOML.replace("{what}", "{who}")), 5, "unknown placeholder {who}; one of callee, what, detail"),
        (page(TOML.replace("{what}", "{what")), 5, "'message' is no format string: "),
        (page(TOML.replace("true", "1")), 6, "'default' must be true or false"),
        (page(TOML.replace('"stored"', '"eaten"')), 7, "use = 'eaten' must be one of shown, decision, stored, "),
        (page(TOML.replace('"scalar"', '"scalarr"')), 10, "unknown operation 'scalarr'; one of print, format, log, "),
        (page(TOML.replace('"device"', '"devise"')), 11, "unknown operand 'devise'; one of python, numpy, device, "),
        (page(TOML.split("[[")[0]), 4, "JT104 must have a [[match]] block"),
        (page(TOML.replace('operation = "scalar"\n', "")), 9, "a [[match]] block must name its operation"),
        (page(prose=""), 13, "there must be prose between the toml block and ## Bad"),
        (page().replace("## Good", "## Fine"), 29, "there must be one heading `## Good`"),
        (page().replace("## Good", "## Bad"), 25, "there must be one heading `## Bad`"),
        (page().replace("```python\ny = x\n```", ""), 25, "there must be one ```python block here, not 0"),
        (page().rstrip().removesuffix("```"), 27, "this block is never closed"),
    ],
)
def test_a_wrong_page_is_refused_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_page(text, NAME)
    assert str(caught.value).startswith(f"{NAME}:{line}: {message}")
    assert "\n" not in str(caught.value)


def test_two_pages_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text(page(), "utf-8")
    second = tmp_path / "JT105-scalar-conversion.md"
    second.write_text(page(title="# JT105 scalar-conversion"), "utf-8")
    with pytest.raises(UserError, match=r"JT105-scalar-conversion\.md:1: scalar-conversion is the page .*JT104"):
        read_rules(tmp_path)


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no rule pages here"):
        read_rules(tmp_path)


def test_the_pages_are_in_the_order_of_codes_and_each_name_is_unique() -> None:
    rules = load_rules()
    assert [rule.code for rule in rules] == sorted({rule.code for rule in rules})
    assert len({rule.name for rule in rules}) == len(rules)


def test_every_operation_is_some_rules_business() -> None:
    asked = {operation for rule in load_rules() for match in rule.matches for operation in match.operations}
    assert asked == set(Operation)


def test_a_message_is_one_line_for_every_site() -> None:
    for rule, callee in itertools.product(load_rules(), ("numpy.asarray", None)):
        for match in rule.matches:
            for operation in match.operations:
                finding = next(judge([rule], [site(operation, [match.kind or Kind.DEVICE], callee=callee)]), None)
                if finding is not None:
                    assert "\n" not in finding.message
                    assert "  " not in finding.message
                    assert not finding.message.startswith(" ")


def test_no_site_and_a_host_operand_give_nothing() -> None:
    rules = load_rules()
    assert codes(rules) == []
    assert codes(rules, site(kinds=[Kind.PYTHON])) == []
    assert codes(rules, site(kinds=[])) == []


def test_the_message_names_the_operands_that_matter() -> None:
    rule = parse_page(page(), NAME)
    finding = only([rule], site(kinds=[Kind.NUMPY, Kind.DEVICE, Kind.DEVICE | Kind.PYTHON]))
    assert finding.message == "`float` of `x1`, `x2` waits"
    assert only([rule], site(callee="numpy.float32")).message == "`np.float32` of `x0` waits"
    assert only([rule], site(callee=".item")).message == "`.item` of `x0` waits"


def test_of_an_array_or_a_tracer_the_trace_decides() -> None:
    rules = load_rules()
    assert codes(rules, site(kinds=[ARRAY])) == ["JT104"]
    assert codes(rules, site(kinds=[ARRAY], traced=True)) == ["JT404"]
    assert codes(rules, site(kinds=[Kind.DEVICE], traced=True)) == ["JT104"]
    assert codes(rules, site(kinds=[Kind.TRACER])) == ["JT404"]


@pytest.mark.parametrize("bits", range(16))
def test_a_site_is_reported_if_and_only_if_an_operand_may_be_an_array(bits: int) -> None:
    kind = Kind(bits)
    for traced in (False, True):
        assert bool(codes(load_rules(), site(kinds=[kind], traced=traced))) == kind.may_be(ARRAY)


def test_the_rule_of_the_lowest_code_wins_in_its_family() -> None:
    first = parse_page(page(), NAME)
    second = parse_page(page(title="# JT199 other"), "JT199-other.md")
    assert codes([second, first], site()) == ["JT104"]


def test_a_rule_for_some_callees_goes_before_one_for_all() -> None:
    general = parse_page(page(), NAME)
    text = page(title="# JT199 other")
    special = parse_page(text.replace("[[match]]", '[[match]]\ncallee = "mylab.*"'), "JT199-other.md")
    for rules in ([general, special], [special, general]):
        assert codes(rules, site(callee="mylab.show")) == ["JT199"]
        assert codes(rules, site(callee="other.show")) == ["JT104"]
    but_some = parse_page(text.replace("[[match]]", '[[match]]\ncallee = "!mylab.*"'), "JT199-other.md")
    assert codes([but_some, general], site(callee="other.show")) == ["JT104"]


def test_one_finding_a_place_the_hottest_and_then_the_surest() -> None:
    rule = parse_page(page(), NAME)
    sites = [
        site(heat=Heat.COLD, confidence=Confidence.HIGH),
        site(heat=Heat.HOT, confidence=Confidence.LOW),
        site(heat=Heat.HOT, confidence=Confidence.MEDIUM),
        site(heat=Heat.PERIODIC),
        site(line=2),
    ]
    for order in itertools.permutations(sites):
        found = {finding.span.line: finding for finding in judge([rule], order)}
        assert (found[1].heat, found[1].confidence) == (Heat.HOT, Confidence.MEDIUM)
        assert len(found) == 2


def test_a_match_may_ask_for_heat_and_callee() -> None:
    rules = load_rules()
    fetch = Operation.EXPLICIT_FETCH
    assert codes(rules, site(fetch, callee="jax.device_get", heat=Heat.PERIODIC)) == []
    assert codes(rules, site(fetch, callee="jax.device_get")) == ["JT191"]
    save = Operation.SAVE
    assert codes(rules, site(save, [Kind.TRACER], callee="numpy.save")) == ["JT403"]
    assert codes(rules, site(save, [Kind.TRACER], callee="pickle.dump")) == ["JT404"]
    library = Operation.LIBRARY
    assert codes(rules, site(library, [Kind.TRACER], callee="pandas.DataFrame")) == ["JT403"]
    assert codes(rules, site(library, [Kind.TRACER], callee="csv.writer.writerow")) == []


def test_the_direction_follows_from_the_family() -> None:
    for rule in load_rules():
        wanted = {"1": Direction.DEVICE_TO_HOST, "2": Direction.HOST_TO_DEVICE, "3": Direction.DEVICE_TO_DEVICE}
        assert rule.direction == wanted.get(rule.family)
        assert (rule.use is not None) <= (rule.family == "1")

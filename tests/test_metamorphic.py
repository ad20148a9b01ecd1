"""Programs that do the same have the same findings: what a person may change without a thought changes no finding.

Over the rules' pages and the programs of the fixtures; over real files by ``python bench/metamorphic.py FOLDER``.
"""

from pathlib import Path

import pytest

from jaxlint.rulebook import load_rules
from transformations import TRANSFORMATIONS, Transformation, everything, findings, numbered

ROOT = Path(__file__).resolve().parent.parent
PAGES = [example.text for rule in load_rules() for example in (rule.bad, rule.good)]
PROGRAMS = sorted((ROOT / "fixtures" / "programs").glob("*.py"))
# The whole of it is tried by hand; here every transformation meets some of the programs.
SHARE = 6


@pytest.mark.parametrize("part", range(SHARE))
def test_pages_transformed_in_every_way_have_the_same_findings(part: int) -> None:
    for text in PAGES[part::SHARE]:
        before = numbered(text)
        after = everything(before)
        assert after != before
        assert findings(after) == findings(before), after


@pytest.mark.parametrize("transform", TRANSFORMATIONS, ids=lambda transform: transform.__name__)
def test_programs_transformed_in_one_way_have_the_same_findings(transform: Transformation) -> None:
    at = TRANSFORMATIONS.index(transform)
    for path in [path for number, path in enumerate(PROGRAMS) if number % 4 == at % 4]:
        before = numbered(path.read_text("utf-8"))
        after = transform(before)
        assert findings(after) == findings(before), (path, after)


@pytest.mark.parametrize("transform", TRANSFORMATIONS, ids=lambda transform: transform.__name__)
def test_a_transformation_changes_something(transform: Transformation) -> None:
    assert any(transform(text) != text for text in PAGES[:20])


def test_a_number_in_a_comment_changes_no_finding() -> None:
    found = findings(numbered(PAGES[0]))
    assert found
    assert "?" not in {number for _, number, _ in found}
    plain = findings(PAGES[0])
    assert sorted(code for code, _, _ in found.elements()) == sorted(code for code, _, _ in plain.elements())


@pytest.mark.xfail(strict=True, reason="a variable that a function declares global is not followed from line to line")
def test_a_loop_over_variables_that_are_declared_global() -> None:
    body = "l = []\nfor _ in range(3):\n    l.append(step(1.0))\nl = jax.device_get(l)\nfloat(l[0])\n"
    head = "import jax\n\n@jax.jit\ndef step(w):\n    return w * 0.9\n\n"
    inner = "".join(f"    {line}\n" for line in numbered(body).splitlines())
    wrapped = f"{head}def main():\n    global l\n{inner}\nmain()\n"
    assert findings(head + numbered(body)) == findings(wrapped)

"""After the edit the finding is silenced, and nothing else: no other finding, no comment that is of no use."""

from collections.abc import Iterator

import pytest

from jaxlint.check import check_text
from jaxlint.findings import Finding
from jaxlint.fixes.edits import apply
from jaxlint.fixes.ignoring import with_ignores
from jaxlint.rulebook import load_rules
from jaxlint.source.text import SourceText

SELECT = ("ALL",)
HEAD = """import jax
import numpy as np

@jax.jit
def step(x):
    return x + 1

def train(x):
    while True:
        x = step(x)
"""
STATEMENTS = (
    "        print(x)\n",
    "        print(x)",
    "        print(x)   \n",
    "        print(x)  # note\n",
    "        print(x)  # noqa: E501\n",
    "        print(x)  # jaxlint: ignore[JT102]\n",
    "        print(x); y = 1\n",
    "        y = 1; print(x)\n",
    "        print(\n            x,\n        )\n",
    "        print(\n            '''\n''',\n            x,\n        )\n",
    "        y = '''\n''' + str(print(x)) + '''\n'''\n",
    "        y = \\\n            print(x)\n",
    "        y = print(x) + \\\n            1\n",
    "        y = 1 + \\\n            print(x) + \\\n            1\n",
    "        if print(x): pass\n",
    "        y = f'''{\n        print(x)} \n'''\n",
    "        print(float(x), str(x))\n",
)


def found(text: str) -> list[Finding]:
    return list(check_text(text, select=SELECT).findings)


def programs() -> Iterator[str]:
    for statement in STATEMENTS:
        yield HEAD + statement
        yield (HEAD + statement).replace("\n", "\r\n")
    for rule in load_rules():
        if not rule.code.startswith("JT0"):
            yield rule.bad.text


@pytest.mark.parametrize("text", list(programs()))
def test_a_finding_is_silenced_alone(text: str) -> None:
    source = SourceText("page.py", text)
    before = [finding for finding in found(text) if not finding.code.startswith("JT0")]
    assert before
    for finding in before:
        (silenced,) = with_ignores([finding], source, "")
        assert silenced.fix is not None
        after = found(apply(source, silenced.fix.edits))
        told = {(f.code, f.span.line) for f in after}
        assert (finding.code, finding.span.line) not in told
        assert told <= {(f.code, f.span.line) for f in found(text)}

"""After the edit the finding is silenced, and nothing else: no other finding, no comment that is of no use."""

from collections.abc import Iterator

import pytest

from jaxlint.check import check_text
from jaxlint.findings import Edit, Finding
from jaxlint.rulebook import load_rules
from jaxlint.source.ignoring import ignore
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


def applied(source: SourceText, edit: Edit) -> str:
    begin = source.offset(edit.line, edit.column)
    return source.text[:begin] + edit.text + source.text[source.offset(edit.end_line, edit.end_column) :]


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
        edit = ignore(source, finding.span, finding.code)
        after = found(applied(source, edit))
        told = {(f.code, f.span.line) for f in after}
        assert (finding.code, finding.span.line) not in told
        assert told <= {(f.code, f.span.line) for f in found(text)}

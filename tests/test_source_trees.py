"""Trees that are kept are those that a whole parse gives, whatever was parsed before; nothing twice, nothing stale."""

from collections.abc import Callable
from pathlib import Path

import libcst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxlint.errors import SourceError
from jaxlint.source import trees
from jaxlint.source.parse import parse
from jaxlint.source.text import SourceText
from jaxlint.source.trees import Trees, split

ROOT = Path(__file__).resolve().parent.parent
PIECES = (
    "import os\n",
    "x = 1; y = 2\n",
    "\n\n# about the next\n",
    "def f(a):\n    return a\n    # inside, at the end\n",
    "@d\n# between\n@e(\n  1)\nclass C:\n\n    x = 1\n\n    def g(self): pass\n",
    "if x:\n    y = 1\n# between\nelif z:\n    y = 2\nelse:\n    y = 3\n",
    "try:\n    f()\nexcept E:\n    pass\nfinally:\n    g()\n",
    "s = '''\nx = 1\n'''\n",
    "t = (1,\n2,\n\n# in brackets\n3)\n",
    "u = 1 + \\\n2\n",
    "  # indented comment\n",
    "for i in x:\n\tpass\n",
    "if x: pass\n",
    "async def h():\n  await f()\n",
    "\f\nv = 1\n",
    "match x:\n    case 1:\n        pass\n",
    "w = f'''{x\n}'''\n",
    "x = 2  # no end of line",
)
texts = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


def source(text: str) -> SourceText:
    return SourceText("a.py", text)


def outcome(parser: Callable[[SourceText], libcst.Module], text: str) -> libcst.Module | str:
    """A tree, or the words of the error."""
    try:
        return parser(source(text))
    except SourceError as error:
        return str(error)


def nodes(tree: libcst.CSTNode) -> list[libcst.CSTNode]:
    found, todo = [], [tree]
    while todo:
        found.append(todo.pop())
        todo.extend(found[-1].children)
    return found


@given(texts)
def test_pieces_make_the_text(text: str) -> None:
    assert "".join(split(text)) == text


@given(st.lists(texts, min_size=1, max_size=4))
def test_a_tree_is_the_one_of_a_whole_parse(versions: list[str]) -> None:
    """Whatever was parsed under the same path before, right or wrong."""
    kept = Trees()
    for text in versions:
        whole, tree = outcome(parse, text), outcome(kept.parse, text)
        if isinstance(whole, str) or isinstance(tree, str):
            assert tree == whole
            continue
        assert tree.code == whole.code
        assert [type(statement) for statement in tree.body] == [type(statement) for statement in whole.body]
        found = [node for node in nodes(tree) if not isinstance(node, libcst.SimpleWhitespace | libcst.Newline)]
        assert len({id(node) for node in found}) == len(found), "no node is in two places"


@pytest.mark.parametrize("name", ["flow", "values", "transforms"])
def test_real_files_come_in_pieces(name: str) -> None:
    text = (ROOT / "jaxlint" / "interp" / f"{name}.py").read_text("utf-8")
    assert Trees().parse(source(text)).code == text
    assert len(list(split(text))) == len(parse(source(text)).body)


def test_only_what_is_new_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def counted(text: SourceText) -> libcst.Module:
        parsed.append(text.text)
        return parse(text)

    monkeypatch.setattr(trees, "parse", counted)
    kept = Trees()
    first = kept.parse(source("a = 1\ndef f():\n    return 2\nb = 3\n"))
    assert parsed == ["a = 1\n", "def f():\n    return 2\n", "b = 3\n"]
    parsed.clear()
    assert kept.parse(source("a = 1\ndef f():\n    return 2\nb = 3\n")) is first
    assert parsed == []
    second = kept.parse(source("a = 1\ndef f():\n    return 2\n# more\nb = 4\n"))
    assert parsed == ["# more\nb = 4\n"]
    assert second.body[1] is first.body[1]
    parsed.clear()
    with pytest.raises(SourceError):
        kept.parse(source("a = 1\ndef f(:\n    return 2\nb = 4\n"))
    parsed.clear()
    kept.parse(source("a = 1\ndef f():\n    return 5\n# more\nb = 4\n"))
    assert parsed == ["def f():\n    return 5\n"]


def test_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "CAPACITY", 30)
    kept = Trees()
    long = "x = 1\n" * 4
    first = kept.parse(SourceText("a.py", long))
    assert kept.parse(SourceText("a.py", long)) is first
    kept.parse(SourceText("b.py", long))
    assert kept.parse(SourceText("a.py", long)) is not first

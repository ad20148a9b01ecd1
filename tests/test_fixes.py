"""The laws of fixes: what is written where, in whose names, what is left alone, and what is safe."""

import ast
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fixing import repaired, text_after
from jaxlint.findings import Edit, Finding, Fix
from jaxlint.fixes.edits import apply, choose, moved
from jaxlint.sites import Confidence, Heat, Span
from jaxlint.source.text import SourceText

MADE = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n\n@jax.jit\ndef step(x):\n    return x + 1\n\n"


def after(lines: str, *, unsafe: bool = True) -> str:
    """What becomes of some lines below `MADE`."""
    text = text_after(MADE + lines, unsafe=unsafe)
    assert text.startswith(MADE)
    return text.removeprefix(MADE)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("float(step(1.0))", "float(jax.device_get(step(1.0)))"),
        ("step(1.0).item()", "jax.device_get(step(1.0)).item()"),
        ("(step(1.0)\n + 1).tolist()  # why", "(jax.device_get(step(1.0)\n + 1)).tolist()  # why"),
        ("y =-step(1.0).item()", "y =-jax.device_get(step(1.0)).item()"),
        ("assert not(step(1.0))", "assert not(jax.device_get(step(1.0)))"),
        ("print(1 if(step(1.0))else 2)", "print(1 if(jax.device_get(step(1.0)))else 2)"),
        ("while step(1.0) > 2: break", "while jax.device_get(step(1.0) > 2): break"),
        ("bool((y := step(1.0)))", "bool((jax.device_get(y := step(1.0))))"),
        ("np.stack([step(1.0), step(2.0)])", "np.stack(jax.device_get([step(1.0), step(2.0)]))"),
        ("n = np.ones(3)\nn[0] = step(1.0)", "n = np.ones(3)\nn[0] = jax.device_get(step(1.0))"),
        ("print('%s %s' % (step(1.0), 1))", "print('%s %s' % jax.device_get((step(1.0), 1)))"),
        ("[3, 4][step(0)]", "[3, 4][jax.device_get(step(0))]"),
        ("match step(1.0):\n    case 5: pass", "match jax.device_get(step(1.0)):\n    case 5: pass"),
        ("match step(1.0), 2:\n    case 5, 2: pass", "match jax.device_get(step(1.0)), 2:\n    case 5, 2: pass"),
        ("x = step(1.0) * np.ones(3)", "x = step(1.0) * jax.device_put(np.ones(3))"),
    ],
)
def test_the_call_goes_round_the_operand_alone(line: str, wanted: str) -> None:
    assert after(line + "\n") == wanted + "\n"


@pytest.mark.parametrize(
    "line",
    [
        "print(f'{step(1.0)=}')",  # shows its own source
        "'a' * step(1)",  # NumPy would multiply
        "[1, 2, 3][:step(1)]",  # a slice is no expression
        "x = step([1.0, 2.0])",
        "x = jnp.array([1, 2, 3])",  # jax.device_put takes a list for a tree
        "float(jax.device_get(step(1.0)))",
        "class C: limit = step(1.0)\nmatch 5:\n    case C.limit: pass",  # a call would be the pattern of a class
        "match {'a': step(1.0)}:\n    case {'a': 5}: pass",
    ],
)
def test_what_can_not_be_said_stays(line: str) -> None:
    assert after(line + "\n") == line + "\n"


@pytest.mark.parametrize(
    ("line", "safe"),
    [
        ("float(step(1.0))", True),
        ("print(f'{step(1.0)} {step(2.0):.3f}')", True),
        ("print(f'{step(1.0)!r}')", False),
        ("print(f'{step(1.0)!s}')", False),
        ("print(f'{[step(1.0)]}')", False),
        ("print(step(1.0))", False),
        ("print(str(step(1.0)))", False),
        ("if step(1.0) and 1: pass", True),
        ("y = step(1.0) and 1", False),
        ("y = 1 if step(1.0) or 0 else 2", True),
        ("y = [v for v in (1, 2) if step(1.0) and v]", True),
        ("np.argsort(step(1.0))", False),
        ("match step(1.0):\n    case 5 | 6: pass\n    case _: pass", True),
        ("match step(1.0), 2:\n    case 5, _: pass", True),
        ("match step(1.0):\n    case 5: pass\n    case jax.Array(): pass", False),
        ("match step(1.0):\n    case 5: pass\n    case y: pass", False),
    ],
)
def test_safe_is_what_changes_no_value_and_no_text(line: str, safe: bool) -> None:
    wanted = after(line + "\n")
    assert "device_get" in wanted
    assert after(line + "\n", unsafe=False) == (wanted if safe else line + "\n")


def test_an_upload_is_unsafe_where_a_file_speaks_of_several_devices() -> None:
    line = "x = step(np.ones(3))\n"
    assert after(line, unsafe=False) == "x = step(jax.device_put(np.ones(3)))\n"
    assert after("devices = jax.devices()\n" + line, unsafe=False) == "devices = jax.devices()\n" + line


@pytest.mark.parametrize(
    ("head", "wanted", "name"),
    [
        ("import jax\n", "import jax\n", "jax.device_get"),
        ("import jax as j\n", "import jax as j\n", "j.device_get"),
        ("from jax import device_get as get\n", "from jax import device_get as get\n", "get"),
        ("try:\n    import jax\nexcept ImportError:\n    jax = None\n", None, "jax.device_get"),
        ("import jax.numpy as jnp\n", "import jax\nimport jax.numpy as jnp\n", "jax.device_get"),
        ("from jax import numpy as jnp\n", "import jax\nfrom jax import numpy as jnp\n", "jax.device_get"),
        ("import jax.numpy\n", "import jax.numpy\n", "jax.device_get"),
        ("import os\nimport jax.numpy as jnp\n", "import os\nimport jax\nimport jax.numpy as jnp\n", "jax.device_get"),
        (
            "import os\nos.environ['A'] = 'b'\nfrom jax import lax\n",
            "import os\nos.environ['A'] = 'b'\nimport jax\nfrom jax import lax\n",
            "jax.device_get",
        ),
        (
            "import typing\nif typing.TYPE_CHECKING:\n    import jax\nimport jax.numpy as jnp\n",
            "import typing\nif typing.TYPE_CHECKING:\n    import jax\nimport jax\nimport jax.numpy as jnp\n",
            "jax.device_get",
        ),
    ],
)
def test_a_name_that_is_there_is_used_and_a_missing_one_imported(head: str, wanted: str | None, name: str) -> None:
    body = "\ndef f():\n    from jax.numpy import ones\n    return float(ones(()))\n"
    expected = body.replace("float(ones(()))", f"float({name}(ones(())))")
    assert text_after('"""Doc."""\n\nfrom __future__ import annotations\n\n' + head + body) == (
        '"""Doc."""\n\nfrom __future__ import annotations\n\n' + (wanted or head) + expected
    )


def test_an_import_goes_below_the_docstring_and_keeps_line_endings() -> None:
    text = '"""Doc."""\r\nfrom __future__ import annotations\r\n\r\n\r\ndef f():\r\n'
    text += "    from transformers import FlaxAutoModel as o\r\n    return float(o.from_pretrained('x')(1).logits)\r\n"
    lines = text_after(text).split("\r\n")
    assert lines[:4] == ['"""Doc."""', "from __future__ import annotations", "", "import jax"]
    assert "\n" not in "".join(lines)
    assert lines[-2] == "    return float(jax.device_get(o.from_pretrained('x')(1).logits))"


def test_an_import_in_a_function_is_made_in_that_function() -> None:
    """Importing jax reads the environment, which the program may set before, and takes time that it may save."""
    head = "import os\nos.environ['JAX_ENABLE_X64'] = '1'\n\ndef f():\n"
    body = "    import jax.numpy as jnp\n    def g():\n        return {}\n    return g()\n"
    wanted = head + "    import jax\n" + body.format("float(jax.device_get(jnp.ones(())))")
    assert text_after(head + body.format("float(jnp.ones(()))"), unsafe=False) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import jax.numpy as j\nexcept ImportError:\n    import numpy as j\n\nfloat(j.ones(()))\n",
        "def f():\n    x = 1; import jax.numpy as jnp\n    return float(jnp.ones(()))\n",
        "def f():\n    import jax.numpy as jnp\n    return float(jnp.ones(())) + jax\n",
        "import jax.numpy as jnp\n\njax = None\n\nprint(float(jnp.ones(())))\n",
    ],
)
def test_nothing_is_imported_where_jax_may_be_missing_or_be_something_else(text: str) -> None:
    assert text_after(text) == text


def test_a_function_may_be_called_before_a_later_import() -> None:
    text = "import jax.numpy as jnp\n\ndef f():\n    return {}\n\nf()\nimport jax\n"
    wanted = "import jax\n" + text.format("float(jax.device_get(jnp.ones(())))")
    assert text_after(text.format("float(jnp.ones(()))")) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "import transformers\n\nprint(float(transformers.FlaxAutoModel.from_pretrained('x')(1).logits))\n",
        "import jax.numpy as j\ntry:\n    import jax\nexcept ImportError:\n    jax = None\n\nfloat(j.ones(()))\n",
    ],
)
def test_a_fix_that_asks_for_jax_where_the_file_may_do_without_is_unsafe(text: str) -> None:
    assert text_after(text, unsafe=False) == text
    assert "device_get" in text_after(text)


@pytest.mark.parametrize(
    "line",
    [
        "list(map(float, [step(1.0)]))",
        "','.join(map(str, [step(1.0)]))",
        "list(filter(None, [step(1.0)]))",
        "print({'a': step(1.0)}.values())",
        "print(collections.deque([step(1.0)]))",
        "print({step(1.0)} if 0 else iter([step(2.0)]))",
    ],
)
def test_what_jax_does_not_look_into_is_not_handed_to_it(line: str) -> None:
    """`jax.device_get` gives back an iterator, a view or another object as it is."""
    text = "import collections\n" + line + "\n"
    assert after(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "import jax.numpy as jnp\n\ndef f(jax):\n    return float(jnp.ones(()))\n",
        "import jax.numpy as jnp\n\njax = 3\n\ndef f():\n    return float(jnp.ones(()))\n",
        "import jax\nimport jax.numpy as jnp\n\ndef f():\n    for jax in range(3):\n        float(jnp.ones(()))\n",
    ],
)
def test_a_name_that_means_something_else_is_never_called(text: str) -> None:
    assert text_after(text) == text


def test_a_local_name_does_not_hide_another_import() -> None:
    text = "from jax import device_get, numpy as jnp\n\ndef f(jax):\n    return float(jnp.ones(()))\n"
    assert text_after(text) == text.replace("float(jnp.ones(()))", "float(device_get(jnp.ones(())))")


def test_fetches_in_a_row_are_gathered() -> None:
    before = "x = step(1.0)\ny = step(2.0)\n{}a = float(x)  # one\nx = {}\n"
    assert after(before.format("", "float(y)")) == before.format(
        "x_host, y_host = jax.device_get((x, y))\n", "float(y_host)"
    ).replace("float(x)", "float(x_host)")


@pytest.mark.parametrize(
    "lines",
    [
        "a = float(x)\nz = 1\nb = float(y)",  # not in a row
        "y = float(x)\nb = bool(step(y))",  # bound between
        "a = float(x)\nb = float(y) if z else 0",  # perhaps not read
        "a = float(x)\nb = lambda: float(y)",
    ],
)
def test_fetches_that_may_not_come_together_are_not_gathered(lines: str) -> None:
    text = after(f"def f(z):\n    x = step(1.0)\n    y = step(2.0)\n    {lines.replace(chr(10), chr(10) + '    ')}\n")
    assert "_host" not in text
    assert "float(jax.device_get(x))" in text


PATHS = "step2 = jax.jit(lambda x: {{'loss': x, 'a  b': [x, x]}})\nm = step2(1.0)\n{}{}\n"


@pytest.mark.parametrize(
    ("line", "fetch", "wanted"),
    [
        (
            'print(float(m["loss"]), float(m["a  b"][0]), float(m["loss"]))',
            'm_loss_host, m_a_b_0_host = jax.device_get((m["loss"], m["a  b"][0]))',
            'print(float(m_loss_host), float(m_a_b_0_host), float(m["loss"]))',
        ),
        (
            "pair = float(m['loss']), m['a  b'][1].item()",
            "m_loss_host, m_a_b_1_host = jax.device_get((m['loss'], m['a  b'][1]))",
            "pair = float(m_loss_host), m_a_b_1_host.item()",
        ),
        (
            "m_loss_host = float(m['loss']) + float(m['a  b'\n][1])",
            "m_loss_host_, m_a_b_1_host = jax.device_get((m['loss'], m['a  b'][1]))",
            "m_loss_host = float(m_loss_host_) + float(m_a_b_1_host)",
        ),
    ],
)
def test_paths_in_one_statement_are_gathered(line: str, fetch: str, wanted: str) -> None:
    assert after(PATHS.format("", line), unsafe=False) == PATHS.format(fetch + "\n", wanted)


@pytest.mark.parametrize(
    "lines",
    [
        "a = float(m['loss'])\nb = float(m['a  b'][0])",  # what stands between may change m
        "c = [m.clear(), float(m['loss']), float(m['a  b'][0])]",  # called before
        "c = [float(m['loss']), z and float(m['a  b'][0])]",  # perhaps not read
        "c = [float(m[str(z)]), float(m['loss'])]",  # no constant path
    ],
)
def test_paths_that_may_change_are_not_gathered(lines: str) -> None:
    text = after(PATHS.format("z = 'loss'\n", lines))
    assert "_host" not in text
    assert "jax.device_get(m['loss'])" in text


LOOP = "table = np.ones(3)\nfor _ in range(9):\n    for _ in range(9):\n        x = step({})\n"


def test_a_constant_is_hoisted_out_of_all_its_loops() -> None:
    wanted = LOOP.format("table_device").replace("\nfor", "\ntable_device = jax.device_put(table)\nfor", 1)
    assert after(LOOP.format("table")) == wanted


@pytest.mark.parametrize(
    "more",
    ["    table[0] = 1\n", "other = table\n", "f(table)\n", "def g():\n    table.sort()\n", "# donate_argnums\n"],
)
def test_a_constant_that_something_could_change_is_put_where_it_is_used(more: str) -> None:
    text = after(LOOP.format("table") + more)
    assert "step(jax.device_put(table))" in text
    assert "table_device" not in text


def test_a_constant_that_only_one_branch_makes_is_put_where_it_is_used() -> None:
    text = "def f(n):\n    if n:\n        table = np.ones(3)\n    for _ in range(n):\n        step({})\n"
    assert after(text.format("table")) == text.format("jax.device_put(table)")


def test_a_print_of_tracers() -> None:
    body = "@jax.jit\ndef f(x):\n    {}\n    return x\n\nf(step(1.0))\n"
    line = 'jax.debug.print("is {{}} \'a\' \\"b\\" {} {}", x, x + 1)'
    assert after(body.format('print("is {} \'a\' \\"b\\"", x, x + 1)')) == body.format(line)
    kept = body.format("print(x, sep='')")
    assert after(kept) == kept


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b"# coding: latin-1\n# \xe9\n", b"\x0c\n"])
def test_encodings_and_odd_bytes_stay(start: bytes) -> None:
    data = start + MADE.encode() + b"print('\xc3\xa9'); float(step(1.0)) \t \nx=1;;"[:-1]
    (file,) = repaired(data).files
    assert file.after == data.replace(b"float(step(1.0))", b"float(jax.device_get(step(1.0)))")


def test_a_file_that_would_not_parse_is_left_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jaxlint.fix.run.apply", lambda source, edits: "def (:\n")
    done = repaired((MADE + "float(step(1.0))\n").encode())
    assert (done.files, done.repaired) == ([], [])
    (error,) = done.errors
    assert error.message.startswith("left as it was, its fixes would not do: syntax error")


def finding(*edits: Edit) -> Finding:
    return Finding(
        Span("a.py", 1, 1, 1, 2), "JT104", "x", None, "m", Heat.HOT, Confidence.HIGH, fix=Fix("f", True, edits)
    )


TEXTS = st.text("ab\n\r é", max_size=40)


@st.composite
def fixes(draw: st.DrawFn) -> tuple[SourceText, list[Finding]]:
    source = SourceText("a.py", draw(TEXTS))
    places = st.integers(0, len(source.text))
    made = []
    for _ in range(draw(st.integers(0, 5))):
        edits = []
        for _ in range(draw(st.integers(1, 3))):
            start, end = sorted((draw(places), draw(places)))
            edits.append(Edit(*source.place(start), *source.place(end), draw(st.text("XY\n", max_size=4))))
        made.append(finding(*edits))
    return source, made


@given(fixes())
def test_chosen_fixes_never_overlap_and_all_else_is_kept(drawn: tuple[SourceText, list[Finding]]) -> None:
    source, found = drawn
    chosen = choose(found)
    spans = sorted((source.offset(e.line, e.column), source.offset(e.end_line, e.end_column)) for e in chosen.edits)
    assert len(set(chosen.edits)) == len(chosen.edits)
    if all(one.fix and _sound(source, one.fix) for one in chosen.findings):
        assert all(end <= start for (_, end), (start, _) in pairwise(spans))
        kept, at = [], 0
        for start, end in spans:
            kept.append(source.text[at:start])
            at = end
        kept.append(source.text[at:])
        rest = apply(source, chosen.edits)
        for piece in kept:
            assert piece in rest
            rest = rest[rest.index(piece) + len(piece) :]


def _sound(source: SourceText, fix: Fix) -> bool:
    """Whether the edits of one fix are apart, as every proposed fix's are."""
    spans = sorted({(source.offset(e.line, e.column), source.offset(e.end_line, e.end_column)) for e in fix.edits})
    apart = all(a != b and end <= b for (a, end), (b, _) in pairwise(spans))
    return apart and len(spans) == len(fix.edits)


@given(TEXTS, st.data())
def test_a_moved_place_holds_the_same_text(text: str, data: st.DataObject) -> None:
    source = SourceText("a.py", text)
    offsets = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    first, start, end, last = offsets
    span = Span("a.py", *source.place(start), *source.place(end))
    edits = [
        Edit(*source.place(first), *source.place(start), "NEW\n"),
        Edit(*source.place(end), *source.place(last), ""),
    ]
    if first == start or end == last or start == end:
        return
    made = SourceText("a.py", apply(source, edits))
    there = moved(source, span, edits)
    found = made.text[made.offset(there.line, there.column) : made.offset(there.end_line, there.end_column)]
    if "\r" not in text:
        assert found == text[start:end]


@settings(deadline=None, max_examples=25)
@given(st.lists(st.sampled_from(["float(x)", "print(x, y)", "if x > y: pass", "f(f'{x} {y:.1f}')", "z = np.sin(y)"])))
def test_a_repaired_program_parses_and_is_not_repaired_again(lines: list[str]) -> None:
    body = "".join(f"    x = step(x); y = x * 2\n    {line}\n" for line in lines)
    text = text_after(f"{MADE}def f(x, f):\n    x = step(x)\n{body}")
    ast.parse(text)
    assert text_after(text) == text


def test_a_fix_stands_where_its_field_does_on_each_python() -> None:
    """In fields over several lines, behind other strings and letters, with the string's own quote in them."""
    body = "x = step(1.0)\nprint(f'''é {\n  x.sum()} {x:>{3}}''' 'é' f'{x[0]}', f'{x['a' if x is None else 0]}')\n"
    text = after(body)
    assert "é {\n  jax.device_get(x.sum())} {jax.device_get(x):>{3}}''' 'é' f'{jax.device_get(x[0])}'" in text
    assert "f'{jax.device_get(x['a' if x is None else 0])}')" in text

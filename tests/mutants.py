"""Inputs that nobody would write, made from programs by a seed, and the laws that a check of any bytes must keep.

An input is a function of the seed, its number and the programs alone, so that two words name it. Most are valid
programs about arrays: what does not parse shows nothing of the interpreter.
"""

import ast
import copy
import json
import random
import re
import tokenize
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from jaxlint.check import check_bytes
from jaxlint.findings import Finding, Report
from jaxlint.fixes.edits import apply, choose
from jaxlint.inputs import Inputs
from jaxlint.report import formats
from jaxlint.report.context import Context
from jaxlint.rulebook import Rule, load_rules
from jaxlint.settings import Settings
from jaxlint.sites import Confidence, Heat
from jaxlint.source.text import SourceText

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = Settings(select=("ALL",), min_heat=Heat.COLD, min_confidence=Confidence.LOW)
LONGEST = 3_000
"""Characters of a program that is mutated: small ones let many be tried."""

_TOKEN = re.compile(r"\w+|[^\w\s]+|\n[ \t]*|[ \t]+")
_NASTY = (
    *(
        "\0",
        "\ufeff",
        "\u202e",
        "\u2066",
        "\u200f",
        "\ud800",
        "\x1b[2J",
        "\r",
        "\x0c",
        "\x1a",
        "\u2028",
        "é",
        "\U0001d535",
        "\u210c",
    ),
    *(
        "1" * 5000,
        "0x" + "f" * 5000,
        "1e999999999",
        "9" * 400 + "j",
        "'" * 3,
        '"' * 3,
        "\\",
        "\\\n",
        "(" * 50,
        "[" * 50,
    ),
    *("{" * 50, "lambda: " * 40, "not " * 100, "-" * 200, "f'{" * 5, "# jaxlint: ", "# jaxlint: ignore[", "# noqa: JT"),
    *(
        "    " * 60,
        ";" * 50,
        "@",
        ":=",
        "*",
        "**",
        "await ",
        "yield ",
        "case _:",
        "match x:",
        "type X = ",
        "global x\n",
    ),
)


def programs(folders: Sequence[Path] = ()) -> list[str]:
    """The programs of the rules' pages and of the fixtures, and those of more folders."""
    texts = [example.text for rule in load_rules() for example in (rule.bad, rule.good)]
    files = [*(ROOT / "fixtures" / "programs").rglob("*.py"), *(f for folder in folders for f in folder.rglob("*.py"))]
    for file in sorted(files):
        try:
            with tokenize.open(file) as opened:
                texts.append(opened.read())
        except (OSError, SyntaxError, UnicodeDecodeError):
            continue
    return texts


class Mutants:
    """The inputs of one seed."""

    def __init__(self, seed: int, texts: Sequence[str]) -> None:
        self.seed, self.texts = seed, texts
        self._trees: dict[int, ast.Module | None] = {}

    def __getitem__(self, number: int) -> bytes:
        chance = random.Random(f"{self.seed}:{number}")
        made = chance.choices(KINDS, WEIGHTS)[0](self, chance)
        return made if isinstance(made, bytes) else made.encode("utf-8", "surrogatepass")

    def text(self, chance: random.Random) -> str:
        """A stretch of a program, from one top-level statement to the end of another."""
        text = chance.choice(self.texts)
        if len(text) > LONGEST:
            starts = [match.start() for match in re.finditer(r"^(?=[\w@])", text, re.MULTILINE)] or [0]
            start = chance.choice(starts)
            ends = [s for s in starts if start < s <= start + LONGEST]
            text = "import jax\nimport jax.numpy as jnp\nimport numpy as np\n" + (
                text[start : ends[-1]] if ends else text[start : start + LONGEST]
            )
        return text

    def tree(self, chance: random.Random) -> ast.Module:
        """A program that Python can parse."""
        while True:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    return ast.parse(self.text(chance))
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    continue


def of_bytes(mutants: Mutants, chance: random.Random) -> bytes:
    """Bytes changed, cut out, doubled and put in."""
    data = bytearray(mutants.text(chance).encode("utf-8", "surrogatepass"))
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at, until = sorted((chance.randrange(len(data) + 1), chance.randrange(len(data) + 1)))
        until = min(until, at + chance.choice((1, 4, 64, 1000)))
        match chance.randrange(6):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[at:until]
            case 2:
                data[at:at] = data[at:until] * chance.choice((1, 2, 20))
            case 3:
                data[at:at] = chance.choice(_NASTY).encode("utf-8", "surrogatepass")
            case 4:
                data[at:at] = mutants.text(chance).encode("utf-8", "surrogatepass")[: chance.choice((10, 500))]
            case _ if data:
                data[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
    if chance.random() < 0.05:
        return bytes(data).decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-32", "utf-8-sig", "utf-7")))
    if chance.random() < 0.05:
        return (
            f"# coding: {chance.choice(('latin-1', 'utf-16', 'cp037', 'rot13', 'idna', 'zlib', 'x'))}\n".encode() + data
        )
    return bytes(data)


def of_tokens(mutants: Mutants, chance: random.Random) -> str:
    """Words dropped, doubled, swapped and taken from another program."""
    tokens = _TOKEN.findall(mutants.text(chance)) or [""]
    others = _TOKEN.findall(mutants.text(chance)) or [""]
    for _ in range(chance.choice((1, 1, 2, 3, 10))):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        match chance.randrange(6):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at] *= chance.choice((2, 3, 100))
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = chance.choice(others)
            case 4:
                tokens[at] += chance.choice(_NASTY)
            case _:
                begin = chance.randrange(len(others))
                tokens[at:at] = others[begin : begin + chance.choice((2, 10, 50))]
    return "".join(tokens)


def of_names(mutants: Mutants, chance: random.Random) -> str:
    """A program in which names stand for one another: it parses, and values flow where nobody meant them to."""
    tree = mutants.tree(chance)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name | ast.Attribute | ast.arg)]
    words = [*{word for node in names for word in (_word(node),)}, "self", "jax", "jnp", "np", "print", "float"]
    for node in chance.sample(names, min(len(names), chance.choice((1, 2, 5, 20)))):
        word = chance.choice(words)
        if isinstance(node, ast.Name):
            node.id = word
        elif isinstance(node, ast.Attribute):
            node.attr = word
        else:
            node.arg = word
    return _unparsed(tree)


def _word(node: ast.Name | ast.Attribute | ast.arg) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else node.arg


def of_trees(mutants: Mutants, chance: random.Random) -> str:
    """A program with expressions and statements of itself and of another in places where they do not belong."""
    tree, other = mutants.tree(chance), mutants.tree(chance)
    for _ in range(chance.choice((1, 2, 4, 12))):
        if chance.random() < 0.5:
            _graft_expression(tree, other, chance)
        else:
            _graft_statement(tree, other, chance)
    return _unparsed(tree)


def _graft_expression(tree: ast.Module, other: ast.Module, chance: random.Random) -> None:
    holes = [
        (node, name)
        for node in ast.walk(tree)
        for name, value in ast.iter_fields(node)
        if isinstance(value, ast.expr) and isinstance(getattr(value, "ctx", ast.Load()), ast.Load)
    ]
    grafts = [node for node in ast.walk(chance.choice((tree, other))) if isinstance(node, ast.expr)]
    grafts = [node for node in grafts if isinstance(getattr(node, "ctx", ast.Load()), ast.Load)]
    if holes and grafts:
        node, name = chance.choice(holes)
        graft = copy.deepcopy(chance.choice(grafts))
        setattr(node, name, chance.choice(WRAPPINGS)(graft))


def _graft_statement(tree: ast.Module, other: ast.Module, chance: random.Random) -> None:
    bodies = [
        value
        for node in ast.walk(tree)
        for _, value in ast.iter_fields(node)
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt)
    ]
    grafts = [node for node in ast.walk(chance.choice((tree, other))) if isinstance(node, ast.stmt)]
    if not bodies or not grafts:
        return
    body = chance.choice(bodies)
    graft = copy.deepcopy(chance.choice(grafts))
    match chance.randrange(4):
        case 0:
            body.insert(chance.randrange(len(body) + 1), graft)
        case 1:
            body[chance.randrange(len(body))] = graft
        case 2:
            at = chance.randrange(len(body))
            body[at] = chance.choice(ENCLOSINGS)(body[at])
        case _:
            chance.shuffle(body)


def _name(word: str) -> ast.expr:
    return ast.Name(word, ast.Load())


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_name(function), [*arguments], [])


def _comprehension(element: ast.expr) -> ast.expr:
    return ast.ListComp(element, [ast.comprehension(ast.Name("i", ast.Store()), _call("range", _name("n")), [], 0)])


WRAPPINGS: tuple[Callable[[ast.expr], ast.expr], ...] = (
    *([lambda e: e] * 6),
    lambda e: _call("float", e),
    lambda e: ast.Attribute(e, "T", ast.Load()),
    lambda e: ast.Subscript(e, ast.Constant(0), ast.Load()),
    lambda e: ast.Lambda(ast.arguments([], [ast.arg("x")], None, [], [], None, []), e),
    lambda e: ast.Tuple([e, copy.deepcopy(e)], ast.Load()),
    lambda e: ast.Dict([ast.Constant("k"), None], [e, copy.deepcopy(e)]),
    lambda e: ast.Call(e, [ast.Starred(copy.deepcopy(e), ast.Load())], [ast.keyword(None, copy.deepcopy(e))]),
    lambda e: ast.IfExp(e, copy.deepcopy(e), _name("x")),
    lambda e: ast.NamedExpr(ast.Name("x", ast.Store()), e),
    lambda e: ast.JoinedStr([ast.FormattedValue(e, -1, None)]),
    lambda e: ast.Await(e),
    lambda e: ast.Yield(e),
    lambda e: ast.BinOp(e, ast.MatMult(), copy.deepcopy(e)),
    _comprehension,
)
ENCLOSINGS: tuple[Callable[[ast.stmt], ast.stmt], ...] = (
    lambda s: ast.While(ast.Constant(True), [s, ast.Break()], [copy.deepcopy(s)]),
    lambda s: ast.For(ast.Name("x", ast.Store()), _name("x"), [s, ast.Continue()], []),
    lambda s: ast.Try([s], [ast.ExceptHandler(_name("e"), "x", [copy.deepcopy(s)])], [], [copy.deepcopy(s)]),
    lambda s: ast.With([ast.withitem(_name("x"), ast.Name("y", ast.Store()))], [s]),
    lambda s: ast.FunctionDef("f", ast.arguments([], [], ast.arg("a"), [], [], ast.arg("k"), []), [s], [_name("f")]),
    lambda s: ast.AsyncFunctionDef("f", ast.arguments([], [], None, [], [], None, []), [s], []),
    lambda s: ast.ClassDef("C", [_name("C")], [], [s], []),
    lambda s: ast.If(_name("x"), [s], [copy.deepcopy(s)]),
    lambda s: ast.Match(_name("x"), [ast.match_case(ast.MatchSequence([ast.MatchStar("y")]), None, [s])]),
)


def _unparsed(tree: ast.Module) -> str:
    try:
        return "import jax\n" + ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, RecursionError, AttributeError, TypeError):
        return "import jax\n"


KINDS: tuple[Callable[[Mutants, random.Random], str | bytes], ...] = (of_bytes, of_tokens, of_names, of_trees)
WEIGHTS = (2, 3, 2, 4)


class Laws:
    """What holds of a check of any bytes."""

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        return {rule.code: rule for rule in load_rules()}

    def broken(self, data: bytes, path: str = "input.py") -> Iterator[str]:
        """The laws that the check of a file with these bytes breaks. What it raises is raised."""
        inputs = Inputs()
        report = check_bytes(EVERYTHING, data, path, rules=self.rules, inputs=inputs)
        lines = inputs.lines(path, None)
        yield from _of_errors(report, lines)
        yield from _of_findings(report.findings, lines)
        source = inputs.source(path)
        if source is not None:
            yield from _of_fixes(report.findings, source)
        for name in formats.RENDERERS:
            yield from _of_format(name, formats.render(report, name, Context(self.rules, inputs.lines)))


def _of_errors(report: Report, lines: Sequence[str]) -> Iterator[str]:
    for error in (*report.errors, *report.unanalysed):
        if "jaxlint failed" in error.message:
            yield f"line {error.line}: {error.message}"
        if "\n" in error.message or "Traceback" in error.message:
            yield f"an error of several lines: {error.message!r}"
        if error.line is not None and lines and not 1 <= error.line <= len(lines):
            yield f"an error at line {error.line} of {len(lines)}"


def _of_findings(findings: Sequence[Finding], lines: Sequence[str]) -> Iterator[str]:
    if list(findings) != sorted(findings, key=lambda finding: finding.order):
        yield "findings out of order"
    for finding in findings:
        span = finding.span
        begin, end = (span.line, span.column), (span.end_line, span.end_column)
        if not (1 <= span.line <= span.end_line <= len(lines) and begin <= end):
            yield f"a finding at no place: {span}"
        elif span.column > len(lines[span.line - 1]) + 1 or span.end_column > len(lines[span.end_line - 1]) + 1:
            yield f"a finding beyond its line: {span}"


def _of_fixes(findings: Sequence[Finding], source: SourceText) -> Iterator[str]:
    if any(finding.fix for finding in findings) and _parses(source.text):
        fixed = apply(source, choose(findings).edits)
        if not _parses(fixed):
            yield "the fixes make a text that does not parse"


def _parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "input.py", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def _of_format(name: str, text: str) -> Iterator[str]:
    readers: Mapping[str, Callable[[str], object]] = {
        **dict.fromkeys(("json", "sarif", "gitlab"), partial(json.loads, parse_constant=_refuse)),
        "junit": lambda xml: ET.fromstring(xml.encode()),
    }
    try:
        readers.get(name, str.encode)(text)
    except (ValueError, ET.ParseError) as error:
        yield f"{name} cannot be read: {error}"
    if name not in ("json", "sarif", "gitlab") and CONTROL.search(text):
        yield f"{name} holds a control character"
    if name == "github" and not all(line.startswith("::") for line in text.split("\n")[:-1]):
        yield "a line of github is no command"


def _refuse(constant: str) -> object:
    raise ValueError(constant)

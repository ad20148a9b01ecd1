"""The models against what was measured: each row of `models_measured.json` is an expression that a real guard judged.

A tiny evaluator follows only what the model files say: calls, attributes, containers. It knows nothing of the
interpreter, so that data and interpreter can be wrong independently. Rows that need more than data are left out.
"""

import ast
import contextlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

MODELS = Path(__file__).parents[1] / "jaxlint" / "models"
ROWS: list[dict[str, str]] = json.loads(Path(__file__).with_name("models_measured.json").read_text(encoding="utf-8"))

Entry = dict[str, object]
Bound = list[tuple[int | str | None, "Value"]]
OF_ARGUMENT = {"arg", "device", "numpy", "python", "dispatch", "element", "leaf"}
NUMPY_OPERATIONS = {"numpy-conversion", "numpy-function"}


class BeyondData(Exception):
    """The row needs a handler or syntax: nothing that a model file alone could say."""


@dataclass(frozen=True)
class Value:
    """Where a value is; `parts` are what a container or object holds, `name` is what a library name resolves to."""

    place: str
    parts: tuple["Value", ...] = ()
    name: str = ""


DEVICE, NUMPY, PYTHON, UNKNOWN = Value("device"), Value("numpy"), Value("python"), Value("unknown")
CONTAINERS = {"sequence", "mapping"}


class Tables:
    """The model files, looked up by name: an exact entry first, then the longest wildcard."""

    def __init__(self) -> None:
        self.entries: dict[str, dict[str, Entry]] = {"function": {}, "attribute": {}}
        self.aliases: dict[str, str] = {}
        for path in MODELS.glob("*.toml"):
            data = tomllib.loads(path.read_text(encoding="utf-8"))
            self.aliases.update(data.get("alias", {}))
            for kind, known in self.entries.items():
                known.update({name: entry for entry in data.get(kind, []) for name in entry["names"]})

    def canonical(self, name: str) -> str:
        parts = name.split(".")
        for count in range(len(parts), 0, -1):
            target = self.aliases.get(".".join(parts[:count]))
            if target is not None:
                return ".".join([target, *parts[count:]])
        return name

    def find(self, kind: str, name: str) -> Entry | None:
        known, head = self.entries[kind], name
        while name not in known and "." in head:
            head = head.rpartition(".")[0]
            name = f"{head}.*"
        return known.get(name)


TABLES = Tables()


def leaves(value: Value, *, mappings: bool = True) -> Iterator[Value]:
    yield value
    if value.place != "mapping" or mappings:
        for part in value.parts:
            yield from leaves(part, mappings=mappings)


class Reader:
    """Evaluates expressions; `fetches` is true once a device array was read, by what the models say."""

    def __init__(self) -> None:
        self.fetches = False
        mapping = Value("mapping", (DEVICE, DEVICE))
        self.names = dict.fromkeys(ARRAYS.split(), DEVICE)
        self.names |= {"n": NUMPY, "d": mapping, "d0": PYTHON, "log": Value("object", name="logging.Logger")}
        self.names |= {"np": Value("library", name="numpy"), "jnp": Value("library", name="jax.numpy")}
        self.names |= {"lax": Value("library", name="jax.lax")}

    def prepare(self, setup: str) -> None:
        for statement in ast.parse(setup).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                head = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
                for alias in statement.names:
                    self.names[alias.asname or alias.name.partition(".")[0]] = Value(
                        "library", name=head + (alias.name if alias.asname or head else alias.name.partition(".")[0])
                    )
            elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                self.names[statement.targets[0].id] = self.value(statement.value)
            elif isinstance(statement, ast.Expr):
                self.value(statement.value)
        self.fetches = False

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant():
                return PYTHON
            case ast.Lambda() | ast.JoinedStr(values=[ast.Constant()]):
                return UNKNOWN
            case ast.Name(id=name):
                if name in self.names:
                    return self.names[name]
                if name in MAKERS:
                    return Value("callable", name="device")
                return Value("library", name=name if name in LIBRARIES else f"builtins.{name}")
            case ast.List(elts=items) | ast.Tuple(elts=items):
                return Value("sequence", tuple(self.value(item) for item in items))
            case ast.Dict(values=items):
                return Value("mapping", tuple(self.value(item) for item in items))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.value(operand)
            case ast.Attribute(value=below, attr=name):
                return self.attribute(self.value(below), name)
            case ast.Call():
                return self.call(node)
        raise BeyondData(type(node).__name__)

    def attribute(self, below: Value, name: str) -> Value:
        owner = {"device": "jax.Array", "numpy": "numpy.ndarray", "python": "builtins.str"}.get(below.place, below.name)
        if below.place in CONTAINERS or not owner:
            raise BeyondData(f"attribute {name} of {below.place}")
        full = TABLES.canonical(f"{owner}.{name}")
        entry = TABLES.find("attribute", full)
        if entry is not None:
            self.fetches |= "reads" in entry and below.place == "device"
            return self.returned(str(entry["returns"]).split(), [("self", below)])[0]
        return Value("library" if below.place == "library" else "method", (below,), full)

    def call(self, node: ast.Call) -> Value:
        function = self.value(node.func)
        arguments: Bound = []
        for position, item in enumerate(node.args):
            if isinstance(item, ast.Starred):
                raise BeyondData("star")
            arguments.append((position, self.value(item)))
        arguments += [(keyword.arg, self.value(keyword.value)) for keyword in node.keywords]
        if function.place == "callable":
            return self.returned(function.name.split(), arguments)[0]
        if function.place not in {"library", "method", "object"}:
            raise BeyondData(f"call of {function.place}")
        name = f"{function.name}.__call__" if function.place == "object" else function.name
        entry = TABLES.find("function", TABLES.canonical(name))
        if entry is None or "handler" in entry:
            raise BeyondData(name)
        receiver = function.parts[0] if function.place == "method" else function
        self.read(entry, [*arguments, ("self", receiver)])
        return self.returned(str(entry["returns"]).split(), [*arguments, ("self", receiver)])[0]

    def read(self, entry: Entry, arguments: Bound) -> None:
        given = {at for at, _ in arguments}
        unless, arity = entry.get("unless", []), entry.get("only_arity")
        assert isinstance(unless, list)
        if given & set(unless) or (arity is not None and sum(isinstance(at, int) for at in given) != arity):
            return
        numpy = entry.get("operation") in NUMPY_OPERATIONS
        for key, deep in (("reads", "deep" in entry), ("concrete", True), ("fetches", False), ("value_shape", False)):
            wanted = entry.get(key, [])
            for at, value in arguments:
                if (at == "self" and wanted == "all") or (wanted != "all" and at not in wanted):  # type: ignore[operator]
                    continue
                if key == "reads" and "reads_containers" in entry and value.place not in CONTAINERS:
                    continue
                found = leaves(value, mappings=not (numpy and key == "reads")) if deep else iter([value])
                implicit = entry.get("operation") != "explicit-fetch"
                self.fetches |= implicit and any(leaf.place == "device" for leaf in found)

    def returned(self, words: list[str], arguments: Bound) -> tuple[Value, list[str]]:
        """The value of the first `returns` word, and the words that are left."""
        head, rest = words[0], words[1:]
        if head in OF_ARGUMENT and rest and (rest[0].isdigit() or rest[0] == "self"):
            argument = argument_of(rest[0], arguments)
            if head in {"dispatch", "arg"}:
                return (NUMPY if head == "dispatch" and argument.place != "device" else argument), rest[1:]
            if head in {"element", "leaf"}:
                return (argument.parts[0] if argument.parts else argument), rest[1:]
            return moved(argument, head), rest[1:]
        if head == "kept":
            return (NUMPY if argument_of(rest[0], arguments).place == "numpy" else DEVICE), rest[1:]
        if head in {"scalar", "drawn"}:
            return PYTHON, rest[head == "drawn" :]
        if head in {"promote", "elementwise"}:
            places = [leaf.place for _, value in arguments for leaf in leaves(value)]
            device = head == "promote" and "device" in places
            return (DEVICE if device else PYTHON if set(places) <= {"python"} else NUMPY), rest
        if head == "object":
            return Value("object", name=rest[0]), rest[1:]
        if head == "wrap":
            return Value("object", (argument_of(rest[1], arguments),), rest[0]), rest[2:]
        if head == "tuple":
            parts = []
            while rest:
                part, rest = self.returned(rest, arguments)
                parts.append(part)
            return Value("sequence", tuple(parts)), rest
        if head == "callable":
            return Value("callable", name=" ".join(rest)), []
        if head in {"list", "dict", "iter"}:
            part, rest = self.returned(rest, arguments)
            return Value("mapping" if head == "dict" else "sequence", (part,)), rest
        return Value(head), rest


def argument_of(word: str, arguments: Bound) -> Value:
    return next((value for at, value in arguments if str(at) == word), UNKNOWN)


def moved(value: Value, place: str) -> Value:
    if value.place in CONTAINERS:
        return replace(value, parts=tuple(moved(part, place) for part in value.parts))
    return Value(place) if value.place in {"device", "numpy"} or place == "device" else value


ARRAYS = "x y m s i b mask idx key raw c u bf one empty"
MAKERS = {"mk_scalar", "mk_big", "mk_reps", "mk_keys", "mk_m4"}
LIBRARIES = {
    "absl", "bisect", "cmath", "collections", "copy", "csv", "ctypes", "decimal", "fractions", "functools", "heapq",
    "io", "itertools", "jax", "json", "logging", "marshal", "math", "multiprocessing", "operator", "pickle", "pprint",
    "queue", "random", "reprlib", "statistics", "string", "struct", "sys", "textwrap", "time", "unittest", "warnings",
    "hashlib", "base64", "zlib", "gc", "traceback", "cloudpickle", "joblib", "orjson", "weakref", "datetime",
}  # fmt: skip


def judged(row: dict[str, str]) -> bool:
    reader = Reader()
    reader.prepare(row.get("setup", ""))
    for statement in ast.parse(row["snippet"]).body:
        if not isinstance(statement, ast.Expr):
            raise BeyondData("statement")
        reader.value(statement.value)
    return reader.fetches


UNCOVERED = {
    "eco_pandas_df": "no key says: the values of a dict, but nothing below them",
    "id_print_big": "1 MiB and more is printed by its shape alone: sizes are not data",
    "id_print_list_big": "the same",
    "id_repr_big": "the same",
    "id_str_big": "the same",
    "json_dumps_default_str": "no key says: only with this keyword",
}


def parameter(row: dict[str, str]) -> object:
    reason = UNCOVERED.get(row["id"])
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(row, id=row["id"], marks=marks)


@pytest.mark.parametrize("row", [parameter(row) for row in ROWS])
def test_models_agree_with_the_guard(row: dict[str, str]) -> None:
    try:
        fetches = judged(row)
    except BeyondData as reason:
        pytest.skip(str(reason))
    assert fetches == (row["fetch"] == "yes")


def test_most_rows_are_compared() -> None:
    compared = []
    for row in ROWS:
        with contextlib.suppress(BeyondData):
            judged(row)
            compared.append(row["fetch"])
    assert len(compared) > 500
    assert set(compared) == {"yes", "no"}

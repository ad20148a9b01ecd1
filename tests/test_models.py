"""The model files: well formed, each name described once, each JAX and NumPy name there. No loader is involved."""

import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from jaxlint.check import check_text
from jaxlint.sites import Operation

MODELS = Path(__file__).parents[1] / "jaxlint" / "models"
FILES = sorted(MODELS.glob("*.toml"))

Entry = dict[str, object]

NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\.\*)?")
VERSION = re.compile(r"\d+(\.\d+)*")
OPERATIONS = {operation.value for operation in Operation}
UPLOADS = {"eager-call", "upload", "explicit-upload", "compiled-call"}
PLACES = {"none", "python", "numpy", "device", "host", "unknown", "promote", "elementwise", "scalar"}
OF_ARGUMENT = {"arg", "device", "numpy", "python", "dispatch", "element", "leaf", "reduced", "kept", "drawn"}

FLAGS = {"boolean", "class_method", "compares", "creates", "deep", "looped", "makes", "reads_containers"}
ARGUMENTS = {"reads", "uploads", "concrete", "fetches", "value_shape"}
FUNCTION_KEYS = {
    "names",
    "returns",
    "operation",
    "upload_operation",
    "unless",
    "only_arity",
    "takes",
    "handler",
    "when",
}
FUNCTION_KEYS |= {"brings", "since", "until"} | FLAGS | ARGUMENTS
ATTRIBUTE_KEYS = {"names", "returns", "reads", "operation", "since", "until"}


def load(path: Path) -> dict[str, object]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def entries(path: Path, kind: str) -> Iterator[Entry]:
    tables = load(path).get(kind, [])
    assert isinstance(tables, list)
    for table in tables:
        assert isinstance(table, dict)
        yield table


def names(entry: Entry) -> list[str]:
    found = entry.get("names")
    assert isinstance(found, list), f"no names: {entry}"
    assert found, f"no names: {entry}"
    return [str(name) for name in found]


def aliases(path: Path) -> dict[str, str]:
    table = load(path).get("alias", {})
    assert isinstance(table, dict)
    return {str(other): str(name) for other, name in table.items()}


def renamed() -> list[tuple[str, str]]:
    return [(other, name) for path in FILES for other, name in aliases(path).items() if other != name]


def returned(words: list[str]) -> list[str]:
    """Takes one `returns` word with what belongs to it off the front; the rest is given back."""
    head, rest = words[0], words[1:]
    if head in OF_ARGUMENT and rest and (rest[0].isdigit() or rest[0] == "self"):
        return rest[1:]
    if head in PLACES:
        return rest
    if head in {"object", "wrap"}:
        assert NAME.fullmatch(rest[0]), f"{head} needs a class: {words}"
        assert head == "object" or rest[1] == "self" or rest[1].isdigit(), f"wrap needs an argument: {words}"
        return rest[1:] if head == "object" else rest[2:]
    if head == "tuple":
        while rest:
            rest = returned(rest)
        return rest
    assert head in {"list", "dict", "iter", "callable"}, f"not a word of returns: {head}"
    return returned(rest)


def check_arguments(key: str, value: object) -> None:
    if value == "all":
        assert key in {"reads", "uploads"}, f'{key} cannot be "all"'
        return
    assert isinstance(value, list), f"{key} = {value!r}"
    assert value, f"{key} is empty"
    for argument in value:
        position = isinstance(argument, int) and not isinstance(argument, bool) and argument >= 0
        assert position or (isinstance(argument, str) and argument.isidentifier()), f"{key}: {argument!r}"
    assert len(set(map(str, value))) == len(value), f"{key}: an argument twice"


def check_entry(entry: Entry, keys: set[str]) -> None:
    assert entry.keys() <= keys, f"unknown key: {entry.keys() - keys}"
    assert all(NAME.fullmatch(name) for name in names(entry))
    returns = entry.get("returns")
    assert isinstance(returns, str) or "handler" in entry
    if isinstance(returns, str):
        assert returned(returns.split()) == [], f"left over: {returns}"
    for word in dict(entry.get("when", {})).values():  # type: ignore[call-overload]
        assert returned(str(word).split()) == [], f"left over: {word}"
    for key in ARGUMENTS & entry.keys():
        check_arguments(key, entry[key])
    for key in FLAGS & entry.keys():
        assert entry[key] is True, f"{key} is only ever true"
    for key in {"since", "until"} & entry.keys():
        assert VERSION.fullmatch(str(entry[key]))
    reading = "reads" in entry
    assert reading == ("operation" in entry), f"reads and operation come together: {names(entry)}"
    assert reading or not {"compares", "deep", "reads_containers"} & entry.keys(), (
        f"deep, but nothing is read: {names(entry)}"
    )
    assert entry.get("operation", "print") in OPERATIONS
    assert ("uploads" in entry) == ("upload_operation" in entry), f"upload_operation: {names(entry)}"
    assert entry.get("upload_operation", "upload") in UPLOADS
    brings = entry.get("brings", {"": "numpy"})
    assert isinstance(brings, dict)
    assert set(brings.values()) <= {"device", "numpy", "python"}, f"brings: {names(entry)}"
    assert "looped" in entry or not {"brings", "makes", "takes"} & entry.keys(), (
        f"brings, but nothing is called: {names(entry)}"
    )
    conditional = reading or "value_shape" in entry or "concrete" in entry
    for key in {"unless", "only_arity"} & entry.keys():
        assert conditional, f"{key} without anything that it could stop: {names(entry)}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_file_is_well_formed(path: Path) -> None:
    assert load(path).keys() <= {"alias", "function", "attribute"}
    for entry in entries(path, "function"):
        check_entry(entry, FUNCTION_KEYS)
    for entry in entries(path, "attribute"):
        check_entry(entry, ATTRIBUTE_KEYS)
    for other, name in aliases(path).items():
        assert NAME.fullmatch(other)
        assert NAME.fullmatch(name)


@pytest.mark.parametrize("path", [p for p in FILES if p.name != "transforms.toml"], ids=lambda path: path.name)
def test_data_is_tidy(path: Path) -> None:
    assert all(len(line) <= 120 for line in path.read_text(encoding="utf-8").splitlines()), "a line over 120"
    for kind in ("function", "attribute"):
        for entry in entries(path, kind):
            assert names(entry) == sorted(names(entry))


@pytest.mark.parametrize("kind", ["function", "attribute"])
def test_name_is_described_once(kind: str) -> None:
    found = Counter(name for path in FILES for entry in entries(path, kind) for name in names(entry))
    assert [name for name, count in found.items() if count > 1] == []


def test_described_name_is_no_alias() -> None:
    other = [alias for alias, _ in renamed()]
    assert [alias for alias, count in Counter(other).items() if count > 1] == [], "an alias twice"
    described = [
        name
        for path in FILES
        for kind in ("function", "attribute")
        for entry in entries(path, kind)
        for name in names(entry)
    ]
    hidden = [name for name in described if any(name == alias or name.startswith(f"{alias}.") for alias in other)]
    assert hidden == [], "an alias leads away from these entries"


def test_alias_leads_to_a_canonical_name() -> None:
    table = dict(renamed())
    assert [name for name in table.values() if name in table] == []


# --- Names of JAX and NumPy ----------------------------------------------------------------------------------------


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text)[:4])


def applies(entry: Entry, installed: str) -> bool:
    """`since` is the first version that has the name, `until` the last. Handlers also name what is long gone."""
    if "handler" in entry:
        return False
    since, until = (version(str(entry.get(key, ""))) for key in ("since", "until"))
    have = version(installed)
    return since <= have and (not until or have[: len(until)] <= until)


def exists(name: str, root: ModuleType) -> bool:
    """Whether the dotted name can be reached: modules are imported on the way, array classes stand for arrays."""
    parts = name.removesuffix(".*").split(".")
    value: object = root
    for count, part in enumerate(parts[1:], 2):
        if isinstance(value, ModuleType) and not hasattr(value, part):
            try:
                importlib.import_module(".".join(parts[:count]))
            except ImportError:
                return False
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def is_private_word(name: str) -> bool:
    """Names that stand for what has no public name: the product of a call, a special method."""
    return name.startswith(("jax.Array.at.", "jax.Shard.")) or name.rpartition(".")[2].startswith("__")


def missing(root: ModuleType, prefix: str, array: type) -> list[str]:
    package, installed = root.__name__, str(root.__version__)
    absent = []
    for path in FILES:
        for kind in ("function", "attribute"):
            for entry in entries(path, kind):
                for name in names(entry):
                    if not name.startswith(f"{package}.") or not applies(entry, installed) or is_private_word(name):
                        continue
                    if name.startswith(f"{prefix}.") and not name.endswith("*"):
                        if not hasattr(array, name.removeprefix(f"{prefix}.")):
                            absent.append(name)
                    elif not exists(name, root):
                        absent.append(name)
    return absent


@pytest.mark.filterwarnings("ignore")
def test_jax_names_exist() -> None:
    jax = pytest.importorskip("jax")
    assert missing(jax, "jax.Array", type(jax.numpy.zeros(1))) == []


@pytest.mark.filterwarnings("ignore")
def test_numpy_names_exist() -> None:
    numpy = pytest.importorskip("numpy")
    assert missing(numpy, "numpy.ndarray", numpy.ndarray) == []


SOLVER = """\
import jaxopt
from jaxopt import OptaxSolver

params, state = jaxopt.LBFGS(fun=loss).run(start)
print(params)
solver = OptaxSolver(opt=adam, fun=loss)
for _ in range(10):
    params, state = solver.update(params, state)
    print(f"{state.value:.3f}")
"""


def test_what_a_solver_of_jaxopt_returns_is_on_the_device() -> None:
    found = [(finding.code, finding.span.line) for finding in check_text(SOLVER).findings]
    assert found == [("JT101", 5), ("JT102", 9)]


INFERENCE = """\
import numpy as np
from numpyro.infer import MCMC, NUTS, SVI, Predictive

mcmc = MCMC(NUTS(model), num_warmup=1, num_samples=1)
mcmc.run(key)
posterior = mcmc.get_samples()
np.quantile(posterior["p"], [0.5])
svi = SVI(model, guide, adam, loss=elbo)
state = svi.init(key)
for _ in range(10):
    state, loss = svi.update(state)
    float(loss)
for name, value in svi.get_params(state).items():
    print(f"{name} = {value}")
print(Predictive(model, posterior)(key)["obs"])
"""


def test_what_inference_of_numpyro_returns_is_on_the_device() -> None:
    found = [(finding.code, finding.span.line) for finding in check_text(INFERENCE).findings]
    assert found == [("JT107", 7), ("JT104", 12), ("JT102", 14), ("JT101", 15)]

"""Knowledge of libraries, read from ``models/*.toml`` (form: models/README.md). Data in, frozen records out."""

import difflib
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from jaxlint.errors import UserError
from jaxlint.sites import Operation

Positions = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class FunctionModel:
    """What a library callable does with its arguments; see models/README.md for each key."""

    returns: str = "unknown"
    reads: Positions = ()
    reads_all: bool = False
    operation: Operation | None = None
    deep: bool = False
    reads_containers: bool = False
    compares: bool = False
    unless: Positions = ()
    only_with: Positions = ()
    dict_values: bool = False
    only_arity: int | None = None
    uploads: Positions = ()
    uploads_all: bool = False
    upload_operation: Operation | None = None
    creates: bool = False
    concrete: Positions = ()
    fetches: Positions = ()
    value_shape: Positions = ()
    boolean: bool = False
    class_method: bool = False
    looped: bool = False
    takes: int | None = None
    makes: bool = False
    brings: tuple[tuple[str, str], ...] = ()
    handler: str | None = None
    when: tuple[tuple[str, str], ...] = ()


_KEYS = {
    "names", "returns", "reads", "operation", "deep", "reads_containers", "compares", "unless", "only_with",
    "only_arity", "dict_values", "uploads", "upload_operation", "creates", "concrete", "fetches", "value_shape",
    "boolean", "class_method", "looped", "makes", "takes", "brings", "handler", "since", "until", "when",
}  # fmt: skip


_POSITIONS = {"reads", "unless", "only_with", "uploads", "concrete", "fetches", "value_shape"}
_FLAGS = {
    "deep", "reads_containers", "compares", "dict_values", "creates", "boolean", "class_method", "looped", "makes",
}  # fmt: skip
_TEXTS = {"returns", "operation", "upload_operation", "handler", "since", "until"}
_BROUGHT = {"device", "numpy", "python"}
_NAME = re.compile(r"\w+(?:\.\w+)*(?:\.\*)?")
_CLASS = re.compile(r"[A-Z]\w*[a-z]\w*(?:\.\w+)*")
"""A class, by the way in which everybody names them, or a part of it."""


_WORDS = {
    "none", "python", "numpy", "device", "host", "unknown", "arg", "dispatch", "element", "list", "tuple", "dict",
    "iter", "object", "wrap", "callable", "promote", "elementwise", "reduced", "kept", "scalar", "drawn",
}  # fmt: skip
"""How a `returns` word begins."""


class Models:
    """All models by canonical name. Look-ups are cached; `name` arguments are dotted names as imports resolve them."""

    def __init__(self) -> None:
        self._functions: dict[str, FunctionModel] = {}
        self._families: dict[str, FunctionModel] = {}
        self._attributes: dict[str, str] = {}
        self._attribute_reads: dict[str, Operation] = {}
        self._aliases: dict[str, str] = {}
        self._canonical: dict[str, str] = {}
        self._found: dict[str, FunctionModel | None] = {}
        self.libraries: set[str] = set()

    def add(self, data: dict[str, object], where: str) -> None:
        """Add one parsed TOML document; `where` names it in errors. Raises UserError."""
        for key in data:
            if key not in {"alias", "function", "attribute"}:
                raise _unknown(where, "table", key, ("alias", "function", "attribute"))
        for old, new in _table(data.get("alias", {}), where).items():
            if not isinstance(new, str) or not _NAME.fullmatch(new):
                raise UserError(
                    f"{_line_of(where, old, is_key=True)}: an alias is the other name of a library or of a part of it"
                )
            if new != old and self._aliased(new) == old:
                raise UserError(f'{_line_of(where, old, is_key=True)}: the alias "{old}" leads back to itself')
            self._aliases[old] = new
            self.libraries.add(old.partition(".")[0])
        for block in _blocks(data.get("function", []), where):
            for key in block:
                if key not in _KEYS:
                    raise _unknown(where, "key", key, _KEYS)
            _look_at(block, where)
            model = _function(block, where)
            for name in _names(block, where):
                self.libraries.add(name.partition(".")[0])
                if name.endswith(".*"):
                    self._families[name[:-2]] = model
                else:
                    self._functions[name] = model
        for block in _blocks(data.get("attribute", []), where):
            for name in _names(block, where):
                self._attributes[name] = _returns(block, where)
                operation = _operation(block.get("operation"), where)
                if operation is not None:
                    self._attribute_reads[name] = operation
        self._found.clear()

    def _aliased(self, name: str) -> str:
        """What the aliases of a whole name lead to."""
        seen = {name}
        while (target := self._aliases.get(name)) is not None and target not in seen:
            name = target
            seen.add(name)
        return name

    def canonical(self, name: str) -> str:
        """The canonical spelling of a dotted library name: the longest alias prefix is replaced, repeatedly."""
        known = self._canonical.get(name)
        if known is not None:
            return known
        out = name
        for _ in range(4):
            parts = out.split(".")
            for n in range(len(parts), 0, -1):
                target = self._aliases.get(".".join(parts[:n]))
                if target is not None:
                    out = ".".join([target, *parts[n:]])
                    break
            else:
                break
        self._canonical[name] = out
        return out

    def function(self, name: str) -> FunctionModel | None:
        """The model of a callable, exact or by the longest family (``jax.numpy.*``); None where there is none.

        What a family of functions on arrays says is not said of the classes among them.
        """
        if name in self._found:
            return self._found[name]
        model = self._functions.get(name)
        head = name
        while model is None and "." in head:
            head = head.rpartition(".")[0]
            model = self._families.get(head)
            if model is not None and model.returns == "device" and _CLASS.fullmatch(name, len(head) + 1):
                model = None
                break
        self._found[name] = model
        return model

    def exact(self, name: str) -> bool:
        """True if the name itself has a model."""
        return name in self._functions

    def names_below(self, module: str) -> list[str]:
        """The names that models describe directly below a module: what a star import brings."""
        prefix = module + "."
        names = [*self._functions, *self._attributes, *self._aliases]
        return sorted({n[len(prefix) :] for n in names if n.startswith(prefix) and "." not in n[len(prefix) :]})

    def attribute_reads(self, name: str) -> Operation | None:
        """The operation by which reading an attribute fetches its object; None where it does not."""
        return self._attribute_reads.get(name)

    def attribute_of(self, name: str) -> str | None:
        """Like `attribute`, of the name itself alone."""
        return self._attributes.get(name)

    def attribute(self, name: str) -> str | None:
        """What an attribute holds, as a `returns` word; None where nothing is said."""
        word = self._attributes.get(name)
        if word is None:
            word = self._attributes.get(name.rpartition(".")[0] + ".*")
        return word


def _table(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise UserError(f"{where}: a table is expected")
    return {str(k): v for k, v in value.items()}


def _blocks(value: object, where: str) -> Iterable[dict[str, object]]:
    if not isinstance(value, list):
        raise UserError(f"{where}: [[function]] and [[attribute]] are lists of blocks")
    for block in value:
        yield _table(block, where)


def _names(block: dict[str, object], where: str) -> list[str]:
    names = block.get("names")
    if names is None:
        raise UserError(f"{where}: a block without names")
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and _NAME.fullmatch(n) for n in names):
        raise UserError(
            f'{_line_of(where, "names", is_key=True)}: names is a list of dotted names, as ["library.function"]'
        )
    return [str(n) for n in names]


def _look_at(block: dict[str, object], where: str) -> None:
    """Refuses a block whose values are not of their kind, or which says nothing."""
    for key, value in block.items():
        wanted = ""
        if key in _POSITIONS and not (value == "all" and key in {"reads", "uploads"}):
            if not isinstance(value, list) or not value or not all(map(_is_position, value)):
                wanted = 'a list of positions from 0 and of keywords, as [0, "x"]'
        elif key in _FLAGS and not isinstance(value, bool):
            wanted = "true or false"
        elif key in _TEXTS and not isinstance(value, str):
            wanted = "a text"
        elif key in {"only_arity", "takes"} and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            wanted = "a number of arguments"
        elif key == "brings" and not (isinstance(value, dict) and set(map(str, value.values())) <= _BROUGHT):
            wanted = 'a table of parameters, each "device", "numpy" or "python"'
        if wanted:
            raise UserError(f"{_line_of(where, key, is_key=True)}: {key} is {wanted}")
    if "reads" in block and "operation" not in block:
        raise UserError(
            f"{_line_of(where, 'reads', is_key=True)}: reads needs an operation: what is done to what is read"
        )
    if block.keys() <= {"names", "since", "until"}:
        raise UserError(f"{where}: a block that says nothing of its names: give returns, reads or uploads")


def _is_position(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def _positions(value: object) -> Positions:
    if isinstance(value, list):
        return tuple(v if isinstance(v, int) else str(v) for v in value)
    return ()


def _operation(value: object, where: str) -> Operation | None:
    if value is None:
        return None
    try:
        return Operation(str(value))
    except ValueError:
        raise _unknown(where, "operation", str(value), tuple(Operation)) from None


def _returns(block: dict[str, object], where: str) -> str:
    text = str(block.get("returns", "unknown"))
    if not text.split():
        raise UserError(
            f"{_line_of(where, 'returns', is_key=True)}: returns is empty: leave it out, or say what comes back"
        )
    head = text.split()[0]
    if head not in _WORDS:
        raise _unknown(where, "word", head, _WORDS, text)
    return text


def _unknown(where: str, what: str, word: str, known: Iterable[str], written: str | None = None) -> UserError:
    """The error of a word that does not exist: its line where the file can be read, and the nearest that does."""
    close = difflib.get_close_matches(word.lower(), known, 1)
    rest = f'did you mean "{close[0]}"?' if close else "it is one of " + ", ".join(sorted(known))
    return UserError(f'{_line_of(where, written or word)}: unknown {what} "{word}": {rest}')


def _line_of(where: str, word: str, *, is_key: bool = False) -> str:
    """The place of a word, or of a key, that is written at or below ``file:line``."""
    file, _, line = where.rpartition(":")
    if not line.isdigit():
        return where
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return where
    escaped = re.escape(word)
    word_or_table = rf"""["']{escaped}["']|^\s*{escaped}\s*=|^\s*\[+[^\]]*\b{escaped}\]"""
    written = re.compile(rf"""^\s*["']?{escaped}["']?\s*=""" if is_key else word_or_table)
    numbers = (n for n, text in enumerate(lines, 1) if n >= int(line) and written.search(text))
    return f"{file}:{next(numbers, line)}"


def _function(block: dict[str, object], where: str) -> FunctionModel:
    reads, uploads, arity = block.get("reads"), block.get("uploads"), block.get("only_arity")
    takes = block.get("takes")
    handler, when = block.get("handler"), _table(block.get("when", {}), where)
    return FunctionModel(
        returns=_returns(block, where),
        reads=_positions(reads),
        reads_all=reads == "all",
        operation=_operation(block.get("operation"), where),
        deep=bool(block.get("deep", False)),
        reads_containers=bool(block.get("reads_containers", False)),
        compares=bool(block.get("compares", False)),
        unless=_positions(block.get("unless")),
        only_with=_positions(block.get("only_with")),
        dict_values=bool(block.get("dict_values", False)),
        only_arity=arity if isinstance(arity, int) else None,
        uploads=_positions(uploads),
        uploads_all=uploads == "all",
        upload_operation=_operation(block.get("upload_operation"), where),
        creates=bool(block.get("creates", False)),
        concrete=_positions(block.get("concrete")),
        fetches=_positions(block.get("fetches")),
        value_shape=_positions(block.get("value_shape")),
        boolean=bool(block.get("boolean", False)),
        class_method=bool(block.get("class_method", False)),
        looped=bool(block.get("looped", False)),
        takes=takes if isinstance(takes, int) else None,
        makes=bool(block.get("makes", False)),
        brings=tuple((name, str(word)) for name, word in _table(block.get("brings", {}), where).items()),
        handler=None if handler is None else str(handler),
        when=tuple((option, _returns({"returns": word}, where)) for option, word in when.items()),
    )


def load_models(folder: Path | None = None, extra: dict[str, object] | None = None) -> Models:
    """The shipped models, then the user's own (`[tool.jaxlint.models]`), which win. Raises UserError."""
    models = Models()
    for path in sorted((folder or Path(__file__).parent.parent / "models").glob("*.toml")):
        with path.open("rb") as f:
            try:
                models.add(tomllib.load(f), path.name)
            except tomllib.TOMLDecodeError as e:
                raise UserError(f"{path.name}: {e}") from None
    if extra:
        models.add(extra, "[tool.jaxlint.models]")
    return models

"""Imports only go down the layers of the design; `check` never imports jax; `witness` never imports jaxlint.

Every law here is a function of a folder, so that the last tests can hand it a folder that breaks it.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "jaxlint"
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli", "pytest_plugin"),
    ("commands", "watched"),
    ("server", "watching", "completion", "api"),
    ("repairs",),
    ("check", "fix", "baseline", "confirm", "trace", "report"),
    ("fixes", "inputs", "selection", "cache", "projects", "workers"),
    ("settings",),
    ("keys", "configuration", "records", "ranks", "processes"),
    ("rulebook", "interp", "transfers", "statements"),
    ("pages", "source", "sites", "findings"),
    ("kinds", "errors"),
    ("witness",),
)
# Below every layer: the version alone.
ROOT_MODULE = "jaxlint"
# All that the rest of jaxlint may see of the witness: where it lies, and the form of its plan.
WITNESS_SEEN = ("", ".plan")
# The interface in Python starts the witness in its own process; its types alone are imported.
WITNESS_TYPES = {"api": (".inside", ".levels", ".recording")}
# Words that others in the same layer build on.
SAME_LAYER = {("findings", "sites"), ("source", "sites"), ("source", "findings")}


def imports(file: Path, package: Path) -> Iterator[str]:
    """The absolute names that a file imports, wherever the import stands in it."""
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level == 1 and unit(file, package) == "witness":
                # Its modules name one another so, because the folder is also loaded under another name.
                continue
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            if node.module == ROOT_MODULE:
                known = {path.stem for path in package.iterdir()}
                yield from (f"{node.module}.{a.name}" if a.name in known else ROOT_MODULE for a in node.names)
            else:
                yield node.module or ""


def unit(file: Path, package: Path) -> str:
    """The layer's name of a file: its module, or the folder that holds it."""
    return file.relative_to(package).parts[0].removesuffix(".py")


def breaches(package: Path) -> list[str]:
    """Each import that does not go down."""
    rank = {name: index for index, layer in enumerate(LAYERS) for name in layer}
    found = []
    for file in sorted(package.rglob("*.py")):
        here = unit(file, package)
        if here in ("__init__", "witness"):
            continue
        if here not in rank:
            found.append(f"{here} has no layer")
            continue
        for name in imports(file, package):
            parts = name.split(".")
            if parts[0] != ROOT_MODULE or len(parts) == 1 or parts[1] in (here, ROOT_MODULE):
                continue
            there = parts[1]
            if there == "witness" and not _is_seen(name.removeprefix("jaxlint.witness"), here):
                found.append(f"{here} imports {name}")
            if rank.get(there, -1) <= rank[here] and (here, there) not in SAME_LAYER:
                found.append(f"{here} imports {there}")
    return found


def _is_seen(part: str, here: str) -> bool:
    return part.startswith((".plan.", *(f"{module}." for module in WITNESS_TYPES.get(here, ())))) or part in (
        *WITNESS_SEEN,
        *WITNESS_TYPES.get(here, ()),
    )


def strangers(package: Path, folders: tuple[str, ...], forbidden: tuple[str, ...]) -> list[str]:
    """The forbidden top-level names that files of some parts import."""
    return [
        f"{file.relative_to(package).as_posix()} imports {name}"
        for file in sorted(package.rglob("*.py"))
        if unit(file, package) in folders
        for name in imports(file, package)
        if name.split(".")[0] in forbidden
    ]


def loaded(code: str, cwd: Path) -> set[str]:
    """The top-level modules that are loaded after `code` in a fresh interpreter."""
    script = f"{code}\nimport sys\nprint('\\n'.join({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_imports_go_down() -> None:
    assert breaches(PACKAGE) == []


def test_rulebook_and_interp_meet_only_in_sites() -> None:
    for one, other in (("rulebook", "interp"), ("interp", "rulebook")):
        files = [file for file in PACKAGE.rglob("*.py") if unit(file, PACKAGE) == one]
        assert not [name for file in files for name in imports(file, PACKAGE) if name.startswith(f"jaxlint.{other}")]


def test_no_part_but_the_witness_imports_jax_or_numpy() -> None:
    others = tuple({unit(file, PACKAGE) for file in PACKAGE.rglob("*.py")} - {"witness"})
    assert strangers(PACKAGE, others, ("jax", "jaxlib", "numpy")) == []


def test_the_witness_never_imports_jaxlint() -> None:
    assert strangers(PACKAGE, ("witness",), ("jaxlint",)) == []


def test_a_check_loads_nothing_but_python_and_itself(tmp_path: Path) -> None:
    code = "from jaxlint.check import check_text\nassert check_text('import jax\\nprint(jax.numpy.ones(3))').findings"
    before, after = loaded("", PACKAGE.parent), loaded(code, PACKAGE.parent)
    assert after - before - sys.stdlib_module_names == {"jaxlint"}


def test_a_check_loads_nothing_of_what_other_commands_need(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("import jax\nprint(jax.numpy.ones(3))\n")
    code = f"import os, jaxlint.cli\nos.chdir({str(tmp_path)!r})\njaxlint.cli.main(['check', '-q', '.'])"
    names = loaded(code, PACKAGE.parent)
    assert {"jaxlint", "ast"} <= names
    assert names.isdisjoint({"pygls", "lsprotocol", "cattrs", "watchfiles", "shtab", "mkdocs", "asyncio"})


class TestTheLawsCanFail:
    @pytest.fixture
    def package(self, tmp_path: Path) -> Path:
        for name in ("cli.py", "kinds.py", "check.py", "interp/run.py", "witness/start.py"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("")
        return tmp_path

    @pytest.mark.parametrize(
        ("name", "text", "breach"),
        [
            ("kinds.py", "import jaxlint.cli", "kinds imports cli"),
            ("interp/run.py", "def f():\n    from jaxlint.check import x", "interp imports check"),
            ("kinds.py", "from jaxlint import cli", "kinds imports cli"),
            ("check.py", "from jaxlint.witness.doors import x", "check imports jaxlint.witness.doors"),
            ("news.py", "", "news has no layer"),
        ],
    )
    def test_an_import_upwards_is_seen(self, package: Path, name: str, text: str, breach: str) -> None:
        assert breaches(package) == []
        (package / name).write_text(text)
        assert breaches(package) == [breach]

    def test_a_stranger_is_seen(self, package: Path) -> None:
        (package / "check.py").write_text("def f():\n    import jax.numpy")
        assert strangers(package, ("check",), ("jax",)) == ["check.py imports jax.numpy"]
        (package / "witness/start.py").write_text("from jaxlint.kinds import Kind")
        assert strangers(package, ("witness",), ("jaxlint",)) == ["witness/start.py imports jaxlint.kinds"]

    def test_what_a_program_loads_is_seen(self, tmp_path: Path) -> None:
        (tmp_path / "jax.py").write_text("")
        assert "jax" in loaded("import jax", tmp_path)

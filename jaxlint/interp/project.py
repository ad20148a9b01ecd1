"""The project: which file a dotted name means, and its modules, loaded when somebody asks."""

import sys
from collections.abc import Container, Sequence

from jaxlint.interp.program import Loader, Module, SourceFile


class Project:
    """The modules of the project by dotted name, loaded when somebody asks.

    `paths` are all Python files that may be imported, as displayed; `requested` those that the user asked to check;
    `libraries` the first names of what is no module of the project.
    """

    def __init__(
        self, paths: Sequence[str], requested: Sequence[str], load: Loader, libraries: Container[str] = ()
    ) -> None:
        self._libraries = libraries
        self._load = load
        self._requested = frozenset(requested)
        self._modules: dict[str, Module | None] = {}
        self._by_name: dict[str, list[str]] = {}
        self._paths = frozenset(paths)
        packages = {p.rpartition("/")[0] for p in paths if p.rpartition("/")[2] == "__init__.py"}
        self._packages = packages
        self._whole: dict[str, str] = {}
        self._folders: set[str] = set()
        for path in paths:
            stem = path.removesuffix(".py").removesuffix(".pyi").removesuffix("/__init__")
            parts = [p for p in stem.split("/") if p not in {"", ".", ".."}]
            self._folders.update(parts[:-1])
            self._whole["" if path == "__init__.py" else ".".join(parts)] = path
            for n in range(len(parts)):
                self._by_name.setdefault(".".join(parts[n:]), []).append(path)

    def forget(self) -> None:
        """Let go of the modules, which know their functions, which know their modules."""
        for module in self._modules.values():
            if module is not None:
                module.__dict__.clear()
        self._modules.clear()

    def module_name(self, path: str) -> str:
        """The dotted name under which a file is imported: from the outermost folder that is a package."""
        stem = path.removesuffix(".py").removesuffix("/__init__")
        parts = [] if stem == "__init__" else stem.split("/")
        start = len(parts) - 1
        while start > 0 and "/".join(parts[:start]) in self._packages:
            start -= 1
        return ".".join(p for p in parts[start:] if p not in {"", ".", ".."})

    def at(self, path: str) -> Module | None:
        """The module in a file, loaded at the first request."""
        if path not in self._modules:
            source = self._load(path)
            self._modules[path] = source if source is None else self._module(path, source)
        return self._modules[path]

    def has(self, path: str) -> bool:
        """True of a path that may be imported."""
        return path in self._paths

    def _module(self, path: str, source: SourceFile) -> Module:
        return Module(
            source,
            self.module_name(path),
            is_package=path.endswith("/__init__.py") or path == "__init__.py",
            requested=path in self._requested,
        )

    def find(self, name: str, importer: str) -> str | None:
        """The path of the module called `name`, nearest to the importing file where several fit.

        Of several files of one name outside of packages, each beside scripts of its own, it is the one beside the
        importing file or above; which other one is meant only the path of whoever runs the program says.
        """
        candidates = self._by_name.get(name)
        if not candidates:
            return self._below_the_root(name, importer)
        found = max(candidates, key=lambda p: self._fitness(p, name, importer))
        if len(candidates) > 1 and "." not in name and not found.endswith("/__init__.py"):
            folder = found.rpartition("/")[0]
            loose = [p for p in candidates if p.rpartition("/")[0] not in self._packages]
            if len(loose) > 1 and folder and found in loose and not importer.startswith(f"{folder}/"):
                return None
        return found

    def _below_the_root(self, name: str, importer: str) -> str | None:
        """The path of a module of a package that is the root folder itself, whatever a clone of it is called."""
        head, _, rest = name.partition(".")
        found = self._whole.get(rest)
        if found is None or head in self._folders or head in self._libraries or head in sys.stdlib_module_names:
            return None
        return found if self._is_own_name(head) else None

    def _is_own_name(self, head: str) -> bool:
        """True of the name by which the modules loaded so far import two of them at least, and nothing else."""
        asked = [names for m in self._modules.values() if m is not None for names in m.imported_from(head)]
        found = {next((n for n in reversed(names) if n in self._whole), None) for names in asked}
        return len(found) > 1 and None not in found

    def _fitness(self, path: str, name: str, importer: str) -> tuple[bool, int, int]:
        common = 0
        for a, b in zip(path.split("/"), importer.split("/"), strict=False):
            if a != b:
                break
            common += 1
        return (self.module_name(path) == name, common, -len(path))

    @staticmethod
    def absolute(module: Module, level: int, name: str) -> str:
        """The absolute name that a relative import of `level` dots means inside `module`."""
        parts = module.name.split(".") if module.name else []
        keep = len(parts) - level + (1 if module.is_package else 0)
        head = parts[: max(keep, 0)]
        return ".".join([*head, name] if name else head)

"""What is to be done when a module has been imported, whoever finds and loads it.

A finder of our own stands before the others and adds a step to the loader of what they find. The program may put
another one before it, as the import hooks of type checkers are: so the loader of all source files tells as well.
Needs the standard library alone.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

Step = Callable[[ModuleType], None]


def after_import(name: str, step: Step) -> None:
    """Calls with the module when it has been imported, now if it is already."""
    module = sys.modules.get(name)
    if module is not None:
        step(module)
        return
    if not _awaited.finders:
        _watch_source_files()
    finder = _After(name, step)
    _awaited.finders.append(finder)
    sys.meta_path.insert(0, finder)


class _Awaited:
    """The modules that are awaited; once a process."""

    def __init__(self) -> None:
        self.finders: list[_After] = []

    def came(self, module: ModuleType) -> None:
        """The module has been run."""
        for finder in [finder for finder in self.finders if finder.name == module.__name__]:
            self.finders.remove(finder)
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
            finder.step(module)


class _After(importlib.abc.MetaPathFinder):
    """Finds nothing itself: it lets the other finders find one module and adds a step to its loader."""

    def __init__(self, name: str, step: Step) -> None:
        self.name, self.step = name, step

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or not hasattr(spec.loader, "exec_module"):
            return spec
        loader: Any = spec.loader
        if isinstance(loader, type):
            # A frozen module's loader is one class for all: it gets a stand-in.
            spec.loader = loader = _Loader(loader)
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            loader.__dict__.pop("exec_module", None)
            execute(module)
            _awaited.came(module)

        _hide(exec_module)
        try:
            loader.exec_module = exec_module
        except AttributeError:
            return spec
        return spec


class _Loader(importlib.abc.Loader):
    """Loads as another loader does."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.original.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.original.exec_module(module)


def _watch_source_files() -> None:
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.exec_module

    def exec_module(self: Any, module: ModuleType) -> None:
        original(self, module)
        if _awaited.finders:
            _awaited.came(module)

    _hide(exec_module)
    loader.exec_module = exec_module


def _hide(function: Any) -> None:
    """Tracebacks leave out the frames of the import system: those of the function as well."""
    file = importlib.machinery.SourceFileLoader.get_data.__code__.co_filename
    function.__code__ = function.__code__.replace(co_filename=file)


_awaited = _Awaited()

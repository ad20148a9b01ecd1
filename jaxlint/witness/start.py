"""The start of the witness in a Python process: which modules are instrumented, and how, and when a backend starts.

Called while Python itself starts, before any of the user's code. Nothing is imported here that the program might yet
configure: jax is awaited, never fetched.
"""

import ast
import hashlib
import importlib.machinery
import importlib.util
import os
import sys
import warnings
from types import CodeType, ModuleType
from typing import Any

from . import script
from .awaited import after_import
from .backends import Backends
from .cells import Cells
from .ends import Ends
from .marks import Marks
from .plan import VARIABLE, Plan, read_plan
from .records import Recorder
from .rewrite import by_place, instrument


def start() -> None:
    """Reads the plan that the environment names, if it does, and puts the witness in place."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    try:
        plan = read_plan(path)
    except (OSError, ValueError, KeyError):
        return
    recorder = Recorder(plan.records)
    if plan.traced is not None:
        from .tracing import Tracing

        Tracing(plan, plan.traced, recorder).place(after_import)
        return
    witness = Witness(plan, recorder, Marks(plan, recorder))
    witness.place()


class Witness:
    """The witness of one process."""

    def __init__(self, plan: Plan, recorder: Recorder, marks: Marks) -> None:
        self.plan, self.recorder, self.marks = plan, recorder, marks
        self.backends = Backends(plan, recorder)

    def place(self) -> None:
        """Puts the hooks in place; the program then starts as it would have."""
        self.recorder.tell(started=os.getpid(), python=sys.version.split()[0], argv=_shown_arguments())
        self.marks.install()
        _replace_get_code(self)
        after_import("jax", self.begin_backend)
        after_import("runpy", lambda module: _shadow_compile(module, self))
        after_import("_pytest.assertion.rewrite", self.instrument_pytest)
        after_import("coverage.execfile", lambda module: _shadow_compile(module, self))
        after_import("IPython.core.interactiveshell", self.watch_shell)
        # Where older ones have what `%run` runs a file by.
        after_import("IPython.utils.py3compat", lambda module: _shadow_compile(module, self))
        Ends(self.marks.finish, self.recorder.settle).watch(after_import)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.after_fork)
        try:
            script.replace_main(
                lambda path: self.code_of_file(path, is_script=True), self.marks.errors.place, self.plan.records
            )
        except OSError as error:
            self.recorder.tell(file=os.path.realpath(sys.argv[0]), trouble=f"could not be marked: {error.strerror}")

    def watch_shell(self, module: ModuleType) -> None:
        """IPython compiles cells, and the files of `%run`."""
        _shadow_compile(module, self)
        if self.plan.cells:
            Cells(self.plan, self.marks, self.recorder).watch(module)

    def begin_backend(self, _module: ModuleType) -> None:
        """jax has been imported: the guard is made ready to judge."""
        self.backends.start(self.marks)

    def after_fork(self) -> None:
        """In a forked child: its own records."""
        self.recorder.after_fork()
        self.marks.after_fork()
        self.recorder.tell(started=os.getpid(), python=sys.version.split()[0], argv=_shown_arguments())
        self.backends.tell()

    def instrument_pytest(self, module: ModuleType) -> None:
        """pytest compiles test modules itself, and keeps what it compiled: not for files with marks."""
        _shadow_compile(module, self)
        names: Any = module
        read, write = names._read_pyc, names._write_pyc
        names._read_pyc = lambda source, *rest, **more: (
            None if self.plan.marks(str(source)) else read(source, *rest, **more)
        )
        names._write_pyc = lambda state, code, *rest, **more: (
            False if self.plan.marks(code.co_filename) else write(state, code, *rest, **more)
        )

    def code_of_file(self, path: str, is_script: bool = False) -> CodeType | None:
        """The instrumented code of a file with marks; None for every other file."""
        marks = self.plan.marks(path)
        if not marks:
            return None
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError:
            return None
        return self.code_of(data, path, -1, is_script)

    def code_of(
        self, data: bytes | str | ast.Module, path: str, optimize: int, is_script: bool = False
    ) -> CodeType | None:
        """Code of a source text or of its tree, with the marks of the file at `path`; None where it has none, is not
        the text that was read, or does not compile: then the program runs as it is."""
        marks = self.plan.marks(path)
        if not marks:
            return None
        try:
            with open(path, "rb") as file:
                source = file.read()
            if hashlib.sha256(source).hexdigest() != self.plan.digests.get(os.path.realpath(path)):
                self.recorder.tell(file=os.path.realpath(path), trouble="the file changed after it was checked")
                return None
            text = importlib.util.decode_source(source)
            if is_script:
                # For its warnings: what is changed may earn others.
                compile(data, path, "exec", dont_inherit=True, optimize=optimize)
            with warnings.catch_warnings():
                if not isinstance(data, ast.Module):
                    warnings.simplefilter("ignore")
                tree = data if isinstance(data, ast.Module) else ast.parse(data, path)
                new, found = instrument(tree, by_place(marks, text.split("\n")))
                if is_script:
                    new = script.with_first_statement(new, found)
                code: CodeType = compile(new, path, "exec", dont_inherit=True, optimize=optimize)
        except Exception as error:
            self.recorder.tell(file=os.path.realpath(path), trouble=f"could not be marked: {type(error).__name__}")
            return None
        self.marks.errors.place(path, found)
        left = {mark.number for mark in marks} - found.keys()
        self.recorder.tell(file=os.path.realpath(path), marked=sorted(found), unmarked=sorted(left))
        return code


def _replace_get_code(witness: Witness) -> None:
    """Every module that the standard machinery loads from source, `python -m` among them."""
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        if type(self).source_to_code is not loader.source_to_code and witness.plan.marks(path):
            # A loader that changes the source itself: it compiles that with the marks, and nothing is cached.
            module = sys.modules.get(type(self).__module__)
            if module is not None and "compile" not in vars(module):
                _shadow_compile(module, witness)
            code: CodeType | None = self.source_to_code(self.get_data(path), path)
            return code
        # Also where it is not run: it warns, and caches the plain code.
        plain: CodeType | None = original(self, fullname)
        return witness.code_of_file(path) or plain

    # Tracebacks leave out the frames of the import system: this one is one of them.
    get_code.__code__ = get_code.__code__.replace(co_filename=original.__code__.co_filename)
    loader.get_code = get_code


def _shadow_compile(module: ModuleType, witness: Witness) -> None:
    """The `compile` that a module calls, for modules that run files by themselves."""

    def compile_marked(source: Any, filename: Any, mode: str, *rest: Any, **more: Any) -> Any:
        name = os.fspath(filename) if isinstance(filename, (str, os.PathLike)) else ""
        optimize = more.get("optimize", -1)
        # Who asks for a tree changes it, and compiles what comes of that.
        is_run = mode == "exec" and not (rest[0] if rest else more.get("flags", 0)) & ast.PyCF_ONLY_AST
        code = witness.code_of(source, str(name), optimize) if is_run and name else None
        return compile(source, filename, mode, *rest, **more) if code is None else code

    vars(module)["compile"] = compile_marked


def _shown_arguments() -> list[str]:
    return [str(argument) for argument in getattr(sys, "orig_argv", sys.argv)][:8]

"""Runs the programs of rule pages in a child process and says what happened on which line.

Reads one JSON object from standard input, ``{"backend": ..., "tasks": [...]}``, and answers with one JSON line on the
standard output that it was started with. Three ways to look at a program:

- `guard`: two oracles. Under the log level the program runs once, unchanged, and the guard's own lines on file
  descriptor 2 are read between marks that a tracing function writes there. Under the disallow level every statement is
  tried, and if refused is run again without a guard; the refused lines are those of the errors' tracebacks.
- `raises`: each top-level statement runs by itself, and the errors of ``jax.errors`` are noted with their lines.
- `prints`: what the program printed, and by which lines.
"""

import ast
import builtins
import contextlib
import io
import json
import logging
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import IO, TYPE_CHECKING, TypedDict, cast

if TYPE_CHECKING:
    from _typeshed import TraceFunction

SHORT = {"device_to_host": "device-to-host", "host_to_device": "host-to-device", "device_to_device": "device-to-device"}
ATTEMPTS, ENTERED = "__attempts", "__entered"
CREATED = re.compile(r"created on line (?P<path>[^\n]*?):(?P<line>\d+):\d+")


class Task(TypedDict):
    """A program to run: `key` names it in the answer; `direction` is empty where no guard is to be entered."""

    key: str
    text: str
    way: str
    direction: str
    level: str


class Seen(TypedDict):
    """Lines and how often: logged by the guard, refused by it; (line, class) raised; (line, text) printed; a crash."""

    logged: dict[int, int]
    refused: dict[int, int]
    raised: list[tuple[int, str]]
    printed: list[tuple[int, str]]
    crash: str


class Attempts:
    """The two tries of one statement: the first under the guard; the second, only if that was refused, without."""

    def __init__(self, program: "Program") -> None:
        self.program, self.refused, self.tries = program, False, 0

    def __iter__(self) -> Iterator["Attempts"]:
        yield self
        if self.refused:
            yield self

    def __enter__(self) -> None:
        self.tries += 1
        self.guard = self.program.guard(self.program.level if self.tries == 1 else "allow")
        self.guard.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        self.guard.__exit__(None, None, None)
        if error is None or self.tries > 1 or not self.program.is_refusal(error):
            return False
        self.program.note(error)
        self.refused = True
        return True


class Program:
    """A program in a file of its own, and what was seen of it."""

    def __init__(self, task: Task, folder: str) -> None:
        self.path = os.path.join(folder, f"{task['key']}.py")
        self.text, self.direction, self.level = task["text"], task["direction"], task["level"]
        Path(self.path).write_text(self.text, "utf-8")
        self.refused: dict[int, int] = {}

    def guard(self, level: str) -> contextlib.AbstractContextManager[object]:
        enter: Callable[[str], contextlib.AbstractContextManager[object]]
        enter = getattr(sys.modules["jax"], f"transfer_guard_{self.direction}")
        return enter(level)

    def namespace(self) -> dict[str, object]:
        return {"__name__": "__main__", "__file__": self.path, "__builtins__": builtins}

    def line_of(self, error: BaseException) -> int:
        """The innermost line of the program in an error's traceback."""
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self.path]
        return (lines or [0])[-1] or 0

    def is_refusal(self, error: BaseException | None) -> bool:
        words = f"Disallowed {SHORT[self.direction]} transfer"
        while error is not None:
            if isinstance(error, RuntimeError) and words in str(error):
                return True
            error = error.__cause__ or error.__context__
        return False

    def note(self, error: BaseException) -> None:
        line = self.line_of(error)
        self.refused[line] = self.refused.get(line, 0) + 1

    def run_refusing(self) -> dict[int, int]:
        tree = Tried().visit(ast.parse(self.text))
        code = compile(ast.fix_missing_locations(tree), self.path, "exec")
        exec(code, {**self.namespace(), ATTEMPTS: lambda: Attempts(self)})
        return self.refused

    def run_logging(self) -> dict[int, int]:
        level = "log_explicit" if self.level == "disallow_explicit" else "log"
        code = compile(self.text, self.path, "exec")
        with captured_descriptor() as file:
            with self.guard(level):
                sys.settrace(marking(self.path))
                try:
                    exec(code, self.namespace())
                finally:
                    sys.settrace(None)
            file.seek(0)
            written = file.read().decode("utf-8", "replace")
        logged: dict[int, int] = {}
        line, counted = 0, False
        for text in written.splitlines():
            if text.startswith("@line "):
                line, counted = int(text.removeprefix("@line ")), False
            elif f"{SHORT[self.direction]} transfer" in text and not counted:
                # How often the line ran and transferred, not how many arrays it moved.
                logged[line], counted = logged.get(line, 0) + 1, True
        return logged

    def run_raising(self) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
        """Each top-level statement by itself: the errors of jax with their lines, and what was printed by which line.
        An error about a leaked tracer speaks of the line where that was made."""
        raised: list[tuple[int, str]] = []
        output = Output(self.path)
        namespace = self.namespace()
        with contextlib.redirect_stdout(cast(IO[str], output)):
            for statement in ast.parse(self.text).body:
                code: CodeType = compile(ast.Module([statement], []), self.path, "exec")
                try:
                    exec(code, namespace)
                except Exception as error:
                    if not type(error).__module__.startswith("jax"):
                        raise
                    created = [m for m in CREATED.finditer(str(error)) if m["path"] == self.path]
                    line = int(created[0]["line"]) if created else self.line_of(error)
                    raised.append((line, type(error).__name__))
        return raised, output.written

    def run_printing(self) -> list[tuple[int, str]]:
        output = Output(self.path)
        with contextlib.redirect_stdout(cast(IO[str], output)):
            exec(compile(self.text, self.path, "exec"), self.namespace())
        return output.written


class Output(io.TextIOBase):
    """A standard output that notes which line of the program wrote what."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.written: list[tuple[int, str]] = []

    def write(self, text: str) -> int:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.path:
            frame = frame.f_back
        self.written.append((frame.f_lineno if frame else 0, text))
        return len(text)


class Tried(ast.NodeTransformer):
    """Puts every statement that does something into ``for __entered in __attempts(): with __entered: STATEMENT``."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, [made for statement in statements for made in self.tried(statement)])
        return node

    def tried(self, node: ast.stmt) -> list[ast.stmt]:
        if any(isinstance(part, ast.Yield | ast.YieldFrom | ast.Await) for part in ast.walk(node)):
            return [node]
        if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Assert):
            return [self.wrap(node)]
        if isinstance(node, ast.If):
            made, node.test = self.hoist(truth(node.test), node)
            return [made, node]
        if isinstance(node, ast.For):
            made, node.iter = self.hoist(call("iter", node.iter), node)
            return [made, node]
        if isinstance(node, ast.While) and not node.orelse:
            made, test = self.hoist(truth(node.test), node)
            stop = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
            node.test, node.body = ast.Constant(True), [made, ast.copy_location(stop, made), *node.body]
        return [node]

    def hoist(self, value: ast.expr, place: ast.stmt) -> tuple[ast.stmt, ast.expr]:
        name = f"__value_{place.lineno}_{place.col_offset}"
        assignment = ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), place)
        return self.wrap(assignment), ast.copy_location(ast.Name(name, ast.Load()), place)

    def wrap(self, node: ast.stmt) -> ast.stmt:
        inner = ast.With([ast.withitem(ast.Name(ENTERED, ast.Load()))], [node])
        loop = ast.For(ast.Name(ENTERED, ast.Store()), ast.Call(ast.Name(ATTEMPTS, ast.Load()), [], []), [inner], [])
        return ast.copy_location(loop, node)


def call(name: str, argument: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [argument], []), argument)


def truth(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.IfExp(test, ast.Constant(True), ast.Constant(False)), test)


def marking(path: str) -> "TraceFunction":
    """A tracing function that writes the line which runs next to file descriptor 2, for the frames of one file."""

    def mark(frame: FrameType | None) -> None:
        while frame is not None and frame.f_code.co_filename != path:
            frame = frame.f_back
        if frame is not None:
            os.write(2, f"@line {frame.f_lineno}\n".encode())

    def local(frame: FrameType, event: str, argument: object) -> "TraceFunction":
        mark(frame.f_back if event == "return" else frame)
        return local

    def entering(frame: FrameType, event: str, argument: object) -> "TraceFunction | None":
        return local if frame.f_code.co_filename == path else None

    return entering


@contextlib.contextmanager
def captured_descriptor() -> Iterator[IO[bytes]]:
    """File descriptor 2 goes to a file: the guard writes there from C++, past `sys.stderr`."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield file
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def forget() -> None:
    """Drops what is compiled. On the plain CPU backend jax is not imported before the program does so itself."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


def look(task: Task, folder: str) -> Seen:
    seen = Seen(logged={}, refused={}, raised=[], printed=[], crash="")
    program = Program(task, folder)
    try:
        if task["way"] == "guard":
            with contextlib.redirect_stdout(io.StringIO()):
                seen["logged"] = program.run_logging()
                forget()
                seen["refused"] = program.run_refusing()
        elif task["way"] == "raises":
            seen["raised"], seen["printed"] = program.run_raising()
        else:
            seen["printed"] = program.run_printing()
    except Exception:  # noqa: BLE001 whatever a page's program does is a result, and hides no other page's
        seen["crash"] = traceback.format_exc(limit=-4)
    forget()
    return seen


def raise_again(handler: logging.Handler, record: logging.LogRecord) -> None:
    """In the place of `logging.Handler.handleError`, which hides the guard's error from the line that logs."""
    raise


def main() -> None:
    request = json.load(sys.stdin)
    answers = sys.stdout
    tasks: list[Task] = request["tasks"]
    if request["backend"] == "sentinel":
        from jaxlint.witness import sentinel

        sentinel.install()
        trouble = sentinel.canary()
        if trouble is not None:
            raise SystemExit(f"the sentinel backend does not hold: {trouble}")
    if any(task["way"] == "guard" for task in tasks):
        logging.Handler.handleError = raise_again  # type: ignore[method-assign,assignment]
    with tempfile.TemporaryDirectory() as folder:
        found = {task["key"]: look(task, folder) for task in tasks}
    answers.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()

"""Instruments the program that Python was started with as ``python SCRIPT``.

That file is read by Python's own C code, past every import hook. So the process replaces itself, before the program
starts, by the same Python with the same arguments, but for the instrumented code in the place of the script. No frame
is added, and process number, descriptors and environment stay. What the program could tell by (`__file__`, its loader,
`sys.argv`, `sys.path`) is put right before its first statement.
"""

import ast
import builtins
import importlib.machinery
import importlib.util
import json
import marshal
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from types import CodeType

from .nodes import nowhere
from .rewrite import Place

# Set for the second start of one process only: the file that is run and the script that it stands for.
VARIABLE = "JAXLINT_SCRIPT"
Places = Mapping[int, Place]
PUT_RIGHT = "__jaxlint_script__"


def replace_main(
    code_of_script: Callable[[str], CodeType | None], place: Callable[[str, Places], None], aside: str
) -> None:
    """Starts this process anew if its script has marks; what is run then lies in the folder `aside`. In the second
    start it awaits the first statement, which tells `place` where the marks of the script are."""
    second = os.environ.pop(VARIABLE, "")
    if second:
        compiled, path, full = json.loads(second)
        sys.argv[0] = path
        sys.orig_argv[:] = [path if argument == compiled else argument for argument in sys.orig_argv]

        def put_right(places: tuple[tuple[int, Place], ...]) -> None:
            _put_right(compiled, full, sys._getframe(1).f_globals)
            place(full, dict(places))

        setattr(builtins, PUT_RIGHT, put_right)
        return
    found = _script()
    full = os.path.join(os.getcwd(), found[1]) if found is not None else ""
    code = code_of_script(full) if found is not None else None
    if found is None or code is None:
        return
    index, path = found
    descriptor, compiled = tempfile.mkstemp(suffix=".pyc", prefix="jaxlint-", dir=aside)
    with os.fdopen(descriptor, "wb") as file:
        file.write(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
    arguments = [*sys.orig_argv]
    arguments[index] = compiled
    os.environ[VARIABLE] = json.dumps([compiled, path, full])
    if sys.platform == "win32":
        # There, replacing a process ends it for whoever waits.
        import subprocess

        os._exit(subprocess.call([sys.executable, *arguments[1:]]))
    os.execv(sys.executable, arguments)


def with_first_statement(tree: ast.Module, places: Places) -> ast.Module:
    """The tree of a script with the call that puts names right, after the docstring and `from __future__` imports."""
    place = 0
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and place == 0
        if not is_text and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        place += 1
    known = ast.Constant(tuple(places.items()))  # type: ignore[arg-type]
    first = ast.Expr(ast.Call(ast.Name(PUT_RIGHT, ast.Load()), [known], []))
    tree.body.insert(place, first)
    return nowhere(tree)


def _script() -> tuple[int, str] | None:
    """Where in the original arguments the script is, and its path; None for ``-m``, ``-c`` and the like."""
    index = len(sys.orig_argv) - len(sys.argv)
    if not sys.argv or not 0 < index < len(sys.orig_argv):
        return None
    path = sys.argv[0]
    if path in ("", "-", "-c", "-m") or sys.orig_argv[index] != path or not os.path.isfile(path):
        return None
    return index, path


def _put_right(compiled: str, path: str, names: dict[str, object]) -> None:
    """The program is told of its source, not of what is run."""
    delattr(builtins, PUT_RIGHT)
    names["__file__"] = path
    names["__loader__"] = importlib.machinery.SourceFileLoader("__main__", path)
    folder = os.path.dirname(os.path.realpath(compiled))
    if sys.path and os.path.realpath(sys.path[0]) == folder and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(path))
    try:
        os.unlink(compiled)
    except OSError:
        return

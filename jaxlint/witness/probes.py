"""Operation probes: for a place that no run reached, its operation on a fresh array, under the guard of its direction.

Only what jax, NumPy and Python do themselves is probed: nothing of the user's is imported, no other library is called.
"""

import importlib
import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .guard import Guard

# Modules whose functions may be called with an array of ours.
PROBED = ("builtins", "math", "jax", "numpy")
# Functions that write files, wait for input or start something, though they are of those modules.
LEFT_OUT = ("numpy.save", "numpy.fromfile", "builtins.input", "builtins.open", "builtins.exec", "builtins.eval")
COMPILED = ("compiled-call", "constant-call")
# Callees that are syntax, or print: what they do with an array is done without printing it.
BY_SYNTAX = ("f-string", "%", "print", "indexing")
SYNTAX: Mapping[str, Callable[[Any], object]] = {
    "print": lambda x: str(x),
    "format": lambda x: f"{x}",
    "log": lambda x: str(x),
    "truth": bool,
    "index": lambda x: [0, 1, 2][x],
    "scalar": float,
}


def run_probes(path: str) -> dict[str, str]:
    """Answers by the numbers of the probes in a JSON file: the guard's words if the operation was refused, an empty
    text if it was not. What can not be probed has no answer."""
    from .requests import start_backend

    asked: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    start_backend(asked["backend"])
    guard = Guard(asked["folder"])
    warnings.simplefilter("ignore")
    answers = {}
    for probe in asked["probes"]:
        said = _probe(guard, probe["operation"], probe["callee"], probe["direction"], probe["explicit"])
        if said is not None:
            answers[str(probe["number"])] = said
    return answers


def _probe(guard: Guard, operation: str, callee: str | None, direction: str, explicit: bool) -> str | None:
    """The guard's words, or an empty text, of the first fresh operand that the operation takes."""
    act = _action(guard, operation, callee)
    if act is None:
        return None
    for make in _operands(guard, direction):
        try:
            operand = make()
            with guard.refuse((direction,), explicit):
                act(operand)
        except Exception as error:
            refusal = guard.refusal(error)
            if refusal is not None and refusal.direction == direction:
                return refusal.message
            continue
        return ""
    return None


def _action(guard: Guard, operation: str, callee: str | None) -> Callable[[Any], object] | None:
    if operation in COMPILED:
        compiled = guard.jax.jit(lambda x: x)
        return lambda x: compiled(x)
    if operation == "mixed":
        return lambda x: guard.jax.numpy.zeros((), x.dtype) + x
    if callee is None or callee in BY_SYNTAX:
        return SYNTAX.get(operation)
    if callee.startswith("."):
        return lambda x: getattr(x, callee[1:])()
    dotted = callee if "." in callee else f"builtins.{callee}"
    if dotted.partition(".")[0] not in PROBED or dotted.startswith(LEFT_OUT):
        return None
    function = _named(dotted)
    return (lambda x: function(x)) if callable(function) else None


def _named(dotted: str) -> object:
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for name in parts[length:]:
            found = getattr(found, name, None)
        return found
    return None


def _operands(guard: Guard, direction: str) -> Iterator[Callable[[], object]]:
    """Makers of fresh operands: device arrays where something is fetched, host arrays where something is uploaded."""
    import numpy

    host = (numpy.float32(math.pi), numpy.arange(3, dtype=numpy.float32), numpy.ones((2, 2), numpy.float32))
    for array in (*host, numpy.int32(1), numpy.zeros(3, bool)):
        if direction == "device_to_host":
            yield lambda array=array: guard.jax.device_put(array)  # type: ignore[misc]
        elif direction == "host_to_device":
            yield lambda array=array: array  # type: ignore[misc]

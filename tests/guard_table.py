"""The measured table of what trips JAX's transfer guard (`fixtures/guard_truth/table.json`), as programs for a check.

Each row is a snippet with some set-up over arrays of given names. Here every row becomes a function that makes these
arrays afresh, so that an analysis knows what they are; what is found on the lines of the snippet is the row's answer.
"""

import ast
import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from jaxlint.findings import Report

TABLE = Path(__file__).resolve().parent.parent / "fixtures" / "guard_truth" / "table.json"
DIRECTIONS = {"d2h": "JT1", "h2d": "JT2", "d2d": "JT3"}
TRANSFERS = ("implicit", "implicit_swallowed", "first call")
SILENT = ("allowed", "explicit")
ROWS_IN_A_PROGRAM = 60

PREAMBLE = """\
import asyncio, base64, bisect, collections, concurrent.futures, contextlib, contextvars, copy, csv, ctypes, dataclasses
import datetime, decimal, fractions, functools, gc, hashlib, heapq, io, itertools, json, logging, marshal, math
import multiprocessing, multiprocessing.reduction, operator, os, pickle, pprint, queue, random, reprlib, statistics
import string, struct, sys, tempfile, textwrap, threading, time, traceback, unittest, warnings, weakref, zlib

import cloudpickle, joblib, orjson
import jax
import jax.dlpack
import jax.flatten_util
import jax.numpy as jnp
import jax.scipy.optimize
import jax.scipy.special
import jax.scipy.stats
import numpy as np
from jax import lax
from jax.experimental import checkify

log = logging.getLogger("probe")
log.setLevel(logging.INFO)
d0, d1 = jax.devices()[0], jax.devices()[1]
cpu0 = jax.devices("cpu")[0]
ctr = itertools.count()
mk_scalar = jax.jit(lambda: jnp.float32(7.5) + jnp.zeros(()))
mk_reps = jax.jit(lambda: jnp.ones(8, jnp.int32))
mk_m4 = jax.jit(lambda: jnp.arange(8, dtype=jnp.float32).reshape(4, 2))
mk_keys = jax.jit(lambda: jax.random.split(jax.random.key(1), 4))


def mk_big(k):
    return jnp.arange(k) * 1.0


def mk_mesh():
    return jax.sharding.Mesh(np.array(jax.devices()[:4]), ("a",))


def mk_ns():
    return jax.sharding.NamedSharding(mk_mesh(), jax.sharding.PartitionSpec("a"))


def mk_nr():
    return jax.sharding.NamedSharding(mk_mesh(), jax.sharding.PartitionSpec())


def mk_sm():
    spec = jax.sharding.PartitionSpec("a")
    return lambda f: jax.shard_map(f, mesh=mk_mesh(), in_specs=spec, out_specs=spec)


@dataclasses.dataclass
class DC:
    a: object


NT = collections.namedtuple("NT", "a b")


class Obj:
    def __init__(self, w):
        self.w = w

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, a):
        return a + self.w


def guarded_body(v):
    with jax.transfer_guard("disallow"):
        return v + 1


async def aprint(v):
    print(v)


def gen(v):
    yield float(v.sum())


def mkexc(v):
    try:
        loc = v
        raise KeyError("boom")
    except KeyError as e:
        return e
"""

ARRAYS: Mapping[str, str] = {
    "x": "jnp.arange(8, dtype=jnp.float32) + 1",
    "y": "jnp.arange(8, dtype=jnp.float32) * 2 + 1",
    "m": "jnp.arange(16, dtype=jnp.float32).reshape(4, 4) + 5 * jnp.eye(4, dtype=jnp.float32)",
    "s": "jnp.float32(2.5) + jnp.zeros(())",
    "i": "jnp.int32(3) + jnp.zeros((), jnp.int32)",
    "b": "jnp.ones(()) > 0",
    "mask": "jnp.arange(8) % 2 == 0",
    "idx": "jnp.arange(3, dtype=jnp.int32) * 2",
    "u": "jnp.arange(8).astype(jnp.uint8)",
    "bf": "jnp.arange(8).astype(jnp.bfloat16)",
    "c": "jnp.zeros(()).astype(jnp.complex64)",
    "key": "jax.random.key(0)",
    "raw": "jax.random.PRNGKey(0)",
    "empty": "jnp.zeros((0,), jnp.float32)",
    "one": "jnp.arange(1, dtype=jnp.float32) + 1",
    "n": "np.arange(8, dtype=np.float32) + 1",
    "d": "{'w': jnp.arange(8, dtype=jnp.float32) + 1, 'b': jnp.arange(8, dtype=jnp.float32) * 2 + 1}",
}


class Measured(TypedDict, total=False):
    """A row of the file, as far as it is used here."""

    id: str
    setup: str
    snippet: str
    directions: dict[str, str]
    other_versions: dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class Row:
    """One operation and what the guard said of it, by direction."""

    id: str
    setup: str
    snippet: str
    directions: Mapping[str, str]
    versions: Mapping[str, Mapping[str, str]]

    def expected(self, version: str, direction: str) -> str:
        """What was measured with a version of jax; most rows do not differ between them."""
        return self.versions.get(version, {}).get(direction, self.directions[direction])

    def transfers(self, direction: str) -> bool | None:
        """True for an implicit transfer, False for none or an explicit one, None where nothing was measured."""
        answer = self.directions[direction]
        if answer.startswith(TRANSFERS):
            return True
        return False if answer in SILENT else None

    def arrays(self) -> list[str]:
        """The assignments of those fresh arrays that the operation uses."""
        names = {node.id for node in ast.walk(ast.parse(f"{self.setup}\n{self.snippet}")) if isinstance(node, ast.Name)}
        return [f"{name} = {text}" for name, text in ARRAYS.items() if name in names]

    def function(self) -> str:
        body = "\n".join([*self.arrays(), *filter(None, [self.setup]), self.snippet])
        return f"\n\ndef row_{self.id}():\n{textwrap.indent(body, '    ')}\n"


def rows() -> list[Row]:
    measured: list[Measured] = json.loads(TABLE.read_text("utf-8"))
    return [
        Row(row["id"], row.get("setup", ""), row["snippet"], row["directions"], row.get("other_versions", {}))
        for row in measured
    ]


def programs(some: Sequence[Row], size: int = ROWS_IN_A_PROGRAM) -> Iterator[tuple[str, dict[int, str]]]:
    """Programs of many rows each, with the row that each line of a snippet belongs to."""
    for start in range(0, len(some), size):
        text = PREAMBLE
        owner: dict[int, str] = {}
        for row in some[start : start + size]:
            text += row.function()
            last = text.count("\n")
            owner |= {last - back: row.id for back in range(row.snippet.count("\n") + 1)}
        yield text, owner


def answers(some: Sequence[Row], check: Callable[[str], Report]) -> dict[str, set[str]]:
    """The codes that a check reports on the snippet of each row."""
    found: dict[str, set[str]] = {row.id: set() for row in some}
    for text, owner in programs(some):
        report = check(text)
        assert report.errors == (), report.errors
        for finding in report.findings:
            if finding.span.line in owner:
                found[owner[finding.span.line]].add(finding.code)
    return found


def family(codes: Iterable[str], direction: str) -> list[str]:
    return sorted(code for code in codes if code.startswith(DIRECTIONS[direction]))

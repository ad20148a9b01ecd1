"""Runs ``jaxlint check --confirm`` over a folder, for tests."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 500
# The driver of a folder: it runs files by themselves, in one process, whatever each of them raises.
DRIVER = """\
import runpy, sys, traceback

for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
    except BaseException as error:
        print(path, type(error).__name__)
"""


def environment() -> dict[str, str]:
    """This interpreter first on the path, jaxlint from this checkout, and nothing that chooses a backend of JAX."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_", "JAXLINT_"))}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}


def confirmed(
    folder: Path, backend: str, commands: Sequence[str], *options: str, paths: Sequence[str] = (".",)
) -> list[dict[str, Any]]:
    """The findings of all heats, with their verdicts."""
    words = [sys.executable, "-m", "jaxlint", "check", "--isolated", "--min-heat", "cold", "--output-format", "json"]
    words += ["--confirm", "--backend", backend, *options]
    for command in commands:
        words += ["--run", command]
    done = subprocess.run(
        [*words, *paths], cwd=folder, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode in (0, 1), done.stderr[-3000:]
    findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    return findings


def jaxlint(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "jaxlint", *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )

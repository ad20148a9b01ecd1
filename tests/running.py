"""Runs ``jaxlint run`` for tests."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from confirming import SECONDS, environment


def run(
    folder: Path, *words: str, more: Mapping[str, str] | None = None, given: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """``jaxlint run WORDS`` in a folder; `given` is the standard input."""
    return subprocess.run(
        [sys.executable, "-m", "jaxlint", "run", *words],
        cwd=folder,
        env={**environment(), **(more or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        input=given,
    )


def recorded(folder: Path, backend: str, *words: str, more: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The JSON report of a run that ends well."""
    report = folder / "report.json"
    done = run(folder, "--isolated", "-q", "--backend", backend, "--report", str(report), *words, more=more)
    assert done.returncode == 0, done.stderr[-3000:]
    data: dict[str, Any] = json.loads(report.read_text("utf-8"))
    assert data["backend"] == backend, done.stderr[-3000:]
    return data

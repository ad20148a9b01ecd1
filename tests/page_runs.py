"""Programs of rule pages, run by `page_probe` in a child process."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from jaxlint.rulebook import Rule

ROOT = Path(__file__).resolve().parent.parent
PROBE = Path(__file__).with_name("page_probe.py")


class Seen(TypedDict):
    logged: dict[str, int]
    refused: dict[str, int]
    raised: list[tuple[int, str]]
    printed: list[tuple[int, str]]
    crash: str


def probe(asked: list[dict[str, str]], backend: str, devices: int) -> Mapping[str, Seen]:
    """What some programs did, all in one child process."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JAX_", "XLA_"))}
    environment |= {
        "PYTHONPATH": str(ROOT),
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "MPLBACKEND": "Agg",
    }
    done = subprocess.run(
        [sys.executable, str(PROBE)],
        input=json.dumps({"backend": backend, "tasks": asked}),
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Seen] = json.loads(done.stdout.splitlines()[-1])
    return found


def runnable(rule: Rule) -> bool:
    return all(importlib.util.find_spec(package) for package in rule.proof.needs)

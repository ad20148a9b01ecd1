"""What an interpreter answers about itself, as JSON on its standard output: its backends, their self-tests, probes."""

import json
import os
import sys
from collections.abc import Sequence
from importlib import metadata

from . import backends, virtual


def answer(arguments: Sequence[str]) -> None:
    """``selftest NAME``; ``doctor CACHE``; ``probe FILE``. The answer is the last line of the standard output."""
    match arguments:
        case ["selftest", name]:
            told: object = _self_test(name)
        case ["doctor", cache]:
            told = _doctor(cache)
        case ["probe", path]:
            from .probes import run_probes

            told = run_probes(path)
        case _:
            raise SystemExit(f"unknown request: {' '.join(arguments)}")
    sys.stdout.flush()
    print(json.dumps(told), flush=True)


def _self_test(name: str) -> dict[str, str]:
    failed: list[str] = []
    start_backend(name, failed.append)
    from .selftest import run

    checks = run()
    return {**checks, **{f"start: {reason}": reason for reason in failed}}


def start_backend(name: str, on_failure: "object" = None) -> None:
    """Imports jax and starts a backend by name in this process, for probes and self-tests."""
    import jax  # noqa: F401

    if name == virtual.NAME:
        os.environ.setdefault(virtual.DEVICES, "2")
        virtual.start(on_failure)  # type: ignore[arg-type]
    elif name == backends.SENTINEL:
        from . import sentinel

        sentinel.install()


def _doctor(cache: str) -> dict[str, object]:
    versions = {}
    for package in ("jax", "jaxlib", "numpy"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    answers = {}
    for name in backends.NAMES:
        reason = backends.why_not(name)
        if reason is None and name != "device":
            reason = backends.self_test(name, cache)
        answers[name] = reason
    return {
        "python": sys.version.split()[0],
        "versions": versions,
        "backends": answers,
        "plugin": dict(virtual.describe()),
    }

"""What an interpreter says about its guard backends."""

import json
import subprocess
import sys
from pathlib import Path

from jaxlint import witness
from jaxlint.confirm.commands import find_python
from jaxlint.errors import UserError
from jaxlint.witness.plan import cache_folder

SECONDS = 300
# The first that can serve is the one that `auto` takes.
ORDER = ("device", "virtual", "sentinel")


def examine(python: str) -> tuple[str, bool]:
    """The lines to print, and whether any backend can serve. UserError where the interpreter can not be asked."""
    try:
        python = find_python(python)
    except UserError:
        if python:
            raise
        # It will say itself what it lacks.
        python = sys.executable
    command = [python, str(Path(witness.__file__).resolve().parent), "doctor", str(cache_folder())]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        told = json.loads(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        raise UserError(f"{python}: did not answer; try `{python} -c 'import jax'`") from None
    lines = [f"python    {python} ({told['python']})"]
    lines += [f"{package:<9} {version}" for package, version in told["versions"].items()]
    serving = [name for name in ORDER if told["backends"][name] is None]
    for name in ORDER:
        reason = told["backends"][name]
        plugin = ", ".join(f"{key} {value}" for key, value in told["plugin"].items()) if name == "virtual" else ""
        lines.append(
            f"{name:<9} {'can not serve: ' + reason if reason else 'can serve' + (f' ({plugin})' if plugin else '')}"
        )
    lines.append(f"auto      {serving[0] if serving else 'nothing can serve'}")
    return "".join(line + "\n" for line in lines), bool(serving)

"""What ``--fix`` does to real files: ``python bench/fixes.py FOLDER... [--files 100] [--seed 1]``.

Files are drawn at random until as many were changed by all fixes, safe and unsafe, of all rules at any heat. Each must
parse afterwards, differ only on the lines of its findings and by the lines that fixes add, and not change once more.
Nothing is written to the folders.
"""

import argparse
import ast
import difflib
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from jaxlint.check import check_bytes  # noqa: E402  # after the checkout is on the path
from jaxlint.findings import Finding, Report  # noqa: E402
from jaxlint.fix.run import MAX_PASSES, Fixed, fix  # noqa: E402
from jaxlint.inputs import Inputs  # noqa: E402
from jaxlint.settings import Settings  # noqa: E402
from jaxlint.sites import Confidence, Heat  # noqa: E402

SETTINGS = Settings(select=("ALL",), min_heat=Heat.COLD, min_confidence=Confidence.LOW)
ADDED = re.compile(r"\s*(?:import jax|[\w, ]+ = [\w.]*device_(?:get|put)\(.*\)|)\Z")


def once(name: str, data: bytes) -> Fixed:
    """One pass over a file."""

    def check(inputs: Inputs) -> Report:
        return check_bytes(SETTINGS, inputs.given[name], name, inputs=inputs)

    return fix(check, lambda finding: finding.fix is not None, {name: data}, passes=1)


def strays(before: str, after: str, findings: list[Finding]) -> Iterator[str]:
    """The lines that differ and are neither a finding's nor a line that fixes add."""
    allowed = {line for f in findings for line in range(f.span.line, f.span.end_line + 1)}
    edits = [edit for f in findings if f.fix for edit in f.fix.edits]
    replaced = [edit for edit in edits if (edit.line, edit.column) != (edit.end_line, edit.end_column)]
    allowed |= {line for edit in replaced for line in range(edit.line, edit.end_line + 1)}
    old, new = before.splitlines(), after.splitlines()
    for word, start, end, begin, stop in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if word != "equal":
            yield from (old[line] for line in range(start, end) if line + 1 not in allowed)
            added = [line for line in new[begin:stop] if not ADDED.match(line)]
            if len(added) > end - start:
                yield from added


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    files = sorted(path for folder in options.folders for path in folder.rglob("*.py") if path.is_file())
    random.Random(options.seed).shuffle(files)
    figures, codes = Counter[str](), Counter[str]()
    began = time.monotonic()
    for path in files:
        if figures["changed"] >= options.files:
            break
        data = path.read_bytes()
        if b"jax" not in data:
            continue
        figures["looked at"] += 1
        name = str(path)
        for number in range(MAX_PASSES):
            done = once(name, data)
            if not done.files:
                break
            figures["changed"] += number == 0
            figures["passes"] += 1
            figures["refused"] += len(done.errors)
            codes.update(finding.code for finding in done.repaired)
            figures["repaired"] += len(done.repaired)
            figures["safe"] += sum(finding.fix.safe for finding in done.repaired if finding.fix)
            after = done.files[0].after
            try:
                ast.parse(after)
            except SyntaxError as error:
                figures["broken"] += 1
                print(f"{path}: {error}")
            for line in strays(data.decode(), after.decode(), done.repaired):
                figures["stray lines"] += 1
                print(f"{path}: stray: {line}")
            data = after
        else:
            figures["changing for ever"] += 1
            print(f"{path}: still changes after {MAX_PASSES} passes")
    for key in ("looked at", "changed", "repaired", "safe", "passes", "refused"):
        print(f"{key}: {figures[key]}")
    for key in ("broken", "stray lines", "changing for ever"):
        print(f"{key}: {figures[key]}")
    print(", ".join(f"{code} {count}" for code, count in sorted(codes.items())))
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()

"""Whether real files keep their findings when they are written otherwise: ``python bench/metamorphic.py FOLDER ...``.

Each Python file below the folders that names JAX is changed in each of the ways of ``tests/transformations.py``. Prints
what is lost and what is new, and for each way the number of files that it changed and of those whose findings differ.
"""

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from transformations import TRANSFORMATIONS, findings, numbered  # noqa: E402  # after the tests are on the path


def main() -> None:
    """Tries and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--longest", type=int, default=40_000, help="characters of a file")
    parser.add_argument("--every", type=int, default=1, help="take one file of so many")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    files = sorted(path for folder in options.folders for path in folder.rglob("*.py") if path.is_file())
    changed, differing = Counter[str](), Counter[str]()
    for path in files[:: options.every]:
        try:
            text = path.read_text("utf-8")
            if "jax" not in text or len(text) > options.longest:
                continue
            before = numbered(text)
            expected = findings(before)
        except Exception:  # noqa: BLE001  # no program, or one that cannot be numbered
            continue
        for transform in TRANSFORMATIONS:
            name = transform.__name__
            try:
                after = transform(before)
                if after == before:
                    continue
                found = findings(after)
            except Exception as error:  # noqa: BLE001  # what a transformation cannot do says nothing of the analysis
                print(f"{path}: {name}: {type(error).__name__}: {str(error)[:80]}")
                continue
            changed[name] += 1
            if found != expected:
                differing[name] += 1
                print(f"{path}: {name}: lost {dict(expected - found)}, new {dict(found - expected)}", flush=True)
    for name, count in changed.items():
        print(f"{name:20} {count:6} files changed, {differing[name]} with other findings")


if __name__ == "__main__":
    main()

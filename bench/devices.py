"""Where the guard backends differ: the rows of the measured table on each backend that can serve here, as Markdown.

``python bench/devices.py [BACKEND ...]`` (default: all that can serve; `device` is one where JAX has an accelerator).
Needs the packages of the extra `dev`. Rows on which all backends agree are counted, not listed.
"""

import sys
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from guard_table import DIRECTIONS, rows  # noqa: E402  # after the checkout is on the path
from jaxlint.witness.backends import NAMES, why_not  # noqa: E402
from test_backend_table import Answer, measured  # noqa: E402


def said(answer: Answer | None) -> str:
    """What one backend did with a row, in short."""
    if answer is None or "failed" in answer:
        return "not run"
    found = {"h2d": answer["h2d"], "d2h": answer["d2h"], "d2d": answer["d2d"]}
    crossed = [f"{direction} {found[direction]}" for direction in DIRECTIONS if found[direction] != "allowed"]
    return ", ".join(crossed) or "allowed"


def main() -> None:
    """Prints the table."""
    asked = sys.argv[1:] or [name for name in NAMES if why_not(name) is None]
    answers = {name: measured(name) for name in asked}
    print(f"jax {metadata.version('jax')}, jaxlib {metadata.version('jaxlib')}; backends {', '.join(asked)}\n")
    print(f"| row | {' | '.join(asked)} |\n|---|{'---|' * len(asked)}")
    equal = 0
    for row in rows():
        cells = [said(answers[name].get(row.id)) for name in asked]
        if len(set(cells)) == 1:
            equal += 1
        else:
            print(f"| `{row.id}` | {' | '.join(cells)} |")
    print(f"\n{equal} rows are alike on all of them.")


if __name__ == "__main__":
    main()

"""Writes the generated documentation: ``docs/configuration.md``, from the definition of the settings.

``python docs/generate.py`` after a change of `jaxlint.settings.KEYS`; a test holds the two equal.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from jaxlint.settings import KEYS, Key  # noqa: E402  # after the checkout is on the path

FORMS = {
    "codes": "list of codes",
    "patterns": "list of patterns",
    "strings": "list of strings",
    "boolean": "boolean",
    "choice": "string",
    "string": "string",
    "seconds": "number of seconds",
    "codes by pattern": "table: pattern = list of codes",
    "table": "table",
}
OPENING = """# Configuration

jaxlint reads one file: the nearest `jaxlint.toml`, or `pyproject.toml` with a `[tool.jaxlint]` table, in the folder
that holds all the paths to check or in a folder above it. Where one folder has both, `jaxlint.toml` wins. In
`jaxlint.toml` the keys stand at the top of the file, in `pyproject.toml` below `[tool.jaxlint]`:

```toml
[tool.jaxlint]
extend-select = ["JT191"]
extend-exclude = ["third_party"]

[tool.jaxlint.per-file-ignores]
"tests/*" = ["JT1"]
```

`--config FILE` reads another file, `--isolated` none. A flag holds over the file; `--extend-select` and
`--extend-exclude` add to it, and `--select` sets aside the file's `select`, `extend-select` and `ignore`. An unknown
key, code or value is an error (exit status 2) that names the line and the nearest valid name.
`jaxlint check --show-settings` prints what holds.

Written by `docs/generate.py` from `jaxlint/settings.py`: change it there.
"""


def page() -> str:
    """The whole reference."""
    return "\n".join([OPENING, *_sections(KEYS, ())])


def _sections(keys: Sequence[Key], above: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        yield f"{'#' * (2 + len(above))} `{'.'.join((*above, key.name))}`\n"
        kind = FORMS[key.form]
        if key.choices:
            kind = "one of " + ", ".join(f'`"{choice}"`' for choice in key.choices)
        yield f"{key.doc}\n"
        yield f"- type: {kind}\n- default: {key.default if ' ' in key.default[:5] else f'`{key.default}`'}\n"
        yield from _sections(key.inner, (*above, key.name))


if __name__ == "__main__":
    (FOLDER / "configuration.md").write_text(page(), encoding="utf-8")

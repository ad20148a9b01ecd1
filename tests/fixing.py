"""Repairs texts in memory, for tests."""

from jaxlint.check import check_bytes
from jaxlint.findings import Report
from jaxlint.fix.run import Fixed, fix
from jaxlint.inputs import Inputs
from jaxlint.settings import Settings
from jaxlint.sites import Heat

PATH = "page.py"


def repaired(
    data: bytes, *, select: tuple[str, ...] | None = None, unsafe: bool = True, path: str = PATH, passes: int = 10
) -> Fixed:
    """What the fixes of some rules make of a file's bytes: the safe ones or all."""
    settings = Settings(select=select, min_heat=Heat.COLD)

    def check(inputs: Inputs) -> Report:
        return check_bytes(settings, inputs.given[path], path, inputs=inputs)

    return fix(check, lambda f: f.fix is not None and (unsafe or f.fix.safe), {path: data}, passes=passes)


def text_after(text: str, *, select: tuple[str, ...] | None = None, unsafe: bool = True) -> str:
    """The repaired text; the text itself where nothing was repaired."""
    done = repaired(text.encode(), select=select, unsafe=unsafe)
    return done.files[0].after.decode() if done.files else text

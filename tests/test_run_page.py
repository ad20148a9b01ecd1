"""The page of a run in a real browser: it shows the record, filters it, obeys the keyboard, loads nothing, and takes
nothing of the program's for markup.

Needs playwright and a Chromium: the one that ``JAXLINT_CHROMIUM`` names, or one on the path. Skipped without.
"""

import importlib.util
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jaxlint.findings import Direction
from jaxlint.report import run_page
from jaxlint.transfers import Differing, Moment, Refused, Run, Steps, Transfer, Unreached

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
CHROMIUM = os.environ.get("JAXLINT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
# playwright need not be installed, so it gives no types.
Browser = Any
HOSTILE = "</script><img src=x onerror=\"window.taken='yes'\"> {{data}} <!-- \u2028 & 'q'"
SOURCE = [
    "import jax\n",
    "for step in range(10):\n",
    "    print(x)  # " + HOSTILE + "\n",
    "    y = jax.device_get(x)\n",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium is on the path; JAXLINT_CHROMIUM may name one")
    from playwright.sync_api import sync_playwright  # type: ignore[import-not-found,unused-ignore]

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


def transfer(line: int, direction: Direction, *, explicit: bool = False, **more: object) -> Transfer:
    values: dict[str, Any] = {
        "path": "a<b>.py", "line": line, "function": "f<i>", "direction": direction, "explicit": explicit, "count": 10,
        "bytes": 4000 * line, "seconds": 0.5 / line, "thread": HOSTILE, "stack": (f"a<b>.py:{line} f<i>", HOSTILE),
        "turns": 10, "moments": tuple(Moment(n, 1, 400 * line, 0.05 / line) for n in range(10)),
    }  # fmt: skip
    values.update(more)
    return Transfer(**values)


def sample() -> Run:
    return Run(
        backend="virtual",
        command=("a<b>.py", HOSTILE),
        exit_status=1,
        seconds=3.0,
        transfers=(
            transfer(3, Direction.DEVICE_TO_HOST, finding="JT101"),
            transfer(4, Direction.DEVICE_TO_HOST, explicit=True, finding="JT191"),
            transfer(2, Direction.HOST_TO_DEVICE),
        ),
        missed=(2,),
        unreached=(Unreached("JT104", "a<b>.py", 1),),
        start=1.0,
        width=0.1,
        steps=Steps("a<b>.py", 2, 10, 0.1, tuple((n, 1.0) for n in range(10))),
        refused=(Refused("a<b>.py", 3, "f<i>", "device_to_host", HOSTILE),),
    )


class Opened:
    """A page and what happened while it was opened."""

    def __init__(self, browser: Browser, path: Path, scheme: str = "light") -> None:
        self.page = browser.new_page(color_scheme=scheme)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text))
        began = time.monotonic()
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=yes]")
        self.seconds = time.monotonic() - began

    def rows(self) -> list[str]:
        """The places in the table, from the top."""
        texts: list[str] = self.page.locator("#lines tbody td.place").all_inner_texts()
        return [text.split()[0] for text in texts]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Opened:
    path = tmp_path / "run.html"
    path.write_text(run_page.render(sample(), lambda name: SOURCE if name == "a<b>.py" else ()), "utf-8")
    return Opened(browser, path)


def test_nothing_is_loaded_and_nothing_fails(opened: Opened) -> None:
    assert len(opened.requests) == 1
    assert opened.errors == []


def test_hostile_text_is_text(opened: Opened) -> None:
    page = opened.page
    assert page.evaluate("window.taken") is None
    assert page.locator("img").count() == 0
    assert HOSTILE.replace("\u2028", "") in page.locator("h1").text_content().replace("\u2028", "")
    assert page.locator("table.code tr").nth(2).locator("td").nth(2).text_content() == SOURCE[2].rstrip()
    assert HOSTILE in page.locator("#refused").text_content()


def test_processes_that_differ_and_lines_that_are_silenced(browser: Browser, tmp_path: Path) -> None:
    row = Differing("a<b>.py", 3, HOSTILE, Direction.DEVICE_TO_HOST, False, (("rank 0", 10), ("rank 1", 0)))
    silenced = transfer(3, Direction.DEVICE_TO_HOST, finding="JT101", silenced=True)
    skipped = transfer(4, Direction.DEVICE_TO_HOST, silenced=True)
    path = tmp_path / "run.html"
    run = replace(sample(), transfers=(silenced, skipped), missed=(), differing=(row,), refused=())
    path.write_text(run_page.render(run, lambda name: SOURCE), "utf-8")
    opened = Opened(browser, path)
    said = opened.page.locator("#refused").text_content()
    assert said.startswith("Processes differ at a<b>.py:3 in ")
    assert said.endswith("device to host, implicit: 10 by rank 0, 0 by rank 1")
    cells = opened.page.locator("#lines tbody td").all_inner_texts()
    assert "(JT101)" in cells
    assert "(skipped)" in cells
    assert (opened.errors, opened.page.evaluate("window.taken")) == ([], None)


def test_cards_and_heat(opened: Opened) -> None:
    page = opened.page
    assert "28.0 KB" in page.locator(".card.device_to_host").text_content()
    assert "20 transfers, 10 implicit" in page.locator(".card.device_to_host").text_content()
    heat = page.locator("tr[data-line='3'] td.heat")
    assert heat.inner_text().startswith("166.67 ms")
    page.select_option("#measure", "count")
    assert heat.inner_text().startswith("10")
    assert "10 turns of 100.00 ms" in page.locator("#about").text_content()
    assert (
        page.locator("#scale").inner_text()
        == "Bars: count in each 100.00 ms, 3 at most; line: turns of the loop, 1 at most."
    )


def test_filters(opened: Opened) -> None:
    page = opened.page
    assert opened.rows() == ["a<b>.py:2", "a<b>.py:3", "a<b>.py:4"]
    page.get_by_label("explicit", exact=True).uncheck()
    assert opened.rows() == ["a<b>.py:2", "a<b>.py:3"]
    page.get_by_role("checkbox", name="host to device").uncheck()
    assert opened.rows() == ["a<b>.py:3"]
    page.get_by_role("checkbox", name="host to device").check()
    page.get_by_label("missed by the static pass only").check()
    assert opened.rows() == ["a<b>.py:2"]
    assert "1 of 3 lines" in page.locator("#shown").text_content()


def test_the_keyboard(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.type("JT191")
    assert opened.rows() == ["a<b>.py:4"]
    page.locator("#search").fill("")
    page.locator("#timeline").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#moment").inner_text().startswith("at 1.10 s: 3 transfers, 3.6 KB, 1 turns")
    page.get_by_role("button", name="Bytes").focus()
    page.keyboard.press("Enter")
    assert opened.rows() == ["a<b>.py:4", "a<b>.py:3", "a<b>.py:2"]
    assert page.locator("#lines th[aria-sort=descending]").inner_text().startswith("Bytes")
    page.keyboard.press("Enter")
    assert opened.rows() == ["a<b>.py:2", "a<b>.py:3", "a<b>.py:4"]
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    page.keyboard.press("Enter")
    assert page.locator("#lines details[open]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes(browser: Browser, tmp_path: Path, scheme: str) -> None:
    path = tmp_path / "run.html"
    path.write_text(run_page.render(sample(), lambda name: SOURCE), "utf-8")
    page = Opened(browser, path, scheme).page
    colors = "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    text, ground = page.evaluate(colors)
    assert contrast(text, ground) > 7
    page.locator("#theme").click()
    other, back = page.evaluate(colors)
    assert (other, back) != (text, ground)
    assert contrast(other, back) > 7
    assert page.locator("html").get_attribute("data-theme") == ("dark" if scheme == "light" else "light")


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG has it."""
    lights = []
    for text in (one, other):
        parts = [int(part) / 255 for part in text.removeprefix("rgb(").rstrip(")").split(",")]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def large(sites: int) -> Run:
    moments = tuple(Moment(n, 40, 160, 1.2345678e-3) for n in range(240))
    rows = tuple(
        transfer(line, Direction.DEVICE_TO_HOST, path="a.py", seconds=9.0 / line, moments=moments, turns=10000)
        for line in range(1, sites + 1)
    )
    return Run("virtual", ("a.py",), 0, 60.0, rows, start=1.0, width=0.2)


def test_a_long_run_is_bounded(tmp_path: Path) -> None:
    page = run_page.render(large(3000), lambda name: ["    x = float(step(x)) and something or other\n"] * 20000)
    assert len(page) < 2_000_000


def test_a_long_run_opens_fast(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    path.write_text(run_page.render(large(200), lambda name: ["    x = float(step(x))\n"] * 1400), "utf-8")
    assert Opened(browser, path).seconds < 2

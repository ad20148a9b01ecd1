"""The pytest plugin: a budget of transfers for a test, a guard level for a suite, the costliest lines at the end.

    @pytest.mark.transfers(device_to_host=0, host_to_device=2)
    def test_step(): ...

Loaded by every pytest of an environment that has jaxlint, so this module imports pytest alone. The rest is imported
where an option or a mark asks for it, and jax never: it is awaited.
"""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import pluggy

    from jaxlint.watched import Watched

NAME = "jaxlint-watched"
MARK = "transfers"
OUTPUT = "jaxlint"
GUARDED = ("host_to_device", "device_to_device", "device_to_host")
LINES = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, all of which are off."""
    group = parser.getgroup("jaxlint", "transfers between host and device (jaxlint)")
    group.addoption(
        "--jaxlint-guard",
        type=_level,
        metavar="LEVEL",
        help="level of JAX's transfer guard for all tests: allow, log, disallow, log_explicit or disallow_explicit",
    )
    for direction in GUARDED:
        words = direction.replace("_", "-")
        group.addoption(f"--jaxlint-guard-{words}", type=_level, metavar="LEVEL", help=f"the same, {words} alone")
    group.addoption(
        "--jaxlint-backend",
        type=_backend,
        metavar="NAME",
        help="whose arrays are watched: auto, device, virtual or sentinel",
    )
    group.addoption(
        "--jaxlint-summary",
        nargs="?",
        type=int,
        const=LINES,
        metavar="N",
        help=f"show the N lines whose transfers cost most (without N, and with any of the others: {LINES})",
    )


def _level(text: str) -> str:
    from jaxlint.keys import LEVELS

    return _one_of(text, LEVELS)


def _backend(text: str) -> str:
    from jaxlint.keys import BACKENDS

    return _one_of(text, BACKENDS)


def _one_of(text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f'"{text}" is none of {", ".join(known)}')
    return text


def pytest_configure(config: pytest.Config) -> None:
    """Begins at once where an option asks for it: before a test module imports jax."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(device_to_host=N, host_to_device=N, device_to_device=N, explicit=False): "
        "the test may make at most so many implicit transfers; with explicit=True all are counted (jaxlint)",
    )
    levels = _levels(config)
    if levels or any(config.getoption(f"jaxlint_{name}") is not None for name in ("backend", "summary")):
        _begin(config, levels, shows=config.getoption("jaxlint_summary") or LINES)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begins where a test has a budget."""
    manager = session.config.pluginmanager
    if not manager.has_plugin(NAME) and any(item.get_closest_marker(MARK) for item in session.items):
        _begin(session.config, {}, shows=0)


def _levels(config: pytest.Config) -> dict[str, str]:
    named = {direction: config.getoption(f"jaxlint_guard_{direction}") for direction in GUARDED}
    levels = {direction: level or config.getoption("jaxlint_guard") for direction, level in named.items()}
    return {direction: level for direction, level in levels.items() if level}


def _begin(config: pytest.Config, levels: Mapping[str, str], shows: int) -> None:
    from jaxlint.errors import UserError
    from jaxlint.watched import Watched

    try:
        watched = Watched(config.getoption("jaxlint_backend") or "auto", dict(levels), shows)
    except UserError as error:
        raise pytest.UsageError(f"jaxlint: {error}") from None
    config.pluginmanager.register(_Hooks(watched), NAME)


class _Hooks:
    """What is done in a suite that is watched."""

    def __init__(self, watched: "Watched") -> None:
        self.watched = watched

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self) -> None:
        # Not before: a module that is imported may upload its constants.
        self.watched.set_levels()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> "Generator[None, pluggy.Result[None], None]":
        marks = [(mark.args, mark.kwargs) for mark in item.iter_markers(MARK)]
        if not marks:
            yield
            return
        with self.watched.record() as transfers:
            outcome = yield
        trouble = self.watched.over_budget(marks, transfers)
        if trouble and outcome.excinfo is None:
            outcome.force_exception(pytest.fail.Exception(trouble, pytrace=False))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None:
            self.watched.add_note(call.excinfo.value)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401  # of pytest-xdist, which need not be there
        """A worker is done: its record comes with it."""
        self.watched.add(getattr(node, "workeroutput", {}).get(OUTPUT))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[OUTPUT] = self.watched.told()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        lines = self.watched.summary(config.invocation_params.dir)
        if lines:
            terminalreporter.section("transfers (jaxlint)")
            for line in lines:
                terminalreporter.line(line)

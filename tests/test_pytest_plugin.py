"""The pytest plugin, in suites of its own: budgets, levels, backends, the summary, workers of pytest-xdist."""

import importlib.util
import sys

import pytest

from backends import REASON
from confirming import environment

pytest_plugins = ["pytester"]
XDIST = importlib.util.find_spec("xdist") is not None
SUITE = """\
import pytest, jax, jax.numpy as jnp, numpy as np

step = jax.jit(lambda x, b: x + b)
batch = np.ones(8, np.float32)
TABLE = jnp.asarray(batch)
step(TABLE, batch), step(TABLE, TABLE)


@pytest.fixture
def x():
    return jax.device_put(np.ones(8, np.float32))


@pytest.mark.transfers(device_to_host=0, host_to_device=2)
def test_within(x):
    step(step(x, batch), batch)
    jax.device_get(x)


@pytest.mark.transfers(device_to_host=1)
def test_over(x):
    for turn in range(3):
        float(step(x, x).sum())  # 23
    x.tolist()  # 24


@pytest.mark.transfers(device_to_host=0, explicit=True)
def test_explicit(x):
    jax.device_get(x)  # 29


@pytest.mark.transfers(device_to_host=0)
class TestClass:
    def test_inherits(self, x):
        print(x)  # 35

    @pytest.mark.transfers(device_to_host=1)
    def test_overrides(self, x):
        print(x)

    @pytest.mark.transfers(device_to_host=0)
    def test_fails_by_itself(self, x):
        print(x)
        raise KeyError("mine")


def test_free(x):
    print(x, step(x, batch))  # 48
"""
WRONG = """\
import pytest

@pytest.mark.transfers(device_to_hots=0)
def test_key(): pass

@pytest.mark.transfers(0)
def test_position(): pass

@pytest.mark.transfers(device_to_host=-1)
def test_negative(): pass

@pytest.mark.transfers(device_to_host="2")
def test_text(): pass

@pytest.mark.transfers(device_to_host=0)
def test_without_jax(): pass
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    for name in ("PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(test_suite=SUITE)
    pytester.makeini("[pytest]\naddopts = --strict-markers -W error\n")
    return pytester


def outcome(suite: pytest.Pytester, *words: str) -> tuple[pytest.RunResult, list[str]]:
    """A run, and what it said."""
    done = suite.runpytest_subprocess("-p", "jaxlint.pytest_plugin", "-p", "no:cacheprovider", *words)
    return done, done.outlines


def workers() -> list[object]:
    both = pytest.mark.skipif(not XDIST, reason="pytest-xdist is not installed")
    return [(), pytest.param(("-n", "2"), marks=both)]


@pytest.mark.parametrize("words", workers())
def test_budgets(suite: pytest.Pytester, words: tuple[str, ...]) -> None:
    done, lines = outcome(suite, *words)
    done.assert_outcomes(passed=3, failed=4)
    failed = {line.partition("::")[2].partition(" ")[0] for line in lines if line.startswith("FAILED")}
    assert failed == {"test_over", "test_explicit", "TestClass::test_inherits", "TestClass::test_fails_by_itself"}
    place = lines.index("4 transfers device to host, 1 is allowed:")
    said = [line.strip() for line in lines[place + 1 : place + 3]]
    assert set(said) == {
        "test_suite.py:23 in test_over: 3 implicit, device to host, 12 bytes",
        "test_suite.py:24 in test_over: 1 implicit, device to host, 32 bytes",
    }
    assert "  test_suite.py:29 in test_explicit: 1 explicit, device to host, 32 bytes" in lines
    assert "  test_suite.py:35 in test_inherits: 1 implicit, device to host, 32 bytes" in lines
    assert any("KeyError" in line for line in lines), "a test's own error is not hidden by its budget"
    assert not [line for line in lines if "(jaxlint)" in line], "nobody asked for a summary"


@pytest.mark.parametrize("words", workers())
def test_a_level_for_the_suite(suite: pytest.Pytester, words: tuple[str, ...]) -> None:
    done, lines = outcome(suite, "--jaxlint-guard-device-to-host", "disallow", "-k", "free or within", *words)
    done.assert_outcomes(passed=1, failed=1)
    note = "jaxlint: test_suite.py:48 in test_free: device-to-host transfer refused, shape=(8), dtype=F32, device=cpu:0"
    assert [line for line in lines if line.endswith(note)]


def test_a_level_holds_from_the_first_test_on(suite: pytest.Pytester) -> None:
    """The module uploads a table as it is imported; fixtures are judged as tests are."""
    done, lines = outcome(suite, "--jaxlint-guard", "disallow", "-k", "within or explicit")
    done.assert_outcomes(passed=0, failed=2)
    assert [line for line in lines if "test_suite.py:16 in test_within: host-to-device transfer refused" in line]
    done, lines = outcome(suite, "--jaxlint-guard", "disallow_explicit", "-k", "within")
    done.assert_outcomes(errors=1)
    assert [line for line in lines if "test_suite.py:11 in x: host-to-device transfer refused" in line]


@pytest.mark.parametrize("words", workers())
def test_the_summary_is_of_all_processes(suite: pytest.Pytester, words: tuple[str, ...]) -> None:
    _, lines = outcome(suite, "--jaxlint-summary", "3", "--jaxlint-backend", "sentinel", *words)
    place = next(n for n, line in enumerate(lines) if " transfers (jaxlint) " in line)
    assert lines[place + 1] == ("sentinel, 2 processes" if words else "sentinel")
    fetched = next(line for line in lines[place:] if line.startswith("device to host: "))
    # 4 and 1 asked by name, and print in four tests.
    assert fetched.split()[3:6] == ["11", "transfers", "(9"]
    rows = [line for line in lines[place:] if " test_suite.py:" in line and "plicit  " in line]
    assert len(rows) == 3
    assert any(line.startswith("… and ") for line in lines)
    _, lines = outcome(suite, "--jaxlint-guard", "log", *words)
    assert not any(line.startswith("… and ") for line in lines), "a level that logs wants them all"


@pytest.mark.skipif(bool(REASON), reason=str(REASON))
def test_another_backend(suite: pytest.Pytester) -> None:
    done, lines = outcome(suite, "--jaxlint-backend", "virtual")
    done.assert_outcomes(passed=3, failed=4)
    assert "virtual" in lines
    assert "  test_suite.py:24 in test_over: 1 implicit, device to host, 32 bytes" in lines


def test_a_suite_that_is_confirmed_or_run(suite: pytest.Pytester) -> None:
    """The witness of the whole program is there before; there are not to be two."""
    command = "pytest -p jaxlint.pytest_plugin -p no:cacheprovider -k within test_suite.py"
    check = ("check", "--isolated", "--confirm", "--run", command, "--backend", "sentinel", "test_suite.py")
    for words in (check, ("run", "--isolated", "--backend", "sentinel", "-m", *command.split())):
        done = suite.run(sys.executable, "-m", "jaxlint", *words)
        said = done.stdout.str() + done.stderr.str()
        assert ("1 passed" in said) or "judged by the backend sentinel" in said
        assert "failed" not in said
    assert [line for line in done.errlines if line.endswith("test_suite.py:16 test_within") and "JT20" in line]


def test_wrong_marks_say_what_is_right(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite=WRONG)
    done, lines = outcome(suite)
    done.assert_outcomes(passed=1, failed=4)
    mark = "@pytest.mark.transfers"
    known = "device_to_host, host_to_device, device_to_device, explicit"
    assert f"{mark} has no 'device_to_hots': it takes {known}" in lines
    assert f"{mark} takes directions by name, as in device_to_host=0, not 0" in lines
    assert f"{mark}(device_to_host=-1): a number of transfers is due" in lines
    assert f"{mark}(device_to_host='2'): a number of transfers is due" in lines


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--jaxlint-guard", "never"), '--jaxlint-guard: "never" is none of allow, log, disallow'),
        (("--jaxlint-backend", "tpu"), '--jaxlint-backend: "tpu" is none of auto, device, virtual, sentinel'),
    ],
)
def test_wrong_options(suite: pytest.Pytester, words: tuple[str, ...], line: str) -> None:
    done, _ = outcome(suite, *words)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert line in done.stderr.str()


UNUSED = """\
import sys

def test_nothing_is_loaded():
    # What other plugins load is not our business.
    loaded = {name for name in sys.modules if name.startswith("jaxlint")}
    assert loaded == {"jaxlint", "jaxlint.pytest_plugin"}

def test_nothing_is_hooked(pytestconfig):
    assert not pytestconfig.pluginmanager.has_plugin("jaxlint-watched")
"""
WITHOUT_JAX = """\
import sys, pytest

sys.modules["jax"] = None

@pytest.mark.transfers(device_to_host=0)
def test_marked():
    with pytest.raises(ImportError):
        import jax
"""


def test_unused_it_loads_nothing(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_suite=UNUSED)
    done, _ = outcome(suite)
    done.assert_outcomes(passed=2)
    done, lines = outcome(suite, "--markers")
    assert any(line.startswith("@pytest.mark.transfers(device_to_host=N, ") for line in lines)


def test_without_jax(suite: pytest.Pytester) -> None:
    """Options and marks are no errors where jax is missing, or never imported."""
    suite.makepyfile(test_suite=WITHOUT_JAX)
    done, lines = outcome(suite, "--jaxlint-guard", "disallow")
    done.assert_outcomes(passed=1)
    assert "no jax" in lines

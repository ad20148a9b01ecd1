"""What a run records is what the marks of ``fixtures/cases`` say: every marked line in its direction, and of fetches
and copies between devices no other. (Uploads of scalars are everywhere, and bear no marks.)"""

import os
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from backends import BACKENDS
from confirming import DRIVER
from jaxlint.statements import Statements
from running import recorded
from test_cases import CASES, marks

NAMES = (
    "001_float_loss_each_step.py", "003_print_every_and_every_n.py", "005_metrics_class_float.py",
    "006_metrics_class_on_device.py", "008_nan_check_each_step.py", "010_token_generation.py", "011_rl_rollout.py",
    "013_numpy_batches_each_step.py", "015_repeated_device_get.py", "016_debug_fstring_logging.py",
    "018_checkpoint_in_loop.py", "020_lookup_table_scan.py", "021_confusion_eval_loop.py",
    "023_hidden_sync_in_jnp.py", "025_rng_in_loop.py", "026_iterate_over_array.py",
    "030_dataclass_state_property.py", "031_pytree_maps.py", "033_async_trainer.py",
    "035_decorators_and_wrappers.py", "045_d2d_committed_devices.py", "046_d2d_sharded_step_each_batch.py",
    "048_h2d_list_and_asarray_in_loop.py", "050_h2d_mixed_numpy_arithmetic.py", "051_scalar_schedule_argument.py",
    "053_module_level_constants.py", "055_builtin_reductions.py", "056_lambda_logger_and_callbacks.py",
    "061_host_device_round_trip.py", "208_newton_line_search.py", "219_metrics_thread_queue.py",
)  # fmt: skip
# What older versions of jax do otherwise.
SINCE = {"046_d2d_sharded_step_each_batch.py": (0, 7, 0), "048_h2d_list_and_asarray_in_loop.py": (0, 10, 1)}
FAMILIES = {"device_to_host": "JT1", "host_to_device": "JT2", "device_to_device": "JT3"}
TWO_DEVICES = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}


@pytest.fixture(scope="module", params=BACKENDS)
def record(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All cases in one process, each as a program of its own."""
    folder = tmp_path_factory.mktemp("cases")
    for name in NAMES:
        shutil.copy(CASES / name, folder)
    (folder / "driver.py").write_text(DRIVER)
    return recorded(folder, request.param, "driver.py", *NAMES, more=TWO_DEVICES)


def crossed(record: dict[str, Any], name: str, statements: Statements) -> dict[tuple[int, str], set[bool]]:
    """(first line of the statement, family) -> whether it was asked for by name, of the nearest lines in the case."""
    found: dict[tuple[int, str], set[bool]] = {}
    for transfer in record["transfers"]:
        for call in transfer["stack"]:
            path, _, line = call.rpartition(" ")[0].rpartition(":")
            if os.path.basename(path) == name:
                key = (statements.lines(int(line))[0], FAMILIES[transfer["direction"]])
                found.setdefault(key, set()).add(transfer["explicit"])
                break
    return found


@pytest.mark.parametrize("name", NAMES)
def test_marked_lines_are_recorded(record: dict[str, Any], name: str) -> None:
    version = tuple(map(int, metadata.version("jax").split(".")[:3]))
    if version < SINCE.get(name, ()):
        pytest.skip(f"in this jax {metadata.version('jax')} the marked lines do something else")
    text = (CASES / name).read_text("utf-8")
    statements = Statements.of_text(text)
    found = crossed(record, name, statements)
    expected = {
        (statements.lines(mark.line)[0], family)
        for mark in marks(text)
        for family in mark.expected
        if family in FAMILIES.values()
    }
    free = {(statements.lines(mark.line)[0], family) for mark in marks(text) for family in mark.free}
    by_name = {key for key in expected if "device_get" in text.splitlines()[key[0] - 1]}
    assert {key for key in expected if False in found.get(key, ())} == expected - by_name
    assert {key for key in by_name if True in found.get(key, ())} == by_name
    others = {key for key, asked in found.items() if False in asked and key[1] != "JT2"}
    assert others - expected - free == set()


def test_the_cases_are_enough() -> None:
    texts = {name: (CASES / name).read_text("utf-8") for name in NAMES}
    marked = [name for name, text in texts.items() if any(mark.expected for mark in marks(text))]
    assert len(marked) >= 25
    assert Path(CASES / NAMES[0]).is_file()

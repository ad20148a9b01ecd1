"""The versions that jaxlint is held to: ``nox`` passes the tests of what depends on them, once for each row of `ROWS`.

``nox`` runs all rows, ``nox -t newest`` those of the newest JAX, ``nox -l`` lists them; words after ``--`` go to
pytest. A row whose Python is not there is skipped. What a row did goes to ``docs/compatibility.json``, of which
`docs/generate.py` makes ``docs/compatibility.md``.

Rows pair old with old and new with new, as people's environments do: JAX 0.8 and newer wants NumPy 2, and JAX 0.11 and
newer wants Python 3.12.
"""

import json
import os
import shutil
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
RESULTS = ROOT / "docs" / "compatibility.json"
OLDEST, MIDDLE, NEWEST = "jax==0.4.35", "jax==0.8.3", "jax"
ROWS = [
    nox.param("3.11", OLDEST, "numpy==1.26.4", id="3.11-oldest", tags=["oldest"]),
    nox.param("3.11", MIDDLE, "numpy==2.0.2", id="3.11-middle", tags=["middle"]),
    nox.param("3.11", NEWEST, "numpy", id="3.11-newest", tags=["newest"]),
    nox.param("3.12", OLDEST, "numpy==1.26.4", id="3.12-oldest", tags=["oldest"]),
    nox.param("3.12", MIDDLE, "numpy==2.1.3", id="3.12-middle", tags=["middle"]),
    nox.param("3.12", NEWEST, "numpy", id="3.12-newest", tags=["newest"]),
    nox.param("3.13", OLDEST, "numpy==2.1.3", id="3.13-oldest", tags=["oldest"]),
    nox.param("3.13", MIDDLE, "numpy", id="3.13-middle", tags=["middle"]),
    nox.param("3.13", NEWEST, "numpy", id="3.13-newest", tags=["newest"]),
    nox.param("3.14", NEWEST, "numpy", id="3.14-newest", tags=["newest"]),
]
# What depends on the versions, by the words of the table.
GROUPS = {
    "rule pages": ("test_rule_pages", "test_rule_pages_static"),
    "guard table": ("test_guard_table", "test_backend_table"),
    "fixtures": ("test_cases", "test_run_cases", "test_confirm_programs"),
    "backends": ("test_sentinel", "test_selftest"),
    "analysis": ("test_interp_limits", "test_source_parse", "test_source_newer", "test_source_positions"),
    "witness": ("test_witness_traps", "test_witness_differential"),
}
TOOLS = ("pytest>=8", "pytest-xdist>=3.5", "hypothesis>=6.100", "jsonschema>=4.18", "tqdm", "matplotlib")
# These ask for a JAX of their own time.
LIBRARIES = ("flax", "optax", "equinox")
VERSIONS = """\
import json, platform
from importlib import metadata
from jaxlint.witness import virtual
found = {name: metadata.version(name) for name in ("jax", "jaxlib", "numpy")}
print(json.dumps({"python": platform.python_version(), **found, "virtual": virtual.why_not() or ""}))
"""
nox.options.sessions = ["versions"]
nox.options.reuse_venv = "yes"


@nox.session
@nox.parametrize("python,jax,numpy", ROWS)
def versions(session: nox.Session, jax: str, numpy: str) -> None:
    """The tests of one row, and their results into the record."""
    libraries = LIBRARIES if jax == NEWEST else ()
    session.install("--quiet", "-e", ".[confirm,virtual]", jax, numpy, *TOOLS, *libraries)
    told = session.run("python", "-c", VERSIONS, silent=True)
    if not isinstance(told, str):
        return  # --install-only
    # Elsewhere than below this folder: what is hidden or ignored is not checked.
    results = Path(tempfile.mkdtemp()) / "results.xml"
    files = [f"tests/{name}.py" for names in GROUPS.values() for name in names]
    arguments = ["-n", "auto", "--dist", "loadfile", f"--junitxml={results}", *session.posargs]
    session.run("python", "-m", "pytest", *arguments, *files, success_codes=[0, 1], env={"CI": "", "TMPDIR": None})
    row = {**json.loads(told), "tests": counts(results)}
    shutil.rmtree(results.parent)
    if not session.posargs:
        record(session.name.partition("(")[2].rstrip(")") or session.name, row)
    if failed := sum(group["failed"] for group in row["tests"].values()):
        session.error(f"{failed} tests failed")


def counts(results: Path) -> dict[str, dict[str, int]]:
    """Passed, failed and skipped tests by group."""
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    made = {group: {"passed": 0, "failed": 0, "skipped": 0} for group in GROUPS}
    for case in xml.parse(results).iter("testcase"):
        group = group_of[case.get("classname", "").split(".")[1]]
        kinds = {child.tag for child in case}
        made[group]["failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"] += 1
    return made


def record(name: str, row: dict[str, object]) -> None:
    """Puts the results of one row into the record, beside those of the others."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    known[name] = row
    written = RESULTS.with_suffix(f".{os.getpid()}")
    written.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n", "utf-8")
    written.replace(RESULTS)

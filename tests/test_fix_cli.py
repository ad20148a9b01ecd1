"""`--fix`, `--diff`, baselines and `--add-ignore` as a user meets them: files, streams, exit statuses."""

import io
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from jaxlint import cli
from jaxlint.errors import SourceError
from jaxlint.source.writing import write

HEAD = "import jax\n\n@jax.jit\ndef step(x):\n    return x + 1\n\n"
BAD = HEAD + "for i in range(9):\n    x = step(1.0)\n    float(x)\n    print(step(x))\n"
SAFE = BAD.replace("float(x)", "float(jax.device_get(x))")
ALL = SAFE.replace("print(step(x))", "print(jax.device_get(step(x)))")
Outcome = tuple[int, str, str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(BAD)
    return tmp_path


class Runner:
    """Runs ``jaxlint check`` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        status = cli.main(["check", *arguments])
        out, err = self.capsys.readouterr()
        return status, out, err


@pytest.fixture
def jaxlint(capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(capsys)


def test_fix_makes_the_safe_fixes_and_reports_the_rest(jaxlint: Runner, project: Path) -> None:
    status, out, err = jaxlint("--fix", "--output-format", "concise", "a.py")
    assert (status, (project / "a.py").read_text()) == (1, SAFE)
    assert out.startswith("a.py:10:5: JT101 ")
    assert err == "1 finding fixed in 1 file\n1 finding in 1 file\n"
    before = (project / "a.py").stat()
    assert jaxlint("--fix", "-q", "a.py")[0] == 1
    assert (project / "a.py").stat() == before, "a second run wrote the file"


def test_unsafe_fixes_are_asked_for_by_flag_or_setting(jaxlint: Runner, project: Path) -> None:
    assert jaxlint("--fix", "--unsafe-fixes", "a.py") == (0, "", "2 findings fixed in 1 file\nno findings in 1 file\n")
    assert (project / "a.py").read_text() == ALL
    (project / "a.py").write_text(BAD)
    (project / "jaxlint.toml").write_text("unsafe-fixes = true\n")
    assert jaxlint("--fix", "--no-unsafe-fixes", "-q", "a.py")[0] == 1
    assert (project / "a.py").read_text() == SAFE
    assert jaxlint("--fix", "-q", "a.py")[0] == 0
    assert (project / "a.py").read_text() == ALL


def test_diff_shows_and_changes_nothing(jaxlint: Runner, project: Path) -> None:
    status, out, err = jaxlint("--diff", "a.py")
    assert (status, err) == (1, "1 finding would be fixed in 1 file\n")
    assert out.splitlines() == [
        "--- a.py", "+++ a.py", "@@ -6,5 +6,5 @@", " ", " for i in range(9):", "     x = step(1.0)",
        "-    float(x)", "+    float(jax.device_get(x))", "     print(step(x))",
    ]  # fmt: skip
    assert (project / "a.py").read_text() == BAD
    assert jaxlint("--diff", "--unfixable", "JT104", "-q", "a.py") == (0, "", "")


def test_fix_only_reports_nothing_else(jaxlint: Runner, project: Path) -> None:
    assert jaxlint("--fix-only", "a.py") == (0, "", "1 finding fixed in 1 file\n")
    assert (project / "a.py").read_text() == SAFE


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        ('fixable = ["JT101"]', BAD),
        ('unfixable = ["JT104"]', BAD),
        ('unfixable = ["JT1"]\nfixable = ["ALL"]', BAD),
        ("fixable = []", BAD),
        ('fixable = ["JT1"]', SAFE),
    ],
)
def test_settings_say_which_rules_are_fixed(jaxlint: Runner, project: Path, setting: str, text: str) -> None:
    (project / "jaxlint.toml").write_text(setting + "\n")
    jaxlint("--fix", "-q", "a.py")
    assert (project / "a.py").read_text() == text


def test_standard_input_is_fixed_to_standard_output(
    jaxlint: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert jaxlint("--fix", "-") == (1, SAFE, "1 finding fixed in 1 file\n")
    assert (project / "a.py").read_text() == BAD


def test_one_bad_file_hides_no_other(jaxlint: Runner, project: Path) -> None:
    (project / "b.py").write_text("import jax\ndef (:\n")
    status, out, err = jaxlint("--fix", ".")
    assert (status, (project / "a.py").read_text()) == (2, SAFE)
    assert "a.py:10:5" in out
    assert "b.py:2:5: error: syntax error" in err


class TestWriting:
    def test_mode_and_link_are_kept(self, jaxlint: Runner, project: Path) -> None:
        (project / "b").mkdir()
        target = (project / "a.py").rename(project / "b" / "real.py")
        target.chmod(0o750)
        (project / "a.py").symlink_to(target)
        assert jaxlint("--fix", "-q", "a.py")[0] == 1
        assert (project / "a.py").is_symlink()
        assert target.read_text() == SAFE
        assert stat.S_IMODE(target.stat().st_mode) == 0o750
        assert os.listdir(project / "b") == ["real.py"]

    def test_a_file_that_changed_meanwhile_is_not_written(self, project: Path) -> None:
        with pytest.raises(SourceError, match="something else has written"):
            write(project / "a.py", b"other", b"new", "a.py")
        assert (project / "a.py").read_text() == BAD

    def test_a_failure_leaves_the_file_and_nothing_beside_it(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.replace", fail)
        with pytest.raises(SourceError, match="not changed: No space left"):
            write(project / "a.py", BAD.encode(), b"new", "a.py")
        assert (project / "a.py").read_text() == BAD
        assert os.listdir(project) == ["a.py"]

    def test_what_could_not_be_written_is_not_counted_and_its_findings_are_reported(
        self, jaxlint: Runner, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "b.py").write_text(BAD)
        into = os.replace

        def fail(source: str, target: str) -> None:
            if os.path.basename(target) == "b.py":
                raise OSError(13, "Permission denied")
            into(source, target)

        monkeypatch.setattr("os.replace", fail)
        status, out, err = jaxlint("--fix", "--unsafe-fixes", "--no-cache", "--output-format", "concise", ".")
        assert (status, [line[:10] for line in out.splitlines()]) == (2, ["b.py:9:5: ", "b.py:10:5:"])
        assert err.splitlines()[0] == "2 findings fixed in 1 file"
        assert "b.py: error: not changed: Permission denied" in err
        assert [(project / name).read_text() for name in ("a.py", "b.py")] == [ALL, BAD]


class TestBaseline:
    def test_what_is_known_is_not_reported_wherever_it_stands(self, jaxlint: Runner, project: Path) -> None:
        assert jaxlint("--write-baseline", "known.json", "a.py") == (
            0,
            "",
            "2 findings written to known.json as known\n",
        )
        assert jaxlint("--baseline", "known.json", "a.py") == (0, "", "no findings in 1 file\n")
        (project / "a.py").write_text("# new\n" + BAD.replace("float(x)", "float(  x )") + "    int(step(x))\n")
        status, out, _ = jaxlint("--baseline", "known.json", "--output-format", "concise", "a.py")
        assert (status, out.count("\n")) == (1, 2)
        assert "JT104 `float`" in out
        assert "JT104 `int`" in out

    def test_as_many_are_known_as_were_counted(self, jaxlint: Runner, project: Path) -> None:
        jaxlint("--write-baseline", "known.json", "-q", "a.py")
        (project / "a.py").write_text(BAD + "    print(step(x))\n")
        status, out, _ = jaxlint("--baseline", "known.json", "--output-format", "concise", "a.py")
        assert (status, out.count("\n")) == (1, 1)

    def test_a_fix_spares_what_is_known(self, jaxlint: Runner, project: Path) -> None:
        jaxlint("--write-baseline", "known.json", "-q", "a.py")
        (project / "a.py").write_text(BAD + "    x = step(x)\n    float(x)\n    print(step(x))\n")
        status, out, _ = jaxlint("--baseline", "known.json", "--fix", "--output-format", "concise", "a.py")
        text = BAD + "    x = step(x)\n    float(jax.device_get(x))\n    print(step(x))\n"
        assert (status, (project / "a.py").read_text()) == (1, text)
        assert [line.partition(" ")[0] for line in out.splitlines()] == ["a.py:13:5:"]

    def test_what_is_gone_is_told(self, jaxlint: Runner, project: Path) -> None:
        (project / "b.py").write_text(BAD)
        jaxlint("--write-baseline", "known.json", "-q", ".")
        (project / "a.py").write_text(SAFE)
        assert jaxlint("--baseline", "known.json", ".") == (
            0,
            "",
            "no findings in 2 files\nknown.json: gone: JT104 in a.py: float(x)\n",
        )
        assert jaxlint("--baseline", "known.json", "--ignore", "JT104", "a.py")[2] == "no findings in 1 file\n"
        assert jaxlint("--baseline", "known.json", "b.py")[2] == "no findings in 1 file\n"

    def test_the_setting_counts_from_the_configuration(self, jaxlint: Runner, project: Path) -> None:
        jaxlint("--write-baseline", "known.json", "-q", "a.py")
        (project / "jaxlint.toml").write_text('baseline = "known.json"\n')
        assert jaxlint("-q", "a.py") == (0, "", "")
        (project / "known.json").write_text("[]")
        assert jaxlint("a.py") == (
            2,
            "",
            f"jaxlint: {project}/known.json: not a baseline of jaxlint: remove it and write one by --write-baseline\n",
        )

    @pytest.mark.parametrize(
        "words",
        [
            ("--write-baseline", "a.py"),
            ("--output-format", "json=a.py", "a.py"),
            ("--output-file", "a.py", "a.py"),
            ("--write-baseline", "kept.json", "a.py"),
            ("--write-baseline", "known.json", "b.py"),
            ("--write-baseline", "known.json", "a.py", "broken.py"),
            ("--output-format", "json=r", "--output-format", "sarif=./r", "a.py"),
        ],
    )
    def test_nothing_of_the_users_is_written_over(self, words: tuple[str, ...], jaxlint: Runner, project: Path) -> None:
        (project / "kept.json").write_text('{"name": "a package"}')
        (project / "broken.py").write_text("import jax\nx = (\n")
        jaxlint("--write-baseline", "known.json", "-q", "a.py")
        before = {path: path.read_bytes() for path in project.iterdir() if path.is_file()}
        status, out, said = jaxlint(*words)
        assert (status, out) == (2, "")
        assert said.splitlines()[-1].startswith("jaxlint: ")
        assert {path: path.read_bytes() for path in project.iterdir() if path.is_file()} == before

    def test_the_function_tells_twins_apart(self, jaxlint: Runner, project: Path) -> None:
        inner = "".join(f"    {line}\n" for line in BAD.removeprefix(HEAD).splitlines())
        (project / "a.py").write_text(f"{HEAD}def f():\n{inner}\ndef g():\n{inner}")
        jaxlint("--write-baseline", "known.json", "-q", "a.py")
        entries = json.loads((project / "known.json").read_text())["findings"]
        assert [(e["function"], e["code"], e["text"], e["count"]) for e in entries] == [
            ("f", "JT101", "print(step(x))", 1),
            ("f", "JT104", "float(x)", 1),
            ("g", "JT101", "print(step(x))", 1),
            ("g", "JT104", "float(x)", 1),
        ]


class TestAddIgnore:
    def test_each_finding_gets_its_comment_once(self, jaxlint: Runner, project: Path) -> None:
        assert jaxlint("--add-ignore", "the log\n needs it", "a.py") == (
            0,
            "",
            "2 findings silenced in 1 file\nno findings in 1 file\n",
        )
        text = (project / "a.py").read_text()
        assert text.splitlines()[-2:] == [
            "    float(x)  # jaxlint: ignore[JT104] the log needs it",
            "    print(step(x))  # jaxlint: ignore[JT101] the log needs it",
        ]
        assert jaxlint("--add-ignore", "again", "a.py")[0] == 0
        assert (project / "a.py").read_text() == text

    @pytest.mark.parametrize(
        ("line", "wanted"),
        [
            ("float(x)  # why", "float(x)  # why  # jaxlint: ignore[JT104] R"),
            ("float(x)  # jaxlint: ignore[JT102] b", "float(x)  # jaxlint: ignore[JT102, JT104] b"),
            (
                "y = (\n        float(x),  # one\n    )",
                "y = (\n        float(x),  # one\n    )  # jaxlint: ignore[JT104] R",
            ),
            ("y = float(x) + \\\n        2", "y = float(x) + \\\n        2  # jaxlint: ignore[JT104] R"),
            ("y = f'''{x}\n'''", "y = f'''{x}\n'''  # jaxlint: ignore[JT102] R"),
            ("if x: y = 1", "if x: y = 1  # jaxlint: ignore[JT105] R"),
            ("float(x); print(step(x))", "float(x); print(step(x))  # jaxlint: ignore[JT101, JT104] R"),
        ],
    )
    def test_where_the_comment_goes(self, jaxlint: Runner, project: Path, line: str, wanted: str) -> None:
        text = HEAD + "for i in range(9):\n    x = step(1.0)\n    {}\n"
        (project / "a.py").write_text(text.format(line))
        assert jaxlint("--ignore", "JT001", "--add-ignore", "R", "-q", "a.py")[:2] == (0, "")
        assert (project / "a.py").read_text() == text.format(wanted)

    def test_a_reason_is_needed(self, jaxlint: Runner) -> None:
        assert jaxlint("--add-ignore", " ", "a.py")[0] == 2
        assert jaxlint("--add-ignore", "R", "-")[0] == 2


def notebook(*sources: list[str]) -> bytes:
    cells = [
        {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [{"é": 1.50}], "source": source}
        for source in sources
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n\n").encode()


IMPORTS = ["%load_ext autoreload\n", "import jax.numpy as jnp"]
LOOP = [
    "%%time\n",
    "for i in range(9):\n",
    "    float(jnp.ones(()))  # é\n",
    "!ls\n",
    "%timeit float(jnp.ones(()))",
]


class TestNotebooks:
    def test_cells_are_fixed_and_nothing_else_changes(self, jaxlint: Runner, project: Path) -> None:
        path = project / "n.ipynb"
        path.write_bytes(notebook(IMPORTS, LOOP))
        assert jaxlint("--fix", "--min-heat", "cold", "n.ipynb")[0] == 0
        imports = ["%load_ext autoreload\n", "import jax\n", "import jax.numpy as jnp"]
        loop = [line.replace("float(jnp.ones(()))", "float(jax.device_get(jnp.ones(())))") for line in LOOP]
        assert path.read_bytes() == notebook(imports, loop)
        assert jaxlint("--fix", "-q", "--min-heat", "cold", "n.ipynb") == (0, "", "")
        assert path.read_bytes() == notebook(imports, loop)

    def test_fetches_of_two_cells_are_not_gathered(self, jaxlint: Runner, project: Path) -> None:
        """Each cell can be run by itself."""
        path = project / "n.ipynb"
        before = ["import jax\n", "import jax.numpy as jnp\n", "x = jnp.ones(())\n", "y = x + 1\n"]
        path.write_bytes(notebook(before, ["float(x)"], ["float(y)"]))
        assert jaxlint("--fix", "--min-heat", "cold", "-q", "n.ipynb") == (0, "", "")
        cells = (["float(jax.device_get(x))"], ["float(jax.device_get(y))"])
        assert path.read_bytes() == notebook(before, *cells)
        path.write_bytes(notebook(before, ["float(x)\n", "float(y)"]))
        assert jaxlint("--fix", "--min-heat", "cold", "-q", "n.ipynb") == (0, "", "")
        gathered = ["x_host, y_host = jax.device_get((x, y))\n", "float(x_host)\n", "float(y_host)"]
        assert path.read_bytes() == notebook(before, gathered)

    def test_comments_and_baselines_know_cells(self, jaxlint: Runner, project: Path) -> None:
        path = project / "n.ipynb"
        path.write_bytes(notebook(IMPORTS, LOOP[:3]))
        jaxlint("--write-baseline", "known.json", "-q", "n.ipynb")
        path.write_bytes(notebook(["x = 1\n"], IMPORTS, LOOP[:3]))
        assert jaxlint("--baseline", "known.json", "-q", "n.ipynb") == (0, "", "")
        assert jaxlint("--add-ignore", "R", "-q", "n.ipynb")[:2] == (0, "")
        line = "    float(jnp.ones(()))  # é  # jaxlint: ignore[JT104] R\n"
        assert path.read_bytes() == notebook(["x = 1\n"], IMPORTS, [*LOOP[:2], line])


def test_the_report_carries_the_fix_from_the_cache_too(jaxlint: Runner) -> None:
    reports = [jaxlint("--output-format", "json", "a.py")[1] for _ in range(2)]
    assert reports[0] == reports[1]
    fixes = [finding["fix"] for finding in json.loads(reports[0])["findings"]]
    assert fixes[0] == {
        "safe": True,
        "description": "make the fetch explicit: `jax.device_get(…)`",
        "edits": [
            {"line": 9, "column": 11, "end_line": 9, "end_column": 12, "text": "jax.device_get(x)", "cell": None}
        ],
    }
    assert fixes[1]["safe"] is False


def test_a_diff_can_be_applied(jaxlint: Runner, project: Path) -> None:
    (project / "a.py").write_text(BAD.rstrip("\n"))
    patch = jaxlint("--diff", "--unsafe-fixes", "-q", "a.py")[1]
    done = subprocess.run(["git", "apply", "-p0", "-"], input=patch, text=True, cwd=project, check=False)
    assert done.returncode == 0
    assert (project / "a.py").read_text() == ALL.rstrip("\n")

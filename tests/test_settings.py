"""Settings: what holds by default, where a configuration is found, and the exact words for everything that is wrong."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from jaxlint import settings
from jaxlint.configuration import find
from jaxlint.errors import UserError
from jaxlint.selection import enabled, ignored
from jaxlint.settings import Flags, Settings
from jaxlint.sites import Confidence, Heat
from jaxlint.source.files import DEFAULT_EXCLUDE

RULES: Mapping[str, bool] = {
    "JT001": True,
    "JT101": True,
    "JT102": True,
    "JT110": False,
    "JT201": True,
    "JT210": False,
    "JT401": True,
}
NAMES: Mapping[str, str] = {
    "JT001": "bad-file",
    "JT101": "print-array",
    "JT102": "convert-array",
    "JT110": "hidden-fetch",
    "JT201": "upload-scalar",
    "JT210": "upload-list",
    "JT401": "traced-branch",
}


@pytest.fixture(autouse=True)
def _in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")


def resolve(text: str | None = None, name: str = "jaxlint.toml", **flags: object) -> Settings:
    """Settings from a file's text and flags, as the command line resolves them."""
    if text is not None:
        Path(name).write_text(text, "utf-8")
    return settings.resolve(Flags(**flags), NAMES, Path.cwd())  # type: ignore[arg-type]


def complaint(text: str | None = None, name: str = "jaxlint.toml", **flags: object) -> str:
    """The one line that a wrong configuration gives."""
    with pytest.raises(UserError) as caught:
        resolve(text, name, **flags)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_nothing_said_gives_the_defaults() -> None:
    found = resolve()
    assert found.select is None
    assert found.min_heat is Heat.HOT
    assert found.min_confidence is Confidence.MEDIUM
    assert found.output_format == "text"
    assert found.config is None
    assert enabled(found, RULES) == {"JT001", "JT101", "JT102", "JT201", "JT401"}


def test_an_empty_file_gives_the_defaults_and_is_named() -> None:
    found = resolve("")
    assert found.config == Path.cwd() / "jaxlint.toml"
    assert enabled(found, RULES) == enabled(resolve(isolated=True), RULES)


def test_every_key_is_read() -> None:
    found = resolve(
        """
        select = ["JT1"]
        ignore = ["JT102"]
        extend-select = ["JT210"]
        exclude = ["gen"]
        extend-exclude = ["data/*.py"]
        respect-gitignore = false
        force-exclude = true
        min-heat = "cold"
        min-confidence = "high"
        output-format = "json"
        cache-dir = "cache"
        [per-file-ignores]
        "tests/*" = ["JT101"]
        [models.alias]
        "mylab.np" = "numpy"
        [confirm]
        run = ["python train.py"]
        backend = "sentinel"
        timeout = 5
        """
    )
    assert (found.select, found.ignore, found.extend_select) == (("JT1",), ("JT102",), ("JT210",))
    assert [pattern.text for pattern in found.exclude] == ["gen", "data/*.py"]
    assert {pattern.base for pattern in found.exclude} == {Path.cwd()}
    assert (found.respect_gitignore, found.force_exclude) == (False, True)
    assert (found.min_heat, found.min_confidence) == (Heat.COLD, Confidence.HIGH)
    assert (found.output_format, found.cache_dir) == ("json", "cache")
    assert [(entry.pattern.text, entry.selectors) for entry in found.per_file_ignores] == [("tests/*", ("JT101",))]
    assert found.models == {"alias": {"mylab.np": "numpy"}}
    assert found.models_place == "jaxlint.toml:15"
    assert found.confirm == settings.Confirm(("python train.py",), "sentinel", 5.0)


def test_exclude_replaces_the_default_and_extend_exclude_adds() -> None:
    assert [p.text for p in resolve("exclude = []").exclude] == []
    assert [p.text for p in resolve('extend-exclude = ["x"]').exclude] == [*DEFAULT_EXCLUDE, "x"]


class TestWhereTheFileIs:
    def test_the_nearest_folder_upwards_holds(self) -> None:
        Path("jaxlint.toml").write_text('min-heat = "cold"')
        below = Path("a/b")
        below.mkdir(parents=True)
        assert find(below.absolute()).path == Path.cwd() / "jaxlint.toml"
        Path("a/pyproject.toml").write_text("[tool.jaxlint]")
        assert find(below.absolute()).path == Path.cwd() / "a/pyproject.toml"

    def test_own_file_wins_over_pyproject_in_one_folder(self) -> None:
        Path("pyproject.toml").write_text('[tool.jaxlint]\nmin-heat = "cold"')
        assert resolve('min-heat = "periodic"').min_heat is Heat.PERIODIC

    def test_pyproject_without_our_table_is_passed_over(self) -> None:
        Path("jaxlint.toml").write_text("")
        Path("a").mkdir()
        Path("a/pyproject.toml").write_text("[tool.ruff]\n[tool]\njax = 1")
        assert find(Path("a").absolute()).path == Path.cwd() / "jaxlint.toml"

    def test_isolated_reads_none(self) -> None:
        assert resolve('min-heat = "cold"', isolated=True).min_heat is Heat.HOT

    def test_a_named_file_is_read_whatever_its_name(self) -> None:
        Path("other.cfg").write_text('min-heat = "cold"')
        assert resolve(config=Path("other.cfg")).min_heat is Heat.COLD

    def test_bom_and_crlf_do_no_harm(self) -> None:
        Path("jaxlint.toml").write_bytes(b'\xef\xbb\xbfmin-heat = "cold"\r\nignore = ["JT101"]\r\n')
        assert resolve().min_heat is Heat.COLD


class TestFlags:
    def test_a_flag_holds_over_the_file(self) -> None:
        found = resolve('min-heat = "cold"\noutput-format = "json"', min_heat="periodic", output_format="text")
        assert (found.min_heat, found.output_format) == (Heat.PERIODIC, "text")

    def test_select_sets_the_files_selection_aside(self) -> None:
        text = 'select = ["JT2"]\nignore = ["JT101"]\nextend-select = ["JT210"]'
        assert enabled(resolve(text, select=("JT101",)), RULES) == {"JT101"}

    def test_ignore_replaces_and_extend_select_adds(self) -> None:
        text = 'ignore = ["JT101"]'
        assert enabled(resolve(text, ignore=("JT2",), extend_select=("JT110",)), RULES) == {
            *("JT001", "JT101", "JT102", "JT110", "JT401")
        }

    def test_exclude_replaces_and_extend_exclude_adds(self) -> None:
        found = resolve('exclude = ["a"]\nextend-exclude = ["b"]', exclude=("c",), extend_exclude=("d",))
        assert [pattern.text for pattern in found.exclude] == ["c", "d"]

    def test_per_file_ignores(self) -> None:
        found = resolve(per_file_ignores=("C:/x/*.py:JT1",))
        assert [(entry.pattern.text, entry.selectors) for entry in found.per_file_ignores] == [("C:/x/*.py", ("JT1",))]


class TestSelection:
    @pytest.mark.parametrize(
        ("select", "ignore", "extend", "codes"),
        [
            (None, (), (), {"JT001", "JT101", "JT102", "JT201", "JT401"}),
            ((), (), (), set()),
            (("JT1",), (), (), {"JT101", "JT102"}),
            (("JT10",), (), (), {"JT101", "JT102"}),
            (("JT110",), (), (), {"JT110"}),
            (("ALL",), (), (), set(RULES)),
            (("ALL",), ("JT1",), (), {"JT001", "JT201", "JT210", "JT401"}),
            (("JT101",), ("JT1",), (), {"JT101"}),
            (("JT1",), ("JT101",), (), {"JT102"}),
            (("JT101",), ("JT101",), (), set()),
            (("JT1",), ("ALL",), (), {"JT101", "JT102"}),
            (None, ("ALL",), (), set()),
            (("JT1",), (), ("JT2",), {"JT101", "JT102", "JT201"}),
            (None, (), ("JT110",), {"JT001", "JT101", "JT102", "JT110", "JT201", "JT401"}),
            ((), (), ("JT110",), {"JT110"}),
        ],
    )
    def test_longer_wins_then_ignore_and_off_rules_only_by_name(
        self, select: tuple[str, ...] | None, ignore: tuple[str, ...], extend: tuple[str, ...], codes: set[str]
    ) -> None:
        assert enabled(Settings(select=select, ignore=ignore, extend_select=extend), RULES) == codes

    def test_ignored_by_prefix(self) -> None:
        assert not ignored((), "JT101")
        assert ignored(("JT2", "JT10"), "JT101")
        assert ignored(("ALL",), "JT101")


class TestWrongFiles:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('\nselct = ["JT1"]', 'jaxlint.toml:2: unknown key "selct" in jaxlint.toml: did you mean "select"?'),
            (
                "zzz = 1",
                'jaxlint.toml:1: unknown key "zzz" in jaxlint.toml: the keys are select, ignore, extend-select, '
                "per-file-ignores, exclude, extend-exclude, respect-gitignore, force-exclude, min-heat, "
                "min-confidence, output-format, cache-dir, fixable, unfixable, unsafe-fixes, baseline, models, confirm",
            ),
            (
                "[tool.jaxlint]\nselect = []",
                'jaxlint.toml:1: unknown key "tool" in jaxlint.toml: in this file the keys stand at the top, outside '
                "of any table",
            ),
            (
                'ignore = [\n  "JT101",\n  "JT109",\n]',
                'jaxlint.toml:3: unknown rule "JT109": did you mean "JT101"?',
            ),
            ('select = ["E501"]', 'jaxlint.toml:1: unknown rule "E501": `jaxlint rules` lists them'),
            ('select = ["jt101"]', 'jaxlint.toml:1: unknown rule "jt101": did you mean "JT101"?'),
            ('select = [""]', 'jaxlint.toml:1: unknown rule "": `jaxlint rules` lists them'),
            ('select = "JT101"', 'jaxlint.toml:1: "select" must be a list of strings, not "JT101"'),
            ("exclude = [1]", 'jaxlint.toml:1: "exclude" must be a list of strings, not a list with 1'),
            ("force-exclude = 1", 'jaxlint.toml:1: "force-exclude" must be true or false, not 1'),
            ("cache-dir = []", 'jaxlint.toml:1: "cache-dir" must be a string, not a list'),
            ("min-heat = 2026-01-01", 'jaxlint.toml:1: "min-heat" must be a string, not a date or time'),
            ('min-heat = "warm"', 'jaxlint.toml:1: "min-heat" cannot be "warm": it is one of hot, periodic, cold'),
            ('min-heat = "hott"', 'jaxlint.toml:1: "min-heat" cannot be "hott": did you mean "hot"?'),
            ('output-format = "jsn"', 'jaxlint.toml:1: "output-format" cannot be "jsn": did you mean "json"?'),
            ("per-file-ignores = 1", 'jaxlint.toml:1: "per-file-ignores" must be a table, not 1'),
            (
                '[per-file-ignores]\n"tests/*" = ["JT1", "JT777"]',
                'jaxlint.toml:2: unknown rule "JT777": `jaxlint rules` lists them',
            ),
            (
                '[per-file-ignores]\n"tests/*.py" = "JT101"',
                'jaxlint.toml:2: "per-file-ignores.tests/*.py" must be a list of strings, not "JT101"',
            ),
            ("[confirm]\nrunn = []", 'jaxlint.toml:2: unknown key "runn" in [confirm]: did you mean "run"?'),
            (
                '[confirm]\nbackend = "virtul"',
                'jaxlint.toml:2: "confirm.backend" cannot be "virtul": did you mean "virtual"?',
            ),
            (
                "[confirm]\ntimeout = 0",
                'jaxlint.toml:2: "confirm.timeout" must be a number of seconds above zero, not 0',
            ),
            (
                "confirm.timeout = true",
                'jaxlint.toml:1: "confirm.timeout" must be a number of seconds above zero, not true',
            ),
            ("confirm = 3", 'jaxlint.toml:1: "confirm" must be a table, not 3'),
            (
                "[[models.functions]]\nnames = []",
                'jaxlint.toml:1: unknown key "functions" in [models]: did you mean "function"?',
            ),
            ("a = \n", "jaxlint.toml:1:5: invalid TOML: Invalid value"),
            ('\na = """x', "jaxlint.toml:2: invalid TOML: Unterminated string"),
        ],
    )
    def test_the_line_names_file_place_and_remedy(self, text: str, message: str) -> None:
        assert complaint(text) == message

    def test_pyproject_names_its_table(self) -> None:
        text = '[project]\nname = "x"\nselect = 1\n[tool.jaxlint]\nmin-het = "hot"\n'
        message = 'pyproject.toml:5: unknown key "min-het" in [tool.jaxlint]: did you mean "min-heat"?'
        assert complaint(text, "pyproject.toml") == message

    def test_pyproject_table_must_be_a_table(self) -> None:
        assert complaint("[tool]\njaxlint = 1", "pyproject.toml") == "pyproject.toml: [tool.jaxlint] must be a table"

    def test_not_utf8(self) -> None:
        Path("jaxlint.toml").write_bytes(b"# \xff")
        assert complaint() == "jaxlint.toml: not UTF-8 (byte 2): save the file as UTF-8"

    def test_a_named_file_must_be_there(self) -> None:
        message = "none.toml: cannot read the configuration: No such file or directory"
        assert complaint(config=Path("none.toml")) == message

    def test_a_named_pyproject_must_have_the_table(self) -> None:
        Path("pyproject.toml").write_text("")
        message = "pyproject.toml: no [tool.jaxlint] table: add one, or name another file"
        assert complaint(config=Path("pyproject.toml")) == message

    def test_isolated_and_config_exclude_each_other(self) -> None:
        message = "--isolated and --config exclude each other: give one of them"
        assert complaint(config=Path("a"), isolated=True) == message


class TestWrongFlags:
    def test_unknown_rule(self) -> None:
        assert complaint(select=("JT109",)) == '--select: unknown rule "JT109": did you mean "JT101"?'
        assert complaint(ignore=("X",)) == '--ignore: unknown rule "X": `jaxlint rules` lists them'
        assert complaint(extend_select=("JT1O1",)) == '--extend-select: unknown rule "JT1O1": did you mean "JT101"?'

    @pytest.mark.parametrize("name", ["print-array", "Print-Array", "print_array"])
    def test_a_name_of_a_rule_stands_for_its_code(self, name: str) -> None:
        assert complaint(select=(name,)) == f'--select: unknown rule "{name}": did you mean "JT101"?'

    def test_per_file_ignores_need_both_parts(self) -> None:
        message = '--per-file-ignores: "tests" is not PATTERN:CODE: write for example "tests/*:JT101"'
        assert complaint(per_file_ignores=("tests",)) == message
        message = '--per-file-ignores: unknown rule "JT9": `jaxlint rules` lists them'
        assert complaint(per_file_ignores=("a:JT9",)) == message

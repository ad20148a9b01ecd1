"""The command line as a person and a script meet it: streams, exit statuses, exact messages."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint import __version__, cli
from jaxlint.check import check_text
from jaxlint.commands import checks
from jaxlint.keys import FORMATS
from jaxlint.rulebook import load_rules
from loop_program import LOOP as BAD

ROOT = Path(__file__).resolve().parent.parent
GOOD = BAD.replace("        print(x)\n", "    return x\n")
COLD = BAD.replace("        print(x)\n", "    print(x)\n")
Outcome = tuple[int, str, str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def jaxlint(capsys: pytest.CaptureFixture[str]) -> "Runner":
    return Runner(capsys)


class Runner:
    """Runs a command line in this process; gives exit status, standard output and standard error."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        try:
            status = cli.main(arguments)
        except SystemExit as ended:
            status = int(ended.code or 0)
        out, err = self.capsys.readouterr()
        return status, out, err

    def error(self, *arguments: str) -> str:
        """The one line of a request that is refused with status 2 and nothing on standard output."""
        status, out, err = self(*arguments)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1, err
        return err.removesuffix("\n")

    def codes(self, *arguments: str) -> list[str]:
        """The codes that a check reports."""
        return [f["code"] for f in json.loads(self("check", "--output-format", "json", *arguments)[1])["findings"]]


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text, "utf-8")
    return name


def process(*arguments: str, **keywords: object) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(  # type: ignore[call-overload, no-any-return]
        [sys.executable, "-m", "jaxlint", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **keywords,
    )


class TestExitStatus:
    def test_nothing_found(self, jaxlint: Runner) -> None:
        assert jaxlint("check", write("a.py", GOOD)) == (0, "", "no findings in 1 file\n")

    def test_an_empty_file_is_no_finding(self, jaxlint: Runner) -> None:
        assert jaxlint("check", write("a.py", "")) == (0, "", "no findings in 1 file\n")

    def test_findings(self, jaxlint: Runner) -> None:
        status, out, err = jaxlint("check", write("a.py", BAD))
        assert status == 1
        assert out.startswith("a.py:10:9: JT101 ")
        assert err == "1 finding in 1 file\n"

    def test_exit_zero_changes_the_status_alone(self, jaxlint: Runner) -> None:
        _, out, err = jaxlint("check", write("a.py", BAD))
        assert jaxlint("check", "--exit-zero", "a.py") == (0, out, err)

    def test_one_bad_file_hides_no_other_and_wins_over_findings(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        write("b.py", "x = (\n")
        write("c.py", BAD)
        status, out, err = jaxlint("check", "--output-format", "concise", "--exit-zero")
        assert status == 2
        assert [line.split(":")[0] for line in out.splitlines()] == ["a.py", "c.py"]
        assert re.match(r"b\.py:\d+:\d+: error: .+\n2 findings in 3 files, 1 error\n$", err), err

    def test_a_file_is_no_command(self, jaxlint: Runner) -> None:
        said = "jaxlint: a.py is no command: jaxlint check a.py reads it, jaxlint run a.py runs it\n"
        assert jaxlint("a.py") == (2, "", said)

    def test_a_missing_path(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        status, out, err = jaxlint("check", "a.py", "none.py", "--output-format", "concise")
        assert status == 2
        assert out.startswith("a.py:10:9: ")
        assert "none.py: error: no such file or folder\n" in err

    def test_a_bug_of_ours(self, jaxlint: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*_: object) -> int:
            raise ZeroDivisionError("oops")

        monkeypatch.setattr(checks, "check", broken)
        status, out, err = jaxlint("check", write("a.py", GOOD))
        assert (status, out) == (3, "")
        assert "ZeroDivisionError: oops" in err
        assert err.splitlines()[-1] == (
            f"jaxlint: this is a bug in jaxlint {__version__}, not in your code: please report it with the lines above "
            "and, if you can, the file that shows it"
        )

    def test_interrupted(self, jaxlint: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(*_: object) -> int:
            raise KeyboardInterrupt

        monkeypatch.setattr(checks, "check", interrupted)
        assert jaxlint("check") == (130, "", "jaxlint: interrupted\n")


class TestWrongFiles:
    """Each fault is one line with its place on standard error, status 2, and the file beside it is checked."""

    @pytest.mark.parametrize(
        ("data", "line"),
        [
            (b"# coding: klingon\n", "x.py:1:11: error: unknown encoding 'klingon'"),
            (b"# coding: ascii\nx = '\xe9'\n", "x.py:2:6: error: byte 0xe9 is not ascii"),
            (b"x = '\xff'\n", "x.py:1:6: error: byte 0xff is not utf-8 and no other encoding is declared"),
            (
                b"\xef\xbb\xbf# coding: latin-1\n",
                "x.py:1:11: error: declares the encoding 'latin-1' but begins with a UTF-8 byte order mark",
            ),
            (b"x = 1\0\n", "x.py:1:6: error: source code cannot contain null bytes"),
            (b"x = (\n", "x.py:1:5: error: syntax error: '(' was never closed"),
            (
                b"import jax\nif x:\ny = 1\n",
                "x.py:3:1: error: syntax error: expected an indented block after 'if' statement on line 2",
            ),
            (
                b"x = " + b"(" * 300 + b")" * 300 + b"\n",
                "x.py:1:205: error: syntax error: too many nested parentheses",
            ),
        ],
    )
    def test_one_line_each(self, jaxlint: Runner, data: bytes, line: str) -> None:
        write("a.py", BAD)
        Path("x.py").write_bytes(data)
        status, out, err = jaxlint("check", "--output-format", "concise")
        assert (status, err) == (2, f"{line}\n1 finding in 2 files, 1 error\n")
        assert out.startswith("a.py:10:9: JT101 ")

    @pytest.mark.parametrize(
        ("text", "line"),
        [
            ('{"nbformat": 3}', "x.ipynb: error: notebook format 3 is not read, only 4"),
            ("[1", "x.ipynb:1:3: error: not a notebook: Expecting ',' delimiter"),
            (
                '{"nbformat": 4, "cells": [{"cell_type": "code", "source": "x = ("}]}',
                "x.ipynb:cell 1:1:5: error: syntax error: '(' was never closed",
            ),
        ],
    )
    def test_notebooks(self, jaxlint: Runner, text: str, line: str) -> None:
        assert jaxlint("check", write("x.ipynb", text)) == (2, "", f"{line}\nno findings in 1 file, 1 error\n")

    @pytest.mark.skipif(os.name == "nt", reason="no such files there")
    def test_what_is_no_file(self, jaxlint: Runner) -> None:
        os.symlink("nowhere", "link.py")
        os.mkfifo("pipe.py")
        status, out, err = jaxlint("check", "link.py", "pipe.py", "-q")
        assert (status, out) == (2, "")
        assert err == "link.py: error: no such file or folder\npipe.py: error: not a regular file\n"


class TestWrongRequests:
    @pytest.mark.parametrize(
        ("arguments", "line"),
        [
            ("", "say what to do: jaxlint check, run, or another command (see jaxlint --help)"),
            ("check --selct JT1", "unrecognized arguments: --selct (see jaxlint --help)"),
            ("check a.py -", "- is standard input and cannot be given with other paths: check them in two calls"),
            ("check a.py --stdin-filename b.py", "--stdin-filename is the name of standard input: give - as the path"),
            ("check --select JT999 a.py", '--select: unknown rule "JT999": `jaxlint rules` lists them'),
            (
                "check --per-file-ignores a.py a.py",
                '--per-file-ignores: "a.py" is not PATTERN:CODE: write for example "tests/*:JT101"',
            ),
            (
                "check --statistics --output-format sarif a.py",
                "--statistics has no form as sarif: use --output-format text or json",
            ),
            ("check --config none.toml a.py", "none.toml: cannot read the configuration: No such file or directory"),
            ("check --isolated --config x.toml a.py", "--isolated and --config exclude each other: give one of them"),
            (
                "check --isolated --fix --add-ignore why a.py",
                "--add-ignore and --fix exclude each other: fix first, and silence what is left",
            ),
            (
                "check --output-file no/such/folder.txt a.py",
                "no/such/folder.txt: cannot write the report: No such file or directory",
            ),
            (
                "check --output-format json=no/such/folder.txt a.py",
                "no/such/folder.txt: cannot write the report: No such file or directory",
            ),
            (
                "check --output-format jsn=x a.py",
                "argument --output-format: invalid choice: 'jsn' (choose from text, concise, json, sarif, github, "
                "gitlab, junit) (see jaxlint check --help)",
            ),
            (
                "check --output-format json= a.py",
                "argument --output-format: json= names no file: json=FILE (see jaxlint check --help)",
            ),
            (
                "check --output-format json --output-format sarif a.py",
                "--output-format json and sarif are both to be printed: give one a file, sarif=FILE",
            ),
            ("rule JT105x", 'unknown rule "JT105x": did you mean "JT105"?'),
            ("rule prnt", 'unknown rule "prnt": did you mean "print"?'),
            (
                "check --min-heat warm",
                "argument --min-heat: invalid choice: 'warm' (choose from hot, periodic, cold) "
                "(see jaxlint check --help)",
            ),
        ],
    )
    def test_the_line_of_each(self, jaxlint: Runner, arguments: str, line: str) -> None:
        write("a.py", GOOD)
        # Python 3.11 quotes the choices, newer ones do not.
        said = jaxlint.error(*arguments.split()).replace("'hot', 'periodic', 'cold'", "hot, periodic, cold")
        assert said == f"jaxlint: {line}"

    def test_a_wrong_configuration(self, jaxlint: Runner) -> None:
        write("a.py", GOOD)
        write("jaxlint.toml", "\nselct = []")
        assert jaxlint.error("check") == (
            'jaxlint: jaxlint.toml:2: unknown key "selct" in jaxlint.toml: did you mean "select"?'
        )

    def test_a_wrong_model(self, jaxlint: Runner) -> None:
        write("a.py", GOOD)
        write("jaxlint.toml", '[[models.function]]\nnames = ["a.b"]\nreturn = "device"\n')
        said = jaxlint.error("check")
        assert said.startswith("jaxlint: jaxlint.toml:3: ")
        assert "'return'" in said or '"return"' in said

    def test_options_are_not_abbreviated(self, jaxlint: Runner) -> None:
        assert "unrecognized arguments: --sel" in jaxlint.error("check", "--sel", "JT1")


class TestHelp:
    @pytest.mark.parametrize("command", cli.EXAMPLES)
    def test_shows_examples_that_are_understood(self, jaxlint: Runner, command: str) -> None:
        status, out, _ = jaxlint(command, "--help")
        assert status == 0
        for what, call in cli.EXAMPLES[command]:
            assert re.search(rf"^  {re.escape(what)} +{re.escape(call)}$", out, re.MULTILINE)
            words = shlex.split(call.partition(" >> ")[0])
            assert words[:2] == ["jaxlint", command]
            cli._parser().parse_args(words[1:])


class TestSelection:
    def test_of_rules(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        assert jaxlint.codes("--select", "JT2") == []
        assert jaxlint.codes("--select", "JT2,JT101") == ["JT101"]
        assert jaxlint.codes("--ignore", "JT1") == []
        assert jaxlint.codes("--select", "JT2", "--extend-select", "JT1") == ["JT101"]

    @pytest.mark.parametrize("given", ["", ",", " , "])
    def test_no_rule_at_all_is_no_clean_file(self, jaxlint: Runner, given: str) -> None:
        write("a.py", BAD)
        said = "jaxlint: --select names no rule: give codes, as in --select JT1, or leave it out\n"
        assert jaxlint("check", "--select", given, "a.py") == (2, "", said)

    def test_of_files(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        write("sub/b.py", BAD)
        assert jaxlint.codes("--per-file-ignores", "sub/*:JT101") == ["JT101"]
        assert jaxlint.codes("--per-file-ignores", "*.py:JT1") == []
        write("jaxlint.toml", '[per-file-ignores]\n"b.py" = ["JT1"]\n')
        assert jaxlint.codes() == ["JT101"]

    def test_by_heat_of_transfers(self, jaxlint: Runner) -> None:
        write("a.py", COLD)
        assert jaxlint.codes() == []
        assert jaxlint.codes("--min-heat", "cold") == ["JT101"]
        write("jaxlint.toml", 'min-heat = "cold"')
        assert jaxlint.codes() == ["JT101"]
        assert jaxlint.codes("--min-heat", "hot") == []
        assert jaxlint.codes("--isolated") == []

    def test_heat_says_nothing_of_other_families(self, jaxlint: Runner) -> None:
        write("a.py", "import jax\n@jax.jit\ndef f(x):\n    return float(x)\nf(jax.device_put(1.0))\n")
        assert [code[:3] for code in jaxlint.codes()] == ["JT4"]

    def test_by_confidence(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        assert jaxlint.codes("--min-confidence", "low") == ["JT101"]
        levels = [f.confidence for f in check_text(BAD).findings]
        assert bool(jaxlint.codes("--min-confidence", "high")) == all(level.name == "HIGH" for level in levels)


class TestFiles:
    def test_a_folder_is_searched_and_a_named_file_is_taken_whatever_its_name(self, jaxlint: Runner) -> None:
        write("sub/a.py", BAD)
        write("sub/notes.txt", "x = (")
        write("script", BAD)
        assert jaxlint.codes() == ["JT101"]
        assert jaxlint.codes("sub", "script") == ["JT101", "JT101"]

    def test_exclude_and_force_exclude(self, jaxlint: Runner) -> None:
        write("gen/a.py", BAD)
        write("b.py", BAD)
        assert jaxlint.codes("--extend-exclude", "gen") == ["JT101"]
        assert jaxlint.codes("--extend-exclude", "gen", "gen/a.py") == ["JT101"]
        assert jaxlint.codes("--extend-exclude", "gen", "--force-exclude", "gen/a.py") == []
        assert jaxlint.codes("--exclude", "b.py,gen") == []

    def test_a_path_given_twice_is_checked_once(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        assert jaxlint.codes("a.py", "./a.py", ".") == ["JT101"]

    def test_paths_are_shown_relative_with_forward_slashes(self, jaxlint: Runner, project: Path) -> None:
        write("sub/a.py", BAD)
        for given in ("sub/a.py", "./sub/../sub/a.py", str(project / "sub" / "a.py")):
            report = json.loads(jaxlint("check", "--output-format", "json", given)[1])
            assert [f["path"] for f in report["findings"]] == ["sub/a.py"]

    def test_show_files(self, jaxlint: Runner) -> None:
        write("b.py", "")
        write("a/c.py", "")
        write(".venv/d.py", "")
        assert jaxlint("check", "--show-files") == (0, "a/c.py\nb.py\n", "")
        assert jaxlint("check", "--show-files", "none") == (2, "", "none: error: no such file or folder\n")

    def test_no_python_file_is_said(self, jaxlint: Runner) -> None:
        assert jaxlint("check") == (0, "", "no findings in no files\n")


class TestStandardInput:
    def give(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    def test_is_checked_under_its_name(self, jaxlint: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        self.give(monkeypatch, BAD)
        status, out, _ = jaxlint("check", "-")
        assert status == 1
        assert out.startswith("stdin.py:10:9: JT101 ")
        assert "10 |         print(x)\n" in out
        self.give(monkeypatch, BAD)
        assert jaxlint("check", "-", "--stdin-filename", "src/x.py")[1].startswith("src/x.py:10:9: JT101 ")

    def test_finds_the_configuration_of_its_name(self, jaxlint: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        write("sub/jaxlint.toml", 'ignore = ["JT101"]')
        self.give(monkeypatch, BAD)
        assert jaxlint("check", "-", "--stdin-filename", "sub/x.py")[0] == 0
        self.give(monkeypatch, BAD)
        assert jaxlint("check", "-")[0] == 1

    def test_excluded_by_force(self, jaxlint: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        arguments = ("check", "-", "--stdin-filename", "gen/x.py", "--extend-exclude", "gen")
        self.give(monkeypatch, BAD)
        assert jaxlint(*arguments)[0] == 1
        self.give(monkeypatch, BAD)
        assert jaxlint(*arguments, "--force-exclude")[:2] == (0, "")

    def test_that_does_not_parse(self, jaxlint: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        self.give(monkeypatch, "x = (\n")
        status, out, err = jaxlint("check", "-")
        assert (status, out) == (2, "")
        assert re.match(r"stdin\.py:\d+:\d+: error: ", err)


class TestOutput:
    def test_every_format_is_one_document_with_and_without_findings(self, jaxlint: Runner) -> None:
        for text in (BAD, GOOD):
            write("a.py", text)
            for form in ("json", "sarif", "gitlab"):
                json.loads(jaxlint("check", "--output-format", form)[1])

    def test_machine_formats_keep_errors_and_say_them(self, jaxlint: Runner) -> None:
        status, out, err = jaxlint("check", write("a.py", "x = ("), "--output-format", "json")
        report = json.loads(out)
        assert status == 2
        assert [error["path"] for error in report["errors"]] == ["a.py"]
        assert report["summary"] == {"files": 1, "findings": 0, "errors": 1}
        assert err.startswith("a.py:1:")

    def test_to_a_file(self, jaxlint: Runner) -> None:
        _, printed, _ = jaxlint("check", write("a.py", BAD))
        assert jaxlint("check", "--output-file", "report.txt") == (1, "", "1 finding in 1 file\n")
        assert Path("report.txt").read_text("utf-8") == printed

    def test_to_several_files_besides_what_is_printed(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        write("b.py", "x = (")
        printed = jaxlint("check")
        one_by_one = {form: jaxlint("check", "--output-format", form)[1] for form in FORMATS}
        files = [word for form in FORMATS for word in ("--output-format", f"{form}=out.{form}")]
        assert jaxlint("check", *files, "--color", "never") == printed
        assert {form: Path(f"out.{form}").read_text("utf-8") for form in FORMATS} == one_by_one
        assert jaxlint("check", "--output-format", "json", *files, "--output-file", "main.json") == (2, "", printed[2])
        assert Path("main.json").read_text("utf-8") == one_by_one["json"]
        assert {path.name for path in Path.cwd().iterdir() if "out" in path.name} == {f"out.{form}" for form in FORMATS}

    @pytest.mark.skipif(os.name == "nt", reason="links and devices differ")
    def test_a_report_is_written_where_the_name_leads(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        Path("link.txt").symlink_to(write("real.txt", "old"))
        assert jaxlint("check", "--output-format", "concise=link.txt", "--output-format", "json=/dev/null")[0] == 1
        assert Path("real.txt").read_text("utf-8").startswith("a.py:10:9: JT101")
        assert Path("link.txt").is_symlink()
        assert Path("/dev/null").is_char_device()

    def test_a_report_that_can_not_be_written_leaves_the_old_one(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        Path("folder").mkdir()
        assert jaxlint("check", "--output-format", "json=folder")[::2] == (
            2,
            "jaxlint: folder: cannot write the report: Is a directory\n",
        )
        assert sorted(path.name for path in Path.cwd().iterdir() if path.name != ".jaxlint_cache") == ["a.py", "folder"]

    def test_statistics(self, jaxlint: Runner) -> None:
        write("a.py", BAD)
        assert jaxlint("check", "--statistics", "-q") == (1, "1  JT101  print\n", "")

    def test_quiet_and_verbose(self, jaxlint: Runner, project: Path) -> None:
        write("a.py", GOOD)
        assert jaxlint("check", "-q") == (0, "", "")
        assert jaxlint("check", "-v", "--isolated")[2].startswith("configuration: none, the defaults hold\n")
        write("jaxlint.toml", "")
        assert jaxlint("check", "-v")[2].startswith("configuration: jaxlint.toml\n")

    def test_no_cache_is_accepted(self, jaxlint: Runner) -> None:
        assert jaxlint("check", "--no-cache", write("a.py", GOOD))[0] == 0

    def test_colour(self, jaxlint: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
        write("a.py", BAD)

        def coloured(*arguments: str) -> bool:
            return "\x1b[" in jaxlint("check", *arguments)[1]

        assert not coloured()
        assert coloured("--color", "always")
        monkeypatch.setenv("FORCE_COLOR", "1")
        assert coloured()
        assert not coloured("--color", "never")
        monkeypatch.setenv("NO_COLOR", "1")
        assert not coloured()
        assert coloured("--color", "always")
        assert not coloured("--output-file", "x.txt", "--color", "always")
        assert "\x1b" not in Path("x.txt").read_text()

    def test_order_is_path_line_column_code(self, jaxlint: Runner) -> None:
        write("b.py", BAD.replace("print(x)", "print(x), float(x)\n        print(x + 1)"))
        write("a.py", BAD)
        report = json.loads(jaxlint("check", "--output-format", "json")[1])
        keys = [(f["path"], f["line"], f["column"], f["code"]) for f in report["findings"]]
        assert keys == sorted(keys)
        assert len(keys) >= 3

    def test_settings_are_shown(self, jaxlint: Runner) -> None:
        write("jaxlint.toml", 'select = ["JT10"]\nextend-select = ["JT191"]\nmin-heat = "cold"')
        status, out, err = jaxlint("check", "--show-settings")
        assert (status, err) == (0, "")
        lines = dict(line.split(" = ", 1) for line in out.splitlines())
        assert lines["config"] == "jaxlint.toml"
        assert lines["min-heat"] == "cold"
        on = [rule.code for rule in load_rules() if rule.code.startswith("JT10") and rule.default]
        assert lines["rules in force"] == f"[{', '.join([*on, 'JT191'])}]"


class TestRules:
    def test_a_page_by_code_or_name(self, jaxlint: Runner) -> None:
        for page in load_rules():
            assert jaxlint("rule", page.code) == (0, page.text, "")
            assert jaxlint("rule", page.name) == (0, page.text, "")
        assert jaxlint("rule", "jt101")[0] == 0

    def test_the_table(self, jaxlint: Runner) -> None:
        status, out, err = jaxlint("rules")
        assert (status, err) == (0, "")
        assert [line.split()[0] for line in out.splitlines()] == [rule.code for rule in load_rules()]
        rows = json.loads(jaxlint("rules", "--output-format", "json")[1])
        assert [row["name"] for row in rows] == [rule.name for rule in load_rules()]


class TestAsAProcess:
    def test_version(self, jaxlint: Runner) -> None:
        assert jaxlint("--version") == (0, f"jaxlint {__version__}\n", "")

    @pytest.mark.parametrize(("command", "status"), [("check --output-format json", 1), ("rules", 0)])
    @pytest.mark.parametrize("both", [False, True], ids=["stdout", "both streams"])
    def test_a_reader_that_goes_away_is_no_error(self, command: str, status: int, both: bool) -> None:
        write("a.py", BAD + "        x = step(x)\n        print(x)\n" * 299)
        child = process(*command.split())
        assert child.stdout
        assert child.stderr
        with child.stdout, child.stderr:
            if both:
                child.stderr.close()
            child.stdout.read(1)
            child.stdout.close()
            if not both:
                assert child.stderr.read() in ("", "300 findings in 1 file\n")
        assert child.wait(60) == status

    @pytest.mark.skipif(os.name == "nt", reason="signals differ")
    def test_control_c_prints_no_traceback(self) -> None:
        child = process("check", "-v", "-", stdin=subprocess.PIPE)
        assert child.stderr is not None
        # From here on it waits for its input.
        assert child.stderr.readline() == "configuration: none, the defaults hold\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out, err) == (130, "", "jaxlint: interrupted\n")

    def test_a_terminal_that_cannot_show_a_character_gets_an_escape(self) -> None:
        write("a.py", BAD.replace("print(x)", "print(x, 'é名')"))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = subprocess.run([sys.executable, "-m", "jaxlint", "check"], env=environment, capture_output=True)
        assert done.returncode == 1, done.stderr
        assert b"print(x, '\\xe9\\u540d')" in done.stdout

    def test_a_path_that_is_not_unicode(self) -> None:
        name = b"caf\xe9.py"
        try:
            Path(os.fsdecode(name)).write_text(BAD)
        except OSError:
            pytest.skip("this file system takes Unicode names only")
        for form in ("text", "concise", "json", "sarif", "github", "gitlab", "junit"):
            child = process("check", "--output-format", form)
            out, err = child.communicate(timeout=60)
            assert child.returncode == 1, err
            assert "JT101" in out


@pytest.mark.parametrize("arguments", [["--version"], ["rules"], ["check", "-q", "a.py"], ["check", "--selct"]])
def test_what_needs_no_analysis_does_not_load_it(arguments: list[str]) -> None:
    """It takes longer to load than all that these do."""
    write("a.py", "x = 1\n")
    script = f"import sys\nfrom jaxlint.cli import main\ntry:\n    main({arguments})\nfinally:\n    print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    loaded = done.stdout.split()
    assert "jaxlint.cli" in loaded
    assert not {"jaxlint.interp", "jaxlint.source.newer"} & {*loaded}


def test_standard_output_that_cannot_be_written_is_one_line_and_status_2() -> None:
    """A full disk or a closed output is the user's to repair: no traceback, no word of a bug."""
    for redirection in (">/dev/full", ">&-"):
        done = subprocess.run(
            ["sh", "-c", f'"{sys.executable}" -m jaxlint rule JT101 {redirection}'],
            cwd=Path(__file__).parent.parent,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert "standard output" in done.stderr
        assert "Traceback" not in done.stderr

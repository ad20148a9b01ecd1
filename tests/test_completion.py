"""The Tab key in a real bash, by the script that `jaxlint completion bash` prints."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jaxlint import cli
from jaxlint.keys import FORMATS, HEATS
from jaxlint.rulebook import load_rules

BASH = shutil.which("bash")
CODES = {rule.code for rule in load_rules()}


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "jaxlint", "completion", "bash"], capture_output=True, text=True, check=True
    )
    path = tmp_path_factory.mktemp("completion") / "jaxlint.bash"
    path.write_text(done.stdout)
    return path


def completed(script: Path, folder: Path, *words: str) -> set[str]:
    """What Tab offers for the last of the words."""
    assert BASH
    listed = " ".join(f"'{word}'" for word in words)
    commands = f"""
        source {script}
        COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}
        handler=$(complete -p jaxlint | sed -e 's/.*-F //' -e 's/ .*//')
        $handler jaxlint "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run([BASH, "-c", commands], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return {line.strip() for line in done.stdout.splitlines()} - {""}


@pytest.mark.skipif(BASH is None, reason="no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("jaxlint", "che"), {"check"}),
        (("jaxlint", "check", "--min-heat", ""), set(HEATS)),
        (("jaxlint", "check", "--output-format", ""), set(FORMATS)),
        (("jaxlint", "check", "--min-c"), {"--min-confidence"}),
        (("jaxlint", "check", "--select", "JT50"), {code for code in CODES if code.startswith("JT50")}),
        (("jaxlint", "rule", "JT10"), {code for code in CODES if code.startswith("JT10")}),
        (("jaxlint", "check", "tr"), {"train.py"}),
        (("jaxlint", "check", "--config", "other"), {"other.toml"}),
    ],
    ids=lambda given: " ".join(sorted(given) if isinstance(given, set) else given),
)
def test_tab(script: Path, tmp_path: Path, words: tuple[str, ...], offered: set[str]) -> None:
    for name in ("train.py", "other.toml"):
        (tmp_path / name).write_text("")
    assert offered
    assert completed(script, tmp_path, *words) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_every_shell_has_a_script_of_all_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert {command for command in ("check", "run", "merge", "server") if command in printed} == {
        *("check", "run", "merge", "server"),
    }


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert cli.main(["completion", "bash"]) == 2
    assert "extra `completion`" in capsys.readouterr().err

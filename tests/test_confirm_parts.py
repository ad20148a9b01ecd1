"""The parent side of the runtime pass: commands, marks, answers and verdicts, each by itself."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from jaxlint.confirm.answers import Answers
from jaxlint.confirm.commands import Ended, log_tail, own_suite, parse_command, run
from jaxlint.confirm.marking import Marking, Source, mark
from jaxlint.confirm.verdicts import verdict
from jaxlint.errors import UserError
from jaxlint.findings import Direction, Finding, Status
from jaxlint.processes.interrupts import Told
from jaxlint.rulebook import load_rules
from jaxlint.sites import Confidence, Heat, Operation, Span
from jaxlint.witness.backends import why_not

RULES = {rule.code: rule for rule in load_rules()}
FLOAT = Finding(
    Span("a.py", 1, 1, 1, 9), "JT104", "scalar-conversion", Direction.DEVICE_TO_HOST, "m", Heat.HOT, Confidence.HIGH,
    operation=Operation.SCALAR, callee="float",
)  # fmt: skip


class TestCommands:
    def test_words_and_environment(self) -> None:
        command = parse_command("A=1 B='x y' python train.py --name 'two words'", lambda: "/venv/bin/python", {})
        assert command.words == ("/venv/bin/python", "train.py", "--name", "two words")
        assert command.environment == {"A": "1", "B": "x y"}

    def test_pytest_is_run_by_the_same_interpreter(self) -> None:
        assert parse_command("pytest -x tests", lambda: "py", {}).words == ("py", "-m", "pytest", "-x", "tests")

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("", "there is no command to run"),
            ("A=1", "there is no command to run"),
            ("python 'x", "no closing quotation"),
            ("python a.py && echo", 'run without a shell, which "&&" is for'),
            ("./plain.txt", '"./plain.txt" is not executable'),
            ("no-such-program-anywhere x", '"no-such-program-anywhere" was not found'),
        ],
    )
    def test_what_can_not_be_run(self, text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "plain.txt").write_text("")
        with pytest.raises(UserError, match=says):
            parse_command(text, lambda: "python", {})

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("pytest.ini", "[pytest]\n"),
            ("tox.ini", "[pytest]\naddopts = -q\n"),
            ("setup.cfg", "[tool:pytest]\n"),
            ("pyproject.toml", "[tool.pytest.ini_options]\n"),
            ("conftest.py", ""),
            ("tests/test_a.py", ""),
        ],
    )
    def test_the_own_suite(self, tmp_path: Path, name: str, text: str) -> None:
        assert own_suite(tmp_path) is None
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        assert own_suite(tmp_path) == "pytest"

    @pytest.mark.parametrize("name", ["tox.ini", "setup.cfg", "pyproject.toml"])
    def test_a_file_that_says_nothing_of_pytest(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"[\xff")
        assert own_suite(tmp_path) is None

    def run(self, folder: Path, code: str, timeout: float = 30.0) -> tuple[Ended, str]:
        (folder / "x.py").write_text(code)
        log = folder / "log.txt"
        command = parse_command("python x.py", lambda: sys.executable, {})
        ended = run(command, folder / "plan.json", log, folder=folder, timeout=timeout, tick=lambda: None, told=Told())
        return ended, log.read_text()

    def test_output_and_status(self, tmp_path: Path) -> None:
        ended, log = self.run(tmp_path, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(4)")
        assert (ended.status, ended.trouble) == (4, "")
        assert log.startswith("$ python x.py\n")
        assert "out" in log
        assert "err" in log

    @pytest.mark.skipif(sys.platform == "win32", reason="signals end no process there")
    def test_a_signal(self, tmp_path: Path) -> None:
        ended, _ = self.run(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
        assert ended.trouble == "the program was killed by SIGKILL"

    @pytest.mark.skipif(sys.platform == "win32", reason="process groups are of POSIX")
    def test_a_program_that_hangs_is_ended_with_its_children(self, tmp_path: Path) -> None:
        code = (
            "import os, signal, subprocess, sys, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
            "print(child.pid, flush=True)\n"
            "time.sleep(600)\n"
        )
        began = time.monotonic()
        ended, log = self.run(tmp_path, code, timeout=1.0)
        assert ended.trouble == "the time was up (--timeout)"
        assert time.monotonic() - began < 60
        child = int(log.splitlines()[1])
        for _ in range(100):
            try:
                os.kill(child, 0)
            except ProcessLookupError:
                break
            if Path(f"/proc/{child}/stat").exists() and " Z " in Path(f"/proc/{child}/stat").read_text():
                break
            time.sleep(0.05)
        else:
            os.kill(child, signal.SIGKILL)
            pytest.fail("the child outlived the command")

    def test_the_last_lines_of_a_log(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        log.write_bytes(b"\xff\n" * 5000 + b"last\n")
        assert log_tail(log, 2) == ["�", "last"]
        assert log_tail(tmp_path / "gone", 2) == ()


class TestMarking:
    def test_findings_of_one_place_share_a_mark(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("float(x)\n")
        other = Finding(
            FLOAT.span, "JT202", "upload", Direction.HOST_TO_DEVICE, "m", Heat.HOT, Confidence.HIGH,
            operation=Operation.UPLOAD, callee="float",
        )  # fmt: skip
        marking = mark([FLOAT, other], RULES, {"a.py": Source(tmp_path / "a.py")})
        ((path, (only,)),) = marking.files.items()
        assert only.directions == ("device_to_host", "host_to_device")
        assert set(marking.of_finding.values()) == {(path, only.number)}

    def test_comments_and_misuses_are_not_executed(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("")
        misuse = Finding(
            FLOAT.span, "JT501", "level", None, "m", Heat.COLD, Confidence.HIGH, operation=Operation.GUARD_LEVEL
        )
        comment = Finding(FLOAT.span, "JT001", "unused", None, "m", Heat.COLD, Confidence.HIGH)
        marking = mark([misuse, comment], RULES, {"a.py": Source(tmp_path / "a.py")})
        assert marking.files == {}
        told = verdict(0, misuse, marking, Answers(), "")
        assert told is not None
        assert told.status is Status.UNDECIDED
        assert verdict(1, comment, marking, Answers(), "") is None


def answers_of(folder: Path, *processes: list[dict[str, object]]) -> Answers:
    for number, lines in enumerate(processes):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{number}-a.jsonl").write_text(text + '{"half a line')
    answers = Answers()
    answers.read(folder)
    return answers


def line(runs: int, transfers: int = 0, **more: object) -> dict[str, object]:
    crossings = {
        "device_to_host": {"transfers": transfers, "bytes": 4 * transfers, "evidence": "guard", "message": "Disallowed"}
    }
    base = {"number": 0, "runs": runs, "explicit": 0, "known": 0, "calls": 0, "deferred": 0, "raised": "", "said": ""}
    return {**base, "crossings": crossings if transfers else {}, **more}


STARTED: dict[str, object] = {"started": 1, "python": "3", "argv": []}
SENTINEL: dict[str, object] = {"backend": "sentinel", "jax": "1"}
MARKING = Marking({"/a.py": ()}, {}, {0: ("/a.py", 0)})


class TestVerdicts:
    def told(
        self, folder: Path, *processes: list[dict[str, object]], trouble: str = ""
    ) -> tuple[Status, int, int, str]:
        found = verdict(0, FLOAT, MARKING, answers_of(folder, *processes), trouble)
        assert found is not None
        return found.status, found.runs, found.transfers, found.message

    def test_confirmed_over_processes(self, tmp_path: Path) -> None:
        first = [STARTED, SENTINEL, line(1, 1), line(5, 4)]
        second = [STARTED, SENTINEL, line(2, 2)]
        assert self.told(tmp_path, first, second) == (Status.CONFIRMED, 7, 6, "Disallowed")

    def test_refuted(self, tmp_path: Path) -> None:
        assert self.told(tmp_path, [STARTED, SENTINEL, line(3)])[:3] == (Status.REFUTED, 3, 0)

    def test_a_guard_that_does_not_guard_decides_nothing(self, tmp_path: Path) -> None:
        status, *_, message = self.told(tmp_path, [STARTED, SENTINEL, {"distrust": "it let a fetch pass"}, line(3)])
        assert status is Status.UNDECIDED
        assert "it let a fetch pass" in message

    def test_unreached_and_why(self, tmp_path: Path) -> None:
        assert self.told(tmp_path, [STARTED])[::3] == (Status.UNREACHED, "no run loaded this file")
        loaded: dict[str, object] = {"file": "/a.py", "marked": [0], "unmarked": []}
        assert self.told(tmp_path, [STARTED, loaded])[::3] == (Status.UNREACHED, "")

    def test_undecided_and_why(self, tmp_path: Path) -> None:
        loaded: dict[str, object] = {"file": "/a.py", "marked": [0], "unmarked": []}
        assert self.told(tmp_path, [loaded], trouble="the time was up")[::3] == (
            Status.UNDECIDED,
            "not reached before the end: the time was up",
        )
        unmarked: dict[str, object] = {"file": "/a.py", "marked": [7], "unmarked": [0]}
        assert self.told(tmp_path, [unmarked])[::3] == (Status.UNDECIDED, "this place could not be marked")

    def test_a_file_that_changed(self, tmp_path: Path) -> None:
        changed: dict[str, object] = {"file": "/a.py", "trouble": "the file changed after it was checked"}
        status, *_, message = self.told(tmp_path, [changed])
        assert status is Status.UNDECIDED
        assert "changed" in message

    def test_processes_are_named(self, tmp_path: Path) -> None:
        first: list[dict[str, object]] = [STARTED, SENTINEL, line(1, 1), {"process": 0}]
        second: list[dict[str, object]] = [STARTED, SENTINEL, line(1), {"process": 1}]
        found = verdict(0, FLOAT, MARKING, answers_of(tmp_path, first, second), "")
        assert found is not None
        assert found.processes == (0, 1)


@pytest.mark.skipif(not os.environ.get("CI"), reason="asked of the machine that decides")
def test_the_deciding_machine_has_every_backend_that_needs_no_accelerator() -> None:
    assert {name: why_not(name) for name in ("virtual", "sentinel")} == {"virtual": None, "sentinel": None}

"""What the documentation shows is so: programs run, commands print what stands below them, files are of their form."""

import ast
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from documents import PAGES, ROOT, Block, agrees, blocks, lines_to_parse, run, session
from jaxlint import cli, settings
from jaxlint.errors import UserError
from jaxlint.rulebook import load_rules, names_of
from jaxlint.settings import Flags

ALL = [(page, block) for page in PAGES for block in blocks(page.read_text("utf-8"))]
# Times and an order by times: what is recorded differs from run to run.
RECORDED = "run"


def names(items: list[tuple[Path, Block]]) -> list[str]:
    return [f"{page.name}:{block.line}" for page, block in items]


def of_language(*languages: str) -> list[tuple[Path, Block]]:
    return [(page, block) for page, block in ALL if block.language in languages]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "fixtures" / "example", tmp_path / "fixtures" / "example")
    return tmp_path


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "\n$ jaxlint " in page.read_text("utf-8")], ids=lambda page: page.name
)
def test_a_terminal_shows_what_the_commands_print(page: Path, folder: Path) -> None:
    """The files that the page gives a title are written first."""
    tried = 0
    for block in blocks(page.read_text("utf-8")):
        if block.title:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text, "utf-8")
        for command in session(block):
            if command.words[1] == RECORDED:
                continue
            printed = run(command.words, folder)
            assert not command.shown or agrees(command.shown, printed), "\n".join([" ".join(command.words), *printed])
            tried += 1
    assert tried


PROGRAMS = [
    page
    for page in PAGES
    if any(block.language == "python" and not block.title for block in blocks(page.read_text("utf-8")))
]


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
def test_programs_run(page: Path, tmp_path: Path) -> None:
    """Each by itself, in one interpreter a page."""
    programs = [
        (block.line, block.text)
        for block in blocks(page.read_text("utf-8"))
        if block.language == "python" and not block.title
    ]
    script = "".join(
        f"exec(compile({text!r}, {f'{page.name}:{line}'!r}, 'exec'), {{'__name__': 'page'}})\n"
        for line, text in programs
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("page", "block"), ALL, ids=names(ALL))
def test_every_call_of_jaxlint_is_one_that_it_understands(page: Path, block: Block) -> None:
    for words in (*lines_to_parse(block), *(list(command.words[1:]) for command in session(block))):
        if words:
            cli._parser().parse_args(words)


@pytest.mark.parametrize(("page", "block"), of_language("python"), ids=names(of_language("python")))
def test_files_of_the_documentation_can_be_parsed(page: Path, block: Block) -> None:
    assert ast.parse(block.text).body


def test_a_wrong_call_is_seen() -> None:
    (words,) = lines_to_parse(Block("", "", 1, "      - run: jaxlint check --sarif x  # why\n"))
    assert words == ["check", "--sarif", "x"]
    with pytest.raises(UserError):
        cli._parser().parse_args(words)


TOML = of_language("toml")


@pytest.mark.parametrize(("page", "block"), TOML, ids=names(TOML))
def test_toml_is_a_valid_configuration(page: Path, block: Block, tmp_path: Path) -> None:
    if "jaxlint" in tomllib.loads(block.text).get("tool", {}):
        (tmp_path / "pyproject.toml").write_text(block.text)
        settings.resolve(Flags(config=tmp_path / "pyproject.toml"), names_of(load_rules()), tmp_path)


@pytest.mark.parametrize(("page", "block"), of_language("json"), ids=names(of_language("json")))
def test_json_is_json(page: Path, block: Block) -> None:
    assert json.loads(block.text)


@pytest.mark.parametrize(("page", "block"), of_language("yaml"), ids=names(of_language("yaml")))
def test_yaml_is_yaml(page: Path, block: Block) -> None:
    assert yaml.safe_load(block.text)


def yaml_of(title: str) -> dict[str, object]:
    (text,) = (block.text for _, block in ALL if block.title == title)
    loaded = yaml.safe_load(text)
    assert isinstance(loaded, dict)
    return loaded


def test_the_github_workflow_uploads_what_the_check_writes() -> None:
    workflow = yaml_of(".github/workflows/jaxlint.yml")
    # YAML 1.1 reads the key `on` as true.
    assert set(workflow) == {"name", True, "permissions", "jobs"}
    assert workflow["permissions"] == {"contents": "read", "security-events": "write"}
    (job,) = workflow["jobs"].values()  # type: ignore[attr-defined]  # a mapping of jobs
    assert set(job) == {"runs-on", "steps"}
    uses = {step["uses"].partition("@")[0]: step for step in job["steps"] if "uses" in step}
    assert list(uses) == ["actions/checkout", "actions/setup-python", "github/codeql-action/upload-sarif"]
    (check,) = (step["run"] for step in job["steps"] if step.get("run", "").startswith("jaxlint"))
    upload = uses["github/codeql-action/upload-sarif"]
    assert set(upload["with"]) <= {"sarif_file", "category", "checkout_path", "ref", "sha", "wait-for-processing"}
    assert f"sarif={upload['with']['sarif_file']}" in check
    # A check with findings fails its step, and its report is uploaded all the same.
    assert upload["if"].startswith("always()")


def test_the_gitlab_job_keeps_what_the_check_writes() -> None:
    job = yaml_of(".gitlab-ci.yml")["jaxlint"]
    assert isinstance(job, dict)
    (check,) = (line for line in job["script"] if line.startswith("jaxlint"))
    reports = job["artifacts"]["reports"]
    assert f"gitlab={reports['codequality']}" in check
    assert f"junit={reports['junit']}" in check
    assert job["artifacts"]["when"] == "always"


def test_the_hook_of_the_documentation_is_there() -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    for _, block in of_language("yaml"):
        for repository in yaml.safe_load(block.text).get("repos", ()) if "repos:" in block.text else ():
            assert {hook["id"] for hook in repository["hooks"]} <= hooks

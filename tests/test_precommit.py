"""The hook, installed from this checkout by the real pre-commit into a fresh git repository."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOOK_FILES = ("jaxlint", "rules", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
BAD = "import jax\nstep = jax.jit(lambda x: x + 1)\ndef f(x):\n    while True:\n        x = step(x)\n        print(x)\n"
GOOD = "import jax\nstep = jax.jit(lambda x: x + 1)\ndef f(x):\n    while True:\n        x = step(x)\n"


def git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """git without this machine's configuration and hooks."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment = inherited | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.invalid",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.invalid",
        "PRE_COMMIT_HOME": str(repository.parent / "pre-commit-home"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    return subprocess.run(
        ["git", *arguments], cwd=repository, env=environment, capture_output=True, text=True, timeout=600
    )


def commit(repository: Path, name: str, text: str) -> subprocess.CompletedProcess[str]:
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text(text)
    assert git(repository, "add", "--all").returncode == 0
    return git(repository, "commit", "--quiet", "--message", name)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout's files as a git repository with one commit, as pre-commit wants it."""
    repository = tmp_path_factory.mktemp("hooks") / "jaxlint"
    repository.mkdir()
    for name in HOOK_FILES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, repository / name)
    git(repository, "init", "--quiet")
    git(repository, "add", "--all")
    assert git(repository, "commit", "--quiet", "--message", "hooks").returncode == 0
    return repository


def test_a_bad_commit_is_refused_and_a_good_one_passes(hooks: Path, tmp_path: Path) -> None:
    repository = tmp_path / "project"
    repository.mkdir()
    git(repository, "init", "--quiet")
    revision = git(hooks, "rev-parse", "HEAD").stdout.strip()
    (repository / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks.as_uri()}\n  rev: {revision}\n  hooks:\n  - id: jaxlint\n"
    )
    (repository / "pyproject.toml").write_text('[tool.jaxlint]\nextend-exclude = ["third_party"]\n')
    installed = subprocess.run(
        [sys.executable, "-m", "pre_commit", "install"],
        cwd=repository,
        env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert installed.returncode == 0, installed.stdout + installed.stderr

    refused = commit(repository, "train.py", BAD)
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0
    assert "train.py:6:9: JT101 " in said, said
    assert git(repository, "rev-parse", "HEAD").returncode != 0

    passed = commit(repository, "train.py", GOOD)
    assert passed.returncode == 0, passed.stdout + passed.stderr

    # pre-commit names the file, the configuration excludes it: --force-exclude makes the configuration win.
    excluded = commit(repository, "third_party/train.py", BAD)
    assert excluded.returncode == 0, excluded.stdout + excluded.stderr

    # A typing mistake in the configuration stops the commit, whatever the files hold.
    (repository / "pyproject.toml").write_text('[tool.jaxlint]\nextend-exlude = ["third_party"]\n')
    mistaken = commit(repository, "train.py", GOOD + "\n")
    assert mistaken.returncode != 0
    assert 'did you mean "extend-exclude"?' in mistaken.stdout + mistaken.stderr

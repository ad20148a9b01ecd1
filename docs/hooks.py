"""What mkdocs cannot know: the pages of `rules/` as pages of the site, and which files of the repository are none."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import jaxlint  # noqa: E402  # after the checkout is on the path
from jaxlint.rulebook import Rule, load_rules  # noqa: E402  # likewise

FAMILIES = {
    "1": "Device to host",
    "2": "Host to device",
    "3": "Between devices",
    "4": "Tracers",
    "5": "The transfer guard",
    "0": "jaxlint's own comments",
}
MODELS = "models-reference.md"
_MODELS = Path(jaxlint.__file__).parent / "models" / "README.md"
_TOML = re.compile(r"```toml\n.*?```\n", re.DOTALL)
_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]+\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the rules into the navigation."""
    assert config.nav is not None
    config.nav = list(_filled(config.nav))
    return config


def _filled(entries: list[object]) -> Iterator[object]:
    for entry in entries:
        if entry == {"Rules": "rules"}:
            yield {"Rules": ["rules/index.md", *({FAMILIES[f]: pages} for f, pages in _by_family().items())]}
        elif isinstance(entry, dict):
            yield {title: list(_filled(inner)) for title, inner in entry.items()}
        else:
            yield entry


def _by_family() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for rule in load_rules():
        found[rule.family].append(_place(rule))
    return found


def _place(rule: Rule) -> str:
    return f"rules/{rule.code}.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of the rules, their table, and the reference of models."""
    rules = load_rules()
    files.append(File.generated(config, "rules/index.md", content=_table(rules)))
    files.append(File.generated(config, MODELS, content=_MODELS.read_text("utf-8")))
    for rule in rules:
        files.append(File.generated(config, _place(rule), content=_page(rule)))
    return files


def _table(rules: tuple[Rule, ...]) -> str:
    lines = ["# Rules", ""]
    for family, title in FAMILIES.items():
        lines += [f"## {title}", "", "| code | name | default | what |", "|---|---|---|---|"]
        lines += [
            f"| [{rule.code}]({rule.code}.md) | {rule.name} | {_default(rule)} | {_cell(rule.summary)} |"
            for rule in rules
            if rule.family == family
        ]
        lines.append("")
    return "\n".join(lines)


def _default(rule: Rule) -> str:
    return "on" if rule.default else "off"


def _cell(text: str) -> str:
    """The first sentence, or what stands before its colon where that leads to more than the sentence."""
    return re.split(r"(?<=[.!?])\s", text, maxsplit=1)[0].replace("|", "\\|")


def _page(rule: Rule) -> str:
    """The page, with what its toml block says in words."""
    direction = f"{FAMILIES[rule.family]}; " if rule.direction else ""
    fixes = "; ".join(dict.fromkeys(f"{r.make.words} ({'safe' if r.safe else 'unsafe'})" for r in rule.remedies))
    told = f"*{direction}{_default(rule)} by default; `--fix`: {fixes or 'none'}*\n"
    return _TOML.sub(lambda _: told, rule.text, count=1)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links to files of the repository that are no pages become their names."""
    return _OUTSIDE.sub(r"`\1`", markdown)

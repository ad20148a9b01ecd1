"""The commands on the rules: their pages, their table, and the words that a shell completes."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping

from jaxlint.commands.streams import CLEAN, show
from jaxlint.configuration import nearest
from jaxlint.errors import UserError
from jaxlint.keys import ALL, FORMATS, LEVELS
from jaxlint.rulebook import Rule, load_rules


def rule(name: str) -> int:
    """Prints a rule's page."""
    pages = load_rules()
    for page in pages:
        if name.upper() == page.code or name == page.name:
            show(page.text)
            return CLEAN
    known = [word for page in pages for word in (page.code, page.name)]
    raise UserError(f'unknown rule "{name}"{nearest(name, known, "`jaxlint rules` lists them")}')


def rules(output_format: str) -> int:
    """Prints the table of rules."""
    pages = load_rules()
    if output_format == "json":
        show(json.dumps([_row(page) for page in pages], indent=1) + "\n")
        return CLEAN
    width = max(len(page.name) for page in pages)
    lines = (f"{page.code}  {'on ' if page.default else 'off'}  {page.name:<{width}}  {page.summary}" for page in pages)
    show("".join(line + "\n" for line in lines))
    return CLEAN


def _row(page: Rule) -> Mapping[str, object]:
    return {
        "code": page.code,
        "name": page.name,
        "direction": page.direction,
        "default": page.default,
        "summary": page.summary,
    }


def completion(parser: ArgumentParser, shell: str) -> int:
    """Prints the script that lets a shell complete arguments."""
    from jaxlint.completion import script

    pages = load_rules()
    codes = tuple(page.code for page in pages)
    families = tuple(sorted({code[:3] for code in codes}))
    words = {
        "CODE": (*codes, *(page.name for page in pages)),
        "CODES": (*families, *codes, ALL),
        "FORMAT[=FILE]": FORMATS,
        "LEVEL": LEVELS,
    }
    show(script(parser, shell, words))
    return CLEAN

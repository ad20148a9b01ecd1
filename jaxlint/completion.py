"""The script that lets a shell complete jaxlint's arguments, made from the argument parser by shtab."""

import argparse
from collections.abc import Iterator, Mapping

from jaxlint.errors import UserError

_FILES = ("PATH", "FILE", "REPORT", "JSON", "SCRIPT ARGS")


def script(parser: argparse.ArgumentParser, shell: str, words: Mapping[str, tuple[str, ...]]) -> str:
    """The script for a shell. `words` has what completes an argument, by its metavar; others name files or nothing."""
    try:
        import shtab
    except ModuleNotFoundError:
        raise UserError("completion needs shtab: install jaxlint with the extra `completion`") from None
    functions = {metavar: f"_jaxlint_words_{number}" for number, metavar in enumerate(words)}
    for action in _actions(parser):
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        if metavar in functions:
            name = functions[metavar]
            tcsh = f"({' '.join(words[metavar])})"
            action.complete = {"bash": name, "zsh": name, "tcsh": tcsh}  # type: ignore[attr-defined]  # as shtab wants it
        elif metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # likewise
    define = {"bash": _bash, "zsh": _zsh}.get(shell)
    preamble = "".join(define(functions[metavar], words[metavar]) for metavar in words) if define else ""
    return shtab.complete(parser, shell=shell, preamble=preamble)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The arguments of a parser and of all its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)


def _bash(name: str, words: tuple[str, ...]) -> str:
    return f'{name}() {{ compgen -W "{" ".join(words)}" -- "$1"; }}\n'


def _zsh(name: str, words: tuple[str, ...]) -> str:
    return f"{name}() {{ _values words {' '.join(words)} }}\n"

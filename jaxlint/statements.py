"""The statements and loops of a source file by line, from Python's own parser: what a recorded line belongs to."""

import ast
from dataclasses import dataclass, field
from pathlib import Path

LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True)
class Statements:
    """Of each line, the innermost statement (of a compound one its header) and the innermost loop of its function."""

    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    loops: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of_file(cls, path: str) -> "Statements":
        """Of a file; empty where it is none or does not parse."""
        try:
            return cls.of_text(Path(path).read_bytes())
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            return cls()

    @classmethod
    def of_text(cls, text: str | bytes) -> "Statements":
        made = cls()
        made._add(ast.parse(text), None)
        return made

    def lines(self, line: int) -> tuple[int, int]:
        """The first and the last line of the statement that a line is in."""
        return self.spans.get(line, (line, line))

    def loop(self, line: int) -> int | None:
        """The line where the loop around a line begins."""
        return self.loops.get(line)

    def _add(self, node: ast.AST, loop: int | None) -> None:
        for child in ast.iter_child_nodes(node):
            around = loop
            if isinstance(child, ast.stmt):
                end = _end_of_header(child)
                for line in range(child.lineno, end + 1):
                    self.spans[line] = (child.lineno, end)
                    if loop is not None:
                        self.loops[line] = loop
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                around = None
            elif isinstance(child, (*LOOPS, *COMPREHENSIONS)):
                around = child.lineno
                if isinstance(child, (ast.While, *COMPREHENSIONS)):
                    # The test of a `while` and all of a comprehension run at each turn, on the line where it begins.
                    for line in range(child.lineno, _end_of_header(child) + 1):
                        self.loops[line] = child.lineno
            self._add(child, around)


def _end_of_header(node: ast.stmt | ast.expr) -> int:
    body = getattr(node, "body", None) or getattr(node, "cases", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return max(node.lineno, body[0].lineno - 1)
    return node.lineno if isinstance(body, list) and body else node.end_lineno or node.lineno

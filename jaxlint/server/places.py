"""Places between a text and the protocol: lines and columns from 1 in characters, and from 0 in the client's units."""

from dataclasses import dataclass

from lsprotocol import types

from jaxlint.source.text import SourceText


@dataclass(frozen=True, slots=True)
class Places:
    """The places of one text for a client that counts columns as `encoding` says (by default in UTF-16)."""

    source: SourceText
    encoding: str = types.PositionEncodingKind.Utf16.value

    def position(self, line: int, column: int) -> types.Position:
        """A line and a column as the client counts them."""
        return types.Position(line - 1, self._units(self.source.line(line)[: column - 1]))

    def range(self, line: int, column: int, end_line: int, end_column: int) -> types.Range:
        """A stretch of the text as the client counts it."""
        return types.Range(self.position(line, column), self.position(end_line, end_column))

    def rest_of_line(self, line: int, column: int) -> types.Range:
        """From a place to the end of its line, as far as the text has them: where an error without an end is shown."""
        line = min(line, len(self.source.line_starts))
        end = len(self.source.line(line).rstrip()) + 1
        return self.range(line, min(column, max(end - 1, 1)), line, end)

    def place(self, position: types.Position) -> tuple[int, int]:
        """The line and the column that a client's position means."""
        line = min(position.line + 1, len(self.source.line_starts))
        column, units = 1, 0
        for character in self.source.line(line):
            units += self._units(character)
            if units > position.character:
                break
            column += 1
        return line, column

    def _units(self, text: str) -> int:
        match self.encoding:
            case "utf-8":
                return len(text.encode("utf-8", "surrogatepass"))
            case "utf-32":
                return len(text)
        return len(text.encode("utf-16-le", "surrogatepass")) // 2

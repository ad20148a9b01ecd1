"""Errors that a person can repair. Each is one line that names the file, the place and the remedy."""


class UserError(Exception):
    """The request was wrong (unknown code, missing path, bad configuration): exit status 2, never a traceback."""


class SourceError(UserError):
    """A file that cannot be read or parsed. Carries the place for the report; the other files are still checked."""

    def __init__(self, path: str, message: str, line: int | None = None, column: int | None = None) -> None:
        place = path if line is None else f"{path}:{line}:{column or 1}"
        super().__init__(f"{place}: {message}")
        self.path, self.message, self.line, self.column = path, message, line, column

"""The budget of an analysis: steps, counted, for each entry into the program and for each file.

Never time: what is given up is the same on every machine. Ordinary programs need a tenth of what they may take.
"""

STEPS_PER_ENTRY = 400_000
"""So many steps one function that nobody calls may take, with all that it calls."""
CELLS_PER_STEP = 16
"""To walk over so many fields of objects takes as long as a step."""
STEPS_PER_FILE = 100_000
STEPS_PER_LINE = 200
"""So many steps the functions of a file may take, all their runs together, and so many more for each of its lines: the
time of an analysis is bounded by the size of the program, and no file takes it from the others."""


class GaveUp(Exception):
    """An entry, or the functions of a file, took more steps than they may."""


class Budget:
    """The steps taken, and how many may be taken by what runs now: `limit` is where it gives up."""

    def __init__(self) -> None:
        self.steps = 0
        self.limit = self._entry = STEPS_PER_ENTRY
        self._left: dict[str, int] = {}
        self._path: str | None = None  # of the code that runs
        self._charged = 0  # the steps up to which files are charged

    def step(self) -> None:
        """Take one step."""
        self.steps += 1
        if self.steps > self.limit:
            raise GaveUp

    def walk(self, cells: int) -> None:
        """Take the steps that walking over so many fields is worth."""
        self.steps += cells // CELLS_PER_STEP
        if self.steps > self.limit:
            raise GaveUp

    @property
    def entry_is_over(self) -> bool:
        """True where it is the whole entry that takes too long, not only what runs now."""
        return self.steps > self._entry

    def enter(self) -> int:
        """Begin an entry, perhaps within another, which goes on with `leave` and what this gives."""
        left = self._entry - self.steps
        self._entry = self.steps + STEPS_PER_ENTRY
        self._go_on(self._path)
        return left

    def leave(self, left: int) -> None:
        """End an entry: its steps do not count for the one around it."""
        self._entry = self.steps + left
        self._go_on(self._path)

    def begin(self, path: str, lines: int) -> str | None:
        """Begin a run of code of a file, which ends with `end` and what this gives. Where the file has nothing left,
        the first step gives up."""
        before = self._path
        self._left.setdefault(path, STEPS_PER_FILE + STEPS_PER_LINE * lines)
        self._go_on(path)
        return before

    def end(self, before: str | None) -> None:
        """End a run: what it took itself was charged to its file, what it called to the files of that."""
        self._go_on(before)

    def _go_on(self, path: str | None) -> None:
        """Charge the file whose code ran until now, and go on with another."""
        if self._path is not None:
            self._left[self._path] -= self.steps - self._charged
        self._path, self._charged = path, self.steps
        self.limit = self._entry if path is None else min(self._entry, self.steps + max(self._left[path], 0))

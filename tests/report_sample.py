"""Reports that every format is tested on: an empty one, a plain one, one with all that a format must survive."""

from jaxlint.findings import Direction, Edit, FileError, Finding, Fix, Report, Status, Verdict
from jaxlint.report.context import Context
from jaxlint.rulebook import load_rules
from jaxlint.sites import Confidence, Heat, Note, Span

TRAIN = ("import jax", "", "for step in range(9):", "    total += float(loss)", "    print(f'{loss}')")
ODD = ("x = '名前', float(loss)  # \x1b[31m", "\tif err < tol:", "a" * 300 + " float(y)")
CELL = ("print(z)",)
SOURCES = {("src/train.py", None): TRAIN, ("odd, 100%:\x1b[1m.py", None): ODD, ("book.ipynb", 3): CELL}

RULES = {rule.code: rule for rule in load_rules()}
CONTEXT = Context(RULES, lambda path, cell: SOURCES.get((path, cell), ()), version="0.1.0")

EMPTY = Report((), files=2)
SCALAR = Finding(
    Span("src/train.py", 4, 14, 4, 25),
    "JT104",
    "scalar-conversion",
    Direction.DEVICE_TO_HOST,
    "float() fetches loss and waits for the device",
    Heat.HOT,
    Confidence.HIGH,
    use="host-compute",
    notes=(
        Note("src/train.py", 1, 1, "step is compiled by jax.jit"),
        Note("src/train.py", 3, 5, "loss comes from step"),
    ),
)
PLAIN = Report((SCALAR,), files=2)
RICH = Report(
    (
        Finding(
            Span("book.ipynb", 1, 7, 1, 8, 3),
            "JT101",
            "print",
            Direction.DEVICE_TO_HOST,
            "m",
            Heat.COLD,
            Confidence.LOW,
        ),
        Finding(
            Span("odd, 100%:\x1b[1m.py", 1, 11, 1, 22),
            *("JT104", "scalar-conversion", Direction.DEVICE_TO_HOST, "float() of \x1b[2J'名前', 100% <&>"),
            *(Heat.PERIODIC, Confidence.MEDIUM),
            fix=Fix("move it out of the loop", False, (Edit(1, 11, 1, 22, "loss"),)),
            verdict=Verdict(Status.CONFIRMED, "guard", "virtual", 20, 20, 80, "Disallowed device-to-host transfer"),
        ),
        Finding(
            Span("odd, 100%:\x1b[1m.py", 2, 5, 2, 14),
            "JT401",
            "tracer",
            None,
            "if of a tracer",
            Heat.HOT,
            Confidence.HIGH,
        ),
        Finding(
            Span("odd, 100%:\x1b[1m.py", 3, 302, 3, 310),
            "JT501",
            "level",
            None,
            "no such level",
            Heat.COLD,
            Confidence.HIGH,
        ),
        SCALAR,
        Finding(
            Span("src/train.py", 5, 11, 6, 3),
            "JT102",
            "formatting",
            Direction.DEVICE_TO_HOST,
            "m",
            Heat.HOT,
            Confidence.LOW,
        ),
    ),
    errors=(FileError("old.py", "invalid syntax", 3, 7), FileError("gone.py", "no such file")),
    files=5,
)

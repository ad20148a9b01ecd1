"""How long after a keystroke the editor shows the findings: a real session with ``jaxlint server``.

``python bench/server.py [--keys 30] [FILE ...]`` prints for each file the time from opening it to its diagnostics, and
the median and the worst time from a key in the middle of the file to the diagnostics of that text, and the processor
time that the server spends on a key (on Linux), which other processes of the machine disturb less. Without a file: a
thousand lines, made of the programs of ``fixtures/programs``: far denser in transfers than code of that length is. Each
key waits for the answer to the one before.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from editing import Editor, editor  # noqa: E402  # after the tests are on the path

LINES = 1000


def thousand_lines() -> str:
    """Programs of the fixtures in one file."""
    lines: list[str] = []
    for path in sorted((ROOT / "fixtures" / "programs").glob("*.py")):
        lines += [line for line in path.read_text("utf-8").splitlines() if "__future__" not in line]
        if len(lines) >= LINES:
            break
    return "\n".join(lines) + "\n"


def keystrokes(text: str, keys: int) -> list[str]:
    """The text with one letter more each time, in a name that is assigned in the middle of the file."""
    lines = text.split("\n")
    middle = next(number for number in range(len(lines) // 2, len(lines)) if lines[number].startswith("def "))
    return ["\n".join([*lines[:middle], f"typed_{'x' * key} = {key}", "", *lines[middle:]]) for key in range(keys)]


def spent(process: int) -> float:
    """The processor time of a process so far; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(opened: Editor, path: Path, text: str, keys: int) -> tuple[float, list[float], float]:
    """Seconds to the first diagnostics, and to those of each key; processor seconds a key."""
    began = time.perf_counter()
    opened.open(path, text)
    await opened.diagnostics(path)
    first, times, before = time.perf_counter() - began, [], spent(opened.process)
    for version, typed in enumerate(keystrokes(text, keys), 2):
        began = time.perf_counter()
        opened.type(path, typed, version)
        await opened.diagnostics(path, version)
        times.append(time.perf_counter() - began)
        await asyncio.sleep(0.05)
    processor = (spent(opened.process) - before) / keys
    opened.close(path)
    return first, times, processor


async def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--keys", type=int, default=30)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder).resolve() / "thousand_lines.py"
        made.write_text(thousand_lines(), "utf-8")
        async with editor(Path(folder)) as opened:
            for path in [file.resolve() for file in arguments.files] or [made]:
                text = path.read_text("utf-8")
                first, times, processor = await measure(opened, path, text, arguments.keys)
                print(
                    f"{path.name}: {text.count(chr(10))} lines, {len(opened.shown[path.as_uri()])} findings; "
                    f"opened in {first * 1000:.0f} ms, a key in {statistics.median(times) * 1000:.0f} ms, "
                    f"at worst {max(times) * 1000:.0f} ms, {processor * 1000:.0f} ms of the processor"
                )


if __name__ == "__main__":
    asyncio.run(main())

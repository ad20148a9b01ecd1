"""What a check finds of labelled transfers in public repositories: ``python bench/labels.py LABELS FOLDER``.

LABELS is a file of JSON lines (``fixtures/labels/unseen.jsonl``): a label each, with the first and last line of its
statement, or a file that was labelled as a whole. FOLDER holds the repositories as ``OWNER+NAME``, each at the commit
that its labels name. Each is checked at the heat and the confidence that are given, as a whole. A label of the tier
``core`` counts; a finding in a file that was labelled is right where a label of its direction, of either tier, is on
its line. Prints the labels that are missed, the findings without a label, and for each group and all together how much
of what is there is found, in each direction, how much of what is said is right, and how often the heat is.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

FAMILIES = {"JT1": "d2h", "JT2": "h2d", "JT3": "d2d", "JT4": "tracer"}
HEATS = {"loop": {"hot", "periodic"}, "called-from-loop": {"hot", "periodic"}, "cold": {"cold"}}

Row = Mapping[str, object]


def check(folder: Path, heat: str, confidence: str) -> list[Row]:
    """The findings in a repository."""
    command = [sys.executable, "-m", "jaxlint", "check", "--isolated", "--no-cache", "--output-format", "json"]
    command += ["--min-heat", heat, "--min-confidence", confidence, "."]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    findings: list[Row] = json.loads(done.stdout)["findings"]
    return findings


def score(labels: Iterable[Row], findings: Iterable[Row], files: set[object], shown: str) -> Counter[str]:
    """How much of the labels of one repository its findings in the labelled files are."""
    count: Counter[str] = Counter()
    found = [f for f in findings if f["path"] in files and str(f["code"])[:3] in FAMILIES]
    right: set[int] = set()
    for label in labels:
        first, last = int(str(label["line"])), int(str(label["end_line"]))
        hits = [
            f
            for f in found
            if f["path"] == label["path"]
            and FAMILIES[str(f["code"])[:3]] == label["kind"]
            and first <= int(str(f["line"])) <= last
        ]
        right.update(map(id, hits))
        if label["tier"] != "core":
            continue
        count[f"{label['kind']} {'found' if hits else 'missed'}"] += 1
        if hits:
            as_hot = any(f["heat"] in HEATS[str(label["heat"])] for f in hits)
            count["heat right" if as_hot else "heat wrong"] += 1
        else:
            print(f"missed {label['kind']} {shown}/{label['path']}:{first} {label['heat']}: {label['why']}")
    for f in found:
        count["said right" if id(f) in right else "said wrong"] += 1
        if id(f) not in right:
            print(f"unlabelled {f['code']} {shown}/{f['path']}:{f['line']} {f['heat']}: {f['message']}")
    return count


def shares(count: Mapping[str, int]) -> str:
    """The shares that a count amounts to, as cells of a table."""
    pairs = [
        ("d2h found", "d2h missed"), ("h2d found", "h2d missed"), ("said right", "said wrong"),
        ("heat right", "heat wrong"),
    ]  # fmt: skip
    cells = []
    for good, bad in pairs:
        of = count.get(good, 0) + count.get(bad, 0)
        cells.append(f"{count.get(good, 0) / of:.2f} ({count.get(good, 0)} of {of})" if of else "")
    return " | ".join(cells)


def main() -> None:
    """Score the labels of all repositories that the folder holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("labels", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--min-heat", default="cold")
    parser.add_argument("--min-confidence", default="medium")
    options = parser.parse_args()
    rows: list[Row] = [json.loads(line) for line in options.labels.read_text("utf-8").splitlines()]
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for name in dict.fromkeys(str(row["repository"]) for row in rows):
        folder = options.folder / name.replace("/", "+")
        if not folder.is_dir():
            print(f"{name}: not in {options.folder}", file=sys.stderr)
            continue
        own = [row for row in rows if row["repository"] == name]
        files = {row["path"] for row in own if row["kind"] == "file"}
        findings = check(folder, options.min_heat, options.min_confidence)
        labels = [row for row in own if row["kind"] != "file"]
        groups[str(own[0]["group"])] += score(labels, findings, files, name)
    print("\n| group | device to host | host to device | right of what is said | heat |\n|---|---|---|---|---|")
    for group, count in sorted(groups.items()):
        print(f"| {group} | {shares(count)} |")
    print(f"| all | {shares(sum(groups.values(), Counter()))} |")


if __name__ == "__main__":
    main()

"""A newcomer with files of other tools: `python -m benchmarks.newcomer [FOLDER]`.

Each file of `files.py` is given to the command that its owner would type first. Where it is
refused, the newcomer adds the one option that the error names, and nothing else. The labels are
then compared with the truth, beside those of counting votes.
"""

import csv
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from benchmarks.newcomer.files import CASES, Case, Crowd, draw_crowd
from unelisa.cli import app

# an option with its value, as an error names it
OPTION = re.compile(r"--[a-z-]+(?:[= ](?:'[^']*'|[^\s;,]+(?:,[^\s;,]+)*))?")


class Answer(NamedTuple):
    """What came of a file: the option that was added, the share of right labels, and the time."""

    name: str
    option: str
    right: float
    majority: float
    seconds: float
    message: str


def ask(name: str, folder: Path) -> Answer:
    """Hand in a file as a newcomer would."""
    one = CASES[name]
    crowd = draw_crowd(one)
    paths = one.write(folder, crowd)
    out, started = folder / "labels.csv", time.perf_counter()
    command = [one.command, *map(str, paths), "--out", str(out)]
    done, option = CliRunner().invoke(app, command), ""
    advised = OPTION.findall(done.stderr.strip().split("\n")[-1])
    if done.exit_code and advised:
        option = next((text for text in advised if one.knows in text), advised[0])
        done = CliRunner().invoke(app, [*command, *shlex.split(option)])
    seconds = time.perf_counter() - started
    right = _score(one, crowd, out) if done.exit_code == 0 else 0.0
    message = "" if done.exit_code == 0 else done.stderr.strip().splitlines()[-1]
    return Answer(name, option, right, _count_votes(crowd), seconds, message)


def _score(one: Case, crowd: Crowd, out: Path) -> float:
    with out.open(encoding="utf-8", newline="") as file:
        found = {row["item"]: row["label"] for row in csv.DictReader(file)}
    names = map(one.rename, crowd.items)
    known = zip(names, crowd.truth, strict=True)
    return sum(found.get(name) == label for name, label in known) / len(crowd.truth)


def _count_votes(crowd: Crowd) -> float:
    """Return the accuracy of the majority; ties go to the first answer."""
    right = 0
    for row, label in zip(crowd.answers, crowd.truth, strict=True):
        counts = Counter(str(said) for said in row if said)
        right += bool(counts) and counts.most_common(1)[0][0] == label
    return right / len(crowd.truth)


def main() -> None:
    """Hand in all files and print the table."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(sys.argv[1] if len(sys.argv) > 1 else scratch)
        answers = []
        for name in CASES:
            (root / name).mkdir(parents=True, exist_ok=True)
            answers.append(ask(name, root / name))
    print("| file | its owner asks | option added | right | by majority | seconds |")
    print("|---|---|---|---|---|---|")
    for one in answers:
        option = f"`{one.option}`" if one.option else "none"
        print(
            f"| {one.name} | {CASES[one.name].question} | {option} | {one.right:.3f} | "
            f"{one.majority:.3f} | {one.seconds:.1f} | {one.message}"
        )
    failed = [one.name for one in answers if one.message]
    sys.exit(f"not answered: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()

"""A program that writes a command's outputs over and over, and is killed while it does.

Usage: killed.py FOLDER TRIES. Prints one JSON object: how many were killed, what was found broken.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from unelisa.aggregators import MajorityVote
from unelisa.analysis.judged import Judged
from unelisa.cli.fitting import Outputs, write_outputs
from unelisa.report.findings import collect_findings
from unelisa.storage import load
from unelisa.votes import Votes

NAMES = ("labels.csv", "report.html", "model.npz", "found.json")


def votes_of(generation: int) -> Votes:
    """Votes whose number of items tells the generation."""
    return Votes.of(np.random.default_rng(0).choice([-1, 1], (1000 + generation % 50, 5)))


def write(folder: Path, generation: int) -> None:
    votes = votes_of(generation)
    model = MajorityVote().fit(votes)
    judged = Judged.of(model, votes)
    findings = collect_findings(model, judged)
    write_outputs(Outputs(*(folder / name for name in NAMES)), model, judged, findings)


def write_forever(folder: Path, generation: int) -> None:
    while True:
        generation += 1
        write(folder, generation)


def look_at(folder: Path) -> list[str]:
    """Return the names of the files that are there and are not whole."""
    broken = []
    for name, check in CHECKS.items():
        path = folder / name
        if path.exists() and not check(path):
            broken.append(name)
    return broken


def _is_table(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return text.endswith("\n") and 1000 <= text.count("\n") - 1 < 1050


def _is_model(path: Path) -> bool:
    return isinstance(load(path), MajorityVote)


def _is_json(path: Path) -> bool:
    return 1000 <= json.loads(path.read_text(encoding="utf-8"))["items"]["n"] < 1050


CHECKS = {
    "labels.csv": _is_table,
    "report.html": lambda path: path.read_text(encoding="utf-8").rstrip().endswith("</html>"),
    "model.npz": _is_model,
    "found.json": _is_json,
}


def main(folder: Path, tries: int) -> None:
    dice = random.Random(0)  # noqa: S311
    killed, broken = 0, []
    write(folder, 0)  # all is imported and compiled before the children are born
    for name in NAMES:
        (folder / name).unlink()
    for generation in range(tries):
        child = os.fork()
        if child == 0:
            write_forever(folder, generation)
        time.sleep(dice.uniform(0.02, 0.4))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        broken += look_at(folder)
    drafts = [path.name for path in folder.iterdir() if path.name not in NAMES]
    written = sorted(path.name for path in folder.iterdir() if path.name in NAMES)
    told = {"killed": killed, "broken": broken, "written": written, "drafts": drafts}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

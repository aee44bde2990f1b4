"""What the stability of neighborhood selection costs: 500 resamples of 5,000 items by 81 voters.

    python benchmarks/bootstrap.py          prints the table and writes results/bootstrap.json

CPU seconds of the whole process with one job; the smallest of three rounds, after a short one that
compiles. The votes are those of benchmarks/solver.py, without fields where there are no intercepts.
"""

import json
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from solver_votes import simulate_votes

import unelisa as ue

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "bootstrap.json"
ITEMS, VOTERS, RESAMPLES, ROUNDS = 5_000, 81, 500, 3
GOAL = 15.0  # CPU seconds of the first case
HALF = float(np.sqrt(np.log(VOTERS) / ITEMS))  # of the theory's penalty
CASES = {
    "neighborhoods": ue.select_neighborhoods,
    "neighborhoods, half the penalty": partial(ue.select_neighborhoods, penalty=HALF),
    "neighborhoods, no intercepts": partial(ue.select_neighborhoods, fit_intercept=False),
    "experts": ue.ExpertSelector(),
}


def measure(votes: ue.Votes, estimator) -> dict:
    """CPU seconds of each round, and how many edges are in nearly all resamples."""
    ue.bootstrap(votes, estimator, 2, random_state=0, progress=False)
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        found = ue.bootstrap(votes, estimator, RESAMPLES, random_state=0, progress=False)
        seconds.append(time.process_time() - start)
    certain = int((found.edges["frequency"] > 0.95).sum())
    return {"cpu_seconds": min(seconds), "rounds": seconds, "edges_in_95_percent": certain}


def main() -> None:
    rows = {}
    for number, (name, estimator) in enumerate(CASES.items()):
        votes = ue.Votes.of(simulate_votes(ITEMS, VOTERS, biased=number < 2), coding="pm1")
        rows[name] = measure(votes, estimator)
        print(f"{name:34} {rows[name]['cpu_seconds']:6.2f} s CPU for {RESAMPLES} resamples")
    met = rows["neighborhoods"]["cpu_seconds"] < GOAL
    print(f"goal: under {GOAL:g} s: {'met' if met else 'missed'}")
    about = {"items": ITEMS, "voters": VOTERS, "resamples": RESAMPLES, "cores": os.cpu_count()}
    RESULTS.write_text(json.dumps(about | {"cases": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()

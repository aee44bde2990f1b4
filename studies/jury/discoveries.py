"""Differences between systems that are called although there are none, over simulated panels.

Two systems answer the same questions equally well; seven judges are right in 65 to 85 % of the
cases. In the families, three of them repeat each other; with one-system leniency, four pass an
answer of the first system that they would have failed in `LENIENT` of the cases.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.records import Json
from unelisa.aggregators import LatentIsing
from unelisa.analysis.judged import Judged
from unelisa.jury.panel import describe_jury, find_truth
from unelisa.jury.systems import Truth
from unelisa.votes import Votes

Flags = NDArray[np.bool_]
ACCURACY = (0.85, 0.8, 0.8, 0.75, 0.75, 0.7, 0.65)
RATE, SHARED = 0.65, 0.3  # of good answers; of questions that are hard or easy for both systems
REPEATED, LENIENT, LENIENT_JUDGES, GOLD = 0.9, 0.15, 4, 100
SYSTEMS = ("first", "second")
SCENARIOS = ("equal", "families", "leniency", "leniency, 100 gold labels")
QUESTIONS = (200, 800)


def draw_panel(scenario: str, n: int, rng: np.random.Generator) -> tuple[Votes, Flags]:
    """Return the votes of judges on two equal systems, and which answers are good.

    Examples
    --------
    >>> votes, good = draw_panel("equal", 50, np.random.default_rng(0))
    >>> votes.n_items, votes.n_voters, len(good)
    (100, 7, 100)
    """
    alike = rng.random(n) < SHARED
    common = rng.random(n) < RATE
    good = np.concatenate([np.where(alike, common, rng.random(n) < RATE) for _ in SYSTEMS])
    right = rng.random((2 * n, len(ACCURACY))) < np.array(ACCURACY)
    said = np.where(right, good[:, None], ~good[:, None])
    if scenario == "families":
        for s in (3, 4):
            said[:, s] = np.where(rng.random(2 * n) < REPEATED, said[:, 2], said[:, s])
    if scenario.startswith("leniency"):
        kind = rng.random((n, LENIENT_JUDGES)) < LENIENT
        said[:n, -LENIENT_JUDGES:] |= kind
    items = np.array([f"{x} / q{i:04}" for x in SYSTEMS for i in range(n)], dtype=object)
    voters = np.array([f"judge {s + 1}" for s in range(len(ACCURACY))], dtype=object)
    table = np.asfortranarray(np.where(said, 1, -1).astype(np.int8))
    return Votes.of_values(table, items, voters, ("fail", "pass")), good


def compare_pair(scenario: str, n: int, seed: int) -> dict[str, Any]:
    """Return the row of the only difference, and whether a judge was flagged for favoring."""
    rng = np.random.default_rng([seed, n, SCENARIOS.index(scenario)])
    votes, good = draw_panel(scenario, n, rng)
    systems = {str(item): str(item).split(" / ")[0] for item in votes.items}
    gold = np.zeros(votes.n_items, dtype=np.int8)
    if "gold" in scenario:
        chosen = rng.choice(votes.n_items, GOLD, replace=False)
        gold[chosen] = np.where(good[chosen], 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LatentIsing().fit(votes)
        judged = Judged.of(model, votes)
        truth: Truth | None = find_truth(votes, gold, judged)
        rates = describe_jury(model, judged, systems, truth=truth)["pass_rate"]
    pairs = rates["differences"]
    found = pairs[0] if pairs else {"holds": False, "low": -1.0, "high": 1.0, "difference": 0.0}
    return {**found, "flagged": bool(rates["favors"])}


def count_discoveries(scenario: str, n: int, runs: int) -> Json:
    """Return how often equal systems differ by the intervals, and a judge is flagged."""
    found = [compare_pair(scenario, n, seed) for seed in range(runs)]
    return {
        "called": round(float(np.mean([row["holds"] for row in found])), 4),
        "flagged": round(float(np.mean([row["flagged"] for row in found])), 4),
        "width": round(float(np.mean([row["high"] - row["low"] for row in found])), 4),
    }

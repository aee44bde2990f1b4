"""Draws of gold labels: how often intervals hold; and simulated labels and probabilities.

The simulated models go from perfect to useless, in ways that break an interval: one that misses
part of a rare class, one whose finds are half wrong, one that is upside down.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from studies.records import Json
from unelisa.analysis.rate import correct_shares
from unelisa.analysis.scoring import bound_frequency

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
LEVEL = 0.95
SHARES, BUDGETS = (0.5, 0.2, 0.05, 0.02), (5, 10, 20, 50, 200)
ITEMS = 20_000
_DIGITS = 5

# what a model says of the items, given which are in the class, and a random number for each
MODELS: dict[str, Callable[[Flags, Floats], NDArray[Any]]] = {
    "perfect": lambda own, _: own * 1.0,
    "right on 95 %": lambda own, noise: np.where(noise < 0.95, own, ~own) * 0.9 + 0.05,
    "overlapping scores": lambda own, noise: expit(3 * own - 1.5 + 1.5 * ndtri(noise)),
    "misses 40 % of the class": lambda own, noise: own * (noise < 0.6) * 1.0,
    "half of its finds are wrong": lambda own, noise: (own | (noise < own.mean())) * 1.0,
    "upside down": lambda own, noise: np.where(noise < 0.9, ~own, own) * 1.0,
    "useless": lambda _, noise: noise,
}


def measure_draws(truth: Flags, chances: Floats, n_labels: int, draws: int, seed: int = 0) -> Json:
    """Return how often intervals from random gold labels hold the true shares, and their widths.

    Per class, for `correct_shares` and for the same gold labels alone (Wilson's interval, for a
    sample of a finite number of items); `error` is the root mean square of share - truth.
    """
    rng, goal = np.random.default_rng(seed), truth.mean(axis=0)
    ours, alone = [], []
    rest = (len(truth) - n_labels) / (len(truth) - 1)
    for _ in range(draws):
        drawn = rng.choice(len(truth), n_labels, replace=False)
        labels = np.zeros_like(truth)
        labels[drawn] = truth[drawn]
        ours.append(correct_shares(labels, chances, LEVEL))
        shares = truth[drawn].mean(axis=0)
        alone.append([(x, *bound_frequency(x, n_labels / rest, LEVEL)) for x in shares])
    found = {"": np.array(ours), "alone_": np.array(alone)}
    return {
        f"{whose}{figure}": [round(float(x), _DIGITS) for x in values]
        for whose, intervals in found.items()
        for figure, values in _summarize(intervals, goal).items()
    }


def _summarize(intervals: Floats, goal: Floats) -> dict[str, Floats]:
    share, low, high = np.moveaxis(intervals, 2, 0)
    return {
        "coverage": ((low <= goal) & (goal <= high)).mean(axis=0),
        "width": (high - low).mean(axis=0),
        "error": np.sqrt(((share - goal) ** 2).mean(axis=0)),
    }


def simulate_models(draws: int) -> list[Json]:
    """Return coverage and widths of every simulated model, share and number of labels."""
    rows = []
    for place, (model, say) in enumerate(MODELS.items()):
        for share in SHARES:
            rng = np.random.default_rng([place, int(100 * share)])
            own = rng.random(ITEMS) < share
            chance = say(own, rng.random(ITEMS))
            sides = np.stack([~own, own], axis=1), np.stack([1 - chance, chance], axis=1)
            for budget in BUDGETS:
                found = measure_draws(*sides, budget, draws)
                figures = {figure: values[1] for figure, values in found.items()}
                rows.append({"model": model, "share": share, "labels": budget, **figures})
    return rows

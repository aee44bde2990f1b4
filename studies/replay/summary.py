"""What replays show: areas under curves, and votes needed, with intervals over the seeds."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.markdown import group_by
from studies.records import Json
from studies.replay.policies import RANDOM

Floats = NDArray[np.float64]
NEARLY = 0.99  # share of the accuracy of all votes that is asked for
LEVEL = 0.95
RESAMPLES = 2000
STOPS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)  # votes per item at which all are scored
LATER = (12.0, 16.0, 24.0, 32.0)  # and those who are not there yet, see `has_arrived`


class Estimate(NamedTuple):
    """A mean over seeds, and its 95 % percentile interval over resampled seeds."""

    mean: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of some values with its interval.

    Examples
    --------
    >>> estimate([0.5, 0.5])
    Estimate(mean=0.5, low=0.5, high=0.5)
    """
    found = np.asarray(values, dtype=np.float64)
    rng = np.random.default_rng(0)
    means = found[rng.integers(len(found), size=(RESAMPLES, len(found)))].mean(axis=1)
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(found.mean()), float(low), float(high))


def measure_area(row: Json, column: int = 1) -> float:
    """Return the mean height of a curve over the votes: accuracy (1) or log loss (2).

    Of the stops that all policies reach.

    Examples
    --------
    >>> measure_area({"curve": [[10, 0.5, 1], [20, 0.7, 1], [40, 0.7, 1]]})
    0.6666666666666666
    """
    curve = np.asarray(row["curve"], dtype=np.float64)[: len(STOPS)]
    votes, heights = curve[:, 0], curve[:, column]
    if len(votes) == 1:
        return float(heights[0])
    area = np.sum(np.diff(votes) * (heights[1:] + heights[:-1]) / 2)
    return float(area / (votes[-1] - votes[0]))


def measure_need(row: Json) -> float:
    """Return how many votes reach 99 % of the accuracy of all votes; all of them if none do.

    Between two stops the accuracy is taken to be linear; a fall after it counts as not reached.

    Examples
    --------
    >>> measure_need({"curve": [[10, 0.5, 1], [20, 0.7, 1]], "whole": [40, 0.6, 1]})
    14.7
    """
    wanted = NEARLY * row["whole"][1]
    curve = np.asarray(row["curve"], dtype=np.float64)
    below = np.flatnonzero(curve[:, 1] < wanted)
    if not len(below):
        return float(curve[0, 0])
    last = int(below[-1])
    if last + 1 == len(curve):
        return float(row["whole"][0])
    (votes, height, _), (more, higher, _) = curve[last], curve[last + 1]
    return round(float(votes + (wanted - height) / (higher - height) * (more - votes)), 1)


def has_arrived(curve: Sequence[Sequence[float]], whole: Sequence[float]) -> bool:
    """Return whether the last two points have 99 % of the accuracy of all votes.

    Examples
    --------
    >>> has_arrived([[10, 0.5, 1], [20, 0.7, 1], [30, 0.69, 1]], [40, 0.69, 1])
    True
    """
    return len(curve) > 1 and all(point[1] >= NEARLY * whole[1] for point in curve[-2:])


def compare_areas(rows: Sequence[Json], column: int = 1) -> dict[tuple[str, str], Estimate]:
    """Return by set and policy how far the area is above random's, seed by seed."""
    areas = {(row["set"], row["policy"], row["seed"]): measure_area(row, column) for row in rows}
    found = {}
    for (name, policy), mine in group_by(rows, "set", "policy").items():
        apart = [
            areas[name, policy, row["seed"]] - areas[name, RANDOM, row["seed"]]
            for row in mine
            if (name, RANDOM, row["seed"]) in areas
        ]
        if apart:
            found[name, policy] = estimate(apart)
    return found


def compare_needs(rows: Sequence[Json]) -> dict[tuple[str, str], float]:
    """Return by set and policy the votes that it needs over those that random needs."""
    needs = {
        key: float(np.mean([measure_need(row) for row in mine]))
        for key, mine in group_by(rows, "set", "policy").items()
    }
    return {
        (name, policy): need / needs[name, RANDOM]
        for (name, policy), need in needs.items()
        if (name, RANDOM) in needs
    }

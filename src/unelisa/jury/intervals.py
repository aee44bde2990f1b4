"""Estimates with intervals, and the ranks that differences between systems allow."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]
LEVEL = 0.9  # of a single interval
TOGETHER, DRAWS = 0.95, 10_000  # level of all differences together, and draws that determine it
FLAT = 1e-12  # variance below which a difference has no error


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, variance: float, level: float = LEVEL) -> "Estimate":
        """Return a number with the interval of a normal distribution."""
        reach = float(ndtri((1 + level) / 2) * np.sqrt(max(variance, 0.0)))
        return cls(float(value), float(value) - reach, float(value) + reach)


def compare_all(values: Floats, covariance: Floats) -> list[tuple[int, int, float, float]]:
    """Return (one, other, value, reach) of all differences, which hold together at `TOGETHER`."""
    pairs = list(combinations(range(len(values)), 2))
    if not pairs:
        return []
    spread = np.diag(covariance)
    variances = np.array([spread[a] + spread[b] - 2 * covariance[a, b] for a, b in pairs])
    reach = find_reach(covariance, pairs, variances) * np.sqrt(np.maximum(variances, 0))
    return [
        (a, b, float(values[a] - values[b]), float(half))
        for (a, b), half in zip(pairs, reach, strict=True)
    ]


def find_reach(spread: Floats, pairs: list[tuple[int, int]], variances: Floats) -> float:
    """Return the standard errors that all differences stay within with probability `TOGETHER`."""
    values, vectors = np.linalg.eigh(spread)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = np.random.default_rng(0).standard_normal((DRAWS, len(spread))) @ root.T
    largest = np.zeros(DRAWS)
    for (a, b), variance in zip(pairs, variances, strict=True):
        if variance > FLAT:
            np.maximum(largest, np.abs(draws[:, a] - draws[:, b]) / np.sqrt(variance), out=largest)
    return float(np.quantile(largest, TOGETHER))


def bound_ranks(n: int, wins: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the best and the worst rank of n systems; `wins` are the better and the worse."""
    above, below = [0] * n, [0] * n
    for better, worse in wins:
        above[worse] += 1
        below[better] += 1
    return [(1 + up, n - down) for up, down in zip(above, below, strict=True)]


class Ranked(NamedTuple):
    """A system on a leaderboard."""

    system: str
    estimate: Estimate
    n: int  # answers or comparisons
    rank_low: int
    rank_high: int


def rank_all(
    names: Sequence[str], values: Floats, covariance: Floats, counts: NDArray[np.intp]
) -> list[Ranked]:
    """Return the systems, the best first, with the ranks that all differences together allow."""
    clear = [gap for gap in compare_all(values, covariance) if abs(gap[2]) > gap[3]]
    wins = ((a, b) if gap > 0 else (b, a) for a, b, gap, _ in clear)
    ranks, spread = bound_ranks(len(values), wins), np.diag(covariance)
    return [
        Ranked(names[g], Estimate.of(values[g], spread[g]), int(counts[g]), *ranks[g])
        for g in np.argsort(-values, kind="stable")
    ]

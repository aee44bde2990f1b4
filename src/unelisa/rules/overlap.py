"""How rules overlap, and whose charts settle their disagreements."""

import numpy as np
from numpy.typing import NDArray

from unelisa.phenotyping.charts import ChartSample

Flags = NDArray[np.bool_]


def measure_overlap(flags: Flags) -> NDArray[np.float64]:
    """Return the share of each rule's patients (rows) whom each rule (columns) flags.

    NaN for a rule that flags nobody.

    Examples
    --------
    >>> measure_overlap(np.array([[1, 1], [1, 0]], dtype=bool))
    array([[1. , 0.5],
           [1. , 1. ]])
    """
    weights = flags.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(weights.T @ weights / weights.sum(axis=0)[:, None])


def draw_by_pattern(flags: Flags, n: int, rng: np.random.Generator) -> ChartSample:
    """Return about n patients, as many of each pattern of rules as there are, and shares drawn.

    Rules disagree in most patterns, so most of these charts tell the rules apart; the shares let
    all of them stand for all patients.

    Examples
    --------
    >>> flags = np.repeat([[0, 0], [0, 1], [1, 1]], [900, 50, 4], axis=0) > 0
    >>> sample = draw_by_pattern(flags, 24, np.random.default_rng(0))
    >>> np.unique(flags[sample.rows].sum(axis=1), return_counts=True)[1]
    array([10, 10,  4])
    """
    _, codes, sizes = np.unique(flags, axis=0, return_inverse=True, return_counts=True)
    taken = np.zeros_like(sizes)
    # small patterns are taken whole, and the others share what is left
    for place, left in zip(np.argsort(sizes), range(len(sizes), 0, -1), strict=True):
        taken[place] = min(sizes[place], -(-(n - taken.sum()) // left))
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(codes == k), take, False) for k, take in enumerate(taken)]
    )
    order = np.argsort(rows)
    return ChartSample(rows[order], np.repeat(taken / sizes, taken)[order])

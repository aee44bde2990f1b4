"""The uncertainty of scores: percentile intervals over resampled items."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.chances import rate_honesty
from unelisa.analysis.scoring import score_labels

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
FIGURES = ("accuracy", "balanced_accuracy", "auc", "log_loss", "ece", "confidence")
LEVEL = 0.95


class Figure(NamedTuple):
    """A figure and its 95 % percentile interval over resampled items."""

    value: float
    low: float
    high: float


def score_figures(truth: Signs, scores: Floats, probabilities: Floats | None) -> list[float]:
    """Return the values of `FIGURES`, NaN where one is undefined."""
    found = score_labels(truth, scores, probabilities)._asdict()
    honest = {} if probabilities is None else rate_honesty(truth, probabilities)
    values = {**found, **honest}
    return [values.get(name, float("nan")) for name in FIGURES]


def score_with_intervals(
    truth: Signs,
    scores: Floats,
    probabilities: Floats | None = None,
    n_resamples: int = 500,
    random_state: int = 0,
) -> dict[str, Figure | None]:
    """Return accuracy, balanced accuracy, AUC and what probabilities add, each with its interval.

    The same seed draws the same items for every method on a set. None if a figure is undefined.

    Parameters
    ----------
    truth
        -1 / +1 per item; items with 0 (unknown) are ignored.
    scores
        One per item, positive for +1.
    probabilities
        P(+1) per item for the log loss, the calibration error and the stated confidence, or None.
    n_resamples, random_state
        Number of resamples, and their seed.

    Examples
    --------
    >>> truth, scores = np.array([1, 1, -1, -1] * 25, dtype=np.int8), np.array([1.0, 1, -1, 1] * 25)
    >>> figures = score_with_intervals(truth, scores, n_resamples=50)
    >>> figures["accuracy"].value, figures["accuracy"].low < 0.75 < figures["accuracy"].high
    (0.75, True)
    """
    known = np.flatnonzero(truth)
    rng = np.random.default_rng(random_state)

    def score(rows: NDArray[np.intp]) -> list[float]:
        chances = None if probabilities is None else probabilities[rows]
        return score_figures(truth[rows], scores[rows], chances)

    draws = (rng.integers(len(known), size=len(known)) for _ in range(n_resamples))
    drawn = np.array([score(known[rows]) for rows in draws])
    figures: dict[str, Figure | None] = dict.fromkeys(FIGURES)
    for name, value, column in zip(FIGURES, score(known), drawn.T, strict=True):
        defined = column[np.isfinite(column)]
        if np.isfinite(value) and len(defined):
            low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
            figures[name] = Figure(float(value), float(low), float(high))
    return figures

"""The uncertainty of scores: percentile intervals over resampled items."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.scoring import score_labels

Floats = NDArray[np.float64]
FIGURES = ("accuracy", "balanced_accuracy", "auc", "log_loss")
LEVEL = 0.95


class Figure(NamedTuple):
    """A figure and its 95 % percentile interval over resampled items."""

    value: float
    low: float
    high: float


def score_with_intervals(
    truth: NDArray[np.int8],
    scores: Floats,
    probabilities: Floats | None = None,
    n_resamples: int = 500,
    random_state: int = 0,
) -> dict[str, Figure | None]:
    """Return accuracy, balanced accuracy, AUC and log loss, each with its interval.

    Items are drawn with replacement and weighted by how often they were drawn. The same seed draws
    the same items for every method on a set. None if a figure is undefined.

    Parameters
    ----------
    truth
        -1 / +1 per item; items with 0 (unknown) are ignored.
    scores
        One per item, positive for +1.
    probabilities
        P(+1) per item for the log loss, or None.
    n_resamples, random_state
        Number of resamples, and their seed.

    Examples
    --------
    >>> truth, scores = np.array([1, 1, -1, -1] * 25, dtype=np.int8), np.array([1.0, 1, -1, 1] * 25)
    >>> figures = score_with_intervals(truth, scores)
    >>> figures["accuracy"].value, figures["accuracy"].low < 0.75 < figures["accuracy"].high
    (0.75, True)
    """
    known = truth != 0
    truth, scores = truth[known], scores[known]
    chances = None if probabilities is None else probabilities[known]
    whole = score_labels(truth, scores, chances)._asdict()
    sample = _Sample(truth, scores, chances)
    rng = np.random.default_rng(random_state)
    drawn = np.array([sample.figures(_draw_weights(len(truth), rng)) for _ in range(n_resamples)])
    tails = [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2]
    figures: dict[str, Figure | None] = {}
    for name, column in zip(FIGURES, drawn.T, strict=True):
        defined = column[np.isfinite(column)]
        if np.isnan(whole[name]) or not len(defined):
            figures[name] = None
        else:
            low, high = np.percentile(defined, tails)
            figures[name] = Figure(float(whole[name]), float(low), float(high))
    return figures


def _draw_weights(n_items: int, rng: np.random.Generator) -> Floats:
    return np.bincount(rng.integers(n_items, size=n_items), minlength=n_items).astype(np.float64)


class _Sample:
    """The items sorted by score, so that a resample costs one pass."""

    def __init__(self, truth: NDArray[np.int8], scores: Floats, chances: Floats | None) -> None:
        order = np.argsort(scores, kind="stable")
        self._positive = truth[order] > 0
        self._right = (1 + truth * np.sign(scores))[order] / 2
        self._order = order
        self._first = np.flatnonzero(np.diff(scores[order], prepend=-np.inf) > 0)
        self._losses: Floats | None = None
        if chances is not None:
            right = np.where(truth > 0, chances, 1 - chances)
            self._losses = -np.log(np.clip(right, 1e-6, 1.0))[order]  # the floor of score_labels

    def figures(self, weights: Floats) -> tuple[float, float, float, float]:
        """Return the figures of weighted items; NaN if one is undefined."""
        weights = weights[self._order]
        positive, total = weights * self._positive, weights.sum()
        negative = weights - positive
        n_positive, n_negative = positive.sum(), negative.sum()
        hits, rejections = positive @ self._right, negative @ self._right
        loss = np.nan if self._losses is None else float(weights @ self._losses / total)
        if n_positive == 0 or n_negative == 0:
            return (hits + rejections) / total, np.nan, np.nan, loss
        balanced = (hits / n_positive + rejections / n_negative) / 2
        auc = self._area(positive, negative) / (n_positive * n_negative)
        return float((hits + rejections) / total), float(balanced), auc, loss

    def _area(self, positive: Floats, negative: Floats) -> float:
        """Return the weight of correctly ordered pairs; ties count half."""
        ups, downs = (np.add.reduceat(side, self._first) for side in (positive, negative))
        return float(ups @ (np.cumsum(downs) - downs / 2))

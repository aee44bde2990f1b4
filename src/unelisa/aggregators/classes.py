"""Classes: which one a score names, as the user calls it, and with which probability."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

Floats = NDArray[np.float64]
ROUNDING = 1e-10  # scores that differ by less are tied: sums in another order differ as much


def is_two_class(model: Any) -> bool:
    """Return whether a fitted model has two classes: its scores are then one number per item."""
    return len(model.classes_) == 2


def pick_classes(scores: Floats) -> NDArray[np.intp]:
    """Return the index of each item's class: positive from 0 on, or the first of the largest.

    Examples
    --------
    >>> pick_classes(np.array([-1.0, 0.0])), pick_classes(np.array([[0.2, 0.4, 0.4]]))
    (array([0, 1]), array([1]))
    """
    if scores.ndim == 1:
        return (scores >= 0).astype(np.intp)
    return np.asarray(np.argmax(scores >= scores.max(axis=1, keepdims=True) - ROUNDING, axis=1))


def name_classes(scores: Floats, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the user's label of every item."""
    return np.asarray(classes[pick_classes(scores)])


def normalize_scores(scores: Floats) -> Floats:
    """Return probabilities from log-probabilities per item and class."""
    return np.asarray(softmax(scores, axis=1))


def pair_probabilities(odds: Floats) -> Floats:
    """Return P(negative), P(positive) per item from the log-odds."""
    positive = expit(odds)
    return np.column_stack([1 - positive, positive])

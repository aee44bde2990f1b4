"""Chances of yes: those that votes imply without a model, and how honest chances are."""

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.scoring import calibration_error
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
SHARE = "share-of-yes"


def share_of_yes(values: Signs) -> Floats:
    """Return (yes + 1) / (votes + 2) for each item: the chances that majority vote implies.

    Examples
    --------
    >>> share_of_yes(np.array([[1, 1, 0], [-1, 1, 1], [0, 0, 0]]))
    array([0.75, 0.6 , 0.5 ])
    """
    yes, cast = np.count_nonzero(values > 0, axis=1), np.count_nonzero(values, axis=1)
    return np.asarray((yes + 1) / (cast + 2))


def share_of_votes(votes: Votes) -> Floats:
    """Return (count + 1) / (votes + K) per item and class, the same for K classes.

    Examples
    --------
    >>> share_of_votes(Votes.of([["a", "a"], ["b", "c"]]))
    array([[0.6, 0.2, 0.2],
           [0.2, 0.4, 0.4]])
    """
    values, codes = votes.values, np.array(encode_classes(votes.n_classes), dtype=np.int8)
    counts = np.stack([np.count_nonzero(values == code, axis=1) + 1 for code in codes], axis=1)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def rate_honesty(truth: Signs, chances: Floats) -> dict[str, float]:
    """Return the expected calibration error (ten bins) and the mean stated confidence.

    The confidence in an item is max(P, 1 - P); items of truth 0 (unknown) are ignored.

    Examples
    --------
    >>> rate_honesty(np.array([1, -1, 0]), np.array([0.75, 0.25, 1.0]))
    {'ece': 0.25, 'confidence': 0.75}
    """
    known = chances[truth != 0]
    return {
        "ece": calibration_error(truth, chances),
        "confidence": float(np.maximum(known, 1 - known).mean()),
    }

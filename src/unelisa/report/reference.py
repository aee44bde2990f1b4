"""What is known of the truth, and how labels stand against it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.scoring import bound_frequency, calibration_error, score_labels
from unelisa.votes import Votes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CALIBRATION_BINS = 10
ROC_POINTS = 200


class Reference(NamedTuple):
    """The truth as far as it is known; no method has seen it.

    Attributes
    ----------
    votes
        Votes on the items whose truth is known, among others.
    signs
        -1 / +1 per item of these votes, 0 where unknown.
    comparison
        All methods' rows against this truth: `MethodScore` or mappings with its keys.
    """

    votes: Votes
    signs: NDArray[np.int8]
    comparison: Sequence[Any] = ()

    def rows(self) -> list[Mapping[str, Any]]:
        """Return the comparison as mappings."""
        return [row if isinstance(row, Mapping) else row._asdict() for row in self.comparison]


def score_reference(model: Aggregator, reference: Reference) -> dict[str, Any]:
    """Return how a fitted model's labels stand against the truth, as plain numbers."""
    known = np.flatnonzero(reference.signs)
    votes, signs = reference.votes.take_items(known), reference.signs[known]
    scores, positive = model.decision_function(votes), signs > 0
    chances = model.predict_proba(votes)[:, 1] if hasattr(model, "predict_proba") else None
    scored = score_labels(signs, scores, chances)._asdict()
    return {
        "n": len(known),
        **{name: None if np.isnan(figure) else figure for name, figure in scored.items()},
        "calibration_error": None if chances is None else calibration_error(signs, chances),
        "confusion": count_confusion(positive, scores >= 0),
        "roc": [list(point) for point in trace_roc(positive, scores)],
        "calibration": [] if chances is None else bin_calibration(positive, chances),
    }


def count_confusion(positive: Flags, labelled: Flags) -> dict[str, int]:
    """Return the confusion table.

    Examples
    --------
    >>> list(count_confusion(np.array([True, True, False]), np.array([True, False, True])).values())
    [1, 1, 1, 0]
    """
    return {
        "true_positive": int((positive & labelled).sum()),
        "false_negative": int((positive & ~labelled).sum()),
        "false_positive": int((~positive & labelled).sum()),
        "true_negative": int((~positive & ~labelled).sum()),
    }


def trace_roc(positive: Flags, scores: Floats) -> list[tuple[float, float]]:
    """Return the ROC curve as (false alarms, hits) from (0, 0) to (1, 1), thinned to be small.

    Empty where all items are on one side.

    Examples
    --------
    >>> trace_roc(np.array([True, False, True, False]), np.array([3.0, 2.0, 2.0, 1.0]))
    [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]
    """
    if positive.all() or not positive.any():
        return []
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # of equal scores
    hits = np.cumsum(positive[order])[ends] / positive.sum()
    alarms = np.cumsum(~positive[order])[ends] / (~positive).sum()
    hits, alarms = np.append(0.0, hits), np.append(0.0, alarms)
    if len(hits) > ROC_POINTS:
        # evenly along the curve, whose length in this metric is 2
        along = np.searchsorted(hits + alarms, np.linspace(0, 2, ROC_POINTS)[1:-1])
        kept = np.unique([0, *along, len(hits) - 1])
        hits, alarms = hits[kept], alarms[kept]
    return [(float(x), float(y)) for x, y in zip(alarms, hits, strict=True)]


def bin_calibration(positive: Flags, chances: Floats) -> list[dict[str, float]]:
    """Return per tenth of the probability: items, mean probability, share positive, 95 % interval.

    The interval is Wilson's. Empty tenths are left out.

    Examples
    --------
    >>> bins = bin_calibration(np.array([True, False]), np.array([0.9, 0.92]))
    >>> [(one["n"], one["share"]) for one in bins]
    [(2, 0.5)]
    """
    place = np.minimum((chances * CALIBRATION_BINS).astype(np.intp), CALIBRATION_BINS - 1)
    bins = []
    for k in np.unique(place):
        inside = place == k
        n, share = int(inside.sum()), float(positive[inside].mean())
        low, high = bound_frequency(share, n)
        bins.append(
            {
                "n": n,
                "mean": float(chances[inside].mean()),
                "share": share,
                "low": low,
                "high": high,
            }
        )
    return bins

"""What a model says about every item, computed once; how that compares with the known truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.aggregators import Aggregator
from unelisa.scoring import bound_frequency, calibration_error, score_labels
from unelisa.votes import Votes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SURE = 0.95  # an item is decided where the posterior of one class is above this
BINS = 20
MOST_UNCERTAIN = 20
CALIBRATION_BINS = 10
ROC_POINTS = 200


@dataclass(frozen=True, eq=False)
class Judged:
    """The items and their scores: one float per item serves labels, report and comparison."""

    votes: Votes  # the votes, with the model's voters as columns
    classes: tuple[Any, Any]  # the two labels, (negative, positive)
    scores: Floats  # one per item, positive for the positive class
    has_chances: bool  # whether the scores are log-odds, so that a probability is honest

    @classmethod
    def of(cls, model: Aggregator, votes: Votes) -> "Judged":
        """Return what a fitted model says about the items.

        Examples
        --------
        >>> import unelisa as ue
        >>> votes = ue.Votes.of([["yes", "yes"], ["no", "no"]])
        >>> Judged.of(ue.MajorityVote().fit(votes), votes).labels()
        ['yes', 'no']
        """
        negative, positive = model.classes_.tolist()
        matched = _match_voters(model, votes)
        scores = np.asarray(model.decision_function(matched), dtype=np.float64)
        return cls(matched, (negative, positive), scores, hasattr(model, "predict_proba"))

    @cached_property
    def chances(self) -> Floats | None:
        """P(positive) per item; None where the method gives a margin only."""
        return np.asarray(expit(self.scores)) if self.has_chances else None

    @cached_property
    def voted_on(self) -> Flags:
        """Whether an item has any vote."""
        everybody = np.ones(self.votes.n_voters)
        return np.asarray(self.votes.blocks.weigh(np.zeros_like(everybody), everybody) > 0)

    def labels(self, rows: slice = slice(None)) -> list[Any]:
        """Return the label of each item; a tie is positive."""
        negative, positive = self.classes
        return [positive if score >= 0 else negative for score in self.scores[rows].tolist()]

    def as_shares(self) -> Floats:
        """Return P(positive), or the label as 0, 1/2 (a tie) or 1 where there is none."""
        return (np.sign(self.scores) + 1) / 2 if self.chances is None else self.chances


def _match_voters(model: Aggregator, votes: Votes) -> Votes:
    """Return the votes with the model's voters as columns; unknown names go by position."""
    known = set(map(str, model.voter_names_)) & set(map(str, votes.voters))
    if not known and votes.n_voters == model.n_features_in_:
        return votes
    return votes.align(model.voter_names_)


def describe_items(judged: Judged) -> dict[str, Any]:
    """Return the number of items, and of those positive, tied, without a vote, and decided."""
    n, positive = len(judged.scores), int(np.count_nonzero(judged.scores >= 0))
    decided = None
    if judged.chances is not None:
        sure = (judged.chances > SURE) | (judged.chances < 1 - SURE)
        decided = int(np.count_nonzero(sure))
    return {
        "n": n,
        "positive": positive,
        "share_positive": positive / n,
        "ties": int(np.count_nonzero(judged.scores == 0)),
        "unvoted": int(np.count_nonzero(~judged.voted_on)),
        "sure": decided,
    }


def count_scores(judged: Judged) -> dict[str, Any]:
    """Return the histogram of the posterior, or of the score where there is none."""
    if judged.chances is not None:
        values, kind, low, high = judged.chances, "probability", 0.0, 1.0
    else:
        values, kind = judged.scores, "score"
        high = float(np.abs(values).max()) or 1.0
        low = -high
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    return {"kind": kind, "counts": counts.tolist(), "edges": edges.tolist()}


def list_uncertain(judged: Judged) -> list[dict[str, Any]]:
    """Return the items closest to one half, by name: only for readers who may see the names."""
    nearest = np.argsort(np.abs(judged.scores), kind="stable")[:MOST_UNCERTAIN]
    return [
        {
            "item": str(judged.votes.items[i]),
            "label": str(judged.labels(slice(i, i + 1))[0]),
            "probability": None if judged.chances is None else float(judged.chances[i]),
            "score": float(judged.scores[i]),
        }
        for i in nearest.tolist()
    ]


class Reference(NamedTuple):
    """The known truth, which no method has seen, beside a model's scores of the same items."""

    signs: NDArray[np.int8]  # -1 / +1 per item, 0 where the truth is unknown
    # scores, has_chances: the model's score of each item, and whether the scores are log-odds
    scores: Floats
    has_chances: bool
    # all methods' rows against this truth: `MethodScore` or mappings with its keys
    comparison: Sequence[Any] = ()

    @classmethod
    def of(
        cls, judged: Judged, signs: NDArray[np.int8], comparison: Sequence[Any] = ()
    ) -> "Reference":
        """Return the truth of the judged items."""
        return cls(signs, judged.scores, judged.has_chances, comparison)


def score_reference(reference: Reference) -> dict[str, Any]:
    """Return how the labels compare with the truth, as plain numbers."""
    known = np.flatnonzero(reference.signs)
    signs, scores = reference.signs[known], reference.scores[known]
    chances, positive = expit(scores) if reference.has_chances else None, signs > 0
    scored = score_labels(signs, scores, chances)._asdict()
    return {
        "n": len(known),
        **{name: None if np.isnan(figure) else figure for name, figure in scored.items()},
        "calibration_error": None if chances is None else calibration_error(signs, chances),
        "confusion": count_confusion(positive, scores >= 0),
        "roc": [list(point) for point in trace_roc(positive, scores)],
        "calibration": [] if chances is None else bin_calibration(positive, chances),
    }


def count_confusion(positive: Flags, labeled: Flags) -> dict[str, int]:
    """Return the confusion matrix.

    Examples
    --------
    >>> list(count_confusion(np.array([True, True, False]), np.array([True, False, True])).values())
    [1, 1, 1, 0]
    """
    return {
        "true_positive": int((positive & labeled).sum()),
        "false_negative": int((positive & ~labeled).sum()),
        "false_positive": int((~positive & labeled).sum()),
        "true_negative": int((~positive & ~labeled).sum()),
    }


def trace_roc(positive: Flags, scores: Floats) -> list[tuple[float, float]]:
    """Return the ROC curve, (false positive rate, true positive rate), thinned to stay small.

    It runs from (0, 0) to (1, 1), and is empty where all items are of one class.

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

    The interval is Wilson's. Empty bins are omitted.

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
        mean = float(chances[inside].mean())
        bins.append({"n": n, "mean": mean, "share": share, "low": low, "high": high})
    return bins

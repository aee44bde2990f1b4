"""What a model says about every item, computed once; how that compares with the known truth."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.aggregators import Aggregator
from unelisa.aggregators.base import ROUNDING, as_chances, find_best, name_status, pick_classes
from unelisa.analysis.rate import ask_model
from unelisa.analysis.scoring import (
    bound_frequency,
    calibration_error,
    list_defined,
    score_classes,
    score_labels,
    share_ties,
)
from unelisa.errors import ReliabilityWarning
from unelisa.outputs import make_plain
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import WholeTable

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Shares = list[dict[str, Any]]

LEVEL = 0.9  # of the intervals
SURE = 0.95  # an item is decided where the posterior of one class is above this
BINS = 20
MOST_LISTED = 20  # items on which judges differ
HARD = 0.5  # an item is hard where votes on it count less than half as much as usual
EASE_BIN = HARD / 8  # width, so that no bar has both hard items and others
CALIBRATION_BINS, LEAST_ITEMS = 10, 20  # bins of calibration, and items in each
ROC_POINTS = 200
CONFUSION = ("true_positive", "false_negative", "false_positive", "true_negative")


@dataclass(frozen=True, eq=False)
class Judged:
    """The items and their scores, computed once for labels, report and comparison."""

    votes: Votes  # the votes, with the model's voters as columns
    classes: tuple[Any, ...]  # the labels: (negative, positive), or all classes
    # one per item, positive for the positive class; items x classes for more than two
    scores: Floats
    # whether the scores are log-odds (log-probabilities), so that a probability is honest
    has_chances: bool
    # how easy each item is, NaN where unknown; None where the method does not estimate it
    ease: Floats | None = None
    held: Any = None  # the votes as lists: while they are held, no pass lists them again
    ties: Any = None  # the classes in the order in which they win ties, as `Aggregator.tie_order_`
    gold: Any = None  # the gold labels that the fit was given, codes with 0 for none; None: of none

    @classmethod
    def of(cls, model: Aggregator, votes: Votes) -> "Judged":
        """Return what a fitted model says about the items."""
        known = set(map(str, model.voter_names_)) & set(map(str, votes.voters))
        strangers = not known and votes.n_voters == model.n_features_in_  # they go by position
        matched, listed = votes if strangers else votes.align(model.voter_names_), None
        if (list_own := getattr(model, "_list_ballots", None)) is not None:
            listed = list_own(matched)
        elif matched.n_classes > 2:
            listed = list_ballots(matched.blocks)
        scores = np.asarray(model.decision_function(matched), dtype=np.float64)
        measure: Any = getattr(model, "ease", None)
        ease = None if measure is None else np.asarray(measure(matched), dtype=np.float64)
        honest = hasattr(model, "predict_proba")
        classes, ties = tuple(model.classes_.tolist()), model.tie_order_
        gold = model._recall_gold(matched)
        return cls(matched, classes, scores, honest, ease, listed, ties, gold)

    @property
    def two_classes(self) -> bool:
        """Whether there are two classes, so that scores are one number per item."""
        return self.scores.ndim == 1

    @cached_property
    def chances(self) -> Floats | None:
        """P(positive), or that of the label if there are more classes; None without any."""
        if self.class_chances is not None:
            return np.asarray(self.class_chances.max(axis=1))
        return np.asarray(expit(self.scores)) if self.has_chances else None

    @cached_property
    def class_chances(self) -> Floats | None:
        """The probability of each of more than two classes; None where there is none."""
        if self.two_classes or not self.has_chances:
            return None
        return as_chances(self.scores)

    @cached_property
    def voted_on(self) -> Flags:
        """Whether an item has any vote."""
        everybody, votes = np.ones(self.votes.n_voters), self.votes
        blocks = votes.blocks if self.two_classes else votes.one_against_rest(0).blocks
        return np.asarray(blocks.weigh(np.zeros_like(everybody), everybody) > 0)

    @cached_property
    def status(self) -> NDArray[Any]:
        """What each label rests on, in the words of `Aggregator.labels`."""
        return name_status(self.voted_on, find_best(self.scores).sum(axis=1), self.gold)

    @cached_property
    def differs(self) -> Flags:
        """Whether some other label than the item's has more votes on it."""
        everybody, nobody = np.ones(self.votes.n_voters), np.zeros(self.votes.n_voters)
        if self.two_classes:
            ahead = self.votes.blocks.weigh(everybody, nobody)  # yes minus no
            return np.asarray(np.where(self.picked == 1, ahead < 0, ahead > 0))
        counts = np.stack(
            [
                self.votes.one_against_rest(k).blocks.weigh(everybody / 2, everybody / 2)
                for k in range(len(self.classes))
            ],
            axis=1,
        )
        own = np.take_along_axis(counts, self.picked[:, None], axis=1)[:, 0]
        return np.asarray(own < counts.max(axis=1) - 0.5)

    @cached_property
    def picked(self) -> NDArray[np.intp]:
        """The place of each item's label in `classes`; a tie goes to the first of `ties`."""
        return pick_classes(self.scores, self.ties)

    @cached_property
    def leads(self) -> Floats:
        """How far the label is ahead: |score|, or the score beyond that of the next class."""
        if self.two_classes:
            return np.abs(self.scores)
        second, first = np.partition(self.scores, -2, axis=1)[:, -2:].T
        return np.asarray(np.where(first - second < ROUNDING, 0.0, first - second))

    def labels(self, rows: slice = slice(None)) -> list[Any]:
        """Return the label of each item; a tie goes to the first of `ties`."""
        return [self.classes[k] for k in self.picked[rows].tolist()]

    def as_class_shares(self) -> Floats:
        """Return the probability of every class, or all of it for the label where there is none."""
        return share_ties(self.scores) if self.class_chances is None else self.class_chances

    def as_columns(self) -> Floats:
        """Return the probability of every class, items x classes, of two classes too."""
        if not self.two_classes:
            return self.as_class_shares()
        yes = self.as_shares()
        return np.column_stack([1 - yes, yes])

    def as_shares(self) -> Floats:
        """Return P(positive), or the label as 0, 1/2 (a tie) or 1 where there is none."""
        return (np.sign(self.scores) + 1) / 2 if self.chances is None else self.chances


def describe_items(judged: Judged) -> dict[str, Any]:
    """Return the number of items, and of those positive (of two classes), tied, without votes..."""
    n, decided, sides = len(judged.scores), None, {}
    if judged.chances is not None:
        # the probability of a label is hardly ever below 1 - SURE
        low = judged.two_classes & (judged.chances < 1 - SURE)
        decided = int(np.count_nonzero((judged.chances > SURE) | low))
    if judged.two_classes:
        positive = int(np.count_nonzero(judged.picked))
        sides = {"positive": positive, "share_positive": positive / n}
    return {
        "n": n,
        **sides,
        "ties": int(np.count_nonzero(judged.leads == 0)),
        "unvoted": int(np.count_nonzero(~judged.voted_on)),
        "sure": decided,
        "differ": int(np.count_nonzero(judged.differs)),
    }


def count_scores(judged: Judged) -> dict[str, Any]:
    """Return the histogram of the posterior or score; over two classes, that of the label."""
    if judged.chances is not None:
        kind = "probability" if judged.two_classes else "confidence"
        values, low, high = judged.chances, 0.0, 1.0
    elif not judged.two_classes:
        values, kind, low = judged.leads, "lead", 0.0
        high = float(values.max()) or 1.0
    else:
        values, kind = judged.scores, "score"
        high = float(np.abs(values).max()) or 1.0
        low = -high
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    return {"kind": kind, "counts": counts.tolist(), "edges": edges.tolist()}


def count_ease(judged: Judged) -> dict[str, Any] | None:
    """Return the histogram of the items' ease and how many are hard; None where it is unknown."""
    if judged.ease is None or not np.isfinite(judged.ease).any():
        return None
    known = judged.ease[np.isfinite(judged.ease)]
    bins = int(np.ceil(max(float(known.max()), 1.0) / EASE_BIN - 1e-9))
    counts, edges = np.histogram(known, bins=bins, range=(0.0, bins * EASE_BIN))
    found = {"kind": "ease", "counts": counts.tolist(), "edges": edges.tolist()}
    return {**found, "n": len(known), "hard": int(np.count_nonzero(known < HARD))}


def estimate_shares(model: Aggregator, judged: Judged | None) -> tuple[Shares | None, list[str]]:
    """Return the classes' shares with 90 % intervals, and why there are none."""
    if not hasattr(model, "predict_proba"):
        return None, []
    if judged is None:
        return _read_shares(model), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ReliabilityWarning)
        rates = ask_model(model, judged.votes, judged.as_columns(), LEVEL)
    shares = [{key: make_plain(x) for key, x in rate._asdict().items()} for rate in rates]
    if not getattr(model, "reliable_", True):
        return shares, []  # the labels say so already
    found = [str(one.message) for one in caught if issubclass(one.category, ReliabilityWarning)]
    return shares, [f"{one[:1].upper()}{one[1:]}." for one in found]


def _read_shares(model: Any) -> Shares:
    shares = np.atleast_1d(model.prevalence_)
    bounds = getattr(model, "prevalence_interval_", (np.nan, np.nan))
    rows = np.column_stack([shares, *(np.broadcast_to(end, shares.shape) for end in bounds)])
    if len(rows) == 1:
        rows = np.vstack([1 - rows[0, [0, 2, 1]], rows])
    return [dict(zip(("share", "low", "high"), map(make_plain, row), strict=True)) for row in rows]


class Reference(NamedTuple):
    """The known truth, which no method has seen, beside a model's scores of the same items."""

    # scores, has_chances: the model's score of each item, and whether the scores are log-odds
    scores: Floats
    signs: NDArray[np.int8]  # in the codes of the votes, 0 where the truth is unknown
    has_chances: bool
    # all methods' rows against this truth: `MethodScore` or mappings with its keys
    comparison: Sequence[Any] = ()
    ordered: bool = False  # whether there are more than two classes in an order

    @classmethod
    def of(
        cls,
        model: Aggregator,
        judged: Judged,
        signs: NDArray[np.int8],
        comparison: Sequence[Any] = (),
    ) -> "Reference":
        """Return the truth of the judged items, and of others without votes.

        Those get the score of an item without votes: leaving them out would flatter every method.
        """
        scores, unvoted = judged.scores, len(signs) - len(judged.scores)
        if unvoted:
            empty = WholeTable(np.zeros((1, judged.votes.n_voters), dtype=np.int8))
            silent = replace(judged.votes, blocks=empty, items=np.arange(1))
            alike = np.repeat(Judged.of(model, silent).scores, unvoted, axis=0)
            scores = np.concatenate([scores, alike])
        return cls(scores, signs, judged.has_chances, comparison, judged.votes.ordered)


def score_reference(reference: Reference) -> dict[str, Any]:
    """Return how the labels compare with the truth, as plain numbers."""
    known = np.flatnonzero(reference.signs)
    signs, scores = reference.signs[known], reference.scores[known]
    if scores.ndim > 1:
        return {"n": len(known), **_score_classes(signs, scores, reference)}
    chances, positive = expit(scores) if reference.has_chances else None, signs > 0
    scored = list_defined(score_labels(signs, scores, chances))
    counted = _count_pairs(~positive, scores < 0, 2)
    return {
        "n": len(known),
        **scored,
        "calibration_error": None if chances is None else calibration_error(signs, chances),
        "confusion": dict(zip(CONFUSION, counted.ravel().tolist(), strict=True)),
        "roc": trace_roc(positive, scores),
        "calibration": [] if chances is None else bin_calibration(positive, chances),
    }


def _score_classes(signs: NDArray[np.int8], scores: Floats, reference: Reference) -> dict[str, Any]:
    """Return the figures of more than two classes; confusion counts the items [true, labeled]."""
    chances = as_chances(scores) if reference.has_chances else None
    scored = list_defined(score_classes(signs, scores, chances, ordered=reference.ordered))
    true, picked = signs.view(np.uint8).astype(np.intp) - 1, pick_classes(scores)
    counted = _count_pairs(true, picked, scores.shape[1])
    return {
        **scored,
        "confusion": counted.tolist(),
        "roc": [],
        "calibration": []
        if chances is None
        else bin_calibration(true == picked, chances.max(axis=1)),
    }


def _count_pairs(true: NDArray[Any], picked: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    counted = np.bincount(true * n_classes + picked, minlength=n_classes**2)
    return counted.reshape(n_classes, n_classes)


def trace_roc(positive: Flags, scores: Floats) -> list[list[float]]:
    """Return the thinned ROC curve, (false, true positive rate); empty if one class is absent."""
    if positive.all() or not positive.any():
        return []
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # of equal scores
    hits, alarms = (
        np.append(0, np.cumsum(one)[last] / one.sum())
        for one in (positive[order], ~positive[order])
    )
    curve = np.column_stack([alarms, hits])
    if len(curve) > ROC_POINTS:
        # evenly along the curve, whose length in this metric is 2
        along = np.searchsorted(hits + alarms, np.linspace(0, 2, ROC_POINTS)[1:-1])
        curve = curve[np.unique([0, *along, len(curve) - 1])]
    points: list[list[float]] = curve.tolist()
    return points


def bin_calibration(positive: Flags, chances: Floats) -> list[dict[str, float]]:
    """Return per tenth of the probability: items, mean probability, share positive, interval."""
    place = np.minimum((chances * CALIBRATION_BINS).astype(np.intp), CALIBRATION_BINS - 1)
    place = merge_bins(np.bincount(place, minlength=CALIBRATION_BINS))[place]
    bins = []
    for k in np.unique(place):
        inside = place == k
        n, share = int(inside.sum()), float(positive[inside].mean())
        low, high = bound_frequency(share, n)
        mean = float(chances[inside].mean())
        bins.append({"n": n, "mean": mean, "share": share, "low": low, "high": high})
    return bins


def merge_bins(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the merged bin of each bin, so that all hold enough items, or all of them."""
    merged, number, held = np.zeros(len(counts), dtype=np.intp), 0, 0
    for k, count in enumerate(counts):
        merged[k], held = number, held + count
        if held >= LEAST_ITEMS and counts[k + 1 :].sum() >= LEAST_ITEMS:
            number, held = number + 1, 0
    return merged

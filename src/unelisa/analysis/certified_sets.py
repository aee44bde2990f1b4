"""Labels with a guarantee: how many can be given automatically, from random gold labels.

S_c = {items whose label has a probability of at least c} is certified if its wrong labels, less
those that gold labels corrected, are at most `error` times the number delivered, by an upper bound
with confidence 1 - alpha (error_bounds.py). Sets were fixed before any gold label was seen, so
nothing is assumed of the model. Items drawn but not answered count as wrong.

Alpha is divided between fifths of the largest set; once a set is certified, its part passes to the
next larger one (the fallback procedure of Wiens and Dmitrienko 2005). Other losses are sums of such
errors, each with its part of alpha: (y - yhat)^2 = sum_d (2 d - 1) [|y - yhat| >= d].
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.error_bounds import Draws, bound_wrong, exclude
from unelisa.votes import Votes

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Per = Literal["file", "automatic", "class"]
Loss = Literal["wrong", "far", "squared"]

SETS = 40  # thresholds that are tried
STARTS = 5  # sets that share alpha
NOT_DRAWN, UNANSWERED = -1, -2  # instead of the true class of an item
NEAR = 2.0  # the largest of them is expected to have at most so many times the error


class Asked(NamedTuple):
    """What is asked of the labels."""

    error: float
    confidence: float
    per: Per
    loss: Loss
    above: float  # only items with this probability were drawn
    once: bool
    whole: bool = False  # whether all of these are to be certified, or none


class Scored(NamedTuple):
    """The labels of a model in the order in which they are trusted."""

    votes: Votes
    label: NDArray[np.intp]  # class of each item, from 0
    sure: Floats  # probability of the label
    classes: NDArray[Any]
    # of ordered classes: P(the label is off by d classes or more), items x d from 1
    tails: Floats | None = None

    def expect(self, distance: int) -> Floats:
        """Return the model's probability that each label is off by so many classes or more."""
        return 1 - self.sure if distance == 1 or self.tails is None else self.tails[:, distance - 1]


class Evidence(NamedTuple):
    """What gold labels show of the items that they were drawn from."""

    sure: Floats
    drawn: Flags
    losses: list[tuple[float, Flags]]  # weights, and which labels have an error of this kind
    delivered_gold: float  # gold labels that are delivered with a certified set
    expected: Floats  # loss by the model


class Sets(NamedTuple):
    """The sets that are tested, from the smallest to the largest."""

    thresholds: Floats
    items: Floats
    drawn: Floats
    found: list[tuple[float, Floats]]  # errors of each kind that gold labels show, with weights
    expected: Floats  # mean loss by the model
    delivered: Floats  # labels that are given if the set is certified


def choose_sets(scored: Scored, truth: NDArray[np.intp], asked: Asked) -> tuple[Floats, Floats]:
    """Return the thresholds (inf: nothing certified) and the smallest errors in reach, per part."""
    labels = range(len(scored.classes)) if asked.per == "class" else (None,)
    alpha = (1 - asked.confidence) / len(labels)
    limits, reached = np.full(len(labels), np.inf), np.full(len(labels), np.nan)
    for j, label in enumerate(labels):
        evidence = list_evidence(scored, truth, asked, label)
        if len(evidence.sure):
            limits[j] = choose_set(evidence, asked, alpha)
            found = np.isfinite(limits[j])
            reached[j] = asked.error if found else find_reach(evidence, asked, alpha)
    return limits, reached


def list_evidence(
    scored: Scored, truth: NDArray[np.intp], asked: Asked, label: int | None = None
) -> Evidence:
    """Return the evidence of all items, or of those with one label."""
    own = scored.sure >= asked.above
    many = np.count_nonzero(truth >= 0)
    if label is not None:
        own, many = own & (scored.label == label), np.count_nonzero(truth == label)
    known, drawn = truth[own], truth[own] != NOT_DRAWN
    far = np.where(drawn, np.abs(scored.label[own] - known), 0)
    far[known == UNANSWERED] = len(scored.classes) - 1
    losses = [(weight, far >= d) for weight, d in list_kinds(asked.loss, len(scored.classes))]
    with_gold = 0.0 if asked.per == "automatic" else float(many)
    return Evidence(
        scored.sure[own], drawn, losses, with_gold, expect_loss(scored, asked.loss)[own]
    )


def list_kinds(loss: Loss, n_classes: int) -> list[tuple[float, int]]:
    """Return the kinds of errors whose sum is a loss: weights, and off by how many classes."""
    if loss == "squared":
        return [(2.0 * d - 1, d) for d in range(1, n_classes)]
    return [(1.0, 1 if loss == "wrong" else 2)]


def expect_loss(scored: Scored, loss: Loss) -> Floats:
    """Return the loss of each label by the model's probabilities."""
    kinds = list_kinds(loss, len(scored.classes))
    return np.asarray(sum(weight * scored.expect(d) for weight, d in kinds))


def choose_set(evidence: Evidence, asked: Asked, alpha: float) -> float:
    """Return the threshold of the largest set that is certified; infinite if none is."""
    sets = list_sets(evidence)
    best, carried = np.inf, 0.0
    for j, share in enumerate(_divide_alpha(sets, asked)):
        level = share * alpha + carried
        carried = 0.0
        if level > 0 and _is_within(sets, j, asked.error, level, once=asked.once):
            best, carried = float(sets.thresholds[j]), level
    return best


def find_reach(evidence: Evidence, asked: Asked, alpha: float) -> float:
    """Return the smallest error that the first sets would have been certified with."""
    sets = list_sets(evidence)
    shares = _divide_alpha(sets, asked)
    left = (
        (j, _bound_left(sets, int(j), asked.error, shares[j] * alpha, once=asked.once))
        for j in np.flatnonzero(shares)
    )
    return min(float(most / max(sets.delivered[j], 1)) for j, most in left)


def list_sets(evidence: Evidence) -> Sets:
    """Return the sets to test; items with the same probability are never divided."""
    order = np.argsort(-evidence.sure, kind="stable")
    sure = evidence.sure[order]
    places = np.arange(1, SETS + 1) * len(sure) // SETS - 1
    limits = np.unique(sure[np.maximum(places, 0)])[::-1]
    ends = np.searchsorted(-sure, -limits, "right")

    def count(values: Any) -> Floats:
        return np.asarray(np.cumsum(values[order], dtype=np.float64)[ends - 1])

    drawn = count(evidence.drawn)
    return Sets(
        limits,
        ends.astype(np.float64),
        drawn,
        [(weight, count(wrong)) for weight, wrong in evidence.losses],
        count(evidence.expected) / ends,
        ends - drawn + evidence.delivered_gold,
    )


def _divide_alpha(sets: Sets, asked: Asked) -> Floats:
    shares = np.zeros(len(sets.items))
    if asked.whole:
        shares[-1] = 1.0
        return shares
    fine = np.flatnonzero(sets.expected <= NEAR * asked.error)
    largest = sets.items[fine[-1]] if len(fine) else sets.items[0]
    for part in range(1, STARTS + 1):
        shares[int(np.abs(sets.items - part / STARTS * largest).argmin())] += 1 / STARTS
    return shares


def _is_within(sets: Sets, j: int, error: float, level: float, *, once: bool) -> bool:
    allowed = error * sets.delivered[j] + 1e-9
    if len(sets.found) > 1:
        return bool(_bound_left(sets, j, error, level, once=once) <= allowed)
    draws = _count_draws(sets, j, sets.found[0][1][j], error)
    return exclude(draws, draws.e + np.floor(allowed) + 1, level, once=once)


def _bound_left(sets: Sets, j: int, error: float, level: float, *, once: bool) -> float:
    """Return the largest loss that may remain in a set after its gold labels have corrected it."""
    left = 0.0
    for weight, found in sets.found:
        draws = _count_draws(sets, j, found[j], error)
        left += weight * (bound_wrong(draws, level / len(sets.found), once=once) - draws.e)
    return left


def _count_draws(sets: Sets, j: int, found: float, error: float) -> Draws:
    # the error rate that the bound is made for: what the model expects, if that helps
    mean = float(np.clip(sets.expected[j], error / 20, min(error, 0.5) / 2))
    return Draws(float(sets.items[j]), float(sets.drawn[j]), float(found), mean)

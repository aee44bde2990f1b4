"""Labels with a guarantee: how many can be given automatically, from random gold labels.

S_c = {items whose label has a probability of at least c} is certified if its wrong labels, less
those that gold labels corrected, are at most `error` times the number delivered, by an upper bound
with confidence 1 - alpha (error_bounds.py). Sets were fixed before any gold label was seen, so
nothing is assumed of the model. Items drawn but not answered count as wrong.

Alpha is divided between fifths of the largest set; once a set is certified even without the
corrections, its part passes to the next larger one (the fallback procedure of Wiens and Dmitrienko
2005). Call a set bad if its errors exceed `error` times its items. What is certified falsely is bad
and its true number of errors is excluded, at the level of this set; the same is true of a bad set
that passes its part on. The parts of alpha in the levels of bad sets, up to the first such one, do
not overlap, so this has chance alpha at most. If errors count among the certified labels only,
which sets are bad depends on how many of their items were drawn, so that nothing is passed on if
the number of draws is not fixed. Other losses are sums of such errors, each with its part of alpha:
(y - yhat)^2 = sum_d (2 d - 1) [|y - yhat| >= d].

With weights, items count by weight and are drawn with chances that are proportional to it, with
replacement: the draws in a set are then independent, and each is wrong with a chance that is the
share of its wrong labels by weight. With strata, within which chances are equal, bounds are over
all of them.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.error_bounds import (
    TINY,
    Draws,
    bound_share,
    bound_strata,
    bound_wrong,
    exclude,
)
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
    weights: Floats | None = None  # of the items, 1 in the mean
    strata: NDArray[np.intp] | None = None  # within which items have the same chance to be drawn

    def expect(self, distance: int) -> Floats:
        """Return the model's probability that each label is off by so many classes or more."""
        return 1 - self.sure if distance == 1 or self.tails is None else self.tails[:, distance - 1]


class Evidence(NamedTuple):
    """What gold labels show of the items that they were drawn from."""

    sure: Floats
    drawn: Any  # how often, at most once without weights
    losses: list[tuple[float, Any]]  # weights, and the draws that show an error of this kind
    delivered_gold: float  # gold labels that are delivered with a certified set
    expected: Floats  # loss by the model
    weights: Floats | None = None
    strata: NDArray[np.intp] | None = None


class Sets(NamedTuple):
    """The sets that are tested, from the smallest to the largest."""

    thresholds: Floats
    items: Floats  # strata x sets, as are the next two; with weights, the sums of these
    drawn: Floats
    found: list[tuple[float, Floats]]  # errors of each kind that gold labels show, with weights
    expected: Floats  # mean loss by the model
    delivered: Floats  # labels that are given if the set is certified
    corrected: Floats  # loss that gold labels take away
    weighted: bool


def choose_sets(
    scored: Scored, truth: NDArray[np.intp], asked: Asked, times: NDArray[np.intp] | None = None
) -> tuple[Floats, Floats]:
    """Return the thresholds (inf: nothing certified) and the smallest errors in reach, per part."""
    labels = range(len(scored.classes)) if asked.per == "class" else (None,)
    alpha = (1 - asked.confidence) / len(labels)
    limits, reached = np.full(len(labels), np.inf), np.full(len(labels), np.nan)
    for j, label in enumerate(labels):
        evidence = list_evidence(scored, truth, asked, label, times)
        if len(evidence.sure):
            limits[j] = choose_set(evidence, asked, alpha)
            found = np.isfinite(limits[j])
            reached[j] = asked.error if found else find_reach(evidence, asked, alpha)
    return limits, reached


def list_evidence(
    scored: Scored,
    truth: NDArray[np.intp],
    asked: Asked,
    label: int | None = None,
    times: NDArray[np.intp] | None = None,
) -> Evidence:
    """Return the evidence of all items, or of those with one label; `times`: draws of each."""
    own, gold = scored.sure >= asked.above, truth >= 0
    if label is not None:
        own, gold = own & (scored.label == label), truth == label
    weights = None if scored.weights is None else scored.weights[own]
    strata = None if scored.strata is None else scored.strata[own]
    known, drawn = truth[own], truth[own] != NOT_DRAWN
    far = np.where(drawn, np.abs(scored.label[own] - known), 0)
    far[known == UNANSWERED] = len(scored.classes) - 1
    often: Any = drawn if times is None else times[own]
    kinds = list_kinds(asked.loss, len(scored.classes))
    losses = [(weight, (far >= d) if times is None else (far >= d) * often) for weight, d in kinds]
    many = np.count_nonzero(gold) if scored.weights is None else scored.weights[gold].sum()
    with_gold = 0.0 if asked.per == "automatic" else float(many)
    expected = expect_loss(scored, asked.loss)[own]
    return Evidence(scored.sure[own], often, losses, with_gold, expected, weights, strata)


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
        allowed = asked.error * sets.delivered[j]
        if level > 0 and _is_within(sets, j, sets.corrected[j], allowed, asked, level):
            best = float(sets.thresholds[j])
            own = asked.error * min(sets.delivered[j], sets.items[:, j].sum())
            if _passes_on(asked) and _is_within(sets, j, 0.0, own, asked, level):
                carried = level
    return best


def _passes_on(asked: Asked) -> bool:
    return asked.once or asked.per != "automatic"


def find_reach(evidence: Evidence, asked: Asked, alpha: float) -> float:
    """Return the smallest error that the first sets would have been certified with."""
    sets = list_sets(evidence)
    shares = _divide_alpha(sets, asked)
    tried = np.flatnonzero(shares)
    most = np.array([_bound_loss(sets, int(j), asked, shares[j] * alpha) for j in tried])
    left, delivered = most - sets.corrected[tried], sets.delivered[tried]
    shares = np.full(len(tried), np.inf)
    return float(np.divide(left, delivered, out=shares, where=delivered > TINY).min())


def list_sets(evidence: Evidence) -> Sets:
    """Return the sets to test; items with the same probability are never divided."""
    order = np.argsort(-evidence.sure, kind="stable")
    sure = evidence.sure[order]
    places = np.arange(1, SETS + 1) * len(sure) // SETS - 1
    limits = np.unique(sure[np.maximum(places, 0)])[::-1]
    ends = np.searchsorted(-sure, -limits, "right")

    def count(values: Any) -> Floats:
        return np.asarray(np.cumsum(values[order], dtype=np.float64)[ends - 1])

    def divide(values: Any) -> Floats:
        if evidence.strata is None:
            return count(values)[None]
        return np.stack([count(values * (evidence.strata == s)) for s in range(n_strata)])

    n_strata = 1 if evidence.strata is None else int(evidence.strata.max()) + 1
    weight = np.ones(len(sure)) if evidence.weights is None else evidence.weights
    items = divide(weight)
    total = items.sum(axis=0)
    lost = sum(value * count(weight * np.minimum(wrong, 1)) for value, wrong in evidence.losses)
    return Sets(
        limits,
        items,
        divide(evidence.drawn),
        [(value, divide(wrong)) for value, wrong in evidence.losses],
        count(weight * evidence.expected) / np.maximum(total, TINY),
        total - count(weight * np.minimum(evidence.drawn, 1)) + evidence.delivered_gold,
        np.asarray(lost),
        evidence.weights is not None,
    )


def _divide_alpha(sets: Sets, asked: Asked) -> Floats:
    items = sets.items.sum(axis=0)
    shares = np.zeros(len(items))
    if asked.whole:
        shares[-1] = 1.0
        return shares
    fine = np.flatnonzero(sets.expected <= NEAR * asked.error)
    largest = items[fine[-1]] if len(fine) else items[0]
    for part in range(1, STARTS + 1):
        shares[int(np.abs(items - part / STARTS * largest).argmin())] += 1 / STARTS
    return shares


def _is_within(
    sets: Sets, j: int, corrected: float, allowed: float, asked: Asked, level: float
) -> bool:
    """Return whether the loss in a set is at most what is allowed beyond what is corrected."""
    allowed += 1e-9
    if sets.weighted or len(sets.found) > 1 or len(sets.items) > 1:
        return bool(_bound_loss(sets, j, asked, level) <= corrected + allowed)
    (draws,) = _count_draws(sets, j, sets.found[0][1], asked.error)
    return exclude(draws, corrected + np.floor(allowed) + 1, level, once=asked.once)


def _bound_loss(sets: Sets, j: int, asked: Asked, level: float) -> float:
    """Return the largest loss in a set, each kind of errors with its part of the level."""
    total, level = 0.0, level / len(sets.found)
    for weight, found in sets.found:
        draws = _count_draws(sets, j, found, asked.error)
        if sets.weighted:
            most = draws[0].n * bound_share(draws[0], level)
        elif len(draws) > 1:
            most = bound_strata(draws, level)
        else:
            most = bound_wrong(draws[0], level, once=asked.once)
        total += weight * most
    return total


def _count_draws(sets: Sets, j: int, found: Floats, error: float) -> list[Draws]:
    # the error rate that the bound is made for: what the model expects, if that helps
    mean = float(np.clip(sets.expected[j], error / 20, min(error, 0.5) / 2))
    counts = zip(
        sets.items[:, j].tolist(), sets.drawn[:, j].tolist(), found[:, j].tolist(), strict=True
    )
    return [Draws(n, k, e, mean) for n, k, e in counts]

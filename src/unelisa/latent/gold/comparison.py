"""What the gold labels follow: the axis of a reading, its opposite, or neither.

The slope of the labels on the reading's log-odds decides. A slope above its own standard error is
believed. Otherwise, with ten labels or more, every label is also predicted with its fold left out
(at most 20 folds), once from the axis and its slope, once from voters weighted by the other gold
labels alone; unless gold alone is worse by more than the standard error of the difference, the
voters are weighted by it. Gold alone is also taken where it is clearly better: by that standard
error and by the half log k that a further parameter costs. A slope below 0, in spite of its prior
N(1, 1), swaps the sides, unless gold alone predicts the labels better; that takes labels that are
likelier by two nats on the opposite side.
"""

from typing import Literal, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from unelisa.kernels.ballots import tally_ballots
from unelisa.kernels.coefficients import move_voters
from unelisa.latent.ballots import Ballots, Floats
from unelisa.latent.consensus.model import NODES, SHARES, STATES, Consensus, weigh_truth

Follows = Literal["axis", "opposite", "gold"]

SLOPES = np.linspace(-3, 3, 61)
PRIOR_SLOPE = 1.0  # mean of the slope on standardized log-odds; its sd is 1
CENTER, SPREAD = np.array([0.0, 0.3]), np.array([0.5, 0.5])  # prior of (b, a) by gold alone
GOLD_STEPS = 15
MOST_FOLDS = 20
LEAST_LABELS = 10  # fewer only decide which side is yes
HELP_ERRORS = 2.0  # standard errors by which labels must improve the fit


class Comparison(NamedTuple):
    """What the gold labels follow, and the log scores that say so."""

    follows: Follows  # "axis", its "opposite", or "gold" alone
    # axis, alone: cross-validated log score of the gold labels under the axis and under gold alone
    axis: float
    alone: float
    contradict: bool  # whether the labels contradict the axis, however little


def weigh_by_gold(ballots: Ballots, signs: Floats, n_voters: int) -> Consensus:
    """Return a consensus whose voters are weighted by the items' gold labels alone; 0: unknown."""
    shares = np.stack([signs > 0, signs < 0], axis=1).astype(np.float64)
    said = tally_ballots(*ballots[:3], shares, n_voters)
    means = np.tile(CENTER, (n_voters, 1))
    covariances = np.tile(np.diag(SPREAD**2), (n_voters, 1, 1))
    for _ in range(GOLD_STEPS):
        means, covariances = move_voters(
            means, covariances, *said, STATES[2], CENTER, SPREAD, -np.inf, NODES, SHARES
        )
    return Consensus(means, covariances, CENTER, SPREAD, 0.0, np.empty(0), converged=True)


def compare_with_gold(
    ballots: Ballots, signs: Floats, odds: Floats, scale: float, n_voters: int
) -> Comparison:
    """Return what the gold labels `signs` follow, given the votes on their items.

    `odds` are these items' log-odds under the reading, over their spread among all items; `scale`
    is the spread among all items of the log-odds by gold alone.
    """
    folds = np.arange(len(signs)) % min(len(signs), MOST_FOLDS)
    axis, alone = np.zeros(len(signs)), np.zeros(len(signs))
    for fold in range(int(folds.max()) + 1):
        out = folds == fold
        axis[out] = log_expit(signs[out] * _fit_slope(odds[~out], signs[~out]) * odds[out])
        model = weigh_by_gold(ballots, np.where(out, 0.0, signs), n_voters)
        alone[out] = log_expit(signs[out] * weigh_truth(ballots, model.factors)[out] / scale)
    lead = alone - axis
    error = float(lead.std() * np.sqrt(len(lead)))
    follows = _settle(float(lead.sum()), error, signs, odds)
    scores = float(axis.sum()), float(alone.sum())
    return Comparison(follows, *scores, contradict=bool(signs @ odds < 0))


def labels_help(signs: Floats, before: Floats, after: Floats) -> bool:
    """Return whether gold labels in the fit help to predict held-out ones.

    By more than two standard errors of the gain, both scored with the slope of the fit without.
    `before` and `after` are the labels' standardized log-odds, from a fit without labels and from
    one with the others.
    """
    slope = max(_fit_slope(before, signs), 0.0)
    gain = log_expit(signs * slope * after) - log_expit(signs * slope * before)
    return bool(gain.sum() > HELP_ERRORS * gain.std() * np.sqrt(len(gain)))


def _settle(lead: float, error: float, signs: Floats, odds: Floats) -> Follows:
    slope = _fit_slope(odds, signs)
    chances = expit(slope * odds)
    slope_error = 1 / np.sqrt(1 + (odds**2 * chances * (1 - chances)).sum())
    many = len(signs) >= LEAST_LABELS
    if many and lead > max(np.log(len(signs)) / 2, error):
        return "gold"
    if slope > slope_error:
        return "axis"
    if slope < 0 and (lead <= 0 or not many):
        return "opposite"
    return "gold" if many and lead > -error else "axis"


def _fit_slope(odds: Floats, signs: Floats) -> float:
    """Return the most probable slope of the labels on the log-odds, on a grid."""
    fit = log_expit(np.outer(SLOPES, signs * odds)).sum(axis=1) - (SLOPES - PRIOR_SLOPE) ** 2 / 2
    return float(SLOPES[np.argmax(fit)])

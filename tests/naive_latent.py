"""Slow, obvious versions of the symmetric pseudo-likelihood; tests compare the two."""

import itertools
import math

import numpy as np

from unelisa.kernels.pseudo_likelihood import SURE


def vote_chance(vote, predictor, signal):
    """P(f = vote | truth) for a voter with this predictor and signal a_s f_0."""
    return 1 / (1 + math.exp(-2 * vote * (predictor + signal)))


def expected_loss(values, edges, biases, weights, posterior):
    """-sum_is E_tau log P(f_is | f_0, other votes), vote by vote, predictors bounded by SURE."""
    total = 0.0
    for row, tau in zip(values.tolist(), posterior.tolist(), strict=True):
        for s, f in enumerate(row):
            if f:
                m = biases[s] + sum(edges[s, t] * g for t, g in enumerate(row) if t != s)
                m = max(-SURE, min(SURE, m))
                total -= tau * math.log(vote_chance(f, m, weights[s]))
                total -= (1 - tau) * math.log(vote_chance(f, m, -weights[s]))
    return total


def marginal_loss(values, edges, biases, weights, field):
    """-sum_is log P(f_is | other observed votes), by enumeration of f_0 and f_s.

    A vote that is missing leaves its terms out of the joint weight of the others.
    """
    total = 0.0
    for row in values.tolist():
        for s, f in enumerate(row):
            if f:
                heights = {
                    (side, truth): _height(
                        [side if t == s else g for t, g in enumerate(row)],
                        truth,
                        (edges, biases, weights, field),
                    )
                    for side, truth in itertools.product((-1, 1), repeat=2)
                }
                mine = heights[f, -1] + heights[f, 1]
                total -= math.log(mine / sum(heights.values()))
    return total


def _height(votes, truth, model):
    """exp of (2.1)'s exponent."""
    edges, biases, weights, field = model
    f = np.array(votes, dtype=float)
    return math.exp(field * truth + biases @ f + truth * (weights @ f) + f @ edges @ f / 2)

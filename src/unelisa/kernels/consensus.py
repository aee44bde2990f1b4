"""The consensus: sums over votes and states (a class k, an ease d), and one Newton step per voter.

    log P(c | k, d) = b_sc + d a_s [c = k] - Z_skd,   Z_skd = log sum_c exp(b_sc + d a_s [c = k])

b_sc is the same in all states, so an item's posterior needs a and Z only. Item i's votes are at
starts[i] to starts[i + 1] of `voters` and `answers` (classes from 0).
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Voters = NDArray[np.int32]
Answers = NDArray[np.uint8]
Listed = tuple[Places, Voters, Answers, Floats]  # with log P(class) per item, or no row of it
Model = tuple[Floats, Floats]  # what an answer adds per voter and class, and log_states


@kernel
def infer_states(listed: Listed, model: Model) -> Floats:
    """Return the posterior of class and ease per item: items x classes x ease."""
    (starts, voters, answers, priors), (cells, log_states) = listed, model
    n_items, n_classes = len(starts) - 1, log_states.shape[0]
    out = np.empty((n_items, log_states.size))
    for i in range(n_items):
        _weigh_states(i, starts, voters, answers, priors, cells, log_states, out[i])
    return out.reshape(n_items, n_classes, -1)


@kernel
def sum_states(listed: Listed, model: Model) -> tuple[Floats, Floats, Floats, float]:
    """Return the expected counts of the M-step (items with votes only), and the log-likelihood.

    Votes per voter and state; votes for the true class per voter and ease; items per state.
    """
    (starts, voters, answers, priors), (cells, log_states) = listed, model
    n_classes, n_eases = log_states.shape
    n_voters, n_states = len(cells) // n_classes, n_classes * n_eases
    met, right = np.zeros((n_voters, n_states)), np.zeros((n_voters, n_eases))
    states, posterior, likelihood = np.zeros(n_states), np.empty(n_states), 0.0
    for i in range(len(starts) - 1):
        if starts[i] == starts[i + 1]:
            continue
        likelihood += _weigh_states(
            i, starts, voters, answers, priors, cells, log_states, posterior
        )
        for q in range(n_states):
            states[q] += posterior[q]
        for j in range(starts[i], starts[i + 1]):
            s, first = np.uint32(voters[j]), np.uint32(answers[j]) * np.uint32(n_eases)
            for q in range(n_states):
                met[s, q] += posterior[q]
            for g in range(n_eases):
                right[s, g] += posterior[first + np.uint32(g)]
    shape = n_classes, n_eases
    return met.reshape(n_voters, n_classes, n_eases), right, states.reshape(shape), likelihood


@kernel
def _weigh_states(
    i: int,
    starts: Places,
    voters: Voters,
    answers: Answers,
    priors: Floats,
    cells: Floats,
    log_states: Floats,
    posterior: Floats,
) -> float:
    """Set the posterior of the states of item i; return the log of its normalizer."""
    n_classes, n_eases = log_states.shape
    n_states = posterior.size
    # loops, not slices, whose checks of shapes take seconds to compile
    for k in range(n_classes):
        for g in range(n_eases):
            known = priors[i, k] if len(priors) > 0 else 0.0
            posterior[k * n_eases + g] = log_states[k, g] + known
    for j in range(starts[i], starts[i + 1]):
        # unsigned: a place that may be negative is checked, which takes as long as the sum
        cell = np.uint64(voters[j]) * np.uint64(n_classes) + np.uint64(answers[j])
        for q in range(n_states):
            posterior[q] += cells[cell, q]
    most, total = posterior[0], 0.0
    for q in range(1, n_states):
        most = max(most, posterior[q])
    for q in range(n_states):
        posterior[q] = np.exp(posterior[q] - most)
        total += posterior[q]
    for q in range(n_states):
        posterior[q] /= total
    return float(most + np.log(total))


@kernel
def step_voters(
    cast: Floats,
    met: Floats,
    right: Floats,
    weights: Floats,
    biases: Floats,
    ease: Floats,
    center: float,
    spreads: tuple[float, float],
) -> tuple[Floats, Floats, Floats]:
    """Return weights and biases after one Newton step each, and the curvature in the weights."""
    n_voters, n_classes, n_eases = met.shape
    new_weights, new_biases = weights.copy(), biases.copy()
    curvature = np.empty(n_voters)
    weight_precision, bias_precision = 1 / spreads[0] ** 2, 1 / spreads[1] ** 2
    chances, curves = np.empty(n_classes), np.empty(n_classes)
    for s in range(n_voters):
        slope = -(weights[s] - center) * weight_precision
        curve = weight_precision
        for g in range(n_eases):
            slope += ease[g] * right[s, g]
            for k in range(n_classes):
                _choose(biases[s], k, ease[g] * weights[s], chances)
                slope -= met[s, k, g] * ease[g] * chances[k]
                curve += met[s, k, g] * ease[g] ** 2 * chances[k] * (1 - chances[k])
        new_weights[s] += min(max(slope / curve, -1.0), 1.0)
        curvature[s] = curve
        # then the biases, with the new weight: both at once would overshoot, step after step
        slopes = cast[s] - biases[s] * bias_precision
        curves[:] = bias_precision
        for g in range(n_eases):
            for k in range(n_classes):
                _choose(biases[s], k, ease[g] * new_weights[s], chances)
                slopes -= met[s, k, g] * chances
                curves += met[s, k, g] * chances * (1 - chances)
        for c in range(n_classes):
            # the Hessian is not diagonal, but at most twice that
            step = 0.7 * slopes[c] / curves[c]
            new_biases[s, c] += min(max(step, -1.0), 1.0)
    return new_weights, new_biases, curvature


@kernel
def _choose(biases: Floats, k: int, gain: float, chances: Floats) -> None:
    """Set the chances of a voter's answers where class k is raised by `gain`."""
    for c in range(chances.size):
        chances[c] = biases[c] + (gain if c == k else 0.0)
    most, total = chances.max(), 0.0
    for c in range(chances.size):
        chances[c] = np.exp(chances[c] - most)
        total += chances[c]
    for c in range(chances.size):
        chances[c] /= total


@kernel
def normalize_voters(weights: Floats, biases: Floats, ease: Floats) -> Floats:
    """Return Z per voter, class and ease."""
    n_voters, n_classes = biases.shape
    norms = np.empty((n_voters, n_classes, len(ease)))
    for s in range(n_voters):
        for k in range(n_classes):
            for g in range(len(ease)):
                most, total = biases[s, k] + ease[g] * weights[s], 0.0
                for c in range(n_classes):
                    most = max(most, biases[s, c])
                for c in range(n_classes):
                    gain = ease[g] * weights[s] if c == k else 0.0
                    total += np.exp(biases[s, c] + gain - most)
                norms[s, k, g] = most + np.log(total)
    return norms


@kernel
def sum_forms(
    starts: Places,
    voters: Voters,
    answers: Answers,
    logs: Floats,
    factors: Floats,
    step: float,
    n_voters: int,
) -> tuple[Floats, Floats]:
    """Return sums over votes of P(the class voted), and of P(k): voters x forms x classes.

    The forms of the log-probabilities: times each of the factors; each class a step up and down.
    """
    n_classes, n_factors = logs.shape[1], len(factors)
    n_forms = n_factors + 2 * n_classes
    said, met = np.zeros((n_voters, n_forms, n_classes)), np.zeros((n_voters, n_forms, n_classes))
    chances = np.empty((n_forms, n_classes))
    for i in range(len(starts) - 1):
        if starts[i] == starts[i + 1]:
            continue
        for f in range(n_forms):
            factor, shifted = (factors[f], -1) if f < n_factors else (1.0, (f - n_factors) // 2)
            most, total = -np.inf, 0.0
            for k in range(n_classes):
                shift = 0.0 if k != shifted else step if (f - n_factors) % 2 == 0 else -step
                chances[f, k] = factor * logs[i, k] + shift
                most = max(most, chances[f, k])
            for k in range(n_classes):
                chances[f, k] = np.exp(chances[f, k] - most)
                total += chances[f, k]
            for k in range(n_classes):
                chances[f, k] /= total
        for j in range(starts[i], starts[i + 1]):
            s, c = voters[j], answers[j]
            for f in range(n_forms):
                said[s, f, c] += chances[f, c]
                for k in range(n_classes):
                    met[s, f, k] += chances[f, k]
    return said, met

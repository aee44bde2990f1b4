"""The M-step of a consensus: one Newton step for every voter's few coefficients.

A voter's coefficients are N(m, C). In the hidden state s_k it says yes with log-odds 2 x,
x ~ N(h, v), h = s_k'm and v = s_k'C s_k. Of its votes, weighted by the state's probability,
`signed` holds the sum with signs and `observed` the number. Its part of the bound::

    sum_k signed_k h_k - observed_k E log 2 cosh x_k
        - sum_d ((m_d - center_d)^2 + C_dd) / (2 spread_d^2) + log det C / 2
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]


@kernel
def expect_log_cosh(
    mean: float, variance: float, nodes: Floats, shares: Floats
) -> tuple[float, float, float]:
    """Return E log 2 cosh x, E tanh x, E (1 - tanh^2 x), x ~ N(mean, variance), by quadrature."""
    value, gradient, curvature = 0.0, 0.0, 0.0
    spread = np.sqrt(max(variance, 0.0))
    for q in range(len(nodes)):
        x = mean + spread * nodes[q]
        small = np.exp(-2 * abs(x))
        tanh = (1 - small) / (1 + small)
        value += shares[q] * (abs(x) + np.log1p(small))
        gradient += shares[q] * (tanh if x > 0 else -tanh)
        curvature += shares[q] * (1 - tanh * tanh)
    return value, gradient, curvature


@kernel
def weigh_voters(
    means: Floats, covariances: Floats, states: Floats, nodes: Floats, shares: Floats
) -> tuple[Floats, Floats]:
    """Return h and E log 2 cosh x per voter and state."""
    n_voters, n_states = len(means), len(states)
    effects, normalizers = np.zeros((n_voters, n_states)), np.zeros((n_voters, n_states))
    for s in range(n_voters):
        for k in range(n_states):
            effects[s, k] = _product(states[k], means[s])
            variance = _square(states[k], covariances[s])
            normalizers[s, k] = expect_log_cosh(effects[s, k], variance, nodes, shares)[0]
    return effects, normalizers


@kernel
def move_voters(
    means: Floats,
    covariances: Floats,
    signed: Floats,
    observed: Floats,
    states: Floats,
    center: Floats,
    spread: Floats,
    least_weight: float,
    nodes: Floats,
    shares: Floats,
) -> tuple[Floats, Floats]:
    """Return means and covariances after one step that lowers no voter's bound.

    A Newton step for the mean, and the precision that the curvature implies; the step is shortened
    until it raises the voter's bound, or is not taken. The second coefficient of a voter stays
    above `least_weight`.
    """
    new_means, new_covariances = means.copy(), covariances.copy()
    prior = 1 / spread**2
    for s in range(len(means)):
        mean, covariance = means[s], covariances[s]
        said = signed[s], observed[s]
        here = _bound(mean, covariance, said, states, center, prior, nodes, shares)
        gradient, precision = _curve(mean, covariance, said, states, center, prior, nodes, shares)
        target = mean + _times(invert(precision)[0], gradient)
        if target[1] < least_weight:
            target = _hold(mean, gradient, precision, least_weight)
        before = invert(covariance)[0]
        part = 1.0
        for _ in range(5):
            trial = mean + part * (target - mean)
            spreads = invert(before + part * (precision - before))[0]
            if _bound(trial, spreads, said, states, center, prior, nodes, shares) >= here:
                new_means[s], new_covariances[s] = trial, spreads
                break
            part *= 0.4
    return new_means, new_covariances


@kernel
def invert(matrix: Floats) -> tuple[Floats, float]:
    """Return the inverse of a small positive definite matrix, and the log of its determinant."""
    size = len(matrix)
    left, right = matrix.copy(), np.eye(size)
    determinant = 0.0
    for i in range(size):
        pivot = left[i, i]
        determinant += np.log(pivot)
        for d in range(size):
            left[i, d] /= pivot
            right[i, d] /= pivot
        for j in range(size):
            factor = left[j, i]
            if j != i:
                for d in range(size):
                    left[j, d] -= factor * left[i, d]
                    right[j, d] -= factor * right[i, d]
    return right, determinant


@kernel
def _bound(
    mean: Floats,
    covariance: Floats,
    said: tuple[Floats, Floats],
    states: Floats,
    center: Floats,
    prior: Floats,
    nodes: Floats,
    shares: Floats,
) -> float:
    """Return a voter's part of the bound."""
    signed, observed = said
    total = invert(covariance)[1] / 2
    for d in range(len(mean)):
        total -= prior[d] * ((mean[d] - center[d]) ** 2 + covariance[d, d]) / 2
    for k in range(len(states)):
        effect = _product(states[k], mean)
        normalizer = expect_log_cosh(effect, _square(states[k], covariance), nodes, shares)[0]
        total += signed[k] * effect - observed[k] * normalizer
    return total


@kernel
def _curve(
    mean: Floats,
    covariance: Floats,
    said: tuple[Floats, Floats],
    states: Floats,
    center: Floats,
    prior: Floats,
    nodes: Floats,
    shares: Floats,
) -> tuple[Floats, Floats]:
    """Return the bound's gradient in the mean, and minus its curvature."""
    signed, observed = said
    gradient, precision = -prior * (mean - center), np.diag(prior)
    for k in range(len(states)):
        effect, variance = _product(states[k], mean), _square(states[k], covariance)
        _, tanh, curvature = expect_log_cosh(effect, variance, nodes, shares)
        for d in range(len(mean)):
            gradient[d] += (signed[k] - observed[k] * tanh) * states[k, d]
            for e in range(len(mean)):
                precision[d, e] += observed[k] * curvature * states[k, d] * states[k, e]
    return gradient, precision


@kernel
def _hold(mean: Floats, gradient: Floats, precision: Floats, least_weight: float) -> Floats:
    """Return the quadratic's maximum with the second coefficient at its bound, of (b, a) alone."""
    pull = gradient[0] - precision[0, 1] * (least_weight - mean[1])
    return np.array([mean[0] + pull / precision[0, 0], least_weight])


@kernel
def _product(one: Floats, other: Floats) -> float:
    total = 0.0
    for d in range(len(one)):
        total += one[d] * other[d]
    return total


@kernel
def _times(matrix: Floats, vector: Floats) -> Floats:
    out = np.zeros(len(vector))
    for d in range(len(vector)):
        out[d] = _product(matrix[d], vector)
    return out


@kernel
def _square(state: Floats, matrix: Floats) -> float:
    """Return s'C s."""
    total = 0.0
    for d in range(len(state)):
        total += state[d] * _product(matrix[d], state)
    return total

"""The symmetric pseudo-likelihood with a hidden truth: sums over votes, and descent over pairs.

Arrays are voters x items. P(f_is | f_0 = +-1, other votes) = 1 / (1 + exp(-2 f_is (m_is +- a_s))),
m_is = b_s + sum_t W_st f_it; tau_i = P(f_0 = +1 | votes of item i).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel
from unelisa.kernels.lasso import shrink

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

SURE = 12.0  # |m| beyond which a vote counts as certain; exp(2 (12 + 3)) is still a float32
ONE, TWO, HALF = np.float32(1), np.float32(2), np.float32(0.5)
LOG2, PER_LOG2 = np.float32(0.6931471805599453), np.float32(1.4426950408889634)
ROOT_HALF = 0x3F3504F3  # the bits of sqrt(1/2)
Integers = NDArray[np.int64]


@kernel
def fast_exp(x: Any) -> Any:
    """Return exp x for |x| < 43 in float32, relative error below 3e-7; the loop vectorizes."""
    power = np.int32(x * PER_LOG2 + np.float32(64.5)) - np.int32(64)
    r = x - np.float32(power) * LOG2
    series = ONE + r * np.float32(1 / 6)
    series = ONE + r * np.float32(1 / 5) * series
    series = ONE + r * np.float32(1 / 4) * series
    series = ONE + r * np.float32(1 / 3) * series
    series = ONE + r * HALF * series
    series = ONE + r * series
    return series * np.int32((power + 127) << 23).view(np.float32)


@kernel
def fast_log(x: Any) -> Any:
    """Return log x of a positive normal float32, absolute error below 1e-6."""
    bits = np.int32(np.float32(x).view(np.int32) - ROOT_HALF)
    power = np.int32(bits >> 23)
    part = np.int32((bits & 0x7FFFFF) + ROOT_HALF).view(np.float32)  # sqrt(1/2) to sqrt(2)
    s = (part - ONE) / (part + ONE)
    y = s * s
    series = np.float32(1 / 7) + y * np.float32(1 / 9)
    series = np.float32(1 / 5) + y * series
    series = np.float32(1 / 3) + y * series
    return TWO * s * (ONE + y * series) + np.float32(power) * LOG2


@kernel
def _clip(x: Any, bound: float) -> Any:
    return min(max(x, np.float32(-bound)), np.float32(bound))


@kernel
def sum_expected_loss(
    votes: Singles, predictors: Singles, posterior: Singles, weights: Floats
) -> float:
    """Return -sum_is E_tau log P(f_is | f_0, other votes)."""
    n_voters, n_items = votes.shape
    loss = 0.0
    for s in range(n_voters):
        lower, upper = np.float32(np.exp(-2 * weights[s])), np.float32(np.exp(2 * weights[s]))
        for i in range(n_items):
            f, tau = votes[s, i], posterior[i]
            e = fast_exp(-TWO * _clip(f * predictors[s, i], SURE))
            yes = ONE + e * (lower if f > 0 else upper)
            no = ONE + e * (upper if f > 0 else lower)
            loss += np.float64(f * f * (tau * fast_log(yes) + (ONE - tau) * fast_log(no)))
    return loss


@kernel
def differentiate_expected_loss(
    votes: Singles, predictors: Singles, posterior: Singles, weights: Floats
) -> tuple[float, Singles, Singles, Singles, Floats]:
    """Return `sum_expected_loss` and its derivatives.

    With r(+-) = f - tanh(m +- a), h(+-) = 1 - tanh(m +- a)^2, per vote: minus the gradient in m,
    tau r(+) + (1 - tau) r(-); the curvature in m and in a, tau h(+) + (1 - tau) h(-); the cross
    curvature tau h(+) - (1 - tau) h(-). Per voter: minus the gradient in a_s.
    """
    n_voters, n_items = votes.shape
    residuals = np.empty((n_voters, n_items), np.float32)
    curvatures = np.empty((n_voters, n_items), np.float32)
    cross_curvatures = np.empty((n_voters, n_items), np.float32)
    weight_scores = np.empty(n_voters)
    loss = 0.0
    for s in range(n_voters):
        lower, upper = np.float32(np.exp(-2 * weights[s])), np.float32(np.exp(2 * weights[s]))
        score = 0.0
        for i in range(n_items):
            f, tau = votes[s, i], posterior[i]
            e = fast_exp(-TWO * _clip(f * predictors[s, i], SURE))
            e_yes = e * (lower if f > 0 else upper)
            e_no = e * (upper if f > 0 else lower)
            seen, rest = f * f, ONE - tau
            loss += np.float64(seen * (tau * fast_log(ONE + e_yes) + rest * fast_log(ONE + e_no)))
            q_yes, q_no = TWO * e_yes / (ONE + e_yes), TWO * e_no / (ONE + e_no)
            h_yes = seen * tau * q_yes * (TWO / (ONE + e_yes))
            h_no = seen * rest * q_no * (TWO / (ONE + e_no))
            residuals[s, i] = f * (tau * q_yes + rest * q_no)
            curvatures[s, i] = h_yes + h_no
            cross_curvatures[s, i] = h_yes - h_no
            score += np.float64(f * (tau * q_yes - rest * q_no))
        weight_scores[s] = score
    return loss, residuals, curvatures, cross_curvatures, weight_scores


@kernel
def sum_marginal_loss(
    votes: Singles, predictors: Singles, truth: Singles, weights: Floats
) -> tuple[float, float, float]:
    """Return -sum_is log P(f_is | other votes), its gradient in theta_0 and Gauss-Newton curvature.

    With `truth` x_i = theta_0 + z_i / 2 + sum_s a_s f_is and x = x_i - a_s f_is, the logit of f_is
    = +1 is 2 m_is + log cosh(x + a_s) - log cosh(x - a_s).
    """
    n_voters, n_items = votes.shape
    loss, gradient, curvature = 0.0, 0.0, 0.0
    for s in range(n_voters):
        a = np.float32(weights[s])
        lower, upper = np.float32(np.exp(-2 * weights[s])), np.float32(np.exp(2 * weights[s]))
        for i in range(n_items):
            f = votes[s, i]
            e = fast_exp(TWO * _clip(truth[i] - a * f, SURE))
            yes, no = e * upper, e * lower
            signal = HALF * fast_log((ONE + yes) / (ONE + no)) - a
            change = yes / (ONE + yes) - no / (ONE + no)
            w = fast_exp(-TWO * _clip(f * (predictors[s, i] + signal), SURE + 3.0))
            q = TWO * w / (ONE + w)
            loss += np.float64(f * f * fast_log(ONE + w))
            gradient -= np.float64(f * q * change)
            curvature += np.float64(f * f * q * (TWO - q) * change * change)
    return loss, gradient, curvature


class Layout(NamedTuple):
    """Where coefficients lie: row s is rows[s]:rows[s + 1], its bias and weight at the end."""

    rows: Integers
    squares: Integers  # row s's Hessian is hessians[squares[s]:squares[s + 1]]
    first: Integers  # per pair: voter s
    second: Integers  # voter t
    place_first: Integers  # of the edge in row s
    place_second: Integers  # of the edge in row t

    @classmethod
    def of(cls, pairs: NDArray[np.bool_]) -> "Layout":
        """Return the layout of a symmetric mask of pairs."""
        first, second = np.nonzero(np.triu(pairs, 1))
        sides = pairs.sum(axis=1) + 2
        places = np.cumsum(pairs, axis=1) - 1
        return cls(
            np.append(0, np.cumsum(sides)),
            np.append(0, np.cumsum(sides**2)),
            first,
            second,
            places[first, second],
            places[second, first],
        )


class Penalty(NamedTuple):
    """l1 |W| + precision (W - center)^2 / 2 in nats; for the weights the same without l1."""

    l1: Floats
    precision: Floats
    center: Floats
    weight_precision: Floats
    weight_center: Floats


@kernel
def _shift(hessians: Singles, first: int, step: float, moved: Floats) -> None:
    """Add step times the Hessian's column that begins at `first` to a row's gradient."""
    for u in range(moved.size):
        moved[u] += step * hessians[first + u]


@kernel
def descend_pairs(
    layout: Layout,
    hessians: Singles,
    gradient: Floats,
    penalty: Penalty,
    start: tuple[Floats, Floats, Floats],
    free: tuple[bool, bool],
    max_sweeps: int,
    tol: float,
) -> tuple[Floats, Floats, Floats]:
    """Return edges (per pair), biases and weights that minimize the penalized quadratic model."""
    rows, squares = layout.rows, layout.squares
    edges, biases, weights = start[0].copy(), start[1].copy(), start[2].copy()
    small = 0.1 * tol
    current = gradient.copy()  # after all steps so far
    for _ in range(max_sweeps):
        largest = 0.0
        for s in range(biases.size):
            low, high = rows[s], rows[s + 1]
            side, row = high - low, current[low:high]
            if free[0]:
                step = -row[side - 2] / hessians[squares[s] + (side - 2) * (side + 1)]
                biases[s] += step
                largest = max(largest, abs(step))
                _shift(hessians, squares[s] + (side - 2) * side, step, row)
            if free[1]:
                precision = penalty.weight_precision[s]
                curvature = hessians[squares[s] + (side - 1) * (side + 1)] + precision
                pull = precision * (weights[s] - penalty.weight_center[s])
                step = -(row[side - 1] + pull) / curvature
                weights[s] += step
                largest = max(largest, abs(step))
                _shift(hessians, squares[s] + (side - 1) * side, step, row)
        for e in range(edges.size):
            s, t = layout.first[e], layout.second[e]
            row_s, row_t = current[rows[s] : rows[s + 1]], current[rows[t] : rows[t + 1]]
            k, m = layout.place_first[e], layout.place_second[e]
            column_s, column_t = squares[s] + k * row_s.size, squares[t] + m * row_t.size
            curvature = hessians[column_s + k] + hessians[column_t + m] + penalty.precision[e]
            pull = row_s[k] + row_t[m] + penalty.precision[e] * (edges[e] - penalty.center[e])
            edge = shrink(edges[e] - pull / curvature, penalty.l1[e] / curvature)
            step = edge - edges[e]
            if abs(step) > small:
                edges[e] = edge
                largest = max(largest, abs(step))
                _shift(hessians, column_s, step, row_s)
                _shift(hessians, column_t, step, row_t)
        if largest < tol:
            break
    return edges, biases, weights

"""Small l1-penalized quadratic problems: no sums over items, only over pairs of voters.

Minimize -g'd + d'Hd/2 + penalty sum_k |theta_k + d_k|. The unpenalized intercept, last, is
eliminated first: voters of low prevalence are nearly collinear with it.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FLAT = 1e-12  # curvature below this is none: the intercept is not fitted
# voters that enter a start's lasso at once: where all columns are nearly constant, all pass the
# penalty together, and few are needed
ENTERING = 32


@kernel
def shrink(value: float, threshold: float) -> float:
    """Return the soft threshold: value moved toward 0 by `threshold`, but not past it."""
    if value > threshold:
        return value - threshold
    if value < -threshold:
        return value + threshold
    return 0.0


@kernel
def _eliminate(hessian: Floats, score: Floats) -> None:
    """Minimize over the last coordinate: Schur complement H - h h' / c and g - h g_u / c."""
    last = score.size - 1
    c = hessian[last, last]
    if c <= FLAT:
        return
    for k in range(last):
        ratio = hessian[k, last] / c
        for m in range(last):
            hessian[k, m] -= ratio * hessian[last, m]
        score[k] -= ratio * score[last]


@kernel
def _restore(hessian: Floats, score: Floats, step: Floats) -> None:
    """Write the last coordinate's step: c d_u = g_u - h'd."""
    last = score.size - 1
    step[last] = 0.0
    if hessian[last, last] > FLAT:
        rest = score[last]
        for k in range(last):
            rest -= hessian[last, k] * step[k]
        step[last] = rest / hessian[last, last]


@kernel
def _sweep(hessian: Floats, theta: Floats, penalty: float, step: Floats, rest: Floats) -> float:
    """Do one round of coordinate descent, keeping `rest` = score - H step; return the largest."""
    n = theta.size
    largest = 0.0
    for k in range(n):
        c = hessian[k, k]
        old = theta[k] + step[k]
        new = shrink(c * old + rest[k], penalty) / c
        if new != old:
            change = new - old
            step[k] += change
            for m in range(n):
                rest[m] -= change * hessian[k, m]
            largest = max(largest, abs(change) * c)
    return largest


@kernel
def _solve_symmetric(matrix: Floats, right: Floats) -> bool:
    """Replace `right` with the solution of matrix x = right (Cholesky); False if not convex."""
    n = right.size
    for j in range(n):
        pivot = matrix[j, j]
        for m in range(j):
            pivot -= matrix[j, m] * matrix[j, m]
        if pivot <= 0.0:
            return False
        matrix[j, j] = np.sqrt(pivot)
        for k in range(j + 1, n):
            value = matrix[k, j]
            for m in range(j):
                value -= matrix[k, m] * matrix[j, m]
            matrix[k, j] = value / matrix[j, j]
    for j in range(n):
        for m in range(j):
            right[j] -= matrix[j, m] * right[m]
        right[j] /= matrix[j, j]
    for j in range(n - 1, -1, -1):
        for m in range(j + 1, n):
            right[j] -= matrix[m, j] * right[m]
        right[j] /= matrix[j, j]
    return True


@kernel
def _polish(
    hessian: Floats, score: Floats, theta: Floats, penalty: float, step: Floats, rest: Floats
) -> bool:
    """Newton steps on the support, cut where a coordinate reaches 0; return False if not convex."""
    n = theta.size
    for _ in range(n):
        active = np.flatnonzero(theta + step)
        size = active.size
        matrix, move = np.empty((size, size)), np.empty(size)
        for a in range(size):
            k = active[a]
            sign = 1.0 if theta[k] + step[k] > 0 else -1.0
            move[a] = rest[k] - penalty * sign
            for b in range(size):
                matrix[a, b] = hessian[k, active[b]]
        if not _solve_symmetric(matrix, move):
            return False
        share, first = 1.0, -1
        for a in range(size):
            value = theta[active[a]] + step[active[a]]
            if value * (value + share * move[a]) < 0.0:
                share, first = -value / move[a], a
        for a in range(size):
            k = active[a]
            step[k] += share * move[a]
            if a == first:
                step[k] = -theta[k]
        for k in range(n):
            rest[k] = score[k]
            for m in range(n):
                rest[k] -= hessian[k, m] * step[m]
        if first < 0:
            break
    return True


@kernel
def find_step(
    hessian: Floats,
    score: Floats,
    theta: Floats,
    penalty: float,
    reach: float,
    goal: float,
    step: Floats,
) -> bool:
    """Write the minimizer d of the quadratic problem; return whether it can be trusted.

    Overwrites `hessian` and `score`. A step longer than `reach` shows a nonconvex sampled Hessian.
    """
    n = theta.size
    _eliminate(hessian, score)
    step[:] = 0.0
    for k in range(n):
        # a ridge keeps duplicated voters (a singular Hessian) apart
        hessian[k, k] += 1e-6 * hessian[k, k] + 1e-10
        if hessian[k, k] <= 0.0:
            return False
    rest = score[:n].copy()
    done = False
    for _ in range(20):
        for _ in range(25):
            done = _sweep(hessian, theta, penalty, step[:n], rest) <= goal
            if done:
                break
        if done or not _polish(hessian, score, theta, penalty, step[:n], rest):
            break
    _restore(hessian, score, step)
    longest = np.max(np.abs(step))
    if longest > reach:
        step *= reach / longest
    return bool(longest <= reach)


@kernel
def start_all(
    covariance: Floats,
    firsts: Floats,
    voters: Integers,
    model: Floats,
    inside: NDArray[np.bool_],
    theta: Floats,
    scores: Floats,
) -> None:
    """Write starts of the voters' lassos under quadratic models of their losses, and their scores.

    Row q of `model` holds gain, curvature, penalty and pull: the Hessian is curvature * covariance,
    the score at theta = 0 gain * covariance[s] + pull * firsts. Accuracy: 1 % of the penalty.
    """
    n_voters = covariance.shape[0]
    for q in range(voters.size):
        s, penalty = voters[q], model[q, 2]
        active = np.empty(n_voters, np.int64)
        entered = ~inside
        entered[s] = True
        n_active = 0
        theta[q] = 0.0
        for _ in range(20):
            _predict(covariance, firsts, s, model[q], theta[q], scores[q])
            before, level = n_active, _find_level(scores[q], entered, penalty * (1.0 + 1e-6))
            for t in range(n_voters):
                if not entered[t] and abs(scores[q, t]) > level:
                    active[n_active] = t
                    entered[t] = True
                    n_active += 1
            if n_active == before:
                break
            for _ in range(100):
                if _descend(covariance, model[q], active[:n_active], theta[q], scores[q]):
                    break


@kernel
def _find_level(scores: Floats, entered: NDArray[np.bool_], level: float) -> float:
    """Return the level that at most ENTERING voters outside pass, but not less than `level`."""
    outside = np.where(entered, 0.0, np.abs(scores))
    if np.sum(outside > level) <= ENTERING:
        return level
    return float(np.partition(outside, outside.size - ENTERING - 1)[outside.size - ENTERING - 1])


@kernel
def _predict(
    covariance: Floats, firsts: Floats, s: int, model: Floats, theta: Floats, scores: Floats
) -> None:
    """Write scores = gain C_s + pull firsts - curvature C theta."""
    n_voters = covariance.shape[0]
    for t in range(n_voters):
        scores[t] = model[0] * covariance[s, t] + model[3] * firsts[t]
    for t in range(n_voters):
        if theta[t] != 0.0:
            c = model[1] * theta[t]
            row = covariance[t]
            for m in range(n_voters):
                scores[m] -= c * row[m]
    scores[s] = 0.0


@kernel
def _descend(
    covariance: Floats, model: Floats, active: Integers, theta: Floats, scores: Floats
) -> bool:
    """Do one round of coordinate descent over the active coordinates; return whether it is done."""
    curvature, penalty = model[1], model[2]
    done = True
    for t in active:
        c = curvature * covariance[t, t]
        if c < 1e-6:
            continue
        change = shrink(c * theta[t] + scores[t], penalty) / c - theta[t]
        if change == 0.0:
            continue
        theta[t] += change
        for m in active:
            scores[m] -= curvature * change * covariance[t, m]
        if abs(change) * c > 0.01 * penalty:
            done = False
    return done

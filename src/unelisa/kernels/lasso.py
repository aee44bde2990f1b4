"""Small l1-penalised quadratic problems: no sums over items, only over pairs of voters.

Minimise -g'd + d'Hd/2 + sum_k limit_k |theta_k + d_k| over d, the last coordinates (intercept and
extra column) unpenalised. Those are eliminated first: voters of low prevalence are nearly
collinear with the intercept, and coordinate descent that alternates with it would crawl.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N_FREE = 2  # unpenalised coordinates: intercept and extra column
FLAT = 1e-12  # curvature below this is none: the coordinate does not exist or is constant


@kernel
def shrink(value: float, limit: float) -> float:
    """Return the soft threshold: value moved towards 0 by `limit`, at most to 0."""
    if value > limit:
        return value - limit
    if value < -limit:
        return value + limit
    return 0.0


@kernel
def _eliminate(hessian: Floats, slope: Floats, n: int) -> None:
    """Subtract from the first n coordinates what the free ones, minimised out, take of them.

    Schur complement, one free coordinate after the other: H - h h' / c and g - h g_u / c.
    """
    for u in range(n + N_FREE - 1, n - 1, -1):
        c = hessian[u, u]
        if c <= FLAT:
            continue
        for k in range(u):
            ratio = hessian[k, u] / c
            for m in range(u):
                hessian[k, m] -= ratio * hessian[u, m]
            slope[k] -= ratio * slope[u]


@kernel
def _restore(hessian: Floats, slope: Floats, n: int, step: Floats) -> None:
    """Write the free coordinates' steps: c d_u = g_u - h'd, in the reverse order."""
    for u in range(n, n + N_FREE):
        c = hessian[u, u]
        step[u] = 0.0
        if c > FLAT:
            rest = slope[u]
            for k in range(u):
                rest -= hessian[u, k] * step[k]
            step[u] = rest / c


@kernel
def _sweep(hessian: Floats, theta: Floats, limits: Floats, step: Floats, rest: Floats) -> float:
    """Do one round of coordinate descent; return the largest change of a coordinate's slope.

    `rest` is slope - H step, kept current.
    """
    n = theta.size
    largest = 0.0
    for k in range(n):
        c = hessian[k, k]
        old = theta[k] + step[k]
        new = shrink(c * old + rest[k], limits[k]) / c
        if new != old:
            change = new - old
            step[k] += change
            for m in range(n):
                rest[m] -= change * hessian[k, m]
            largest = max(largest, abs(change) * c)
    return largest


@kernel
def _solve_symmetric(matrix: Floats, right: Floats) -> bool:
    """Replace `right` by the solution of matrix x = right (Cholesky); False if not convex."""
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
    hessian: Floats, slope: Floats, theta: Floats, limits: Floats, step: Floats, rest: Floats
) -> bool:
    """Minimise exactly over the coordinates that are not 0, while they keep their signs.

    Where coordinate descent crawls (nested voters), this leaps: a Newton step on the support, cut
    at the first coordinate that reaches 0, which then leaves. Return False if not convex.
    """
    n = theta.size
    for _ in range(n):
        active = np.flatnonzero(theta + step)
        size = active.size
        matrix, move = np.empty((size, size)), np.empty(size)
        for a in range(size):
            k = active[a]
            sign = 1.0 if theta[k] + step[k] > 0 else -1.0
            move[a] = rest[k] - limits[k] * sign
            for b in range(size):
                matrix[a, b] = hessian[k, active[b]]
        if not _solve_symmetric(matrix, move):
            return False
        share, first = 1.0, -1
        for a in range(size):
            value = theta[active[a]] + step[active[a]]
            if limits[active[a]] > 0.0 and value * (value + share * move[a]) < 0.0:
                share, first = -value / move[a], a
        for a in range(size):
            k = active[a]
            step[k] += share * move[a]
            if a == first:
                step[k] = -theta[k]
        for k in range(n):
            rest[k] = slope[k]
            for m in range(n):
                rest[k] -= hessian[k, m] * step[m]
        if first < 0:
            break
    return True


@kernel
def find_step(
    hessian: Floats,
    slope: Floats,
    theta: Floats,
    limits: Floats,
    reach: float,
    goal: float,
    step: Floats,
) -> bool:
    """Write the minimiser d of the quadratic problem; return whether it is one to trust.

    `hessian` and `slope` are overwritten. Coordinate descent, polished where it is slow, until no
    coordinate's slope moves by more than `goal`. A sampled Hessian need not be convex: a step
    beyond `reach` says so, and is cut to it.
    """
    n = theta.size
    _eliminate(hessian, slope, n)
    step[:] = 0.0
    for k in range(n):
        # a ridge keeps duplicated voters (a singular Hessian) apart
        hessian[k, k] += 1e-6 * hessian[k, k] + 1e-10
        if hessian[k, k] <= 0.0:
            return False
    rest = slope[:n].copy()
    done = False
    for _ in range(20):
        for _ in range(25):
            done = _sweep(hessian, theta, limits, step[:n], rest) <= goal
            if done:
                break
        if done or not _polish(hessian, slope, theta, limits, step[:n], rest):
            break
    _restore(hessian, slope, n, step)
    longest = np.max(np.abs(step))
    if longest > reach:
        step *= reach / longest
    return bool(longest <= reach)


@kernel
def start_voter(
    agreement: Floats,
    shared: Floats,
    s: int,
    gain: float,
    curvature: float,
    limits: Floats,
    theta: Floats,
    slope: Floats,
) -> None:
    """Write the lasso of voter s under a quadratic model of its loss, and the slopes it predicts.

    The model has Hessian curvature * C, C = agreement - shared shared' (the free columns projected
    out), and slope gain * C_s at theta = 0. Coordinates enter as their predicted slope passes its
    limit. An infinite limit keeps a coordinate at 0. Accuracy: 1 % of the limits; it is a start.
    """
    n_voters = agreement.shape[0]
    active = np.empty(n_voters, np.int64)
    entered = np.zeros(n_voters, np.bool_)
    n_active = 0
    theta[:] = 0.0
    for _ in range(20):
        _predict(agreement, shared, s, gain, curvature, theta, slope)
        before = n_active
        for t in range(n_voters):
            if t != s and not entered[t] and abs(slope[t]) > limits[t] * (1.0 + 1e-6):
                active[n_active] = t
                entered[t] = True
                n_active += 1
        if n_active == before:
            break
        for _ in range(100):
            if _descend(agreement, shared, curvature, limits, active[:n_active], theta, slope):
                break


@kernel
def _predict(
    agreement: Floats,
    shared: Floats,
    s: int,
    gain: float,
    curvature: float,
    theta: Floats,
    slope: Floats,
) -> None:
    """Write slope = gain C_s - curvature C theta."""
    n_voters = agreement.shape[0]
    rest = np.zeros(N_FREE)
    for t in range(n_voters):
        slope[t] = gain * agreement[s, t]
    for u in range(N_FREE):
        rest[u] = gain * shared[s, u]
    for t in range(n_voters):
        if theta[t] != 0.0:
            c = curvature * theta[t]
            row = agreement[t]
            for m in range(n_voters):
                slope[m] -= c * row[m]
            for u in range(N_FREE):
                rest[u] -= c * shared[t, u]
    for m in range(n_voters):
        slope[m] -= rest[0] * shared[m, 0] + rest[1] * shared[m, 1]
    slope[s] = 0.0


@kernel
def _descend(
    agreement: Floats,
    shared: Floats,
    curvature: float,
    limits: Floats,
    active: Integers,
    theta: Floats,
    slope: Floats,
) -> bool:
    """Do one round of coordinate descent over the active coordinates; return whether it is done."""
    done = True
    for t in active:
        own = agreement[t, t] - shared[t, 0] * shared[t, 0] - shared[t, 1] * shared[t, 1]
        c = curvature * own
        if c < 1e-6:
            continue
        change = shrink(c * theta[t] + slope[t], limits[t]) / c - theta[t]
        if change == 0.0:
            continue
        theta[t] += change
        for m in active:
            common = shared[t, 0] * shared[m, 0] + shared[t, 1] * shared[m, 1]
            slope[m] -= curvature * change * (agreement[t, m] - common)
        if abs(change) * c > 0.01 * limits[t]:
            done = False
    return done


@kernel
def start_all(
    agreement: Floats,
    shared: Floats,
    voters: Integers,
    model: Floats,
    limits: Floats,
    theta: Floats,
    slope: Floats,
) -> None:
    """Write `start_voter` for the voters, rows of theta and slope; model holds gain, curvature."""
    for q in range(voters.size):
        start_voter(
            agreement,
            shared,
            voters[q],
            model[q, 0],
            model[q, 1],
            limits[q],
            theta[q],
            slope[q],
        )

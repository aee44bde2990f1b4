"""Proximal Newton steps for a block of regressions: everything between two passes over the items.

Each regression walks on its own: a pass evaluates its trial point, `judge` accepts the point or
shortens the step, `step_all` proposes the next. A quick regression uses float32 sums and a Hessian
from a sample of the items, kept while it contracts well. One whose violation grows or lingers
(nested or nearly separable voters) turns careful: float64 sums, the full Hessian and Armijo's line
search on the objective, which converge from anywhere (Lee, Sun and Saunders 2014).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel
from unelisa.kernels.l1_logistic import SUBSUM, Regressions, Sums, bound_noise
from unelisa.kernels.lasso import find_step

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEP, REBUILD, AGAIN, DONE, FAILED = 0, 1, 2, 3, 4  # what a regression needs next
CONTRACTION = 0.35  # a step that leaves more of the residual than this asks for a new Hessian
FRESH = 0.05  # what a step with a fresh Hessian leaves; one from the start's leaves .2
MAX_PASSES = 100


class Walk(NamedTuple):
    """The state of a block of regressions, beside their trial points in `Regressions`."""

    theta: Floats  # the accepted point, per member
    free: Floats  # its free coefficients
    slopes: Floats  # minus the loss's gradient there, per member
    free_slopes: Floats
    steps: Floats  # the direction last taken
    free_steps: Floats
    limits: Floats  # lambda_s r_st per member
    hessians: Floats  # flat, regression q at places[q], side members + 2
    places: Integers
    # per regression:
    totals: Floats  # W_s
    penalties: Floats
    objective: Floats  # at the accepted point, known to careful ones; nan before
    residual: Floats  # largest violation there, in units of lambda
    bound: Floats  # the same plus what float32 may hide: the certificate of the members
    promise: Floats  # decrease that the quadratic model promised for the step
    length: Floats  # of the step tried
    status: Integers
    precise: Integers  # 1: the next pass is in float64
    careful: Integers  # 1: precise, full Hessian, line search
    passes: Integers


@kernel
def _violation(
    walk: Walk, block: Regressions, sums: Sums, q: int, fitted: Integers
) -> tuple[float, float]:
    """Return the largest violation of the trial point's conditions, and what float32 may hide."""
    worst, size, n_terms = 0.0, np.sum(np.abs(block.free[q])), 0
    for k in range(block.starts[q], block.starts[q + 1]):
        theta, limit = block.theta[k], walk.limits[k]
        slope = sums.slopes[k] / walk.totals[q]
        if theta > 0:
            worst = max(worst, abs(slope - limit))
        elif theta < 0:
            worst = max(worst, abs(slope + limit))
        else:
            worst = max(worst, abs(slope) - limit)
        n_terms += theta != 0
        size += abs(theta)
    for u in range(2):
        if fitted[u]:
            worst = max(worst, abs(sums.free[q, u] / walk.totals[q]))
    # vectors of at least eight float32 numbers make chains of SUBSUM / 8 additions
    hidden = 0.0 if walk.precise[q] else bound_noise(n_terms, size, SUBSUM // 8)
    return worst / walk.penalties[q], hidden / walk.penalties[q]


@kernel
def _accept(walk: Walk, block: Regressions, sums: Sums, q: int) -> None:
    """Make the trial point the accepted one."""
    first, last = block.starts[q], block.starts[q + 1]
    walk.theta[first:last] = block.theta[first:last]
    walk.free[q] = block.free[q]
    for k in range(first, last):
        walk.slopes[k] = sums.slopes[k] / walk.totals[q]
    for u in range(2):
        walk.free_slopes[q, u] = sums.free[q, u] / walk.totals[q]


@kernel
def _place_trial(walk: Walk, block: Regressions, q: int) -> None:
    """Write the trial point: the accepted one plus length times the direction."""
    first, last = block.starts[q], block.starts[q + 1]
    for k in range(first, last):
        block.theta[k] = walk.theta[k] + walk.length[q] * walk.steps[k]
    for u in range(2):
        block.free[q, u] = walk.free[q, u] + walk.length[q] * walk.free_steps[q, u]


@kernel
def _turn_careful(walk: Walk, block: Regressions, q: int) -> None:
    """Evaluate the accepted point again in float64, and go on from there with line searches."""
    walk.careful[q] = 1
    walk.precise[q] = 1
    walk.objective[q] = np.nan
    walk.length[q] = 0.0
    walk.status[q] = AGAIN
    _place_trial(walk, block, q)


@kernel
def _objective(walk: Walk, block: Regressions, sums: Sums, q: int) -> float:
    """Return the penalised objective at the trial point of a float64 pass."""
    value = sums.loss[q] / walk.totals[q]
    for k in range(block.starts[q], block.starts[q + 1]):
        value += walk.limits[k] * abs(block.theta[k])
    return float(value)


@kernel
def _shorten(walk: Walk, block: Regressions, q: int, value: float) -> bool:
    """Halve a careful step that breaks Armijo's rule; return whether it did."""
    allowed = walk.objective[q] + 1e-4 * walk.length[q] * walk.promise[q]
    if np.isnan(walk.objective[q]) or value <= allowed + 1e-13 * (1.0 + abs(walk.objective[q])):
        return False
    walk.length[q] *= 0.5
    walk.status[q] = AGAIN if walk.length[q] > 1e-7 else FAILED
    _place_trial(walk, block, q)
    return True


@kernel
def judge(
    walk: Walk,
    block: Regressions,
    sums: Sums,
    chosen: Integers,
    fitted: Integers,
    share: float,
    exact: bool,
    goal: float,
) -> None:
    """Accept or refuse the trial point of every chosen regression, and say what it needs next.

    `share` is the part of the items that a quick Hessian samples; `exact` asks that the last pass
    be in float64 in any case (its loss is wanted).
    """
    for q in chosen:
        walk.passes[q] += 1
        before = walk.residual[q]
        now, hidden = _violation(walk, block, sums, q, fitted)
        if walk.careful[q]:
            value = _objective(walk, block, sums, q)
            if _shorten(walk, block, q, value):
                continue
            walk.objective[q] = value
        elif not now <= before or walk.passes[q] >= 15:
            _turn_careful(walk, block, q)
            continue
        _accept(walk, block, sums, q)
        walk.residual[q] = now
        walk.bound[q] = now + hidden
        if exact and walk.precise[q] == 0:
            hidden = np.inf
        # a sampled Hessian costs about members / 4 passes over its share of the items
        cheap = (block.starts[q + 1] - block.starts[q]) * share <= 6.0
        _choose_next(walk, q, before, hidden, cheap, goal)


@kernel
def _choose_next(
    walk: Walk, q: int, before: float, hidden: float, cheap: bool, goal: float
) -> None:
    """Set what follows an accepted point whose predecessor had the residual `before`."""
    now = walk.residual[q]
    if now + hidden <= goal:
        walk.status[q] = DONE
        return
    if walk.passes[q] >= MAX_PASSES:
        walk.status[q] = FAILED
        return
    if hidden > 0.6 * goal and FRESH * now <= goal:
        # float32 cannot tell: the pass that will meet the goal is the one to do in float64
        walk.precise[q] = 1
        if now <= goal:
            walk.length[q] = 0.0
            walk.status[q] = AGAIN
            return
    wanted = FRESH if cheap and now > 10.0 * goal else CONTRACTION
    walk.status[q] = STEP if now <= wanted * before and not np.isinf(before) else REBUILD


@kernel
def finish_hessians(
    walk: Walk,
    block: Regressions,
    chosen: Integers,
    mass: Floats,
    deficit: bool,
    agreement: Floats,
    cross: Floats,
    corner: Floats,
) -> None:
    """Turn the chosen regressions' summed curvatures into their Hessians, in place.

    The Hessian is the mean curvature; with `deficit`, the exact second moments of the design minus
    the mean (then only what the sample says of t^2 is noisy).
    """
    for q in chosen:
        members = block.members[block.starts[q] : block.starts[q + 1]]
        n = members.size
        side = n + 2
        square = walk.hessians[walk.places[q] : walk.places[q + 1]].reshape(side, side)
        whole = deficit or mass[q] <= 0.0
        for k in range(side):
            for m in range(k + 1):
                # members' products lie below the diagonal, those with the free columns beside
                value = square[k, m] if k < n or m >= n else square[m, k]
                value = value / mass[q] if mass[q] > 0.0 else 0.0
                if whole and k < n:
                    value = agreement[members[k], members[m]] - value
                elif whole and m < n:
                    value = cross[members[m], k - n] - value
                elif whole:
                    value = corner[k - n, m - n] - value
                square[k, m] = value
        for k in range(side):
            for m in range(k):
                square[m, k] = square[k, m]


@kernel
def step_all(walk: Walk, block: Regressions, chosen: Integers, fitted: Integers) -> None:
    """Propose the next trial point of every chosen regression from its Hessian."""
    for q in chosen:
        first, last = block.starts[q], block.starts[q + 1]
        n = last - first
        side = n + 2
        hessian = walk.hessians[walk.places[q] : walk.places[q + 1]].copy().reshape(side, side)
        slope = np.empty(side)
        slope[:n] = walk.slopes[first:last]
        slope[n:] = walk.free_slopes[q]
        for u in range(2):
            if not fitted[u]:
                hessian[n + u, :] = 0.0
                hessian[:, n + u] = 0.0
        step = np.empty(side)
        theta, limits = walk.theta[first:last], walk.limits[first:last]
        goal = 0.02 * walk.residual[q] * walk.penalties[q]
        # tanh is saturated at 10; only a coefficient that runs to infinity may leap further
        reach = 20.0 + 2.0 * np.max(np.abs(walk.free[q]))
        trusted = find_step(hessian, slope, theta, limits, reach, goal, step)
        if not trusted and walk.careful[q] == 0:
            _turn_careful(walk, block, q)
            continue
        walk.steps[first:last] = step[:n]
        walk.free_steps[q] = step[n:]
        walk.promise[q] = _promise(walk, first, last, q)
        walk.length[q] = 1.0
        walk.status[q] = AGAIN
        _place_trial(walk, block, q)


@kernel
def _promise(walk: Walk, first: int, last: int, q: int) -> float:
    """Return -g'd + sum_k limit_k (|theta_k + d_k| - |theta_k|), negative for a descent."""
    total = 0.0
    for k in range(first, last):
        theta, d = walk.theta[k], walk.steps[k]
        total += walk.limits[k] * (abs(theta + d) - abs(theta)) - walk.slopes[k] * d
    for u in range(2):
        total -= walk.free_slopes[q, u] * walk.free_steps[q, u]
    return total

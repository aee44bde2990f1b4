"""Proximal Newton steps for a batch of regressions: all that happens between two passes.

Quick regressions use float32 sums and sampled Hessians; careful ones float64, full Hessians and
Armijo's line search, which converge from anywhere (Lee, Sun and Saunders 2014).
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
FRESH = 0.05  # what a step with a fresh Hessian leaves; one with the first Hessian leaves .2
MAX_PASSES = 100


class State(NamedTuple):
    """The state of a batch of regressions; its trial points are in `Regressions`."""

    theta: Floats  # the accepted point, per member
    scores: Floats  # minus the gradient of the loss there
    steps: Floats  # the direction last taken
    hessians: Floats  # flat, regression q at places[q], side members + 1
    places: Integers
    # per regression:
    intercepts: Floats  # the accepted point, its score and the direction last taken
    intercept_scores: Floats
    intercept_steps: Floats
    totals: Floats  # n_s
    penalties: Floats
    objective: Floats  # at the accepted point, for careful ones; nan before
    residual: Floats  # largest violation there, in units of lambda
    bound: Floats  # the same plus the bound on float32's error: the certificate of the members
    predicted: Floats  # change of the objective that the quadratic model predicts for the step
    length: Floats  # of the step tried
    status: Integers
    precise: Integers  # 1: the next pass is in float64
    careful: Integers  # 1: precise, full Hessian, line search
    passes: Integers


def begin_state(batch: Regressions, places: Integers, totals: Floats, penalties: Floats) -> State:
    """Return the state of a batch before its first pass; totals and penalties per regression."""
    n_members, n = batch.members.size, batch.voters.size
    infinite, flags = np.full(n, np.inf), np.zeros((3, n), dtype=np.int64)
    return State(
        theta=batch.theta.copy(),
        scores=np.zeros(n_members),
        steps=np.zeros(n_members),
        hessians=np.empty(places[-1]),
        places=places,
        intercepts=batch.intercepts.copy(),
        intercept_scores=np.zeros(n),
        intercept_steps=np.zeros(n),
        totals=totals,
        penalties=penalties,
        objective=np.full(n, np.nan),
        residual=infinite,
        bound=infinite.copy(),
        predicted=np.zeros(n),
        length=np.zeros(n),
        status=np.full(n, AGAIN, dtype=np.int64),
        precise=flags[0],
        careful=flags[1],
        passes=flags[2],
    )


@kernel
def _violation(
    state: State, batch: Regressions, sums: Sums, q: int, fit_intercept: bool
) -> tuple[float, float]:
    """Return the trial point's largest violation, and a bound on its error in float32."""
    worst, size, n_terms = 0.0, abs(batch.intercepts[q]), 0
    penalty = state.penalties[q]
    for k in range(batch.starts[q], batch.starts[q + 1]):
        theta = batch.theta[k]
        score = sums.scores[k] / state.totals[q]
        if theta > 0:
            worst = max(worst, abs(score - penalty))
        elif theta < 0:
            worst = max(worst, abs(score + penalty))
        else:
            worst = max(worst, abs(score) - penalty)
        n_terms += theta != 0
        size += abs(theta)
    if fit_intercept:
        worst = max(worst, abs(sums.intercepts[q] / state.totals[q]))
    # vectors of at least eight float32 numbers make chains of SUBSUM / 8 additions
    noise = 0.0 if state.precise[q] else bound_noise(n_terms, size, SUBSUM // 8)
    return worst / penalty, noise / penalty


@kernel
def _accept(state: State, batch: Regressions, sums: Sums, q: int) -> None:
    first, last = batch.starts[q], batch.starts[q + 1]
    state.theta[first:last] = batch.theta[first:last]
    state.intercepts[q] = batch.intercepts[q]
    for k in range(first, last):
        state.scores[k] = sums.scores[k] / state.totals[q]
    state.intercept_scores[q] = sums.intercepts[q] / state.totals[q]


@kernel
def _place_trial(state: State, batch: Regressions, q: int) -> None:
    """Write the trial point: the accepted one plus length times the direction."""
    length = state.length[q]
    for k in range(batch.starts[q], batch.starts[q + 1]):
        batch.theta[k] = state.theta[k] + length * state.steps[k]
    batch.intercepts[q] = state.intercepts[q] + length * state.intercept_steps[q]


@kernel
def _turn_careful(state: State, batch: Regressions, q: int) -> None:
    """Evaluate the accepted point again in float64, and continue from it with line searches."""
    state.careful[q] = 1
    state.precise[q] = 1
    state.objective[q] = np.nan
    state.length[q] = 0.0
    state.status[q] = AGAIN
    _place_trial(state, batch, q)


@kernel
def _objective(state: State, batch: Regressions, sums: Sums, q: int) -> float:
    value = sums.loss[q] / state.totals[q]
    for k in range(batch.starts[q], batch.starts[q + 1]):
        value += state.penalties[q] * abs(batch.theta[k])
    return float(value)


@kernel
def _shorten(state: State, batch: Regressions, q: int, value: float) -> bool:
    """Halve a careful step that breaks Armijo's rule; return whether it did."""
    allowed = state.objective[q] + 1e-4 * state.length[q] * state.predicted[q]
    if np.isnan(state.objective[q]) or value <= allowed + 1e-13 * (1.0 + abs(state.objective[q])):
        return False
    state.length[q] *= 0.5
    state.status[q] = AGAIN if state.length[q] > 1e-7 else FAILED
    _place_trial(state, batch, q)
    return True


@kernel
def judge(
    state: State,
    batch: Regressions,
    sums: Sums,
    chosen: Integers,
    fit_intercept: bool,
    share: float,
    exact: bool,
    goal: float,
) -> None:
    """Accept or refuse the trial point of every chosen regression, and set what it needs next."""
    for q in chosen:
        state.passes[q] += 1
        before = state.residual[q]
        now, noise = _violation(state, batch, sums, q, fit_intercept)
        if state.careful[q]:
            value = _objective(state, batch, sums, q)
            if _shorten(state, batch, q, value):
                continue
            state.objective[q] = value
        elif not now <= before or state.passes[q] >= 15:
            _turn_careful(state, batch, q)
            continue
        _accept(state, batch, sums, q)
        state.residual[q] = now
        state.bound[q] = now + noise
        if exact and state.precise[q] == 0:
            noise = np.inf
        # a sampled Hessian costs about members / 4 passes over its share of the items
        cheap = (batch.starts[q + 1] - batch.starts[q]) * share <= 6.0
        _choose_next(state, q, before, noise, cheap, goal)


@kernel
def _choose_next(
    state: State, q: int, before: float, noise: float, cheap: bool, goal: float
) -> None:
    """Set what follows an accepted point whose predecessor had the residual `before`."""
    now = state.residual[q]
    if now + noise <= goal:
        state.status[q] = DONE
        return
    if state.passes[q] >= MAX_PASSES:
        state.status[q] = FAILED
        return
    if noise > 0.6 * goal and FRESH * now <= goal:
        # float32 is too coarse: the pass expected to meet the goal is done in float64
        state.precise[q] = 1
        if now <= goal:
            state.length[q] = 0.0
            state.status[q] = AGAIN
            return
    wanted = FRESH if cheap and now > 10.0 * goal else CONTRACTION
    state.status[q] = STEP if now <= wanted * before and not np.isinf(before) else REBUILD


@kernel
def finish_hessians(
    state: State,
    batch: Regressions,
    chosen: Integers,
    squares: Floats,
    mass: Floats,
    deficit: bool,
    agreement: Floats,
    firsts: Floats,
) -> None:
    """Write the chosen regressions' Hessians from summed curvatures, or from their deficits."""
    low = 0
    for j in range(chosen.size):
        q = chosen[j]
        members = batch.members[batch.starts[q] : batch.starts[q + 1]]
        n = members.size
        hessian = state.hessians[state.places[q] : state.places[q + 1]]
        hessian[:] = squares[low : low + hessian.size]
        low += hessian.size
        square = hessian.reshape(n + 1, n + 1)
        whole = deficit or mass[j] <= 0.0
        for k in range(n + 1):
            for m in range(k + 1):
                # members' products are below the diagonal, those with 1 in the last column
                value = square[k, m] if k < n or m == n else square[m, k]
                value = value / mass[j] if mass[j] > 0.0 else 0.0
                if whole and k < n:
                    value = agreement[members[k], members[m]] - value
                elif whole and m < n:
                    value = firsts[members[m]] - value
                elif whole:
                    value = 1.0 - value
                square[k, m] = value
        for k in range(n + 1):
            for m in range(k):
                square[m, k] = square[k, m]


@kernel
def step_all(state: State, batch: Regressions, chosen: Integers, fit_intercept: bool) -> None:
    """Propose the next trial point of every chosen regression from its Hessian."""
    for q in chosen:
        first, last = batch.starts[q], batch.starts[q + 1]
        n = last - first
        hessian = state.hessians[state.places[q] : state.places[q + 1]].copy()
        hessian = hessian.reshape(n + 1, n + 1)
        score = np.empty(n + 1)
        score[:n] = state.scores[first:last]
        score[n] = state.intercept_scores[q]
        if not fit_intercept:
            hessian[n, :] = 0.0
            hessian[:, n] = 0.0
        step = np.empty(n + 1)
        penalty = state.penalties[q]
        goal = 0.02 * state.residual[q] * penalty
        # tanh is saturated at 10; only a coefficient that diverges may leap further
        reach = 20.0 + 2.0 * abs(state.intercepts[q])
        trusted = find_step(hessian, score, state.theta[first:last], penalty, reach, goal, step)
        if not trusted and state.careful[q] == 0:
            _turn_careful(state, batch, q)
            continue
        state.steps[first:last] = step[:n]
        state.intercept_steps[q] = step[n]
        state.predicted[q] = _predict_change(state, first, last, q)
        state.length[q] = 1.0
        state.status[q] = AGAIN
        _place_trial(state, batch, q)


@kernel
def _predict_change(state: State, first: int, last: int, q: int) -> float:
    """Return -g'd + lambda sum_k (|theta_k + d_k| - |theta_k|), negative for a descent."""
    total = 0.0
    for k in range(first, last):
        theta, d = state.theta[k], state.steps[k]
        total += state.penalties[q] * (abs(theta + d) - abs(theta)) - state.scores[k] * d
    return float(total - state.intercept_scores[q] * state.intercept_steps[q])

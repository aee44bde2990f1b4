"""The fast solver: all voters' regressions together, each on a small working set of voters.

A quadratic lasso from shared second moments gives the start; proximal Newton solves each working
set; one streaming matrix product then checks all pairs, and violators join.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels.l1_logistic import Regressions, Sums, bound_batch
from unelisa.kernels.lasso import start_all
from unelisa.kernels.prox_newton import (
    DONE,
    FAILED,
    REBUILD,
    STEP,
    State,
    begin_state,
    finish_hessians,
    judge,
    step_all,
)
from unelisa.kernels.threads import one_blas_thread, run_threads
from unelisa.paper.solvers.base import (
    SAMPLE,
    Floats,
    L1Problem,
    L1Solution,
    Moments,
    Rows,
    gather,
    place_squares,
    spread,
    take,
    warn_missed,
)
from unelisa.parallel import count_jobs

Integers = NDArray[np.int64]

SCREEN = 0.85  # a voter joins the first working set when its predicted score passes this share
MAX_ROUNDS = 30
ONE_SIDED = 0.7  # a mean vote beyond this: without an intercept, the start needs one
# Without intercepts nearly constant voters stand in for them, all equally well: the scores of all
# of them are close to the penalty. So many join one working set at once, and a quarter of its size.
JOINING = 32
HESSIANS = 1 << 24  # numbers in one batch's Hessians: 128 MB


@dataclass(frozen=True)
class Frame:
    """What stays the same for every batch of one solve."""

    rows: Rows
    moments: Moments
    penalties: Floats
    fit_intercept: bool
    plain: bool  # every voter voted on every item
    tol: float
    exact: bool = False  # whether the losses are needed, hence float64 in each last pass

    @classmethod
    def of(cls, problem: L1Problem) -> "Frame":
        """Return the frame of a problem; counts its moments."""
        rows = Rows.of(problem, count_jobs(problem.n_jobs))
        moments = rows.moments()
        return cls(
            rows=rows.listing(moments),
            moments=moments,
            penalties=problem.penalties.astype(np.float64),
            fit_intercept=problem.fit_intercept,
            plain=bool(np.all(moments.counts == rows.n_items)),
            tol=problem.tol,
        )

    @property
    def voters(self) -> NDArray[np.intp]:
        """Return the voters in the design."""
        return np.flatnonzero(self.moments.varied)

    def candidates(self, voters: Integers) -> NDArray[np.bool_]:
        """Return who may be a neighbor of each voter: every other voter in the design."""
        mask = np.tile(self.moments.varied, (len(voters), 1))
        mask[np.arange(len(voters)), voters] = False
        return mask


@dataclass
class Estimate:
    """The state of all regressions; rows are voters."""

    weights: Floats
    intercepts: Floats
    members: NDArray[np.bool_]  # the working sets
    kkt: Floats
    passes: Integers
    loss: Floats  # sum_i log(1 + exp(-2 f_is z_i)), where the frame is exact

    @classmethod
    def at(cls, weights: Floats, intercepts: Floats, members: NDArray[np.bool_]) -> "Estimate":
        """Return an estimate before its first pass."""
        n = len(weights)
        return cls(
            weights, intercepts, members, np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n)
        )

    def solution(self) -> L1Solution:
        """Return the estimate as a solution, which shares its arrays."""
        return L1Solution(self.weights, self.intercepts, self.kkt, self.passes)


Check = Callable[[Frame, Estimate, Regressions], Integers]  # see `check_all`


@dataclass(frozen=True)
class WorkingSet:
    """Solve every voter's regression on working sets; exact to `tol` on all pairs."""

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimizer for every voter, with its certificate."""
        with one_blas_thread():
            frame = Frame.of(problem)
            estimate = start_estimate(frame)
            refine(frame, estimate, frame.voters)
        solution = estimate.solution()
        warn_missed(problem, solution)
        return solution


def start_estimate(frame: Frame) -> Estimate:
    """Return the starting point and the first working sets, from the moments alone."""
    moments, n_voters = frame.moments, frame.rows.n_voters
    firsts, means = moments.firsts * frame.fit_intercept, moments.means * frame.fit_intercept
    covariance = moments.agreement - np.outer(firsts, firsts)
    model = _model_losses(frame)
    weights = np.zeros((n_voters, n_voters))
    members = np.zeros((n_voters, n_voters), dtype=bool)

    def start(voters: Integers) -> None:
        theta, scores = np.empty((2, voters.size, n_voters))
        parts = covariance, moments.firsts, voters, model[voters], moments.varied
        start_all(*parts, theta, scores)
        # with many abstentions the shared moments can mislead; at 3 tanh is nearly saturated
        weights[voters] = np.clip(theta, -3.0, 3.0)
        near = np.abs(scores) > SCREEN * frame.penalties[voters, None]
        near &= frame.candidates(voters) & (theta == 0)
        members[voters] = (theta != 0) | keep_largest(near, np.abs(scores), theta != 0)

    run_threads(start, np.array_split(frame.voters, max(1, n_voters // 32)), frame.rows.n_threads)
    intercepts = np.arctanh(np.clip(means, -0.999, 0.999)) - weights @ firsts
    return Estimate.at(weights, np.where(moments.varied, intercepts, 0.0), members)


def _model_losses(frame: Frame) -> Floats:
    """Return gain, curvature, penalty and pull of every voter's model, see `start_all`."""
    moments = frame.moments
    means = np.where(frame.fit_intercept | (np.abs(moments.means) > ONE_SIDED), moments.means, 0.0)
    curvature = np.maximum(1 - means**2, 1e-2)
    pull = curvature * np.arctanh(np.clip(means, -0.999, 0.999)) - means
    pull *= not frame.fit_intercept
    return np.column_stack([moments.total / moments.totals, curvature, frame.penalties, pull])


def keep_largest(
    chosen: NDArray[np.bool_], sizes: Floats, members: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return the chosen voters of every row, but only the largest ones if they are too many."""
    most = JOINING + members.sum(axis=1) // 4
    for row in np.flatnonzero(chosen.sum(axis=1) > most):
        mine = np.flatnonzero(chosen[row])
        mine = mine[np.argsort(-sizes[row, mine], kind="stable")]
        chosen[row, mine[most[row] :]] = False
    return chosen


def split_voters(frame: Frame, estimate: Estimate, voters: Integers) -> list[Integers]:
    """Return the voters in batches of at most 256, the same for any number of threads."""
    n_voters = frame.rows.n_voters
    work = frame.rows.n_items * n_voters**2 if frame.rows.blocks.whole else 0
    n_batches = 1 if work < 1e8 else 2 if work < 1e10 else 4
    width = int(np.clip(-(-n_voters // n_batches), 32, 256))
    squares = np.cumsum((estimate.members[voters].sum(axis=1) + 2.0) ** 2)
    batches, first = [], 0
    while first < voters.size:
        used = squares[first - 1] if first else 0.0
        fitting = int(np.searchsorted(squares, used + HESSIANS, side="right"))
        last = max(first + 1, min(first + width, fitting))
        batches.append(voters[first:last])
        first = last
    return batches


def gather_members(estimate: Estimate, voters: Integers) -> Regressions:
    """Return the voters' regressions on their working sets."""
    return gather(
        voters, estimate.members[voters], estimate.weights[voters], estimate.intercepts[voters]
    )


def solve_batch(frame: Frame, estimate: Estimate, voters: Integers) -> Regressions:
    """Solve the voters' regressions on their working sets, in place; return them solved."""
    batch = gather_members(estimate, voters)
    state, sums = descend(frame, batch)
    rows = np.repeat(np.arange(voters.size), np.diff(batch.starts))
    estimate.weights[voters[rows], batch.members] = state.theta
    estimate.intercepts[voters] = state.intercepts
    estimate.passes[voters] += state.passes
    estimate.loss[voters] = sums.loss
    estimate.kkt[voters] = state.bound
    return batch._replace(theta=state.theta, intercepts=state.intercepts)


def descend(frame: Frame, batch: Regressions) -> tuple[State, Sums]:
    """Return the batch at its optimum, and the last sums; it is overwritten with trial points."""
    state = begin_state(
        batch,
        place_squares(batch),
        frame.moments.totals[batch.voters],
        frame.penalties[batch.voters],
    )
    sums = Sums.zeros(batch)
    active = np.arange(batch.voters.size, dtype=np.int64)
    share = min(1.0, SAMPLE / max(frame.rows.n_items, 1))
    while active.size:
        for precise in (0, 1):
            chosen = active[state.precise[active] == precise]
            if chosen.size:
                sums = _evaluate(frame, batch, chosen, bool(precise), sums)
        fit_intercept, goal = frame.fit_intercept, 0.8 * frame.tol
        judge(state, batch, sums, active, fit_intercept, share, frame.exact, goal)
        _rebuild(frame, batch, state, active[state.status[active] == REBUILD])
        status = state.status[active]
        step_all(state, batch, active[(status == STEP) | (status == REBUILD)], fit_intercept)
        status = state.status[active]
        active = active[(status != DONE) & (status != FAILED)]
    return state, sums


def _evaluate(
    frame: Frame, batch: Regressions, chosen: Integers, precise: bool, sums: Sums
) -> Sums:
    found = frame.rows.scores(take(batch, chosen), precise)
    if chosen.size == batch.voters.size:
        return found
    sums.scores[spread(batch.starts, chosen)] = found.scores
    sums.intercepts[chosen] = found.intercepts
    sums.loss[chosen] = found.loss
    return sums


def _rebuild(frame: Frame, batch: Regressions, state: State, chosen: Integers) -> None:
    """Write the chosen regressions' Hessians at their accepted points.

    Quick ones from sampled items: the exact second moments, corrected where nobody abstained, but
    not for one-sided voters, who have little curvature left after that. Careful ones from all
    items, with a curvature of at least a tenth of the violation, so that steps are bounded.
    """
    moments = frame.moments
    careful = state.careful[chosen] == 1
    sided = ~careful & frame.plain & (np.abs(moments.means[batch.voters[chosen]]) > ONE_SIDED)
    sided &= not frame.fit_intercept
    quick = chosen[~careful & ~sided]
    for some, share in ((quick, 1), (chosen[sided], 4), (chosen[careful], 0)):
        if some.size == 0:
            continue
        deficit = frame.plain and share == 1
        counts = moments.counts[batch.voters[some]] if share else None
        floors = np.full(some.size, -1.0 if deficit else 0.0)
        if not share:
            floors = 0.1 * np.minimum(1.0, state.residual[some] * state.penalties[some])
        sums = take(batch, some), counts, floors, share * SAMPLE
        squares, mass = frame.rows.curvatures(*sums)
        exact = moments.agreement, moments.firsts
        finish_hessians(state, batch, some, squares, mass, deficit, *exact)


def check_all(frame: Frame, estimate: Estimate, batch: Regressions) -> Integers:
    """Check the solved batch against all voters; return who got new members."""
    scores = frame.rows.all_scores(batch) / frame.moments.totals[batch.voters, None]
    return check_outside(frame, estimate, batch, scores)


def check_outside(frame: Frame, estimate: Estimate, batch: Regressions, scores: Floats) -> Integers:
    """Extend the batch's certificates to all voters; return who got new members."""
    voters = batch.voters
    penalties = frame.penalties[voters, None]
    noise = np.asarray(bound_batch(batch, min(512, frame.rows.n_items)))[:, None]
    excess = np.abs(scores) - penalties + noise
    excess[estimate.members[voters] | ~frame.candidates(voters)] = -np.inf
    excess /= penalties
    violators = keep_largest(excess > frame.tol, excess, estimate.members[voters])
    estimate.members[voters] |= violators
    estimate.kkt[voters] = np.maximum(np.max(excess, axis=1, initial=0.0), estimate.kkt[voters])
    return voters[violators.any(axis=1)]


def refine(frame: Frame, estimate: Estimate, voters: Integers, check: Check = check_all) -> None:
    """Bring the voters' regressions to their optimum, in place, adding violators round by round."""
    pending = voters
    for _ in range(MAX_ROUNDS):
        if pending.size == 0:
            break

        def settle(batch: Integers) -> Integers:
            return check(frame, estimate, solve_batch(frame, estimate, batch))

        batches = split_voters(frame, estimate, pending)
        pending = np.concatenate(run_threads(settle, batches, frame.rows.n_threads))

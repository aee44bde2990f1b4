"""The fast solver: all voters' regressions together, each on a small working set of voters.

All voters share one design and its second moments, counted once. They give, without touching the
items again, a quadratic lasso per voter: its start and its working set. Proximal Newton solves each
working set; one streaming matrix product then checks all voters against all others, and violators
join the working sets. docs/performance.md tells the costs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unelisa.jobs import count_jobs
from unelisa.kernels.l1_logistic import Regressions, bound_block
from unelisa.kernels.lasso import start_all
from unelisa.kernels.threads import run_threads
from unelisa.solvers.base import Floats, L1Problem, L1Solution, warn_missed
from unelisa.solvers.blas import one_blas_thread
from unelisa.solvers.newton import Frame, descend
from unelisa.solvers.optimality import column_scale
from unelisa.solvers.rows import Rows

Integers = NDArray[np.int64]

SCREEN = 0.85  # a voter joins the first working set when its predicted slope passes this share
MAX_ROUNDS = 30
HESSIANS = 1 << 24  # numbers in one block's Hessians: 128 MB


@dataclass
class Estimate:
    """Where all regressions stand; rows are voters."""

    weights: Floats
    free: Floats  # voters x 2: intercept, coefficient of the scaled column
    members: NDArray[np.bool_]  # the working sets
    kkt: Floats
    passes: Integers
    loss: Floats  # sum_i w_i log(1 + exp(-2 f_is z_i)), where the frame is exact


Check = Callable[[Frame, Estimate, Regressions], Integers]  # see `check_all`


@dataclass(frozen=True)
class WorkingSet:
    """Solve every voter's regression on working sets; exact to `tol` on all pairs."""

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimiser for every voter, with its certificate."""
        with one_blas_thread():
            frame = frame_of(problem)
            estimate = start_estimate(frame, problem)
            refine(frame, estimate, np.flatnonzero(frame.inside))
        solution = solution_of(problem, estimate)
        warn_missed(problem, solution)
        return solution


def frame_of(problem: L1Problem) -> Frame:
    """Return the solve's fixed parts: rows, second moments, who is in the design."""
    rows = Rows.of(problem, count_jobs(problem.n_jobs))
    moments = rows.moments()
    ratios = np.empty((0, 0)) if problem.penalty_weights is None else problem.penalty_weights
    return Frame(
        rows=rows,
        moments=moments,
        penalties=problem.penalties.astype(np.float64),
        ratios=ratios,
        fitted=np.array([problem.fit_intercept, problem.column is not None], dtype=np.int64),
        inside=moments.varied,
        plain=problem.item_weights is None and bool(np.all(moments.counts == rows.n_items)),
        tol=problem.tol,
    )


def start_estimate(frame: Frame, problem: L1Problem) -> Estimate:
    """Return the starting point and the first working sets, from the second moments alone.

    The loss of voter s is modelled at its null model, where every item has the curvature
    1 - mean^2; free columns are projected out of the design, C = A - X (X'X)^+ X'.
    """
    moments, n_voters = frame.moments, frame.rows.n_voters
    cross, whitening = _free_columns(frame)
    shared = cross @ whitening
    means = moments.means * frame.fitted[0]
    model = np.column_stack([moments.total / moments.totals, np.maximum(1 - means**2, 1e-2)])
    weights = np.zeros((n_voters, n_voters))
    members = np.zeros((n_voters, n_voters), dtype=bool)

    def start(voters: Integers) -> None:
        limits, slopes = frame.limits(voters), np.empty((voters.size, n_voters))
        theta = np.empty_like(slopes)
        start_all(moments.agreement, shared, voters, model[voters], limits, theta, slopes)
        # with many abstentions the shared moments can mislead; at 3 tanh is nearly saturated
        weights[voters] = np.clip(theta, -3.0, 3.0)
        members[voters] = (theta != 0) | (np.abs(slopes) > SCREEN * limits) | (limits == 0)

    blocks = np.array_split(np.flatnonzero(frame.inside), max(1, n_voters // 32))
    run_threads(start, blocks, frame.rows.n_threads)
    free = -(weights @ shared) @ whitening.T
    free[:, 0] += np.arctanh(np.clip(means, -0.999, 0.999))
    if problem.start is not None:
        weights, free = _given_start(frame, problem, problem.start)
        members |= weights != 0
    free[~frame.inside] = 0.0
    none, no_passes = np.zeros(n_voters), np.zeros(n_voters, dtype=np.int64)
    return Estimate(weights, free * frame.fitted, members, none, no_passes, none.copy())


def _free_columns(frame: Frame) -> tuple[Floats, Floats]:
    """Return the voters' moments with the fitted free columns, and what whitens these columns."""
    fitted = frame.fitted.astype(np.float64)
    values, vectors = np.linalg.eigh(frame.moments.corner * np.outer(fitted, fitted))
    kept = values > 1e-9
    scales = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    return frame.moments.cross * fitted, vectors * scales


def _given_start(frame: Frame, problem: L1Problem, start: L1Solution) -> tuple[Floats, Floats]:
    """Return the weights and free coefficients of a warm start, without forbidden edges."""
    allowed = np.isfinite(frame.limits(np.arange(frame.rows.n_voters)))
    scaled = start.column_weights * column_scale(problem)
    return np.where(allowed, start.weights, 0.0), np.column_stack([start.intercepts, scaled])


def split_voters(frame: Frame, estimate: Estimate, voters: Integers) -> list[Integers]:
    """Return the voters in blocks, the same whatever the number of threads.

    At most 256 voters: the product of residuals and votes then runs at nine tenths of full speed
    (75 voters: seven tenths), and 1,400 voters make six tasks. Fewer where large working sets
    would need large Hessians. Small problems stay in one block, those of seconds make four. Where
    the items are in several blocks, these are shared out instead, and voters make few passes.
    """
    n_voters = frame.rows.n_voters
    work = frame.rows.n_items * n_voters**2 if frame.rows.blocks.whole else 0
    n_blocks = 1 if work < 1e8 else 2 if work < 1e10 else 4
    width = int(np.clip(-(-n_voters // n_blocks), 32, 256))
    squares = np.cumsum((estimate.members[voters].sum(axis=1) + 2.0) ** 2)
    blocks, first = [], 0
    while first < voters.size:
        used = squares[first - 1] if first else 0.0
        fitting = int(np.searchsorted(squares, used + HESSIANS, side="right"))
        last = max(first + 1, min(first + width, fitting))
        blocks.append(voters[first:last])
        first = last
    return blocks


def gather(estimate: Estimate, voters: Integers) -> Regressions:
    """Return the voters' regressions on their working sets."""
    mask = estimate.members[voters]
    rows, members = np.nonzero(mask)
    starts = np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64)
    theta = estimate.weights[voters[rows], members]
    return Regressions(voters, starts, members.astype(np.int64), theta, estimate.free[voters])


def solve_block(frame: Frame, estimate: Estimate, voters: Integers) -> Regressions:
    """Solve the voters' regressions on their working sets, in place; return them solved."""
    block = gather(estimate, voters)
    rows = np.repeat(np.arange(voters.size), np.diff(block.starts))
    walk, sums = descend(frame, block, frame.limits(voters)[rows, block.members])
    estimate.weights[voters[rows], block.members] = walk.theta
    estimate.free[voters] = walk.free
    estimate.passes[voters] += walk.passes
    estimate.loss[voters] = sums.loss
    estimate.kkt[voters] = walk.bound
    return block._replace(theta=walk.theta, free=walk.free)


def check_all(frame: Frame, estimate: Estimate, block: Regressions) -> Integers:
    """Check the solved block against all voters; return who got new members."""
    slopes = frame.rows.all_slopes(block) / frame.moments.totals[block.voters, None]
    return check_outside(
        frame, estimate, block.voters, slopes, float32_noise(frame, block)[:, None]
    )


def check_outside(
    frame: Frame, estimate: Estimate, voters: Integers, slopes: Floats, error: Floats
) -> Integers:
    """Raise the voters' certificates to cover all others; return who got new members.

    Of voters outside the working sets only a slope and a bound on its error are known. The bound
    counts as violation: whatever it cannot decide joins the working set, where float64 decides.
    """
    excess = np.abs(slopes) - frame.limits(voters) + error
    excess[estimate.members[voters]] = -np.inf
    excess /= frame.penalties[voters, None]
    violators = excess > frame.tol
    estimate.members[voters] |= violators
    found = violators.any(axis=1)
    estimate.kkt[voters] = np.maximum(np.max(excess, axis=1, initial=0.0), estimate.kkt[voters])
    return voters[found]


def float32_noise(frame: Frame, block: Regressions) -> Floats:
    """Return a bound per regression on the error of a mean slope from the matrix product.

    BLAS libraries add chains of at most 512 products before they start a new one.
    """
    column = frame.rows.column
    largest = float(np.max(np.abs(column))) if column.size else 0.0
    return np.asarray(bound_block(block, largest, min(512, frame.rows.n_items)))


def refine(frame: Frame, estimate: Estimate, voters: Integers, check: Check = check_all) -> None:
    """Bring the voters' regressions to their optimum, in place, adding violators round by round."""
    pending = voters
    for _ in range(MAX_ROUNDS):
        if pending.size == 0:
            break

        def settle(block: Integers) -> Integers:
            return check(frame, estimate, solve_block(frame, estimate, block))

        blocks = split_voters(frame, estimate, pending)
        pending = np.concatenate(run_threads(settle, blocks, frame.rows.n_threads))


def solution_of(problem: L1Problem, estimate: Estimate) -> L1Solution:
    """Return the estimate as a solution."""
    return L1Solution(
        estimate.weights,
        estimate.free[:, 0].copy(),
        estimate.free[:, 1] / column_scale(problem),
        estimate.kkt,
        estimate.passes,
    )

"""Paths over the penalty, and the choice along them by the extended BIC.

Each penalty starts from the solution at the one before. The working sets come from the sequential
strong rule (Tibshirani et al. 2012): a slope rarely moves by more than the penalty does. One that
did is found by the check, so the rule only saves work.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError
from unelisa.kernels.threads import run_threads
from unelisa.solvers.base import Floats, L1Problem, L1Solution, warn_missed
from unelisa.solvers.blas import one_blas_thread
from unelisa.solvers.landmarks import Landmarks
from unelisa.solvers.newton import Frame
from unelisa.solvers.working_set import (
    Estimate,
    frame_of,
    refine,
    solution_of,
    solve_block,
    split_voters,
)

Integers = NDArray[np.int64]

NULL = 1e-2  # penalty of the null models: the unit of their tolerance, no more


class PathStep(NamedTuple):
    """The solution at one penalty per voter. The arrays are the path's own: copy what you keep.

    Attributes
    ----------
    penalties
        lambda_s per voter.
    solution
        The solution; rows of voters that have stopped stay as they were.
    loss
        sum_i w_i log(1 + exp(-2 f_is z_is)) per voter: minus the log-likelihood, in float64.
    voters
        The voters solved at this step.
    """

    penalties: Floats
    solution: L1Solution
    loss: Floats
    voters: Integers


Stop = Callable[[PathStep], NDArray[np.bool_]]


@dataclass(frozen=True)
class _Path:
    """One path under way."""

    problem: L1Problem
    frame: Frame
    estimate: Estimate
    landmarks: Landmarks

    @classmethod
    def begin(cls, problem: L1Problem) -> "_Path":
        """Return a path at its null models: no penalised edge, everything unpenalised fitted."""
        # a penalty of .01 with a tolerance of 1e-5 fits the null models to 1e-7
        penalties = np.full(problem.votes.shape[1], NULL)
        frame = replace(frame_of(problem), penalties=penalties, tol=1e-5, exact=True)
        n_voters = frame.rows.n_voters
        free = np.zeros((n_voters, 2))
        free[:, 0] = np.arctanh(np.clip(frame.moments.means, -0.999, 0.999)) * frame.fitted[0]
        free[~frame.inside] = 0.0
        estimate = Estimate(
            weights=np.zeros((n_voters, n_voters)),
            free=free,
            members=frame.limits(np.arange(n_voters)) == 0,
            kkt=np.zeros(n_voters),
            passes=np.zeros(n_voters, dtype=np.int64),
            loss=np.zeros(n_voters),
        )
        landmarks = Landmarks.empty(n_voters)

        def settle(voters: Integers) -> None:
            landmarks.measure_all(frame, estimate, solve_block(frame, estimate, voters))

        blocks = split_voters(frame, estimate, np.flatnonzero(frame.inside))
        with one_blas_thread():
            run_threads(settle, blocks, frame.rows.n_threads)
        return cls(problem, replace(frame, tol=problem.tol), estimate, landmarks)

    def largest(self) -> Floats:
        """Return per voter the least penalty at which no penalised edge enters; 1 without any."""
        ratios = self.frame.limits(np.arange(self.frame.rows.n_voters)) / NULL
        usable = (ratios > 0) & np.isfinite(ratios)
        slopes = np.where(usable, np.abs(self.landmarks.latest), 0.0)
        peaks = np.max(slopes / np.where(usable, ratios, 1.0), axis=1, initial=0.0)
        # free columns that separate a voter leave slopes that are rounding only
        return np.where(peaks > 1e-5, peaks, 1.0)

    def steps(self, grid: Floats, stop: Stop | None) -> Iterator[PathStep]:
        """Yield the solution at each row of the grid, for the voters that have not stopped."""
        estimate, before = self.estimate, self.frame
        voters = np.flatnonzero(self.frame.inside)
        for row, penalties in enumerate(grid):
            frame = replace(self.frame, penalties=penalties)
            with one_blas_thread():
                self._screen(voters, frame, frame if row == 0 else before)
                refine(frame, estimate, voters, self.landmarks.check)
            step = PathStep(penalties, solution_of(self.problem, estimate), estimate.loss, voters)
            yield step
            before = frame
            if stop is not None:
                voters = voters[~stop(step)[voters]]
            if voters.size == 0:
                return

    def _screen(self, voters: Integers, frame: Frame, before: Frame) -> None:
        """Set the working sets by the strong rule: |slope| >= 2 limit - limit before."""
        limits = frame.limits(voters)
        with np.errstate(invalid="ignore"):
            strong = np.abs(self.landmarks.latest[voters]) >= 2 * limits - before.limits(voters)
        self.estimate.members[voters] = (
            (self.estimate.weights[voters] != 0) | strong & np.isfinite(limits) | (limits == 0)
        )


def solve_path(problem: L1Problem, grid: Floats, stop: Stop | None = None) -> Iterator[PathStep]:
    """Yield the solution at each row of `grid`, penalties x voters, from large to small.

    `problem.penalties` and `problem.start` are not used. `stop` is asked after each step which
    voters (a mask over all) need no further one.
    """
    if grid.ndim != 2 or grid.shape[1] != problem.votes.shape[1] or not np.all(grid > 0):
        raise ModelError("a grid of penalties must be positive, penalties x voters")
    yield from _Path.begin(problem).steps(grid, stop)


def penalty_grid(largest: Floats, n_penalties: int, ratio: float) -> Floats:
    """Return glmnet's grid per voter: log-spaced from the largest penalty to `ratio` of it."""
    return np.asarray(largest * ratio ** np.linspace(0.0, 1.0, n_penalties)[:, None])


def ebic_path(
    problem: L1Problem,
    gamma: float,
    n_penalties: int = 100,
    ratio: float = 0.01,
    patience: int = 30,
) -> tuple[L1Solution, Floats]:
    """Return the solution at each voter's penalty of least extended BIC, and those penalties.

    As IsingFit (van Borkulo et al. 2014): per voter a path of `n_penalties` from the least penalty
    without edges down to `ratio` of it, and along it the least

        EBIC = 2 loss + k log n + 2 gamma k log(p - 1)

    with k the number of edges, n the voter's items (their weights' sum) and p the number of voters
    in the design. A voter stops early when its EBIC has not improved for `patience` penalties.
    `problem.penalties` and `problem.start` are not used.
    """
    path = _Path.begin(problem)
    grid = penalty_grid(path.largest(), n_penalties, ratio)
    choice = _Choice.begin(path, gamma, patience, grid[0])
    for _ in path.steps(grid, choice.update):
        pass
    warn_missed(problem, choice.solution)
    return choice.solution, choice.penalties


@dataclass(frozen=True)
class _Choice:
    """The best step of every voter so far."""

    solution: L1Solution
    penalties: Floats
    criterion: Floats
    waited: Integers
    price: Floats  # of one edge: log n + 2 gamma log(p - 1)
    patience: int

    @classmethod
    def begin(cls, path: _Path, gamma: float, patience: int, largest: Floats) -> "_Choice":
        """Return a choice that anything improves."""
        n_voters, n_inside = path.frame.rows.n_voters, int(path.frame.inside.sum())
        candidates = np.log(max(n_inside - 1, 1))
        return cls(
            solution=solution_of(path.problem, path.estimate).copy(),
            penalties=largest.copy(),
            criterion=np.full(n_voters, np.inf),
            waited=np.zeros(n_voters, dtype=np.int64),
            price=np.log(path.frame.moments.totals) + 2 * gamma * candidates,
            patience=patience,
        )

    def update(self, step: PathStep) -> NDArray[np.bool_]:
        """Take the step where it is better; return who has waited long enough."""
        voters = step.voters
        n_edges = np.count_nonzero(step.solution.weights[voters], axis=1)
        criterion = 2.0 * step.loss[voters] + n_edges * self.price[voters]
        better = criterion < self.criterion[voters]
        self.waited[voters] = np.where(better, 0, self.waited[voters] + 1)
        taken = voters[better]
        self.criterion[taken] = criterion[better]
        self.penalties[taken] = step.penalties[taken]
        for own, new in zip(
            vars(self.solution).values(), vars(step.solution).values(), strict=True
        ):
            own[taken] = new[taken]
        self.solution.n_iter[voters] = step.solution.n_iter[voters]
        return self.waited >= self.patience

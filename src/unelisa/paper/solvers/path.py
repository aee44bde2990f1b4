"""Paths over the penalty, and the choice along them by the extended BIC.

Working sets come from the sequential strong rule (Tibshirani et al. 2012), which only saves work.
"""

from dataclasses import dataclass, replace

import numpy as np

from unelisa.kernels.l1_logistic import Regressions
from unelisa.kernels.threads import one_blas_thread, run_threads
from unelisa.paper.solvers.base import Floats, Integers, L1Problem, L1Solution, warn_missed
from unelisa.paper.solvers.working_set import (
    Estimate,
    Frame,
    check_outside,
    refine,
    solve_batch,
    split_voters,
)


@dataclass
class Path:
    """A path in progress: the estimate at the current penalties, and all its scores."""

    frame: Frame
    estimate: Estimate
    scores: Floats
    started: bool = False

    @classmethod
    def begin(cls, problem: L1Problem) -> "Path":
        """Return a path at its null models: no edges, intercepts fitted."""
        # the penalty is only the unit of the tolerance: the null models are fitted to 1e-7
        n_voters = problem.votes.shape[1]
        penalties = np.full(n_voters, 1e-2)
        frame = replace(Frame.of(problem), penalties=penalties, tol=1e-5, exact=True)
        intercepts = np.arctanh(np.clip(frame.moments.means, -0.999, 0.999)) * frame.fit_intercept
        intercepts[~frame.moments.varied] = 0.0
        square = (n_voters, n_voters)
        estimate = Estimate.at(np.zeros(square), intercepts, np.zeros(square, dtype=bool))
        path = cls(replace(frame, tol=problem.tol), estimate, np.zeros(square, dtype=np.float32))

        def settle(voters: Integers) -> None:
            path.measure(frame, solve_batch(frame, estimate, voters))

        with one_blas_thread():
            batches = split_voters(frame, estimate, frame.voters)
            run_threads(settle, batches, frame.rows.n_threads)
        return path

    def measure(self, frame: Frame, batch: Regressions) -> Floats:
        """Return all scores of the solved batch, and keep them for the strong rule."""
        scores = frame.rows.all_scores(batch) / frame.moments.totals[batch.voters, None]
        self.scores[batch.voters] = scores
        return scores

    def check(self, frame: Frame, estimate: Estimate, batch: Regressions) -> Integers:
        """Check the solved batch against all voters; return who got new members."""
        return check_outside(frame, estimate, batch, self.measure(frame, batch))

    def largest(self) -> Floats:
        """Return per voter the smallest penalty without edges; 1 where there can be none."""
        candidates = self.frame.candidates(np.arange(self.frame.rows.n_voters))
        scores = np.where(candidates, np.abs(self.scores), 0.0)
        peaks = np.max(scores, axis=1, initial=0.0)
        # scores this small are rounding errors
        return np.where(peaks > 1e-5, peaks, 1.0)

    def move(self, penalties: Floats, voters: Integers) -> None:
        """Move the voters' solutions to smaller penalties (lambda_s of all voters), in place."""
        before = self.frame.penalties if self.started else penalties
        self.frame, self.started = replace(self.frame, penalties=penalties), True
        # the strong rule: |score| >= 2 lambda - lambda before
        strong = np.abs(self.scores[voters]) >= (2 * penalties - before)[voters, None]
        used = self.estimate.weights[voters] != 0
        self.estimate.members[voters] = used | strong & self.frame.candidates(voters)
        with one_blas_thread():
            refine(self.frame, self.estimate, voters, self.check)


def ebic_path(
    problem: L1Problem,
    gamma: float,
    n_penalties: int = 100,
    ratio: float = 0.01,
    patience: int = 30,
) -> tuple[L1Solution, Floats]:
    """Return the solution at each voter's penalty of least extended BIC, and those penalties.

    As IsingFit (van Borkulo et al. 2014): EBIC = 2 loss + k log n + 2 gamma k log(p - 1) with k
    edges, n the voter's items and p voters in the design; the path falls from the smallest penalty
    without edges to `ratio` of it, and ends when EBIC has not improved for `patience` penalties.
    """
    path = Path.begin(problem)
    moments, voters = path.frame.moments, path.frame.voters
    price = np.log(moments.totals) + 2 * gamma * np.log(max(len(voters) - 1, 1))  # of one edge
    grid = path.largest() * ratio ** np.linspace(0.0, 1.0, n_penalties)[:, None]  # as glmnet's
    best, chosen = path.estimate.solution().copy(), grid[0].copy()
    least, waited = np.full(len(price), np.inf), np.zeros(len(price), dtype=np.int64)
    for penalties in grid:
        path.move(penalties, voters)
        found = path.estimate.solution()
        n_edges = np.count_nonzero(found.weights[voters], axis=1)
        ebic = 2.0 * path.estimate.loss[voters] + n_edges * price[voters]
        better = ebic < least[voters]
        taken = voters[better]
        least[taken], chosen[taken] = ebic[better], penalties[taken]
        for own, new in zip(vars(best).values(), vars(found).values(), strict=True):
            own[taken] = new[taken]
        best.n_iter[voters] = found.n_iter[voters]
        waited[voters] = np.where(better, 0, waited[voters] + 1)
        voters = voters[waited[voters] < patience]
        if voters.size == 0:
            break
    warn_missed(problem, best)
    return best, chosen

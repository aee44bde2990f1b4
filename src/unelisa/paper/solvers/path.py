"""Paths over the penalty, and the choice along them by the extended BIC.

Each penalty starts from the solution at the one before. The working sets come from the sequential
strong rule (Tibshirani et al. 2012): a score rarely moves by more than the penalty does. A score
that did is found by the check, so the rule only saves work.

The check is cheap: it bounds a voter's scores from its landmark, a point where all are known. With
dz and dt the changes of z and tanh z since then, the score of voter j changes by
mean(f_j dt) = kappa mean(f_j dz) + mean(f_j (dt - kappa dz)). The first term follows from the
second moments where nobody abstained (elsewhere kappa is 0); the second is at most the root mean
square of dt - kappa dz, because |f_j| <= 1, and kappa minimizes it. Pairs that the bound leaves
undecided are measured in float64; only where they are many is the full product computed again.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unelisa.kernels.l1_logistic import Regressions
from unelisa.kernels.threads import one_blas_thread, run_threads
from unelisa.paper.solvers.base import Floats, L1Problem, L1Solution, gather, warn_missed
from unelisa.paper.solvers.working_set import (
    Estimate,
    Frame,
    check_outside,
    float32_noise,
    gather_members,
    refine,
    solve_batch,
    split_voters,
)

Integers = NDArray[np.int64]

MANY = 256  # voters from which on the cheap check costs less than the product it saves


@dataclass(frozen=True)
class Landmarks:
    """The last point of every voter where all its scores are known; rows are voters."""

    weights: Floats
    intercepts: Floats
    scores: NDArray[np.float32]
    latest: NDArray[np.float32]  # the scores at the latest point, as far as they are known

    @classmethod
    def empty(cls, n_voters: int) -> "Landmarks":
        """Return landmarks to be set by `measure_all`."""
        scores = np.zeros((2, n_voters, n_voters), dtype=np.float32)
        return cls(np.zeros((n_voters, n_voters)), np.zeros(n_voters), *scores)

    def check(self, frame: Frame, estimate: Estimate, batch: Regressions) -> Integers:
        """Check the solved batch against all voters; return who got new members."""
        voters, n_voters = batch.voters, frame.rows.n_voters
        if n_voters < MANY:
            return self.check_all(frame, estimate, batch)
        scores, error = self.bound(frame, estimate, batch)
        penalties = frame.penalties[voters, None]
        undecided = np.abs(scores) + error > penalties + frame.tol * penalties
        undecided &= frame.candidates(voters) & ~estimate.members[voters]
        few = undecided.sum(axis=1) <= n_voters // 8
        pending = [voters[:0]]
        if few.any():
            some = voters[few]
            scores, error = scores[few], np.repeat(error[few], n_voters, axis=1)
            measure_pairs(frame, estimate, some, undecided[few], scores, error)
            self.latest[some] = scores
            pending.append(check_outside(frame, estimate, some, scores, error))
        if not few.all():
            rest = gather_members(estimate, voters[~few])
            pending.append(self.check_all(frame, estimate, rest))
        return np.concatenate(pending)

    def check_all(self, frame: Frame, estimate: Estimate, batch: Regressions) -> Integers:
        """Check the batch by the full product, and make it the voters' landmark."""
        scores = self.measure_all(frame, estimate, batch)
        noise = float32_noise(frame, batch)[:, None]
        return check_outside(frame, estimate, batch.voters, scores, noise)

    def measure_all(self, frame: Frame, estimate: Estimate, batch: Regressions) -> Floats:
        """Return all scores of the batch, which becomes the voters' landmark."""
        voters = batch.voters
        scores = frame.rows.all_scores(batch) / frame.moments.totals[voters, None]
        self.weights[voters] = estimate.weights[voters]
        self.intercepts[voters] = estimate.intercepts[voters]
        self.scores[voters] = scores
        self.latest[voters] = scores
        return scores

    def bound(self, frame: Frame, estimate: Estimate, batch: Regressions) -> tuple[Floats, Floats]:
        """Return the batch's scores predicted from the landmarks, and a bound on their error."""
        voters, moments = batch.voters, frame.moments
        before = self.weights[voters]
        old = gather(voters, before != 0, before, self.intercepts[voters])
        moved, mixed, spread = (frame.rows.drift(old, batch) / moments.totals[voters, None]).T
        complete = bool(np.all(moments.counts == frame.rows.n_items))
        kappa = np.where((spread > 0) & complete, mixed / np.where(spread > 0, spread, 1.0), 0.0)
        change = csr_array(estimate.weights[voters] - before) @ moments.agreement
        change += np.outer(estimate.intercepts[voters] - self.intercepts[voters], moments.firsts)
        scores = self.scores[voters] - kappa[:, None] * change
        error = np.sqrt(np.maximum(moved - kappa * mixed, 0.0))
        # the landmark's scores, and z and tanh z at both ends, were computed in float32
        error += 2.0 * (float32_noise(frame, batch) + float32_noise(frame, old))
        return scores, error[:, None]


def measure_pairs(
    frame: Frame,
    estimate: Estimate,
    voters: Integers,
    undecided: NDArray[np.bool_],
    scores: Floats,
    error: Floats,
) -> None:
    """Write the undecided pairs' scores, measured in float64, and their errors: 0."""
    chosen = np.flatnonzero(undecided.any(axis=1))
    if chosen.size == 0:
        return
    some, weights = voters[chosen], estimate.weights[voters[chosen]]
    batch = gather(some, (weights != 0) | undecided[chosen], weights, estimate.intercepts[some])
    rows = chosen[np.repeat(np.arange(chosen.size), np.diff(batch.starts))]
    found = frame.rows.scores(batch, True).scores / frame.moments.totals[voters[rows]]
    scores[rows, batch.members] = found
    error[rows, batch.members] = 0.0


@dataclass
class Path:
    """A path in progress: the estimate at the current penalties, and its landmarks."""

    frame: Frame
    estimate: Estimate
    landmarks: Landmarks
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
        landmarks = Landmarks.empty(n_voters)

        def settle(voters: Integers) -> None:
            landmarks.measure_all(frame, estimate, solve_batch(frame, estimate, voters))

        with one_blas_thread():
            batches = split_voters(frame, estimate, frame.voters)
            run_threads(settle, batches, frame.rows.n_threads)
        return cls(replace(frame, tol=problem.tol), estimate, landmarks)

    def largest(self) -> Floats:
        """Return per voter the smallest penalty without edges; 1 where there can be none."""
        candidates = self.frame.candidates(np.arange(self.frame.rows.n_voters))
        scores = np.where(candidates, np.abs(self.landmarks.latest), 0.0)
        peaks = np.max(scores, axis=1, initial=0.0)
        # scores this small are rounding errors
        return np.where(peaks > 1e-5, peaks, 1.0)

    def move(self, penalties: Floats, voters: Integers) -> None:
        """Move the voters' solutions to smaller penalties (lambda_s of all voters), in place."""
        before = self.frame.penalties if self.started else penalties
        self.frame, self.started = replace(self.frame, penalties=penalties), True
        # the strong rule: |score| >= 2 lambda - lambda before
        strong = np.abs(self.landmarks.latest[voters]) >= (2 * penalties - before)[voters, None]
        used = self.estimate.weights[voters] != 0
        self.estimate.members[voters] = used | strong & self.frame.candidates(voters)
        with one_blas_thread():
            refine(self.frame, self.estimate, voters, self.landmarks.check)


def ebic_path(
    problem: L1Problem,
    gamma: float,
    n_penalties: int = 100,
    ratio: float = 0.01,
    patience: int = 30,
) -> tuple[L1Solution, Floats]:
    """Return the solution at each voter's penalty of least extended BIC, and those penalties.

    As IsingFit (van Borkulo et al. 2014): per voter a path of `n_penalties` from the smallest
    penalty without edges down to `ratio` of it, and along it the minimum of

        EBIC = 2 loss + k log n + 2 gamma k log(p - 1)

    with k the number of edges, n the voter's items (the sum of their weights) and p the number of
    voters in the design. A voter stops early when its EBIC has not improved for `patience`
    penalties. `problem.penalties` is not used.
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

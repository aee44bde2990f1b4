"""The cheap certificate of a path: bound a voter's slopes from a point where all are known.

From such a landmark, with dz and dt the changes of z and tanh z, the slope of voter j changes by
mean(f_j dt) = kappa mean(f_j dz) + mean(f_j (dt - kappa dz)). The first term follows from the
second moments where nobody abstained (elsewhere kappa is 0); the second is at most the root mean
square of dt - kappa dz, because |f_j| <= 1. kappa makes it least. Pairs that the bound leaves open
are measured in float64; only where they are many is the full product done again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from unelisa.kernels.l1_logistic import Regressions, Sums
from unelisa.solvers.base import Floats
from unelisa.solvers.newton import Frame
from unelisa.solvers.working_set import Estimate, check_outside, float32_noise, gather

Integers = NDArray[np.int64]

MANY = 256  # voters from which on the certificate costs less than the product that it saves


@dataclass(frozen=True)
class Landmarks:
    """The last point of every voter whose slopes are all known; rows are voters."""

    weights: Floats
    free: Floats
    slopes: NDArray[np.float32]
    latest: NDArray[np.float32]  # the slopes at the latest point, as far as they are known

    @classmethod
    def empty(cls, n_voters: int) -> "Landmarks":
        """Return landmarks yet to be set by `measure_all`."""
        square = (n_voters, n_voters)
        return cls(
            np.zeros(square),
            np.zeros((n_voters, 2)),
            np.zeros(square, dtype=np.float32),
            np.zeros(square, dtype=np.float32),
        )

    def check(self, frame: Frame, estimate: Estimate, block: Regressions) -> Integers:
        """Check the solved block against all voters; return who got new members."""
        voters, n_voters = block.voters, frame.rows.n_voters
        if n_voters < MANY:
            return self.check_all(frame, estimate, block)
        slopes, error = self._bound(frame, block, estimate)
        allowed = frame.limits(voters) + frame.tol * frame.penalties[voters, None]
        undecided = (np.abs(slopes) + error > allowed) & ~estimate.members[voters]
        few = undecided.sum(axis=1) <= n_voters // 8
        pending = [voters[:0]]
        if few.any():
            some = voters[few]
            slopes, error = slopes[few], np.repeat(error[few], n_voters, axis=1)
            _measure(frame, estimate, some, undecided[few], slopes, error)
            self.latest[some] = slopes
            pending.append(check_outside(frame, estimate, some, slopes, error))
        if not few.all():
            pending.append(self.check_all(frame, estimate, gather(estimate, voters[~few])))
        return np.concatenate(pending)

    def check_all(self, frame: Frame, estimate: Estimate, block: Regressions) -> Integers:
        """Check the block by the full product, and make it the voters' landmark."""
        slopes = self.measure_all(frame, estimate, block)
        noise = float32_noise(frame, block)[:, None]
        return check_outside(frame, estimate, block.voters, slopes, noise)

    def measure_all(self, frame: Frame, estimate: Estimate, block: Regressions) -> Floats:
        """Return all slopes of the block, which becomes the voters' landmark."""
        voters = block.voters
        slopes = frame.rows.all_slopes(block) / frame.moments.totals[voters, None]
        self.weights[voters] = estimate.weights[voters]
        self.free[voters] = estimate.free[voters]
        self.slopes[voters] = slopes
        self.latest[voters] = slopes
        return slopes

    def _bound(self, frame: Frame, block: Regressions, estimate: Estimate) -> tuple[Floats, Floats]:
        """Return the block's slopes as predicted from the landmarks, and a bound on their error."""
        voters = block.voters
        old = _regressions(voters, self.weights[voters], self.free[voters])
        sums = frame.rows.drift(old, block) / frame.moments.totals[voters, None]
        moved, mixed, spread = sums.T
        complete = bool(np.all(frame.moments.counts == frame.rows.n_items))
        kappa = np.where((spread > 0) & complete, mixed / np.where(spread > 0, spread, 1.0), 0.0)
        change = csr_array(estimate.weights[voters] - self.weights[voters])
        change = change @ frame.moments.agreement
        change += (estimate.free[voters] - self.free[voters]) @ frame.moments.cross.T
        slopes = self.slopes[voters] - kappa[:, None] * change
        error = np.sqrt(np.maximum(moved - kappa * mixed, 0.0))
        # the landmark's slopes, and z and tanh z at both ends, were computed in float32
        error += 2.0 * (float32_noise(frame, block) + float32_noise(frame, old))
        return slopes, error[:, None]


def _regressions(voters: Integers, weights: Floats, free: Floats) -> Regressions:
    """Return regressions whose members are the voters with a weight; rows of weights: voters."""
    rows, members = np.nonzero(weights)
    counts = np.bincount(rows, minlength=voters.size)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Regressions(voters, starts, members.astype(np.int64), weights[rows, members], free)


def _measure(
    frame: Frame,
    estimate: Estimate,
    voters: Integers,
    undecided: NDArray[np.bool_],
    slopes: Floats,
    error: Floats,
) -> None:
    """Write the undecided pairs' slopes, measured in float64, and their errors: none."""
    chosen = np.flatnonzero(undecided.any(axis=1))
    if chosen.size == 0:
        return
    weights = estimate.weights[voters[chosen]]
    mask = (weights != 0) | undecided[chosen]
    rows, members = np.nonzero(mask)
    starts = np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64)
    block = Regressions(
        voters[chosen],
        starts,
        members.astype(np.int64),
        weights[rows, members],
        estimate.free[voters[chosen]],
    )
    sums = Sums(np.zeros(members.size), np.zeros((chosen.size, 2)), np.zeros(chosen.size))
    frame.rows.slopes(block, np.arange(chosen.size, dtype=np.int64), True, sums)
    exact = sums.slopes / frame.moments.totals[voters[chosen[rows]]]
    slopes[chosen[rows], members] = exact
    error[chosen[rows], members] = 0.0

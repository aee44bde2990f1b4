"""Proximal Newton on working sets: a block of regressions from its start to its optimum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels.l1_logistic import Regressions, Sums
from unelisa.kernels.prox_newton import (
    AGAIN,
    DONE,
    FAILED,
    REBUILD,
    STEP,
    Walk,
    finish_hessians,
    judge,
    step_all,
)
from unelisa.solvers.base import Floats
from unelisa.solvers.passes import place_squares
from unelisa.solvers.rows import SAMPLE, Moments, Rows

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Frame:
    """What stays the same for every block of one solve."""

    rows: Rows
    moments: Moments
    penalties: Floats
    ratios: Floats  # r_st, or empty for ones
    fitted: Integers  # 1 where the intercept and the extra column are fitted
    inside: NDArray[np.bool_]  # voters in the design
    plain: bool  # every voter voted on every item, and items have no weights
    tol: float
    exact: bool = False  # whether the losses are wanted, hence float64 in each last pass

    def limits(self, voters: Integers) -> Floats:
        """Return lambda_s r_st, voters x all voters; infinite where no edge may be."""
        limits = np.repeat(self.penalties[voters, None], self.rows.n_voters, axis=1)
        if self.ratios.size:
            limits *= self.ratios[voters]
        limits[:, ~self.inside] = np.inf
        limits[np.arange(len(voters)), voters] = np.inf
        return limits


def begin_walk(frame: Frame, block: Regressions, limits: Floats) -> Walk:
    """Return the state of a block before its first pass; `limits` per member."""
    n_members, n_regressions = block.members.size, block.voters.size
    places = place_squares(block)

    def blank(value: float = 0.0) -> Floats:
        return np.full(n_regressions, value)

    def zeros() -> Integers:
        return np.zeros(n_regressions, dtype=np.int64)

    return Walk(
        theta=block.theta.copy(),
        free=block.free.copy(),
        slopes=np.zeros(n_members),
        free_slopes=np.zeros((n_regressions, 2)),
        steps=np.zeros(n_members),
        free_steps=np.zeros((n_regressions, 2)),
        limits=limits,
        hessians=np.empty(places[-1]),
        places=places,
        totals=frame.moments.totals[block.voters],
        penalties=frame.penalties[block.voters],
        objective=blank(np.nan),
        residual=blank(np.inf),
        bound=blank(np.inf),
        promise=blank(),
        length=blank(),
        status=zeros() + AGAIN,
        precise=zeros(),
        careful=zeros(),
        passes=zeros(),
    )


def descend(frame: Frame, block: Regressions, limits: Floats) -> tuple[Walk, Sums]:
    """Walk the block's regressions to their optimum on their members; return state and last sums.

    All regressions go in step, so that one pass over the items serves all that are still walking.
    The goal is .8 tol, in float64 or with float32's error bound counted in.
    """
    walk = begin_walk(frame, block, limits)
    n = block.voters.size
    sums = Sums(np.zeros(block.members.size), np.zeros((n, 2)), np.zeros(n))
    active = np.arange(n, dtype=np.int64)
    share = min(1.0, SAMPLE / max(frame.rows.n_items, 1))
    while active.size:
        for precise in (0, 1):
            chosen = active[walk.precise[active] == precise]
            if chosen.size:
                frame.rows.slopes(block, chosen, bool(precise), sums)
        judge(walk, block, sums, active, frame.fitted, share, frame.exact, 0.8 * frame.tol)
        rebuild = active[walk.status[active] == REBUILD]
        if rebuild.size:
            _rebuild(frame, block, walk, rebuild)
        status = walk.status[active]
        step_all(walk, block, active[(status == STEP) | (status == REBUILD)], frame.fitted)
        status = walk.status[active]
        active = active[(status != DONE) & (status != FAILED)]
    return walk, sums


def _rebuild(frame: Frame, block: Regressions, walk: Walk, chosen: Integers) -> None:
    """Write the chosen regressions' Hessians at their accepted points.

    Quick ones take a sample of the items; where nobody abstained it corrects the exact second
    moments. Careful ones take all items, with a curvature of at least a tenth of the violation:
    where items are saturated on the wrong side their loss is linear, and Newton's step endless.
    """
    moments = frame.moments
    for careful in (0, 1):
        some = chosen[walk.careful[chosen] == careful]
        if some.size == 0:
            continue
        deficit = frame.plain and not careful
        counts = None if careful else moments.counts[block.voters]
        floors = np.full(block.voters.size, -1.0 if deficit else 0.0)
        if careful:
            floors = 0.1 * np.minimum(1.0, walk.residual * walk.penalties)
        mass = frame.rows.curvatures(block, some, counts, floors, walk.places, walk.hessians)
        finish_hessians(
            walk, block, some, mass, deficit, moments.agreement, moments.cross, moments.corner
        )

"""Every sum over the items that the working-set solver needs, wherever the items live.

The solver never reads a vote: it asks `Rows`, which asks the blocks of items for a pass.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks
from unelisa.kernels.l1_logistic import Regressions, Sums
from unelisa.solvers.base import Floats, L1Problem
from unelisa.solvers.optimality import column_scale
from unelisa.solvers.passes import (
    Sampling,
    measure_all_slopes,
    measure_curvatures,
    measure_drift,
    measure_moments,
    measure_slopes,
)

Integers = NDArray[np.int64]

SAMPLE = 4096  # items whose curvature makes a quick Hessian; 8,192 save no pass


class Moments(NamedTuple):
    """Second moments of the design over all items, divided by W = sum_i w_i; and the counts."""

    agreement: Floats  # voters x voters: sum_i w_i f_is f_it
    cross: Floats  # voters x 2: with 1 and with the extra column
    corner: Floats  # 2 x 2: 1 and the extra column among themselves
    total: float  # W
    totals: Floats  # W_s: over the items on which s voted
    means: Floats  # sum_i w_i f_is / W_s
    counts: Integers  # items on which s voted
    varied: NDArray[np.bool_]  # voters with both votes among the items with weight


@dataclass(frozen=True)
class Rows:
    """The items of a problem. The extra column is scaled to a root mean square of 1.

    Attributes
    ----------
    blocks
        Where the items live.
    weights, column
        w_i and x_i per item; empty where the problem has none.
    n_threads
        Threads of this process.
    """

    blocks: ItemBlocks
    weights: Floats
    column: Floats
    n_threads: int

    @classmethod
    def of(cls, problem: L1Problem, n_threads: int) -> "Rows":
        """Return the problem's rows."""
        none = np.empty(0)
        weights = none if problem.item_weights is None else problem.item_weights
        column = none if problem.column is None else problem.column / column_scale(problem)
        return cls(problem.blocks.using(n_threads), weights, column, n_threads)

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return self.blocks.n_items

    @property
    def n_voters(self) -> int:
        """Return the number of voters."""
        return self.blocks.n_voters

    def moments(self) -> Moments:
        """Return the design's second moments; exact counts where the items have no weights."""
        # where there is one block, threads share out the voters within it
        inner = self.n_threads if self.blocks.whole else 1
        sums, counts, firsts, corner = self._sum(measure_moments, inner)
        total = float(corner[0, 0]) if corner[0, 0] > 0 else 1.0
        corner[0, 0] = total
        totals = np.where(firsts[:, 0] > 0, firsts[:, 0], 1.0)
        return Moments(
            sums / total,
            firsts[:, 1:3] / total,
            corner / total,
            total,
            totals,
            firsts[:, 1] / totals,
            counts[:, 0].copy(),
            (firsts[:, 3] > 0) & (firsts[:, 4] > 0),
        )

    def slopes(self, block: Regressions, chosen: Integers, precise: bool, sums: Sums) -> None:
        """Write the members' slopes and the loss of the chosen regressions; see `Sums`."""
        found = Sums(*self._sum(measure_slopes, block, chosen, precise))
        if chosen.size == block.voters.size:
            for own, new in zip(sums, found, strict=True):
                own[:] = new
            return
        members = _members_of(block, chosen)
        sums.slopes[members] = found.slopes[members]
        sums.free[chosen] = found.free[chosen]
        sums.loss[chosen] = found.loss[chosen]

    def curvatures(
        self,
        block: Regressions,
        chosen: Integers,
        counts: Integers | None,
        floors: Floats,
        places: Integers,
        out: Floats,
    ) -> Floats:
        """Write the chosen regressions' summed curvature, see `add_curvatures`; return its mass.

        With `counts` of votes per regression: over about SAMPLE of them, in float32; with None:
        over all items, in float64.
        """
        n = block.voters.size
        strides = np.ones(n, np.int64) if counts is None else np.maximum(1, -(-counts // SAMPLE))
        some = block if chosen.size == n else _take(block, chosen)
        squares, masses = self._sum(
            measure_curvatures, some, Sampling(strides[chosen], counts is None), floors[chosen]
        )
        if chosen.size == n:
            out[:] = squares
            return masses
        first = 0
        for q in chosen:
            size = places[q + 1] - places[q]
            out[places[q] : places[q + 1]] = squares[first : first + size]
            first += size
        mass = np.zeros(n)
        mass[chosen] = masses
        return mass

    def all_slopes(self, block: Regressions) -> Floats:
        """Return sum_i r_i f_it for every regression of the block and every voter t."""
        return self._sum(measure_all_slopes, block)[0]

    def drift(self, old: Regressions, new: Regressions) -> Floats:
        """Return per regression the sums of w dt^2, w dt dz, w dz^2 between two points."""
        return self._sum(measure_drift, old, new)[0]

    def _sum(self, function: Callable[..., Any], *parameters: Any) -> tuple[NDArray[Any], ...]:
        return self.blocks.sum(function, *parameters, per_item=(self.weights, self.column))


def _members_of(block: Regressions, chosen: Integers) -> Integers:
    """Return the places of the chosen regressions' members."""
    sizes = np.diff(block.starts)[chosen]
    ends = np.cumsum(sizes)
    return np.repeat(block.starts[chosen] - ends + sizes, sizes) + np.arange(ends[-1])


def _take(block: Regressions, chosen: Integers) -> Regressions:
    """Return the chosen regressions alone."""
    members = _members_of(block, chosen)
    starts = np.concatenate([[0], np.cumsum(np.diff(block.starts)[chosen])]).astype(np.int64)
    return Regressions(
        block.voters[chosen],
        starts,
        block.members[members],
        block.theta[members],
        block.free[chosen],
    )

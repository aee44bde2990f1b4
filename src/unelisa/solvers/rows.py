"""Every sum over the items that the working-set solver needs, for votes in memory.

The solver never reads a vote: it asks `Rows`. Another place for the rows (a file, a cluster, a GPU)
is another class with these methods.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels.agreement import (
    add_complete,
    add_incomplete,
    count_votes,
    pack_votes,
    sum_weighted,
    widen_votes,
)
from unelisa.kernels.curvature import add_curvatures, add_drift
from unelisa.kernels.l1_logistic import (
    CHUNK,
    Items,
    Regressions,
    Sums,
    add_slopes,
    fill_residuals,
)
from unelisa.kernels.threads import run_threads
from unelisa.solvers.base import Floats, L1Problem
from unelisa.solvers.optimality import column_scale

Integers = NDArray[np.int64]

PACKED = 1 << 17  # items packed into bits at once: 16 KB per voter and plane
PANEL = 32  # voters whose agreements one thread counts at once
STREAM = 2048  # items per matrix product; 1,400 voters of them in float32 are 11 MB
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
    """The items in memory. The extra column is scaled to a root mean square of 1."""

    items: Items
    n_threads: int

    @classmethod
    def of(cls, problem: L1Problem, n_threads: int) -> "Rows":
        """Return the problem's rows; votes that are not voter-contiguous int8 are copied."""
        none = np.empty(0)
        weights = none if problem.item_weights is None else problem.item_weights
        column = none if problem.column is None else problem.column / column_scale(problem)
        items = Items(
            np.ascontiguousarray(problem.votes.T, dtype=np.int8).view(),
            np.ascontiguousarray(weights, dtype=np.float64).view(),
            np.ascontiguousarray(column, dtype=np.float64).view(),
        )
        # Numba compiles anew for read-only arrays (joblib sends such): always hand it those
        for array in items:
            array.flags.writeable = False
        return cls(items, n_threads)

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return int(self.items.votes.shape[1])

    @property
    def n_voters(self) -> int:
        """Return the number of voters."""
        return int(self.items.votes.shape[0])

    def moments(self) -> Moments:
        """Return the design's second moments; exact counts where the items have no weights."""
        sums, counts = self._count_agreements()
        column, weights = self.items.column, self.items.weights
        firsts = np.zeros((self.n_voters, 5))
        if weights.size or column.size:
            sum_weighted(self.items.votes, weights, column, firsts)
        else:
            cast, above = counts.T
            firsts.T[:] = cast, 2 * above - cast, np.zeros(cast.size), above, cast - above
        if weights.size:
            sums = self._sum_agreements()
        total = float(weights.sum()) if weights.size else float(self.n_items)
        total = total if total > 0 else 1.0
        weighted = weights * column if weights.size and column.size else column
        corner = np.array(
            [[total, weighted.sum()], [weighted.sum(), weighted @ column if column.size else 0.0]]
        )
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

    def _count_agreements(self) -> tuple[NDArray[np.float64], Integers]:
        """Return sum_i f_is f_it (zeros where items have weights), and the counts of votes."""
        n_voters = self.n_voters
        sums = np.zeros((n_voters, n_voters), dtype=np.int64)
        counts = np.zeros((n_voters, 2), dtype=np.int64)
        for low in range(0, self.n_items, PACKED):
            high = min(low + PACKED, self.n_items)
            above = np.empty((n_voters, -(-(high - low) // 64)), dtype=np.uint64)
            voted = np.empty_like(above)
            before = int(counts[:, 0].sum())
            pack_votes(self.items.votes, low, high, above, voted)
            count_votes(above, voted, counts)
            if self.items.weights.size:
                continue
            complete = int(counts[:, 0].sum()) - before == (high - low) * n_voters
            self._add_panels(above, voted, high - low if complete else 0, sums)
        upper = np.triu(sums, 1)
        return (upper + upper.T + np.diag(np.diag(sums))).astype(np.float64), counts

    def _add_panels(
        self, above: NDArray[np.uint64], voted: NDArray[np.uint64], n_items: int, sums: Integers
    ) -> None:
        """Add the packed items' agreements; n_items > 0 says that nobody abstained on them."""

        def add(first: int) -> None:
            last = min(first + PANEL, self.n_voters)
            if n_items:
                add_complete(above, n_items, first, last, sums)
            else:
                add_incomplete(above, voted, first, last, sums)

        run_threads(add, range(0, self.n_voters, PANEL), self.n_threads)

    def _sum_agreements(self) -> Floats:
        """Return sum_i w_i f_is f_it by matrix products; float32, good for a start and Hessians."""
        n_voters = self.n_voters
        sums = np.zeros((n_voters, n_voters))
        wide = np.empty((n_voters, min(STREAM, self.n_items)), dtype=np.float32)
        for low in range(0, self.n_items, STREAM):
            high = min(low + STREAM, self.n_items)
            widen_votes(self.items.votes, low, high, wide)
            votes = wide[:, : high - low]
            sums += (votes * self.items.weights[low:high].astype(np.float32)) @ votes.T
        return sums

    def slopes(self, block: Regressions, chosen: Integers, precise: bool, sums: Sums) -> None:
        """Write the members' slopes and the loss of the chosen regressions; see `Sums`."""
        buffer = np.empty(CHUNK, dtype=np.float64 if precise else np.float32)
        add_slopes(self.items, block, chosen, buffer, sums)

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
        buffer = np.empty(CHUNK, dtype=np.float64 if counts is None else np.float32)
        strides = np.ones(n, np.int64) if counts is None else np.maximum(1, -(-counts // SAMPLE))
        mass = np.zeros(n)
        add_curvatures(self.items, block, chosen, strides, floors, buffer, places, out, mass)
        return mass

    def all_slopes(self, block: Regressions) -> Floats:
        """Return sum_i r_i f_it for every regression of the block and every voter t.

        One float32 matrix product per chunk of items, added up in float64.
        """
        n_regressions = block.voters.size
        length = min(STREAM, self.n_items)
        sums = np.zeros((n_regressions, self.n_voters))
        wide = np.empty((self.n_voters, length), dtype=np.float32)
        residuals = np.empty((n_regressions, length), dtype=np.float32)
        for low in range(0, self.n_items, STREAM):
            high = min(low + STREAM, self.n_items)
            widen_votes(self.items.votes, low, high, wide)
            fill_residuals(self.items, block, low, high, residuals)
            sums += residuals[:, : high - low] @ wide[:, : high - low].T
        return sums

    def drift(self, old: Regressions, new: Regressions, chosen: Integers) -> Floats:
        """Return per regression the sums of w dt^2, w dt dz, w dz^2 between two points."""
        out = np.zeros((new.voters.size, 3))
        buffers = np.empty((4, CHUNK), dtype=np.float32)
        add_drift(self.items, old, new, chosen, buffers, out)
        return out

"""Every voter's l1-penalized logistic regression: the problem, its solution and its certificate.

    (1/W_s) sum_i w_i log(1 + exp(-2 f_is z_is)) + lambda_s sum_t |theta_st|
    z_is = b_s + sum_{t != s} theta_st f_it

is minimized over theta_s and b_s: (3.6), its first sign corrected, over the items on which s voted,
W_s the sum of their weights. Constant voters leave the design: their optimum is at infinity.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ConvergenceWarning, ModelError, warn_user
from unelisa.kernels.curvature import add_curvatures
from unelisa.kernels.l1_logistic import (
    CHUNK,
    Items,
    Rare,
    Regressions,
    Sums,
    add_listed,
    add_scores,
    fill_residuals,
    list_rare,
)
from unelisa.kernels.tally import Bits, add_complete, add_incomplete, pack_votes, widen_votes
from unelisa.kernels.threads import one_blas_thread, run_threads
from unelisa.votes.blocks import Block, ItemBlocks, WholeTable, as_dense, mark_starts, tally_votes

Floats = NDArray[np.float64]

ROWS = 4096  # items at a time: 4,096 items x 1,400 voters in float64 are 46 MB


@dataclass(frozen=True)
class L1Problem:
    """All voters' regressions together."""

    # items x voters, int8 in {-1, 0, +1}: blocks, or a table in memory
    votes: ItemBlocks | NDArray[np.int8]
    penalties: Floats  # lambda_s per voter, in theta units (logit = 2 z)
    fit_intercept: bool = True  # whether b_s is fitted; otherwise it stays 0
    # largest accepted violation of the optimality conditions, in units of lambda_s
    tol: float = 1e-3
    item_weights: Floats | None = None  # w_i >= 0 per item, or None for ones
    n_jobs: int | None = None  # number of threads, as in scikit-learn
    names: Sequence[str] | None = None  # the voters' names in warnings, or None for their indices

    @cached_property
    def blocks(self) -> ItemBlocks:
        """The votes in blocks; a table is one block, with one voter contiguous."""
        votes = self.votes
        return WholeTable(as_dense(votes)) if isinstance(votes, np.ndarray) else votes

    def __post_init__(self) -> None:
        n_items, n_voters = self.votes.shape
        for field, shape in {"penalties": (n_voters,), "item_weights": (n_items,)}.items():
            value = getattr(self, field)
            if value is not None and value.shape != shape:
                raise ModelError(f"{field} must have shape {shape}, found {value.shape}")
        if not np.all((self.penalties > 0) & np.isfinite(self.penalties)):
            raise ModelError("penalties must be positive and finite")
        if self.item_weights is not None and not np.all(
            (self.item_weights >= 0) & np.isfinite(self.item_weights)
        ):
            raise ModelError("item_weights must be zero or positive and finite")


@dataclass(frozen=True)
class L1Solution:
    """The regressions' coefficients and the certificate that they are optimal."""

    weights: Floats  # theta_st, row s = voter s's regression, diagonal 0
    intercepts: Floats  # b_s per voter
    kkt: Floats  # largest violation of the optimality conditions per voter, in units of lambda_s
    n_iter: NDArray[np.int64]  # passes over the items per voter

    def copy(self) -> "L1Solution":
        """Return a solution with arrays of its own."""
        return L1Solution(*(array.copy() for array in vars(self).values()))

    def missed(self, tol: float) -> NDArray[np.intp]:
        """Return the voters whose certificate is worse than `tol`."""
        return np.flatnonzero(~(self.kkt <= tol))


class Solver(Protocol):
    """Anything that solves an `L1Problem`."""

    def solve(self, problem: L1Problem) -> L1Solution:
        """Return the minimizer for every voter, with its certificate."""
        ...


def warn_missed(problem: L1Problem, solution: L1Solution) -> None:
    """Emit a `ConvergenceWarning` that names the voters whose certificate exceeds the tolerance."""
    missed = solution.missed(problem.tol)
    if missed.size == 0:
        return
    shown = [str(s) if problem.names is None else problem.names[s] for s in missed[:10]]
    more = f" and {missed.size - 10} more" if missed.size > 10 else ""
    warn_user(
        f"the regressions of voters {', '.join(shown)}{more} did not reach the tolerance "
        f"{problem.tol:g} (worst violation {np.max(solution.kkt[missed]):.3g} lambda): raise tol "
        "or the penalty",
        ConvergenceWarning,
    )


def design_voters(problem: L1Problem) -> NDArray[np.bool_]:
    """Return which voters stay in the design: those with both votes on items of positive weight."""
    weights = np.ones(len(problem.votes)) if problem.item_weights is None else problem.item_weights
    signed, cast = problem.blocks.tally((weights > 0).astype(np.float64))
    return np.abs(signed) < cast


def scores(problem: L1Problem, weights: Floats, intercepts: Floats) -> tuple[Floats, Floats]:
    """Return minus the loss's gradient in theta (row s: voter s) and in b."""
    table = problem.blocks.table("the certificate by definition")
    n_items, n_voters = table.shape
    edges = np.zeros((n_voters, n_voters))
    ones, totals = np.zeros(n_voters), np.zeros(n_voters)
    for low in range(0, n_items, ROWS):
        votes = table[low : low + ROWS].astype(np.float64)
        z = votes @ weights.T + intercepts
        counted = np.abs(votes)
        if problem.item_weights is not None:
            counted *= problem.item_weights[low : low + ROWS, None]
        residual = counted * (votes - np.tanh(z))
        edges += residual.T @ votes
        ones += residual.sum(axis=0)
        totals += counted.sum(axis=0)
    totals[totals == 0] = 1.0
    return edges / totals[:, None], ones / totals


def optimality(problem: L1Problem, weights: Floats, intercepts: Floats) -> Floats:
    """Return the largest violation of the optimality conditions per voter, in units of lambda_s."""
    edges, ones = scores(problem, weights, intercepts)
    inside, penalties = design_voters(problem), problem.penalties[:, None]
    moved = np.abs(edges - penalties * np.sign(weights))
    excess = np.where(weights != 0, moved, np.maximum(np.abs(edges) - penalties, 0.0)) / penalties
    np.fill_diagonal(excess, 0.0)
    kkt = np.max(excess, axis=1, where=inside[None, :], initial=0.0)
    if problem.fit_intercept:
        kkt = np.maximum(kkt, np.abs(ones) / problem.penalties)
    return np.where(inside, kkt, 0.0)


Integers = NDArray[np.int64]

SAMPLE = 4096  # items whose curvature makes a quick Hessian; 8,192 save no pass
RARE = 0.1  # share of a voter's rare votes up to which these are listed, two bytes each
PACKED = 1 << 17  # items packed into bits at once: 16 KB per voter and plane
PANEL = 32  # voters whose agreements one thread counts at once
STREAM = CHUNK  # items per matrix product; 1,400 voters of them in float32 are 11 MB


class Moments(NamedTuple):
    """First and second moments of the design over all items, and the counts of votes."""

    agreement: Floats  # voters x voters: sum_i w_i f_is f_it / W
    firsts: Floats  # sum_i w_i f_is / W
    total: float  # W = sum_i w_i
    totals: Floats  # W_s: over the items on which s voted
    means: Floats  # sum_i w_i f_is / W_s
    counts: Integers  # items on which s voted
    varied: NDArray[np.bool_]  # voters with both votes among the items of positive weight


NONE_LISTED = Rare(np.empty(0, np.int8), np.zeros((0, 1), np.int64), np.empty(0, np.uint16))


@dataclass(frozen=True)
class Rows:
    """The items of a problem."""

    blocks: ItemBlocks  # where the items live
    weights: Floats  # w_i per item; empty for ones
    n_threads: int  # threads of this process
    rare: Rare = NONE_LISTED

    @classmethod
    def of(cls, problem: L1Problem, n_threads: int) -> "Rows":
        """Return the problem's rows."""
        weights = np.empty(0) if problem.item_weights is None else problem.item_weights
        return cls(problem.blocks.using(n_threads), weights, n_threads)

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return self.blocks.n_items

    @property
    def n_voters(self) -> int:
        """Return the number of voters."""
        return self.blocks.n_voters

    def moments(self) -> Moments:
        """Return the design's moments; exact counts where the items have no weights."""
        # where there is one block, threads share the voters within it
        inner = self.n_threads if self.blocks.whole else 1
        sums, counts, firsts, weight = self._sum(measure_moments, inner)
        total = float(weight) if weight > 0 else 1.0
        totals = np.where(firsts[:, 0] > 0, firsts[:, 0], 1.0)
        return Moments(
            sums / total,
            firsts[:, 1] / total,
            total,
            totals,
            firsts[:, 1] / totals,
            counts[:, 0].copy(),
            (firsts[:, 2] > 0) & (firsts[:, 3] > 0),
        )

    def listing(self, moments: Moments) -> "Rows":
        """Return the rows, in memory with the rare votes of those who never abstained listed."""
        often = (moments.counts == self.n_items) & (np.abs(moments.means) >= 1 - 2 * RARE)
        if not self.blocks.whole or not often.any():
            return self
        usual = np.where(often, np.sign(moments.means), 0).astype(np.int8)
        (block,) = self.blocks  # votes in memory are one block
        return replace(self, rare=list_rare(items_of(block, self.weights).votes, usual))

    def scores(self, batch: Regressions, precise: bool) -> Sums:
        """Return the scores and the loss of every regression on its members; see `Sums`."""
        return Sums(*self._sum(measure_scores, self.rare, batch, precise))

    def curvatures(
        self, batch: Regressions, counts: Integers | None, floors: Floats, sample: int = SAMPLE
    ) -> tuple[Floats, Floats]:
        """Return the regressions' summed curvatures, see `add_curvatures`, and their mass."""
        precise = counts is None
        strides = np.ones(batch.voters.size, np.int64)
        if counts is not None:
            strides = np.maximum(1, -(-counts // sample))
        parameters = self.rare, batch, (strides, floors), precise
        squares, mass = self._sum(measure_curvatures, *parameters)
        return squares, mass

    def all_scores(self, batch: Regressions) -> Floats:
        """Return sum_i r_i f_it for every regression of the batch and every voter t."""
        return self._sum(measure_all_scores, self.rare, batch)[0]

    def _sum(self, function: Callable[..., Any], *parameters: Any) -> tuple[NDArray[Any], ...]:
        return self.blocks.sum(function, *parameters, per_item=(self.weights,))


def gather(
    voters: Integers, members: NDArray[np.bool_], weights: Floats, intercepts: Floats
) -> Regressions:
    """Return the voters' regressions on the members marked in each row."""
    rows, columns = np.nonzero(members)
    starts = mark_starts(members.sum(axis=1))
    return Regressions(voters, starts, columns.astype(np.int64), weights[rows, columns], intercepts)


def take(batch: Regressions, chosen: Integers) -> Regressions:
    """Return the chosen regressions alone."""
    if chosen.size == batch.voters.size:
        return batch
    members = spread(batch.starts, chosen)
    return Regressions(
        batch.voters[chosen],
        mark_starts(np.diff(batch.starts)[chosen]),
        batch.members[members],
        batch.theta[members],
        batch.intercepts[chosen],
    )


def spread(starts: Integers, chosen: Integers) -> Integers:
    """Return the places of all entries of the chosen runs, given where every run starts."""
    sizes = np.diff(starts)[chosen]
    ends = np.cumsum(sizes)
    return np.repeat(starts[chosen] - ends + sizes, sizes) + np.arange(ends[-1])


def place_squares(batch: Regressions) -> Integers:
    """Return where each regression's square (members, 1) begins in one flat array."""
    return mark_starts((np.diff(batch.starts) + 1) ** 2)


def items_of(block: Block, weights: Floats, rare: Rare = NONE_LISTED) -> Items:
    """Return the block for the kernels; votes that are not voter-contiguous int8 are copied."""
    weights = np.ascontiguousarray(weights, dtype=np.float64).view()
    arrays: list[Any] = [as_dense(block.votes).T, weights, *(array.view() for array in rare)]
    # Numba compiles separately for read-only arrays, which joblib sends: always pass those
    for array in arrays:
        array.flags.writeable = False
    return Items(arrays[0], arrays[1], Rare(*arrays[2:]))


def measure_moments(
    block: Block, weights: Floats, n_threads: int
) -> tuple[Floats, Integers, Floats, Floats]:
    """Return the sums behind `Moments`."""
    items = items_of(block, weights)
    agreements, counts = _count_agreements(items, n_threads)
    if weights.size:
        signed, cast = tally_votes(block.votes, weights)
        side, seen = tally_votes(block.votes, (weights > 0).astype(np.float64))
        firsts = np.column_stack([cast, signed, (seen + side) / 2, (seen - side) / 2])
        return _sum_agreements(items), counts, firsts, np.asarray(weights.sum())
    cast, above = counts.T
    firsts = np.column_stack([cast, 2 * above - cast, above, cast - above]).astype(np.float64)
    return agreements.astype(np.float64), counts, firsts, np.asarray(float(items.votes.shape[1]))


def _count_agreements(items: Items, n_threads: int) -> tuple[Integers, Integers]:
    """Return sum_i f_is f_it (zeros where items have weights), and the counts of votes."""
    n_voters, n_items = items.votes.shape
    sums = np.zeros((n_voters, n_voters), dtype=np.int64)
    counts = np.zeros((n_voters, 2), dtype=np.int64)
    for low in range(0, n_items, PACKED):
        high = min(low + PACKED, n_items)
        above = np.empty((n_voters, -(-(high - low) // 64)), dtype=np.uint64)
        voted = np.empty_like(above)
        before = int(counts[:, 0].sum())
        pack_votes(items.votes, low, high, above, voted)
        for column, bits in enumerate((voted, above)):
            counts[:, column] += np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        if items.weights.size:
            continue
        complete = int(counts[:, 0].sum()) - before == (high - low) * n_voters
        _add_panels(above, voted, high - low if complete else 0, sums, n_threads)
    upper = np.triu(sums, 1)
    return upper + upper.T + np.diag(np.diag(sums)), counts


def _add_panels(above: Bits, voted: Bits, n_items: int, sums: Integers, n_threads: int) -> None:
    """Add the packed items' agreements; n_items > 0 means that nobody abstained on them."""
    n_voters = len(above)

    def add(first: int) -> None:
        last = min(first + PANEL, n_voters)
        if n_items:
            add_complete(above, n_items, first, last, sums)
        else:
            add_incomplete(above, voted, first, last, sums)

    run_threads(add, range(0, n_voters, PANEL), n_threads)


def _sum_agreements(items: Items) -> Floats:
    """Return sum_i w_i f_is f_it by float32 matrix products: enough for a start and Hessians."""
    n_voters, n_items = items.votes.shape
    sums, everyone = np.zeros((n_voters, n_voters)), np.arange(n_voters)
    wide = np.empty((n_voters, min(STREAM, n_items)), dtype=np.float32)
    with one_blas_thread():
        for low in range(0, n_items, STREAM):
            high = min(low + STREAM, n_items)
            widen_votes(items.votes, everyone, low, high, wide)
            votes = wide[:, : high - low]
            sums += (votes * items.weights[low:high].astype(np.float32)) @ votes.T
    return sums


def measure_scores(
    block: Block, weights: Floats, rare: Rare, batch: Regressions, precise: bool
) -> Sums:
    """Return the scores and the loss of every regression on its members."""
    sums = Sums.zeros(batch)
    buffer = np.empty(CHUNK, dtype=np.float64 if precise else np.float32)
    add_scores(items_of(block, weights, rare), batch, buffer, sums)
    return sums


def measure_curvatures(
    block: Block,
    weights: Floats,
    rare: Rare,
    batch: Regressions,
    sampling: tuple[Integers, Floats],
    precise: bool,
) -> tuple[Floats, Floats]:
    """Return the regressions' summed curvatures, see `add_curvatures`, and their mass."""
    strides, floors = sampling
    places = place_squares(batch)
    out, mass = np.empty(places[-1]), np.zeros(batch.voters.size)
    steps = np.column_stack([-(block.start // CHUNK) % strides, strides])
    buffer = np.empty(CHUNK, dtype=np.float64 if precise else np.float32)
    items = items_of(block, weights, rare)
    add_curvatures(items, batch, steps, floors, buffer, places, out, mass)
    return out, mass


def measure_all_scores(
    block: Block, weights: Floats, rare: Rare, batch: Regressions
) -> tuple[Floats]:
    """Return sum_i r_i f_it for every regression and voter t, by float32 products of chunks."""
    items = items_of(block, weights, rare)
    n_voters, n_items = items.votes.shape
    n_regressions, length = batch.voters.size, min(STREAM, n_items)
    dense = np.flatnonzero(rare.usual == 0) if rare.usual.size else np.arange(n_voters)
    sums, listed = np.zeros((n_regressions, dense.size)), np.zeros((n_voters, n_regressions))
    wide = np.empty((dense.size, length), dtype=np.float32)
    residuals = np.empty((n_regressions, length), dtype=np.float32)
    with one_blas_thread():
        for low in range(0, n_items, STREAM):
            high = min(low + STREAM, n_items)
            widen_votes(items.votes, dense, low, high, wide)
            fill_residuals(items, batch, low, high, residuals)
            sums += residuals[:, : high - low] @ wide[:, : high - low].T
            if dense.size < n_voters:
                add_listed(items, low, residuals[:, : high - low].T.copy(), listed)
    if dense.size == n_voters:
        return (sums,)
    listed[dense] = sums.T
    return (np.ascontiguousarray(listed.T),)

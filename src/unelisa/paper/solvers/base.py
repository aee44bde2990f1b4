"""Every voter's l1-penalized logistic regression: the problem, its solution and its certificate.

    (1/n_s) sum_i log(1 + exp(-2 f_is z_is)) + lambda_s sum_t |theta_st|
    z_is = b_s + sum_{t != s} theta_st f_it

is minimized over theta_s and b_s: (3.6), its first sign corrected, over the n_s items on which s
voted. Constant voters leave the design: their optimum is at infinity.
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
)
from unelisa.kernels.tally import Bits, add_complete, add_incomplete, widen_votes
from unelisa.kernels.threads import one_blas_thread, run_threads
from unelisa.votes.blocks import Block, ItemBlocks, WholeTable, as_dense, mark_starts

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
    n_jobs: int | None = None  # number of threads, as in scikit-learn
    names: Sequence[str] | None = None  # the voters' names in warnings, or None for their indices

    @cached_property
    def blocks(self) -> ItemBlocks:
        """The votes in blocks; a table is one block, with one voter contiguous."""
        votes = self.votes
        return WholeTable(as_dense(votes)) if isinstance(votes, np.ndarray) else votes

    def __post_init__(self) -> None:
        shape = self.votes.shape[1:]
        if self.penalties.shape != shape:
            raise ModelError(f"penalties must have shape {shape}, found {self.penalties.shape}")
        if not np.all((self.penalties > 0) & np.isfinite(self.penalties)):
            raise ModelError("penalties must be positive and finite")


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
    """Return which voters stay in the design: those who gave both votes."""
    signed, cast = problem.blocks.tally(np.ones(len(problem.votes)))
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
PACKED = 1 << 15  # items packed into bits at once: 4 KB per voter and plane
PANEL = 32  # voters whose agreements one thread counts at once
STREAM = CHUNK  # items per matrix product; 1,400 voters of them in float32 are 11 MB


class Moments(NamedTuple):
    """First and second moments of the design over all items, and the counts of votes."""

    agreement: Floats  # voters x voters: sum_i f_is f_it / n
    firsts: Floats  # sum_i f_is / n
    total: float  # n, at least 1
    totals: Floats  # n_s: items on which s voted, at least 1
    means: Floats  # sum_i f_is / n_s
    counts: Integers  # n_s
    varied: NDArray[np.bool_]  # voters with both votes


NONE_LISTED = Rare(np.empty(0, np.int8), np.zeros((0, 1), np.int64), np.empty(0, np.uint16))


@dataclass(frozen=True)
class Rows:
    """The items of a problem."""

    blocks: ItemBlocks  # where the items live
    n_threads: int  # threads of this process
    rare: Rare = NONE_LISTED

    @classmethod
    def of(cls, problem: L1Problem, n_threads: int) -> "Rows":
        """Return the problem's rows."""
        return cls(problem.blocks.using(n_threads), n_threads)

    @property
    def n_items(self) -> int:
        """Return the number of items."""
        return self.blocks.n_items

    @property
    def n_voters(self) -> int:
        """Return the number of voters."""
        return self.blocks.n_voters

    def moments(self) -> Moments:
        """Return the design's moments, from exact counts."""
        # where there is one block, threads share the voters within it
        inner = self.n_threads if self.blocks.whole else 1
        sums, counts, above = self._sum(measure_moments, inner)
        total, totals = float(max(self.n_items, 1)), np.maximum(counts, 1).astype(np.float64)
        signed, varied = 2.0 * above - counts, (above > 0) & (above < counts)
        return Moments(sums / total, signed / total, total, totals, signed / totals, counts, varied)

    def listing(self, moments: Moments) -> "Rows":
        """Return the rows, in memory with the rare votes of those who never abstained listed."""
        often = (moments.counts == self.n_items) & (np.abs(moments.means) >= 1 - 2 * RARE)
        if not self.blocks.whole or not often.any():
            return self
        usual = np.where(often, np.sign(moments.means), 0).astype(np.int8)
        (block,) = self.blocks  # votes in memory are one block
        return replace(self, rare=list_rare(items_of(block).votes, usual))

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
        return self.blocks.sum(function, *parameters)


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


def items_of(block: Block, rare: Rare = NONE_LISTED) -> Items:
    """Return the block for the kernels; votes that are not voter-contiguous int8 are copied."""
    items = Items(as_dense(block.votes).T, Rare._make(array.view() for array in rare))
    # Numba compiles separately for read-only arrays, which joblib sends: always pass those
    for array in (items.votes, *items.rare):
        array.flags.writeable = False
    return items


def list_rare(votes: NDArray[np.int8], usual: NDArray[np.int8]) -> Rare:
    """Return where the votes, voters x items, differ from the usual ones, where there are such."""
    edges = np.arange(0, votes.shape[1] + CHUNK, CHUNK)
    starts = np.zeros((len(votes), len(edges)), dtype=np.int64)
    places = [np.empty(0, dtype=np.uint16)]
    for s in np.flatnonzero(usual):
        rare = np.flatnonzero(votes[s] != usual[s])
        starts[s] = sum(map(len, places)) + np.searchsorted(rare, edges)
        places.append((rare % CHUNK).astype(np.uint16))
    return Rare(usual, starts, np.concatenate(places))


def measure_moments(block: Block, n_threads: int) -> tuple[Integers, Integers, Integers]:
    """Return sum_i f_is f_it, and per voter the number of votes, and of those that are yes."""
    votes = items_of(block).votes
    n_voters, n_items = votes.shape
    sums = np.zeros((n_voters, n_voters), dtype=np.int64)
    counts, yes = np.zeros((2, n_voters), dtype=np.int64)
    for low in range(0, n_items, PACKED):
        part = votes[:, low : low + PACKED]
        above, voted = pack_bits(part > 0), pack_bits(part != 0)
        cast = np.bitwise_count(voted).sum(axis=1, dtype=np.int64)
        counts += cast
        yes += np.bitwise_count(above).sum(axis=1, dtype=np.int64)
        complete = cast.sum() == part.size
        _add_panels(above, voted, part.shape[1] if complete else 0, sums, n_threads)
    upper = np.triu(sums, 1)
    return upper + upper.T + np.diag(np.diag(sums)), counts, yes


def pack_bits(flags: NDArray[np.bool_]) -> Bits:
    """Return flags, voters x items, as words of 64 bits; those beyond the items are 0."""
    packed = np.packbits(flags, axis=1, bitorder="little")
    words = np.zeros((len(flags), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    return words.view(np.uint64)


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


def measure_scores(block: Block, rare: Rare, batch: Regressions, precise: bool) -> Sums:
    """Return the scores and the loss of every regression on its members."""
    sums = Sums.zeros(batch)
    buffer = np.empty(CHUNK, dtype=np.float64 if precise else np.float32)
    add_scores(items_of(block, rare), batch, buffer, sums)
    return sums


def measure_curvatures(
    block: Block, rare: Rare, batch: Regressions, sampling: tuple[Integers, Floats], precise: bool
) -> tuple[Floats, Floats]:
    """Return the regressions' summed curvatures, see `add_curvatures`, and their mass."""
    strides, floors = sampling
    places = place_squares(batch)
    out, mass = np.empty(places[-1]), np.zeros(batch.voters.size)
    steps = np.column_stack([-(block.start // CHUNK) % strides, strides])
    buffer = np.empty(CHUNK, dtype=np.float64 if precise else np.float32)
    add_curvatures(items_of(block, rare), batch, steps, floors, buffer, places, out, mass)
    return out, mass


def measure_all_scores(block: Block, rare: Rare, batch: Regressions) -> tuple[Floats]:
    """Return sum_i r_i f_it for every regression and voter t, by float32 products of chunks."""
    items = items_of(block, rare)
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

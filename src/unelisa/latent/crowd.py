"""The votes as they are read: counts per voter, exact copies, and pairs of voters on a sample.

Copies must agree where they contradict the others on at least `DISSENTS` items: independent voters
do with a probability of 2^-10 at most if errors are no more probable than not.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.kernels.rank_one import descend_rank_one
from unelisa.votes.ballots import (
    Ballots,
    Floats,
    Sums,
    count_votes,
    keep_voters,
    split_run,
    take_ballots,
)
from unelisa.votes.blocks import ItemBlocks, KeptBlocks

Singles = NDArray[np.float32]
Heads = NDArray[np.int32]
Keys = NDArray[np.uint64]

MOST_DRAWN = 300_000  # items of a sample: as many as `consensus.FIT_VOTES`, of one vote each
LEAST_ITEMS = 500  # that are read, however many votes each has: relatives show on a hundred
DISSENTS = 10  # items on which copies contradict most of the others
MARK_BITS = 20  # of an item's random number: sums over 2^32 items stay exact
MET_ITEMS = 5  # items on which a pair must have met
MOST_VOTERS = 4000  # who are compared, the busiest: eight million pairs
STRIP = 4_000_000  # entries of voters x voters computed at a time
DENSE = 0.1  # share of votes cast above which a dense table is faster than a sparse one
SMALLEST_SPREAD = 0.05  # of a voter's residuals: one who never errs has no noise to correlate
FEW_PAIRS = 3
SHORT, LONG = 30, 53  # bits of marks: sums of 2^23 short ones stay exact, long ones are distinct
STEP = np.uint64(0x9E3779B97F4A7C15)  # of splitmix64
LEFT = 0.05  # share of the squared correlations that one factor leaves where there is a graph
SURE_FACTOR = 3.0  # standard errors by which these squares must also exceed chance
MAX_SWEEPS, TOL = 200, 1e-6


@dataclass(frozen=True, eq=False)
class Crowd:
    """The votes to be read, and what is known of them before."""

    ballots: ItemBlocks
    n_classes: int
    cast: Floats  # number of votes per voter and class
    common: float  # mean number of items that two voters share
    heads: Heads  # of each voter the first of its exact copies: itself, if it has none

    @classmethod
    def of(cls, ballots: ItemBlocks, n_classes: int) -> "Crowd":
        """Return the crowd of these votes."""
        cast, pairs = ballots.sum(count_votes, ballots.n_voters, n_classes)
        n_active = int(np.count_nonzero(cast.sum(axis=1)))
        common = float(pairs) / max(n_active * (n_active - 1), 1)
        return cls(ballots, n_classes, cast, common, find_copies(ballots, n_classes))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The items in the order in which samples take them, as far as any does."""
        return np.asarray(self.ballots.compute(order_items, self.cast))

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """Which voters are no copies of an earlier one."""
        return np.asarray(self.heads == np.arange(len(self.heads)))

    @property
    def votes(self) -> Floats:
        """Number of votes per voter."""
        return np.asarray(self.cast.sum(axis=1))

    @property
    def varied(self) -> NDArray[np.intp]:
        """The distinct voters who gave more than one answer."""
        return np.flatnonzero(((self.cast > 0).sum(axis=1) > 1) & self.distinct)

    def draw(self, most: int) -> "Sample":
        """Return at most so many items."""
        order = self.order if self.ballots.n_items > most else None
        run = draw_run(self.ballots, self.n_classes, most, order)
        return Sample(run, self.ballots.n_voters, self.ballots.n_threads)

    def draw_votes(self, most: int) -> "Sample":
        """Return items with about so many of all votes at most, but at least `LEAST_ITEMS`."""
        per_item = max(float(self.votes.sum()) / max(self.ballots.n_items, 1), 1.0)
        return self.draw(max(int(most / per_item), LEAST_ITEMS))


def order_items(ballots: ItemBlocks, cast: Floats) -> NDArray[np.intp]:
    """Return the items with the smallest keys, in rising order of these."""
    keys = number_items(ballots, cast)
    first = np.argpartition(keys, MOST_DRAWN)[:MOST_DRAWN] if len(keys) > MOST_DRAWN else None
    order = np.argsort(keys if first is None else keys[first])
    return order if first is None else np.asarray(first[order])


def number_items(ballots: ItemBlocks, cast: Floats) -> Keys:
    """Return a pseudo-random number per item that its votes determine, whatever the order."""
    n_voters, n_classes = cast.shape
    salts = _scatter(np.argsort(np.argsort(cast.sum(axis=0), kind="stable")))
    marks = ballots.concatenate(_mark_items, _join_classes(cast, salts), salts, SHORT)
    (table,) = ballots.sum(_sum_marked, n_voters, n_classes, per_item=(marks,))
    long = ballots.concatenate(_mark_items, _join_classes(table, salts), salts, LONG)
    order, marks = np.argsort(long, kind="stable"), long // (1 << LONG - SHORT)
    rising, before = marks[order], np.empty(len(marks), dtype=np.uint64)
    first = np.flatnonzero(np.append(True, rising[1:] != rising[:-1]))
    before[order] = np.arange(len(marks)) - np.repeat(first, np.diff(np.append(first, len(marks))))
    return _scatter(marks.astype(np.uint64) + before * STEP)


def _mark_items(ballots: Ballots, voters: Floats, salts: Keys, bits: int) -> Floats:
    """Return a mark of each item, of the marks of those who named each class. A pass."""
    cells = ballots.items * len(salts) + ballots.answer(len(salts))
    sums = np.bincount(cells, voters[ballots.voters], ballots.n_items * len(salts))
    return _join_classes(np.asarray(sums.reshape(-1, len(salts)), dtype=np.float64), salts, bits)


def _sum_marked(ballots: Ballots, marks: Floats, n_voters: int, n_classes: int) -> Sums:
    """Return the sum of the marks of the items on which a voter named a class. A pass."""
    cells = ballots.voters * np.intp(n_classes) + ballots.answer(n_classes)
    sums = np.bincount(cells, marks[ballots.items], n_voters * n_classes)
    return (np.asarray(sums.reshape(n_voters, n_classes), dtype=np.float64),)


def _join_classes(sums: Floats, salts: Keys, bits: int = SHORT) -> Floats:
    """Return a mark of each row, a whole number of so many bits."""
    scattered = _scatter(_scatter(sums) ^ salts).sum(axis=1, dtype=np.uint64)
    return np.asarray(_scatter(scattered) >> np.uint64(64 - bits), dtype=np.float64)


def _scatter(values: NDArray[Any]) -> Keys:
    """Return numbers that look random, equal ones for equal values: splitmix64."""
    keys = values.astype(np.uint64) + STEP
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys = (keys ^ (keys >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(keys ^ (keys >> np.uint64(31)))


def draw_run(
    ballots: ItemBlocks, n_classes: int, most: int, order: NDArray[np.intp] | None = None
) -> Ballots:
    """Return at most so many items, those with the smallest keys, as one run."""
    if ballots.n_items <= most:
        return take_ballots(ballots, np.arange(ballots.n_items))
    if order is None:
        cast, _ = ballots.sum(count_votes, ballots.n_voters, n_classes)
        order = ballots.compute(order_items, cast)
    return take_ballots(ballots, np.sort(order[:most]))


def draw_items(n_items: int, most: int) -> NDArray[np.intp]:
    """Return at most so many of the items, in rising order; the same ones every time."""
    if n_items <= most:
        return np.arange(n_items)
    return np.sort(np.random.default_rng(0).choice(n_items, most, replace=False))


class Pairs(NamedTuple):
    """The pairs of voters who met."""

    # first, second: the two voters, first < second, in rising order
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    common: Singles  # number of items on which both voted


class Sample:
    """Some items of a crowd in memory, as one block of votes, and the pairs of voters who met."""

    def __init__(self, ballots: Ballots, n_voters: int, n_threads: int = 1) -> None:
        self.ballots, self.n_voters = ballots, n_voters
        self.blocks = KeptBlocks(split_run(ballots), n_voters).using(n_threads)

    def tabulate(self) -> NDArray[np.int8]:
        """Return the votes as a table of items x voters."""
        values = np.zeros((self.ballots.n_items, self.n_voters), dtype=np.int8)
        values[self.ballots.items, self.ballots.voters] = self.ballots.votes
        return values

    @cached_property
    def compared(self) -> tuple[Heads, Ballots]:
        """The voters who are compared, the busiest, and their votes, who are numbered anew."""
        if self.n_voters <= MOST_VOTERS:
            return np.arange(self.n_voters, dtype=np.int32), self.ballots
        run, n = self.ballots, self.n_voters
        # which of equally busy ones depends on their votes
        numbers = np.random.default_rng(0).integers(1 << 20, size=run.n_items)
        marks = np.bincount(run.voters, run.votes * numbers[run.items], n)
        order = np.lexsort((marks, -np.bincount(run.voters, minlength=n)))
        voters = np.sort(order[:MOST_VOTERS]).astype(np.int32)
        run = keep_voters(run, np.isin(np.arange(n), voters))
        return voters, run._replace(voters=np.searchsorted(voters, run.voters).astype(np.int32))

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of voters who met on at least `MET_ITEMS` of these items."""
        (voters, run), found = self.compared, []
        for first, common in _multiply(run, np.ones(len(run.voters), np.float32), len(voters)):
            s, t = (common >= MET_ITEMS).nonzero()
            s, t = (side[s + first < t] for side in (s, t))
            found.append((s + first, t, _pick(common, s, t)))
        s, t, common = (np.concatenate(column) for column in zip(*found, strict=True))
        return Pairs(voters[s], voters[t], common)

    @cached_property
    def correlations(self) -> Singles:
        """The correlations of these pairs' votes, of two classes: means over common items."""
        (voters, run), n = self.compared, len(self.compared[0])
        counts = np.maximum(np.bincount(run.voters, minlength=n), 1)
        residuals = run.votes - (np.bincount(run.voters, run.votes, n) / counts)[run.voters]
        squares = np.bincount(run.voters, residuals**2, n)
        spread = np.maximum(np.sqrt(squares / counts), SMALLEST_SPREAD)
        scaled = (residuals / spread[run.voters]).astype(np.float32)
        s, t = (np.searchsorted(voters, one) for one in self.pairs[:2])
        together = np.zeros(len(s), dtype=np.float32)
        for first, products in _multiply(run, scaled, n):
            here = slice(*np.searchsorted(s, [first, first + products.shape[0]]))
            together[here] = _pick(products, s[here] - first, t[here])
        return together / self.pairs.common


def find_copies(ballots: ItemBlocks, n_classes: int = 2) -> Heads:
    """Return for every voter the first of its copies, itself if it has none."""
    sums = ballots.compute(mark_voters)
    table = np.stack(sums, axis=1)
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    own = np.arange(ballots.n_voters, dtype=np.int32)
    heads = np.where(sums[0] > 0, first[group], own).astype(np.int32)
    if np.array_equal(heads, own):
        return own
    dissents, apart = ballots.sum(_count_dissents, heads, n_classes)
    sure = (dissents >= DISSENTS) & (apart == 0)
    return np.where(sure[heads], heads, own)


def mark_voters(ballots: ItemBlocks) -> Sums:
    """Return number of votes and sums of random numbers of the items, by answer, per voter."""
    marks = np.random.default_rng(0).integers(1, 1 << MARK_BITS, (2, ballots.n_items))
    return ballots.sum(_sum_marks, ballots.n_voters, per_item=tuple(marks.astype(np.float64)))


def _sum_marks(
    ballots: Ballots, first: NDArray[np.float64], second: NDArray[np.float64], n_voters: int
) -> Sums:
    """Return the number of votes and sums of the items' marks, by answer, per voter. A pass."""
    items, voters, votes = ballots.items, ballots.voters, ballots.votes
    counts = np.bincount(voters, minlength=n_voters).astype(np.float64)
    marked = first[items] * votes, second[items] * votes, first[items]
    return counts, *(np.bincount(voters, part, n_voters).astype(np.float64) for part in marked)


def _count_dissents(ballots: Ballots, heads: Heads, n_classes: int) -> Sums:
    """Return on how many items the copies of a head contradict most others, and differ. A pass."""
    n_voters, n_cells = len(heads), ballots.n_items * n_classes
    answers = ballots.answer(n_classes)
    cells = ballots.items * n_classes + answers
    counts = np.bincount(cells, minlength=n_cells)
    next_most, most = np.sort(counts.reshape(-1, n_classes), axis=1)[:, -2:].T
    sizes = np.bincount(heads, minlength=n_voters)
    heard = heads[ballots.voters].astype(np.int64)
    shared = sizes[heard] > 1
    said, own = np.unique(heard[shared] * n_cells + cells[shared], return_counts=True)
    head, cell = np.divmod(said, max(n_cells, 1))
    item, answered = cell // n_classes, counts[cell]
    rest = np.where(answered == most[item], next_most[item], most[item])
    dissents = np.bincount(head, rest > answered - own, n_voters)
    apart = np.bincount(head, own != sizes[head], n_voters)
    return dissents.astype(np.float64), apart.astype(np.float64)


def measure_coherence(pairs: Pairs, correlations: Singles, weights: Floats | None = None) -> float:
    """Return the coherence kappa: how far the voters point the same way.

    kappa = sum w N C / sqrt(sum w N (sum w N C^2 - sum w)) over pairs with correlation C on N
    common items: about (2q - 1)^2 if a share q of the voters points the same way, however strongly.
    What is subtracted is what chance alone adds to the squares.
    """
    if len(correlations) < FEW_PAIRS:
        return 1.0
    weights = np.ones(len(correlations)) if weights is None else weights
    common, values = weights * pairs.common, correlations.astype(np.float64)
    total = float(weights.sum())
    excess = max(float(common @ values**2) - total, 0.05 * total)
    return float(common @ values / np.sqrt(common.sum() * excess))


def exceeds_factor(pairs: Pairs, correlations: Singles) -> bool:
    """Return whether one common factor of the voters leaves a part of their correlations.

    A truth that everybody sees is one factor: C_st = v_s v_t; the edges of a graph are not. So R(v)
    = sum N (C_st - v_s v_t)^2 - #pairs, at its minimum near 0 by chance, must be a share of R(0)
    and several standard errors.
    """
    voters, places = np.unique(np.concatenate(pairs[:2]), return_inverse=True)
    s, t = np.split(places, 2)
    table, common = np.zeros((2, len(voters), len(voters)))
    table[s, t] = table[t, s] = correlations
    common[s, t] = common[t, s] = pairs.common
    values, vectors = np.linalg.eigh(table)
    start, bound = vectors[:, -1] * math.sqrt(max(values[-1], 0.0)), np.ones(len(voters))
    factor, _ = descend_rank_one(table, common, bound, start, MAX_SWEEPS, TOL)
    total, left = (
        float((pairs.common * rest**2).sum(dtype=np.float64)) - len(s)
        for rest in (correlations, correlations - factor[s] * factor[t])
    )
    return left > max(LEFT * total, SURE_FACTOR * math.sqrt(2 * len(s)))


def _multiply(run: Ballots, entries: Singles, n_voters: int) -> Iterator[tuple[int, Any]]:
    """Yield (first voter, X'X of a strip of voters) for X, items x voters, of one entry a vote."""
    table = sp.csr_matrix((entries, run.voters, run.starts), shape=(run.n_items, n_voters))
    dense = table.nnz > DENSE * run.n_items * n_voters
    table = table.toarray() if dense else table
    columns, size = table if dense else table.tocsc(), max(1, STRIP // n_voters)
    for first in range(0, n_voters, size):
        products = columns[:, first : first + size].T @ table
        if not dense and products.nnz > DENSE * size * n_voters:
            products = products.toarray()
        if sp.issparse(products):
            products.sort_indices()
        yield first, products


def _pick(table: Any, rows: NDArray[Any], columns: NDArray[Any]) -> Singles:
    """Return entries of a table, dense or sparse."""
    found = table[rows, columns] if len(rows) else []
    return np.asarray(found, dtype=np.float32).ravel()

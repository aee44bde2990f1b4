"""Repeaters: voters who follow each other beyond what everybody else explains, and their counts.

A voter counts once, whoever it repeats::

    count_s = 1 / (1 + sum_t excess_st)
    excess_st = min(max(r_st - m / sqrt(n_st) - REPEATS, 0) / RAMP, 1),   m = sqrt(2 log pairs)

r_st is the partial correlation of the votes of s and t on their n_st common items, given the mean
vote of all others there; m / sqrt(n_st) is about the largest that chance makes it among all pairs.
With more than two classes it is the mean over "says c", weighted by share_c (1 - share_c). Two
voters who know the truth agree as well, but so do the others with them: what is left is small.

Exact copies (the same votes on the same items) are one voter: their excess is 1.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from unelisa.latent.ballots import Floats
from unelisa.latent.copies import Heads
from unelisa.latent.crowd import Crowd, Sample
from unelisa.latent import prior

Singles = NDArray[np.float32]

PART_ITEMS = 5000  # on which voters are compared
MOST_VOTERS = 4000  # who are compared, the busiest
RARE = 0.02  # share of the votes below which a class is left out
TINY = 1e-6  # variance of votes or of residuals
MOSTLY = 0.5  # excess from which two voters are in one family


class Repeaters(NamedTuple):
    """How much each voter counts, and who repeats whom."""

    counts: Floats  # 1: nobody is repeated; 0: says the same of every item
    family: NDArray[np.int32]  # -1: none
    # first, second, excess: pairs of voters with any excess
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    excess: Floats
    n_copies: int  # of these pairs, the first, are exact copies

    @classmethod
    def of(
        cls,
        crowd: Crowd,
        pairs: tuple[NDArray[np.int32], NDArray[np.int32], Floats],
        n_copies: int,
    ) -> "Repeaters":
        """Return the counts of the voters, of the pairs that repeat each other."""
        (first, second, excess), n_voters = pairs, len(crowd.cast)
        total = np.bincount(first, excess, n_voters) + np.bincount(second, excess, n_voters)
        counts = 1 / (1 + total)
        constant = (crowd.cast == crowd.ballots.n_items).any(axis=1)
        if not constant.all():
            counts[constant] = 0.0  # votes that do not tell items apart
        family = _join(first, second, excess > MOSTLY, n_voters)
        return cls(counts, family, first, second, excess, n_copies)

    def only_copies(self, crowd: Crowd) -> "Repeaters":
        """Return the same with only exact copies."""
        n = self.n_copies
        return Repeaters.of(crowd, (self.first[:n], self.second[:n], self.excess[:n]), n)


def find_repeaters(crowd: Crowd, *, near: bool = True) -> Repeaters:
    """Return who repeats whom; without `near`, only exact copies."""
    copies = _list_copies(crowd.heads)
    if not near:
        return Repeaters.of(crowd, copies, len(copies[0]))
    near_ones = _compare_voters(crowd)
    first, second = (np.append(copies[k], near_ones[k]).astype(np.int32) for k in (0, 1))
    excess = np.append(copies[2], near_ones[2])
    return Repeaters.of(crowd, (first, second, excess), len(copies[0]))


def _list_copies(heads: Heads) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Return all pairs of exact copies."""
    order = np.argsort(heads, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(heads[order])) + 1)
    pairs = [np.triu_indices(len(group), 1) for group in groups]
    first, second = (
        np.concatenate([g[p[k]] for g, p in zip(groups, pairs, strict=True)]).astype(np.int32)
        for k in (0, 1)
    )
    return first, second, np.ones(len(first))


def _compare_voters(crowd: Crowd) -> tuple[NDArray[np.int32], NDArray[np.int32], Floats]:
    """Return pairs of voters with their excess; copies are compared as one, and listed each."""
    sample, heads, own = crowd.draw(PART_ITEMS), crowd.heads, crowd.distinct
    votes = np.bincount(sample.ballots.voters, minlength=len(heads))
    active = np.flatnonzero(own & (votes > 0))
    margin = np.sqrt(2 * np.log(max(len(active) * (len(active) - 1) / 2, 2)))
    # with fewer common items not even a perfect correlation has an excess
    fewest = (margin / (1 - prior.REPEATS)) ** 2
    voters = active[votes[active] >= fewest]
    voters = np.sort(voters[np.argsort(-votes[voters], kind="stable")[:MOST_VOTERS]])
    found = measure_partial(sample, own, voters, crowd.n_classes)
    common = found.common
    bound = found.correlations - margin / np.sqrt(np.maximum(common, 1))
    excess = np.clip((bound - prior.REPEATS) / prior.RAMP, 0, 1) * (common > fewest)
    s, t = np.nonzero(np.triu(excess, 1))
    # a copy of s repeats whom s repeats
    pairs = [
        (a, b, excess[i, j])
        for i, j in zip(s.tolist(), t.tolist(), strict=True)
        for a in np.flatnonzero(heads == voters[i])
        for b in np.flatnonzero(heads == voters[j])
    ]
    columns = np.array(pairs, dtype=np.float64).reshape(-1, 3).T
    return columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2]


class Partial(NamedTuple):
    """Partial correlations of some voters, and the numbers of their common items."""

    correlations: Floats
    common: Floats


def measure_partial(
    sample: Sample, heard: NDArray[np.bool_], voters: NDArray[np.intp], n_classes: int
) -> Partial:
    """Return the partial correlations of some voters given the mean of all others `heard`."""
    ballots, place = sample.ballots, np.full(len(heard), -1)
    place[voters] = np.arange(len(voters))
    items, answers = ballots.items, ballots.answer(n_classes)
    kept, listed = heard[ballots.voters], place[ballots.voters] >= 0
    shape = ballots.n_items, len(voters)
    many = np.bincount(items[kept], minlength=ballots.n_items).astype(np.float32)
    found, total, common = np.zeros((len(voters), len(voters))), 0.0, np.empty(0)
    for c in range(n_classes) if n_classes > 2 else (1,):
        share = float(np.mean(answers == c)) if len(answers) else 0.0
        if n_classes > 2 and share < RARE:
            continue
        signs = np.where(answers == c, 1, -1).astype(np.float32)
        sums = np.bincount(items[kept], signs[kept], ballots.n_items).astype(np.float32)
        table = np.zeros(shape, dtype=np.float32)
        table[items[listed], place[ballots.voters[listed]]] = signs[listed]
        partial, common = _correlate_rest(table, sums, many)
        found += share * (1 - share) * partial
        total += share * (1 - share)
    if not common.size:
        return Partial(found, found)
    return Partial(found / max(total, 1e-12), common)


def _correlate_rest(votes: Singles, sums: Singles, many: Singles) -> tuple[Floats, Floats]:
    """Return the partial correlation of all pairs given the mean of the others, and common items.

    `sums` and `many` are the sum and the number of all votes per item. With v_is = 1 where s voted,
    f_is its vote and u_i = 1 / (many_i - 2), the mean of the others is
    u_i (sums_i - f_is - f_it), so that all moments are products of f and v with weights per item.
    """
    there = np.abs(votes)
    u = np.asarray(1 / np.maximum(many - 2, 1))

    def products(left: Singles, weights: NDArray[Any], right: Singles) -> Floats:
        return (left.T @ (weights[:, None] * right)).astype(np.float64)

    one = np.ones_like(u)
    common = products(there, one, there)
    n = np.maximum(common, 1)
    mean = products(votes, one, there) / n  # of s on the common items
    both = products(votes, one, votes) / n
    cross = products(votes, u, there)
    rest = (products(there, u * sums, there) - cross - cross.T) / n
    tilted = products(votes, u**2 * sums, there)
    squares = products(there, (u * sums) ** 2, there) - 2 * (tilted + tilted.T)
    squares += 2 * products(there, u**2, there) + 2 * products(votes, u**2, votes)
    with_rest = products(votes, u * sums, there) - products(there, u, there)
    with_rest -= products(votes, u, votes)
    spread = np.maximum(squares / n - rest**2, TINY)
    own = with_rest / n - mean * rest  # covariance of s with the rest; of t: its transpose
    left = np.maximum(1 - mean**2 - own**2 / spread, TINY)
    partial = (both - mean * mean.T - own * own.T / spread) / np.sqrt(left * left.T)
    np.fill_diagonal(partial, 0.0)
    return np.clip(partial, -1, 1), common


def _join(
    first: NDArray[np.int32], second: NDArray[np.int32], tied: NDArray[np.bool_], n_voters: int
) -> NDArray[np.int32]:
    """Return the number of each voter's family, -1 for none; families in the order of voters."""
    ends = first[tied], second[tied]
    graph = sp.coo_array((np.ones(len(ends[0])), ends), shape=(n_voters, n_voters))
    label = connected_components(graph, directed=False)[1]
    shared = np.bincount(label)[label] > 1
    family = np.full(n_voters, -1, dtype=np.int32)
    _, numbers = np.unique(label[shared], return_inverse=True)
    family[shared] = numbers
    return family

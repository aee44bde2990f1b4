"""Pairs of voters: how often they met on an item, and the correlation of their votes.

Only pairs who met often enough are considered, and their products are computed in strips of
voters, so that a table of voters x voters is never in memory.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.votes.ballots import Ballots

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

MET_ITEMS = 5  # items on which a pair must have met
MOST_VOTERS = 4000  # who are compared, the busiest: eight million pairs
STRIP = 4_000_000  # entries of voters x voters computed at a time
DENSE = 0.1  # share of votes cast above which a dense table is faster than a sparse one
SMALLEST_SPREAD = 0.05  # of a voter's residuals: one who never errs has no noise to correlate
FEW_PAIRS = 3


class Pairs(NamedTuple):
    """The pairs of voters who met."""

    # first, second: the two voters, first < second, in rising order
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    common: Singles  # number of items on which both voted


def find_pairs(ballots: Ballots, n_voters: int) -> Pairs:
    """Return all pairs who met on at least `MET_ITEMS` items."""
    voters = _find_busiest(ballots, n_voters)
    ballots, _ = _take_voters(ballots, voters, n_voters)
    there = _table(ballots, np.ones(len(ballots.voters), dtype=np.float32), len(voters))
    found: list[tuple[Any, Any, Any]] = []
    for first, common in _strips(there):
        s, t = np.nonzero(np.triu(common, first + 1) >= MET_ITEMS)
        found.append((s + first, t, common[s, t]))
    s, t, common = (np.concatenate(column) for column in zip(*found, strict=True))
    return Pairs(voters[s], voters[t], common)


def _find_busiest(ballots: Ballots, n_voters: int) -> NDArray[np.int32]:
    """Return the voters who are compared; which of equally busy ones depends on their votes."""
    if n_voters <= MOST_VOTERS:
        return np.arange(n_voters, dtype=np.int32)
    numbers = np.random.default_rng(0).integers(1 << 20, size=ballots.n_items)
    marks = np.bincount(ballots.voters, ballots.votes * numbers[ballots.items], n_voters)
    counts = np.bincount(ballots.voters, minlength=n_voters)
    return np.sort(np.lexsort((marks, -counts))[:MOST_VOTERS]).astype(np.int32)


def _take_voters(
    ballots: Ballots, voters: NDArray[np.int32], n_voters: int
) -> tuple[Ballots, NDArray[np.bool_] | slice]:
    """Return the votes of some voters, who are numbered anew, and which votes these are."""
    if len(voters) == n_voters:
        return ballots, slice(None)
    own = np.isin(ballots.voters, voters)
    starts = np.append(0, np.cumsum(own))[ballots.starts]
    place = np.searchsorted(voters, ballots.voters[own]).astype(np.int32)
    return ballots._replace(starts=starts, voters=place, votes=ballots.votes[own]), own


def correlate(ballots: Ballots, pairs: Pairs, expected: Floats, n_voters: int) -> Singles:
    """Return per pair the correlation of the residuals votes - `expected` (one per vote).

    The mean of r_is r_it over common items; a voter's residuals are scaled to a mean square of 1.
    """
    residuals = ballots.votes - expected
    counts = np.bincount(ballots.voters, minlength=n_voters)
    squares = np.bincount(ballots.voters, residuals**2, n_voters)
    spread = np.maximum(np.sqrt(squares / np.maximum(counts, 1)), SMALLEST_SPREAD)
    scaled = (residuals / spread[ballots.voters]).astype(np.float32)
    return _sum_products(ballots, pairs, scaled, n_voters) / pairs.common


def _sum_products(ballots: Ballots, pairs: Pairs, residuals: Singles, n_voters: int) -> Singles:
    """Return per pair the sum of r_is r_it over items."""
    together = np.zeros(len(pairs.first), dtype=np.float32)
    voters = _find_busiest(ballots, n_voters)
    taken, own = _take_voters(ballots, voters, n_voters)
    s, t = (np.searchsorted(voters, one) for one in (pairs.first, pairs.second))
    for first, products in _strips(_table(taken, residuals[own], len(voters))):
        here = slice(*np.searchsorted(s, [first, first + len(products)]))
        together[here] += products[s[here] - first, t[here]]
    return together


def measure_coherence(pairs: Pairs, correlations: Singles, weights: Floats | None = None) -> float:
    """Return the coherence kappa: how far the voters point the same way.

    ::

        kappa = sum w N C / sqrt(sum w N (sum w N C^2 - sum w))

    over pairs of weight w with correlation C on N common items. It is about (2q - 1)^2 if a share q
    of the voters points the same way, however strongly; dependences without a preferred sign give
    0. What is subtracted is what chance alone adds to the squares.
    """
    if len(correlations) < FEW_PAIRS:
        return 1.0
    weights = np.ones(len(correlations)) if weights is None else weights
    common, values = weights * pairs.common, correlations.astype(np.float64)
    total = float(weights.sum())
    excess = max(float(common @ values**2) - total, 0.05 * total)
    return float(common @ values / np.sqrt(common.sum() * excess))


def _table(ballots: Ballots, entries: Singles, n_voters: int) -> Any:
    """Return a dense or sparse float32 table of items x voters with one entry per vote."""
    shape = ballots.n_items, n_voters
    table = sp.csr_matrix((entries, ballots.voters, ballots.starts), shape=shape)
    return table.toarray() if table.nnz > DENSE * ballots.n_items * n_voters else table


def _strips(table: Any) -> Iterator[tuple[int, Singles]]:
    """Yield (first voter, products of a strip of voters with all voters)."""
    n_voters = table.shape[1]
    size = max(1, STRIP // n_voters)
    columns = table.tocsc() if sp.issparse(table) else table
    for first in range(0, n_voters, size):
        products = columns[:, first : first + size].T @ table
        yield first, products.toarray() if sp.issparse(products) else products

"""Votes as lists, item by item, in runs of items: a view of blocks."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from unelisa.parallel import count_jobs
from unelisa.votes.blocks import (
    Block,
    ItemBlocks,
    KeptBlocks,
    SparseVotes,
    group_items,
    mark_starts,
)

Floats = NDArray[np.float64]
Sums = tuple[Floats, ...]

RUN = 8192  # items: fixed, so that sums do not depend on the number of threads
_LISTED: WeakKeyDictionary[ItemBlocks, ref[ItemBlocks]] = WeakKeyDictionary()
CERTAIN = 1e3  # log-odds of a gold label: exp(-CERTAIN) is 0


class Ballots(NamedTuple):
    """The votes on a run of items, item by item."""

    # item i's votes are the places starts[i] to starts[i + 1]; int64, one more than items
    starts: NDArray[np.int64]
    # voters, votes: who (int32, rising within an item) said what (int8, -1 or +1)
    voters: NDArray[np.int32]
    votes: NDArray[np.int8]
    # z_i: log-odds of each item's truth that are known besides the votes; 0 where nothing is
    prior_odds: Floats

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.starts) - 1

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of votes on each item."""
        return np.diff(self.starts)

    @property
    def items(self) -> NDArray[np.int64]:
        """The item of each vote."""
        return np.repeat(np.arange(self.n_items), self.counts)

    def answer(self, n_classes: int) -> NDArray[np.uint8]:
        """Return the class of each vote, from 0; of more than two, k is stored as k + 1."""
        if n_classes == 2:
            return (self.votes > 0).view(np.uint8)
        return self.votes.view(np.uint8) - np.uint8(1)

    def log_priors(self, n_classes: int) -> Floats:
        """Return the prior odds as logs, items x classes; no row where nothing is known."""
        if not self.prior_odds.any():
            return np.empty((0, n_classes))
        if self.prior_odds.ndim == 2:
            return self.prior_odds
        return np.stack([-self.prior_odds / 2, self.prior_odds / 2], axis=1)


def list_ballots(blocks: ItemBlocks, n_jobs: int | None = None) -> ItemBlocks:
    """Return votes as lists, kept in memory if the votes are; those in use are not made again."""
    # one run is read by one thread, and to count the cores takes a twentieth of a second
    jobs = count_jobs(n_jobs) if blocks.n_items > RUN else 1
    held = _LISTED.get(blocks)
    known = None if held is None else held()
    if known is not None:
        return known if known.n_threads == jobs else known.using(jobs)
    listed = blocks.using(jobs).view(_list_runs)
    _LISTED[blocks] = ref(listed)
    return listed


def set_prior_odds(ballots: ItemBlocks, prior_odds: Floats) -> ItemBlocks:
    """Return the lists with other prior odds."""
    known = prior_odds if prior_odds.any() else np.empty(0)  # zeros need not travel
    return ballots.view(_set_prior_odds, per_item=(known,))


def fix_labels(prior_odds: Floats, gold: NDArray[np.integer]) -> Floats:
    """Return the prior odds with gold labels certain; the code 0 is unknown."""
    if prior_odds.ndim == 1:
        return np.where(gold == 0, prior_odds, CERTAIN * gold)
    fixed, known = prior_odds.copy(), np.flatnonzero(gold)
    fixed[known] = -CERTAIN
    fixed[known, gold.astype(np.uint8)[known] - 1] = 0.0  # class k is k + 1
    return fixed


def take_ballots(ballots: ItemBlocks, items: NDArray[np.intp]) -> Ballots:
    """Return the lists of some items, given in rising order, as one run."""
    run: Ballots = ballots.compute(_take_run, items)
    return run


def _take_run(ballots: ItemBlocks, items: NDArray[np.intp]) -> Ballots:
    if isinstance(ballots, KeptBlocks) and len(items):
        chosen = group_items(items, ballots.starts).items()
        parts = [_pick_items(ballots.blocks[k], places) for k, places in chosen]
    else:
        parts = list(ballots.take(items))
    if len(parts) == 1:
        return parts[0]
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Ballots(mark_starts(np.concatenate([part.counts for part in parts])), *columns[1:])


def _pick_items(run: Ballots, items: NDArray[np.intp]) -> Ballots:
    counts = run.counts[items]
    starts = mark_starts(counts)
    places = np.repeat(run.starts[items] - starts[:-1], counts) + np.arange(starts[-1])
    return Ballots(starts, run.voters[places], run.votes[places], run.prior_odds[items])


def split_run(run: Ballots) -> list[Ballots]:
    """Return a run of any length in runs of `RUN` items."""
    edges, parts = [*range(0, max(run.n_items, 1), RUN), run.n_items], []
    for low, high in pairwise(edges):
        own, starts = slice(run.starts[low], run.starts[high]), run.starts[low : high + 1]
        votes = starts - starts[0], run.voters[own], run.votes[own]
        parts.append(Ballots(*votes, run.prior_odds[low:high]))
    return parts


def keep_voters(ballots: Ballots, kept: NDArray[np.bool_]) -> Ballots:
    """Return the lists of some voters; the others have not voted."""
    if kept.all():
        return ballots
    own = kept[ballots.voters]
    counts = np.bincount(ballots.items[own], minlength=ballots.n_items)
    return ballots._replace(
        starts=mark_starts(counts), voters=ballots.voters[own], votes=ballots.votes[own]
    )


def count_heard(ballots: Ballots) -> NDArray[np.int64]:
    """Return the number of votes per item. A pass."""
    return ballots.counts


def count_votes(ballots: Ballots, n_voters: int, n_classes: int) -> Sums:
    """Return the numbers of votes per voter and class, and of ordered pairs of votes. A pass."""
    cells = ballots.voters.astype(np.int64) * n_classes + ballots.answer(n_classes)
    cast = np.bincount(cells, minlength=n_voters * n_classes).astype(np.float64)
    counts = ballots.counts.astype(np.float64)
    return cast.reshape(n_voters, n_classes), np.asarray(counts @ (counts - 1))


def count_answers(ballots: Ballots, weights: Floats, n_classes: int) -> Floats:
    """Return per item and class the sum of the weights of the voters who said it. A pass."""
    cells = ballots.items * n_classes + ballots.answer(n_classes)
    return sum_at(cells, weights[ballots.voters], ballots.n_items, n_classes)


def split_answers(ballots: Ballots, shares: Floats, n_voters: int) -> Floats:
    """Return [s, said, k]: the sums of the items' shares of class k over each voter's votes."""
    n_classes = shares.shape[1]
    cells = ballots.voters.astype(np.int64) * n_classes + ballots.answer(n_classes)
    columns = (column[ballots.items] for column in shares.T)
    return np.stack([sum_at(cells, own, n_voters, n_classes) for own in columns], axis=2)


def sum_at(places: NDArray[Any], values: Floats, *shape: int) -> Floats:
    """Return the sums of the values at equal places of an array of a shape."""
    sums = np.bincount(places, values, int(np.prod(shape)))
    return np.asarray(sums, dtype=np.float64).reshape(shape)


def _set_prior_odds(ballots: Ballots, prior_odds: Floats) -> Ballots:
    return ballots._replace(prior_odds=prior_odds if prior_odds.size else np.zeros(ballots.n_items))


def _list_runs(block: Block) -> Iterator[Ballots]:
    """Yield a block's ballots in runs of `RUN` items; one empty run where it has no items."""
    votes: Any = block.votes
    sparse = isinstance(votes, SparseVotes)
    votes, list_items = (votes.matrix().tocsr(), _list_rows) if sparse else (votes, list_votes)
    for first in range(0, max(block.n_items, 1), RUN):
        last = min(first + RUN, block.n_items)
        yield Ballots(*list_items(votes, first, last), np.zeros(last - first))


def list_votes(values: NDArray[np.int8], first: int, last: int) -> tuple[Any, Any, Any]:
    """Return starts, voters and votes on items first to last of an items x voters table."""
    some = np.ascontiguousarray(values[first:last])
    cast = some != 0
    voters = np.broadcast_to(np.arange(some.shape[1], dtype=np.int32), some.shape)
    return mark_starts(cast.sum(axis=1)), voters[cast], some[cast]


def _list_rows(rows: Any, first: int, last: int) -> tuple[Any, Any, Any]:
    some = rows[first:last]
    some.sort_indices()
    return some.indptr.astype(np.int64), some.indices.astype(np.int32), some.data

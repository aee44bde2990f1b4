"""Votes as lists, block by block: what every pass over the items is a function of.

A pass is a plain function of one block of items and of parameters. What it returns is added up
over the blocks, or strung together in the order of the items; nothing else is kept between passes.
So where the blocks lie (in memory, in a file, on other machines) is the business of one class.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import Block, Held, ItemBlocks, OneBlock, SparseBlocks, mark_starts
from unelisa.kernels.ballots import list_votes
from unelisa.kernels.threads import run_threads
from unelisa.parallel import count_jobs

Floats = NDArray[np.float64]
Sums = tuple[Floats, ...]

BLOCK = 8192  # items: fixed, so that sums are the same whatever the number of threads
CERTAIN = 1e3  # log-odds of a gold label: exp(-CERTAIN) is 0


class Ballots(NamedTuple):
    """The votes on a block of items, item by item.

    Attributes
    ----------
    starts
        Item i's votes are the places starts[i] to starts[i + 1]; int64, one more than items.
    voters, votes
        Who (int32, rising within an item) said what (int8, -1 or +1).
    fields
        Log-odds of the truth that are known per item beside the votes; 0 where nothing is.
    weights
        How much each vote counts when the truth is inferred (float32); empty: all in full.
    """

    starts: NDArray[np.int64]
    voters: NDArray[np.int32]
    votes: NDArray[np.int8]
    fields: Floats
    weights: NDArray[np.float32] = np.empty(0, dtype=np.float32)

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


class BallotBlocks(Protocol):
    """All items, in blocks: passes go over them, wherever they lie."""

    @property
    def n_items(self) -> int:
        """Number of items."""

    @property
    def n_voters(self) -> int:
        """Number of voters."""

    def sum(self, function: Callable[..., Sums], *parameters: Any) -> Sums:
        """Return the sums over all blocks of what `function(ballots, *parameters)` returns."""

    def concatenate(self, function: Callable[..., NDArray[Any]], *parameters: Any) -> NDArray[Any]:
        """Return the function's results per item, in the order of the items."""

    def rewrite(self, function: Callable[..., Ballots], *parameters: Any) -> "BallotBlocks":
        """Return the blocks as the function gives them back: other weights, or other votes."""

    def take(self, items: NDArray[np.intp]) -> "MemoryBallots":
        """Return some items, in memory."""


class MemoryBallots:
    """Blocks that are held in memory.

    Examples
    --------
    >>> import numpy as np
    >>> blocks = MemoryBallots.of(np.array([[1, 0], [-1, 1]], dtype=np.int8))
    >>> blocks.concatenate(lambda ballots: ballots.counts)
    array([1, 2])
    """

    def __init__(self, blocks: list[Ballots], n_voters: int, n_jobs: int | None = None) -> None:
        self.blocks = blocks
        self.n_voters = n_voters
        self.n_jobs = n_jobs

    @classmethod
    def of(
        cls, votes: OneBlock, fields: Floats | None = None, n_jobs: int | None = None
    ) -> "MemoryBallots":
        """Return the votes of an items x voters table in blocks."""
        known = np.zeros(len(votes)) if fields is None else fields
        blocks = [
            Ballots(*lists, known[first:last])
            for first, last in _spans(len(votes))
            for lists in [_list(votes, first, last)]
        ]
        return cls(blocks, votes.shape[1], n_jobs)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return sum(ballots.n_items for ballots in self.blocks)

    def sum(self, function: Callable[..., Sums], *parameters: Any) -> Sums:
        """Return the sums over all blocks, added in their order."""
        parts = self._each(function, parameters)
        return tuple(sum(column[1:], start=column[0]) for column in zip(*parts, strict=True))

    def concatenate(self, function: Callable[..., NDArray[Any]], *parameters: Any) -> NDArray[Any]:
        """Return the function's results per item, in the order of the items."""
        return np.concatenate(self._each(function, parameters))

    def rewrite(self, function: Callable[..., Ballots], *parameters: Any) -> "MemoryBallots":
        """Return the blocks as the function gives them back."""
        return MemoryBallots(self._each(function, parameters), self.n_voters, self.n_jobs)

    def take(self, items: NDArray[np.intp]) -> "MemoryBallots":
        """Return some items, given in rising order, as one block."""
        ends = np.cumsum([ballots.n_items for ballots in self.blocks])
        homes = np.searchsorted(ends, items, side="right")
        parts = [
            pick_items(ballots, items[homes == k] - (ends[k] - ballots.n_items))
            for k, ballots in enumerate(self.blocks)
        ]
        return MemoryBallots([join_ballots(parts)], self.n_voters, self.n_jobs)

    def _each(self, function: Callable[..., Any], parameters: tuple[Any, ...]) -> list[Any]:
        # not `run_all`: these blocks are here, and a cluster would have to fetch them for each pass
        job = partial(_apply, function, parameters)
        return run_threads(job, self.blocks, count_jobs(self.n_jobs))


Rewrites = tuple[tuple[Callable[..., Ballots], tuple[Any, ...]], ...]


class VisitedBallots:
    """Votes that stay where they are, in a file or in Dask partitions: each pass lists them anew.

    Parameters
    ----------
    held
        The votes.
    fields
        Log-odds per item that are known beside them; empty: none.
    n_jobs
        Threads, where the votes are visited from this process.
    rewrites
        What is done to a block, (function, parameters) each, before a pass sees it.
    """

    def __init__(
        self,
        held: ItemBlocks,
        fields: Floats,
        n_jobs: int | None = None,
        rewrites: Rewrites = (),
    ) -> None:
        self.held, self.rewrites = held, rewrites
        self.n_items, self.n_voters = held.n_items, held.n_voters
        self.fields = fields if fields.any() else np.empty(0)
        self.n_jobs = n_jobs

    def sum(self, function: Callable[..., Sums], *parameters: Any) -> Sums:
        """Return the sums over all blocks."""
        job, jobs = (self.rewrites, function, parameters), count_jobs(self.n_jobs)
        return self.held.sum(_visit_sums, *job, per_item=(self.fields,), n_threads=jobs)

    def concatenate(self, function: Callable[..., NDArray[Any]], *parameters: Any) -> NDArray[Any]:
        """Return the function's results per item, in the order of the items."""
        job, jobs = (self.rewrites, function, parameters), count_jobs(self.n_jobs)
        return self.held.concatenate(_visit_rows, *job, per_item=(self.fields,), n_threads=jobs)

    def rewrite(self, function: Callable[..., Ballots], *parameters: Any) -> "VisitedBallots":
        """Return the blocks with one more thing done to each before a pass."""
        rewrites = (*self.rewrites, (function, parameters))
        return VisitedBallots(self.held, self.fields, self.n_jobs, rewrites)

    def take(self, items: NDArray[np.intp]) -> MemoryBallots:
        """Return some items, given in rising order, as one block in memory."""
        votes = Block(self.held.take(items), 0)
        fields = self.fields[items] if self.fields.size else self.fields
        parts = list(_each_span(votes, fields, self.rewrites))
        return MemoryBallots([join_ballots(parts)], self.n_voters, self.n_jobs)


def lay_ballots(held: Held, fields: Floats, n_jobs: int | None = None) -> BallotBlocks:
    """Return votes as ballots: in memory where they are, else visited where they live."""
    if isinstance(held, SparseBlocks):
        parts = [
            MemoryBallots.of(block.votes, fields[block.start : block.start + len(block.votes)])
            for block in held
        ]
        return MemoryBallots([one for part in parts for one in part.blocks], held.n_voters, n_jobs)
    if isinstance(held, ItemBlocks):
        return VisitedBallots(held, fields, n_jobs)
    return MemoryBallots.of(held, fields, n_jobs)


def pick_items(ballots: Ballots, items: NDArray[np.intp]) -> Ballots:
    """Return the votes on some items of a block."""
    counts = ballots.counts[items]
    starts = mark_starts(counts)
    places = np.repeat(ballots.starts[items] - starts[:-1], counts) + np.arange(starts[-1])
    weights = ballots.weights[places] if len(ballots.weights) else ballots.weights
    return Ballots(
        starts, ballots.voters[places], ballots.votes[places], ballots.fields[items], weights
    )


def join_ballots(parts: list[Ballots]) -> Ballots:
    """Return several blocks as one."""
    counts = np.concatenate([part.counts for part in parts])
    starts = mark_starts(counts)
    _, voters, votes, fields, weights = (
        np.concatenate(column) for column in zip(*parts, strict=True)
    )
    return Ballots(starts, voters, votes, fields, weights)


def count_votes(ballots: Ballots, n_voters: int) -> Sums:
    """Return per voter the votes and the yes votes; then items with votes, pairs of votes, items.

    A pass for `BallotBlocks.sum`.
    """
    votes = np.bincount(ballots.voters, minlength=n_voters).astype(np.float64)
    yes = np.bincount(ballots.voters[ballots.votes > 0], minlength=n_voters).astype(np.float64)
    counts = ballots.counts.astype(np.float64)
    whole = np.array([np.count_nonzero(counts), counts @ (counts - 1), len(counts)])
    return votes, yes, whole


def _list(votes: OneBlock, first: int, last: int) -> tuple[Any, Any, Any]:
    """Return the lists of the votes on items first to last."""
    if isinstance(votes, np.ndarray):
        # numba compiles per memory layout, and for read-only arrays, which files are: one is enough
        columns = np.asfortranarray(votes).view()
        columns.flags.writeable = False
        return list_votes(columns, first, last)
    rows = votes.matrix().tocsr()[first:last]
    rows.sort_indices()
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data


def _visit_sums(
    block: Block,
    fields: Floats,
    rewrites: Rewrites,
    function: Callable[..., Sums],
    parameters: tuple[Any, ...],
) -> Sums:
    """Return a pass's sums over a block of votes that are not kept as lists."""
    parts = [function(ballots, *parameters) for ballots in _each_span(block, fields, rewrites)]
    return tuple(sum(column[1:], start=column[0]) for column in zip(*parts, strict=True))


def _visit_rows(
    block: Block,
    fields: Floats,
    rewrites: Rewrites,
    function: Callable[..., NDArray[Any]],
    parameters: tuple[Any, ...],
) -> NDArray[Any]:
    """Return a pass's rows for a block of votes that are not kept as lists."""
    return np.concatenate(
        [function(ballots, *parameters) for ballots in _each_span(block, fields, rewrites)]
    )


def _each_span(block: Block, fields: Floats, rewrites: Rewrites) -> Iterator[Ballots]:
    """Yield a block's votes as lists of `BLOCK` items; a block without items as one empty list."""
    n_items = len(block.votes)
    for first, last in list(_spans(n_items)) or [(0, 0)]:
        known = fields[first:last] if fields.size else np.zeros(last - first)
        ballots = Ballots(*_list(block.votes, first, last), known)
        for rewrite, settings in rewrites:
            ballots = rewrite(ballots, *settings)
        yield ballots


def _apply(function: Callable[..., Any], parameters: tuple[Any, ...], ballots: Ballots) -> Any:
    return function(ballots, *parameters)


def _spans(n_items: int) -> Iterator[tuple[int, int]]:
    return ((first, min(first + BLOCK, n_items)) for first in range(0, n_items, BLOCK))

"""The same votes with other voters as columns, or with the two sides turned."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks.base import Array, Block, Held, ItemBlocks, Sums
from unelisa.blocks.one import OneBlock, SparseVotes, as_dense, mark_starts

Columns = NDArray[np.intp]


def rearrange(held: Held, columns: Columns, side: int = 1) -> Held:
    """Return the votes with these voters as columns, times `side`; column -1 has abstained.

    Examples
    --------
    >>> rearrange(np.array([[1, -1], [1, 0]], dtype=np.int8), np.array([1, -1]))
    array([[-1,  0],
           [ 0,  0]], dtype=int8)
    """
    if isinstance(held, ItemBlocks):
        return Rearranged(held, columns, side)
    return _rearrange_block(held, columns, side)


class Rearranged(ItemBlocks):
    """Blocks whose columns are rearranged each time they are looked at."""

    def __init__(self, blocks: ItemBlocks, columns: Columns, side: int) -> None:
        self.blocks, self.columns, self.side = blocks, columns, side
        self.n_items, self.n_voters = blocks.n_items, len(columns)
        self.place = blocks.place

    def sum(
        self,
        function: Callable[..., Sums],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,
    ) -> Sums:
        """Return the sums over all blocks."""
        seen = _Seen(function, self.columns, self.side)
        return self.blocks.sum(seen, *parameters, per_item=per_item, n_threads=n_threads)

    def concatenate(
        self,
        function: Callable[..., Array],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,
    ) -> Array:
        """Return the rows of all blocks."""
        seen = _Seen(function, self.columns, self.side)
        return self.blocks.concatenate(seen, *parameters, per_item=per_item, n_threads=n_threads)

    def take(self, items: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the votes on some items."""
        return as_dense(_rearrange_block(self.blocks.take(items), self.columns, self.side))

    def __iter__(self) -> Iterator[Block]:
        for block in self.blocks:
            yield Block(_rearrange_block(block.votes, self.columns, self.side), block.start)


class _Seen:
    """A pass that looks at rearranged columns; an object, so that it can travel."""

    def __init__(self, function: Callable[..., Any], columns: Columns, side: int) -> None:
        self.function, self.columns, self.side = function, columns, side

    def __call__(self, block: Block, *parameters: Any) -> Any:
        votes = _rearrange_block(block.votes, self.columns, self.side)
        return self.function(Block(votes, block.start), *parameters)


def _rearrange_block(votes: OneBlock, columns: Columns, side: int) -> OneBlock:
    if isinstance(votes, SparseVotes):
        return _rearrange_sparse(votes, columns, side)
    changed = np.zeros((votes.shape[0], len(columns)), dtype=np.int8, order="F")
    for s, column in enumerate(columns):
        if column >= 0:
            np.multiply(votes[:, column], np.int8(side), out=changed[:, s])
    return changed


def _rearrange_sparse(votes: SparseVotes, columns: Columns, side: int) -> SparseVotes:
    lengths = np.where(columns >= 0, np.diff(votes.starts)[columns], 0)
    starts = mark_starts(lengths)
    origins = np.repeat(votes.starts[columns] - starts[:-1], lengths) + np.arange(starts[-1])
    return SparseVotes(
        starts, votes.items[origins], votes.votes[origins] * np.int8(side), votes.n_items
    )

"""Blocks that threads of this process work through, a few at a time; those it holds in memory."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks.base import (
    Array,
    Block,
    Change,
    Columns,
    ItemBlocks,
    Merge,
    View,
    cut,
    group_items,
    list_parts,
)
from unelisa.blocks.one import OneBlock, mark_starts, pick_items, rearrange_votes
from unelisa.kernels.threads import run_threads


class LocalBlocks(ItemBlocks):
    """Blocks that are opened when their turn comes and dropped afterwards.

    At most `n_threads` are open at once, and their sums are added in the order of the blocks: the
    answer does not depend on the threads, nor the memory on the number of items.
    """

    starts: Array  # of every block, and the end of the last

    @abstractmethod
    def open(self, number: int) -> Any:
        """Return a block."""

    def visit(
        self,
        merge: Merge,
        function: Callable[..., Any],
        parameters: tuple[Any, ...],
        per_item: Sequence[Array],
    ) -> Any:
        """Return the merged results of the pass."""
        return merge(self._each(function, parameters, per_item), self.n_items)

    def _each(
        self, function: Callable[..., Any], parameters: tuple[Any, ...], per_item: Sequence[Array]
    ) -> Iterator[Any]:
        """Yield the function of every block; as many are under way as there are threads."""

        def visit(number: int) -> Any:
            low, high = int(self.starts[number]), int(self.starts[number + 1])
            return function(self.open(number), *cut(per_item, low, high), *parameters)

        n_blocks, width = len(self.starts) - 1, max(1, self.n_threads)
        for low in range(0, n_blocks, width):
            yield from run_threads(visit, range(low, min(low + width, n_blocks)), width)

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items."""
        chosen = group_items(items, self.starts)
        tables = [pick_items(self.open(k).votes, places) for k, places in chosen.items()]
        none = np.empty((0, self.n_voters), dtype=np.int8)
        return WholeTable(np.asfortranarray(np.concatenate([none, *tables])))

    def __iter__(self) -> Iterator[Any]:
        return map(self.open, range(len(self.starts) - 1))


class KeptBlocks(LocalBlocks):
    """Blocks that this process holds in memory; so it does with those of a view.

    Parameters
    ----------
    blocks
        One or more, each with `n_items`.
    n_voters
        Number of voters.
    """

    place = "in memory"

    def __init__(self, blocks: Sequence[Any], n_voters: int) -> None:
        self.blocks = list(blocks)
        self.starts = mark_starts([block.n_items for block in self.blocks])
        self.n_items, self.n_voters = int(self.starts[-1]), n_voters

    def open(self, number: int) -> Any:
        """Return a block."""
        return self.blocks[number]

    def view(self, change: Change, *parameters: Any, per_item: Sequence[Array] = ()) -> ItemBlocks:
        """Return the changed blocks, in memory."""
        return KeptView(self, View(self, change, parameters, per_item))


class KeptView(KeptBlocks):
    """The blocks of a view, changed once and kept."""

    def __init__(self, source: KeptBlocks, view: View) -> None:
        changed = source._each(partial(_list_changed, view.change), view.parameters, view.per_item)
        super().__init__([part for parts in changed for part in parts], view.n_voters)
        self.made_by, self.place, self.n_threads = view, view.place, source.n_threads

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items, changed."""
        return self.made_by.take(items)


class WholeTable(KeptBlocks):
    """All items as one block.

    Examples
    --------
    >>> import numpy as np
    >>> table = WholeTable(np.array([[1, -1], [1, 0]], dtype=np.int8))
    >>> table.tally(np.ones(2))[0]
    array([ 2., -1.])
    """

    whole = True

    def __init__(self, votes: OneBlock) -> None:
        super().__init__([Block(votes, 0)], votes.shape[1])
        self.votes = votes
        self.place = "in memory" if isinstance(votes, np.ndarray) else "sparse"

    def table(self, who: str = "this method") -> NDArray[np.int8]:
        """Return the votes."""
        return self.votes if isinstance(self.votes, np.ndarray) else super().table(who)

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items, in any order."""
        return WholeTable(pick_items(self.votes, items))

    def rearrange(self, columns: Columns, side: int = 1) -> ItemBlocks:
        """Return the votes of these voters as columns."""
        return WholeTable(rearrange_votes(self.votes, columns, side))


def _list_changed(change: Change, block: Any, *arguments: Any) -> list[Any]:
    return list(list_parts(change(block, *arguments)))

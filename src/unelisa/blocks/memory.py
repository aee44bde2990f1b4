"""Votes in memory: one block."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks.base import Array, Block, Held, ItemBlocks, Sums
from unelisa.blocks.one import OneBlock, pick_items
from unelisa.errors import VotesError


class WholeTable(ItemBlocks):
    """All items as one block.

    Examples
    --------
    >>> import numpy as np
    >>> table = WholeTable(np.array([[1, -1], [1, 0]], dtype=np.int8))
    >>> table.sum(lambda block: (block.votes.sum(axis=0),))[0]
    array([ 2, -1])
    """

    place = "in memory"
    whole = True

    def __init__(self, votes: OneBlock) -> None:
        self.votes = votes
        self.n_items, self.n_voters = votes.shape

    def sum(
        self,
        function: Callable[..., Sums],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,  # noqa: ARG002 - there is one block
    ) -> Sums:
        """Return the function of all items."""
        return function(Block(self.votes, 0), *per_item, *parameters)

    def concatenate(
        self,
        function: Callable[..., Array],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,  # noqa: ARG002 - there is one block
    ) -> Array:
        """Return the function of all items."""
        return function(Block(self.votes, 0), *per_item, *parameters)

    def take(self, items: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the votes on some items."""
        return pick_items(self.votes, items)

    def __iter__(self) -> Iterator[Block]:
        yield Block(self.votes, 0)


def in_memory(held: Held, who: str) -> NDArray[np.int8]:
    """Return the votes as the table that they are, or say who needs one."""
    if isinstance(held, np.ndarray):
        return held
    place = held.place if isinstance(held, ItemBlocks) else "sparse"
    raise VotesError(
        f"these votes are {place}, and {who} needs all of them as a table in memory; choose "
        "another method, or a part of the items"
    )


def blocks_of(held: Held) -> ItemBlocks:
    """Return votes as blocks; a table in memory is one block."""
    return held if isinstance(held, ItemBlocks) else WholeTable(held)

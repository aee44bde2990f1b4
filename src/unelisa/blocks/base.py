"""The seam between methods and the place of the votes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks.one import OneBlock

Array: TypeAlias = NDArray[Any]
Sums: TypeAlias = tuple[Array, ...]
Held: TypeAlias = "OneBlock | ItemBlocks"


class Block(NamedTuple):
    """A run of items: their votes (items x voters), and the place of the first among all items."""

    votes: OneBlock
    start: int


class ItemBlocks(ABC):
    """Votes in blocks of items, in order, wherever they live.

    A pass is a plain function of a block: `function(block, *per_item, *parameters)`, where arrays
    `per_item` (one entry per item of the whole, or empty) come cut to the block's own items. It
    must be importable by name, so that it can travel to where a block is.

    Attributes
    ----------
    n_items, n_voters
        The size of the whole.
    place
        Where the votes are, in words: "in a file".
    whole
        Whether there is one block, in this process: threads then share out voters, not items.
    """

    n_items: int
    n_voters: int
    place: str
    whole: bool = False

    @abstractmethod
    def sum(
        self,
        function: Callable[..., Sums],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,
    ) -> Sums:
        """Return the sums over all blocks, in an order that never changes."""

    @abstractmethod
    def concatenate(
        self,
        function: Callable[..., Array],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,
    ) -> Array:
        """Return the rows of all blocks, one for each item, in the items' order."""

    @abstractmethod
    def take(self, items: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the votes on some items, given in rising order, as a table in memory."""

    @abstractmethod
    def __iter__(self) -> Iterator[Block]:
        """Yield the blocks one by one, in this process."""

    @property
    def shape(self) -> tuple[int, int]:
        """(items, voters)."""
        return self.n_items, self.n_voters

    def __len__(self) -> int:
        return self.n_items


class RowNumbers:
    """The names 0, 1, 2, ... of items that have none, made when they are asked for."""

    def __init__(self, n_items: int) -> None:
        self._numbers = range(n_items)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, chosen: Any) -> Any:
        if isinstance(chosen, slice):
            return np.arange(*chosen.indices(len(self)))
        return np.asarray(chosen)[()] if np.ndim(chosen) == 0 else np.arange(len(self))[chosen]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def tolist(self) -> list[int]:
        """Return all the numbers."""
        return list(self._numbers)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.arange(len(self), dtype=dtype)


def add_sums(totals: Sums, more: Sums) -> Sums:
    """Return the sums of two parts; the first is left as it is."""
    return tuple(total + part for total, part in zip(totals, more, strict=True))


def group_items(items: NDArray[np.intp], starts: Array) -> dict[int, NDArray[np.intp]]:
    """Return for every block that has some of the items their places within it."""
    homes = np.searchsorted(starts, items, side="right") - 1
    return {int(k): items[homes == k] - int(starts[k]) for k in np.unique(homes)}


def cut(per_item: Sequence[Array], start: int, stop: int) -> list[Array]:
    """Return the entries of the items start:stop; an empty array stands for none."""
    return [array[start:stop] if array.size else array for array in per_item]

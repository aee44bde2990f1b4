"""Blocks that threads of this process work through, a few at a time."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks.base import Array, Block, ItemBlocks, Sums, add_sums, cut, group_items
from unelisa.blocks.one import pick_items
from unelisa.kernels.threads import run_threads


class LocalBlocks(ItemBlocks):
    """Blocks that are opened when their turn comes and forgotten afterwards.

    As many are open as there are threads, and their sums are added in the order of the blocks: the
    answer does not depend on the threads, nor the memory on the number of items.
    """

    starts: Array  # of every block, and the end of the last

    @abstractmethod
    def open(self, number: int) -> Block:
        """Return a block."""

    def sum(
        self,
        function: Callable[..., Sums],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,
    ) -> Sums:
        """Return the sums over all blocks."""
        visit = self._visitor(function, parameters, per_item)
        totals: Sums | None = None
        for wave in _waves(len(self.starts) - 1, n_threads):
            for sums in run_threads(visit, wave, n_threads):
                totals = sums if totals is None else add_sums(totals, sums)
        return () if totals is None else totals

    def concatenate(
        self,
        function: Callable[..., Array],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,
    ) -> Array:
        """Return the rows of all blocks."""
        visit = self._visitor(function, parameters, per_item)
        rows: Array | None = None
        for wave in _waves(len(self.starts) - 1, n_threads):
            for number, part in zip(wave, run_threads(visit, wave, n_threads), strict=True):
                if rows is None:
                    rows = np.empty((self.n_items, *part.shape[1:]), dtype=part.dtype)
                rows[self.starts[number] : self.starts[number + 1]] = part
        return np.empty(0) if rows is None else rows

    def _visitor(
        self, function: Callable[..., Any], parameters: tuple[Any, ...], per_item: Sequence[Array]
    ) -> Callable[[int], Any]:
        def visit(number: int) -> Any:
            low, high = int(self.starts[number]), int(self.starts[number + 1])
            return function(self.open(number), *cut(per_item, low, high), *parameters)

        return visit

    def take(self, items: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the votes on some items."""
        chosen = group_items(items, self.starts)
        tables = [pick_items(self.open(k).votes, places) for k, places in chosen.items()]
        none = np.empty((0, self.n_voters), dtype=np.int8)
        return np.asfortranarray(np.concatenate([none, *tables]))

    def __iter__(self) -> Iterator[Block]:
        return map(self.open, range(len(self.starts) - 1))


def _waves(n_blocks: int, n_threads: int) -> list[range]:
    """Return the blocks in groups of as many as there are threads."""
    width = max(1, n_threads)
    return [range(low, min(low + width, n_blocks)) for low in range(0, n_blocks, width)]

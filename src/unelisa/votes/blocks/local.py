"""Blocks that threads of this process work through: in memory, sparse, or mapped from a file."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.kernels.l1_logistic import CHUNK
from unelisa.kernels.threads import run_threads
from unelisa.votes.blocks.base import (
    Array,
    Block,
    Change,
    Columns,
    ItemBlocks,
    Pass,
    View,
    cut,
    group_items,
    list_parts,
)
from unelisa.votes.blocks.one import (
    OneBlock,
    SparseVotes,
    as_dense,
    mark_starts,
    pick_items,
    rearrange_votes,
    recode_votes,
)

VOTE_BYTES = 5  # one sparse vote, and the number of its item
SMALL_TABLE = 1 << 26  # 64 MB
DENSE_BYTES = 1 << 25  # size of a sparse block where a method must see it as a table: 32 MB
BLOCK_BYTES = 1 << 24  # of a file: 16 MB, 335,000 items of 50 voters


class LocalBlocks(ItemBlocks):
    """Blocks that are opened when their turn comes and dropped afterwards.

    At most `n_threads` are open at once, and their sums are added in the order of the blocks: the
    answer does not depend on the threads, nor the memory on the number of items.
    """

    starts: Array  # of every block, and the end of the last

    @abstractmethod
    def open(self, number: int) -> Any:
        """Return a block."""

    def visit(self, job: Pass) -> Any:
        """Return the merged results of the pass; as many are under way as there are threads."""

        def see(number: int) -> Any:
            low, high = int(self.starts[number]), int(self.starts[number + 1])
            return job.function(self.open(number), *cut(job.per_item, low, high), *job.parameters)

        numbers, width = range(len(self.starts) - 1), max(1, self.n_threads)
        groups = (numbers[low : low + width] for low in numbers[::width])
        return job.merge(
            (part for few in groups for part in run_threads(see, few, width)), self.n_items
        )

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items."""
        chosen = group_items(items, self.starts)
        tables = [pick_items(self.open(k).votes, places) for k, places in chosen.items()]
        none = np.empty((0, self.n_voters), dtype=np.int8)
        return WholeTable(np.asfortranarray(np.concatenate([none, *tables])))

    def __iter__(self) -> Iterator[Any]:
        return map(self.open, range(len(self.starts) - 1))


class KeptBlocks(LocalBlocks):
    """Blocks, each with `n_items`, that this process holds in memory; so it does with a view's."""

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
        parameters = view.change, view.parameters
        job = Pass(_list_all, _list_changed, parameters, view.per_item)
        super().__init__(source.visit(job), view.n_voters)
        self.made_by, self.place, self.n_threads = view, view.place, source.n_threads

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items, changed."""
        return self.made_by.take(items)


class WholeTable(KeptBlocks):
    """All items as one block."""

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

    def recode(self, lookup: NDArray[np.int8]) -> ItemBlocks:
        """Return the votes with other codes."""
        return WholeTable(recode_votes(self.votes, lookup))


class SparseBlocks(KeptBlocks):
    """Sparse votes (-1, +1) in blocks of items, each small enough to be expanded to a table."""

    place = "sparse"

    def __init__(self, matrix: Any) -> None:
        rows = sp.csr_array(matrix)
        n_items, n_voters = (int(side) for side in rows.shape)
        length = max(1, DENSE_BYTES // max(n_voters, 1))
        lows = range(0, n_items, length)
        blocks = [Block(SparseVotes.of(rows[low : low + length]), low) for low in lows]
        super().__init__(blocks, n_voters)

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items, in any order: a table only where that is small."""
        order = np.argsort(items, kind="stable")
        chosen = group_items(items[order], self.starts)
        rows = [self.open(k).votes.matrix().tocsr()[places] for k, places in chosen.items()]
        none = sp.csr_array((0, self.n_voters), dtype=np.int8)
        return hold_sparse(sp.vstack([none, *rows], format="csr")[np.argsort(order)])


def hold_sparse(matrix: Any) -> ItemBlocks:
    """Return votes as a table where that is small or hardly larger, otherwise sparse."""
    n_items, n_voters = matrix.shape
    if n_items * n_voters > max(SMALL_TABLE, VOTE_BYTES * matrix.nnz):
        return SparseBlocks(matrix)
    return WholeTable(as_dense(SparseVotes.of(matrix)))


class MappedBlocks(LocalBlocks):
    """The votes of a file, `block_items` per block (the last may have fewer): `fitting_items`.

    The file holds int8 votes, block by block, voter by voter within a block. So a block is one run
    of bytes, which is mapped while a pass works on it and then released.
    """

    place = "in a file"

    def __init__(
        self, file: str | Path | IO[bytes], n_items: int, n_voters: int, block_items: int
    ) -> None:
        self.file = file
        self.n_items, self.n_voters = n_items, n_voters
        self.starts = np.append(np.arange(0, n_items, block_items), n_items)

    def open(self, number: int) -> Block:
        """Return a block; its pages leave memory with the last reference to it."""
        start, stop = int(self.starts[number]), int(self.starts[number + 1])
        shape = (stop - start, self.n_voters)
        mapped = np.memmap(
            self.file, np.int8, mode="r", offset=start * self.n_voters, shape=shape, order="F"
        )
        return Block(mapped.view(np.ndarray), start)


def fitting_items(n_voters: int, n_bytes: int = BLOCK_BYTES) -> int:
    """Return the number of items in a block of about `n_bytes`.

    A multiple of the kernels' own chunks, so that blocks give the same sums as one table.
    """
    fitting = n_bytes // max(n_voters, 1)
    # the latent model works in runs of 8,192 items
    step = min(8192, max(fitting // CHUNK, 1) * CHUNK)
    return max(1, fitting // step) * step


def _list_changed(block: Any, *arguments: Any) -> list[Any]:
    *per_item, change, settings = arguments
    return list(list_parts(change(block, *per_item, *settings)))


def _list_all(lists: Iterable[list[Any]], n_items: int) -> list[Any]:  # noqa: ARG001 - a `Merge`
    return [part for parts in lists for part in parts]

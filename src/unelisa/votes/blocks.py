"""Where votes live: blocks of items in memory, in a file, in Dask partitions, or sparse.

Every computation is a sum over blocks or one row per item, of a function of one block.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.kernels.l1_logistic import CHUNK
from unelisa.kernels.threads import run_threads
from unelisa.votes.block import (
    Block,
    Floats,
    OneBlock,
    Places,
    SparseVotes,
    as_dense,
    compare_voters,
    mark_starts,
    pick_items,
    rearrange_votes,
    recode_votes,
    tally_votes,
    weigh_votes,
)

__all__ = [
    "Array", "Block", "ItemBlocks", "KeptBlocks", "MappedBlocks", "OneBlock", "SparseBlocks",
    "SparseVotes", "Sums", "WholeTable", "as_dense", "compare_voters", "fitting_items",
    "hold_sparse", "mark_starts", "pick_items", "tally_votes", "weigh_votes",
]  # fmt: skip

Array: TypeAlias = NDArray[Any]
Sums: TypeAlias = tuple[Array, ...]
Change: TypeAlias = Callable[..., Any]
Merge: TypeAlias = Callable[[Iterable[Any], int], Any]
VOTE_BYTES = 5  # one sparse vote, and the number of its item
SMALL_TABLE = 1 << 26  # 64 MB
DENSE_BYTES = 1 << 25  # size of a sparse block where a method must see it as a table: 32 MB
FULL = 2  # votes per voter in a sparse block, at least: a pass does something for each voter, too
BLOCK_BYTES = 1 << 24  # of a file: 16 MB, 335,000 items of 50 voters


class Pass(NamedTuple):
    """A visit to all blocks: `function(block, *per_item, *parameters)`, and how results merge."""

    merge: Merge
    function: Change  # importable by name, so that it can be sent to where a block is
    parameters: tuple[Any, ...]
    per_item: Sequence[Array]  # one entry per item of the whole, or empty: cut to those of a block


class ItemBlocks(ABC):
    """Votes in blocks of items, in order, wherever they live."""

    n_items: int
    n_voters: int
    place: str  # where the votes are, in words: "in a file"
    # whether there is one block, in this process: threads then share the voters, not the items
    whole: bool = False
    n_threads: int = 1  # of this process, for each pass; results do not depend on it

    @abstractmethod
    def visit(self, job: Pass) -> Any:
        """Return `merge(results of the pass in the order of the blocks, n_items)`."""

    @abstractmethod
    def take(self, items: Places) -> "ItemBlocks":
        """Return some items, given in rising order, in memory."""

    @abstractmethod
    def keep(self, items: Places) -> "ItemBlocks":
        """Return some items, given in rising order, where they are."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks one by one, in this process."""

    def sum(self, function: Change, *parameters: Any, per_item: Sequence[Array] = ()) -> Sums:
        """Return the sums over all blocks, added in a fixed order."""
        sums: Sums = self.visit(Pass(add_sums, function, parameters, per_item))
        return sums

    def concatenate(
        self, function: Change, *parameters: Any, per_item: Sequence[Array] = ()
    ) -> Array:
        """Return the rows of all blocks, one for each item, in the order of the items."""
        return np.asarray(self.visit(Pass(_join_rows, function, parameters, per_item)))

    def compute(self, function: Change, *parameters: Any) -> Any:
        """Return `function(blocks, *parameters)`; a device has its own where it has a twin."""
        return function(self, *parameters)

    def near(self, blocks: "ItemBlocks") -> "ItemBlocks":
        """Return blocks of this process where passes over these run."""
        return blocks

    @property
    def shape(self) -> tuple[int, int]:
        """(items, voters)."""
        return self.n_items, self.n_voters

    def __len__(self) -> int:
        return self.n_items

    def table(self, who: str = "this method") -> NDArray[np.int8]:
        """Return the votes as a table, or say who needs them in memory."""
        raise VotesError(
            f"these votes are {self.place}, and {who} needs all of them as a table in memory; "
            "choose another method, or a subset of the items"
        )

    def expand(self) -> NDArray[np.int8]:
        """Return the votes as a table wherever they are: only for few items."""
        nothing = np.empty((0, self.n_voters), dtype=np.int8)
        return np.concatenate([nothing, *(as_dense(block.votes) for block in self)])

    def using(self, n_threads: int) -> Self:
        """Return the same blocks, visited by so many threads."""
        blocks = copy(self)
        blocks.n_threads = n_threads
        return blocks

    def view(
        self, change: Change, *parameters: Any, per_item: Sequence[Array] = ()
    ) -> "ItemBlocks":
        """Return the blocks as `change(block, *per_item, *parameters)` makes them."""
        return View(self, change, parameters, per_item)

    def rearrange(self, columns: Places, side: int = 1) -> "ItemBlocks":
        """Return the votes of these voters as columns, times `side`; column -1 has abstained."""
        return self._change_votes(rearrange_votes, len(columns), columns, side)

    def recode(self, lookup: NDArray[np.int8]) -> "ItemBlocks":
        """Return the votes with other codes: entry c of `lookup` for a vote that is c as uint8."""
        return self._change_votes(recode_votes, self.n_voters, lookup)

    def _change_votes(self, change: Change, n_voters: int, *parameters: Any) -> "ItemBlocks":
        blocks = View(self, _change_block, (*parameters, change))
        blocks.n_voters = n_voters
        return blocks

    def weigh(self, signed: Floats, observed: Floats) -> Floats:
        """Return per item sum_s signed_s f_is + observed_s |f_is|: an abstention adds nothing."""
        return self.concatenate(_apply, signed, observed, weigh_votes)

    def find_silent(self) -> Places:
        """Return the items without votes."""
        nothing = np.zeros(self.n_voters)
        return np.flatnonzero(self.weigh(nothing, nothing + 1) == 0)

    def tally(self, x: Floats) -> tuple[Floats, Floats]:
        """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
        signed, observed = self.sum(_apply, tally_votes, per_item=(x,))
        return signed, observed

    def compare(self, n_classes: int = 2) -> tuple[NDArray[np.int64], int]:
        """Return `compare_voters` of all blocks: counts, and on how many items voters met."""
        counts, met = self.sum(_apply, n_classes, compare_voters)
        return counts, int(met)


class View(ItemBlocks):
    """Blocks that are changed each time they are visited; see `ItemBlocks.view`."""

    def __init__(
        self,
        source: ItemBlocks,
        change: Change,
        parameters: tuple[Any, ...],
        per_item: Sequence[Array] = (),
    ) -> None:
        self.source, self.change = source, change
        self.parameters, self.per_item = parameters, tuple(per_item)
        self.n_items, self.n_voters, self.place = source.n_items, source.n_voters, source.place

    def visit(self, job: Pass) -> Any:
        """Return the merged results of the pass over the changed blocks."""
        # arrays per item are cut to each block's own, so they do not travel with the pass
        parameters = self.change, self.parameters, len(self.per_item), job._replace(per_item=())
        return self.source.visit(Pass(job.merge, _see, parameters, (*self.per_item, *job.per_item)))

    def take(self, items: Places) -> ItemBlocks:
        """Return some items, changed."""
        return self._change(self.source.take(items).using(self.source.n_threads), items)

    def keep(self, items: Places) -> ItemBlocks:
        """Return some items where they are, changed."""
        return self._change(self.source.keep(items), items)

    def _change(self, some: ItemBlocks, items: Places) -> ItemBlocks:
        if self.change is _change_block:  # still blocks of votes
            *parameters, change = self.parameters
            return some._change_votes(change, self.n_voters, *parameters)
        per_item = [array[items] if array.size else array for array in self.per_item]
        return some.view(self.change, *self.parameters, per_item=per_item)

    def __iter__(self) -> Iterator[Any]:
        low = 0
        for block in self.source:
            high = low + block.n_items
            own = cut(self.per_item, low, high)
            yield from list_parts(self.change(block, *own, *self.parameters))
            low = high

    def using(self, n_threads: int) -> Self:
        """Return the same view, visited by so many threads."""
        view = super().using(n_threads)
        view.source = self.source.using(n_threads)
        return view


def _see(block: Any, *arguments: Any) -> Any:
    """Return a pass's answer for a changed block; the first arrays per item are the change's."""
    *per_item, change, settings, n_own, job = arguments
    found, low = [], 0
    for part in list_parts(change(block, *per_item[:n_own], *settings)):
        high = low + part.n_items
        found.append(job.function(part, *cut(per_item[n_own:], low, high), *job.parameters))
        low = high
    return found[0] if len(found) == 1 else job.merge(found, low)


def list_parts(changed: Any) -> Iterable[Any]:
    """Return the blocks that a change made of one block."""
    return changed if isinstance(changed, Iterator) else [changed]


def _apply(block: Block, *arguments: Any) -> Any:
    *parameters, function = arguments
    return function(block.votes, *parameters)


def _change_block(block: Block, *arguments: Any) -> Block:
    return Block(_apply(block, *arguments), block.start)


def name_pass(job: Pass) -> tuple[Change, tuple[Any, ...]]:
    """Return what a pass computes, of a block or of the votes of one, and its parameters."""
    if job.function is _apply:
        return job.parameters[-1], job.parameters[:-1]
    return job.function, job.parameters


def add_sums(parts: Iterable[Sums], n_items: int = 0) -> Sums:  # noqa: ARG001 - a `Merge`
    """Return the sums of several parts, added in their order; the parts are left as they are."""
    parts = iter(parts)
    totals = next(parts, ())
    for part in parts:
        totals = tuple(total + more for total, more in zip(totals, part, strict=True))
    return totals


def _join_rows(parts: Iterable[Array], n_items: int) -> Array:
    """Return the rows of several parts in one array, which is filled as they come."""
    rows: Array = np.empty(0)
    low = 0
    for part in parts:
        if len(part) == n_items:
            return part
        if low == 0:
            rows = np.empty((n_items, *part.shape[1:]), dtype=part.dtype)
        rows[low : low + len(part)] = part
        low += len(part)
    return rows


def _list_parts(lists: Iterable[list[Any]], n_items: int) -> list[Any]:  # noqa: ARG001 - a `Merge`
    return [part for parts in lists for part in parts]


def group_items(items: Places, starts: Array) -> dict[int, Places]:
    """Return for every block that has some of the items their indices within it."""
    homes = np.searchsorted(starts, items, side="right") - 1
    return {int(k): items[homes == k] - int(starts[k]) for k in np.unique(homes)}


def cut(per_item: Sequence[Array], start: int, stop: int) -> list[Array]:
    """Return the entries of the items start:stop; an empty array stands for none."""
    return [array[start:stop] if array.size else array for array in per_item]


class LocalBlocks(ItemBlocks):
    """Blocks that are opened when their turn comes, at most `n_threads` at once, and dropped."""

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

    def take(self, items: Places) -> ItemBlocks:
        """Return the votes on some items."""
        chosen = group_items(items, self.starts)
        return join_tables(
            [pick_items(self.open(k).votes, places) for k, places in chosen.items()], self.n_voters
        )

    def keep(self, items: Places) -> ItemBlocks:
        """Return some items of the blocks, picked whenever one is opened."""
        return PickedItems(self, items)

    def __iter__(self) -> Iterator[Any]:
        return map(self.open, range(len(self.starts) - 1))


class PickedItems(LocalBlocks):
    """Some items of blocks that are opened when their turn comes."""

    def __init__(self, source: LocalBlocks, items: Places) -> None:
        self.source, self.items, self.place = source, items, source.place
        self.starts = np.searchsorted(items, source.starts)
        self.n_items, self.n_voters = len(items), source.n_voters

    def open(self, number: int) -> Block:
        """Return the picked items of a block."""
        low, high = (int(start) for start in self.starts[number : number + 2])
        block = self.source.open(number)
        return Block(pick_items(block.votes, self.items[low:high] - block.start), low)


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

    def keep(self, items: Places) -> ItemBlocks:
        """Return some items."""
        return self.take(items)

    def view(self, change: Change, *parameters: Any, per_item: Sequence[Array] = ()) -> ItemBlocks:
        """Return the changed blocks, in memory."""
        return KeptView(self, View(self, change, parameters, per_item))


class KeptView(KeptBlocks):
    """The blocks of a view, changed once and kept."""

    def __init__(self, source: KeptBlocks, view: View) -> None:
        parameters = view.change, view.parameters
        job = Pass(_list_parts, _list_changed, parameters, view.per_item)
        super().__init__(source.visit(job), view.n_voters)
        self.made_by, self.place, self.n_threads = view, view.place, source.n_threads

    def take(self, items: Places) -> ItemBlocks:
        """Return some items, changed."""
        return self.made_by.take(items)


def _list_changed(block: Any, *arguments: Any) -> list[Any]:
    *per_item, change, settings = arguments
    return list(list_parts(change(block, *per_item, *settings)))


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

    def take(self, items: Places) -> ItemBlocks:
        """Return the votes on some items, in any order."""
        return WholeTable(pick_items(self.votes, items))

    def _change_votes(self, change: Change, n_voters: int, *parameters: Any) -> ItemBlocks:  # noqa: ARG002
        return WholeTable(change(self.votes, *parameters))


class SparseBlocks(KeptBlocks):
    """Sparse votes in blocks of items, small enough to be expanded to a table (voters^2 bytes)."""

    place = "sparse"

    def __init__(self, matrix: Any) -> None:
        rows = sp.csr_array(matrix)
        n_items, n_voters = (int(side) for side in rows.shape)
        full = FULL * n_voters * n_items // max(rows.nnz, 1)
        length = max(1, DENSE_BYTES // max(n_voters, 1), full)
        lows = range(0, n_items, length)
        blocks = [Block(SparseVotes.of(rows[low : low + length]), low) for low in lows]
        super().__init__(blocks, n_voters)

    def take(self, items: Places) -> ItemBlocks:
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
    """The votes of a file, `block_items` per block: int8, voter by voter within a block."""

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
        shape, offset = (stop - start, self.n_voters), start * self.n_voters
        mapped = np.memmap(self.file, np.int8, mode="r", offset=offset, shape=shape, order="F")
        return Block(mapped.view(np.ndarray), start)


def fitting_items(n_voters: int, n_bytes: int = BLOCK_BYTES) -> int:
    """Return the number of items in a block of about `n_bytes`: whole chunks of the kernels."""
    fitting = n_bytes // max(n_voters, 1)
    # the latent model works in runs of 8,192 items
    step = min(8192, max(fitting // CHUNK, 1) * CHUNK)
    return max(1, fitting // step) * step


def join_tables(tables: Sequence[NDArray[np.int8]], n_voters: int) -> WholeTable:
    """Return the votes of several tables, one below the other."""
    none = np.empty((0, n_voters), dtype=np.int8)
    return WholeTable(np.asfortranarray(np.concatenate([none, *tables])))

"""The seam between methods and the place where votes live: `ItemBlocks`, and views of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.votes.blocks.one import (
    OneBlock,
    as_dense,
    compare_voters,
    rearrange_votes,
    recode_votes,
    tally_votes,
    weigh_votes,
)

Array: TypeAlias = NDArray[Any]
Floats: TypeAlias = NDArray[np.float64]
Columns: TypeAlias = NDArray[np.intp]
Sums: TypeAlias = tuple[Array, ...]
Change: TypeAlias = Callable[..., Any]
Merge: TypeAlias = Callable[[Iterable[Any], int], Any]


class Block(NamedTuple):
    """A run of items: their votes (items x voters), and the index of the first item."""

    votes: OneBlock
    start: int

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.votes)


class Pass(NamedTuple):
    """A visit to all blocks: `function(block, *per_item, *parameters)`, and how results merge.

    `per_item` arrays (one entry per item of the whole, or empty) are cut to the block's own items.
    The function must be importable by name, so that it can be sent to where a block is.
    """

    merge: Merge
    function: Change
    parameters: tuple[Any, ...]
    per_item: Sequence[Array]


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
    def take(self, items: NDArray[np.intp]) -> "ItemBlocks":
        """Return some items, given in rising order, in memory."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]:
        """Yield the blocks one by one, in this process."""

    def sum(
        self, function: Callable[..., Sums], *parameters: Any, per_item: Sequence[Array] = ()
    ) -> Sums:
        """Return the sums over all blocks, added in a fixed order."""
        sums: Sums = self.visit(Pass(add_sums, function, parameters, per_item))
        return sums

    def concatenate(
        self, function: Callable[..., Array], *parameters: Any, per_item: Sequence[Array] = ()
    ) -> Array:
        """Return the rows of all blocks, one for each item, in the order of the items."""
        return np.asarray(self.visit(Pass(join_rows, function, parameters, per_item)))

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
        """Return the blocks as `change(block, *per_item, *parameters)` makes them.

        It returns one block, or an iterator over several, each with `n_items`. Views can be
        stacked. In memory the changed blocks are kept; elsewhere each pass changes them anew.
        """
        return View(self, change, parameters, per_item)

    def rearrange(self, columns: Columns, side: int = 1) -> "ItemBlocks":
        """Return the votes of these voters as columns, times `side`; column -1 has abstained."""
        return Rearranged(self, columns, side)

    def recode(self, lookup: NDArray[np.int8]) -> "ItemBlocks":
        """Return the votes with other codes: entry c of `lookup` for a vote that is c as uint8."""
        return Recoded(self, _recode_block, (lookup,))

    def weigh(self, signed: Floats, observed: Floats) -> Floats:
        """Return per item sum_s signed_s f_is + observed_s |f_is|: an abstention adds nothing."""
        return self.concatenate(_weigh_block, signed, observed)

    def tally(self, x: Floats) -> tuple[Floats, Floats]:
        """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
        signed, observed = self.sum(_tally_block, per_item=(x,))
        return signed, observed

    def compare(self, n_classes: int = 2) -> tuple[NDArray[np.int64], int]:
        """Return counts of items per voter, and on how many items voters met.

        Columns: said each of the classes (no, yes); others voted too; another voted otherwise.
        """
        counts, met = self.sum(_compare_block, n_classes)
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
        n_own = len(self.per_item)
        # arrays per item are cut to each block's own, so they do not travel with the pass
        parameters = self.change, self.parameters, n_own, job._replace(per_item=())
        return self.source.visit(Pass(job.merge, _see, parameters, (*self.per_item, *job.per_item)))

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items, changed."""
        per_item = [array[items] if array.size else array for array in self.per_item]
        taken = self.source.take(items).using(self.source.n_threads)
        return taken.view(self.change, *self.parameters, per_item=per_item)

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


class Rearranged(View):
    """Blocks with other columns, or with the two sides swapped; still blocks of votes."""

    def __init__(self, source: ItemBlocks, columns: Columns, side: int) -> None:
        super().__init__(source, _rearrange_block, (columns, side))
        self.n_voters = len(columns)

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items."""
        return self.source.take(items).rearrange(*self.parameters)


class Recoded(View):
    """Blocks with other codes; still blocks of votes."""

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items."""
        return self.source.take(items).recode(*self.parameters)


class RowNumbers:
    """The names 0, 1, 2, ... of items that have none, made on demand."""

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


def _rearrange_block(block: Block, columns: Columns, side: int) -> Block:
    return Block(rearrange_votes(block.votes, columns, side), block.start)


def _weigh_block(block: Block, signed: Floats, observed: Floats) -> Floats:
    return weigh_votes(block.votes, signed, observed)


def _tally_block(block: Block, x: Floats) -> tuple[Floats, Floats]:
    return tally_votes(block.votes, x)


def _recode_block(block: Block, lookup: NDArray[np.int8]) -> Block:
    return Block(recode_votes(block.votes, lookup), block.start)


def _compare_block(block: Block, n_classes: int) -> Sums:
    return compare_voters(block.votes, n_classes)


def add_sums(parts: Iterable[Sums], n_items: int = 0) -> Sums:  # noqa: ARG001 - a `Merge`
    """Return the sums of several parts, added in their order; the parts are left as they are."""
    parts = iter(parts)
    totals = next(parts, ())
    for part in parts:
        totals = tuple(total + more for total, more in zip(totals, part, strict=True))
    return totals


def join_rows(parts: Iterable[Array], n_items: int) -> Array:
    """Return the rows of several parts in one array."""
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


def group_items(items: NDArray[np.intp], starts: Array) -> dict[int, NDArray[np.intp]]:
    """Return for every block that has some of the items their indices within it."""
    homes = np.searchsorted(starts, items, side="right") - 1
    return {int(k): items[homes == k] - int(starts[k]) for k in np.unique(homes)}


def cut(per_item: Sequence[Array], start: int, stop: int) -> list[Array]:
    """Return the entries of the items start:stop; an empty array stands for none."""
    return [array[start:stop] if array.size else array for array in per_item]

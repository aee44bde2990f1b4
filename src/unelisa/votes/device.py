"""Votes that a device such as a GPU holds beside this process, and passes that run there.

A pass with a twin in torch (`twin_of`) runs on all items at once; sums have a fixed order.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from unelisa.votes.ballots import Ballots
from unelisa.votes.block import Places
from unelisa.votes.blocks import (
    Array,
    Change,
    ItemBlocks,
    Pass,
    SparseBlocks,
    SparseVotes,
    View,
    hold_sparse,
    name_pass,
)

RUN = 2048  # votes of one voter that are added one after another: a device adds runs side by side
Kept = TypeVar("Kept")
TWINS: dict[Change, Change] = {}  # a pass, or a change of blocks -> the same on a device


def twin_of(function: Change) -> Callable[[Change], Change]:
    """Return a decorator for the function that does the same with `Lists`, instead of a block."""

    def note(twin: Change) -> Change:
        TWINS[function] = twin
        return twin

    return note


@dataclass(frozen=True)
class Lists:
    """All votes on a device, item by item: those of i are the places starts[i] to starts[i + 1]."""

    starts: Tensor
    voters: Tensor
    codes: Tensor
    n_voters: int
    log_priors: Tensor | None = None  # items x classes
    # what was found out from the votes once, by its name
    _kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, blocks: ItemBlocks, device: torch.device) -> "Lists":
        """Send the votes of some blocks to a device."""
        parts, low = [], 0
        for block in blocks:
            items, voters, codes = _send(block, device)
            parts.append((items + low, voters.int(), codes))
            low += block.n_items
        none = torch.empty(0, dtype=torch.int32, device=device)
        columns = zip(*parts, strict=True) if parts else (none, none, none)
        items, voters, codes = (torch.cat(list(column)) for column in columns)
        order = torch.sort(items, stable=True).indices
        counts = torch.bincount(items, minlength=blocks.n_items)
        return cls(_mark_starts(counts), voters[order], codes[order], blocks.n_voters)

    @property
    def device(self) -> torch.device:
        """Where the votes are."""
        return self.starts.device

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.starts) - 1

    @property
    def counts(self) -> Tensor:
        """Number of votes per item."""
        return self.starts.diff()

    @property
    def items(self) -> Tensor:
        """The item of every vote."""
        return torch.repeat_interleave(self.counts, output_size=len(self.voters))

    def keep(self, name: str, make: Callable[[], Kept]) -> Kept:
        """Return what is found out from the votes once, whatever is known besides."""
        if name not in self._kept:
            self._kept[name] = make()
        kept: Kept = self._kept[name]
        return kept

    @property
    def silent(self) -> Tensor:
        """The items without votes."""
        return self.keep("silent", lambda: (self.counts == 0).nonzero()[:, 0])

    @property
    def most_classes(self) -> int:
        """How many classes the codes may have; two of -1 and +1."""

        def find() -> int:
            low, high = (int(end) for end in self.codes.aminmax()) if len(self.codes) else (0, 0)
            return 2 if low >= -1 and high <= 1 else max(3, int(self.codes.view(torch.uint8).max()))

        return self.keep("classes", find)

    def sort(self, n_classes: int) -> "Cells":
        """Return the votes by cell, a voter and a class; sorted once for each number of classes."""

        def sort() -> Cells:
            codes = self.codes > 0 if n_classes == 2 else self.codes.view(torch.uint8) - 1
            own = self.voters * n_classes + codes
            order = torch.sort(own, stable=True).indices
            counts = torch.bincount(own, minlength=self.n_voters * n_classes)
            items = self.items.to(_choose_index(self.n_items))[order]
            return Cells(own, items, _mark_starts(counts), n_classes)

        return self.keep(f"cells of {n_classes}", sort)

    def add_by_item(self, rows: Tensor, n_classes: int) -> Tensor:
        """Return per item the sum of the rows of its votes' cells."""
        return _add(rows, self.sort(n_classes).own, self.starts)

    def add_by_cell(self, rows: Tensor, n_classes: int) -> Tensor:
        """Return per voter and class the sum of the rows of the items that it was said of."""
        cells = self.sort(n_classes)
        found = _add(_add(rows, cells.items, cells.runs), cells.parts, cells.homes)
        return found.view(self.n_voters, n_classes, rows.shape[1])

    def take(self, items: NDArray[np.intp]) -> "Lists":
        """Return the votes on some items."""
        chosen = torch.as_tensor(items, device=self.device)
        counts = self.counts[chosen]
        starts = _mark_starts(counts)
        places = torch.arange(int(starts[-1]), device=self.device)
        places += (self.starts[chosen] - starts[:-1]).repeat_interleave(counts)
        priors = None if self.log_priors is None else self.log_priors[chosen]
        return Lists(starts, self.voters[places], self.codes[places], self.n_voters, priors)

    def fetch(self) -> Any:
        """Return the votes as a sparse matrix of codes."""
        columns = self.codes, self.voters.int(), self.starts
        table = tuple(column.cpu().numpy() for column in columns)
        return sp.csr_array(table, shape=(self.n_items, self.n_voters))

    def send(self, array: ArrayLike) -> Tensor:
        """Return an array on the device, numbers as float64."""
        return torch.as_tensor(np.array(array, dtype=np.float64), device=self.device)


class Cells:
    """The votes sorted by cell, in runs of at most `RUN`."""

    def __init__(self, own: Tensor, items: Tensor, starts: Tensor, n_classes: int) -> None:
        self.own, self.items, self.starts = own, items, starts
        many = torch.div(starts.diff() + RUN - 1, RUN, rounding_mode="floor")
        self.homes = _mark_starts(many)  # the runs of each cell
        self.parts = torch.arange(int(self.homes[-1]), device=own.device)
        cell = torch.repeat_interleave(many, output_size=len(self.parts))
        lows = starts[cell] + RUN * (self.parts - self.homes[cell])
        self.runs = torch.cat([lows, starts[-1:]])
        self.sizes = starts.diff().view(-1, n_classes).double()


class DeviceBlocks(ItemBlocks):
    """Blocks of this process, whose votes a device holds too."""

    whole = True

    def __init__(self, source: ItemBlocks, lists: Lists) -> None:
        self.source, self.lists = source, lists
        self.n_items, self.n_voters, self.place = source.n_items, source.n_voters, source.place

    @classmethod
    def of(cls, blocks: ItemBlocks, device: str) -> "DeviceBlocks":
        """Return the blocks, with their votes on a device too."""
        return cls(blocks, Lists.of(blocks, torch.device(device)))

    def visit(self, job: Pass) -> Any:
        """Return the answer of a pass: of its twin on the device, if it has one that applies."""
        function, parameters = name_pass(job)
        twin = TWINS.get(function)
        found = None if twin is None else twin(self.lists, *job.per_item, *parameters)
        return self.source.visit(job) if found is None else job.merge([found], self.n_items)

    def compute(self, function: Change, *parameters: Any) -> Any:
        """Return what the function's twin makes of the votes, or it itself."""
        twin = TWINS.get(function)
        return function(self, *parameters) if twin is None else twin(self.lists, *parameters)

    def near(self, blocks: ItemBlocks) -> ItemBlocks:
        """Return blocks of this process, with their votes on the device too."""
        return DeviceBlocks(blocks, Lists.of(blocks, self.lists.device))

    def find_silent(self) -> Places:
        """Return the items without votes."""
        return np.asarray(self.lists.silent.cpu().numpy())

    def view(self, change: Change, *parameters: Any, per_item: Sequence[Array] = ()) -> ItemBlocks:
        """Return changed blocks; on the device too, if the change has a twin."""
        twin, view = TWINS.get(change), View(self, change, parameters, per_item)
        if twin is None:
            return view
        return DeviceBlocks(view, twin(self.lists, *per_item, *parameters)).using(self.n_threads)

    def rearrange(self, columns: Places, side: int = 1) -> ItemBlocks:
        """Return the votes of these voters as columns, each at most once."""
        if side == 1 and np.array_equal(columns, np.arange(self.n_voters)):
            return self
        places = torch.full((self.n_voters,), -1, dtype=torch.int32)
        there = np.flatnonzero(columns >= 0)
        places[columns[there]] = torch.as_tensor(there, dtype=torch.int32)
        voters = places.to(self.lists.device)[self.lists.voters.long()]
        kept = voters >= 0
        counts = torch.bincount(self.lists.items[kept], minlength=self.n_items)
        lists = replace(
            self.lists,
            starts=_mark_starts(counts),
            voters=voters[kept],
            codes=self.lists.codes[kept] * side,
            n_voters=len(columns),
            _kept={},
        )
        return DeviceBlocks(self.source.rearrange(columns, side), lists)

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items, in this process; the device holds them too if they are most."""
        lists = None if self.source.whole else self.lists.take(items)
        # sparse votes are many blocks to look through
        if isinstance(self.source, SparseBlocks) and lists is not None:
            taken = hold_sparse(lists.fetch())
        else:
            taken = self.source.take(items)
        if 2 * len(items) <= self.n_items:
            return taken
        return DeviceBlocks(taken, lists or self.lists.take(items))

    def keep(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items, here and on the device."""
        return DeviceBlocks(self.source.keep(items), self.lists.take(items))

    def table(self, who: str = "this method") -> NDArray[np.int8]:
        """Return the votes, where they are a table in this process."""
        return self.source.table(who)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.source)

    def using(self, n_threads: int) -> Self:
        """Return the same blocks, visited by so many threads where no device does it."""
        blocks = super().using(n_threads)
        blocks.source = self.source.using(n_threads)
        return blocks


def _add(rows: Tensor, index: Tensor, starts: Tensor) -> Tensor:
    if not len(index):
        return torch.zeros((len(starts) - 1, rows.shape[1]), dtype=rows.dtype, device=rows.device)
    kind = _choose_index(len(index))
    index, starts = index.to(kind), starts.to(kind)
    return embedding_bag(index, rows, starts, mode="sum", include_last_offset=True)


def _choose_index(most: int) -> torch.dtype:
    return torch.int32 if most < 1 << 31 else torch.int64


def _mark_starts(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _send(block: Any, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    if isinstance(block.votes, SparseVotes):
        held = block.votes.items, np.diff(block.votes.starts), block.votes.votes
        items, counts, codes = (torch.as_tensor(np.array(one), device=device) for one in held)
        return items.long(), torch.repeat_interleave(counts), codes
    if isinstance(block, Ballots):
        lists: list[Array] = [block.items, block.voters, block.votes]
        items, voters, codes = (torch.as_tensor(one, device=device) for one in lists)
        return items, voters, codes
    table = torch.as_tensor(np.array(block.votes.T), device=device)
    voters, items = table.nonzero(as_tuple=True)
    return items, voters, table[voters, items]

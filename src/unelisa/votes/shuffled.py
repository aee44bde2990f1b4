"""Long tables of Dask: a shuffle brings the votes on an item together, as sparse blocks."""

from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.parallel import active_client
from unelisa.votes.assembly import Assembled, Duplicates, LongVotes, list_votes
from unelisa.votes.blocks import (
    Array,
    Block,
    Change,
    ItemBlocks,
    Pass,
    SparseVotes,
    View,
    cut,
    group_items,
    hold_sparse,
    list_parts,
)
from unelisa.votes.coding import CodingChoice, settle_coding
from unelisa.votes.columns import Label, Names
from unelisa.votes.frames import as_frame, read_column, read_names
from unelisa.votes.partitioned import Partitions, gather, submit

PART = 1 << 40  # rows that a partition surely has not: its first row's number is a multiple


def read_long(
    table: Any, columns: Sequence[str], coding: CodingChoice, duplicates: Duplicates
) -> Assembled:
    """Return the votes of a long Dask frame with these columns of items, voters and votes."""
    rows = _number_rows(table[list(columns)], columns[0]).shuffle(columns[0]).to_delayed()
    client = active_client()
    parts = list(rows) if client is None else client.compute(list(rows))
    lists = [submit(_list_part, part, table.npartitions) for part in parts]
    found = gather([submit(_examine, one) for one in lists])
    filled = [k for k, (items, _, _) in enumerate(found) if len(items)]
    if not filled:
        raise VotesError("the table holds 0 items; at least 1 is required")
    items, who, labels = zip(*(found[k] for k in filled), strict=True)
    voters = Names.of(np.concatenate(who)).names
    places: dict[Label, str] = {}
    for _, label, place in sorted(chain(*labels), key=itemgetter(0)):
        places.setdefault(label, f"in {place}")
    settled = settle_coding(places, coding)
    blocks = [submit(_encode, lists[k], voters, settled.votes, duplicates) for k in filled]
    lengths = gather([submit(len, block) for block in blocks])
    held = SparsePartitions(blocks, lengths, len(voters))
    return Assembled(held, np.concatenate(items), voters, settled)


def _number_rows(table: Any, item: str) -> Any:
    """Return the table with a number of each row, and one spelling of each item, as compared."""
    meta = table._meta
    if meta[item].dtype.kind not in "iu":
        meta = meta.assign(**{item: meta[item].astype("string")})
    number = "".join(map(str, meta.columns))  # a name that no other column has
    meta = meta.assign(**{number: np.zeros(0, dtype=np.int64)})
    return table.map_partitions(_number_part, item, number, meta=meta)


def _number_part(part: Any, item: str, number: str, partition_info: dict[str, int]) -> Any:
    rows = partition_info["number"] * PART + np.arange(len(part))
    if part[item].dtype.kind not in "iu":
        names = read_names(as_frame(part).get_column(item)).as_text()  # type: ignore[union-attr]
        part = part.assign(**{item: names.rows()}).astype({item: "string"})
    return part.assign(**{number: rows})


def _list_part(part: Any, n_partitions: int) -> LongVotes:
    """Return the votes of a partition in the order of their rows before the shuffle."""
    frame = as_frame(part)
    if frame is None:
        raise VotesError("a partition is not a pandas frame")
    frame = frame.sort(frame.columns[-1])
    items, voters, votes, rows = (frame.get_column(name) for name in frame.columns)
    places = tuple((k * PART, f"partition {k + 1}") for k in range(n_partitions))
    who = read_names(voters).as_text()
    return LongVotes(read_names(items), who, read_column(votes), rows.to_numpy(), places)


def _examine(table: LongVotes) -> tuple[Array, Array, list[tuple[int, Label, str]]]:
    firsts = [(table.said.first_row(label), label) for label in table.said.distinct()]
    found = [(int(table.rows[row]), label, table.locate(row)) for row, label in firsts]  # type: ignore[index]
    return table.items.names, table.voters.names, found


def _encode(
    table: LongVotes, voters: Array, votes: dict[Label, int], duplicates: Duplicates
) -> SparseVotes:
    """Return the votes of a partition, with the voters of the whole table as columns."""
    places = {name: s for s, name in enumerate(voters.tolist())}
    own = np.array([places[name] for name in table.voters.names.tolist()], dtype=np.int32)
    table = table._replace(voters=Names(voters, own[table.voters.codes]))
    return SparseVotes.of(list_votes(table, table.said.encode(votes), duplicates))


class SparsePartitions(Partitions):
    """Sparse blocks in Dask; what a view without parameters makes of them stays there too."""

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items, picked where they are."""
        chosen = group_items(items, self.starts).items()
        rows = gather([submit(_pick_rows, self.blocks[k], places) for k, places in chosen])
        none = sp.csr_array((0, self.n_voters), dtype=np.int8)
        return hold_sparse(sp.vstack([none, *rows], format="csr"))

    def keep(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items of the partitions, picked where they are."""
        chosen = group_items(items, self.starts)
        blocks = [submit(_pick_sparse, self.blocks[k], places) for k, places in chosen.items()]
        return SparsePartitions(blocks, list(map(len, chosen.values())), self.n_voters)

    def view(self, change: Change, *parameters: Any, per_item: Sequence[Array] = ()) -> ItemBlocks:
        """Return the changed blocks."""
        view = View(self, change, parameters, per_item)
        return view if parameters or len(per_item) else KeptParts(self, view)


class KeptParts(Partitions):
    """The blocks of a view of partitions, changed once and kept where they are."""

    def __init__(self, source: Partitions, view: View) -> None:
        starts = source.starts.tolist()
        edges = zip(source.blocks, starts, strict=False)
        blocks = [submit(_list_changed, block, low, view.change) for block, low in edges]
        super().__init__(blocks, np.diff(source.starts).tolist(), source.n_voters)
        self.made_by = view

    def visit(self, job: Pass) -> Any:
        """Return the merged results of the pass over the changed blocks."""
        sent = job._replace(per_item=())
        return super().visit(Pass(job.merge, _see_parts, (sent,), job.per_item))

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items, changed."""
        return self.made_by.take(items)

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks:
            yield from gather([block])[0]


def _pick_rows(votes: SparseVotes, places: NDArray[np.intp]) -> Any:
    return votes.matrix().tocsr()[places]


def _pick_sparse(votes: SparseVotes, places: NDArray[np.intp]) -> SparseVotes:
    return SparseVotes.of(_pick_rows(votes, places))


def _list_changed(votes: SparseVotes, start: int, change: Change) -> list[Any]:
    return list(list_parts(change(Block(votes, start))))


def _see_parts(block: Block, *arguments: Any) -> Any:
    """Return a pass's answer for the parts of a block."""
    *per_item, job = arguments
    parts: Any = block.votes
    found, low = [], 0
    for part in parts:
        high = low + part.n_items
        found.append(job.function(part, *cut(per_item, low, high), *job.parameters))
        low = high
    return found[0] if len(found) == 1 else job.merge(found, low)

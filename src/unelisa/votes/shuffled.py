"""Long tables of Dask: a shuffle brings the votes on an item together, as sparse blocks."""

from collections.abc import Iterator, Sequence
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


def read_long(
    table: Any, columns: Sequence[str], coding: CodingChoice, duplicates: Duplicates
) -> Assembled:
    """Return the votes of a long Dask frame with these columns of items, voters and votes."""
    if duplicates in ("first", "last"):
        raise VotesError(
            f"duplicates={duplicates!r} needs the order of the rows, which Dask does not keep: "
            "use 'refuse' or 'drop', or read the table in memory"
        )
    rows = _spell_items(table[list(columns)], columns[0]).shuffle(columns[0]).to_delayed()
    client = active_client()
    parts = list(rows) if client is None else client.compute(list(rows))
    lists = [submit(_list_part, part, list(columns)) for part in parts]
    found = gather([submit(_examine, one) for one in lists])
    filled = [k for k, (items, _, _) in enumerate(found) if len(items)]
    if not filled:
        raise VotesError("the table holds 0 items; at least 1 is required")
    items, who, labels = zip(*(found[k] for k in filled), strict=True)
    voters = Names.of(np.concatenate(who)).names
    places: dict[Label, str] = {}
    for k, rows_of in zip(filled, labels, strict=True):
        for label, row in rows_of.items():
            places.setdefault(label, f"in row {row + 1} of partition {k + 1}, ordered by item")
    settled = settle_coding(places, coding)
    blocks = [submit(_encode, lists[k], voters, settled.votes, duplicates) for k in filled]
    lengths = gather([submit(len, block) for block in blocks])
    held = SparsePartitions(blocks, lengths, len(voters))
    return Assembled(held, np.concatenate(items), voters, settled)


def _spell_items(table: Any, item: str) -> Any:
    """Return the table with one spelling of each item, which is what the shuffle compares."""
    if table[item].dtype.kind in "iu":
        return table
    spelled = table._meta.assign(**{item: table._meta[item].astype("string")})
    return table.map_partitions(_spell_part, item, meta=spelled)


def _spell_part(part: Any, item: str) -> Any:
    names = read_names(as_frame(part).get_column(item)).as_text()  # type: ignore[union-attr]
    return part.assign(**{item: names.rows()}).astype({item: "string"})


def _list_part(part: Any, columns: list[str]) -> LongVotes:
    frame = as_frame(part)
    if frame is None:
        raise VotesError("a partition is not a pandas frame")
    items, voters, votes = (frame.get_column(name) for name in columns)
    return LongVotes(read_names(items), read_names(voters).as_text(), read_column(votes))


def _examine(table: LongVotes) -> tuple[Array, Array, dict[Label, int]]:
    labels = {label: table.said.first_row(label) for label in table.said.distinct()}
    return table.items.names, table.voters.names, labels


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

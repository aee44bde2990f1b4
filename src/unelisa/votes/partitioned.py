"""Dask collections: votes that stay in their partitions, and results that stay lazy."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.parallel import active_client
from unelisa.votes.assembly import Assembled, encode
from unelisa.votes.blocks import (
    Block,
    ItemBlocks,
    Pass,
    Sums,
    add_sums,
    cut,
    group_items,
    join_tables,
    mark_starts,
    pick_items,
)
from unelisa.votes.coding import Coding, CodingChoice, settle_coding
from unelisa.votes.columns import Column, Label, Later, RowNumbers
from unelisa.votes.frames import (
    array_columns,
    as_array,
    as_frame,
    list_names,
    long_columns,
    name_voters,
    read_column,
)

FAN = 8  # parts added up by one task; the cluster adds until no more than these are left
LIGHT = 1 << 20  # bytes of parameters sent with the tasks; larger ones are sent once


dask: Any = Later("dask")  # an extra
da: Any = Later("dask.array")
# of a partition, its numbers of rows and columns, and the row and column where a label first occurs
_Found: TypeAlias = tuple[int, int, dict[Label, tuple[int, int]]]


def is_partitioned(table: Any) -> bool:
    """Return whether a table is a Dask array or frame; there is none where Dask is not imported."""
    if "dask" not in sys.modules or not hasattr(table, "__dask_graph__"):
        return False
    return hasattr(table, "to_delayed") and hasattr(table, "npartitions")


def read_partitions(table: Any, coding: CodingChoice) -> Assembled:
    """Return the votes of a Dask collection; its int8 blocks are persisted where they are."""
    parts, names = _split(table)
    examine, recode = (dask.delayed(f, pure=False) for f in (_examine, _encode))
    found = dask.compute(*[examine(part, names) for part in parts])
    filled = [k for k, one in enumerate(found) if one[0] > 0]
    if not filled:
        raise VotesError("the table holds 0 items; at least 1 is required")
    n_voters = found[filled[0]][1]
    voters = name_voters(n_voters) if names is None else np.array(names, dtype=object)
    settled = _settle([found[k] for k in filled], voters, coding)
    blocks = [recode(parts[k], names, settled.votes) for k in filled]
    partitions = Partitions(blocks, [found[k][0] for k in filled], n_voters)
    items = RowNumbers(partitions.n_items)
    return Assembled(partitions, items, voters, settled, names is not None)


def score_items(model: Any, table: Any) -> NDArray[np.float64]:
    """Return `model.decision_function` of every item of a Dask collection as a lazy Dask array."""
    parts, _ = _split(table)
    lengths = table.chunks[0] if hasattr(table, "chunks") else [np.nan] * len(parts)
    shared = dask.delayed(model, pure=False, traverse=False)
    per_item = (len(model.classes_),) if len(model.classes_) > 2 else ()
    scores = [
        da.from_delayed(shared.decision_function(part), (length, *per_item), np.float64)
        for part, length in zip(parts, lengths, strict=True)
    ]
    joined: NDArray[np.float64] = da.concatenate(scores)
    return joined


def map_scores(
    answer: Callable[..., NDArray[Any]], scores: Any, dtype: Any, n_columns: int = 0, **facts: Any
) -> NDArray[Any]:
    """Return `answer(scores, **facts)`, row by row; one per item with `classes`; lazy for Dask."""
    if not is_partitioned(scores):
        return answer(scores, **facts)
    if "classes" in facts and scores.ndim > 1:
        facts["drop_axis"] = 1
    if n_columns:
        facts |= {"new_axis": 1, "chunks": (*scores.chunks, (n_columns,))}
    answers: NDArray[Any] = scores.map_blocks(answer, dtype=dtype, **facts)
    return answers


def _split(table: Any) -> tuple[list[Any], list[str] | None]:
    columns = getattr(table, "columns", None)
    if columns is None:
        if table.ndim != 2:
            raise VotesError(
                f"votes must be a table of items x voters, found {table.ndim} dimension(s)"
            )
        return list(table.rechunk({1: -1}).to_delayed().ravel()), None
    item, voter, vote = long_columns([str(name) for name in columns], (None, None, None))
    if item is not None and voter is not None and vote is not None:
        raise VotesError(
            "a long table in Dask partitions may have an item's votes in several partitions; "
            "pass Votes.of(table), which brings them together"
        )
    return list(table.to_delayed()), [str(name) for name in columns if str(name) != item]


def _columns(part: Any, names: list[str] | None) -> list[Column]:
    if names is None:
        return array_columns(as_array(part))
    frame = as_frame(part)
    if frame is None:
        raise VotesError("a partition is not a pandas frame")
    return [read_column(frame.get_column(name)) for name in names]


def _examine(part: Any, names: list[str] | None) -> _Found:
    labels: dict[Label, tuple[int, int]] = {}
    columns = _columns(part, names)
    for s, column in enumerate(columns):
        for label in column.distinct() - labels.keys():
            labels[label] = (column.first_row(label), s)
    return len(part), len(columns), labels


def _settle(found: Sequence[_Found], voters: NDArray[Any], coding: CodingChoice) -> Coding:
    places: dict[Label, str] = {}
    first = 0
    for n_rows, _, labels in found:
        for label, (row, s) in labels.items():
            column = list_names([voters[s]])
            places.setdefault(label, f"in data row {first + row + 1}, column {column}")
        first += n_rows
    return settle_coding(places, coding)


def _encode(part: Any, names: list[str] | None, votes: dict[Label, int]) -> NDArray[np.int8]:
    return encode(_columns(part, names), votes)


class Partitions(ItemBlocks):
    """Blocks in Dask: persisted int8 tables, one voter contiguous, with their numbers of items."""

    place = "in Dask partitions"

    def __init__(self, blocks: Sequence[Any], lengths: Sequence[int], n_voters: int) -> None:
        client = active_client()
        self.blocks = list(dask.persist(*blocks) if client is None else client.compute(blocks))
        self.starts = mark_starts(lengths)
        self.n_items, self.n_voters = int(self.starts[-1]), n_voters

    def visit(self, job: Pass) -> Any:
        """Return the merged results; sums are first added in place, eight neighbors per task."""
        # without the arrays per item, of which each task gets its own; heavy ones are a task,
        # which is sent once and can be recomputed
        sent: Any = _Parcel(job.function, job.parameters)
        if len(self.blocks) * _weigh(job.parameters) > LIGHT:
            sent = submit(_Parcel, job.function, job.parameters)
        edges = zip(self.blocks, self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        parts = [
            submit(_visit_block, block, low, sent, _Parcel(*cut(job.per_item, low, high)))
            for block, low, high in edges
        ]
        while job.merge is add_sums and len(parts) > FAN:
            groups = [parts[low : low + FAN] for low in range(0, len(parts), FAN)]
            parts = [submit(_add_neighbors, *group) for group in groups]
        return job.merge(gather(parts), self.n_items)

    def take(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return the votes on some items, picked where they are."""
        chosen = group_items(items, self.starts).items()
        tables = gather([submit(pick_items, self.blocks[k], places) for k, places in chosen])
        return join_tables(tables, self.n_voters)

    def keep(self, items: NDArray[np.intp]) -> ItemBlocks:
        """Return some items of the partitions, picked where they are."""
        chosen = group_items(items, self.starts)
        tables = [submit(pick_items, self.blocks[k], places) for k, places in chosen.items()]
        return Partitions(tables, list(map(len, chosen.values())), self.n_voters)

    def __iter__(self) -> Iterator[Block]:
        for votes, start in zip(self.blocks, self.starts.tolist(), strict=False):
            yield Block(gather([votes])[0], start)


def submit(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task: a future of the active client, otherwise a Delayed."""
    client = active_client()
    if client is None:
        return dask.delayed(function, pure=False, traverse=False)(*arguments)
    return client.submit(function, *arguments, pure=False)


def gather(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of the tasks."""
    client = active_client()
    return list(dask.compute(*tasks) if client is None else client.gather(list(tasks)))


class _Parcel:
    """Values that Dask must not traverse."""

    def __init__(self, *values: Any) -> None:
        self.values = values


def _visit_block(votes: Any, start: int, job: _Parcel, own: _Parcel) -> Any:
    function, parameters = job.values
    return function(Block(votes, start), *own.values, *parameters)


def _add_neighbors(*parts: Sums) -> Sums:
    return add_sums(parts)


def _weigh(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return sum(map(_weigh, value)) if isinstance(value, tuple | list) else 64

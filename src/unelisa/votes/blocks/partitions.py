"""Votes in Dask partitions: passes run where the partitions are, and only their sums are sent.

With a `dask.distributed` client the partitions and all tasks are futures: what a lost worker held
is recomputed from its origin. Without a client, Dask's own threads do the work.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.parallel import active_client
from unelisa.votes.blocks.base import Block, ItemBlocks, Pass, Sums, add_sums, cut, group_items
from unelisa.votes.blocks.local import WholeTable
from unelisa.votes.blocks.one import mark_starts, pick_items

FAN = 8  # parts added up by one task; the cluster adds until no more than these are left
LIGHT = 1 << 20  # bytes of parameters sent with the tasks; larger ones are sent once


class Partitions(ItemBlocks):
    """Blocks in Dask: one Delayed int8 table per partition, items x voters.

    One voter is contiguous, `lengths` are the items of each. They are persisted where they are.
    """

    place = "in Dask partitions"

    def __init__(self, blocks: Sequence[Any], lengths: Sequence[int], n_voters: int) -> None:
        import dask  # noqa: PLC0415 - an extra

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
        none = np.empty((0, self.n_voters), dtype=np.int8)
        return WholeTable(np.asfortranarray(np.concatenate([none, *tables])))

    def __iter__(self) -> Iterator[Block]:
        for votes, start in zip(self.blocks, self.starts.tolist(), strict=False):
            yield Block(gather([votes])[0], start)


def submit(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task: a future of the active client, otherwise a Delayed."""
    from dask import delayed  # noqa: PLC0415

    client = active_client()
    if client is None:
        return delayed(function, pure=False, traverse=False)(*arguments)
    return client.submit(function, *arguments, pure=False)


def gather(tasks: Sequence[Any]) -> list[Any]:
    """Return the results of the tasks."""
    from dask import compute  # noqa: PLC0415

    client = active_client()
    return list(compute(*tasks) if client is None else client.gather(list(tasks)))


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
    """Return the approximate size of parameters in bytes."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return sum(map(_weigh, value)) if isinstance(value, tuple | list) else 64

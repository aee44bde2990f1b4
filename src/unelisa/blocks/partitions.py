"""Votes in Dask partitions: passes run where the partitions are, and only their sums travel.

With a `dask.distributed` client the partitions and all tasks are futures: what a lost worker held
is computed again from where it came. Without one Dask's own threads do the work.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks.base import Array, Block, ItemBlocks, Sums, add_sums, cut, group_items
from unelisa.blocks.one import mark_starts, pick_items

FAN = 8  # parts added up by one task; the cluster adds until so few are left
LIGHT = 1 << 20  # bytes of parameters that go with every task; more are sent once


class Partitions(ItemBlocks):
    """Blocks that are Dask's to hold.

    Parameters
    ----------
    blocks
        One Delayed int8 table per partition, items x voters, one voter contiguous. They are
        computed and kept where they are.
    lengths
        Items of each.
    n_voters
        Number of voters.
    """

    place = "in Dask partitions"

    def __init__(self, blocks: Sequence[Any], lengths: Sequence[int], n_voters: int) -> None:
        import dask  # noqa: PLC0415 - an extra

        client = active_client()
        self.blocks = list(dask.persist(*blocks) if client is None else client.compute(blocks))
        self.starts = mark_starts(lengths)
        self.n_items, self.n_voters = int(self.starts[-1]), n_voters

    def sum(
        self,
        function: Callable[..., Sums],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,  # noqa: ARG002 - the cluster decides
    ) -> Sums:
        """Return the sums over all partitions: eight neighbors at a time are added, then those."""
        parts = self._visit(function, parameters, per_item)
        while len(parts) > FAN:
            groups = [parts[low : low + FAN] for low in range(0, len(parts), FAN)]
            parts = [submit(_add_neighbors, *group) for group in groups]
        return _add_neighbors(*gather(parts))

    def concatenate(
        self,
        function: Callable[..., Array],
        *parameters: Any,
        per_item: Sequence[Array] = (),
        n_threads: int = 1,  # noqa: ARG002 - the cluster decides
    ) -> Array:
        """Return the rows of all partitions."""
        return np.concatenate(gather(self._visit(function, parameters, per_item)))

    def take(self, items: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the votes on some items, picked where they are."""
        chosen = group_items(items, self.starts).items()
        tables = gather([submit(pick_items, self.blocks[k], places) for k, places in chosen])
        none = np.empty((0, self.n_voters), dtype=np.int8)
        return np.asfortranarray(np.concatenate([none, *tables]))

    def __iter__(self) -> Iterator[Block]:
        for votes, start in zip(self.blocks, self.starts.tolist(), strict=False):
            yield Block(gather([votes])[0], start)

    def _visit(
        self, function: Callable[..., Any], parameters: tuple[Any, ...], per_item: Sequence[Array]
    ) -> list[Any]:
        """Return the function of every partition, under way."""
        job: Any = _Parcel(function, parameters)
        if len(self.blocks) * _weigh(parameters) > LIGHT:
            job = submit(_Parcel, function, parameters)  # a task of its own: computable again
        edges = zip(self.blocks, self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return [
            submit(_visit_block, block, low, job, _Parcel(None, tuple(cut(per_item, low, high))))
            for block, low, high in edges
        ]


def active_client() -> Any:
    """Return the Dask client of this process, or None; a worker's own tasks have none.

    A task that waited for other tasks of the same worker could wait forever.
    """
    if "distributed" not in sys.modules:
        return None
    import distributed  # noqa: PLC0415 - an extra, loaded already

    try:
        distributed.get_worker()
    except ValueError:  # no task of a worker
        pass
    else:
        return None
    try:
        return distributed.Client.current()
    except ValueError:
        return None


def submit(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a task under way: a future of the active client, otherwise a Delayed."""
    from dask import delayed  # noqa: PLC0415

    client = active_client()
    if client is None:
        return delayed(function, pure=False, traverse=False)(*arguments)
    return client.submit(function, *arguments, pure=False)


def gather(tasks: Sequence[Any]) -> list[Any]:
    """Return what the tasks give."""
    from dask import compute  # noqa: PLC0415

    client = active_client()
    return list(compute(*tasks) if client is None else client.gather(list(tasks)))


class _Parcel:
    """A function and arrays that Dask shall not look into."""

    def __init__(self, function: Callable[..., Any] | None, arrays: tuple[Any, ...]) -> None:
        self.function, self.arrays = function, arrays


def _visit_block(votes: Any, start: int, job: _Parcel, own: _Parcel) -> Any:
    if job.function is None:
        raise TypeError("a parcel without a function cannot be visited")
    return job.function(Block(votes, start), *own.arrays, *job.arrays)


def _add_neighbors(*parts: Sums) -> Sums:
    totals = parts[0]
    for part in parts[1:]:
        totals = add_sums(totals, part)
    return totals


def _weigh(value: Any) -> int:
    """Return about how many bytes parameters have."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return sum(map(_weigh, value)) if isinstance(value, tuple | list) else 64

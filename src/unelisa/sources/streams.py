"""Vote tables larger than memory, read batch by batch and stored as blocks in a file.

Only wide tables (one row per item) are streamed. The table is read twice: first for its labels and
the number of items, then for the votes. Only one batch is in memory at a time. The file of votes is
in the temporary directory (TMPDIR) without a name, so that it ends with the `Votes` or the process.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from mmap import ACCESS_READ, mmap
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.memory import refuse_beyond
from unelisa.progress import show_progress
from unelisa.votes import Votes
from unelisa.votes.assembly import Assembled, note_labels
from unelisa.votes.blocks import MappedBlocks, fitting_items
from unelisa.votes.coding import CodingChoice, settle_coding
from unelisa.votes.columns import Column, Label, RowNumbers, join_columns
from unelisa.votes.frames import refuse_repeated_items

SEARCHED = 5_000_000  # items that are checked for duplicates, at 16 bytes each
ITEM_BYTES = 16  # the least that any method needs in memory for an item


class Batch(NamedTuple):
    """Some rows of a wide table."""

    n_rows: int
    names: NDArray[Any] | None  # of the items, None if they have none
    columns: Sequence[Column]  # one per voter
    held: int = 0  # bytes of memory that the rows take, roughly


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Return the rows of several batches as one."""
    if not batches:
        raise VotesError("the table holds 0 items; at least 1 is required")
    if len(batches) == 1:
        return batches[0]
    names = [batch.names for batch in batches if batch.names is not None]
    columns = zip(*(batch.columns for batch in batches), strict=True)
    return Batch(
        sum(batch.n_rows for batch in batches),
        np.concatenate(names) if names else None,
        [join_columns(parts) for parts in columns],
    )


class StoredNames:
    """Names of items in Arrow's format, mapped from a file."""

    def __init__(self, names: Any) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, chosen: Any) -> Any:
        rows = np.arange(len(self))[chosen]
        return (
            self._names[int(rows)].as_py() if rows.ndim == 0 else self._names.take(rows).to_numpy()
        )

    def keep(self, rows: NDArray[np.intp]) -> "StoredNames":
        """Return some of the names, as compact as all of them."""
        return StoredNames(self._names.take(rows))

    def __iter__(self) -> Iterator[Any]:
        return (name for names in self._names.chunks for name in names.to_pylist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self._names.to_numpy(), dtype=dtype)

    def tolist(self) -> list[Any]:
        """Return all names."""
        return list(self)


def store_votes(
    read: Callable[[], Iterator[Batch]],
    voters: Sequence[str],
    titles: Sequence[str],
    coding: CodingChoice,
    n_rows: int,
) -> Votes:
    """Return the votes of a wide table of about `n_rows` rows, stored in a file.

    `read` returns an iterator over its batches, from the first; messages call the voters' columns
    by their `titles`.
    """
    with show_progress("storing the votes", 2 * n_rows) as advance:
        found: dict[Label, str] = {}
        n_items, kind = 0, None  # of the items' names: numbers, or object for texts
        for batch in read():
            distinct = [column.distinct() for column in batch.columns]
            note_labels(found, batch.columns, distinct, titles, n_items)
            if batch.names is not None:
                own = batch.names.dtype
                kind = own if kind is None else np.promote_types(kind, own)
            n_items += batch.n_rows
            refuse_beyond(ITEM_BYTES * n_items, f"a table of more than {n_items:,} items")
            advance(batch.n_rows)
        settled = settle_coding(found, coding)
        blocks, items = _write(read, (n_items, len(voters)), kind, settled.votes, advance)
    names = np.array(voters, dtype=object)
    return Votes.of_assembled(Assembled(blocks, items, names, settled))


def _write(
    read: Callable[[], Iterator[Batch]],
    shape: tuple[int, int],
    kind: Any,
    votes: dict[Label, int],
    advance: Callable[[int], None],
) -> tuple[MappedBlocks, Any]:
    """Write the votes block by block, voter by voter within a block; and the item names."""
    n_items, n_voters = shape
    length = fitting_items(n_voters)
    buffer = np.empty((length, n_voters), dtype=np.int8, order="F")
    used = 0
    with ExitStack() as opened:
        file, named = opened.enter_context(_open_hidden()), opened.enter_context(_open_hidden())
        names = _NameWriter(named, kind)
        for batch in read():
            encoded = [column.encode(votes) for column in batch.columns]
            names.add(batch.names)
            first = 0
            while first < batch.n_rows:
                taken = min(length - used, batch.n_rows - first)
                for s, column in enumerate(encoded):
                    buffer[used : used + taken, s] = column[first : first + taken]
                used, first = used + taken, first + taken
                if used == length:
                    file.write(buffer.tobytes(order="F"))
                    used = 0
            advance(batch.n_rows)
        file.write(buffer[:used].tobytes(order="F"))
        file.flush()
        blocks = MappedBlocks(file, n_items, n_voters, length)
        items = names.open(n_items)
        opened.pop_all()
    weakref.finalize(blocks, file.close)
    return blocks, items


def _open_hidden() -> IO[bytes]:
    """Return a temporary file without a name, which nobody else can read."""
    return tempfile.TemporaryFile(prefix="unelisa-")


class _NameWriter:
    """Writes the names of items, numbers or texts; without a `kind` there are none."""

    def __init__(self, file: IO[bytes], kind: Any) -> None:
        import pyarrow as pa  # noqa: PLC0415 - only files need it

        self._file, self._writer = file, None
        if kind is not None:
            self._kind = pa.large_string() if kind.kind == "O" else pa.from_numpy_dtype(kind)
            self._writer = pa.ipc.new_stream(file, pa.schema([("item", self._kind)]))

    def add(self, names: NDArray[Any] | None) -> None:
        """Add the names of a batch."""
        import pyarrow as pa  # noqa: PLC0415

        if names is not None and self._writer is not None:
            texts = names if self._kind != pa.large_string() else list(map(str, names.tolist()))
            self._writer.write_batch(pa.record_batch([pa.array(texts, self._kind)], names=["item"]))

    def open(self, n_items: int) -> Any:
        """Return the names, mapped into memory, where the file is closed; or row numbers."""
        import pyarrow as pa  # noqa: PLC0415

        with self._file:
            if self._writer is None:
                return RowNumbers(n_items)
            self._writer.close()
            self._file.flush()
            mapped = mmap(self._file.fileno(), 0, access=ACCESS_READ)
        names = StoredNames(pa.ipc.open_stream(pa.py_buffer(mapped)).read_all().column(0))
        if n_items <= SEARCHED:
            hashes = np.fromiter(map(hash, names), np.int64, n_items)
            if len(np.unique(hashes)) < n_items:  # so that names need not all be in memory
                refuse_repeated_items(np.asarray(names))
        return names

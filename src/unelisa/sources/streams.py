"""Vote tables larger than memory, read batch by batch and stored as blocks in a file.

Only wide tables (one row per item) are streamed. The table is read twice: first for its labels and
the number of items, then for the votes. Only one batch is in memory at a time. The file of votes is
in the temporary directory (TMPDIR) without a name, so that it ends with the `Votes` or the process.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.memory import refuse_beyond
from unelisa.progress import show_progress
from unelisa.votes import Votes
from unelisa.votes.assembly import Assembled
from unelisa.votes.blocks import MappedBlocks, RowNumbers, fitting_items
from unelisa.votes.coding import MAX_CLASSES, CodingChoice, settle_coding
from unelisa.votes.columns import Column, Label, join_columns
from unelisa.votes.frames import refuse_free_text, refuse_repeated_items

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


@dataclass(frozen=True)
class WideStream:
    """A wide table that can be read more than once."""

    voters: list[str]  # names of the voters' columns
    open: Callable[[], Iterator[Batch]]  # returns an iterator over the batches, from the first
    n_rows: int  # approximate number of rows, for the progress bar
    titles: Sequence[str] | None = None  # how messages call the columns, by default their names


@dataclass
class Survey:
    """What the first pass finds."""

    n_items: int = 0
    found: dict[Label, str] = field(default_factory=dict)
    kind: Any = None  # dtype of the items' names: of numbers, or object for texts

    def add(self, batch: Batch, titles: Sequence[str]) -> None:
        """Add a batch."""
        for title, column in zip(titles, batch.columns, strict=True):
            for label in column.distinct() - self.found.keys():
                row = self.n_items + column.first_row(label) + 1
                self.found[label] = f"in data row {row}, column {title}"
            if len(self.found) > MAX_CLASSES:
                refuse_free_text(title)
        if batch.names is not None:
            kind = batch.names.dtype
            self.kind = kind if self.kind is None else np.promote_types(self.kind, kind)
        self.n_items += batch.n_rows
        refuse_beyond(ITEM_BYTES * self.n_items, f"a table of more than {self.n_items:,} items")


class StoredNames:
    """Names of items in a file: their text, and where each one ends."""

    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        self._text, self._ends = text, ends

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, chosen: Any) -> Any:
        if np.ndim(chosen) == 0 and not isinstance(chosen, slice):
            return self._read(range(len(self))[chosen])
        rows = np.arange(len(self))[chosen]
        names = np.empty(len(rows), dtype=object)
        names[:] = [self._read(row) for row in rows.tolist()]
        return names

    def __iter__(self) -> Iterator[str]:
        return (self._read(row) for row in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)

    def tolist(self) -> list[str]:
        """Return all names."""
        return list(self)

    def _read(self, row: int) -> str:
        start = int(self._ends[row - 1]) if row else 0
        return bytes(self._text[start : int(self._ends[row])]).decode()


def store_votes(stream: WideStream, coding: CodingChoice) -> Votes:
    """Return the votes of a table, stored in a file."""
    with show_progress("storing the votes", 2 * stream.n_rows) as advance:
        survey = Survey()
        titles = stream.titles or [repr(name[:60]) for name in stream.voters]
        for batch in stream.open():
            survey.add(batch, titles)
            advance(batch.n_rows)
        if not survey.found:
            raise VotesError("there are no votes: every cell is missing")
        settled = settle_coding(survey.found, coding)
        blocks, items = _write(stream, survey, settled.votes, advance)
    voters = np.array(stream.voters, dtype=object)
    return Votes.of_assembled(Assembled(blocks, items, voters, settled))


def _write(
    stream: WideStream, survey: Survey, votes: dict[Label, int], advance: Callable[[int], None]
) -> tuple[MappedBlocks, Any]:
    """Write the votes block by block, voter by voter within a block; and the item names."""
    n_voters = len(stream.voters)
    length = fitting_items(n_voters)
    buffer = np.empty((length, n_voters), dtype=np.int8, order="F")
    used = 0
    with ExitStack() as opened:
        file, text, ends = (opened.enter_context(_open_hidden()) for _ in range(3))
        names = _NameWriter(text, ends, survey.kind)
        for batch in stream.open():
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
        blocks = MappedBlocks(file, survey.n_items, n_voters, length)
        items = names.open(survey.n_items)
        opened.pop_all()
    weakref.finalize(blocks, file.close)
    return blocks, items


def _open_hidden() -> IO[bytes]:
    """Return a temporary file without a name, which nobody else can read."""
    return tempfile.TemporaryFile(prefix="unelisa-")


class _NameWriter:
    """Writes the names of items, numbers as they are and texts one after the other."""

    def __init__(self, text: IO[bytes], ends: IO[bytes], kind: Any) -> None:
        self._text, self._ends, self._kind, self._length = text, ends, kind, 0

    def add(self, names: NDArray[Any] | None) -> None:
        """Add the names of a batch."""
        if names is None:
            return
        if self._kind.kind != "O":
            self._ends.write(names.astype(self._kind).tobytes())
            return
        texts = [str(name).encode() for name in names.tolist()]
        ends = self._length + np.cumsum([len(text) for text in texts], dtype=np.int64)
        self._length = int(ends[-1]) if len(ends) else self._length
        self._text.write(b"".join(texts))
        self._ends.write(ends.tobytes())

    def open(self, n_items: int) -> Any:
        """Return the names, mapped into memory, where the files are closed; or row numbers."""
        with self._text, self._ends:
            if self._kind is None:
                return RowNumbers(n_items)
            self._text.flush()
            self._ends.flush()
            kind = np.int64 if self._kind.kind == "O" else self._kind
            names: Any = np.memmap(self._ends, kind, mode="r", shape=(n_items,))
            if self._kind.kind == "O":
                text = np.memmap(self._text, np.uint8, mode="r", shape=(self._length,))
                names = StoredNames(text, names)
        if n_items <= SEARCHED:
            hashes = np.fromiter(map(hash, names), np.int64, n_items)
            if len(np.unique(hashes)) < n_items:  # so that names need not all be in memory
                refuse_repeated_items(np.asarray(names))
        return names

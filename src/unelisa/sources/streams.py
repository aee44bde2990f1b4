"""Vote tables larger than memory, read batch by batch and stored as blocks in a file.

Only wide tables (one row per item) are streamed. The table is read twice: first for its labels, the
number of items and the longest name, then for the votes. Only one batch is in memory at a time. The
file of votes is in the temporary directory (TMPDIR) and is deleted with the `Votes`.
"""

import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import MappedBlocks, RowNumbers
from unelisa.blocks.mapped import fitting_items
from unelisa.coding import CodingChoice, Column, Label, settle_coding
from unelisa.errors import VotesError
from unelisa.progress import show_progress
from unelisa.votes import Votes, refuse_repeated_items

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
SEARCHED = 5_000_000  # items that are checked for duplicates, at 16 bytes each


class Batch(NamedTuple):
    """Some rows of a wide table."""

    n_rows: int
    names: NDArray[Any] | None  # of the items, None if they have none
    columns: Sequence[Column]  # one per voter


@dataclass(frozen=True)
class WideStream:
    """A wide table that can be read more than once."""

    voters: list[str]  # names of the voters' columns
    open: Callable[[], Iterator[Batch]]  # returns an iterator over the batches, from the first
    n_rows: int  # approximate number of rows, for the progress bar


@dataclass
class Survey:
    """What the first pass finds."""

    n_items: int = 0
    found: dict[Label, str] = field(default_factory=dict)
    names: Any = None  # dtype that can hold the name of every item

    def add(self, batch: Batch, voters: list[str]) -> None:
        """Add a batch."""
        for name, column in zip(voters, batch.columns, strict=True):
            for label in column.distinct() - self.found.keys():
                row = self.n_items + column.first_row(label) + 1
                self.found[label] = f"in data row {row}, column {name[:60]!r}"
        if batch.names is not None:
            kind = batch.names.dtype
            if kind.kind == "O":
                kind = np.dtype(("U", max(map(len, batch.names.tolist()), default=1)))
            self.names = kind if self.names is None else np.promote_types(self.names, kind)
        self.n_items += batch.n_rows


def store_votes(stream: WideStream, coding: CodingChoice) -> Votes:
    """Return the votes of a table, stored in a file."""
    with show_progress("storing the votes", 2 * stream.n_rows) as advance:
        survey = Survey()
        for batch in stream.open():
            survey.add(batch, stream.voters)
            advance(batch.n_rows)
        if not survey.found:
            raise VotesError("there are no votes: every cell is missing")
        settled = settle_coding(survey.found, coding)
        folder = Path(tempfile.mkdtemp(prefix="unelisa-"))
        try:
            blocks = _write(stream, survey, settled.votes, folder, advance)
            items = _open_names(survey, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    weakref.finalize(blocks, shutil.rmtree, folder, ignore_errors=True)
    voters = np.array(stream.voters, dtype=object)
    return Votes(blocks, items, voters, settled.classes, coding=settled.name)


def _write(
    stream: WideStream,
    survey: Survey,
    votes: dict[Label, int],
    folder: Path,
    advance: Callable[[int], None],
) -> MappedBlocks:
    """Write the votes block by block, voter by voter within a block; and the item names."""
    n_voters = len(stream.voters)
    length = fitting_items(n_voters)
    buffer = np.empty((length, n_voters), dtype=np.int8, order="F")
    used = 0
    with (folder / "votes.int8").open("wb") as file, (folder / "items").open("wb") as names:
        for batch in stream.open():
            encoded = [column.encode(votes) for column in batch.columns]
            if survey.names is not None and batch.names is not None:
                names.write(batch.names.astype(survey.names).tobytes())
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
    return MappedBlocks(folder / "votes.int8", survey.n_items, n_voters, length)


def _open_names(survey: Survey, folder: Path) -> Any:
    """Return the item names, memory-mapped; row numbers if they have none."""
    if survey.names is None:
        return RowNumbers(survey.n_items)
    names = np.memmap(folder / "items", survey.names, mode="r", shape=(survey.n_items,))
    if survey.n_items <= SEARCHED:
        refuse_repeated_items(names)
    return names


def read_size(text: str | int) -> int:
    """Return a number of bytes, given as a number or as text such as "500MB".

    Examples
    --------
    >>> read_size("500MB"), read_size("1.5 GB"), read_size(4096)
    (500000000, 1500000000, 4096)
    """
    found = _SIZE.fullmatch(str(text).strip())
    size = 0.0 if found is None else float(found[1]) * _UNITS[found[2].upper()]
    if not 1 <= size < float("inf"):
        raise VotesError(
            f"the memory limit must be a number of bytes, such as 500MB, found {str(text)[:60]!r}"
        )
    return int(size)

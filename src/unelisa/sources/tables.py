"""Vote tables in files: CSV (also gzipped), Parquet, Feather, Excel, JSON lines; long or wide.

A wide table larger than memory is read twice: for its labels and names, then for the votes, which
go to a file without a name in TMPDIR that ends with the `Votes` or the process.
"""

import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.memory import limit_memory, memory_limit, refuse_beyond
from unelisa.progress import show_progress
from unelisa.sources.arrow import ArrowTable, pa
from unelisa.sources.files import (
    DECIMAL,
    ROWS,
    TextTable,
    check_readable,
    read_json_lines,
    read_workbook,
    reading,
)
from unelisa.sources.guesses import explain_table, refuse_dates
from unelisa.votes import Votes
from unelisa.votes.assembly import (
    Assembled,
    Duplicates,
    LongVotes,
    assemble,
    assemble_long,
    choose_long_voters,
    note_labels,
)
from unelisa.votes.blocks import MappedBlocks, fitting_items
from unelisa.votes.coding import CodingChoice, declare_order, settle_coding
from unelisa.votes.columns import Column, Label, RowNumbers, encode_names, read_cells
from unelisa.votes.frames import (
    NO_COLUMNS,
    ColumnNames,
    choose_voters,
    find_item,
    fold_name,
    long_columns,
    refuse_repeated_items,
)

SEARCHED = 5_000_000  # items that are checked for duplicates, at 16 bytes each
ITEM_BYTES = 16  # the least that any method needs in memory for an item
MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"})
# bytes of memory at the peak: per vote of a long table, besides its cells as read, per cell
# of a wide one, and per name of an item
VOTE_BYTES, CELL_BYTES, NAME_BYTES = 40, 3, 120
LISTED = 10  # times the memory that the cells of a wide table take one below the other
_SHEETS = {".xlsx": read_workbook, ".jsonl": read_json_lines, ".ndjson": read_json_lines}
INDEX = ("", "unnamed0")  # names of the column in which pandas writes an index
FORMATS = ".csv, .csv.gz, .tsv, .tsv.gz, .xlsx, .jsonl, .parquet, .feather or .arrow"


class Batch(NamedTuple):
    """Some rows of a wide table."""

    n_rows: int
    names: NDArray[Any] | None  # of the items, None if they have none
    columns: Sequence[Column]  # one per voter
    held: int = 0  # bytes of memory that the rows take, roughly


def join_batches(batches: Sequence[Batch]) -> Batch:
    """Return the rows of several batches as one."""
    if len(batches) == 1:
        return batches[0]
    if not batches:
        raise VotesError("the table holds 0 items; at least 1 is required")
    sizes, names, columns, _ = zip(*batches, strict=True)
    joined = [Column.join(parts) for parts in zip(*columns, strict=True)]
    return Batch(sum(sizes), None if names[0] is None else np.concatenate(names), joined)


class StoredNames:
    """Names of items in Arrow's format, mapped from a file."""

    def __init__(self, names: Any) -> None:
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, chosen: Any) -> Any:
        rows = np.arange(len(self))[chosen]
        if rows.ndim == 0:
            return self._names[int(rows)].as_py()
        return self._names.take(rows).to_numpy()

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
    """Return the votes of a wide table, stored in a file; `read` starts its batches anew."""
    found: dict[Label, str] = {}
    n_items, names = 0, None
    with show_progress("storing the votes", 2 * n_rows) as advance, _open_hidden() as named:
        for batch in read():
            distinct = [column.distinct() for column in batch.columns]
            note_labels(found, batch.columns, distinct, titles, n_items)
            if batch.names is not None:
                kind = pa.large_string() if batch.names.dtype == object else None
                rows = pa.record_batch({"item": pa.array(batch.names, kind)})
                names = names or pa.ipc.new_stream(named, rows.schema)
                names.write_batch(rows)
            n_items += batch.n_rows
            refuse_beyond(ITEM_BYTES * n_items, f"a table of more than {n_items:,} items")
            advance(batch.n_rows)
        settled = settle_coding(found, coding)
        items = RowNumbers(n_items) if names is None else _map_names(named, names)
        blocks = _write(read, (n_items, len(voters)), settled.votes, advance)
    return Votes.of_assembled(Assembled(blocks, items, np.array(voters, dtype=object), settled))


def _map_names(file: IO[bytes], writer: Any) -> StoredNames:
    """Return the names that were written, mapped into memory; refuse those that occur twice."""
    writer.close()
    file.flush()
    mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
    names = StoredNames(pa.ipc.open_stream(pa.py_buffer(mapped)).read_all().column(0))
    if len(names) <= SEARCHED:
        hashes = np.fromiter(map(hash, names), np.int64, len(names))
        if len(np.unique(hashes)) < len(names):  # so that names need not all be in memory
            refuse_repeated_items(np.asarray(names))
    return names


def _write(
    read: Callable[[], Iterator[Batch]],
    shape: tuple[int, int],
    votes: dict[Label, int],
    advance: Callable[[int], None],
) -> MappedBlocks:
    length, used = fitting_items(shape[1]), 0
    buffer = np.empty((length, shape[1]), dtype=np.int8, order="F")
    with ExitStack() as opened:
        file = opened.enter_context(_open_hidden())
        for batch in read():
            encoded = [column.encode(votes) for column in batch.columns]
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
        blocks = MappedBlocks(file, *shape, length)
        opened.pop_all()
    weakref.finalize(blocks, file.close)
    return blocks


def _open_hidden() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="unelisa-")


@dataclass(frozen=True)
class VoteTable:
    """A file of votes, in the format that its extension names."""

    path: Path
    coding: CodingChoice
    named: ColumnNames = NO_COLUMNS
    content: Any = None  # bytes that stand for those of the file

    streams: ClassVar[bool] = True  # whether a table beyond the memory limit is kept in a file

    def read(self) -> Votes:
        """Return the votes, or raise `VotesError`."""
        with reading(self.path):
            table = self._open()
            columns = long_columns(table.header, self.named)
            if columns[1] is None:
                try:
                    return self._read_wide(table, *self._split_columns(table, columns[0]))
                except VotesError as error:
                    raise explain_table(table.peek(), error) from None
            long = self._list_long(table, columns)
            said = table.call_columns(columns)[2]
            found = assemble_long(long, self.coding, said)
            refuse_dates(found.coding.classes, said)
            found = choose_long_voters(found, self.named, table.header)
            return Votes.of_assembled(found, self.named)

    def list_votes(self) -> LongVotes:
        """Return the votes, one below the other, to be joined with those of other files."""
        with reading(self.path):
            table = self._open()
            columns = long_columns(table.header, self.named)
            if columns[1] is not None:
                return self._list_long(table, columns)
            item, voters = self._split_columns(table, columns[0])
            if item is None:
                raise VotesError(
                    f"{self.path.name} has no column of items, so its rows cannot be matched with "
                    "those of other files; name it with item (--item)"
                )
            batches, held = [], 0
            for batch in self._read_batches(table, item, voters):
                batches.append(batch)
                held += batch.held
                refuse_beyond(LISTED * held, self.path.name)
            rows, who = join_batches(batches), np.array(voters, dtype=object)
            return LongVotes.of_wide(np.asarray(rows.names), who, rows.columns)

    def _open(self) -> Any:
        if self.content is None:
            check_readable(self.path)
        ending, last = "".join(self.path.suffixes[-2:]).lower(), self.path.suffix.lower()
        if self.path.is_dir() or last in (".parquet", ".feather", ".arrow", ".ipc"):
            table = ArrowTable(self.path)
            what = f"{self.path.name} with {table.n_rows:,} rows"
            refuse_beyond(ITEM_BYTES * table.n_rows, what)
            return table
        named = (*self.named[:3], *(self.named.voters or ()), *self.named.drop)
        if last in _SHEETS and self.content is None:
            return TextTable(self.path, _SHEETS[last](self.path), named)
        if not ending.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")):
            raise VotesError(f"{self.path.name} has an unknown file extension; use {FORMATS}")
        return TextTable(self.path, self.content, named)

    def _split_columns(self, table: Any, item: str | None) -> tuple[str | None, list[str]]:
        """Return the column of items of a wide table, if any, and those of voters."""
        header = list(table.header)
        last = table.peek().get("", "?") if header[-1] == "" else "?"
        if len(last) < ROWS and not any(last):  # spreadsheets end their lines with empty cells
            header.pop()
        if item is None:
            table.check_header()
            item = self._find_item(table, header)
        elif self._has_index(table):
            other = item if item != header[0] else self._find_item(table, header[1:])
            if other is not None and self.named.item in (None, other):
                item, header = other, header[1:]
        present = [name for name in header if name != item]
        return item, choose_voters(present, self.named._replace(item=item))

    def _has_index(self, table: Any) -> bool:
        """Return whether the first column is the index that pandas writes, named by nobody."""
        first = table.header[0]
        if fold_name(first) not in INDEX or first in (*self.named.drop, *(self.named.voters or ())):
            return False
        cells = table.peek().get(first, ())
        return len(cells) > 0 and cells == list(map(str, range(len(cells))))

    def _find_item(self, table: Any, header: list[str]) -> str | None:
        first: Any = next(table.batches(header), None)
        titles = dict(zip(header, table.call_columns(header), strict=True))

        def read(name: str) -> Column:
            return self._read_column(first.column(header.index(name)), titles[name], table)

        return None if first is None else find_item(header, self.named, self.coding, read)

    def _list_long(self, table: Any, columns: Sequence[Any]) -> LongVotes:
        batches, held = [], 0
        for batch in table.batches(columns, long=True, named=True):
            batches.append(batch)
            held += 2 * batch.nbytes + VOTE_BYTES * batch.num_rows
            refuse_beyond(held, self.path.name)
        if not batches:
            raise VotesError("the table holds 0 items; at least 1 is required")
        cells, titles = pa.Table.from_batches(batches).columns, table.call_columns(columns)
        del batches
        said = self._read_column(cells[2], titles[2], table)
        items, voters = (encode_names(cells.pop(0), title) for title in titles[:2])
        return LongVotes(items, voters.as_text(), said)

    def _read_column(self, cells: Any, title: str, table: Any) -> Column:
        column = read_cells(cells, title)
        if not table.spelled:
            return column

        def read(text: str) -> str | None:
            label = self._read_label(text.strip())
            if table.decimal_commas and DECIMAL.fullmatch(label):
                return label.replace(",", ".")
            return None if label in MISSING else label

        return column.respell(read)

    def _read_label(self, text: str) -> str:
        return text

    def _read_batches(self, table: Any, item: str | None, voters: Sequence[str]) -> Iterator[Batch]:
        columns = [*([] if item is None else [item]), *voters]
        titles, before = table.call_columns(columns), 0
        for batch in table.batches(columns, named=item is not None):
            cells = list(zip(batch.columns, titles, strict=True))
            rows, held = None, CELL_BYTES * batch.num_rows * len(voters)
            if item is not None:
                names = encode_names(*cells.pop(0), before)
                held += NAME_BYTES * len(names.names) + sum(map(len, map(str, names.names)))
                rows = names.rows()
            read = [self._read_column(*one, table) for one in cells]
            yield Batch(batch.num_rows, rows, read, held)
            before += batch.num_rows

    def _read_wide(self, table: Any, item: str | None, voters: list[str]) -> Votes:
        titles = table.call_columns(voters)
        named = self.named._replace(item=item)
        limit, batches, held = memory_limit(), [], 0
        if table.needed <= limit or not self.streams:
            for batch in self._read_batches(table, item, voters):
                batches.append(batch)
                held += batch.held
                if self.streams and held > limit:
                    break
                refuse_beyond(held, self.path.name)
            else:
                return self._assemble(join_batches(batches), voters, titles, named)
        batches.clear()
        read = partial(self._read_batches, table, item, voters)
        stored = store_votes(read, voters, titles, self.coding, table.n_rows)
        return replace(stored, columns=named)

    def _assemble(
        self, rows: Batch, voters: list[str], titles: Sequence[str], named: ColumnNames
    ) -> Votes:
        items = np.arange(rows.n_rows) if rows.names is None else rows.names
        refuse_repeated_items(items)
        names = np.array(voters, dtype=object)
        found = assemble(rows.columns, items, names, self.coding, titles)
        return Votes.of_assembled(found, named)


def join_tables(tables: Sequence[VoteTable], duplicates: Duplicates = "refuse") -> Votes:
    """Return the votes of one file or several, as one table."""
    if len(tables) == 1 and duplicates == "refuse":
        return tables[0].read()
    if not tables:
        raise VotesError("there are no files of votes; name at least one")
    lists = [table.list_votes() for table in tables]
    n_votes = sum(len(one.items.codes) for one in lists)
    refuse_beyond(VOTE_BYTES * n_votes, f"{len(tables)} files with {n_votes:,} votes")
    whole = LongVotes.join(lists, [table.path.name for table in tables])
    found = assemble_long(whole, tables[0].coding, "of votes", duplicates)
    return Votes.of_assembled(found, tables[0].named)


def read_votes(  # noqa: PLR0913 - how a file may be written
    path: str | Path | Sequence[str | Path],
    coding: CodingChoice = "auto",
    *,
    order: Sequence[Any] | None = None,
    item: str | None = None,
    voter: str | None = None,
    vote: str | None = None,
    voters: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    duplicates: Duplicates = "refuse",
    memory: str | int | None = None,
) -> Votes:
    r"""Return the votes in a file, or in several.

    Parameters
    ----------
    path
        CSV (.csv, .csv.gz, .tsv, .tsv.gz), Excel (.xlsx: the first sheet; needs the excel extra),
        JSON lines (.jsonl), Parquet (.parquet, or a folder of such files) or Feather (.feather,
        .arrow). Cells are separated by commas, or by semicolons, tabs or bars if the header has no
        comma. Long: one row per vote, with columns named item, voter and vote (or task, worker and
        label, as in exports of MTurk, Toloka and Prolific, or as given below). Wide: one row per
        item, one column per voter, and a column item or task, or a first column that can be nothing
        else. The votes of a list of files are joined by the names of items and voters.
    coding, order, item, voter, vote, voters, drop, duplicates
        See `Votes.of`.
    memory
        The limit in bytes, or as text such as "500MB"; by default that of UNELISA_MEMORY, or 1 GB.
        A larger wide table is read batch by batch into a temporary file; what cannot be read that
        way, such as a larger long table, is refused. See docs/scaling.md.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = file.write_text("item,ann,bob\nx1,yes,no\nx2,yes,\n")
    >>> read_votes(file).values
    array([[ 1, -1],
           [ 1,  0]], dtype=int8)
    """
    with limit_memory(memory):
        declared = declare_order(coding, order)
        columns = ColumnNames.of((item, voter, vote, voters, drop))
        tables = [VoteTable(file, declared, columns) for file in _list_paths(path)]
        return join_tables(tables, duplicates)


def _list_paths(path: Any) -> list[Path]:
    several = [path] if isinstance(path, str | Path) else path
    if not isinstance(several, Sequence) or not all(isinstance(one, str | Path) for one in several):
        kind = type(path).__name__
        raise VotesError(
            f"votes are read from a path or a list of paths, found {kind}; tables in memory are "
            "read by Votes.of"
        )
    return [Path(one) for one in several]

"""Vote tables in files: CSV (also gzipped), Parquet, Feather; long or wide."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.memory import limit_memory, memory_limit, refuse_beyond
from unelisa.sources.feather import measure_feather, read_feather
from unelisa.sources.files import check_readable, reading, refuse_bomb
from unelisa.sources.parquet import (
    Measure,
    list_parquet,
    measure_parquet,
    read_columns,
    read_table,
    stream_wide,
)
from unelisa.sources.streams import ITEM_BYTES, Batch, WideStream, store_votes
from unelisa.sources.text import TextTable, refuse_missing_header, refuse_nul
from unelisa.votes import Votes
from unelisa.votes.assembly import Duplicates, LongVotes, assemble, assemble_long, list_frame
from unelisa.votes.coding import MAX_CLASSES, CodingChoice, declare_order
from unelisa.votes.columns import Names, TextColumn
from unelisa.votes.frames import (
    ColumnNames,
    as_frame,
    long_columns,
    refuse_free_text,
    refuse_repeated_items,
)

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"})
NO_NAMES = frozenset({"", "NaN", "nan", "NaT", "<NA>"})  # NA and null may be real names
# bytes of memory at the peak: per vote of a long table, per cell of a wide one, and per name
VOTE_BYTES, CELL_BYTES, NAME_BYTES = 80, 3, 200
LISTED = 10  # times the memory that the cells of a wide table take one below the other
FORMATS = ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .feather or .arrow"


@dataclass(frozen=True)
class VoteTable:
    """A file of votes, in the format that its extension names."""

    path: Path
    coding: CodingChoice
    named: ColumnNames = (None, None, None)
    content: Any = None  # bytes that stand for those of the file

    streams: ClassVar[bool] = True  # whether a table beyond the memory limit is kept in a file

    def read(self) -> Votes:
        """Return the votes, or raise `VotesError`."""
        readers = {"parquet": self._read_parquet, "text": self._read_text}
        read = readers.get(self._find_format(), self._read_feather)
        with reading(self.path):
            return replace(read(), columns=self.named)

    def list_votes(self) -> LongVotes:
        """Return the votes, one below the other, to be joined with those of other files."""
        kind = self._find_format()
        with reading(self.path):
            if kind == "text":
                return self._list_text()
            files = list_parquet(self.path) if kind == "parquet" else []
            return list_frame(as_frame(self._read_arrow(files)), self.named)

    def _find_format(self) -> str:
        if self.content is None:
            check_readable(self.path)
        ending = "".join(self.path.suffixes[-2:]).lower()
        if self.path.is_dir() or ending.endswith(".parquet"):
            return "parquet"
        if ending.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")):
            return "text"
        if ending.endswith((".feather", ".arrow", ".ipc")):
            return "feather"
        raise VotesError(f"{self.path.name} has an unknown file extension; use {FORMATS}")

    def _read_parquet(self) -> Votes:
        files = list_parquet(self.path)
        measure = measure_parquet(files)
        size = sum(file.stat().st_size for file in files)
        item, long = self._find_form(read_columns(files), measure, size)
        if self.streams and not long and measure.needed > memory_limit():
            return store_votes(stream_wide(files, item, measure.n_rows), self.coding)
        return self._of_frame(self._read_arrow(files))

    def _read_feather(self) -> Votes:
        return self._of_frame(self._read_arrow([]))

    def _read_arrow(self, files: Sequence[Path]) -> Any:
        """Return the rows of some Parquet files, or of the Feather file, in memory."""
        if files:
            measure = measure_parquet(files)
            size = sum(file.stat().st_size for file in files)
            _, long = self._find_form(read_columns(files), measure, size)
            self._refuse_beyond(measure, long)
            return read_table(files)
        n_rows, unpacked, columns = measure_feather(self.path)
        measure = Measure(n_rows, max(unpacked, 2 * n_rows * len(columns)), 2 * unpacked)
        _, long = self._find_form(columns, measure, self.path.stat().st_size)
        self._refuse_beyond(measure, long)
        return read_feather(self.path)

    def _find_form(
        self, columns: Sequence[str], measure: Measure, size: int
    ) -> tuple[str | None, bool]:
        """Return the item column and whether the table is long, unless it is a bomb."""
        refuse_bomb(self.path.name, size, measure.unpacked)
        refuse_beyond(ITEM_BYTES * measure.n_rows, f"{self.path.name} with {measure.n_rows:,} rows")
        named = long_columns(columns, self.named)
        return named[0], None not in named

    def _refuse_beyond(self, measure: Measure, long: bool) -> None:
        needed = measure.needed + (VOTE_BYTES * measure.n_rows if long else 0)
        refuse_beyond(needed, self.path.name)

    def _of_frame(self, frame: Any) -> Votes:
        item, voter, vote = self.named
        return Votes.of(frame, self.coding, item=item, voter=voter, vote=vote)

    def _read_text(self) -> Votes:
        table, (item, voter, vote) = self._open_text()
        if item is not None and voter is not None and vote is not None:
            title = table.call_columns((vote,))[0]
            long = self._list_long(table, (item, voter, vote))
            return Votes.of_assembled(assemble_long(long, self.coding, title))
        return self._read_wide(table, [name for name in table.header if name != item], item)

    def _open_text(self) -> tuple[TextTable, ColumnNames]:
        """Return the table, and its columns of items, voters and votes where it has them."""
        table = TextTable(self.path, self.content, self.named)
        item, voter, vote = long_columns(table.header, self.named)
        if item is not None and voter is not None and vote is not None:
            return table, (item, voter, vote)
        if self.named[1] is not None or self.named[2] is not None:
            raise VotesError(
                "a long table needs columns of items, voters and votes; name all three"
            )
        if item is None:
            first = next(table.batches(table.header), None)
            refuse_missing_header(table.header, first, self.path.name)
        return table, (item, None, None)

    def _list_text(self) -> LongVotes:
        """Return the votes of a text file, long or wide, one below the other."""
        table, (item, voter, vote) = self._open_text()
        if item is not None and voter is not None and vote is not None:
            return self._list_long(table, (item, voter, vote))
        if item is None:
            raise VotesError(
                f"{self.path.name} has no column of items, so its rows cannot be matched with "
                "those of other files; name it with item (--item)"
            )
        voters = [name for name in table.header if name != item]
        titles = table.call_columns([item, *voters])
        whole = _Collected(titles, True, self._read_label)
        for batch in table.batches([item, *voters]):
            whole.add(batch)
            refuse_beyond(LISTED * whole.held, self.path.name)
        rows = whole.finish()
        return LongVotes.of_wide(
            np.asarray(rows.names), np.array(voters, dtype=object), rows.columns
        )

    def _read_label(self, text: str) -> str:
        """Return the label in a stripped cell."""
        return text

    def _list_long(self, table: TextTable, columns: tuple[str, str, str]) -> LongVotes:
        titles = table.call_columns(columns)
        items, voters = _NameColumn(titles[0]), _NameColumn(titles[1])
        votes = _LabelColumn(titles[2], {}, self._read_label)
        n_rows = 0
        for batch in table.batches(columns):
            n_rows += batch.num_rows
            for column, cells in zip((items, voters, votes), batch.columns, strict=True):
                column.add(cells)
            refuse_beyond(VOTE_BYTES * n_rows + items.held + voters.held, self.path.name)
        return LongVotes(items.names(), voters.names(), votes.column())

    def _read_wide(self, table: TextTable, voters: list[str], item: str | None) -> Votes:
        columns = [*([] if item is None else [item]), *voters]
        titles = table.call_columns(columns)

        def stream() -> Iterator[Batch]:
            for batch in table.batches(columns):
                collected = _Collected(titles, item is not None, self._read_label)
                collected.add(batch)
                yield collected.finish()

        if table.size <= memory_limit() or not self.streams:
            whole = _Collected(titles, item is not None, self._read_label)
            for batch in table.batches(columns):
                whole.add(batch)
                if self.streams and whole.held > memory_limit():
                    break
                refuse_beyond(whole.held, self.path.name)
            else:
                return self._assemble(whole.finish(), voters, titles)
        rows = table.size // (2 * len(voters))
        wide = WideStream(voters, stream, rows, titles[-len(voters) :])
        return store_votes(wide, self.coding)

    def _assemble(self, whole: Batch, voters: list[str], titles: Sequence[str]) -> Votes:
        items = np.arange(whole.n_rows) if whole.names is None else whole.names
        refuse_repeated_items(items)
        names = np.array(voters, dtype=object)
        return Votes.of_assembled(
            assemble(whole.columns, items, names, self.coding, titles[-len(voters) :])
        )


class _Collected:
    """Collects the rows of a wide table, batch by batch."""

    def __init__(self, titles: Sequence[str], named: bool, read: Callable[[str], str]) -> None:
        known: dict[str, int] = {}
        self._names = [_NameColumn(titles[0])] if named else []
        self._votes = [_LabelColumn(title, known, read) for title in titles[len(self._names) :]]
        self._n_rows = 0

    def add(self, batch: Any) -> None:
        """Add the cells of an Arrow batch."""
        self._n_rows += batch.num_rows
        for column, cells in zip([*self._names, *self._votes], batch.columns, strict=True):
            column.add(cells)

    @property
    def held(self) -> int:
        """Bytes of memory that the rows take, roughly."""
        names = sum(column.held for column in self._names)
        return names + CELL_BYTES * self._n_rows * len(self._votes)

    def finish(self) -> Batch:
        """Return all rows as one batch."""
        items = self._names[0].in_row_order() if self._names else None
        return Batch(self._n_rows, items, [column.column() for column in self._votes])


class _NameColumn:
    """Collects a text column of names, batch by batch, as codes into the distinct names."""

    def __init__(self, title: str, known: dict[str, int] | None = None) -> None:
        self._title, self.held = title, 0  # how messages call it; bytes of memory for the names
        self._known = {} if known is None else known
        self._codes: list[NDArray[Any]] = [np.empty(0, np.int8)]

    def add(self, cells: Any) -> None:
        encoded = cells.fill_null("").dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        refuse_nul(texts)
        places = np.array([self._place(text.strip()) for text in texts], dtype=np.int32)
        places = places.astype(self._kind())
        self._codes.append(places[encoded.indices.to_numpy(zero_copy_only=False)])

    def _kind(self) -> type[np.signedinteger[Any]]:
        """Return the type of the codes."""
        return np.int32

    def _place(self, text: str) -> int:
        if text in NO_NAMES:
            raise VotesError(f"column {self._title} has an empty name; fill it or drop the row")
        place = self._known.setdefault(text, len(self._known))
        if place == len(self._known) - 1:
            self.held += NAME_BYTES + len(text)
        return place

    def names(self) -> Names:
        distinct = Names.of(np.array(list(self._known), dtype=object))
        return Names(distinct.names, distinct.codes.astype(np.int32)[np.concatenate(self._codes)])

    def in_row_order(self) -> NDArray[Any]:
        names = np.array(list(self._known), dtype=object)
        return np.asarray(names[np.concatenate(self._codes)])


class _LabelColumn(_NameColumn):
    """Collects a column of labels as codes into the few labels of all columns; -1 is missing."""

    def __init__(self, title: str, known: dict[str, int], read: Callable[[str], str]) -> None:
        super().__init__(title, known)
        self._read = read

    def _place(self, text: str) -> int:
        label = self._read(text)
        if label in MISSING:
            return -1
        if len(self._known) >= MAX_CLASSES and label not in self._known:
            refuse_free_text(self._title)
        return self._known.setdefault(label, len(self._known))

    def _kind(self) -> type[np.signedinteger[Any]]:
        return np.int8 if len(self._known) < 128 else np.int16

    def column(self) -> TextColumn:
        return TextColumn(list(self._known), np.concatenate(self._codes))


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
    duplicates: Duplicates = "refuse",
    memory: str | int | None = None,
) -> Votes:
    r"""Return the votes in a file, or in several.

    Parameters
    ----------
    path
        CSV (.csv, .csv.gz, .tsv, .tsv.gz), Parquet (.parquet, or a folder of such files) or
        Feather (.feather, .arrow).
        Cells are separated by commas, or by semicolons, tabs or bars if the header has no comma.
        Long: one row per vote, with columns named item, voter and vote (or task, worker and
        label, or as given below). Wide: one row per item and one column per voter, with item names
        in a column called item or task, or as given. Several files are a list of these: their
        votes are joined, items and voters being matched by name.
    coding
        What the labels mean: see `Votes.of`.
    order
        All classes in their order, where it has a meaning.
    item, voter, vote
        Column names, if they are not the usual ones.
    duplicates
        What to do with different votes of one voter on one item: see `Votes.of`.
    memory
        The limit in bytes, or as text such as "500MB"; by default that of the environment variable
        UNELISA_MEMORY, or 1 GB. A larger wide table does not stay in memory: it is read batch by
        batch into a temporary file, which every method reads block by block. What cannot be read
        that way, such as a larger long table, is refused. See docs/scaling.md.

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
        paths = [path] if isinstance(path, str | Path) else path
        columns = item, voter, vote
        return join_tables([VoteTable(Path(one), declared, columns) for one in paths], duplicates)

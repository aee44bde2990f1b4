"""Vote tables in files: CSV (also gzipped), Parquet, Feather; long or wide."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.coding import CodingChoice, Names, TextColumn
from unelisa.errors import Hint, VotesError
from unelisa.frames import MAX_LABELS, long_columns
from unelisa.sources.files import check_readable, reading, refuse_bomb
from unelisa.sources.parquet import (
    ColumnNames,
    count_bytes,
    count_cells,
    list_parquet,
    read_table,
    stream_wide,
)
from unelisa.sources.streams import Batch, WideStream, read_size, store_votes
from unelisa.sources.text import TextTable, refuse_missing_header, refuse_nul
from unelisa.votes import (
    Votes,
    assemble,
    assemble_long,
    refuse_repeated_items,
)

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"})
NO_NAMES = frozenset({"", "NaN", "nan", "NaT", "<NA>"})  # NA and null may be real names
MEMORY = "1GB"
FORMATS = ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .feather or .arrow"


@dataclass(frozen=True)
class VoteTable:
    """A file of votes, in the format that its extension names."""

    path: Path
    coding: CodingChoice
    named: ColumnNames = (None, None, None)
    memory: int = read_size(MEMORY)

    def read(self) -> Votes:
        """Return the votes, or raise `VotesError`."""
        check_readable(self.path)
        read = self._choose_reader()
        with reading(self.path):
            return replace(read(), columns=self.named)

    def _choose_reader(self) -> Callable[[], Votes]:
        ending = "".join(self.path.suffixes[-2:]).lower()
        if self.path.is_dir() or ending.endswith(".parquet"):
            return self._read_parquet
        if ending.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")):
            return self._read_text
        if ending.endswith((".feather", ".arrow", ".ipc")):
            return self._read_feather
        raise VotesError(f"{self.path.name} has an unknown file extension; use {FORMATS}")

    def _read_parquet(self) -> Votes:
        files = list_parquet(self.path)
        if self.path.is_file():
            refuse_bomb(self.path, 2 * count_cells(files))
        if count_bytes(files) > self.memory:
            stream = stream_wide(files, self.named)
            if stream is not None:
                return store_votes(stream, self.coding)
        return self._of_frame(read_table(files))

    def _read_feather(self) -> Votes:
        import pyarrow as pa  # noqa: PLC0415 - only files need it

        with self.path.open("rb") as start:
            if start.read(4) == b"FEA1":
                raise VotesError(f"{self.path.name} is in Feather version 1; save it in version 2")
        batches, unpacked = [], 0
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                batches.append(reader.get_batch(number))
                batches[-1].validate(full=True)  # Arrow trusts the offsets in a file
                unpacked += batches[-1].nbytes
                refuse_bomb(self.path, unpacked)
            return self._of_frame(pa.Table.from_batches(batches, reader.schema))

    def _of_frame(self, frame: Any) -> Votes:
        item, voter, vote = self.named
        return Votes.of(frame, self.coding, item=item, voter=voter, vote=vote)

    def _read_text(self) -> Votes:
        table = TextTable(self.path)
        item, voter, vote = long_columns(table.header, self.named)
        if item is not None and voter is not None and vote is not None:
            return self._read_long(table, (item, voter, vote))
        if self.named[1] is not None or self.named[2] is not None:
            raise VotesError(
                "a long table needs columns of items, voters and votes; name all three"
            )
        if item is None:
            first = next(table.batches(table.header), None)
            refuse_missing_header(table.header, first, self.path.name)
        return self._read_wide(table, [name for name in table.header if name != item], item)

    def _read_label(self, text: str) -> str:
        """Return the label in a stripped cell."""
        return text

    def _read_long(self, table: TextTable, columns: tuple[str, str, str]) -> Votes:
        items, voters = _NameColumn(columns[0]), _NameColumn(columns[1])
        votes = _LabelColumn(columns[2], {}, self._read_label)
        for batch in table.batches(columns):
            for column, cells in zip((items, voters, votes), batch.columns, strict=True):
                column.add(cells)
        return assemble_long(items.names(), voters.names(), votes.column(), self.coding)

    def _read_wide(self, table: TextTable, voters: list[str], item: str | None) -> Votes:
        columns, size = [*([] if item is None else [item]), *voters], self.path.stat().st_size

        def stream() -> Iterator[Batch]:
            return (self._collect([batch], voters, item) for batch in table.batches(columns))

        if size > self.memory:
            return store_votes(WideStream(voters, stream, size // (2 * len(voters))), self.coding)
        whole = self._collect(table.batches(columns), voters, item)
        items = np.arange(whole.n_rows) if whole.names is None else whole.names
        refuse_repeated_items(items)
        return assemble(whole.columns, items, np.array(voters, dtype=object), self.coding)

    def _collect(self, batches: Iterable[Any], voters: list[str], item: str | None) -> Batch:
        """Return the rows of some batches as one."""
        known: dict[str, int] = {}
        names = [] if item is None else [_NameColumn(item)]
        votes = [_LabelColumn(voter, known, self._read_label) for voter in voters]
        n_rows = 0
        for batch in batches:
            n_rows += batch.num_rows
            for column, cells in zip([*names, *votes], batch.columns, strict=True):
                column.add(cells)
        items = names[0].in_row_order() if names else None
        return Batch(n_rows, items, [column.column() for column in votes])


class _NameColumn:
    """Collects a text column of names, batch by batch, as codes into the distinct names."""

    kind: type[np.signedinteger[Any]] = np.int32

    def __init__(self, title: str, known: dict[str, int] | None = None) -> None:
        self._title = title
        self._known = {} if known is None else known
        self._codes: list[NDArray[Any]] = [np.empty(0, self.kind)]

    def add(self, cells: Any) -> None:
        encoded = cells.fill_null("").dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        refuse_nul(texts)
        places = np.array([self._place(text.strip()) for text in texts], dtype=self.kind)
        self._codes.append(places[encoded.indices.to_numpy(zero_copy_only=False)])

    def _place(self, text: str) -> int:
        if text in NO_NAMES:
            raise VotesError(f"column {self._title!r} has an empty name; fill it or drop the row")
        return self._known.setdefault(text, len(self._known))

    def names(self) -> Names:
        distinct = Names.of(np.array(list(self._known), dtype=object))
        return Names(distinct.names, distinct.codes[np.concatenate(self._codes)])

    def in_row_order(self) -> NDArray[Any]:
        names = np.array(list(self._known), dtype=object)
        return np.asarray(names[np.concatenate(self._codes)])


class _LabelColumn(_NameColumn):
    """Collects a column of labels as codes into the few labels of all columns; -1 is missing."""

    kind = np.int8

    def __init__(self, title: str, known: dict[str, int], read: Callable[[str], str]) -> None:
        super().__init__(title, known)
        self._read = read

    def _place(self, text: str) -> int:
        label = self._read(text)
        if label in MISSING:
            return -1
        if len(self._known) >= MAX_LABELS and label not in self._known:
            raise VotesError(
                f"column {self._title[:60]!r} holds far more than two labels",
                Hint("item", self._title[:60], "if it names the items"),
            )
        return self._known.setdefault(label, len(self._known))

    def column(self) -> TextColumn:
        return TextColumn(list(self._known), np.concatenate(self._codes))


def read_votes(
    path: str | Path,
    coding: CodingChoice = "auto",
    *,
    item: str | None = None,
    voter: str | None = None,
    vote: str | None = None,
    memory: str | int = MEMORY,
) -> Votes:
    r"""Return the votes in a file.

    Parameters
    ----------
    path
        CSV (.csv, .csv.gz, .tsv, .tsv.gz), Parquet (.parquet, or a folder of such files) or
        Feather (.feather, .arrow).
        Cells are separated by commas, or by semicolons, tabs or bars if the header has no comma.
        Long: one row per vote, with columns named item, voter and vote (or task, worker and
        label, or as given below). Wide: one row per item and one column per voter, with item names
        in a column called item or task, or as given.
    coding
        What the labels mean: see `Votes.of`.
    item, voter, vote
        Column names, if they are not the usual ones.
    memory
        Bytes, or text such as "500MB". A larger wide table does not stay in memory: it is read
        batch by batch into a temporary file, which every method reads block by block. See
        docs/scaling.md.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = file.write_text("item,ann,bob\nx1,yes,no\nx2,yes,\n")
    >>> read_votes(file).values
    array([[ 1, -1],
           [ 1,  0]], dtype=int8)
    """
    return VoteTable(Path(path), coding, (item, voter, vote), read_size(memory)).read()

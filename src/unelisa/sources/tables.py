"""Vote tables in files: CSV (also gzipped), Parquet, Feather; long or wide."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.coding import CodingChoice, Names, TextColumn
from unelisa.errors import VotesError
from unelisa.frames import long_columns
from unelisa.sources.headers import (
    check_names,
    find_delimiter,
    open_text,
    refuse_missing_header,
    refuse_nul,
)
from unelisa.sources.parquet import count_bytes, count_cells, list_parquet, read_table, stream_wide
from unelisa.sources.streams import Batch, WideStream, read_size, store_votes
from unelisa.votes import Votes, assemble, assemble_long, refuse_repeated_items

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"})
NO_NAMES = frozenset({"", "NaN", "nan", "NaT", "<NA>"})  # NA and null may be somebody's name
MEMORY = "1GB"
MAX_LABELS = 64  # more distinct labels than this in votes are names, dates or free text
FORMATS = ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .feather or .arrow"
# Votes shrink a hundredfold at most; a small file that grows beyond these is made to fill memory.
MAX_UNPACKED, MAX_GROWTH = 1 << 28, 500
# what Arrow says -> what a person is told
_TROUBLES = {
    "utf8": "is not UTF-8 text; save it as UTF-8",
    "empty csv": "is empty",
    "file size is 0": "is empty",
    "zlib": "is damaged or ends early: its gzip data cannot be unpacked",
    "truncated": "is damaged or ends early: its data cannot be unpacked",
    "columns, got": "has a row with more or fewer cells than the header",
    "straddling": "has a line of more than 4 MB",
}
ColumnNames = tuple[str | None, str | None, str | None]


class VoteTable:
    """A file of votes.

    Parameters
    ----------
    path
        The file; its ending tells the format.
    coding, item, voter, vote
        As in `Votes.of`.
    memory
        As in `read_votes`.
    """

    def __init__(
        self,
        path: str | Path,
        coding: CodingChoice = "auto",
        *,
        item: str | None = None,
        voter: str | None = None,
        vote: str | None = None,
        memory: str | int = MEMORY,
    ) -> None:
        self.path = Path(path)
        self.memory = read_size(memory)
        self.coding = coding
        self.named: ColumnNames = (item, voter, vote)
        self._delimiter = "\t" if ".tsv" in "".join(self.path.suffixes).lower() else ","

    def read(self) -> Votes:
        """Return the votes, or raise `VotesError` with one sentence."""
        self._check_readable()
        read: Callable[[], Votes] = self._reader()
        import pyarrow as pa  # noqa: PLC0415 - only files need it

        try:
            return read()
        except (pa.ArrowException, OSError, EOFError, UnicodeError) as error:
            raise VotesError(f"{self.path.name} {_explain(error)}") from None

    def _reader(self) -> Any:
        ending = "".join(self.path.suffixes[-2:]).lower()
        if ending.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")):
            return self._read_text
        if ending.endswith(".parquet") or self.path.is_dir():
            return self._read_parquet
        if ending.endswith((".feather", ".arrow", ".ipc")):
            return self._read_feather
        raise VotesError(f"{self.path.name} has an unknown ending; use {FORMATS}")

    def _check_readable(self) -> None:
        try:
            str(self.path).encode()
        except UnicodeEncodeError:  # Arrow opens files by names in UTF-8 only
            raise VotesError("the file's name or folder is not UTF-8 text; rename it") from None
        if not self.path.exists():
            raise VotesError(f"there is no file {self.path.name} in {self.path.parent}")
        if self.path.is_dir():
            list_parquet(self.path)
        elif not self.path.is_file():
            raise VotesError(f"{self.path.name} is no ordinary file; save the votes in one")

    def _refuse_bomb(self, unpacked: int) -> None:
        if unpacked > MAX_UNPACKED and unpacked > MAX_GROWTH * self.path.stat().st_size:
            raise VotesError(
                f"{self.path.name} unpacks to more than {MAX_GROWTH} times its size, as no votes "
                "do; unpack it yourself and look at it"
            )

    def _read_parquet(self) -> Votes:
        files = list_parquet(self.path)
        cells = count_cells(files)
        if self.path.is_file():
            self._refuse_bomb(2 * cells)
        if (
            count_bytes(files) > self.memory
            and (stream := stream_wide(files, self.named)) is not None
        ):
            return store_votes(stream, self.coding)
        return self._of_frame(read_table(files))

    def _read_feather(self) -> Votes:
        import pyarrow as pa  # noqa: PLC0415

        with self.path.open("rb") as start:
            if start.read(4) == b"FEA1":
                raise VotesError(f"{self.path.name} is of Feather's first version; save it anew")
        batches, unpacked = [], 0
        with pa.OSFile(str(self.path)) as file:
            reader = pa.ipc.open_file(file)
            for number in range(reader.num_record_batches):
                batches.append(reader.get_batch(number))
                batches[-1].validate(full=True)  # Arrow trusts the places that a file names
                unpacked += batches[-1].nbytes
                self._refuse_bomb(unpacked)
            return self._of_frame(pa.Table.from_batches(batches, reader.schema))

    def _of_frame(self, frame: Any) -> Votes:
        item, voter, vote = self.named
        return Votes.of(frame, self.coding, item=item, voter=voter, vote=vote)

    def _read_text(self) -> Votes:
        header = self._header()
        item, voter, vote = long_columns(header, self.named)
        if item is not None and voter is not None and vote is not None:
            return self._read_long((item, voter, vote))
        if self.named[1] is not None or self.named[2] is not None:
            raise VotesError(
                "a long table needs columns of items, voters and votes; name all three"
            )
        if item is None:
            first = next(self._batches(header), None)
            refuse_missing_header(header, first, self.path.name)
        return self._read_wide(header, item)

    def _header(self) -> list[str]:
        """Return the columns' names, stripped; other marks part them where no comma does."""
        self._delimiter = find_delimiter(self.path, self._delimiter)
        with self._open(None) as reader:
            names = [str(name) for name in reader.schema.names]
        header = check_names(names, self.path.name)
        self._written = dict(zip(header, names, strict=True))
        return header

    def _open(self, types: dict[str, Any] | None) -> Any:
        """Return a streaming reader that leaves every cell as text, so that nothing is guessed."""
        from pyarrow import csv  # noqa: PLC0415

        return csv.open_csv(
            open_text(self.path),
            read_options=csv.ReadOptions(block_size=1 << 22, use_threads=False),
            parse_options=csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=None if types is None else list(types)
            ),
        )

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415

        written, unpacked = [self._written[name] for name in columns], 0
        with self._open(dict.fromkeys(written, pa.string())) as reader:
            for batch in reader:
                unpacked += batch.nbytes
                self._refuse_bomb(unpacked)
                yield batch

    def _read_label(self, text: str) -> str:
        """Return the label that a stripped cell holds."""
        return text

    def _read_long(self, columns: tuple[str, str, str]) -> Votes:
        items, voters = _NameColumn(columns[0]), _NameColumn(columns[1])
        votes = _LabelColumns([columns[2]], self._read_label)
        for batch in self._batches(list(columns)):
            items.add(batch.column(0))
            voters.add(batch.column(1))
            votes.add([batch.column(2)])
        return assemble_long(items.names(), voters.names(), votes.columns()[0], self.coding)

    def _read_wide(self, header: list[str], item: str | None) -> Votes:
        voters = [name for name in header if name != item]
        if self.path.stat().st_size > self.memory:
            return store_votes(self._stream(voters, item), self.coding)
        names, votes = _NameColumn(item or ""), _LabelColumns(voters, self._read_label)
        for batch in self._batches([*([item] if item is not None else []), *voters]):
            if item is not None:
                names.add(batch.column(0))
            votes.add(batch.columns[len(batch.columns) - len(voters) :])
        items = np.arange(votes.n_rows) if item is None else names.in_row_order()
        refuse_repeated_items(items)
        return assemble(votes.columns(), items, np.array(voters, dtype=object), self.coding)

    def _stream(self, voters: list[str], item: str | None) -> WideStream:
        """Return the table to be read batch by batch."""

        def start() -> Iterator[Batch]:
            for batch in self._batches([*([item] if item is not None else []), *voters]):
                names, votes = _NameColumn(item or ""), _LabelColumns(voters, self._read_label)
                if item is not None:
                    names.add(batch.column(0))
                votes.add(batch.columns[len(batch.columns) - len(voters) :])
                known = None if item is None else names.in_row_order()
                yield Batch(votes.n_rows, known, votes.columns())

        return WideStream(voters, start, self.path.stat().st_size // (2 * len(voters)))


class _NameColumn:
    """Collects a text column of names as codes, batch by batch."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._known: dict[str, int] = {}
        self._codes: list[NDArray[np.int32]] = []

    def add(self, cells: Any) -> None:
        labels, indices = _dictionary(cells)
        names = [label.strip() for label in labels]
        if not NO_NAMES.isdisjoint(names):
            raise VotesError(f"column {self._column!r} has an empty name; fill it or drop the row")
        places = [self._known.setdefault(name, len(self._known)) for name in names]
        self._codes.append(np.asarray(places, dtype=np.int32)[indices])

    def names(self) -> Names:
        names = np.array(list(self._known), dtype=object)
        order = np.argsort(names)
        rank = np.empty(len(order), dtype=np.intp)
        rank[order] = np.arange(len(order))
        return Names(names[order], rank[self._all_codes()])

    def in_row_order(self) -> NDArray[Any]:
        return np.array(list(self._known), dtype=object)[self._all_codes()]

    def _all_codes(self) -> NDArray[np.int32]:
        return np.concatenate([np.empty(0, np.int32), *self._codes])


class _LabelColumns:
    """Collects columns of labels as int8 places in one short list of labels."""

    def __init__(self, columns: list[str], read: Callable[[str], str]) -> None:
        self._names, self._read = columns, read
        self._known: dict[str, int] = {}
        self._codes: list[list[NDArray[np.int8]]] = [[] for _ in columns]
        self.n_rows = 0

    def add(self, batch: list[Any]) -> None:
        for name, cells, codes in zip(self._names, batch, self._codes, strict=True):
            labels, indices = _dictionary(cells)
            places = [self._place(self._read(label.strip()), name) for label in labels]
            codes.append(np.asarray([*places, -1], dtype=np.int8)[indices])
        self.n_rows += len(batch[0]) if batch else 0

    def _place(self, label: str, column: str) -> int:
        if label in MISSING:
            return -1
        if len(self._known) >= MAX_LABELS and label not in self._known:
            raise VotesError(
                f"column {column[:60]!r} holds far more than two labels; "
                f"if it names the items, say so: item={column[:60]!r}"
            )
        return self._known.setdefault(label, len(self._known))

    def columns(self) -> list[TextColumn]:
        labels = list(self._known)
        return [TextColumn(labels, np.concatenate([np.empty(0, np.int8), *c])) for c in self._codes]


def _dictionary(cells: Any) -> tuple[list[str], NDArray[np.int32]]:
    encoded = cells.fill_null("").dictionary_encode()
    labels = encoded.dictionary.to_pylist()
    refuse_nul(labels)
    return labels, encoded.indices.to_numpy(zero_copy_only=False)


def _explain(error: Exception) -> str:
    """Return what went wrong in words, without the cells that Arrow's own messages quote."""
    text = str(error).lower()
    if isinstance(error, PermissionError):
        return "cannot be read: permission denied"
    if isinstance(error, UnicodeError):
        return _TROUBLES["utf8"]
    told = (words for sign, words in _TROUBLES.items() if sign in text)
    return next(told, "cannot be read: it is damaged or not in the format that its ending says")


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
        Cells are parted by commas, or by semicolons, tabs or bars where the header has no comma.
        Long: one row per vote, with columns named item, voter and vote (or task, worker and
        label, or as given below). Wide: one row per item and one column per voter, the items'
        names in a column called item or task, or as given.
    coding
        What the labels mean: see `Votes.of`.
    item, voter, vote
        Column names, where they are not the usual ones.
    memory
        Bytes, or text such as "500MB". A larger wide table is not held in memory: it is read batch
        by batch into a file, from which every method takes what it needs. See docs/scaling.md.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = file.write_text("item,ann,bob\nx1,yes,no\nx2,yes,\n")
    >>> read_votes(file).values
    array([[ 1, -1],
           [ 1,  0]], dtype=int8)
    """
    return VoteTable(path, coding, item=item, voter=voter, vote=vote, memory=memory).read()

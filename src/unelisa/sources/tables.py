"""Vote tables in files: CSV (also gzipped), Parquet, Feather; long or wide."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.coding import CodingChoice, Names, TextColumn
from unelisa.errors import VotesError
from unelisa.votes import Votes, assemble, assemble_long, long_columns, refuse_repeated_items

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "<NA>"})
MAX_LABELS = 64  # more distinct labels than this in votes are names, dates or free text
FORMATS = ".csv, .csv.gz, .tsv, .tsv.gz, .parquet, .feather or .arrow"

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
    """

    def __init__(
        self,
        path: str | Path,
        coding: CodingChoice = "auto",
        *,
        item: str | None = None,
        voter: str | None = None,
        vote: str | None = None,
    ) -> None:
        self.path = Path(path)
        self.coding = coding
        self.named: ColumnNames = (item, voter, vote)

    def read(self) -> Votes:
        """Return the votes, or raise `VotesError` with one sentence."""
        self._check_readable()
        read: Callable[[], Votes] = self._reader()
        import pyarrow as pa  # noqa: PLC0415 - only files need it

        try:
            return read()
        except (pa.ArrowException, OSError, EOFError) as error:
            raise VotesError(f"{self.path.name} {_explain(error)}") from None

    def _reader(self) -> Any:
        ending = "".join(self.path.suffixes[-2:]).lower()
        if ending.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt")):
            return self._read_text
        if ending.endswith(".parquet"):
            return self._read_parquet
        if ending.endswith((".feather", ".arrow", ".ipc")):
            return self._read_feather
        raise VotesError(f"{self.path.name} has an unknown ending; use {FORMATS}")

    def _check_readable(self) -> None:
        if not self.path.exists():
            raise VotesError(f"there is no file {self.path.name} in {self.path.parent}")
        if self.path.is_dir():
            raise VotesError(f"{self.path.name} is a folder; name a file of votes")

    def _read_parquet(self) -> Votes:
        import pyarrow.parquet as pq  # noqa: PLC0415

        return self._of_frame(pq.read_table(self.path))

    def _read_feather(self) -> Votes:
        from pyarrow import feather  # noqa: PLC0415

        return self._of_frame(feather.read_table(self.path))

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
        return self._read_wide(header, item)

    def _header(self) -> list[str]:
        with self._open(None) as reader:
            header = [str(name) for name in reader.schema.names]
        for place, name in enumerate(header):
            if name in header[:place]:
                raise VotesError(
                    f"{self.path.name} has two columns named {name[:60]!r}; rename one"
                )
        if len(header) < 2:
            raise VotesError(f"{self.path.name} has one column only; votes need at least two")
        return header

    def _open(self, types: dict[str, Any] | None) -> Any:
        """Return a streaming reader that leaves every cell as text, so that nothing is guessed."""
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import csv  # noqa: PLC0415

        packed = "gzip" if self.path.suffix.lower() == ".gz" else None
        tabs = ".tsv" in "".join(self.path.suffixes).lower()
        return csv.open_csv(
            pa.input_stream(str(self.path), compression=packed),
            read_options=csv.ReadOptions(block_size=1 << 22, use_threads=False),
            parse_options=csv.ParseOptions(
                delimiter="\t" if tabs else ",", newlines_in_values=True
            ),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=None if types is None else list(types)
            ),
        )

    def _batches(self, columns: list[str]) -> Iterator[Any]:
        import pyarrow as pa  # noqa: PLC0415

        with self._open(dict.fromkeys(columns, pa.string())) as reader:
            yield from reader

    def _read_long(self, columns: tuple[str, str, str]) -> Votes:
        items, voters = _NameColumn(columns[0]), _NameColumn(columns[1])
        votes = _LabelColumns([columns[2]])
        for batch in self._batches(list(columns)):
            items.add(batch.column(0))
            voters.add(batch.column(1))
            votes.add([batch.column(2)])
        return assemble_long(items.names(), voters.names(), votes.columns()[0], self.coding)

    def _read_wide(self, header: list[str], item: str | None) -> Votes:
        voters = [name for name in header if name != item]
        names, votes = _NameColumn(item or ""), _LabelColumns(voters)
        for batch in self._batches([*([item] if item is not None else []), *voters]):
            if item is not None:
                names.add(batch.column(0))
            votes.add(batch.columns[len(batch.columns) - len(voters) :])
        items = np.arange(votes.n_rows) if item is None else names.in_row_order()
        refuse_repeated_items(items)
        return assemble(votes.columns(), items, np.array(voters, dtype=object), self.coding)


class _NameColumn:
    """Collects a text column of names as codes, batch by batch."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._known: dict[str, int] = {}
        self._codes: list[NDArray[np.int32]] = []

    def add(self, cells: Any) -> None:
        labels, indices = _dictionary(cells)
        places = [self._known.setdefault(label, len(self._known)) for label in labels]
        if not all(label.strip() for label in labels):
            raise VotesError(f"column {self._column!r} has an empty name; fill it or drop the row")
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

    def __init__(self, columns: list[str]) -> None:
        self._names = columns
        self._known: dict[str, int] = {}
        self._codes: list[list[NDArray[np.int8]]] = [[] for _ in columns]
        self.n_rows = 0

    def add(self, batch: list[Any]) -> None:
        for name, cells, codes in zip(self._names, batch, self._codes, strict=True):
            labels, indices = _dictionary(cells)
            places = [self._place(label.strip(), name) for label in labels]
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
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def _explain(error: Exception) -> str:
    """Return what went wrong in words, without the cells that Arrow's own messages quote."""
    text = str(error).lower()
    if isinstance(error, PermissionError):
        return "cannot be read: permission denied"
    told = (words for sign, words in _TROUBLES.items() if sign in text)
    return next(told, "cannot be read: it is damaged or not in the format that its ending says")


def read_votes(
    path: str | Path,
    coding: CodingChoice = "auto",
    *,
    item: str | None = None,
    voter: str | None = None,
    vote: str | None = None,
) -> Votes:
    r"""Return the votes in a file.

    Parameters
    ----------
    path
        CSV (.csv, .csv.gz, .tsv, .tsv.gz), Parquet (.parquet) or Feather (.feather, .arrow).
        Long: one row per vote, with columns named item, voter and vote (or task, worker and
        label, or as given below). Wide: one row per item and one column per voter, the items'
        names in a column called item or task, or as given.
    coding
        What the labels mean: see `Votes.of`.
    item, voter, vote
        Column names, where they are not the usual ones.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = file.write_text("item,ann,bob\nx1,yes,no\nx2,yes,\n")
    >>> read_votes(file).values
    array([[ 1, -1],
           [ 1,  0]], dtype=int8)
    """
    return VoteTable(path, coding, item=item, voter=voter, vote=vote).read()

"""Tables in memory: frames of any library that narwhals supports, and arrays; columns, names."""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

import narwhals.stable.v1 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray

from unelisa.errors import Hint, VotesError
from unelisa.votes.coding import MAX_CLASSES
from unelisa.votes.columns import Column, NumberColumn, TextColumn, as_text, fill_mask

# the first of these that is present; "id" last, because exports often number their rows with it
ITEM_NAMES = ("item", "task", "item_id", "task_id", "", "unnamed: 0", "id")
VOTER_NAMES = ("voter", "worker", "annotator", "voter_id", "worker_id", "performer", "judge")
VOTE_NAMES = ("vote", "label", "answer", "response")
MAX_LABELS = 64  # a column with more distinct labels holds names, dates or free text
ColumnNames = tuple[str | None, str | None, str | None]  # of items, voters and votes


def as_frame(table: Any) -> "nw.DataFrame[Any] | None":
    """Return a frame of any library that narwhals supports, or None for everything else."""
    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError:
        raise VotesError("two columns have the same name; rename one") from None
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    if isinstance(frame, nw.DataFrame) and nw.get_level(frame) == "full":
        return frame
    return _import_arrow(table) if hasattr(table, "__arrow_c_stream__") else None


def _import_arrow(table: Any) -> "nw.DataFrame[Any] | None":
    """Return whatever else speaks Arrow, such as record batches, as a frame; None for a column."""
    import pyarrow as pa  # noqa: PLC0415 - a third of a second that only such tables need

    try:
        frame: nw.DataFrame[Any] = nw.from_native(pa.table(table), eager_only=True)
    except pa.ArrowInvalid:
        return None
    return frame


def read_column(series: "nw.Series[Any]") -> Column:
    """Return a column of votes."""
    if series.dtype == nw.Categorical:
        labels, places = _read_categories(series)
        return TextColumn.of(labels).spread(places)
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        if not series.is_null().any():
            return NumberColumn(series.to_numpy())
        if series.dtype.is_numeric():
            return NumberColumn(series.cast(nw.Float64).to_numpy())
    return TextColumn.of(_list_cells(series))


def read_names(series: "nw.Series[Any]") -> NDArray[Any]:
    """Return a column of names: whole numbers as they are, everything else as text."""
    missing = series.is_null().to_numpy()
    if series.dtype.is_nested():
        raise VotesError(f"column {series.name!r} holds lists or records, which cannot be names")
    if series.dtype == nw.Categorical:
        labels, places = _read_categories(series)
        names = np.array([*map(str, labels), ""], dtype=object)[places]  # -1 picks the last
    elif series.dtype.is_integer() and not missing.any():
        return series.to_numpy()
    else:
        names = np.array([str(as_text(name)) for name in _list_cells(series)], dtype=object)
    missing = missing | np.array([not name.strip() for name in names], dtype=np.bool_)
    if missing.any():
        row = int(np.argmax(missing)) + 1
        raise VotesError(
            f"column {series.name!r} has no name in data row {row}; fill it or drop it"
        )
    return names


def _list_cells(series: "nw.Series[Any]") -> list[Any]:
    """Return the values of a column as Python objects."""
    try:
        return series.to_list()
    except (OverflowError, ValueError):
        found = f"column {series.name!r} holds dates or times out of range"
        raise VotesError(f"{found}; check that it holds votes") from None


def _read_categories(series: "nw.Series[Any]") -> tuple[list[Any], NDArray[np.int32]]:
    """Return the distinct values of a column, and for every row the index of its value, or -1."""
    cells = series.to_arrow()
    cells = cells.combine_chunks() if hasattr(cells, "combine_chunks") else cells
    places = cells.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
    return [as_text(label) for label in cells.dictionary.to_pylist()], np.asarray(places)


def read_row_names(frame: "nw.DataFrame[Any]") -> NDArray[Any]:
    """Return the rows' names: the index of a pandas frame, otherwise numbers.

    An index of several types becomes text, like a column of names.
    """
    index = nw.maybe_get_index(frame)
    names = np.arange(len(frame)) if index is None else np.asarray(index)
    if names.dtype == object and len(set(map(type, names.tolist()))) > 1:
        return np.array([str(as_text(name)) for name in names.tolist()], dtype=object)
    return names


def is_header(columns: Iterable[Any], named: Iterable[str | None] = ()) -> bool:
    """Return whether some of these are surely names of columns: usual ones, or the user's own.

    Others may be the first record of a file without a header, which messages must not repeat.
    """
    usual = {*ITEM_NAMES, *VOTER_NAMES, *VOTE_NAMES, *named} - {"", None}
    return any(str(column).strip().lower() in usual or column in usual for column in columns)


def long_columns(columns: Iterable[str], named: ColumnNames) -> ColumnNames:
    """Return the item, voter and vote columns, by the user's word or by their usual names."""
    present = list(columns)
    usual = (ITEM_NAMES, VOTER_NAMES, VOTE_NAMES)
    for name in named:
        if name is not None and name not in present:
            listed = (
                f"are {list_names(present)}" if is_header(present, named) else "have other names"
            )
            raise VotesError(f"there is no column {name!r}; the columns {listed}", column=name)
    if len(set(named) - {None}) < sum(name is not None for name in named):
        raise VotesError("items, voters and votes need a column each; name three different columns")
    unnamed = [column for column in reversed(present) if column not in named]
    by_name = {str(column).strip().lower(): column for column in unnamed}
    picked = [
        name if name is not None else next((by_name[x] for x in names if x in by_name), None)
        for name, names in zip(named, usual, strict=True)
    ]
    return picked[0], picked[1], picked[2]


def refuse_free_text(title: str) -> NoReturn:
    """Raise `VotesError` for a column with more labels than there can be classes."""
    raise VotesError(
        f"column {title} holds far more labels than votes do ({MAX_CLASSES} at most): a column of "
        "free text was taken for votes; if it names the items, pass its name as item (--item)"
    )


def refuse_names(names: list[str], columns: list[Column]) -> None:
    """Raise a `VotesError` that points to a column of names among the votes."""
    for name, column in zip(names, columns, strict=True):
        if len(column.distinct()) > MAX_LABELS:
            message = f"column {name[:60]!r} holds far more than two labels"
            raise VotesError(message, Hint("item", name[:60], "if it names the items"))


def refuse_repeated_items(items: NDArray[Any]) -> None:
    """Raise `VotesError` where a wide table has two rows for one item."""
    if items.dtype == object:  # names that cannot be sorted can still be counted
        counted = Counter(items.tolist())
        first = (i for i, name in enumerate(items.tolist()) if counted[name] > 1)
        row = next(first, -1) if len(counted) < len(items) else -1
    else:
        _, starts, counts = np.unique(items, return_index=True, return_counts=True)
        row = int(starts[counts > 1].min(initial=len(items)))
        row = row if row < len(items) else -1
    if row >= 0:
        raise VotesError(f"the item of data row {row + 1} appears twice; keep one row per item")


def as_array(table: Any) -> NDArray[Any]:
    """Return a table that is not a frame as a two-dimensional array."""
    if isinstance(table, list | tuple) and any(map(np.ma.isMaskedArray, table)):
        table = np.ma.array(table)
    table = fill_mask(table)
    numeric = isinstance(table, np.ndarray) and table.dtype.kind != "O"
    array = np.asarray(table) if numeric else np.asarray(table, dtype=object)
    if array.ndim != 2:
        raise VotesError(
            f"votes must be a table of items x voters, found {array.ndim} dimension(s); "
            "Reshape your data to two"
        )
    if array.dtype.kind == "c":
        raise VotesError("Complex data not supported: votes are labels")
    return array


def array_columns(array: NDArray[Any]) -> list[Column]:
    """Return the columns of an array."""
    if array.dtype.itemsize == 1:
        array = np.asfortranarray(array)  # a cheap copy: columns are read many times
    as_column = NumberColumn if array.dtype.kind in "biuf" else TextColumn.of
    return [as_column(array[:, s]) for s in range(array.shape[1])]


def name_voters(n_voters: int) -> NDArray[Any]:
    """Return names for voters who have none: v0, v1, ..."""
    return np.array([f"v{s}" for s in range(n_voters)], dtype=object)


def find_twins(names: list[Any]) -> list[Any]:
    r"""Return the names that differ from another in invisible ways only.

    These are the ways to write an accent, spaces, and characters without width.

    Examples
    --------
    >>> find_twins(["ann", "ann\u200b", "bob"])
    ['ann', 'ann\u200b']
    """
    looks = [_strip_invisible(str(name)) for name in names]
    counts = Counter(looks)
    return [name for name, look in zip(names, looks, strict=True) if counts[look] > 1]


def _strip_invisible(name: str) -> str:
    if name.isascii():
        return " ".join(name.split())
    shown = (letter for letter in name if unicodedata.category(letter) != "Cf")
    return " ".join(unicodedata.normalize("NFC", "".join(shown)).split())


def list_names(names: list[Any]) -> str:
    """Return the first of the names, and how many there are beyond."""
    shown = ", ".join(repr(str(name)[:60]) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"

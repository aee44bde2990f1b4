"""Labels and other tables as files: CSV, inside a page, or Parquet beside Parquet."""

import base64
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged
from unelisa.errors import ModelError, VotesError
from unelisa.outputs import whole_file, write_table
from unelisa.sources.arrow import list_parquet, read_columns, read_frames, read_schema
from unelisa.votes import Votes
from unelisa.votes.coding import CodingChoice
from unelisa.votes.frames import long_columns

Floats = NDArray[np.float64]

LARGEST = 2 << 20  # characters of a page with labels, so that it can still be mailed
CHUNK = 100_000  # items formatted at a time
_MARK = b"unelisa"  # in the metadata of our own Parquet files
_FIRST = ("voter", "verdict", "family", "weight", "sensitivity", "specificity", "votes", "coverage")


def label_columns(judged: Judged, named: bool = True) -> tuple[str, ...]:
    """Return the columns of a table of labels; of more than two classes a P(label) for each."""
    return tuple(_list_columns(judged, slice(0, 0), named))


def label_rows(judged: Judged, named: bool = True) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table of labels, in the columns `label_columns`; empty where unknown."""
    n = len(judged.scores)
    for low in range(0, n, CHUNK):
        rows = slice(low, min(low + CHUNK, n))
        columns = _list_columns(judged, rows, named).items()
        cells = [_write_cells(name, column, rows.stop - low) for name, column in columns]
        yield from zip(*cells, strict=True)


def _list_columns(judged: Judged, rows: slice, named: bool, before: int = 0) -> dict[str, Any]:
    columns: dict[str, Any] = {"item": judged.votes.items[rows]}
    if not named:
        columns = {"row": np.arange(rows.start, rows.stop) + before + 1}
    columns |= {"label": judged.labels(rows), "probability": None, "status": judged.status[rows]}
    if judged.chances is not None:
        chances = np.asarray(judged.chances[rows])
        right = np.maximum(chances, 1 - chances) if judged.two_classes else chances
        columns |= {"probability": chances, "expected_accuracy": right}
    if judged.ease is not None:
        columns["ease"] = judged.ease[rows]
    if judged.class_chances is not None:
        each = zip(judged.classes, np.ascontiguousarray(judged.class_chances[rows].T), strict=True)
        columns |= {f"P({label})": chances for label, chances in each}
    return columns


def _write_cells(name: str, column: Any, n: int) -> list[Any]:
    if column is None:
        return [""] * n
    if name in ("item", "row", "label", "status"):
        return column if isinstance(column, list) else list(column.tolist())
    # six digits are more than any model of votes can mean, and keep the file small
    shown = [f"{x:.3f}" if name == "ease" else f"{x:.6f}" for x in column]
    return ["" if x == "nan" else x for x in shown]


class Download(NamedTuple):
    """A file inside a page, for a save button: its name, and its content deflated in base64."""

    name: str
    packed: str


def pack_table(name: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Download:
    """Return a CSV table as a file inside a page."""
    file = StringIO()
    write_table(file, header, rows)
    # "replace": half a surrogate pair in a name must not stop a report
    content = zlib.compress(file.getvalue().encode("utf-8", "replace"), 9)
    return Download(name, base64.b64encode(content).decode("ascii"))


def pack_labels(judged: Judged, show_items: bool) -> Download | None:
    """Return the labels for the save button, by row without `show_items`; None if too many."""
    if len(judged.scores) > LARGEST:  # a row takes a byte at least
        return None
    named = show_items or np.array_equal(judged.votes.items, np.arange(len(judged.scores)))
    name = "labels.csv" if named else "labels-by-row.csv"
    packed = pack_table(name, label_columns(judged, named), label_rows(judged, named))
    return packed if len(packed.packed) <= LARGEST else None


def pack_voters(voters: list[dict[str, Any]]) -> Download:
    """Return the voters' table for the save button, names in full."""
    last = ("links", "depends_on", "reason")
    columns = [key for key in dict.fromkeys((*_FIRST, *voters[0])) if key in voters[0]]
    columns = [*(key for key in columns if key not in last), *last]
    rows = []
    for voter in voters:
        near = "; ".join(voters[link["voter"]]["voter"] for link in voter["depends_on"])
        rows.append([{**voter, "depends_on": near}[key] for key in columns])
    return pack_table("voters.csv", [key.replace("depends_", "depends ") for key in columns], rows)


def plan_files(inputs: Sequence[Path], folder: Path) -> list[tuple[Path, Path]]:
    """Return (votes, labels) for every Parquet file; folders among the inputs keep their shape."""
    pairs = []
    for path in inputs:
        if not path.exists():
            raise VotesError(f"there is no file {path.name} in {path.parent}")
        for file in list_parquet(path):
            place = file.relative_to(path) if path.is_dir() else Path(file.name)
            pairs.append((file, folder / place))
    if any(file.suffix.lower() != ".parquet" for file, _ in pairs):
        raise VotesError("labels of several files, or in a folder, need votes in Parquet files")
    if len({labels for _, labels in pairs}) < len(pairs):
        raise ModelError("two files of votes have the same name; label them into two folders")
    return pairs


def label_file(
    model: Aggregator, pair: tuple[Path, Path], coding: CodingChoice, item: str | None = None
) -> int:
    """Write the labels of a Parquet file of votes to another; return their number."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - only files need it

    votes_file, labels_file = pair
    named = long_columns(read_columns([votes_file]), (item, None, None))
    if None not in named:
        raise VotesError(
            f"{votes_file.name} has one row per vote, so an item's votes may be anywhere in it; "
            "label it alone, into a CSV file"
        )
    labels_file.parent.mkdir(parents=True, exist_ok=True)
    n_items = 0
    with whole_file(labels_file) as draft:
        writer = None
        for frame in read_frames([votes_file]):
            judged = Judged.of(model, Votes.of(frame, coding, item=item))
            table = _tabulate(judged, n_items, named[0] is not None)
            writer = pq.ParquetWriter(draft, table.schema) if writer is None else writer
            writer.write_table(table)
            n_items += len(judged.scores)
        if writer is None:
            raise VotesError(f"{votes_file.name} holds 0 items; at least 1 is required")
        writer.close()
    return n_items


def is_label_file(path: Path) -> bool:
    """Return whether a Parquet file was written by `label_file`."""
    with suppress(VotesError):
        return bool((read_schema(path).metadata or {}).get(_MARK))
    return False


def _tabulate(judged: Judged, before: int, named: bool) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    columns = _list_columns(judged, slice(0, len(judged.scores)), named, before)
    picked = judged.picked.astype(np.int8 if len(judged.classes) < 128 else np.int16)
    # NaN is missing
    table = {name: pa.array(x, from_pandas=True) for name, x in columns.items() if x is not None}
    table["label"] = pa.DictionaryArray.from_arrays(picked, pa.array(list(judged.classes)))
    table["status"] = table["status"].dictionary_encode()
    return pa.table(table).replace_schema_metadata({_MARK: b"labels"})

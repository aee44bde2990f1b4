"""Labels of many items: one Parquet file of labels for each Parquet file of votes.

Votes are read and labels written batch by batch, so that memory does not grow with the items. A
file of labels appears whole or not at all; one that is there says that its votes are done.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.coding import CodingChoice
from unelisa.errors import ModelError, VotesError
from unelisa.frames import long_columns
from unelisa.outputs import whole_file
from unelisa.sources.parquet import list_parquet, read_columns, read_frames
from unelisa.votes import Votes


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
        raise ModelError("two files of votes have the same name; give their labels two folders")
    if {file.resolve() for file, _ in pairs} & {labels.resolve() for _, labels in pairs}:
        raise ModelError("the labels would replace the votes; give them a folder of their own")
    return pairs


def label_file(
    model: Aggregator,
    pair: tuple[Path, Path],
    coding: CodingChoice,
    item: str | None = None,
) -> int:
    """Write the labels of a file of votes; return the number of items.

    Columns: item where the votes name it, otherwise row, counted from 1 in each file; label; and
    probability of the positive class where the method gives one.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - only files need it

    votes_file, labels_file = pair
    _refuse_long(votes_file, item)
    labels_file.parent.mkdir(parents=True, exist_ok=True)
    n_items = 0
    with whole_file(labels_file) as draft:
        writer = None
        for frame in read_frames([votes_file]):
            votes = Votes.of(frame, coding, item=item)
            table = _tabulate(model, votes, n_items, _find_item(frame.columns, item) is not None)
            writer = pq.ParquetWriter(draft, table.schema) if writer is None else writer
            writer.write_table(table)
            n_items += votes.n_items
        if writer is None:
            raise VotesError(f"{votes_file.name} holds 0 items; at least 1 is required")
        writer.close()
    return n_items


def _refuse_long(file: Path, item: str | None) -> None:
    if None not in long_columns(read_columns([file]), (item, None, None)):
        raise VotesError(
            f"{file.name} has one row per vote, and an item's votes may lie anywhere in it; "
            "label it alone with --out labels.csv"
        )


def _find_item(columns: Sequence[str], item: str | None) -> str | None:
    return long_columns(columns, (item, None, None))[0]


def _tabulate(model: Aggregator, votes: Votes, before: int, named: bool) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    rows = np.arange(before + 1, before + votes.n_items + 1)
    positive = model.decision_function(votes) >= 0
    columns = {
        "item" if named else "row": pa.array(votes.items if named else rows),
        "label": pa.DictionaryArray.from_arrays(
            positive.astype(np.int8), pa.array(model.classes_.tolist())
        ),
    }
    if hasattr(model, "predict_proba"):
        columns["probability"] = pa.array(model.predict_proba(votes)[:, 1])
    return pa.table(columns)

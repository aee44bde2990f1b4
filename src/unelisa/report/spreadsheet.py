"""CSV files that a spreadsheet opens safely.

A spreadsheet runs a cell that starts with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return
as a formula, so a voter or an item may carry a command into somebody's office. Text cells that
start so get a leading apostrophe, which shows them as text. Numbers such as -1 are left alone.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.votes import Votes

_RISKY = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def defuse_cell(cell: Any) -> Any:
    """Return the cell as it may stand in a spreadsheet.

    Examples
    --------
    >>> [defuse_cell(cell) for cell in ("ward 3", "=1+2", "-1", -1)]
    ['ward 3', "'=1+2", '-1', -1]
    """
    if isinstance(cell, str) and cell.startswith(_RISKY) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def write_table(file: TextIO, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV table whose text cells are defused; None is an empty cell."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([defuse_cell(name) for name in header])
    writer.writerows([defuse_cell(cell) for cell in row] for row in rows)


def write_labels(file: TextIO, model: Aggregator, votes: Votes, *, named: bool = True) -> None:
    """Write item, label and probability, one row per item.

    The probability is that of the positive class; it is empty for methods that give none. Where
    the items shall not be named, the first column is the row's number, from 1.
    """
    header = ("item" if named else "row", "label", "probability")
    write_table(file, header, _label_rows(model, votes, named))


def _label_rows(model: Aggregator, votes: Votes, named: bool) -> Iterator[tuple[Any, Any, str]]:
    first = 1
    for part in votes.parts():
        items = part.items.tolist() if named else range(first, first + part.n_items)
        yield from zip(items, *_label_columns(model, part), strict=True)
        first += part.n_items


def _label_columns(model: Aggregator, votes: Votes) -> tuple[list[Any], list[str]]:
    labels = model.predict(votes).tolist()
    if not hasattr(model, "predict_proba"):
        return labels, [""] * len(labels)
    # six digits are more than any model of votes can mean, and keep the file small
    return labels, [f"{chance:.6f}" for chance in np.asarray(model.predict_proba(votes))[:, 1]]

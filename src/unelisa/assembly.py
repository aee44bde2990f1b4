"""Assembly: the columns of a table become coded votes; every label is checked here."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from unelisa.blocks import ItemBlocks, WholeTable, hold_sparse
from unelisa.coding import MAX_CLASSES, Coding, CodingChoice, settle_coding
from unelisa.columns import Column, Label, Names, NumberColumn
from unelisa.errors import VotesError, VotesWarning, warn_user
from unelisa.frames import (
    ColumnNames,
    array_columns,
    as_array,
    long_columns,
    name_voters,
    read_column,
    read_names,
    read_row_names,
    refuse_free_text,
    refuse_names,
    refuse_repeated_items,
)


class Assembled(NamedTuple):
    """Coded votes, and who and what they are about."""

    blocks: ItemBlocks
    items: Any  # names of the rows
    voters: NDArray[Any]  # names of the columns
    coding: Coding
    named: bool = True  # whether the voters' names come from the table


def assemble(
    columns: Sequence[Column],
    items: NDArray[Any],
    voters: NDArray[Any],
    coding: CodingChoice,
    titles: Sequence[str] | None = None,
) -> Assembled:
    """Return the votes of a wide table, read column by column to avoid large copies.

    Messages call the columns by their `titles`, by default by the names of the voters.
    """
    refuse_empty((len(items), len(columns)))
    titles = titles or [repr(str(name)) for name in voters]
    found: dict[Label, str] = {}
    for title, column in zip(titles, columns, strict=True):
        rows = {label: column.first_row(label) for label in column.distinct() - found.keys()}
        if len(found) + len(rows) > MAX_CLASSES:
            refuse_free_text(title)
        for label in sorted(rows, key=lambda label: rows[label]):
            found[label] = f"in data row {rows[label] + 1}, column {title}"
    if not found and coding == "auto":
        raise VotesError("there are no votes: every cell is missing")
    if coding == "auto" and len(found) > 2:
        _refuse_own_labels(columns, titles)
    settled = _settle(found, coding, columns)
    values = np.empty((len(items), len(columns)), dtype=np.int8, order="F")
    for s, column in enumerate(columns):
        values[:, s] = column.encode(settled.votes)
    return Assembled(WholeTable(values), items, voters, settled)


def assemble_long(
    items: Names, voters: Names, column: Column, coding: CodingChoice, title: str
) -> Assembled:
    """Return the votes of a long table: one row per vote, items and voters as sorted names.

    Messages call the column of votes by its `title`.
    """
    refuse_empty((len(items.codes), 3))
    labels = column.distinct()
    if len(labels) > MAX_CLASSES:
        refuse_free_text(title)
    rows = {label: column.first_row(label) for label in labels}
    found = {x: f"in data row {rows[x] + 1}" for x in sorted(rows, key=rows.__getitem__)}
    settled = _settle(found, coding, [column])
    votes = column.encode(settled.votes)
    cast = np.flatnonzero(votes)  # a row without a vote does not repeat one with a vote
    i, s = items.codes[cast], voters.codes[cast]
    kept = _check_duplicates(i.astype(np.int64) * len(voters.names) + s, votes[cast], cast)
    entries = votes[cast[kept]], (i[kept], s[kept])
    blocks = hold_sparse(sp.coo_array(entries, (len(items.names), len(voters.names))))
    return Assembled(blocks, items.names, voters.names, settled)


def assemble_array(table: ArrayLike, coding: CodingChoice) -> Assembled:
    """Return the votes of an array or a nested list."""
    array = as_array(table)
    items, voters = np.arange(len(array)), name_voters(array.shape[1])
    return assemble(array_columns(array), items, voters, coding)._replace(named=False)


def assemble_sparse(table: Any, coding: CodingChoice) -> Assembled:
    """Return the stored entries of a sparse matrix as votes; all others are abstentions."""
    matrix = sp.csc_array(table)
    column = NumberColumn(matrix.data)
    places = {label: f"among the stored entries ({label})" for label in column.distinct()}
    settled = _settle(places, coding, [column])
    refuse_empty(matrix.shape)
    votes = column.encode(settled.votes)
    blocks = hold_sparse(sp.csc_array((votes, matrix.indices, matrix.indptr), matrix.shape))
    items, voters = np.arange(matrix.shape[0]), name_voters(matrix.shape[1])
    return Assembled(blocks, items, voters, settled, named=False)


def assemble_frame(frame: Any, coding: CodingChoice, named: ColumnNames) -> Assembled:
    """Return the votes of a frame, long or wide."""
    item, voter, vote = long_columns(frame.columns, named)
    if voter is not None and vote is not None and item is not None:
        rows = Names.of(read_names(frame.get_column(item)))
        voters = Names.of(read_names(frame.get_column(voter))).as_text()
        said = read_column(frame.get_column(vote))
        return assemble_long(rows, voters, said, coding, repr(vote[:60]))
    if named[1] is not None or named[2] is not None:
        raise VotesError("a long table needs columns for items, voters and votes; name all three")
    chosen = [name for name in frame.columns if name != item]
    items = read_row_names(frame) if item is None else read_names(frame.get_column(item))
    refuse_repeated_items(items)
    names = np.array([str(name) for name in chosen], dtype=object)
    if len(set(names.tolist())) < len(names):  # a frame may have the columns 1 and "1"
        raise VotesError("two columns have the same name as text; rename one")
    columns = [read_column(frame.get_column(c)) for c in chosen]
    try:
        return assemble(columns, items, names, coding)
    except VotesError:
        if item is None:
            refuse_names(chosen, columns)
        raise


def refuse_empty(shape: tuple[int, ...]) -> None:
    """Raise `VotesError` for a table without rows or columns."""
    if 0 in shape:
        what = "items" if shape[0] == 0 else "voters"
        raise VotesError(f"the table holds 0 {what} (shape={shape}); at least 1 is required")


def _settle(found: dict[Label, str], coding: CodingChoice, columns: Sequence[Column]) -> Coding:
    """Return what the labels mean; the error about one that was not declared counts its votes."""
    try:
        return settle_coding(found, coding)
    except VotesError as error:
        if "label" not in error.about:
            raise
        label, place = error.about["label"], error.about["place"]
        times = sum(column.count(label) for column in columns)
        if times == 1:
            raise
        told = f"{error.message.removesuffix(place)}({times:,} votes), the first {place}"
        raise VotesError(told, **error.about) from None


def _refuse_own_labels(columns: Sequence[Column], titles: Sequence[str]) -> None:
    """Raise `VotesError` for a column of names or of something else: it shares no label."""
    distinct = [column.distinct() for column in columns]
    shared = Counter(label for labels in distinct for label in labels)
    for title, labels in zip(titles, distinct, strict=True):
        own = len(columns) > 1 and all(shared[label] == 1 for label in labels)
        if own and len(labels) > 2:
            raise VotesError(
                f"column {title} holds {len(labels)} labels, none of which another column holds; "
                "if it names the items, pass its name as item (--item)"
            )


def _check_duplicates(
    cells: NDArray[np.int64], votes: NDArray[np.int8], rows: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return which votes to keep, one per cell; raise an error where two differ."""
    in_order = np.sort(cells)
    repeated = int((in_order[1:] == in_order[:-1]).sum())
    del in_order
    if not repeated:  # nearly always, and at a third of the memory
        return np.arange(len(cells))
    _, kept, place = np.unique(cells, return_index=True, return_inverse=True)
    last = np.zeros(len(kept), dtype=np.int8)
    last[place] = votes
    conflict = last[place] != votes
    if conflict.any():
        row = int(rows[np.argmax(conflict)]) + 1
        raise VotesError(
            f"data row {row} and a later row hold different votes of one voter on one item; "
            "keep one of them"
        )
    many = "1 row repeats" if repeated == 1 else f"{repeated} rows repeat"
    warn_user(f"{many} a vote, which is counted once", VotesWarning)
    return kept

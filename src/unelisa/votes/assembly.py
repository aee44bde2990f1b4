"""Assembly: the columns of a table become coded votes; every label is checked here."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from unelisa.errors import Hint, VotesError, VotesWarning, warn_user
from unelisa.votes.blocks import ItemBlocks, WholeTable, hold_sparse
from unelisa.votes.coding import MAX_CLASSES, Coding, CodingChoice, settle_coding
from unelisa.votes.columns import Column, Label, Names, NumberColumn, TextColumn
from unelisa.votes.frames import (
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


Duplicates = Literal["refuse", "first", "last", "drop"]


class LongVotes(NamedTuple):
    """A long table: one row per vote, items and voters as sorted names."""

    items: Names
    voters: Names
    said: Column
    rows: NDArray[np.intp] | None = None  # the data row of each vote; None: its place
    files: tuple[tuple[str, int], ...] = ()  # of several files, the name and the number of votes

    @classmethod
    def of_wide(
        cls, items: NDArray[Any], voters: NDArray[Any], columns: Sequence[Column]
    ) -> "LongVotes":
        """Return the votes of a wide table, one below the other, without missing ones."""
        said = TextColumn.join([column.as_text() for column in columns])
        cast = np.flatnonzero(said.present())
        rows, names = cast % max(len(items), 1), Names.of(items)
        places = Names(names.names, names.codes[rows])
        given = Names.of(voters)
        who = Names(given.names, given.codes[cast // max(len(items), 1)])
        return cls(places, who, said.spread(cast.astype(np.int32)), rows)

    @classmethod
    def join(cls, tables: "Sequence[LongVotes]", files: Sequence[str]) -> "LongVotes":
        """Return the votes of several files, one file after the other."""
        sizes = [len(table.items.codes) for table in tables]
        rows = [np.arange(len(t.items.codes)) if t.rows is None else t.rows for t in tables]
        return cls(
            Names.join([table.items for table in tables]),
            Names.join([table.voters for table in tables]),
            TextColumn.join([table.said.as_text() for table in tables]),
            np.concatenate(rows),
            tuple(zip(files, sizes, strict=True)),
        )

    def tell_row(self, vote: int) -> str:
        """Return where a vote is, for a message."""
        row = vote if self.rows is None else int(self.rows[vote])
        if len(self.files) < 2:
            return f"data row {row + 1}"
        ends = np.cumsum([size for _, size in self.files])
        return f"data row {row + 1} of {self.files[int(np.searchsorted(ends, vote, 'right'))][0]}"


def assemble_long(
    table: LongVotes, coding: CodingChoice, title: str, duplicates: Duplicates = "refuse"
) -> Assembled:
    """Return the votes of a long table.

    Messages call the column of votes by its `title`. `duplicates` says which of different votes of
    a voter on an item counts.
    """
    if duplicates not in get_args(Duplicates):
        known = ", ".join(get_args(Duplicates))
        raise VotesError(f"duplicates must be one of {known}, found {str(duplicates)[:60]!r}")
    items, voters, column = table[:3]
    refuse_empty((len(items.codes), 3))
    labels = column.distinct()
    if len(labels) > MAX_CLASSES:
        refuse_free_text(title)
    rows = {label: column.first_row(label) for label in labels}
    found = {x: f"in {table.tell_row(rows[x])}" for x in sorted(rows, key=rows.__getitem__)}
    settled = _settle(found, coding, [column])
    votes = column.encode(settled.votes)
    cast = np.flatnonzero(votes)  # a row without a vote does not repeat one with a vote
    kept = cast[_pick_votes(table, cast, votes[cast], duplicates)]
    entries = votes[kept], (items.codes[kept], voters.codes[kept])
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


def assemble_frame(
    frame: Any, coding: CodingChoice, named: ColumnNames, duplicates: Duplicates = "refuse"
) -> Assembled:
    """Return the votes of a frame, long or wide."""
    item, voter, vote = long_columns(frame.columns, named)
    if voter is not None and vote is not None and item is not None:
        return assemble_long(list_frame(frame, named), coding, repr(vote[:60]), duplicates)
    items, names, columns = _read_wide(frame, item, named)
    if duplicates != "refuse":
        return assemble_long(
            LongVotes.of_wide(items, names, columns), coding, "of votes", duplicates
        )
    refuse_repeated_items(items)
    try:
        return assemble(columns, items, names, coding)
    except VotesError:
        if item is None:
            refuse_names(names.tolist(), columns)
        raise


def list_frame(frame: Any, named: ColumnNames) -> LongVotes:
    """Return the votes of a frame, long or wide, as a long table."""
    item, voter, vote = long_columns(frame.columns, named)
    if voter is None or vote is None or item is None:
        return LongVotes.of_wide(*_read_wide(frame, item, named))
    rows = Names.of(read_names(frame.get_column(item)))
    voters = Names.of(read_names(frame.get_column(voter))).as_text()
    return LongVotes(rows, voters, read_column(frame.get_column(vote)))


def _read_wide(
    frame: Any, item: str | None, named: ColumnNames
) -> tuple[NDArray[Any], NDArray[Any], list[Column]]:
    """Return the items, the voters and the columns of a wide frame."""
    if named[1] is not None or named[2] is not None:
        raise VotesError("a long table needs columns for items, voters and votes; name all three")
    chosen = [name for name in frame.columns if name != item]
    items = read_row_names(frame) if item is None else read_names(frame.get_column(item))
    names = np.array([str(name) for name in chosen], dtype=object)
    if len(set(names.tolist())) < len(names):  # a frame may have the columns 1 and "1"
        raise VotesError("two columns have the same name as text; rename one")
    return items, names, [read_column(frame.get_column(c)) for c in chosen]


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


def _pick_votes(
    table: LongVotes, cast: NDArray[np.intp], votes: NDArray[np.int8], duplicates: Duplicates
) -> NDArray[np.intp]:
    """Return which of the votes that were cast count: one per item and voter."""
    cells = table.items.codes[cast].astype(np.int64) * len(table.voters.names)
    cells += table.voters.codes[cast]
    in_order = np.sort(cells)
    repeated = int((in_order[1:] == in_order[:-1]).sum())
    del in_order
    if not repeated:  # nearly always, and at a third of the memory
        return np.arange(len(cells))
    _, first, place = np.unique(cells, return_index=True, return_inverse=True)
    apart = np.flatnonzero(votes != votes[first][place])
    if duplicates == "refuse":
        if len(apart):
            pairs = len(np.unique(place[apart]))
            raise _tell_apart(table, int(cast[first[place[apart[0]]]]), int(cast[apart[0]]), pairs)
        many = "1 row repeats" if repeated == 1 else f"{repeated} rows repeat"
        warn_user(f"{many} a vote, which is counted once", VotesWarning)
    if duplicates == "last":
        first[place] = np.arange(len(cells))
    if duplicates == "drop":
        return np.delete(first, place[apart])
    return first


def _tell_apart(table: LongVotes, first: int, second: int, pairs: int) -> VotesError:
    """Return the error about different votes of a voter on an item, which is not named."""
    voter = str(table.voters.names[table.voters.codes[first]])[:60]
    number = int(table.items.codes[first]) + 1
    where = f"in {table.tell_row(first)} and in {table.tell_row(second)}"
    more = "" if pairs == 1 else f", the first of {pairs:,} such pairs of an item and a voter"
    return VotesError(
        f"different votes of one voter on one item: voter {voter!r} on item number {number}, "
        f"{where}{more}; keep one of them",
        *(Hint("duplicates", choice) for choice in get_args(Duplicates)[1:]),
    )

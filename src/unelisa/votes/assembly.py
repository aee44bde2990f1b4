"""Assembly: the columns of a table become coded votes; every label is checked here."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from unelisa.errors import Hint, VotesError, VotesWarning, warn_user
from unelisa.votes.blocks import ItemBlocks, WholeTable, hold_sparse, mark_starts
from unelisa.votes.coding import MAX_CLASSES, Coding, CodingChoice, Declared, settle_coding
from unelisa.votes.columns import Column, Label, Names
from unelisa.votes.frames import (
    ColumnNames,
    array_columns,
    as_array,
    choose_voters,
    find_item,
    list_names,
    long_columns,
    name_voters,
    read_column,
    read_names,
    read_row_names,
    refuse_free_text,
    refuse_other_columns,
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
    """Return the votes of a wide table; messages call the columns by `titles`, or by voters."""
    refuse_empty((len(items), len(columns)))
    titles = titles or [repr(str(name)[:60]) for name in voters]
    distinct = [column.distinct() for column in columns]
    if coding == "auto":
        refuse_other_columns(columns, distinct, titles, voters.tolist())
    found: dict[Label, str] = {}
    note_labels(found, columns, distinct, titles)
    settled = settle(found, coding, columns)
    return Assembled(WholeTable(encode(columns, settled.votes)), items, voters, settled)


def encode(columns: Sequence[Column], votes: dict[Label, int]) -> NDArray[np.int8]:
    """Return columns of labels as a table of codes."""
    values = np.empty((len(columns[0]), len(columns)), dtype=np.int8, order="F")
    for s, column in enumerate(columns):
        values[:, s] = column.encode(votes)
    return values


def note_labels(
    found: dict[Label, str],
    columns: Sequence[Column],
    distinct: Sequence[set[Label]],
    titles: Sequence[str],
    before: int = 0,
) -> None:
    """Add to `found` where the labels of some columns first occur, after the rows `before`."""
    for title, column, labels in zip(titles, columns, distinct, strict=True):
        new = labels - found.keys()
        if len(found) + len(new) > MAX_CLASSES:
            refuse_free_text(title)
        rows = {label: column.first_row(label) for label in new}
        for label in sorted(rows, key=rows.__getitem__):
            found[label] = f"in data row {before + rows[label] + 1}, column {title}"


Duplicates = Literal["refuse", "first", "last", "drop"]


class LongVotes(NamedTuple):
    """A long table: one row per vote, items and voters as sorted names."""

    items: Names
    voters: Names
    said: Column
    rows: NDArray[np.intp] | None = None  # the data row of each vote; None: its place
    files: tuple[tuple[int, str], ...] = ()  # of several files, the first of these rows, the name

    @classmethod
    def of_wide(
        cls, items: NDArray[Any], voters: NDArray[Any], columns: Sequence[Column]
    ) -> "LongVotes":
        """Return the votes of a wide table, one below the other, without missing ones."""
        said = Column.join(columns)
        cast = np.flatnonzero(said.present())
        rows, names = cast % max(len(items), 1), Names.of(items)
        places = Names(names.names, names.codes[rows])
        given = Names.of(voters)
        who = Names(given.names, given.codes[cast // max(len(items), 1)])
        return cls(places, who, said.spread(cast), rows)

    @classmethod
    def join(cls, tables: "Sequence[LongVotes]", files: Sequence[str]) -> "LongVotes":
        """Return the votes of several files, one file after the other."""
        items, voters, said, _, _ = zip(*tables, strict=True)
        rows = [np.arange(len(t.items.codes)) if t.rows is None else t.rows for t in tables]
        firsts = mark_starts([own.max(initial=-1) + 1 for own in rows])[:-1].tolist()
        return cls(
            Names.join(items),
            Names.join(voters),
            Column.join(said),
            np.concatenate([first + own for first, own in zip(firsts, rows, strict=True)]),
            tuple(zip(firsts, files, strict=True)),
        )

    def locate(self, vote: int) -> str:
        """Return where a vote is, for a message."""
        row = vote if self.rows is None else int(self.rows[vote])
        if len(self.files) < 2:
            return f"data row {row + 1}"
        first, name = max(one for one in self.files if one[0] <= row)
        return f"data row {row - first + 1} of {name}"


def assemble_long(
    table: LongVotes, coding: CodingChoice, title: str, duplicates: Duplicates = "refuse"
) -> Assembled:
    """Return the votes of a long table; messages call the column of votes by its `title`."""
    items, voters, column = table[:3]
    refuse_empty((len(items.codes), 3))
    labels = column.distinct()
    if len(labels) > MAX_CLASSES:
        refuse_free_text(title)
    rows = {label: column.first_row(label) for label in labels}
    found = {x: f"in {table.locate(rows[x])}" for x in sorted(rows, key=rows.__getitem__)}
    settled = settle(found, coding, [column])
    matrix = list_votes(table, column.encode(settled.votes), duplicates)
    return Assembled(hold_sparse(matrix), items.names, voters.names, settled)


def list_votes(table: LongVotes, votes: NDArray[np.int8], duplicates: Duplicates) -> Any:
    """Return the coded votes as a sparse matrix of items x voters, each cell once."""
    if duplicates not in get_args(Duplicates):
        known = ", ".join(get_args(Duplicates))
        raise VotesError(f"duplicates must be one of {known}, found {str(duplicates)[:60]!r}")
    if not votes.all():  # a row without a vote does not repeat one with a vote
        cast = np.flatnonzero(votes)
        table, votes = _pick_rows(table, cast), votes[cast]
    matrix = _list_by_item(table, votes)
    if _repeats(matrix):
        kept = _pick_votes(table, votes, duplicates)
        matrix = _list_by_item(_pick_rows(table, kept), votes[kept])
    return matrix


def _pick_rows(table: LongVotes, kept: NDArray[np.intp]) -> LongVotes:
    items, voters = (names._replace(codes=names.codes[kept]) for names in table[:2])
    rows = kept if table.rows is None else table.rows[kept]
    return table._replace(items=items, voters=voters, rows=rows)


def _list_by_item(table: LongVotes, votes: NDArray[np.int8]) -> Any:
    """Return the votes as a sparse matrix, compressed by items; those repeated are kept apart."""
    items, voters = table[:2]
    shape = len(items.names), len(voters.names)
    entries = sp.coo_array((votes, (items.codes, voters.codes)), shape=shape)
    entries.has_canonical_format = True  # so that SciPy does not add up votes, nor sorts them
    return entries.tocsr()


def _repeats(matrix: Any) -> bool:
    """Return whether a voter has two votes on one item: two passes that count, and no sorting."""
    columns = matrix.tocsc()
    same = columns.indices[1:] == columns.indices[:-1]
    starts = columns.indptr[1:-1]
    same[starts[(starts > 0) & (starts < len(columns.indices))] - 1] = False
    return bool(same.any())


def assemble_array(table: ArrayLike, coding: CodingChoice) -> Assembled:
    """Return the votes of an array or a nested list."""
    array = as_array(table)
    items, voters = np.arange(len(array)), name_voters(array.shape[1])
    return assemble(array_columns(array), items, voters, coding)._replace(named=False)


def assemble_sparse(table: Any, coding: CodingChoice) -> Assembled:
    """Return the stored entries of a sparse matrix as votes; all others are abstentions."""
    matrix = sp.csc_array(table)
    column = Column.of(matrix.data)
    places = {label: f"among the stored entries ({label})" for label in column.distinct()}
    settled = settle(places, coding, [column])
    refuse_empty(matrix.shape)
    votes = column.encode(settled.votes)
    blocks = hold_sparse(sp.csc_array((votes, matrix.indices, matrix.indptr), matrix.shape))
    items, voters = np.arange(matrix.shape[0]), name_voters(matrix.shape[1])
    return Assembled(blocks, items, voters, settled, named=False)


def assemble_frame(
    frame: Any, coding: CodingChoice, named: ColumnNames, duplicates: Duplicates = "refuse"
) -> tuple[Assembled, ColumnNames]:
    """Return the votes of a frame, long or wide, and which columns they were read from."""
    item, voter, vote = long_columns(frame.columns, named)
    if item is not None and voter is not None and vote is not None:
        rows, voters = (read_names(frame.get_column(name)) for name in (item, voter))
        long = LongVotes(rows, voters.as_text(), read_column(frame.get_column(vote)))
        found = assemble_long(long, coding, repr(vote[:60]), duplicates)
        return choose_long_voters(found, named, frame.columns), named
    items, names, columns, named = _read_wide(frame, item, named, coding)
    if duplicates != "refuse":
        long = LongVotes.of_wide(items, names, columns)
        return assemble_long(long, coding, "of votes", duplicates), named
    refuse_repeated_items(items)
    return assemble(columns, items, names, coding), named


def choose_long_voters(
    found: Assembled, named: ColumnNames, columns: Sequence[str] = ()
) -> Assembled:
    """Return the votes of the voters that were named; columns that were dropped are not read."""
    if named.voters is None and not named.drop:
        return found
    names = found.voters.tolist()
    for name in (*(named.voters or ()), *named.drop):
        if name not in names and (name not in columns or name in (named.voters or ())):
            raise VotesError(f"there is no voter {name!r}; the voters are {list_names(names)}")
    dropped = tuple(name for name in named.drop if name in names)
    chosen = choose_voters(names, ColumnNames(voters=named.voters, drop=dropped))
    kept = np.array([names.index(name) for name in chosen], dtype=np.intp)
    return found._replace(blocks=found.blocks.rearrange(kept), voters=found.voters[kept])


def _read_wide(
    frame: Any, item: str | None, named: ColumnNames, coding: CodingChoice
) -> tuple[NDArray[Any], NDArray[Any], list[Column], ColumnNames]:
    rows, present = read_row_names(frame), list(frame.columns)
    chosen = choose_voters([name for name in present if name != item], named)
    columns = {name: read_column(frame.get_column(name)) for name in chosen}
    if item is None and np.array_equal(rows, np.arange(len(rows))):
        item = find_item(present, named, coding, lambda name: read_column(frame.get_column(name)))
        named = named._replace(item=item)
        chosen = [name for name in chosen if name != item]
    items = rows if item is None else read_names(frame.get_column(item)).rows()
    names = np.array(chosen, dtype=object)
    return items, names, [columns[name] for name in chosen], named


def refuse_empty(shape: tuple[int, ...]) -> None:
    """Raise `VotesError` for a table without rows or columns."""
    if 0 in shape:
        what = "items" if shape[0] == 0 else "voters"
        raise VotesError(f"the table holds 0 {what} (shape={shape}); at least 1 is required")


def settle(found: dict[Label, str], coding: CodingChoice, columns: Sequence[Column]) -> Coding:
    """Return what the labels mean; the error about one that was not declared counts its votes."""
    if coding == "auto":
        coding = _find_order(columns, found)
    try:
        return settle_coding(found, coding)
    except VotesError as error:
        if "label" not in error.about:
            raise
        label, place = error.about["label"], error.about["place"]
        times = sum(column.count(label) for column in columns)
        counted = f"{error.message.removesuffix(place)}({times:,} votes), the first {place}"
        raise VotesError(error.message if times == 1 else counted, **error.about) from None


def _find_order(columns: Sequence[Column], found: dict[Label, str]) -> CodingChoice:
    orders = {column.order for column in columns if column.order}
    if not orders:
        return "auto"
    order = max(orders, key=len)
    if any([x for x in order if x in set(other)] != list(other) for other in orders):
        raise VotesError(
            "the columns order their categories in different ways",
            Hint("order", ["poor", "fair", "good"], "with all of them in one order"),
        )
    voted = tuple(label for label in order if label in found)
    if len(voted) < len(found):
        return "auto"
    return Declared(order if len(voted) < 2 else voted, ordered=True)


def _pick_votes(
    table: LongVotes, votes: NDArray[np.int8], duplicates: Duplicates
) -> NDArray[np.intp]:
    cells = table.items.codes.astype(np.int64) * len(table.voters.names) + table.voters.codes
    _, first, place = np.unique(cells, return_index=True, return_inverse=True)
    apart = np.flatnonzero(votes != votes[first][place])
    if duplicates == "refuse":
        if len(apart):
            pairs = len(np.unique(place[apart]))
            raise _different_votes(table, int(first[place[apart[0]]]), int(apart[0]), pairs)
        repeated = len(cells) - len(first)
        many = "1 row repeats" if repeated == 1 else f"{repeated} rows repeat"
        warn_user(f"{many} a vote, which is counted once", VotesWarning)
    if duplicates == "last":
        first[place] = np.arange(len(cells))
    return np.sort(np.delete(first, place[apart]) if duplicates == "drop" else first)


def _different_votes(table: LongVotes, first: int, second: int, pairs: int) -> VotesError:
    voter = str(table.voters.names[table.voters.codes[first]])[:60]
    where = f"in {table.locate(first)} and in {table.locate(second)}"
    more = "" if pairs == 1 else f", the first of {pairs:,} such pairs of an item and a voter"
    return VotesError(
        f"different votes of one voter on one item: {voter!r} {where}{more}; keep one of them",
        *(Hint("duplicates", choice) for choice in get_args(Duplicates)[1:]),
    )

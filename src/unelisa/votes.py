"""Votes: what every voter said on every item; all votes are validated here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from unelisa.blocks import ItemBlocks, RowNumbers, WholeTable, hold_sparse
from unelisa.coding import (
    CodingChoice,
    Column,
    Label,
    Names,
    NumberColumn,
    as_labels,
    settle_coding,
)
from unelisa.errors import AmbiguousVotesError, VotesError, VotesWarning, warn_user
from unelisa.frames import (
    ColumnNames,
    array_columns,
    as_array,
    as_frame,
    find_twins,
    list_names,
    long_columns,
    name_voters,
    read_column,
    read_names,
    read_row_names,
    refuse_names,
    refuse_repeated_items,
)
from unelisa.partitioned import is_partitioned, read_partitions


@dataclass(frozen=True, eq=False)
class Votes:
    """Items x voters: -1 no, +1 yes, 0 abstained.

    Build it with `Votes.of` or `read_votes`; it is not validated again after that.

    Attributes
    ----------
    blocks
        Where the votes live: in memory (an int8 table with one voter contiguous, Fortran order),
        sparse, in a file, or in Dask partitions.
    items, voters
        Names of the rows and the columns.
    classes
        The user's own two labels: (negative, positive).
    named
        Whether the voters' names come from the table; for a bare array they are generated.
    coding
        "pm1" or "snorkel" where it was declared: a model reads further tables alike.
    columns
        The columns of items, voters and votes as the user named them, None where not: alike.

    Examples
    --------
    >>> votes = Votes.of([["yes", "no"], ["yes", "yes"], ["no", None]])
    >>> votes.values
    array([[ 1, -1],
           [ 1,  1],
           [-1,  0]], dtype=int8)
    >>> votes.classes
    ('no', 'yes')
    """

    blocks: ItemBlocks
    items: NDArray[Any]
    voters: NDArray[Any]
    classes: tuple[Label, Label] = (-1, 1)
    named: bool = True
    coding: Literal["", "pm1", "snorkel"] = ""
    columns: ColumnNames = (None, None, None)

    @classmethod
    def of(
        cls,
        table: Any,
        coding: CodingChoice = "auto",
        *,
        item: str | None = None,
        voter: str | None = None,
        vote: str | None = None,
    ) -> "Votes":
        """Return the votes of a table, or raise `VotesError`.

        Parameters
        ----------
        table
            NumPy array or nested list, scipy.sparse matrix (entries that are not stored are
            abstentions), a Dask array or wide frame (which stays where it is), or a frame of
            pandas, polars, pyarrow or any other library that narwhals supports.
            A frame is long (one row per vote) if it has columns named item, voter and vote, or
            if those columns are named here; otherwise it is wide (one column per voter).
        coding
            "pm1": -1 no, 0 abstained, 1 yes. "01": 0 no, 1 yes. "snorkel": -1 abstained, 0 no,
            1 yes. Two labels of your own as (negative, positive). "auto": two labels of any
            kind, of which the larger in sort order is positive; ambiguous codings are rejected.
            Missing values are abstentions in every coding.
        item, voter, vote
            Column names: all three for a long frame, `item` alone for a wide one.

        Notes
        -----
        The items and voters of a long table are sorted by name, so the order of its rows does
        not matter. A vote given twice is counted once, with a `VotesWarning`; two different
        votes of one voter on one item raise an error.
        """
        if isinstance(table, Votes):
            return table
        if is_partitioned(table):
            return cls._of_partitions(table, coding)
        if sp.issparse(table):
            return cls._of_sparse(table, coding)
        if (frame := as_frame(table)) is not None:
            return _of_frame(frame, coding, (item, voter, vote))
        return cls._of_array(table, coding)

    @classmethod
    def accept(cls, table: Any) -> "Votes":
        """Return the votes that a function without `coding=` is given, as `Votes.of` reads them.

        The message for ambiguous codes says where the coding can be declared.
        """
        try:
            return cls.of(table)
        except AmbiguousVotesError as error:
            error.args = (f"{error}: read X with Votes.of(X, coding=...)",)
            raise

    @classmethod
    def of_values(
        cls,
        values: NDArray[np.int8],
        items: NDArray[Any],
        voters: NDArray[Any],
        classes: tuple[Label, Label] = (-1, 1),
    ) -> "Votes":
        """Return the votes of an int8 table of -1, 0 and +1 in Fortran order, unchecked."""
        return cls(WholeTable(values), items, voters, classes)

    @classmethod
    def _of_array(cls, table: ArrayLike, coding: CodingChoice) -> "Votes":
        array = as_array(table)
        items, voters = np.arange(len(array)), name_voters(array.shape[1])
        return replace(assemble(array_columns(array), items, voters, coding), named=False)

    @classmethod
    def _of_partitions(cls, table: Any, coding: CodingChoice) -> "Votes":
        """Return the votes of a Dask collection, which stays where it is."""
        blocks, voters, settled, named = read_partitions(table, coding)
        items: Any = RowNumbers(blocks.n_items)
        return cls(blocks, items, voters, settled.classes, named, settled.name)

    @classmethod
    def _of_sparse(cls, table: Any, coding: CodingChoice) -> "Votes":
        """Return the stored entries as votes; all others are abstentions."""
        matrix = sp.csc_array(table)
        column = NumberColumn(matrix.data)
        places = {label: f"among the stored entries ({label})" for label in column.distinct()}
        settled = settle_coding(places, coding)
        _refuse_empty(matrix.shape)
        votes = column.encode(settled.votes)
        blocks = hold_sparse(sp.csc_array((votes, matrix.indices, matrix.indptr), matrix.shape))
        items, voters = np.arange(matrix.shape[0]), name_voters(matrix.shape[1])
        return cls(blocks, items, voters, settled.classes, named=False, coding=settled.name)

    @property
    def values(self) -> NDArray[np.int8]:
        """The votes as a table; an error where they are not one in memory."""
        return self.blocks.table()

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        # sizes only: items and votes may be patients, and reprs end in logs
        silent = 1 - self.vote_counts().sum() / max(self.n_items * self.n_voters, 1)
        return f"Votes({self.n_items} items x {self.n_voters} voters, {silent:.1%} abstained)"

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.blocks.n_items

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.blocks.n_voters

    @property
    def shape(self) -> tuple[int, int]:
        """(items, voters)."""
        return self.n_items, self.n_voters

    def take_voters(self, voters: Sequence[int] | NDArray[Any]) -> "Votes":
        """Return the votes of some voters, in the order given."""
        chosen = np.asarray(voters)
        places = np.arange(self.n_voters)[chosen]
        return replace(self, blocks=self.blocks.rearrange(places), voters=self.voters[chosen])

    def take_items(self, items: Sequence[int] | NDArray[Any]) -> "Votes":
        """Return the votes on some items, in the order given."""
        rows = np.arange(self.n_items)[np.asarray(items)]
        if self.blocks.whole or np.all(rows[1:] >= rows[:-1]):
            return replace(self, blocks=self.blocks.take(rows), items=self.items[rows])
        order = np.argsort(rows, kind="stable")
        taken = self.blocks.take(rows[order]).take(np.argsort(order))
        return replace(self, blocks=taken, items=self.items[rows])

    def parts(self) -> "Iterator[Votes]":
        """Yield the votes block by block, each in memory while it is used."""
        for block in self.blocks:
            items = self.items[block.start : block.start + block.n_items]
            yield replace(self, blocks=WholeTable(block.votes), items=items)

    def align(self, voters: NDArray[Any]) -> "Votes":
        """Return the votes with exactly these voters as columns, matched by name.

        A voter who is absent here counts as having abstained everywhere; one who is not among
        `voters` is dropped with a `VotesWarning`.
        """
        if np.array_equal(self.voters, voters):
            return self
        place = {name: s for s, name in enumerate(self.voters.tolist())}
        columns = np.array([place.pop(name, -1) for name in voters.tolist()], dtype=np.intp)
        if np.all(columns < 0):
            raise VotesError("none of these voters is known to the model; check their names")
        if place:
            _warn(list(place), "unknown to the model and ignored")
        return replace(self, blocks=self.blocks.rearrange(columns), voters=voters)

    def turn_labels(self) -> "Votes":
        """Return the same votes with the other label as the positive one."""
        blocks = self.blocks.rearrange(np.arange(self.n_voters), side=-1)
        return replace(self, blocks=blocks, classes=self.classes[::-1])

    def label(self, signs: NDArray[Any]) -> NDArray[Any]:
        """Return the user's labels for signs: positive where sign >= 0, as sgn 0 = +1."""
        return as_labels(self.classes)[(np.asarray(signs) >= 0).astype(np.intp)]

    @cached_property
    def comparison(self) -> tuple[NDArray[np.int64], int]:
        """Counts of items per voter, and the number of items with two votes or more.

        Rows: said no; said yes; others voted too; another voted otherwise.
        """
        counts, met = self.blocks.compare()
        return counts.T, met

    @property
    def sides(self) -> NDArray[np.int64]:
        """How often each voter said no (row 0) and yes (row 1)."""
        return self.comparison[0][:2]

    def vote_counts(self) -> NDArray[np.int64]:
        """Return how many items each voter voted on."""
        return np.asarray(self.sides.sum(axis=0))

    def constant(self) -> NDArray[np.bool_]:
        """Return which voters are constant: one answer only, or never voted."""
        return np.asarray(self.sides.min(axis=0) == 0)

    def discerning(self) -> NDArray[np.bool_]:
        """Return which voters tell items apart: not silent, nor the same vote on every item.

        If nobody does, those who voted.
        """
        votes = self.vote_counts()
        found = (votes > 0) & (self.sides.max(axis=0) < self.n_items)
        return np.asarray(found if found.any() else votes > 0)

    def warn_of_idle_voters(self) -> None:
        """Warn of voters who never voted, always say the same or look alike; of votes apart."""
        silent = self.vote_counts() == 0
        if silent.all():
            raise VotesError("there are no votes: every vote is missing or an abstention")
        if silent.any():
            _warn(self.voters[silent].tolist(), "never voted and got no weight")
        stuck = self.constant() & ~silent
        if stuck.any():
            constant = "always gave the same vote, which is hardly informative"
            _warn(self.voters[stuck].tolist(), constant)
        if twins := find_twins(self.voters.tolist()):
            _warn(twins, "have names that look the same, so they may be fewer")
        if self.n_voters == 1:
            warn_user("only one voter, so its votes cannot be cross-checked", VotesWarning)
        elif self.n_items > 1 and self.comparison[1] == 0:
            warn_user(
                "every item has only one vote, so none can be cross-checked; check the item column",
                VotesWarning,
            )


def assemble(
    columns: Sequence[Column],
    items: NDArray[Any],
    voters: NDArray[Any],
    coding: CodingChoice,
    titles: Sequence[str] | None = None,
) -> Votes:
    """Return the votes of a wide table, read column by column to avoid large copies.

    Messages call the columns by their `titles`, by default by the names of the voters.
    """
    _refuse_empty((len(items), len(columns)))
    found: dict[Label, str] = {}
    for title, column in zip(titles or [repr(str(name)) for name in voters], columns, strict=True):
        rows = {label: column.first_row(label) for label in column.distinct() - found.keys()}
        for label in sorted(rows, key=lambda label: rows[label]):
            found[label] = f"in data row {rows[label] + 1}, column {title}"
    if not found and coding == "auto":
        raise VotesError("there are no votes: every cell is missing")
    settled = settle_coding(found, coding)
    values = np.empty((len(items), len(columns)), dtype=np.int8, order="F")
    for s, column in enumerate(columns):
        values[:, s] = column.encode(settled.votes)
    return Votes(WholeTable(values), items, voters, settled.classes, coding=settled.name)


def assemble_long(
    items: Names, voters: Names, column: Column, coding: CodingChoice = "auto"
) -> Votes:
    """Return the votes of a long table: one row per vote, items and voters as sorted names."""
    _refuse_empty((len(items.codes), 3))
    labels = sorted(column.distinct(), key=column.first_row)
    settled = settle_coding({x: f"in data row {column.first_row(x) + 1}" for x in labels}, coding)
    votes = column.encode(settled.votes)
    cast = np.flatnonzero(votes)  # a row without a vote does not repeat one with a vote
    i, s = items.codes[cast], voters.codes[cast]
    kept = _check_duplicates(i.astype(np.int64) * len(voters.names) + s, votes[cast], cast)
    entries = votes[cast[kept]], (i[kept], s[kept])
    blocks = hold_sparse(sp.coo_array(entries, (len(items.names), len(voters.names))))
    return Votes(blocks, items.names, voters.names, settled.classes, coding=settled.name)


def _of_frame(frame: Any, coding: CodingChoice, named: ColumnNames) -> Votes:
    item, voter, vote = long_columns(frame.columns, named)
    if voter is not None and vote is not None and item is not None:
        rows = Names.of(read_names(frame.get_column(item)))
        voters = Names.of(read_names(frame.get_column(voter))).as_text()
        votes = assemble_long(rows, voters, read_column(frame.get_column(vote)), coding)
        return replace(votes, columns=named)
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
        return replace(assemble(columns, items, names, coding), columns=named)
    except VotesError:
        if item is None:
            refuse_names(chosen, columns)
        raise


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


def _refuse_empty(shape: tuple[int, ...]) -> None:
    if 0 in shape:
        what = "items" if shape[0] == 0 else "voters"
        raise VotesError(f"the table holds 0 {what} (shape={shape}); at least 1 is required")


def _warn(names: list[Any], what: str) -> None:
    many = "1 voter" if len(names) == 1 else f"{len(names)} voters"
    warn_user(f"{many} {what}: {list_names(names)}", VotesWarning)

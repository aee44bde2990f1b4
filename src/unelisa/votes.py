"""Votes: what every voter said on every item, and the only gate through which votes enter."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import scipy.sparse as sp
from narwhals.exceptions import DuplicateError
from numpy.typing import ArrayLike, NDArray

from unelisa.coding import (
    CodingChoice,
    Column,
    Label,
    Names,
    NumberColumn,
    TextColumn,
    settle_coding,
)
from unelisa.errors import AmbiguousVotesError, VotesError, VotesWarning

# the first of these that is there; "id" last, because exports number their rows so
ITEM_NAMES = ("item", "task", "item_id", "task_id", "", "unnamed: 0", "id")
VOTER_NAMES = ("voter", "worker", "annotator", "voter_id", "worker_id", "performer", "judge")
VOTE_NAMES = ("vote", "label", "answer", "response")


@dataclass(frozen=True, eq=False)
class Votes:
    """Items x voters: -1 no, +1 yes, 0 abstained.

    Build it with `Votes.of` or `read_votes`; inside the package it is trusted as it stands.

    Attributes
    ----------
    values
        int8, one voter contiguous (Fortran order).
    items, voters
        Names of the rows and the columns.
    classes
        The user's own two labels: (negative, positive).
    named
        Whether the voters' names come from the table, or were made up for a bare array.

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

    values: NDArray[np.int8]
    items: NDArray[Any]
    voters: NDArray[Any]
    classes: tuple[Label, Label] = (-1, 1)
    named: bool = True

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
        """Return the votes of a table, or raise `VotesError` with one sentence.

        Parameters
        ----------
        table
            NumPy array or nested list, scipy.sparse matrix (entries not stored have abstained),
            or a frame of pandas, polars, pyarrow or any other library that narwhals knows.
            A frame is long (one row per vote) if it has columns named item, voter and vote, or
            if those columns are named here; otherwise it is wide (one column per voter).
        coding
            "pm1": -1 no, 0 abstained, 1 yes. "01": 0 no, 1 yes. "snorkel": -1 abstained, 0 no,
            1 yes. Two labels of your own as (negative, positive). "auto": two labels of any
            kind, the larger in sort order being the positive one, but only where they can mean
            one thing. Missing values have abstained in every coding.
        item, voter, vote
            Column names: all three for a long frame, `item` alone for a wide one.

        Notes
        -----
        In a long table the items and voters are sorted by name, so the order of the rows does
        not matter; the same vote given twice is kept once with a `VotesWarning`, two different
        votes of one voter on one item are refused.
        """
        if isinstance(table, Votes):
            return table
        if sp.issparse(table):
            return cls._of_sparse(table, coding)
        if (frame := _as_frame(table)) is not None:
            return _of_frame(frame, coding, (item, voter, vote))
        return cls._of_array(table, coding)

    @classmethod
    def accept(cls, table: Any) -> "Votes":
        """Return the votes of what an estimator is given as X.

        As `Votes.of`, except that -1 / 0 / +1 is read as no / abstained / yes, the form in which
        every estimator takes arrays.
        """
        try:
            return cls.of(table)
        except AmbiguousVotesError:
            return cls.of(table, coding="pm1")

    @classmethod
    def _of_array(cls, table: ArrayLike, coding: CodingChoice) -> "Votes":
        array = np.asarray(table) if _is_numeric(table) else np.asarray(table, dtype=object)
        if array.ndim != 2:
            raise VotesError(
                f"votes must be a table of items x voters, found {array.ndim} dimension(s); "
                "Reshape your data to two"
            )
        if array.dtype.kind == "c":
            raise VotesError("Complex data not supported: votes are two labels")
        as_column = NumberColumn if array.dtype.kind in "biuf" else TextColumn.of
        columns: list[Column] = [as_column(array[:, s]) for s in range(array.shape[1])]
        voters = name_voters(array.shape[1])
        return replace(assemble(columns, np.arange(len(array)), voters, coding), named=False)

    @classmethod
    def _of_sparse(cls, table: Any, coding: CodingChoice) -> "Votes":
        """Return the votes of the stored entries; what is not stored has abstained."""
        matrix = sp.csc_array(table)
        column = NumberColumn(matrix.data)
        places = {label: f"among the stored entries ({label})" for label in column.distinct()}
        settled = settle_coding(places, coding)
        values = np.zeros(matrix.shape, dtype=np.int8, order="F")
        owner = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
        values[matrix.indices, owner] = column.encode(settled.votes)
        _refuse_empty(values.shape)
        items, voters = np.arange(matrix.shape[0]), name_voters(matrix.shape[1])
        return cls(values, items, voters, settled.classes, named=False)

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        # sizes only: items and votes may be patients, and reprs end in logs
        silent = 1 - np.count_nonzero(self.values) / max(self.values.size, 1)
        return f"Votes({self.n_items} items x {self.n_voters} voters, {silent:.1%} abstained)"

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.values.shape[0])

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return int(self.values.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(items, voters)."""
        return self.n_items, self.n_voters

    def take_voters(self, voters: Sequence[int] | NDArray[Any]) -> "Votes":
        """Return the votes of some voters, in the order given."""
        chosen = np.asarray(voters)
        values = np.asfortranarray(self.values[:, chosen])
        return replace(self, values=values, voters=self.voters[chosen])

    def take_items(self, items: Sequence[int] | NDArray[Any]) -> "Votes":
        """Return the votes on some items, in the order given."""
        chosen = np.asarray(items)
        values = np.asfortranarray(self.values[chosen])
        return replace(self, values=values, items=self.items[chosen])

    def align(self, voters: NDArray[Any]) -> "Votes":
        """Return the votes with exactly these voters as columns, matched by name.

        A voter who is absent here has abstained everywhere; one who is not wanted is dropped
        with a `VotesWarning`.
        """
        if np.array_equal(self.voters, voters):
            return self
        place = {name: s for s, name in enumerate(self.voters.tolist())}
        values = np.zeros((self.n_items, len(voters)), dtype=np.int8, order="F")
        shared = [(s, place.pop(name)) for s, name in enumerate(voters.tolist()) if name in place]
        if not shared:
            raise VotesError("none of these voters is known to the model; check the voters' names")
        for s, here in shared:
            values[:, s] = self.values[:, here]
        if place:
            _warn(list(place), "unknown to the model and left out")
        return replace(self, values=values, voters=voters)

    def label(self, signs: NDArray[Any]) -> NDArray[Any]:
        """Return the user's labels for signs: positive where sign >= 0, as sgn 0 = +1."""
        return np.asarray(self.classes)[(np.asarray(signs) >= 0).astype(np.intp)]

    def vote_counts(self) -> NDArray[np.int64]:
        """Return how many items each voter voted on."""
        return np.asarray(np.count_nonzero(self.values, axis=0), dtype=np.int64)

    def constant(self) -> NDArray[np.bool_]:
        """Return which voters always said the same (those who never voted included)."""
        sides = np.minimum((self.values > 0).any(axis=0), (self.values < 0).any(axis=0))
        return np.logical_not(sides)

    def warn_of_idle_voters(self) -> None:
        """Give one `VotesWarning` each for voters who never voted and who never varied."""
        silent = self.vote_counts() == 0
        if silent.all():
            raise VotesError("nobody voted on anything: every vote is missing or an abstention")
        if silent.any():
            _warn(self.voters[silent].tolist(), "never voted and so carried no weight")
        stuck = self.constant() & ~silent
        if stuck.any():
            _warn(self.voters[stuck].tolist(), "always gave the same vote, which tells little")
        if self.n_voters == 1:
            warnings.warn("there is one voter only: nothing can confirm it", VotesWarning, 3)
        elif self.n_items > 1 and np.count_nonzero(self.values, axis=1).max() == 1:
            warnings.warn(
                "every item has one vote only: nobody confirms anybody; is the item column right?",
                VotesWarning,
                stacklevel=3,
            )


def assemble(
    columns: Sequence[Column],
    items: NDArray[Any],
    voters: NDArray[Any],
    coding: CodingChoice,
) -> Votes:
    """Return the votes of a wide table, column by column, so that nothing large is copied."""
    _refuse_empty((len(items), len(columns)))
    found: dict[Label, str] = {}
    for name, column in zip(voters, columns, strict=True):
        rows = {label: column.first_row(label) for label in column.distinct() - found.keys()}
        for label in sorted(rows, key=lambda label: rows[label]):
            found[label] = f"in data row {rows[label] + 1}, column {str(name)!r}"
    if not found and coding == "auto":
        raise VotesError("nobody voted on anything: every cell is missing")
    settled = settle_coding(found, coding)
    values = np.empty((len(items), len(columns)), dtype=np.int8, order="F")
    for s, column in enumerate(columns):
        values[:, s] = column.encode(settled.votes)
    return Votes(values, items, voters, settled.classes)


def assemble_long(
    items: Names, voters: Names, column: Column, coding: CodingChoice = "auto"
) -> Votes:
    """Return the votes of a long table: one row per vote, items and voters as sorted names."""
    _refuse_empty((len(items.codes), 3))
    labels = sorted(column.distinct(), key=column.first_row)
    settled = settle_coding({x: f"in data row {column.first_row(x) + 1}" for x in labels}, coding)
    votes = column.encode(settled.votes)
    cast = np.flatnonzero(votes)  # a blank row says nothing, not even beside another vote
    i, s = items.codes[cast], voters.codes[cast]
    values = np.zeros((len(items.names), len(voters.names)), dtype=np.int8, order="F")
    values[i, s] = votes[cast]
    _check_duplicates(values, i, s, votes[cast], cast)
    return Votes(values, items.names, voters.names, settled.classes)


def refuse_repeated_items(items: NDArray[Any]) -> None:
    """Raise `VotesError` where a wide table has two rows for one item."""
    _, first, counts = np.unique(items, return_index=True, return_counts=True)
    if (counts > 1).any():
        row = int(first[counts > 1].min()) + 1
        raise VotesError(f"the item of data row {row} stands in the table twice; keep one row each")


def name_voters(n_voters: int) -> NDArray[Any]:
    """Return names for voters who have none: v0, v1, ..."""
    return np.array([f"v{s}" for s in range(n_voters)], dtype=object)


def long_columns(
    columns: Iterable[str], named: tuple[str | None, str | None, str | None]
) -> tuple[str | None, str | None, str | None]:
    """Return the item, voter and vote columns, by the user's word or by their usual names."""
    present = list(columns)
    usual = (ITEM_NAMES, VOTER_NAMES, VOTE_NAMES)
    for name in named:
        if name is not None and name not in present:
            raise VotesError(f"there is no column {name!r}; the columns are {_listed(present)}")
    by_name = {str(column).strip().lower(): column for column in reversed(present)}
    picked = [
        name if name is not None else next((by_name[x] for x in names if x in by_name), None)
        for name, names in zip(named, usual, strict=True)
    ]
    return picked[0], picked[1], picked[2]


def _of_frame(
    frame: "nw.DataFrame[Any]",
    coding: CodingChoice,
    named: tuple[str | None, str | None, str | None],
) -> Votes:
    item, voter, vote = long_columns(frame.columns, named)
    if voter is not None and vote is not None and item is not None:
        rows = Names.of(_names(frame.get_column(item)))
        columns = Names.of(_names(frame.get_column(voter)).astype(str).astype(object))
        return assemble_long(rows, columns, _column(frame.get_column(vote)), coding)
    if named[1] is not None or named[2] is not None:
        raise VotesError(
            "a long table needs the columns of items, voters and votes; name all three"
        )
    chosen = [name for name in frame.columns if name != item]
    items = _row_names(frame) if item is None else _names(frame.get_column(item))
    refuse_repeated_items(items)
    voters = np.array([str(name) for name in chosen], dtype=object)
    return assemble([_column(frame.get_column(c)) for c in chosen], items, voters, coding)


def _column(series: "nw.Series[Any]") -> Column:
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        if not series.is_null().any():
            return NumberColumn(series.to_numpy())
        if series.dtype.is_numeric():
            return NumberColumn(series.cast(nw.Float64).to_numpy())
    return TextColumn.of(series.to_list())


def _names(series: "nw.Series[Any]") -> NDArray[Any]:
    if series.is_null().any():
        row = int(np.argmax(series.is_null().to_numpy())) + 1
        raise VotesError(
            f"column {series.name!r} has no name in data row {row}; fill it or drop it"
        )
    names = series.to_numpy()
    return names if names.dtype.kind in "iu" else np.array([str(x) for x in names], dtype=object)


def _row_names(frame: "nw.DataFrame[Any]") -> NDArray[Any]:
    index = nw.maybe_get_index(frame)
    return np.arange(len(frame)) if index is None else np.asarray(index)


def _check_duplicates(
    values: NDArray[np.int8],
    i: NDArray[np.intp],
    s: NDArray[np.intp],
    votes: NDArray[np.int8],
    rows: NDArray[np.intp],
) -> None:
    conflict = values[i, s] != votes
    if conflict.any():
        row = int(rows[np.argmax(conflict)]) + 1
        raise VotesError(
            f"data row {row} and a later row give different votes of one voter on one item; "
            "keep one of them"
        )
    cells = i.astype(np.int64) * values.shape[1] + s
    repeated = len(cells) - len(np.unique(cells))
    if repeated:
        many = "1 row repeats" if repeated == 1 else f"{repeated} rows repeat"
        warnings.warn(f"{many} a vote, which is counted once", VotesWarning, 4)


def _refuse_empty(shape: tuple[int, ...]) -> None:
    if shape[0] == 0:
        raise VotesError(f"the table holds 0 items (shape={shape}); at least 1 is required")
    if shape[1] == 0:
        raise VotesError(f"the table holds 0 voters (shape={shape}); at least 1 is required")


def _as_frame(table: Any) -> "nw.DataFrame[Any] | None":
    """Return a frame of any library that narwhals knows, or None for everything else."""
    try:
        frame = nw.from_native(table, pass_through=True)
    except DuplicateError:
        raise VotesError("two columns have the same name; rename one") from None
    if isinstance(frame, nw.LazyFrame):
        return frame.collect()
    return frame if isinstance(frame, nw.DataFrame) else None


def _is_numeric(table: Any) -> bool:
    return isinstance(table, np.ndarray) and table.dtype.kind != "O"


def _warn(names: list[Any], what: str) -> None:
    many = "1 voter" if len(names) == 1 else f"{len(names)} voters"
    warnings.warn(f"{many} {what}: {_listed(names)}", VotesWarning, stacklevel=4)


def _listed(names: list[Any]) -> str:
    shown = ", ".join(repr(str(name)[:60]) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"

"""Votes: what voters said of items, the one gate through which votes enter, and where they live.

Inside the gate (assembly.py, coding.py) votes are items x voters, int8: -1 / +1 / 0 for two
classes, 1, 2, ... for more. blocks.py: in memory, in a file, sparse, in Dask; ballots.py: as models
read them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.errors import AmbiguousVotesError, VotesError, VotesWarning, warn_user
from unelisa.votes.assembly import (
    Assembled,
    Duplicates,
    assemble_array,
    assemble_frame,
    assemble_sparse,
)
from unelisa.votes.blocks import (
    Block,
    ItemBlocks,
    SparseVotes,
    WholeTable,
    hold_sparse,
    tally_votes,
    weigh_votes,
)
from unelisa.votes.coding import (
    CodingChoice,
    as_labels,
    declare_order,
    encode_classes,
    warn_of_classes,
)
from unelisa.votes.columns import Label, spell_name
from unelisa.votes.frames import (
    NO_COLUMNS,
    ColumnNames,
    as_frame,
    find_similar_names,
    list_names,
    long_columns,
)
from unelisa.votes.partitioned import is_partitioned, read_partitions

Floats = NDArray[np.float64]
ROUNDS = 2  # of refinement of the order; voters who are then still equal are copies, as a rule
IN_MEMORY = ("in memory", "sparse")  # the places of blocks that are
HASH_BITS = 20  # sums over 2^32 items stay below 2^53, so that they are exact in any order


@dataclass(frozen=True, eq=False)
class Votes:
    """Items x voters, one byte each: -1 no, +1 yes, 0 abstained.

    With more than two classes, class k (from 0) is k + 1, read as uint8. Build it with `Votes.of`
    or `read_votes`; it is not validated again.

    Attributes
    ----------
    blocks
        Where the votes live: in memory, sparse, in a file, or in Dask partitions.
    items, voters
        Names of the rows and the columns.
    classes
        The user's own labels: (negative, positive), or all classes, sorted or as declared.
    named
        Whether the voters' names come from the table; otherwise they are generated.
    coding, columns
        The coding ("pm1" or "snorkel") and the columns of items, voters and votes, where declared:
        a model reads further tables alike.
    ordered
        Whether the order of three or more classes was declared.

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
    classes: tuple[Label, ...] = (-1, 1)
    named: bool = True
    coding: Literal["", "pm1", "snorkel"] = ""
    columns: ColumnNames = NO_COLUMNS
    ordered: bool = False

    @classmethod
    def of(  # noqa: PLR0913 - a public signature
        cls,
        table: Any,
        coding: CodingChoice = "auto",
        *,
        order: Sequence[Label] | None = None,
        item: str | None = None,
        voter: str | None = None,
        vote: str | None = None,
        voters: Sequence[str] | None = None,
        drop: Sequence[str] = (),
        duplicates: Duplicates = "refuse",
    ) -> "Votes":
        """Return the votes of a table, or raise `VotesError`.

        Items and voters of a long table are sorted by name. A vote given twice counts once, with a
        `VotesWarning`.

        Parameters
        ----------
        table
            NumPy array or nested list, scipy.sparse matrix (entries that are not stored are
            abstentions), Dask array or wide frame (which stays where it is), or a frame of pandas,
            polars, pyarrow or any other library that narwhals supports. A frame is long (one row
            per vote) if it has the columns item, voter and vote, by these or by the given names;
            otherwise it is wide (one column per voter).
        coding
            "pm1": -1 no, 0 abstained, 1 yes. "01": 0 no, 1 yes. "snorkel": -1 abstained, 0 no, 1
            yes, or 0, 1, 2, ... for more classes. Labels of your own: two as (negative, positive),
            or all classes. "auto": any labels in sort order, the larger of two being positive;
            ambiguous codings are rejected. Missing values are abstentions.
        order
            All classes in their order, such as poor to good; other labels raise an error. Ordered
            categories of a frame have their own order.
        item, voter, vote
            Column names of a frame: all three for a long one, `item` alone for a wide one. The
            first column of a wide frame names the items if all its cells differ and no other column
            has one.
        voters, drop
            Columns of a frame: the only voters to read, or what to leave out, such as comments.
        duplicates
            What to do with different votes of one voter on one item of a frame: "refuse" raises an
            error, "first" and "last" keep that one in the order of the rows, "drop" keeps none.
        """
        if isinstance(table, Votes):
            return table
        coding = declare_order(coding, order)
        if is_partitioned(table):
            found = long_columns(map(str, getattr(table, "columns", ())), (item, voter, vote))
            long = [name for name in found if name is not None]
            if len(long) < len(found):
                return cls.of_assembled(read_partitions(table, coding))
            from unelisa.votes.shuffled import read_long  # noqa: PLC0415 - for Dask only

            return cls.of_assembled(read_long(table, long, coding, duplicates))
        if sp.issparse(table):
            return cls.of_assembled(assemble_sparse(table, coding))
        if (frame := as_frame(table)) is not None:
            columns = ColumnNames.of((item, voter, vote, voters, drop))
            return cls.of_assembled(*assemble_frame(frame, coding, columns, duplicates))
        return cls.of_assembled(assemble_array(table, coding))

    @classmethod
    def of_assembled(cls, found: Assembled, columns: ColumnNames = NO_COLUMNS) -> "Votes":
        """Return the votes that were read from a table."""
        blocks, items, voters, coding, named = found
        if named and coding.inferred:
            warn_of_classes(coding.classes)
        return cls(
            blocks, items, voters, coding.classes, named, coding.name, columns, coding.ordered
        )

    @classmethod
    def accept(cls, table: Any) -> "Votes":
        """Return the votes of a table without a declared coding; errors say where to declare it."""
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
        classes: tuple[Label, ...] = (-1, 1),
    ) -> "Votes":
        """Return the votes of an int8 table of codes in Fortran order, unchecked."""
        return cls(WholeTable(values), items, voters, classes)

    @property
    def values(self) -> NDArray[np.int8]:
        """The votes as a table; an error where they are not one in memory."""
        return self.blocks.table()

    def __len__(self) -> int:
        return self.n_items

    def __repr__(self) -> str:
        # sizes only: items and votes may be patients, and reprs end in logs
        silent = 1 - self.vote_counts().sum() / max(self.n_items * self.n_voters, 1)
        more = f"{self.n_classes} classes, " if self.n_classes > 2 else ""
        sizes = f"{self.n_items} items x {self.n_voters} voters"
        return f"Votes({sizes}, {more}{silent:.1%} abstained)"

    def _repr_html_(self) -> str:
        # imported by name: the report's layer lies above this one
        shown: str = import_module("unelisa.report.notebook").show_votes(self)
        return shown

    @property
    def n_items(self) -> int:
        """Number of items."""
        return self.blocks.n_items

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return self.blocks.n_voters

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

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

    def keep_items(self, rows: NDArray[np.intp]) -> "Votes":
        """Return the votes on some items, which stay where they are if their order does."""
        if self.blocks.place in IN_MEMORY or np.any(rows[1:] <= rows[:-1]):
            return self.take_items(rows)
        keep = getattr(self.items, "keep", self.items.__getitem__)
        return replace(self, blocks=self.blocks.keep(rows), items=keep(rows))

    def parts(self) -> "Iterator[Votes]":
        """Yield the votes block by block, each in memory while it is used."""
        for block in self.blocks:
            items = self.items[block.start : block.start + block.n_items]
            yield replace(self, blocks=WholeTable(block.votes), items=items)

    def align(self, voters: NDArray[Any]) -> "Votes":
        """Return the votes with exactly these voters as columns; absent ones abstain."""
        if np.array_equal(self.voters, voters):
            return self
        place = {spell_name(name): s for s, name in enumerate(self.voters.tolist())}
        wanted = map(spell_name, voters.tolist())
        columns = np.array([place.pop(name, -1) for name in wanted], dtype=np.intp)
        if np.all(columns < 0):
            raise VotesError("none of these voters is known to the model; check their names")
        if place:
            _warn(list(place), "unknown to the model and ignored")
        return replace(self, blocks=self.blocks.rearrange(columns), voters=voters)

    def one_against_rest(self, k: int) -> "Votes":
        """Return the votes with two classes: class k as the positive one, and all others as one."""
        blocks = self._recode(np.where(np.arange(self.n_classes) == k, 1, -1))
        classes = (f"not {self.classes[k]}", str(self.classes[k]))
        return replace(self, blocks=blocks, classes=classes, coding="", ordered=False)

    def recode_classes(self, classes: tuple[Label, ...]) -> "Votes":
        """Return the votes with more than two classes, which include all of their own."""
        codes = dict(zip(classes, encode_classes(len(classes)), strict=True))
        blocks = self._recode([codes[label] for label in self.classes])
        return replace(self, blocks=blocks, classes=classes)

    def _recode(self, codes: Any) -> ItemBlocks:
        lookup = np.zeros(256, dtype=np.int8)
        lookup[np.array(encode_classes(self.n_classes), dtype=np.int8).view(np.uint8)] = codes
        return self.blocks.recode(lookup)

    def turn_labels(self) -> "Votes":
        """Return the same votes with the other of two labels as the positive one."""
        blocks = self.blocks.rearrange(np.arange(self.n_voters), side=-1)
        return replace(self, blocks=blocks, classes=self.classes[::-1])

    def label(self, signs: NDArray[Any]) -> NDArray[Any]:
        """Return the user's labels for signs: positive where sign >= 0, as sgn 0 = +1."""
        return as_labels(self.classes)[(np.asarray(signs) >= 0).astype(np.intp)]

    def name_codes(self, codes: NDArray[np.int8]) -> NDArray[Any]:
        """Return the user's labels for codes as in `values`, None for 0."""
        labels = np.full(256, None, dtype=object)
        own = np.array(encode_classes(self.n_classes), dtype=np.int8)
        labels[own.view(np.uint8)] = np.array([*self.classes, None], dtype=object)[:-1]
        return np.asarray(labels[np.asarray(codes, dtype=np.int8).view(np.uint8)])

    @cached_property
    def comparison(self) -> tuple[NDArray[np.int64], int]:
        """How often voters said each class, met others, and differed (rows); and items they met."""
        counts, met = self.blocks.compare(self.n_classes)
        return counts.T, met

    @property
    def answers(self) -> NDArray[np.int64]:
        """How often each voter said each class (rows)."""
        return self.comparison[0][:-2]

    @property
    def sides(self) -> NDArray[np.int64]:
        """How often each voter said no (row 0) and yes (row 1), of two classes."""
        if self.n_classes > 2:
            raise VotesError(f"two classes are needed here, found {self.n_classes}")
        return self.answers

    def vote_counts(self) -> NDArray[np.int64]:
        """Return how many items each voter voted on."""
        return np.asarray(self.answers.sum(axis=0))

    def constant(self) -> NDArray[np.bool_]:
        """Return which voters are constant: one answer only, or never voted."""
        return np.asarray(np.count_nonzero(self.answers, axis=0) < 2)

    def discerning(self) -> NDArray[np.bool_]:
        """Return which voters are not silent, nor the same on every item; or else who voted."""
        votes = self.vote_counts()
        found = (votes > 0) & (self.answers.max(axis=0) < self.n_items)
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
        if similar := find_similar_names(self.voters.tolist()):
            _warn(similar, "have names that look the same, so they may be fewer")
        if self.n_voters == 1:
            warn_user("only one voter, so its votes cannot be cross-checked", VotesWarning)
        elif self.n_items > 1 and self.comparison[1] == 0:
            warn_user(
                "every item has only one vote, so none can be cross-checked; check the item column",
                VotesWarning,
            )


def name_unvoted(error: VotesError) -> VotesError:
    """Return the error about a known label that is not a class of the votes, in these words."""
    return VotesError(
        f"it holds a label that nobody ever voted, {error.about['place']}; if it is a class, name "
        "all classes where the votes are read",
        **error.about,
    )


def _warn(names: list[Any], what: str) -> None:
    many = "1 voter" if len(names) == 1 else f"{len(names)} voters"
    warn_user(f"{many} {what}: {list_names(names)}", VotesWarning)


def order_voters(votes: Votes) -> NDArray[np.intp]:
    """Return the informative voters by sum_i m_i f_is, m_i an item's margin, whatever the order."""
    voters = np.flatnonzero(votes.discerning())
    no, yes = votes.sides[:, voters].sum(axis=1)
    blocks = votes.blocks.rearrange(voters, side=-1 if no > yes else 1)
    plain, hashed = blocks.sum(_sum_margins, np.ones(len(voters)))
    keys = [hashed, votes.vote_counts()[voters], plain]  # the last one decides first
    for _ in range(ROUNDS - 1):
        hashed = blocks.sum(_sum_margins, _hash(hashed))[1]
        keys.insert(0, hashed)
    return voters[np.lexsort(keys)]


def _sum_margins(block: Block, weights: Floats) -> tuple[Floats, Floats]:
    margins = weigh_votes(block.votes, weights, np.zeros(len(weights)))
    return tally_votes(block.votes, margins)[0], tally_votes(block.votes, _hash(margins))[0]


def _hash(numbers: Floats) -> Floats:
    """Return whole numbers scattered between 0 and 2^20 (splitmix64)."""
    bits = numbers.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((bits ^ (bits >> np.uint64(27))) >> np.uint64(64 - HASH_BITS)).astype(np.float64)


def join_votes(earlier: Votes, more: Votes) -> Votes:
    """Return both sets of votes as one; a later vote replaces an earlier one of the same voter."""
    matrix = as_matrix(more).tocoo()
    if more.named:
        items, rows = _match(earlier.items, more.items)
        voters, columns = _match(earlier.voters, more.voters)
    else:
        rows = earlier.n_items + np.arange(more.n_items)
        items = np.arange(earlier.n_items + more.n_items)
        voters, columns = earlier.voters, np.arange(more.n_voters)
    cells = rows[matrix.row], columns[matrix.col]
    blocks = _write(earlier, cells, matrix.data, (len(items), len(voters)))
    return replace(earlier, blocks=blocks, items=items, voters=voters)


def as_matrix(votes: Votes) -> Any:
    """Return votes in memory as a sparse matrix, items x voters."""
    if votes.blocks.place not in IN_MEMORY:
        raise VotesError("votes beyond the memory limit cannot be joined; fit the model again")
    parts = [
        block.votes.matrix() if isinstance(block.votes, SparseVotes) else sp.csr_array(block.votes)
        for block in votes.blocks
    ]
    return sp.csr_array(parts[0]) if len(parts) == 1 else sp.vstack(parts, format="csr")


def _match(known: NDArray[Any], names: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    place = {spell_name(name): k for k, name in enumerate(known.tolist())}
    found = [place.setdefault(spell_name(name), len(place)) for name in names.tolist()]
    places = np.array(found, dtype=np.intp)
    new = places >= len(known)
    if not new.any():
        return known, places
    kind = np.result_type(known, names) if known.dtype.kind == names.dtype.kind else object
    everybody: NDArray[Any] = np.empty(len(place), dtype=kind)
    everybody[: len(known)] = known
    everybody[places[new]] = names[new]
    return everybody, places


def _write(earlier: Votes, cells: Any, codes: NDArray[np.int8], shape: tuple[int, int]) -> Any:
    if isinstance(earlier.blocks, WholeTable) and isinstance(earlier.blocks.votes, np.ndarray):
        values = np.zeros(shape, dtype=np.int8, order="F")
        values[: earlier.n_items, : earlier.n_voters] = earlier.blocks.votes
        values[cells] = codes
        return WholeTable(values)
    matrix = as_matrix(earlier)
    matrix.resize(shape)
    change = codes.astype(np.int16) - np.asarray(matrix[cells]).ravel()
    total = matrix.astype(np.int16) + sp.csr_array((change, cells), shape=shape)
    return hold_sparse(total.astype(np.int8))

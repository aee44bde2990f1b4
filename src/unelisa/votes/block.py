"""One block of votes in memory: a table, or only the votes that were cast, five bytes each."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.kernels import tally

Floats: TypeAlias = NDArray[np.float64]
Places: TypeAlias = NDArray[np.intp]
CELLS = 1 << 20  # of a table of classes, that are listed at a time: 40 bytes each


def mark_starts(lengths: Any) -> NDArray[np.int64]:
    """Return the starts of consecutive runs of these lengths, and the end of the last."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class SparseVotes:
    """The votes of a block, voter by voter: those of s are votes[starts[s]:starts[s + 1]]."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    votes: NDArray[np.int8]
    n_items: int

    @property
    def shape(self) -> tuple[int, int]:
        """(items, voters)."""
        return self.n_items, len(self.starts) - 1

    def __len__(self) -> int:
        return self.n_items

    @classmethod
    def of(cls, matrix: Any) -> "SparseVotes":
        """Return the entries of a scipy.sparse matrix of codes (0 is dropped)."""
        columns = sp.csc_array(matrix)
        columns.sum_duplicates()
        columns.eliminate_zeros()
        starts, items = columns.indptr.astype(np.int64), columns.indices.astype(np.int32)
        return cls(starts, items, columns.data.astype(np.int8), int(columns.shape[0]))

    def matrix(self) -> Any:
        """Return a scipy.sparse matrix, compressed by columns."""
        return sp.csc_array((self.votes, self.items, self.starts), shape=self.shape)


OneBlock = NDArray[np.int8] | SparseVotes  # a table, or only the votes cast, five bytes each


class Block(NamedTuple):
    """A run of items: their votes (items x voters), and the index of the first item."""

    votes: OneBlock
    start: int

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.votes)


def as_dense(votes: OneBlock) -> NDArray[np.int8]:
    """Return a block's votes as a table, one voter contiguous."""
    if isinstance(votes, SparseVotes):
        return np.asarray(votes.matrix().toarray(order="F"), dtype=np.int8)
    return np.asfortranarray(votes, dtype=np.int8)


def pick_items(votes: OneBlock, items: Places) -> NDArray[np.int8]:
    """Return some rows of a block as a table."""
    if isinstance(votes, SparseVotes):
        return np.asarray(votes.matrix().tocsr()[items].toarray(order="F"), dtype=np.int8)
    return np.asfortranarray(votes[items])


def rearrange_votes(votes: OneBlock, columns: Places, side: int = 1) -> OneBlock:
    """Return the votes of these voters as columns, times `side`; column -1 has abstained."""
    if isinstance(votes, SparseVotes):
        lengths = np.where(columns >= 0, np.diff(votes.starts)[columns], 0)
        starts = mark_starts(lengths)
        origins = np.repeat(votes.starts[columns] - starts[:-1], lengths) + np.arange(starts[-1])
        codes = votes.votes[origins] * np.int8(side)
        return SparseVotes(starts, votes.items[origins], codes, votes.n_items)
    changed = np.zeros((votes.shape[0], len(columns)), dtype=np.int8, order="F")
    for s, column in enumerate(columns):
        if column >= 0:
            np.multiply(votes[:, column], np.int8(side), out=changed[:, s])
    return changed


def recode_votes(votes: OneBlock, lookup: NDArray[np.int8]) -> OneBlock:
    """Return the votes with other codes: entry c of `lookup` for a vote that is c as uint8."""
    if isinstance(votes, SparseVotes):
        return replace(votes, votes=lookup[votes.votes.view(np.uint8)])
    recoded = np.empty(votes.shape, dtype=np.int8, order="F")
    for s in range(votes.shape[1]):
        np.take(lookup, votes[:, s].view(np.uint8), out=recoded[:, s])
    return recoded


def weigh_votes(votes: OneBlock, signed: Floats, observed: Floats) -> Floats:
    """Return per item sum_s signed_s f_is + observed_s |f_is|: an abstention adds nothing."""
    if isinstance(votes, SparseVotes):
        starts, items, cast = _freeze(votes.starts, votes.items, votes.votes)
        signed, observed = _freeze(signed, observed)
        return tally.weigh_sparse(starts, items, cast, votes.n_items, signed, observed)
    return tally.weigh_votes(*_freeze(votes, signed, observed))


def tally_votes(votes: OneBlock, x: Floats) -> tuple[Floats, Floats]:
    """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
    if isinstance(votes, SparseVotes):
        return tally.tally_sparse(*_freeze(votes.starts, votes.items, votes.votes, x))
    return tally.tally_votes(*_freeze(votes, np.asarray(x, dtype=np.float64)))


def compare_voters(
    votes: OneBlock, n_classes: int = 2
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how often voters said each class, met others, and differed; and the items they met."""
    if isinstance(votes, SparseVotes):
        return _compare_sparse(votes, n_classes)
    if n_classes == 2:
        counts, met = tally.compare_voters(*_freeze(np.asfortranarray(votes)))
        return counts, np.asarray(met)
    length = max(1, CELLS // max(votes.shape[1], 1))
    parts = (votes[low : low + length] for low in range(0, max(len(votes), 1), length))
    found = [_compare_sparse(SparseVotes.of(part), n_classes) for part in parts]
    own, all_met = zip(*found, strict=True)
    return np.sum(own, axis=0), np.sum(all_met)


def _compare_sparse(
    votes: SparseVotes, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    (n_items, n_voters), items = votes.shape, votes.items
    voters = np.repeat(np.arange(n_voters), np.diff(votes.starts))
    codes = (votes.votes > 0) + np.uint8(1) if n_classes == 2 else votes.votes.view(np.uint8)
    n, total, squares = (
        np.bincount(items, codes.astype(np.float64) ** power, n_items) for power in range(3)
    )
    several, split = n > 1, n * squares != total**2  # equal codes alone have n sum c^2 = (sum c)^2
    said = np.bincount(voters * n_classes + codes - 1, minlength=n_voters * n_classes)
    beside = (np.bincount(voters, some[items], n_voters) for some in (several, split))
    counts = np.column_stack([said.reshape(n_voters, n_classes), *beside]).astype(np.int64)
    return counts, np.asarray(np.count_nonzero(several))


def _freeze(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return read-only views: files and other processes send such, and Numba compiles for each."""
    views = [array.view(np.ndarray) for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views

"""A block of votes in memory: a table, or the votes that were cast alone, five bytes each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def mark_starts(lengths: Any) -> NDArray[np.int64]:
    """Return where runs of these lengths start one behind the other, and where the last ends.

    Examples
    --------
    >>> mark_starts([2, 0, 3])
    array([0, 2, 2, 5])
    """
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
        """Return the entries of a scipy.sparse matrix of -1, +1 (and 0, which is dropped)."""
        columns = sp.csc_array(matrix)
        columns.sum_duplicates()
        columns.eliminate_zeros()
        return cls(
            columns.indptr.astype(np.int64),
            columns.indices.astype(np.int32),
            columns.data.astype(np.int8),
            int(columns.shape[0]),
        )

    def matrix(self) -> Any:
        """Return a scipy.sparse matrix, compressed by columns."""
        return sp.csc_array((self.votes, self.items, self.starts), shape=self.shape)


OneBlock = NDArray[np.int8] | SparseVotes


def as_dense(votes: OneBlock) -> NDArray[np.int8]:
    """Return a block's votes as a table, one voter contiguous."""
    if isinstance(votes, SparseVotes):
        return np.asarray(votes.matrix().toarray(order="F"), dtype=np.int8)
    return np.asfortranarray(votes, dtype=np.int8)


def pick_items(votes: OneBlock, items: NDArray[np.intp]) -> NDArray[np.int8]:
    """Return some rows of a block as a table."""
    if isinstance(votes, SparseVotes):
        return np.asarray(votes.matrix().tocsr()[items].toarray(order="F"), dtype=np.int8)
    return np.asfortranarray(votes[items])

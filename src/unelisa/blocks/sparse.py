"""Sparse votes: only the votes that were cast are held, five bytes each."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from unelisa.blocks.base import Block, Held
from unelisa.blocks.local import LocalBlocks
from unelisa.blocks.one import SparseVotes, as_dense

VOTE_BYTES = 5  # one vote, and the number of its item
SMALL_TABLE = 1 << 26  # 64 MB
DENSE_BYTES = 1 << 25  # what one block may take where a method must see it as a table: 32 MB


class SparseBlocks(LocalBlocks):
    """Sparse votes in blocks of items, each small enough to be looked at as a table.

    Parameters
    ----------
    matrix
        scipy.sparse, items x voters, entries -1 and +1.
    """

    place = "sparse"

    def __init__(self, matrix: Any) -> None:
        rows = sp.csr_array(matrix)
        self.n_items, self.n_voters = (int(side) for side in rows.shape)
        length = max(1, DENSE_BYTES // max(self.n_voters, 1))
        self.starts = np.append(np.arange(0, self.n_items, length), self.n_items)
        edges = zip(self.starts[:-1], self.starts[1:], strict=True)
        self.blocks = [SparseVotes.of(rows[low:high]) for low, high in edges]

    @property
    def n_votes(self) -> int:
        """Return the number of votes cast."""
        return sum(len(block.votes) for block in self.blocks)

    def open(self, number: int) -> Block:
        """Return a block."""
        return Block(self.blocks[number], int(self.starts[number]))


def hold_sparse(matrix: Any) -> Held:
    """Return votes as a table where that is small or hardly larger, otherwise sparse.

    Examples
    --------
    >>> hold_sparse(sp.coo_array(([1, -1], ([0, 1], [1, 0])))).tolist()
    [[0, 1], [-1, 0]]
    """
    n_items, n_voters = matrix.shape
    if n_items * n_voters > max(SMALL_TABLE, VOTE_BYTES * matrix.nnz):
        return SparseBlocks(matrix)
    return as_dense(SparseVotes.of(matrix))

"""Sparse votes: only the votes that were cast are stored, five bytes each."""

from typing import Any

import scipy.sparse as sp

from unelisa.votes.blocks.base import Block, ItemBlocks
from unelisa.votes.blocks.local import KeptBlocks, WholeTable
from unelisa.votes.blocks.one import SparseVotes, as_dense

VOTE_BYTES = 5  # one vote, and the number of its item
SMALL_TABLE = 1 << 26  # 64 MB
DENSE_BYTES = 1 << 25  # size of a block where a method must see it as a table: 32 MB


class SparseBlocks(KeptBlocks):
    """Sparse votes (-1, +1) in blocks of items, each small enough to be expanded to a table."""

    place = "sparse"

    def __init__(self, matrix: Any) -> None:
        rows = sp.csr_array(matrix)
        n_items, n_voters = (int(side) for side in rows.shape)
        length = max(1, DENSE_BYTES // max(n_voters, 1))
        lows = range(0, n_items, length)
        blocks = [Block(SparseVotes.of(rows[low : low + length]), low) for low in lows]
        super().__init__(blocks, n_voters)


def hold_sparse(matrix: Any) -> ItemBlocks:
    """Return votes as a table where that is small or hardly larger, otherwise sparse."""
    n_items, n_voters = matrix.shape
    if n_items * n_voters > max(SMALL_TABLE, VOTE_BYTES * matrix.nnz):
        return SparseBlocks(matrix)
    return WholeTable(as_dense(SparseVotes.of(matrix)))

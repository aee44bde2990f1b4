"""Votes in a file, mapped into memory block by block.

The file holds int8 votes, block by block; within a block voter by voter. So a block is one run of
bytes, which is mapped while a pass works on it and then released.
"""

from pathlib import Path
from typing import IO

import numpy as np

from unelisa.kernels.l1_logistic import CHUNK
from unelisa.votes.blocks.base import Block
from unelisa.votes.blocks.local import LocalBlocks

BLOCK_BYTES = 1 << 24  # 16 MB: 335,000 items of 50 voters


class MappedBlocks(LocalBlocks):
    """The votes of a file, `block_items` per block (the last may have fewer): `fitting_items`."""

    place = "in a file"

    def __init__(
        self, file: str | Path | IO[bytes], n_items: int, n_voters: int, block_items: int
    ) -> None:
        self.file = file
        self.n_items, self.n_voters = n_items, n_voters
        self.starts = np.append(np.arange(0, n_items, block_items), n_items)

    def open(self, number: int) -> Block:
        """Return a block; its pages leave memory with the last reference to it."""
        start, stop = int(self.starts[number]), int(self.starts[number + 1])
        shape = (stop - start, self.n_voters)
        mapped = np.memmap(
            self.file, np.int8, mode="r", offset=start * self.n_voters, shape=shape, order="F"
        )
        return Block(mapped.view(np.ndarray), start)


def fitting_items(n_voters: int, n_bytes: int = BLOCK_BYTES) -> int:
    """Return the number of items in a block of about `n_bytes`.

    A multiple of the kernels' own chunks, so that blocks give the same sums as one table.
    """
    fitting = n_bytes // max(n_voters, 1)
    # the latent model works in runs of 8,192 items
    step = min(8192, max(fitting // CHUNK, 1) * CHUNK)
    return max(1, fitting // step) * step

"""Where votes live: blocks of items in memory, in a file, in Dask partitions, or sparse.

Every computation on votes is a sum over blocks of items (`ItemBlocks.sum`) or one row per item
(`ItemBlocks.concatenate`) of a plain function of one block. Blocks that are listed, filled in,
weighted or rearranged first are views of blocks (`ItemBlocks.view`), and views can be stacked.
"""

from unelisa.votes.blocks.base import Array, Block, ItemBlocks, RowNumbers, Sums
from unelisa.votes.blocks.local import (
    KeptBlocks,
    MappedBlocks,
    SparseBlocks,
    WholeTable,
    fitting_items,
    hold_sparse,
)
from unelisa.votes.blocks.one import (
    OneBlock,
    SparseVotes,
    as_dense,
    compare_voters,
    mark_starts,
    pick_items,
    tally_votes,
    weigh_votes,
)

__all__ = [
    "Array",
    "Block",
    "ItemBlocks",
    "KeptBlocks",
    "MappedBlocks",
    "OneBlock",
    "RowNumbers",
    "SparseBlocks",
    "SparseVotes",
    "Sums",
    "WholeTable",
    "as_dense",
    "compare_voters",
    "fitting_items",
    "hold_sparse",
    "mark_starts",
    "pick_items",
    "tally_votes",
    "weigh_votes",
]

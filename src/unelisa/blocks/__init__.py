"""Where votes live: blocks of items in memory, in a file, in Dask partitions, or sparse.

Whatever is asked of votes is a sum over blocks of items (`ItemBlocks.sum`) or one row per item
(`ItemBlocks.concatenate`) of a plain function of one block.
"""

from unelisa.blocks.base import Block, Held, ItemBlocks, RowNumbers, Sums
from unelisa.blocks.mapped import MappedBlocks
from unelisa.blocks.memory import WholeTable, blocks_of, in_memory
from unelisa.blocks.one import OneBlock, SparseVotes, as_dense, mark_starts, pick_items
from unelisa.blocks.rearranged import rearrange
from unelisa.blocks.sparse import SparseBlocks, hold_sparse
from unelisa.blocks.tally import compare_voters, tally_votes, weigh_votes

__all__ = [
    "Block",
    "Held",
    "ItemBlocks",
    "MappedBlocks",
    "OneBlock",
    "RowNumbers",
    "SparseBlocks",
    "SparseVotes",
    "Sums",
    "WholeTable",
    "as_dense",
    "blocks_of",
    "compare_voters",
    "hold_sparse",
    "in_memory",
    "mark_starts",
    "pick_items",
    "rearrange",
    "tally_votes",
    "weigh_votes",
]

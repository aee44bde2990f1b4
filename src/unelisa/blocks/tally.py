"""The two sums over votes that every aggregator is made of, wherever the votes live."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks.base import Array, Block, Held, ItemBlocks
from unelisa.blocks.one import OneBlock, SparseVotes
from unelisa.kernels import sparse_tally, tally

Floats = NDArray[np.float64]


def weigh_votes(held: Held, signed: Floats, observed: Floats) -> Floats:
    """Return per item sum_s signed_s f_is + observed_s |f_is|: an abstention adds nothing.

    Examples
    --------
    >>> votes = np.array([[1, -1], [1, 0]], dtype=np.int8)
    >>> weigh_votes(votes, np.array([2.0, 3.0]), np.zeros(2))
    array([-1.,  2.])
    """
    if isinstance(held, ItemBlocks):
        return held.concatenate(_weigh_block, signed, observed)
    return _weigh(held, signed, observed)


def tally_votes(held: Held, x: Floats) -> tuple[Floats, Floats]:
    """Return per voter sum_i x_i f_is and sum_i x_i |f_is|.

    Examples
    --------
    >>> votes = np.array([[1, -1], [1, 0]], dtype=np.int8)
    >>> tally_votes(votes, np.array([.5, 1.0]))
    (array([ 1.5, -0.5]), array([1.5, 0.5]))
    """
    if isinstance(held, ItemBlocks):
        signed, observed = held.sum(_tally_block, per_item=(x,))
        return signed, observed
    return _tally(held, x)


def compare_voters(block: Block) -> tuple[Array, Array]:
    """Return per voter four counts of items, and on how many items voters met.

    Columns: said no; said yes; others voted too; others voted otherwise. A pass.
    """
    votes = block.votes
    if not isinstance(votes, SparseVotes):
        counts, met = tally.compare_voters(*_freeze(np.asfortranarray(votes)))
        return counts, np.asarray(met)
    halves = np.full(votes.shape[1], 0.5)
    yes, no = (_weigh(votes, side * halves, halves) for side in (1, -1))
    signed, observed = _tally(votes, np.ones(len(votes)))
    shared = _tally(votes, (yes + no > 1).astype(np.float64))[1]
    above, below = (_tally(votes, (side > 0).astype(np.float64)) for side in (no, yes))
    against = (above[1] + above[0] + below[1] - below[0]) / 2
    columns = (observed - signed) / 2, (observed + signed) / 2, shared, against
    return np.column_stack(columns).astype(np.int64), np.asarray(np.count_nonzero(yes + no > 1))


def _weigh_block(block: Block, signed: Floats, observed: Floats) -> Floats:
    return _weigh(block.votes, signed, observed)


def _tally_block(block: Block, x: Floats) -> tuple[Floats, Floats]:
    return _tally(block.votes, x)


def _weigh(votes: OneBlock, signed: Floats, observed: Floats) -> Floats:
    if isinstance(votes, SparseVotes):
        starts, items, cast = _freeze(votes.starts, votes.items, votes.votes)
        signed, observed = _freeze(signed, observed)
        return sparse_tally.weigh_sparse(starts, items, cast, votes.n_items, signed, observed)
    return tally.weigh_votes(*_freeze(votes, signed, observed))


def _tally(votes: OneBlock, x: Floats) -> tuple[Floats, Floats]:
    if isinstance(votes, SparseVotes):
        return sparse_tally.tally_sparse(*_freeze(votes.starts, votes.items, votes.votes, x))
    return tally.tally_votes(*_freeze(votes, np.asarray(x, dtype=np.float64)))


def _freeze(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return read-only views: files and other processes send such, and Numba compiles for each."""
    views = [array.view(np.ndarray) for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views

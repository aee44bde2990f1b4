"""The two sums that every aggregator is made of, and how voters compare, for one block of votes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import tally
from unelisa.votes.blocks.one import OneBlock, SparseVotes

Floats = NDArray[np.float64]


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
    """Return counts of items per voter, and on how many items voters met.

    Columns: said each of the classes (no, yes); others voted too; another voted otherwise.
    """
    if n_classes > 2:
        return _compare_classes(votes, n_classes)
    if not isinstance(votes, SparseVotes):
        counts, met = tally.compare_voters(*_freeze(np.asfortranarray(votes)))
        return counts, np.asarray(met)
    halves = np.full(votes.shape[1], 0.5)
    yes, no = (weigh_votes(votes, side * halves, halves) for side in (1, -1))
    signed, observed = tally_votes(votes, np.ones(len(votes)))
    shared = tally_votes(votes, (yes + no > 1).astype(np.float64))[1]
    above, below = (tally_votes(votes, (side > 0).astype(np.float64)) for side in (no, yes))
    against = (above[1] + above[0] + below[1] - below[0]) / 2
    columns = (observed - signed) / 2, (observed + signed) / 2, shared, against
    return np.column_stack(columns).astype(np.int64), np.asarray(np.count_nonzero(yes + no > 1))


def _compare_classes(
    votes: OneBlock, n_classes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if isinstance(votes, SparseVotes):
        starts, items, codes = _freeze(votes.starts, votes.items, votes.votes.view(np.uint8))
        found = tally.compare_sparse_classes(starts, items, codes, votes.n_items, n_classes)
    else:
        table = _freeze(np.asfortranarray(votes).view(np.uint8))[0]
        found = tally.compare_classes(table, n_classes)
    return found[0], np.asarray(found[1])


def _freeze(*arrays: NDArray[Any]) -> list[NDArray[Any]]:
    """Return read-only views: files and other processes send such, and Numba compiles for each."""
    views = [array.view(np.ndarray) for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views

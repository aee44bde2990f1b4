"""Copies: voters who cast the same votes on the same items. They are one voter with several names.

To a model of errors, copies are the best evidence that there is: each confirms the other wherever
they are alone against the rest. So they are found before anything is fitted. Votes that agree by
chance are not copies: two voters who are nearly always right agree too. Copies must also agree
where they contradict the others, on at least `DISSENTS` items, which independent voters do with a
probability of 2^-10 at most if each of these errors is no more probable than not.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.votes.ballots import Ballots, Sums
from unelisa.votes.blocks import ItemBlocks

Heads = NDArray[np.int32]

DISSENTS = 10  # items on which copies contradict most of the others
MARK_BITS = 20  # of an item's random number: sums over 2^32 items stay exact


def find_copies(ballots: ItemBlocks, n_classes: int = 2) -> Heads:
    """Return for every voter the first of its copies, itself if it has none.

    Examples
    --------
    >>> from unelisa.votes.blocks import WholeTable
    >>> from unelisa.votes.ballots import list_ballots
    >>> rng = np.random.default_rng(0)
    >>> votes = rng.choice(np.array([-1, 1], dtype=np.int8), (200, 5))
    >>> find_copies(list_ballots(WholeTable(votes[:, [0, 1, 2, 1, 3, 4]])))
    array([0, 1, 2, 1, 4, 5], dtype=int32)
    """
    marks = np.random.default_rng(0).integers(1, 1 << MARK_BITS, (2, ballots.n_items))
    sums = ballots.sum(_sum_marks, ballots.n_voters, per_item=tuple(marks.astype(np.float64)))
    table = np.stack(sums, axis=1)
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    own = np.arange(ballots.n_voters, dtype=np.int32)
    heads = np.where(sums[0] > 0, first[group], own).astype(np.int32)
    if np.array_equal(heads, own):
        return own
    dissents, apart = ballots.sum(_count_dissents, heads, n_classes)
    sure = (dissents >= DISSENTS) & (apart == 0)
    return np.where(sure[heads], heads, own)


def _sum_marks(
    ballots: Ballots, first: NDArray[np.float64], second: NDArray[np.float64], n_voters: int
) -> Sums:
    """Return the number of votes and sums of the items' marks, by answer, per voter. A pass."""
    items, voters, votes = ballots.items, ballots.voters, ballots.votes
    counts = np.bincount(voters, minlength=n_voters).astype(np.float64)
    marked = first[items] * votes, second[items] * votes, first[items]
    return counts, *(np.bincount(voters, part, n_voters).astype(np.float64) for part in marked)


def _count_dissents(ballots: Ballots, heads: Heads, n_classes: int) -> Sums:
    """Return on how many items the copies of a head contradict most others, and differ. A pass.

    Both per head; 0 for other voters. Where copies differ, their dissents do not matter.
    """
    n_voters, n_cells = len(heads), ballots.n_items * n_classes
    answers = ballots.answer(n_classes)
    cells = ballots.items * n_classes + answers
    counts = np.bincount(cells, minlength=n_cells)
    next_most, most = np.sort(counts.reshape(-1, n_classes), axis=1)[:, -2:].T
    sizes = np.bincount(heads, minlength=n_voters)
    heard = heads[ballots.voters].astype(np.int64)
    shared = sizes[heard] > 1
    said, own = np.unique(heard[shared] * n_cells + cells[shared], return_counts=True)
    head, cell = np.divmod(said, max(n_cells, 1))
    item, answered = cell // n_classes, counts[cell]
    rest = np.where(answered == most[item], next_most[item], most[item])
    dissents = np.bincount(head, rest > answered - own, n_voters)
    apart = np.bincount(head, own != sizes[head], n_voters)
    return dissents.astype(np.float64), apart.astype(np.float64)

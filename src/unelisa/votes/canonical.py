"""The order of voters that their votes alone determine, whatever order the table has.

A method that sorts, sweeps over voters or breaks ties depends on their order. Fitted to voters in
this order, it does not.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.votes.blocks import Block, tally_votes, weigh_votes
from unelisa.votes.votes import Votes

Floats = NDArray[np.float64]
ROUNDS = 2  # of refinement; voters who are then still equal are copies of each other, as a rule
HASH_BITS = 20  # sums over 2^32 items stay below 2^53, so that they are exact in any order


def order_voters(votes: Votes) -> NDArray[np.intp]:
    """Return the voters who discern items, sorted by their votes.

    Sorted by sum_i m_i f_is, m_i the margin of the item, and where that is equal by sums of the
    same form with hashed margins. The order does not change if voters or items are permuted, if all
    votes are flipped (the more frequent vote counts as +1), or if voters are added who never voted
    or gave one vote to every item. Voters with equal sums, such as copies, stay in the order of the
    table.

    Examples
    --------
    >>> votes = Votes.of([[1, 1, -1], [1, 1, 1], [1, 1, 1], [-1, -1, -1], [-1, 1, -1]])
    >>> order_voters(votes).tolist(), order_voters(votes.take_voters([2, 0, 1])).tolist()
    ([2, 1, 0], [0, 2, 1])
    """
    voters = np.flatnonzero(votes.discerning())
    no, yes = votes.sides[:, voters].sum(axis=1)
    blocks = votes.blocks.rearrange(voters, side=-1 if no > yes else 1)
    plain, hashed = blocks.sum(_measure, np.ones(len(voters)))
    keys = [hashed, votes.vote_counts()[voters], plain]  # the last one decides first
    for _ in range(ROUNDS - 1):
        hashed = blocks.sum(_measure, _hash(hashed))[1]
        keys.insert(0, hashed)
    return voters[np.lexsort(keys)]


def _measure(block: Block, weights: Floats) -> tuple[Floats, Floats]:
    """Return sum_i m_i f_is and sum_i h(m_i) f_is per voter, m_i the weighted margin. A pass."""
    margins = weigh_votes(block.votes, weights, np.zeros(len(weights)))
    return tally_votes(block.votes, margins)[0], tally_votes(block.votes, _hash(margins))[0]


def _hash(numbers: Floats) -> Floats:
    """Return whole numbers scattered between 0 and 2^20 (splitmix64)."""
    bits = numbers.astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return ((bits ^ (bits >> np.uint64(27))) >> np.uint64(64 - HASH_BITS)).astype(np.float64)

"""Sums over votes that are listed item by item: dense and sparse votes run the same loops.

Item i's votes are the places starts[i] to starts[i + 1] of `voters` and `votes`. Everything
is added in a fixed order, so that the same votes give the same bits.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Voters = NDArray[np.int32]
Votes = NDArray[np.int8]


@kernel
def list_votes(values: Votes, first: int, last: int) -> tuple[Places, Voters, Votes]:
    """Return the votes on items first to last of an items x voters table, item by item."""
    n_voters, n_items = values.shape[1], last - first
    starts = np.zeros(n_items + 1, dtype=np.int64)
    for s in range(n_voters):
        for i in range(n_items):
            if values[first + i, s] != 0:
                starts[i + 1] += 1
    for i in range(n_items):
        starts[i + 1] += starts[i]
    place = starts[:-1].copy()
    voters = np.empty(starts[-1], dtype=np.int32)
    votes = np.empty(starts[-1], dtype=np.int8)
    for s in range(n_voters):
        for i in range(n_items):
            vote = values[first + i, s]
            if vote != 0:
                voters[place[i]] = s
                votes[place[i]] = vote
                place[i] += 1
    return starts, voters, votes


@kernel
def weigh_ballots(starts: Places, voters: Voters, votes: Votes, weights: Floats) -> Floats:
    """Return per item the sum over its votes f_s of weight_s f_s."""
    out = np.zeros(len(starts) - 1)
    for i in range(len(out)):
        for j in range(starts[i], starts[i + 1]):
            out[i] += votes[j] * weights[voters[j]]
    return out


@kernel
def weigh_sides(
    starts: Places, voters: Voters, votes: Votes, signed: Floats, observed: Floats
) -> Floats:
    """Return per item sum_s signed_s f_is + observed_s |f_is|."""
    out = np.zeros(len(starts) - 1)
    for i in range(len(out)):
        for j in range(starts[i], starts[i + 1]):
            out[i] += votes[j] * signed[voters[j]] + observed[voters[j]]
    return out


@kernel
def tally_ballots(
    starts: Places, voters: Voters, votes: Votes, shares: Floats, n_voters: int
) -> tuple[Floats, Floats]:
    """Return per voter and state k: sum_i x_ik f_is and sum_i x_ik |f_is|."""
    n_states = shares.shape[1]
    signed, observed = np.zeros((n_voters, n_states)), np.zeros((n_voters, n_states))
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            s, f = voters[j], np.float64(votes[j])
            for k in range(n_states):
                signed[s, k] += f * shares[i, k]
                observed[s, k] += shares[i, k]
    return signed, observed

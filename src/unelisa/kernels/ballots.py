"""Sums over votes that are listed item by item: dense and sparse votes run the same loops.

Item i's votes are the places starts[i] to starts[i + 1] of `voters` and `votes`. `weights` says how
much each vote counts; empty: all count in full. Everything is added in a fixed order, so that the
same votes give the same bits.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
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
def weigh_ballots(
    starts: Places,
    voters: Voters,
    votes: Votes,
    weights: Singles,
    effects: Floats,
    normalizers: Floats,
) -> Floats:
    """Return per item and state k the sum over its votes of w (f effect_sk - normalizer_sk)."""
    n_items, n_states = len(starts) - 1, effects.shape[1]
    out = np.zeros((n_items, n_states))
    weighted = len(weights) > 0
    for i in range(n_items):
        for j in range(starts[i], starts[i + 1]):
            s, f = voters[j], np.float64(votes[j])
            w = np.float64(weights[j]) if weighted else 1.0
            for k in range(n_states):
                out[i, k] += w * (f * effects[s, k] - normalizers[s, k])
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


@kernel
def count_affinity(
    starts: Places, voters: Voters, rows: Places, others: Voters, strengths: Singles
) -> Singles:
    """Return per vote of s: the sum of r_st over the voters t on the same item.

    Voter t's partners are the places rows[t] to rows[t + 1] of `others`, with r in `strengths`.
    """
    out = np.zeros(len(voters), dtype=np.float32)
    near = np.zeros(len(rows) - 1, dtype=np.float32)
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        if i > 0 and _same_voters(voters, starts[i - 1], first, last):
            for j in range(first, last):
                out[j] = out[j - (last - first)]
            continue
        near[:] = 0.0
        for j in range(first, last):
            for e in range(rows[voters[j]], rows[voters[j] + 1]):
                near[others[e]] += strengths[e]
        for j in range(first, last):
            out[j] = near[voters[j]]
    return out


@kernel
def _same_voters(voters: Voters, before: int, first: int, last: int) -> bool:
    """Return whether the item before has the very same voters."""
    if first - before != last - first:
        return False
    return bool(np.all(voters[before:first] == voters[first:last]))


@kernel
def score_by_strangers(
    starts: Places,
    voters: Voters,
    votes: Votes,
    weights: Singles,
    priors: Floats,
    effects: Floats,
    rows: Places,
    others: Voters,
) -> Floats:
    """Return per item the log score of its votes, each predicted from voters who are not neighbors.

    Voter s's neighbors are the places rows[s] to rows[s + 1] of `others`, in rising order, as are
    an item's voters. `priors` holds log P(state k) per item; voter s says yes in state k with
    log-odds 2 effect_sk.
    """
    n_items, n_states = len(starts) - 1, effects.shape[1]
    normalizers = np.log(2 * np.cosh(effects))
    said = 1 / (1 + np.exp(-2 * effects))
    weighted = len(weights) > 0
    out, total, left = np.zeros(n_items), np.zeros(n_states), np.zeros(n_states)
    for i in range(n_items):
        first, last = starts[i], starts[i + 1]
        terms = np.zeros((last - first, n_states))
        total[:] = priors[i]
        for j in range(first, last):
            s, w = voters[j], np.float64(weights[j]) if weighted else 1.0
            for k in range(n_states):
                terms[j - first, k] = w * (votes[j] * effects[s, k] - normalizers[s, k])
                total[k] += terms[j - first, k]
        for j in range(first, last):
            s = voters[j]
            left[:] = total - terms[j - first]
            e = rows[s]
            for m in range(first, last):
                while e < rows[s + 1] and others[e] < voters[m]:
                    e += 1
                if e == rows[s + 1]:
                    break
                if others[e] == voters[m]:
                    left -= terms[m - first]
            odds = np.exp(left - left.max())
            yes = min(max((odds * said[s]).sum() / odds.sum(), 1e-6), 1 - 1e-6)
            out[i] += np.log(yes if votes[j] > 0 else 1 - yes)
    return out

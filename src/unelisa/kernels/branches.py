"""The E-step of a consensus: exact sums over the hidden states and over families' opinions.

A branch hangs on the truth: a voter without relatives, or a family's opinion. With `tables` the
log-probability of each branch's answer (no, yes) in state k, `members` that of a voter's answer
given its family's opinion, and `opinions` the families' tables as probabilities::

    P(state k, votes) = P(k) prod_lone P(f_s | k) prod_c sum_g P(g | k) prod_{s in c} P(f_s | g)

Item i's votes are the places starts[i] to starts[i + 1] of `voters` and `votes`. A missing vote is
a factor of 1.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Voters = NDArray[np.int32]
Votes = NDArray[np.int8]

SMALLEST = 1e-100  # product of families' factors whose log is taken


@kernel
def infer_branches(
    starts: Places,
    voters: Voters,
    votes: Votes,
    priors: Floats,
    family: Voters,
    tables: Floats,
    members: Floats,
    opinions: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Return the posterior of the states, P(opinion is yes) of every family, and log P(votes).

    All per item. `priors` holds log P(state k) per item, or one row for all. A family that did not
    vote has opinion -1.
    """
    n_items, n_states, n_families = len(starts) - 1, priors.shape[1], len(opinions)
    posterior, leans = np.empty((n_items, n_states)), np.full((n_items, n_families), -1.0)
    evidence, weights = np.empty(n_items), np.empty(n_states)
    heard, spoke = np.empty((n_families, 2)), np.empty(n_families, dtype=np.bool_)
    for i in range(n_items):
        weights[:] = priors[i if len(priors) > 1 else 0]
        ends = starts[i], starts[i + 1]
        evidence[i] = _weigh_states(
            ends, voters, votes, family, tables, members, opinions, weights, heard, spoke
        )
        posterior[i] = weights
        for c in range(n_families):
            if spoke[c]:
                leans[i, c] = 0.0
                for k in range(n_states):
                    leans[i, c] += weights[k] * _lean(heard, opinions, c, k)
    return posterior, leans, evidence


@kernel
def collect_branches(
    starts: Places,
    voters: Voters,
    votes: Votes,
    priors: Floats,
    family: Voters,
    tables: Floats,
    members: Floats,
    opinions: Floats,
) -> tuple[Floats, Floats, Floats, float]:
    """Return the expected counts of the M-step, and log P(votes).

    The answers (no, yes) of every branch per state, voters first and then families; those of every
    voter per opinion of its family; and the states. Items without votes are left out.
    """
    n_voters, n_states, n_families = len(family), priors.shape[1], len(opinions)
    said = np.zeros((n_voters + n_families, 2, n_states))
    repeated, states = np.zeros((n_voters, 2, 2)), np.zeros(n_states)
    weights, leans = np.empty(n_states), np.empty(n_families)
    heard, spoke = np.empty((n_families, 2)), np.empty(n_families, dtype=np.bool_)
    evidence = 0.0
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        if first == last:
            continue
        row = i if len(priors) > 1 else 0
        for k in range(n_states):
            weights[k] = priors[row, k]
        evidence += _weigh_states(
            (first, last), voters, votes, family, tables, members, opinions, weights, heard, spoke
        )
        for k in range(n_states):
            states[k] += weights[k]
        for c in range(n_families):
            leans[c] = 0.0
            if spoke[c]:
                for k in range(n_states):
                    yes = weights[k] * _lean(heard, opinions, c, k)
                    leans[c] += yes
                    said[n_voters + c, 1, k] += yes
                    said[n_voters + c, 0, k] += weights[k] - yes
        for j in range(first, last):
            s, v = voters[j], 1 if votes[j] > 0 else 0
            c = family[s]
            if c < 0:
                for k in range(n_states):
                    said[s, v, k] += weights[k]
            else:
                repeated[s, v, 1] += leans[c]
                repeated[s, v, 0] += 1 - leans[c]
    return said, repeated, states, evidence


@kernel
def _weigh_states(
    ends: tuple[int, int],
    voters: Voters,
    votes: Votes,
    family: Voters,
    tables: Floats,
    members: Floats,
    opinions: Floats,
    weights: Floats,
    heard: Floats,
    spoke: NDArray[np.bool_],
) -> float:
    """Turn the log prior of one item's states into their posterior; return log P(votes).

    `heard` gets the likelihood of each family's opinions (no, yes) up to a factor, `spoke` whether
    any of its voters voted.
    """
    n_states, n_families = len(weights), len(spoke)
    for c in range(n_families):
        heard[c, 0] = heard[c, 1] = 0.0
        spoke[c] = False
    for j in range(ends[0], ends[1]):
        s, v = voters[j], 1 if votes[j] > 0 else 0
        c = family[s]
        if c < 0:
            for k in range(n_states):
                weights[k] += tables[s, v, k]
        else:
            heard[c, 0] += members[s, v, 0]
            heard[c, 1] += members[s, v, 1]
            spoke[c] = True
    scale = _hear_families(opinions, weights, heard, spoke) if n_families else 0.0
    most = weights.max()
    for k in range(n_states):
        weights[k] = np.exp(weights[k] - most)
    total = weights.sum()
    for k in range(n_states):
        weights[k] /= total
    return float(scale + most + np.log(total))


@kernel
def _hear_families(
    opinions: Floats, weights: Floats, heard: Floats, spoke: NDArray[np.bool_]
) -> float:
    """Add what families said to the log weights of the states; return what was left out of all.

    Factors are multiplied up, and their logs taken only when a product becomes small.
    """
    n_states, scale, least = len(weights), 0.0, 1.0
    factors = np.ones(n_states)
    for c in range(len(spoke)):
        if not spoke[c]:
            continue
        most = max(heard[c, 0], heard[c, 1])
        heard[c, 0], heard[c, 1] = np.exp(heard[c, 0] - most), np.exp(heard[c, 1] - most)
        scale += most
        for k in range(n_states):
            factors[k] *= heard[c, 0] * opinions[c, 0, k] + heard[c, 1] * opinions[c, 1, k]
            least = min(least, factors[k])
        if least < SMALLEST:
            for k in range(n_states):
                weights[k] += np.log(factors[k])
                factors[k] = 1.0
            least = 1.0
    if least < 1:
        for k in range(n_states):
            weights[k] += np.log(factors[k])
    return scale


@kernel
def _lean(heard: Floats, opinions: Floats, c: int, k: int) -> float:
    """Return P(opinion of family c is yes) in state k."""
    yes = heard[c, 1] * opinions[c, 1, k]
    return float(yes / (heard[c, 0] * opinions[c, 0, k] + yes))

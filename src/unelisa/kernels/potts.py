"""The E-step of a consensus over K classes: exact sums over truth, ease and families' opinions.

As `kernels.branches`, which keeps the two answers of binary votes unrolled, for any number of
answers: `tables` holds the log-probability of each branch's answer in state k, `members` that of a
voter's answer given its family's opinion, and `opinions` the families' tables as probabilities::

    P(state k, votes) = P(k) prod_lone P(f_s | k) prod_c sum_g P(g | k) prod_{s in c} P(f_s | g)

Item i's votes are the places starts[i] to starts[i + 1] of `voters` and `answers`; a missing vote
is a factor of 1.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Voters = NDArray[np.int32]
Answers = NDArray[np.uint8]


@kernel
def infer_classes(
    starts: Places,
    voters: Voters,
    answers: Answers,
    priors: Floats,
    family: Voters,
    tables: Floats,
    members: Floats,
    opinions: Floats,
) -> tuple[Floats, Floats]:
    """Return the posterior of the states and log P(votes) per item.

    `priors` holds log P(state k) per item, or one row for all.
    """
    n_items, n_states = len(starts) - 1, priors.shape[1]
    posterior, evidence = np.empty((n_items, n_states)), np.empty(n_items)
    heard = np.empty((len(opinions), members.shape[2]))
    spoke = np.empty(len(opinions), dtype=np.bool_)
    for i in range(n_items):
        posterior[i] = priors[i if len(priors) > 1 else 0]
        evidence[i] = _weigh_states(
            (starts[i], starts[i + 1]),
            voters,
            answers,
            family,
            tables,
            members,
            opinions,
            posterior[i],
            heard,
            spoke,
        )
    return posterior, evidence


@kernel
def collect_classes(
    starts: Places,
    voters: Voters,
    answers: Answers,
    priors: Floats,
    family: Voters,
    tables: Floats,
    members: Floats,
    opinions: Floats,
) -> tuple[Floats, Floats, Floats, float]:
    """Return the expected counts of the M-step, and log P(votes).

    The answers of every branch per state, voters first and then families; those of every voter per
    opinion of its family; and the states. Items without votes are left out.
    """
    n_voters, n_states, n_families = len(family), priors.shape[1], len(opinions)
    n_answers, n_opinions = members.shape[1], members.shape[2]
    said = np.zeros((n_voters + n_families, n_answers, n_states))
    repeated, states = np.zeros((n_voters, n_answers, n_opinions)), np.zeros(n_states)
    weights, leans = np.empty(n_states), np.empty((n_families, n_opinions))
    heard, spoke = np.empty((n_families, n_opinions)), np.empty(n_families, dtype=np.bool_)
    evidence = 0.0
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        if first == last:
            continue
        weights[:] = priors[i if len(priors) > 1 else 0]
        evidence += _weigh_states(
            (first, last), voters, answers, family, tables, members, opinions, weights, heard, spoke
        )
        for k in range(n_states):
            states[k] += weights[k]
        for c in range(n_families):
            if spoke[c]:
                _lean(heard[c], opinions[c], weights, leans[c], said[n_voters + c])
        for j in range(first, last):
            s, v = voters[j], answers[j]
            c = family[s]
            if c < 0:
                for k in range(n_states):
                    said[s, v, k] += weights[k]
            else:
                for g in range(n_opinions):
                    repeated[s, v, g] += leans[c, g]
    return said, repeated, states, evidence


@kernel
def expect_answers(starts: Places, voters: Voters, posterior: Floats, chances: Floats) -> Floats:
    """Return P(answer) of every vote: chances per voter, answer and state, the states summed out.

    Votes x answers.
    """
    expected = np.zeros((len(voters), chances.shape[1]))
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            for v in range(chances.shape[1]):
                for k in range(chances.shape[2]):
                    expected[j, v] += posterior[i, k] * chances[voters[j], v, k]
    return expected


@kernel
def _weigh_states(
    ends: tuple[int, int],
    voters: Voters,
    answers: Answers,
    family: Voters,
    tables: Floats,
    members: Floats,
    opinions: Floats,
    weights: Floats,
    heard: Floats,
    spoke: NDArray[np.bool_],
) -> float:
    """Turn the log prior of one item's states into their posterior; return log P(votes).

    `heard` gets the likelihood of each family's opinions up to a factor, `spoke` whether any of its
    voters voted.
    """
    n_states, n_opinions = len(weights), heard.shape[1]
    heard[:] = 0.0
    spoke[:] = False
    for j in range(ends[0], ends[1]):
        s, v = voters[j], answers[j]
        c = family[s]
        if c < 0:
            for k in range(n_states):
                weights[k] += tables[s, v, k]
        else:
            for g in range(n_opinions):
                heard[c, g] += members[s, v, g]
            spoke[c] = True
    scale = 0.0
    for c in range(len(spoke)):
        if spoke[c]:
            scale += _hear(heard[c], opinions[c], weights)
    most = weights.max()
    total = 0.0
    for k in range(n_states):
        weights[k] = np.exp(weights[k] - most)
        total += weights[k]
    for k in range(n_states):
        weights[k] /= total
    return float(scale + most + np.log(total))


@kernel
def _hear(heard: Floats, opinions: Floats, weights: Floats) -> float:
    """Add what a family said to the log weights of the states; return what was left out of all."""
    most = heard.max()
    for g in range(len(heard)):
        heard[g] = np.exp(heard[g] - most)
    for k in range(len(weights)):
        total = 0.0
        for g in range(len(heard)):
            total += heard[g] * opinions[g, k]
        weights[k] += np.log(total)
    return float(most)


@kernel
def _lean(heard: Floats, opinions: Floats, weights: Floats, leans: Floats, said: Floats) -> None:
    """Set P(opinion) of one family on one item, and add it to the family's answers per state."""
    leans[:] = 0.0
    for k in range(len(weights)):
        total = 0.0
        for g in range(len(heard)):
            total += heard[g] * opinions[g, k]
        for g in range(len(heard)):
            held = weights[k] * heard[g] * opinions[g, k] / total
            leans[g] += held
            said[g, k] += held

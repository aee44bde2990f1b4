"""Sums over votes that are listed item by item: dense and sparse votes run the same loops.

Item i's votes are the places starts[i] to starts[i + 1] of `voters` and of `votes` (-1, +1), or of
`codes`, a class from 1. A table [s, said, meant] holds log P(s says c | truth is k). Everything is
added in a fixed order, so that the same votes give the same bits, and nothing of the size items x
voters x classes is ever made.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Voters = NDArray[np.int32]
Votes = NDArray[np.int8]
Codes = NDArray[np.uint8]


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


@kernel
def weigh_classes(
    starts: Places, voters: Voters, codes: Codes, weights: Floats, n_classes: int
) -> Floats:
    """Return per item and class the weight of the voters who said it, as a share of all weight."""
    out = np.zeros((len(starts) - 1, n_classes))
    for i in range(len(out)):
        mass = 0.0
        for j in range(starts[i], starts[i + 1]):
            out[i, np.int64(codes[j]) - 1] += weights[voters[j]]
            mass += weights[voters[j]]
        if mass > 0:
            for k in range(n_classes):
                out[i, k] /= mass
    return out


@kernel
def tally_agreement(
    starts: Places, voters: Voters, codes: Codes, shares: Floats, n_voters: int
) -> tuple[Floats, Floats]:
    """Return per voter how many votes agree with the largest share, and how many there are.

    Where m classes are tied for it, a vote for one of them counts 1 / m.
    """
    agreed, counts = np.zeros(n_voters), np.zeros(n_voters)
    for i in range(len(starts) - 1):
        best = shares[i].max() - 1e-12  # rounding must not decide
        tied = 0
        for k in range(shares.shape[1]):
            tied += shares[i, k] >= best
        for j in range(starts[i], starts[i + 1]):
            counts[voters[j]] += 1
            if shares[i, np.int64(codes[j]) - 1] >= best:
                agreed[voters[j]] += 1 / tied
    return agreed, counts


@kernel
def split_votes(
    starts: Places,
    voters: Voters,
    codes: Codes,
    gold: Codes,
    weights: Floats,
    n_classes: int,
    only_gold: bool,
) -> tuple[Floats, Floats]:
    """Return [s, said, meant], the voters' votes split as the weight on their items is.

    And the sum of these shares over the items. A negative weight is spread over the other classes.
    A gold label replaces the votes; with `only_gold`, the other items are left out.
    """
    counts, mass = np.zeros((len(weights), n_classes, n_classes)), np.zeros(n_classes)
    share = np.zeros(n_classes)
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        if first == last:
            continue
        share[:] = 0.0
        if gold.size > 0 and gold[i] > 0:
            share[np.int64(gold[i]) - 1] = 1.0
        elif only_gold:
            continue
        else:
            total = 0.0
            for j in range(first, last):
                weight = weights[voters[j]]
                total += abs(weight)
                if weight < 0:
                    weight = weight / (n_classes - 1)
                    for k in range(n_classes):
                        share[k] -= weight
                share[np.int64(codes[j]) - 1] += weight
            for k in range(n_classes):
                share[k] = share[k] / total if total > 0 else 1.0 / n_classes
        for k in range(n_classes):
            mass[k] += share[k]
        for j in range(first, last):
            for k in range(n_classes):
                counts[voters[j], np.int64(codes[j]) - 1, k] += share[k]
    return counts, mass


@kernel
def expect_two(
    starts: Places, voters: Voters, votes: Votes, odds: Floats, prior: float
) -> tuple[Floats, float, float, int]:
    """Return the E-step of two classes, for which one number per vote is enough.

    With odds [s, said] = log P(said | yes) / P(said | no) and the prior log-odds, these are: votes
    [s, said] expected on items of class yes; their mass; the sum of log(1 + odds of the item); and
    the number of items with votes.
    """
    counts, mass, likelihood, n_heard = np.zeros(odds.shape), 0.0, 0.0, 0
    product = 1.0  # of many terms between 1 and 2, so that there are few logarithms
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        if first == last:
            continue
        score = prior
        for j in range(first, last):
            score += odds[voters[j], np.int64(votes[j] > 0)]
        small = np.exp(-abs(score))
        chance = 1.0 / (1.0 + small)
        if score < 0:
            chance = small * chance
        else:
            likelihood += score
        product *= 1.0 + small
        n_heard += 1
        if n_heard % 512 == 0:
            likelihood += np.log(product)
            product = 1.0
        mass += chance
        for j in range(first, last):
            counts[voters[j], np.int64(votes[j] > 0)] += chance
    return counts, mass, likelihood + np.log(product), n_heard


@kernel
def expect_classes(
    starts: Places, voters: Voters, codes: Codes, gold: Codes, tables: Floats, log_shares: Floats
) -> tuple[Floats, Floats, float]:
    """Return the E-step: expected votes [s, said, meant] and items per class, log-likelihood.

    Items without votes add nothing. The truth of an item with a gold label is that label.
    """
    n_classes = len(log_shares)
    counts, mass, likelihood = np.zeros(tables.shape), np.zeros(n_classes), 0.0
    joint = np.zeros(n_classes)
    for i in range(len(starts) - 1):
        first, last = starts[i], starts[i + 1]
        if first == last:
            continue
        joint[:] = log_shares
        for j in range(first, last):
            for k in range(n_classes):
                joint[k] += tables[voters[j], np.int64(codes[j]) - 1, k]
        if gold.size > 0 and gold[i] > 0:
            known = np.int64(gold[i]) - 1
            likelihood += joint[known]
            joint[:] = 0.0
            joint[known] = 1.0
        else:
            top = joint.max()
            total = 0.0
            for k in range(n_classes):
                joint[k] = np.exp(joint[k] - top)
                total += joint[k]
            likelihood += top + np.log(total)
            for k in range(n_classes):
                joint[k] /= total
        for k in range(n_classes):
            mass[k] += joint[k]
        for j in range(first, last):
            for k in range(n_classes):
                counts[voters[j], np.int64(codes[j]) - 1, k] += joint[k]
    return counts, mass, likelihood


@kernel
def join_classes(
    starts: Places, voters: Voters, codes: Codes, tables: Floats, log_shares: Floats
) -> Floats:
    """Return log P(truth is k | votes) per item and class k."""
    n_classes = len(log_shares)
    out = np.empty((len(starts) - 1, n_classes))
    for i in range(len(out)):
        out[i] = log_shares
        for j in range(starts[i], starts[i + 1]):
            out[i] += tables[voters[j], np.int64(codes[j]) - 1]
        top = out[i].max()
        out[i] -= top + np.log(np.exp(out[i] - top).sum())
    return out

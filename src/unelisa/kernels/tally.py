"""Sums over votes, voter by voter or item by item, and how voters compare and agree.

Item i's votes are at starts[i] to starts[i + 1] of `voters` and of `votes` (-1, +1) or `codes`
(classes from 1); sparse votes are listed by voter. A table [s, said, meant] is log P(c | k). Pairs
of voters are compared in bits: exact, and 15 to 20 times faster than in float32.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Votes = NDArray[np.int8]
Codes = NDArray[np.uint8]
Voters = NDArray[np.int32]
Bits = NDArray[np.uint64]
Counts = NDArray[np.int64]
Listed = tuple[Counts, Voters, NDArray[Any]]  # starts, voters and votes or codes

CHUNK = 4096  # items whose two counts take 32 KB


@kernel
def weigh_votes(values: Votes, signed: Floats, observed: Floats) -> Floats:
    """Return per item sum_s signed_s f_is + observed_s |f_is|: an abstention adds nothing."""
    n_items, n_voters = values.shape
    out = np.zeros(n_items)
    for s in range(n_voters):
        a, b = signed[s], observed[s]
        if a == 0.0 and b == 0.0:
            continue
        for i in range(n_items):
            f = np.float64(values[i, s])
            out[i] += a * f + b * f * f
    return out


@kernel
def tally_votes(values: Votes, x: Floats) -> tuple[Floats, Floats]:
    """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
    n_items, n_voters = values.shape
    signed, observed = np.zeros(n_voters), np.zeros(n_voters)
    for s in range(n_voters):
        a, b = 0.0, 0.0
        for i in range(n_items):
            f = np.float64(values[i, s])
            a += x[i] * f
            b += x[i] * f * f
        signed[s], observed[s] = a, b
    return signed, observed


@kernel
def compare_voters(values: Votes) -> tuple[NDArray[np.int64], int]:
    """Return items per voter (no, yes, shared, contradicted), and items with several votes."""
    n_items, n_voters = values.shape
    counts, met = np.zeros((n_voters, 4), np.int64), 0
    yes, no = np.zeros(CHUNK, np.int32), np.zeros(CHUNK, np.int32)
    for low in range(0, n_items, CHUNK):
        n = min(CHUNK, n_items - low)
        yes[:] = 0
        no[:] = 0
        for s in range(n_voters):
            for i in range(n):
                yes[i] += values[low + i, s] > 0
                no[i] += values[low + i, s] < 0
        for i in range(n):
            met += yes[i] + no[i] > 1
        for s in range(n_voters):
            down = up = shared = against = np.int32(0)
            for i in range(n):
                below, above = values[low + i, s] < 0, values[low + i, s] > 0
                down += below
                up += above
                shared += (below | above) & (yes[i] + no[i] > 1)
                against += (above & (no[i] > 0)) | (below & (yes[i] > 0))
            counts[s, 0] += down
            counts[s, 1] += up
            counts[s, 2] += shared
            counts[s, 3] += against
    return counts, met


@kernel
def weigh_sparse(
    starts: NDArray[np.int64],
    items: NDArray[np.int32],
    votes: Votes,
    n_items: int,
    signed: Floats,
    observed: Floats,
) -> Floats:
    """Return per item sum_s signed_s f_is + observed_s |f_is|."""
    out = np.zeros(n_items)
    for s in range(starts.size - 1):
        a, b = signed[s], observed[s]
        for k in range(starts[s], starts[s + 1]):
            f = np.float64(votes[k])
            out[items[k]] += a * f + b * f * f
    return out


@kernel
def tally_sparse(
    starts: NDArray[np.int64], items: NDArray[np.int32], votes: Votes, x: Floats
) -> tuple[Floats, Floats]:
    """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
    signed, observed = np.zeros(starts.size - 1), np.zeros(starts.size - 1)
    for s in range(starts.size - 1):
        a, b = 0.0, 0.0
        for k in range(starts[s], starts[s + 1]):
            f = np.float64(votes[k])
            a += x[items[k]] * f
            b += x[items[k]] * f * f
        signed[s], observed[s] = a, b
    return signed, observed


@kernel
def count_ones(bits: np.uint64) -> np.uint64:
    """Return the number of ones in 64 bits; the compiler knows this form, one instruction."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    quarters = np.uint64(0x3333333333333333)
    bits = (bits & quarters) + ((bits >> np.uint64(2)) & quarters)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@kernel
def add_complete(above: Bits, n_items: int, first: int, last: int, sums: Counts) -> None:
    """Add sum_i f_is f_it for s in first:last and t >= s, where nobody abstained; four at once."""
    n_voters, n_words = above.shape
    for s in range(first, last, 4):
        s1, s2, s3 = min(s + 1, last - 1), min(s + 2, last - 1), min(s + 3, last - 1)
        for t in range(s, n_voters):
            d0 = d1 = d2 = d3 = np.uint64(0)
            for word in range(n_words):
                x = above[t, word]
                d0 += count_ones(x ^ above[s, word])
                d1 += count_ones(x ^ above[s1, word])
                d2 += count_ones(x ^ above[s2, word])
                d3 += count_ones(x ^ above[s3, word])
            sums[s, t] += n_items - 2 * np.int64(d0)
            if s + 1 < last:
                sums[s1, t] += n_items - 2 * np.int64(d1)
            if s + 2 < last:
                sums[s2, t] += n_items - 2 * np.int64(d2)
            if s + 3 < last:
                sums[s3, t] += n_items - 2 * np.int64(d3)


@kernel
def add_incomplete(above: Bits, voted: Bits, first: int, last: int, sums: Counts) -> None:
    """Add sum_i f_is f_it for s in first:last and t >= s, over the items on which both voted."""
    n_voters, n_words = above.shape
    for s in range(first, last):
        for t in range(s, n_voters):
            both = np.uint64(0)
            differ = np.uint64(0)
            for word in range(n_words):
                shared = voted[s, word] & voted[t, word]
                both += count_ones(shared)
                differ += count_ones(shared & (above[s, word] ^ above[t, word]))
            sums[s, t] += np.int64(both) - 2 * np.int64(differ)


@kernel
def widen_votes(
    votes: NDArray[np.int8], voters: Counts, low: int, high: int, out: NDArray[np.float32]
) -> None:
    """Write items low:high as float32, voters x items, for a matrix product."""
    for s in range(voters.size):
        # slices, not votes[s, low + i]: index arithmetic prevents vectorizing (8 times slower)
        own, wide = votes[voters[s], low:high], out[s, : high - low]
        for i in range(wide.size):
            wide[i] = own[i]


@kernel
def weigh_ballots(listed: Listed, signed: Floats, observed: Floats) -> Floats:
    """Return per item sum_s signed_s f_is + observed_s |f_is|."""
    starts, voters, votes = listed
    out = np.zeros(len(starts) - 1)
    for i in range(len(out)):
        for j in range(starts[i], starts[i + 1]):
            out[i] += votes[j] * signed[voters[j]] + observed[voters[j]]
    return out


@kernel
def tally_ballots(listed: Listed, x: Floats, n_voters: int) -> tuple[Floats, Floats]:
    """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
    starts, voters, votes = listed
    signed, observed = np.zeros(n_voters), np.zeros(n_voters)
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            signed[voters[j]] += votes[j] * x[i]
            observed[voters[j]] += x[i]
    return signed, observed


@kernel
def split_votes(
    listed: Listed, gold: Codes, weights: Floats, n_classes: int, only_gold: bool
) -> tuple[Floats, Floats]:
    """Return [s, said, meant], votes split as the weight on their items is, and their sums."""
    starts, voters, codes = listed
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
def expect_two(listed: Listed, odds: Floats, prior: float) -> tuple[Floats, float, float, int]:
    """Return the E-step of two classes, for which one number per vote is enough.

    From odds [s, said] = log P(said | yes) / P(said | no): expected votes [s, said] on items of
    class yes; their mass; the sum of log(1 + odds of the item); and the number of items with votes.
    """
    starts, voters, votes = listed
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
    listed: Listed, gold: Codes, tables: Floats, log_shares: Floats
) -> tuple[Floats, Floats, float]:
    """Return the E-step: expected votes [s, said, meant] and items per class, log-likelihood."""
    starts, voters, codes = listed
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
def join_classes(listed: Listed, tables: Floats, log_shares: Floats) -> Floats:
    """Return log P(truth is k | votes) per item and class k."""
    starts, voters, codes = listed
    n_classes = len(log_shares)
    out = np.empty((len(starts) - 1, n_classes))
    for i in range(len(out)):
        out[i] = log_shares
        for j in range(starts[i], starts[i + 1]):
            out[i] += tables[voters[j], np.int64(codes[j]) - 1]
        top = out[i].max()
        out[i] -= top + np.log(np.exp(out[i] - top).sum())
    return out

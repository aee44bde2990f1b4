"""Near-duplicates count less: a vote's weight falls with the like-minded votes on the same item.

What two voters still share once the truth is known, r_st, is the correlation of their residuals,
shrunk by its noise. A vote of s counts 1 / (1 + sum of r_st over the other voters on the item): k
voters with residual correlation r together count k / (1 + (k - 1) r), the number of independent
voters whose sum has the same variance.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.kernels.ballots import count_affinity
from unelisa.latent.ballots import BallotBlocks, Ballots, MemoryBallots
from unelisa.latent.consensus import (
    Consensus,
    Factors,
    Floats,
    fit_consensus,
    infer_states,
    share_votes,
    weigh_truth,
)
from unelisa.latent.pairs import Pairs, Singles, correlate, expect_means, expect_votes

BELIEVED_ITEMS = 100  # items, below which a correlation is too noisy to act on
BELIEVED_ERRORS = 3.0  # standard errors from which a correlation is believed
ROUNDS, STEADY = 3, 1e-3  # of discount and refit; until fewer items than this change sides
ONCE = 4.0  # power of r where a start counts near-duplicates (r near 1) once and others in full
ONCE_ROUNDS = 30


class Affinity(NamedTuple):
    """Who repeats whom: voter t's partners are `others` from rows[t] to rows[t + 1].

    Attributes
    ----------
    rows, others, strengths
        The symmetric table r_st of voters x voters, without its zeros.
    """

    rows: NDArray[np.int64]
    others: NDArray[np.int32]
    strengths: Singles

    @classmethod
    def of(cls, pairs: Pairs, correlations: Singles, n_voters: int, power: float = 1) -> "Affinity":
        """Return r_st = (C - its noise)^power of the pairs whose correlation is believed."""
        scores = correlations * np.sqrt(pairs.common)
        seen = (pairs.common >= BELIEVED_ITEMS) & (scores > BELIEVED_ERRORS)
        strengths = np.clip(correlations[seen], 0, 1) * (1 - (BELIEVED_ERRORS / scores[seen]) ** 2)
        return cls.tie(
            pairs.first[seen], pairs.second[seen], (strengths**power).astype(np.float32), n_voters
        )

    @classmethod
    def tie(
        cls, first: NDArray[np.int32], second: NDArray[np.int32], strengths: Singles, n_voters: int
    ) -> "Affinity":
        """Return the symmetric table of some pairs."""
        ends = np.r_[first, second], np.r_[second, first]
        both = np.r_[strengths, strengths].astype(np.float32)
        table = sp.csr_matrix((both, ends), shape=(n_voters, n_voters))
        table.sort_indices()
        return cls(table.indptr.astype(np.int64), table.indices.astype(np.int32), table.data)


class Discounted(NamedTuple):
    """A consensus among discounted votes, and the affinities that discount them; None: in full."""

    model: Consensus
    affinity: Affinity | None = None


def discount_votes(ballots: Ballots, affinity: Affinity | None) -> Ballots:
    """Return the block with its votes' weights 1 / (1 + sum_t r_st)."""
    if affinity is None:
        return ballots._replace(weights=np.empty(0, dtype=np.float32))
    shared = count_affinity(ballots.starts, ballots.voters, *affinity)
    return ballots._replace(weights=(1 / (1 + shared)).astype(np.float32))


def infer_discounted(ballots: Ballots, factors: Factors, affinity: Affinity | None) -> Floats:
    """Return the posterior of the states under other weights than the block has: a start."""
    return infer_states(discount_votes(ballots, affinity), factors)


def fit_discounted(
    blocks: BallotBlocks, sample: MemoryBallots, pairs: Pairs, begin: Discounted
) -> Discounted:
    """Return discount and consensus in turn, from where to begin.

    Affinities come from the sample and are averaged over the rounds, which keeps them from
    swinging.
    """
    found, n_voters = begin, sample.n_voters
    ballots = discount_votes(sample.blocks[0], begin.affinity)
    correlations = correlate(ballots, pairs, expect_votes(ballots, begin.model), n_voters)
    sides = weigh_truth(ballots, begin.model.factors) > 0
    for done in range(1, ROUNDS + 1):
        affinity = Affinity.of(pairs, correlations, n_voters)
        start = infer_discounted, found.model.factors, found.affinity
        found = Discounted(
            fit_consensus(blocks.rewrite(discount_votes, affinity), *start), affinity
        )
        ballots = discount_votes(ballots, affinity)
        sides, before = weigh_truth(ballots, found.model.factors) > 0, sides
        if np.mean(sides != before) < STEADY:
            break
        more = correlate(ballots, pairs, expect_votes(ballots, found.model), n_voters)
        correlations = ((correlations * done + more) / (done + 1)).astype(np.float32)
    return found


def count_once(sample: MemoryBallots, pairs: Pairs) -> Discounted:
    """Return the consensus from a start in which voters who say nearly the same count once."""
    ballots, n_voters = sample.blocks[0], sample.n_voters
    correlations = correlate(ballots, pairs, expect_means(ballots, n_voters), n_voters)
    affinity = Affinity.of(pairs, correlations, n_voters, ONCE)
    weighed = sample.rewrite(discount_votes, affinity)
    weights, counts = (
        np.bincount(ballots.voters, x, n_voters) for x in (weighed.blocks[0].weights, None)
    )
    trust = weights / np.maximum(counts, 1)
    return Discounted(fit_consensus(weighed, share_votes, trust, max_rounds=ONCE_ROUNDS), affinity)

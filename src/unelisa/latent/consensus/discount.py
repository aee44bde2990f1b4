"""The discount: near-duplicates count less, and the consensus is fitted to the weighted votes."""

import numpy as np

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots
from unelisa.latent.consensus.affinity import Affinity, discount_votes
from unelisa.latent.consensus.candidate import SAME_AXIS, Candidate, share_agreement
from unelisa.latent.consensus.model import (
    Consensus,
    Factors,
    Floats,
    expect_votes,
    fit_consensus,
    infer_states,
    share_votes,
    weigh_truth,
)
from unelisa.latent.consensus.tilt import Tilt, fit_tilted
from unelisa.latent.crowd import Sample

ROUNDS, STEADY = 3, 1e-3  # of discount and refit; until fewer items than this change sides
ONCE = 4.0  # power of r with which near-duplicates (r near 1) count once and others in full
ONCE_ITER = 30


class Discount(Candidate):
    """The consensus of discounted votes."""

    kind = "discount"

    def fit_all(self, ballots: ItemBlocks, sample: Sample) -> Candidate:
        """Return the candidate fitted to all items, starting from the fit to the sample."""
        return Discount(self.name, *fit_discounted(ballots, sample, self.model, self.affinity))


def propose_discount(sample: Sample, found: list[Candidate]) -> list[Candidate]:
    """Return the discount from two starts, and a tilt where the second finds another truth.

    The first starts from plain, the second from votes in which near-duplicates count once.
    """
    plain = found[0]
    from_once = fit_discounted(sample.blocks, sample, *count_once(sample))
    from_plain = fit_discounted(sample.blocks, sample, plain.model)
    once = Discount("discount, duplicates once", *from_once)
    discounts: list[Candidate] = [Discount("discount", *from_plain), once]
    agreement = share_agreement(plain.score(sample.ballots), once.score(sample.ballots))
    if agreement < SAME_AXIS and any(candidate.kind == "tilt" for candidate in found):
        tilted = fit_tilted(once.view(sample.blocks), once.model)
        discounts.append(Tilt("tilt, duplicates once", tilted, once.affinity))
    return discounts


def fit_discounted(
    ballots: ItemBlocks, sample: Sample, model: Consensus, affinity: Affinity | None = None
) -> tuple[Consensus, Affinity | None]:
    """Return consensus and affinity, fitted in turn from where they are.

    Affinities come from the sample and are averaged over the rounds, which keeps them from
    oscillating.
    """
    weighted = discount_votes(sample.ballots, affinity)
    correlations = sample.correlate(expect_votes(weighted, model))
    sides = weigh_truth(weighted, model.factors) > 0
    for done in range(1, ROUNDS + 1):
        start = infer_discounted, model.factors, affinity
        affinity = Affinity.of(sample.pairs, correlations, sample.n_voters)
        model = fit_consensus(ballots.view(discount_votes, affinity), *start)
        weighted = discount_votes(weighted, affinity)
        sides, before = weigh_truth(weighted, model.factors) > 0, sides
        if np.mean(sides != before) < STEADY:
            break
        more = sample.correlate(expect_votes(weighted, model))
        correlations = ((correlations * done + more) / (done + 1)).astype(np.float32)
    return model, affinity


def infer_discounted(ballots: Ballots, factors: Factors, affinity: Affinity | None) -> Floats:
    """Return the posterior of the states under other weights than the ballots have: a start."""
    return infer_states(discount_votes(ballots, affinity), factors)


def count_once(sample: Sample) -> tuple[Consensus, Affinity]:
    """Return the consensus of votes in which near-duplicates count once, and their affinity."""
    ballots, n_voters = sample.ballots, sample.n_voters
    affinity = Affinity.of(sample.pairs, sample.correlations, n_voters, ONCE)
    weights = discount_votes(ballots, affinity).weights
    sums, counts = (np.bincount(ballots.voters, x, n_voters) for x in (weights, None))
    start = share_votes, sums / np.maximum(counts, 1)
    weighted = sample.blocks.view(discount_votes, affinity)
    return fit_consensus(weighted, *start, max_iter=ONCE_ITER), affinity

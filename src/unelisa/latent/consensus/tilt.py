"""The tilt: a second hidden node that shifts all voters on an item, a misreading they share."""

import numpy as np
from scipy.special import expit

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, Sums
from unelisa.latent.consensus.candidate import Candidate, share_agreement
from unelisa.latent.consensus.model import (
    Consensus,
    Factors,
    Floats,
    expect_votes,
    fit_consensus,
    infer,
)
from unelisa.latent.crowd import Sample

FIRST_SHIFT = 0.3  # initial c of every voter
TILT_ITER = 200


class Tilt(Candidate):
    """The consensus with a tilt."""

    kind = "tilt"
    max_iter = TILT_ITER

    @property
    def cost(self) -> float:
        """Effective number of parameters c: sum of 1 - var_c / sd_c^2."""
        model = self.model
        return float((1 - model.covariances[:, 2, 2] / model.spread[2] ** 2).sum())


class PlainTilt(Tilt):
    """The tilt that starts from plain: its truth is meant to be that of plain."""

    def is_other_axis(self, odds: Floats, plain_odds: Floats) -> bool:  # noqa: ARG002
        """Return False: it is compared with plain as the same truth."""
        return False

    def is_admissible(self, ballots: Ballots, odds: Floats, plain_odds: Floats) -> bool:
        """Return whether a truth is left, and truth and tilt have not swapped places."""
        by_tilt = share_agreement(weigh_tilt(ballots, self.model.factors), plain_odds)
        kept = share_agreement(odds, plain_odds) >= max(by_tilt, 1 - by_tilt)
        return kept and super().is_admissible(ballots, odds, plain_odds)


def propose_tilt(sample: Sample, found: list[Candidate]) -> list[Candidate]:
    """Return plain with a tilt."""
    return [PlainTilt("tilt", fit_tilted(sample.blocks, found[0].model))]


def fit_tilted(ballots: ItemBlocks, begin: Consensus) -> Consensus:
    """Return the consensus with a tilt, from one without.

    Initially u is yes where the voters together said yes more often than the truth explains.
    """
    squares, n_items = ballots.sum(sum_surplus, begin)[0]
    scale = float(np.sqrt(squares / max(n_items, 1)) + 1e-9)
    means = np.column_stack([begin.means, np.full(ballots.n_voters, FIRST_SHIFT)])
    start, model = (split_states, begin, scale), Consensus.first(means)
    return fit_consensus(ballots, *start, model=model, max_iter=TILT_ITER)


def split_states(ballots: Ballots, begin: Consensus, scale: float) -> Floats:
    """Return a posterior of (f0, u): f0 less certain than it was, u by the surplus of yes."""
    yes = 0.8 * infer(ballots, begin.factors)[0][:, 0] + 0.1
    tilted = expit(2 * surplus(ballots, begin) / scale)
    return np.stack(
        [yes * tilted, yes * (1 - tilted), (1 - yes) * tilted, (1 - yes) * (1 - tilted)], axis=1
    )


def surplus(ballots: Ballots, model: Consensus) -> Floats:
    """Return per item sum_s (f_s - E f_s) / sqrt(number of votes)."""
    beyond = ballots.votes - expect_votes(ballots, model)
    sums = np.bincount(ballots.items, beyond, ballots.n_items)
    return np.asarray(sums / np.sqrt(np.maximum(ballots.counts, 1)))


def sum_surplus(ballots: Ballots, model: Consensus) -> Sums:
    """Return the sum of squares of the surplus, and the number of items. A pass."""
    return (np.array([np.sum(surplus(ballots, model) ** 2), float(ballots.n_items)]),)


def weigh_tilt(ballots: Ballots, factors: Factors) -> Floats:
    """Return P(u = +1) - 1/2 per item. A pass."""
    return np.asarray(infer(ballots, factors)[0][:, ::2].sum(axis=1) - 0.5)

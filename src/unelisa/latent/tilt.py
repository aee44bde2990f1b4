"""The tilt: a second hidden node that all voters are tied to, a misreading they share."""

import numpy as np
from scipy.special import expit

from unelisa.latent.ballots import BallotBlocks, Ballots, Sums
from unelisa.latent.consensus import Consensus, Factors, Floats, fit_consensus, infer
from unelisa.latent.pairs import expect_votes

FIRST_PULL = 0.3  # c of every voter at the start
TILT_ROUNDS = 200


def fit_tilted(blocks: BallotBlocks, begin: Consensus) -> Consensus:
    """Return the consensus with a tilt, from one without.

    At the start u says yes where the voters together said yes more than the truth explains.
    """
    squares, n_items = blocks.sum(sum_surplus, begin)[0]
    scale = float(np.sqrt(squares / max(n_items, 1)) + 1e-9)
    return fit_consensus(
        blocks, split_states, begin, scale, model=_add_tilt(begin), max_rounds=TILT_ROUNDS
    )


def split_states(ballots: Ballots, begin: Consensus, scale: float) -> Floats:
    """Return a posterior of (f0, u): the truth less sure than it was, u by the surplus of yes."""
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


def count_pulls(model: Consensus) -> float:
    """Return how many parameters the tilt's c are worth: sum of 1 - var_c / sd_c^2."""
    return float((1 - model.covariances[:, 2, 2] / model.spread[2] ** 2).sum())


def _add_tilt(begin: Consensus) -> Consensus:
    """Return the coefficients with every c at its first value, under the tilt's first priors."""
    n_voters = len(begin.means)
    means = np.column_stack([begin.means, np.full(n_voters, FIRST_PULL)])
    return Consensus.first(n_voters, 3, means)

"""Rules: one-sided voters who cast most votes, so that their silence is an answer too."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, Floats
from unelisa.latent.consensus.candidate import Candidate
from unelisa.latent.consensus.model import fit_consensus, suggest_states

LEAST_WEIGHT = 0.2  # of a rule: its silence must not make it a contrarian


def fit_rules(ballots: ItemBlocks, silence: NDArray[np.int8]) -> Candidate:
    """Return the plain structure of rules whose silence was filled in.

    Their weights are learned once, from a majority vote among those that speak, at even odds of the
    two classes. Rules overlap: further EM iterations would pull the truth toward the largest group
    that speaks together, and the class rate toward how often rules of one side speak.
    """
    model = fit_consensus(ballots, share_spoken, silence, least_weight=LEAST_WEIGHT, max_iter=0)
    return Candidate("plain", replace(model, rate=0.0, converged=True))


def share_spoken(ballots: Ballots, silence: NDArray[np.int8]) -> Floats:
    """Return the posterior of a majority vote among those whose vote is not their silence."""
    spoken = ballots.votes != silence[ballots.voters]
    return suggest_states(ballots, spoken.astype(np.float64))


def odds_before_silence(coins: Floats, silence: NDArray[np.int8], rate: float) -> float:
    """Return the log-odds of an item before it is known whether any rule speaks on it.

    `rate` is the log-odds among items with votes, and `coins` are the voters' with silence filled
    in. A class on which rules speak more often is rarer among all items: by Bayes their odds are
    those times P(spoken | no) / P(spoken | yes).
    """
    speaks = np.where(silence < 0, coins, 1 - coins)[:, silence != 0]
    no, yes = (_chance_spoken(side) for side in speaks)
    return float(rate + np.log(no) - np.log(yes))


def _chance_spoken(speaks: Floats) -> float:
    """Return V = P(any rule speaks) from the probabilities q_s given that any does.

    P(rule s speaks) = q_s V, so V solves V = 1 - prod_s (1 - q_s V); iterated from V = 1 it falls.
    """
    spoken = 1.0
    for _ in range(100):
        spoken = 1 - float(np.prod(1 - speaks * spoken))
    return max(spoken, 1e-3)

"""Where rules that speak on one side only cast most votes: their silence as the other answer."""

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import mark_starts
from unelisa.latent.ballots import Ballots, Floats
from unelisa.latent.consensus import suggest_states

LEAST_WEIGHT = 0.2  # of a rule: its silence must not turn it around


def fill_silence(ballots: Ballots, silence: NDArray[np.int8]) -> Ballots:
    """Return the block with one-sided voters' silence as votes, on items with any vote."""
    votes = np.zeros((ballots.n_items, len(silence)), dtype=np.int8)
    votes[ballots.counts > 0] = silence
    votes[ballots.items, ballots.voters] = ballots.votes
    items, voters = np.nonzero(votes)
    counts = np.bincount(items, minlength=ballots.n_items)
    return ballots._replace(
        starts=mark_starts(counts),
        voters=voters.astype(np.int32),
        votes=votes[items, voters],
    )


def share_spoken(ballots: Ballots, silence: NDArray[np.int8]) -> Floats:
    """Return the posterior that the majority of those who speak suggests: a start.

    Parameters
    ----------
    ballots
        A block, silence filled in.
    silence
        What each voter's silence says.
    """
    spoken = ballots.votes != silence[ballots.voters]
    return suggest_states(ballots, spoken.astype(np.float64))


def odds_before_silence(coins: Floats, silence: NDArray[np.int8], rate: float) -> float:
    """Return the log-odds of an item before it is known whether any rule speaks on it.

    `rate` holds among items with votes. Rules that speak more on one side make it rarer among the
    silent items: by Bayes the odds of all items are those times P(spoken | no) / P(spoken | yes).

    Parameters
    ----------
    coins
        P(yes | truth is no), P(yes | truth is yes) per voter, silence filled in.
    silence
        What each voter's silence says.
    rate
        Log-odds among items with votes.
    """
    speaks = np.where(silence < 0, coins, 1 - coins)[:, silence != 0]
    no, yes = (_chance_spoken(side) for side in speaks)
    return float(rate + np.log(no) - np.log(yes))


def _chance_spoken(speaks: Floats) -> float:
    """Return V = P(any rule speaks), where rules speak with these chances if any does.

    P(rule s speaks) = q_s V, so V solves V = 1 - prod_s (1 - q_s V); iterated from V = 1 it falls.
    """
    spoken = 1.0
    for _ in range(100):
        spoken = 1 - float(np.prod(1 - speaks * spoken))
    return max(spoken, 1e-3)

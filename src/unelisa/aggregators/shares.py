"""Weighted majorities: every vote counts with its voter's weight, and a score is a share of it."""

import numpy as np

from unelisa.aggregators.base import Aggregator, Floats
from unelisa.kernels.classes import tally_agreement, weigh_classes
from unelisa.votes import Votes
from unelisa.votes.ballots import Ballots, list_ballots
from unelisa.votes.blocks import ItemBlocks


class WeightedMajority(Aggregator):
    """A weighted majority of two or more classes: `_fit` sets the weights."""

    multiclass = True

    def _score(self, votes: Votes) -> Floats:
        if votes.n_classes == 2:
            return weighed_margin(votes.blocks, self.weights_)
        return weigh_shares(list_ballots(votes.blocks), self.weights_, votes.n_classes)


def weighed_margin(blocks: ItemBlocks, weights: Floats) -> Floats:
    """Return per item the weight of yes minus that of no, as a share of the weight that voted.

    Examples
    --------
    >>> from unelisa.votes.blocks import WholeTable
    >>> votes = WholeTable(np.array([[1, -1, 0]], dtype=np.int8))
    >>> weighed_margin(votes, np.array([3.0, 1.0, 5.0]))
    array([0.5])
    """
    nothing = np.zeros(len(weights))
    margin, mass = blocks.weigh(weights, nothing), blocks.weigh(nothing, weights)
    return np.asarray(margin / np.where(mass > 0, mass, 1.0))


def weigh_shares(ballots: ItemBlocks, weights: Floats, n_classes: int) -> Floats:
    """Return per item and class the weight of the voters who said it, as a share of all weight.

    Examples
    --------
    >>> from unelisa.votes.blocks import WholeTable
    >>> votes = list_ballots(WholeTable(np.array([[1, 3, 0]], dtype=np.int8)))
    >>> weigh_shares(votes, np.array([3.0, 1.0, 5.0]), 3)
    array([[0.75, 0.  , 0.25]])
    """
    return ballots.concatenate(_weigh, weights, n_classes)


def measure_class_agreement(ballots: ItemBlocks, weights: Floats, n_classes: int) -> Floats:
    """Return the share of each voter's votes that agree with the weighted majority.

    Where m classes are tied, a vote for one of them counts 1 / m; a voter who never voted has 0.
    """
    agreed, counts = ballots.sum(_agree, weights, n_classes)
    return np.asarray(agreed / np.maximum(counts, 1.0))


def _weigh(run: Ballots, weights: Floats, n_classes: int) -> Floats:
    """Return the shares of a run of items. A pass."""
    return weigh_classes(run.starts, run.voters, run.votes.view(np.uint8), weights, n_classes)


def _agree(run: Ballots, weights: Floats, n_classes: int) -> tuple[Floats, Floats]:
    """Return the votes that agree with the majority, and all votes, per voter. A pass."""
    shares = _weigh(run, weights, n_classes)
    return tally_agreement(run.starts, run.voters, run.votes.view(np.uint8), shares, len(weights))

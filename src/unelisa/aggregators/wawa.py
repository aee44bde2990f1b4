"""Wawa (worker agreement with aggregate): majority vote weighted by agreement with itself."""

import numpy as np

from unelisa.aggregators.base import Floats
from unelisa.aggregators.shares import (
    WeightedMajority,
    measure_class_agreement,
    weighed_margin,
)
from unelisa.schema import stored
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import ItemBlocks


def measure_agreement(blocks: ItemBlocks, margin: Floats) -> Floats:
    """Return the share of each voter's votes that agree with the margin; a tie counts half.

    Margins below 1e-12 are ties, so that rounding, hence the order of the voters, does not decide.
    A voter who never voted has agreement 0.

    Examples
    --------
    >>> from unelisa.votes.blocks import WholeTable
    >>> votes = np.array([[1, -1], [1, 1], [-1, 1]], dtype=np.int8)
    >>> measure_agreement(WholeTable(votes), np.array([0.2, 1.0, 0.0]))
    array([0.83333333, 0.5       ])
    """
    sides = np.where(np.abs(margin) > 1e-12, np.sign(margin), 0.0)
    signed = blocks.tally(sides)[0]
    counts = blocks.tally(np.ones(len(blocks)))[1]
    return np.where(counts > 0, (counts + signed) / 2 / np.maximum(counts, 1.0), 0.0)


@stored()
class Wawa(WeightedMajority):
    """Voters weighted by how often they agree with the majority, like crowd-kit's Wawa.

    weight_s = share of the votes of s that agree with the majority; the label is the weighted
    majority::

        score_i = sum_s weight_s f_is / sum_s weight_s |f_is|

    With more than two classes, the score of a class is the share of weight that said it. A share of
    weights is not a probability of the truth, so there is no `predict_proba`.

    Attributes
    ----------
    weights_
        Agreement with the majority, between 0 and 1: a contrarian has a small weight, not a
        negative one.

    Notes
    -----
    Where the majority is tied, crowd-kit picks one of the labels; here each counts half (1 / m of m
    tied classes), so that the result does not depend on the names of the labels. A voter who gives
    every item the same vote has weight 0.

    References
    ----------
    Appen Limited (2021), Calculating worker agreement with aggregate (Wawa); Ustalov, Pavlichenko
    and Tseitlin (2024), Learning from crowds with Crowd-Kit. doi:10.21105/joss.06227

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, -1, 1], [-1, -1, -1, 1], [-1, -1, 1, -1]]
    >>> model = ue.Wawa().fit(votes)
    >>> model.weights_
    array([1. , 1. , 0.5, 0.5])
    >>> model.predict(votes)
    array([ 1,  1, -1, -1])
    """

    def _fit(self, votes: Votes) -> None:
        counted = votes.discerning().astype(np.float64)
        if votes.n_classes > 2:
            ballots = list_ballots(votes.blocks)
            self.weights_ = counted * measure_class_agreement(ballots, counted, votes.n_classes)
            return
        margin = weighed_margin(votes.blocks, counted)
        self.weights_ = counted * measure_agreement(votes.blocks, margin)

"""Wawa: worker agreement with aggregate, a majority vote weighed by agreement with itself."""

import numpy as np

from unelisa.aggregators.base import Aggregator, Floats, weighed_margin
from unelisa.blocks import ItemBlocks
from unelisa.votes import Votes


def measure_agreement(blocks: ItemBlocks, margin: Floats) -> Floats:
    """Return per voter the share of its votes on the side of the margin; a tie counts half.

    Sums below 1e-12 are ties: the order of the voters must not decide them by rounding. Who never
    voted agrees with nobody: 0.

    Examples
    --------
    >>> votes = np.array([[1, -1], [1, 1], [-1, 1]], dtype=np.int8)
    >>> measure_agreement(votes, np.array([0.2, 1.0, 0.0]))
    array([0.83333333, 0.5       ])
    """
    sides = np.where(np.abs(margin) > 1e-12, np.sign(margin), 0.0)
    signed = blocks.tally(sides)[0]
    counts = blocks.tally(np.ones(len(blocks)))[1]
    return np.where(counts > 0, (counts + signed) / 2 / np.maximum(counts, 1.0), 0.0)


class Wawa(Aggregator):
    """Voters weighed by how often they agree with the majority, as crowd-kit's Wawa.

    weight_s = share of the votes of s that are the majority's; the label is the weighed majority::

        score_i = sum_s weight_s f_is / sum_s weight_s |f_is|

    A share of weights is no probability of the truth, so there is no `predict_proba`.

    Attributes
    ----------
    weights_
        Agreement with the majority, between 0 and 1. Nobody is turned around: a contrarian has a
        small weight, not a negative one.

    Notes
    -----
    Where the majority is tied, crowd-kit takes one of the labels; here each side counts half, so
    that the answer does not depend on the names of the labels.

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
        everybody = np.ones(votes.n_voters)
        self.weights_ = measure_agreement(votes.blocks, weighed_margin(votes.blocks, everybody))

    def _score(self, votes: Votes) -> Floats:
        return weighed_margin(votes.blocks, self.weights_)

"""Majority vote: every voter counts the same."""

import numpy as np

from unelisa.aggregators.base import Aggregator, Floats, weighed_margin
from unelisa.schema import stored
from unelisa.votes import Votes


@stored()
class MajorityVote(Aggregator):
    """Majority vote: the score is the share of yes votes minus the share of no votes.

    A voter who gives every item the same vote moves every share alike and is left out.
    A share of votes is not a probability of the truth, so there is no `predict_proba`.

    Examples
    --------
    >>> import unelisa as ue
    >>> ue.MajorityVote().fit_predict([[1, 1, -1], [-1, None, -1], [-1, -1, 1]])
    array([ 1, -1, -1])
    """

    def _fit(self, votes: Votes) -> None:
        self.weights_ = votes.discerning().astype(np.float64)

    def _score(self, votes: Votes) -> Floats:
        return weighed_margin(votes.blocks, self.weights_)

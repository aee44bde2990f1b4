"""Majority vote: every voter counts the same."""

import numpy as np

from unelisa.aggregators.shares import WeightedMajority
from unelisa.schema import stored
from unelisa.votes import Votes


@stored()
class MajorityVote(WeightedMajority):
    """Majority vote: the score is the share of yes votes minus the share of no votes.

    With more than two classes, it is the share of each.

    A voter who gives every item the same vote moves every share alike and is left out.
    A share of votes is not a probability of the truth, so there is no `predict_proba`.

    Examples
    --------
    >>> import unelisa as ue
    >>> ue.MajorityVote().fit_predict([[1, 1, -1], [-1, None, -1], [-1, -1, 1]])
    array([ 1, -1, -1])
    >>> ue.MajorityVote().fit_predict([["a", "b", "b"], ["c", "a", "c"], ["a", "b", None]])
    array(['b', 'c', 'a'], dtype='<U1')
    """

    def _fit(self, votes: Votes) -> None:
        self.weights_ = votes.discerning().astype(np.float64)

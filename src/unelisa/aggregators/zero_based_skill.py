"""Zero-based skill: a weighed majority whose weights follow the agreement with it."""

import numpy as np

from unelisa.aggregators.base import Aggregator, Floats, weighed_margin
from unelisa.aggregators.wawa import measure_agreement
from unelisa.blocks import ItemBlocks
from unelisa.votes import Votes

# crowd-kit's schedule: full steps at first, half as long after every 20 rounds
PATIENCE, REDUCTION = 20, 0.5


def follow_agreement(blocks: ItemBlocks, max_iter: int) -> Floats:
    """Return the skills after `max_iter` rounds of weighed majority and steps towards agreement.

    skill_s <- skill_s + rate (agreement of s with the weighed majority - skill_s), from equal
    skills; the rate starts at 1.

    Examples
    --------
    >>> votes = np.array([[1, 1, -1], [1, -1, -1], [-1, 1, 1]], dtype=np.int8)
    >>> follow_agreement(votes, 1)
    array([0.33333333, 1.        , 0.66666667])
    """
    skills, rate = np.full(blocks.n_voters, 0.5), 1.0
    for iteration in range(1, max_iter + 1):
        if iteration % PATIENCE == 0:
            rate *= REDUCTION
        agreement = measure_agreement(blocks, weighed_margin(blocks, skills))
        skills = skills + rate * (agreement - skills)
    return skills


class ZeroBasedSkill(Aggregator):
    """Voters weighed by their agreement with the weighed majority itself, as crowd-kit's ZBS.

    `Wawa` repeated: each round takes the weighed majority, then moves every weight towards the
    share of the voter's votes that agree with it, in ever shorter steps. The score is the margin
    of the last weighed majority: no probability, so no `predict_proba`.

    Parameters
    ----------
    max_iter
        Number of rounds.

    Attributes
    ----------
    weights_
        The skills, between 0 and 1. Nobody is turned around.
    n_iter_
        Rounds.

    Notes
    -----
    Ties are counted half as in `Wawa`. A voter who never voted has skill 0.

    References
    ----------
    Ustalov, Pavlichenko and Tseitlin (2024), Learning from crowds with Crowd-Kit.
    doi:10.21105/joss.06227

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, -1, 1], [-1, -1, -1, 1], [-1, -1, 1, -1]]
    >>> ue.ZeroBasedSkill().fit_predict(votes)
    array([ 1,  1, -1, -1])
    """

    def __init__(self, max_iter: int = 100) -> None:
        self.max_iter = max_iter

    def _fit(self, votes: Votes) -> None:
        skills = follow_agreement(votes.blocks, self.max_iter)
        self.weights_, self.n_iter_ = np.where(votes.vote_counts() > 0, skills, 0.0), self.max_iter

    def _score(self, votes: Votes) -> Floats:
        return weighed_margin(votes.blocks, self.weights_)

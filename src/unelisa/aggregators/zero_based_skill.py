"""Zero-based skill: a weighted majority whose weights follow the agreement with it."""

import numpy as np

from unelisa.aggregators.base import Floats
from unelisa.aggregators.shares import (
    WeightedMajority,
    measure_class_agreement,
    weighed_margin,
)
from unelisa.aggregators.wawa import measure_agreement
from unelisa.schema import stored
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import ItemBlocks

# crowd-kit's schedule: full steps at first, halved every 20 iterations
PATIENCE, REDUCTION = 20, 0.5


def follow_agreement(blocks: ItemBlocks, max_iter: int, n_classes: int = 2) -> Floats:
    """Return the skills after `max_iter` iterations, starting from equal skills.

    skill_s <- skill_s + rate (agreement of s with the weighted majority - skill_s); the rate starts
    at 1.

    Examples
    --------
    >>> from unelisa.votes.blocks import WholeTable
    >>> votes = np.array([[1, 1, -1], [1, -1, -1], [-1, 1, 1]], dtype=np.int8)
    >>> follow_agreement(WholeTable(votes), 1)
    array([0.33333333, 1.        , 0.66666667])
    """
    skills, rate = np.full(blocks.n_voters, 0.5), 1.0
    ballots = list_ballots(blocks) if n_classes > 2 else blocks
    for iteration in range(1, max_iter + 1):
        if iteration % PATIENCE == 0:
            rate *= REDUCTION
        if n_classes > 2:
            agreement = measure_class_agreement(ballots, skills, n_classes)
        else:
            agreement = measure_agreement(blocks, weighed_margin(blocks, skills))
        skills = skills + rate * (agreement - skills)
    return skills


@stored(n_iter_="count")
class ZeroBasedSkill(WeightedMajority):
    """Voters weighted by their agreement with the weighted majority, like crowd-kit's ZBS.

    `Wawa` iterated: each iteration takes the weighted majority, then moves every weight toward the
    share of the voter's votes that agree with it, in ever shorter steps. The score is the margin of
    the last weighted majority, not a probability, so there is no `predict_proba`.

    Parameters
    ----------
    max_iter
        Number of iterations.

    Attributes
    ----------
    weights_
        The skills, between 0 and 1.
    n_iter_
        Number of iterations.

    Notes
    -----
    A tie counts half, as in `Wawa`. A voter who never voted, or gave every item the same vote, has
    skill 0.

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
        counted = np.flatnonzero(votes.discerning())
        self.weights_, self.n_iter_ = np.zeros(votes.n_voters), self.max_iter
        blocks = votes.blocks.rearrange(counted)
        self.weights_[counted] = follow_agreement(blocks, self.max_iter, votes.n_classes)

"""Majorities: every vote counts with its voter's weight; the weights are equal, or agreement."""

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Aggregator, Floats
from unelisa.estimator import Takes
from unelisa.schema import stored
from unelisa.votes import Votes
from unelisa.votes.ballots import Ballots, Sums, count_answers, list_ballots, sum_at
from unelisa.votes.blocks import ItemBlocks

TIED = 1e-12  # margins below are ties, so that rounding, hence the order of the voters, is no side
# crowd-kit's schedule of zero-based skills: full steps at first, halved every 20 iterations
PATIENCE, REDUCTION = 20, 0.5


@stored(_tie_order="?index(classes)[classes]")
class WeightedMajority(Aggregator):
    """A weighted majority of two or more classes: `_weigh` returns the weights.

    Ties go to the class with more votes of voters who distinguish items, then to the one whose
    votes come from fewer voters, and last to the later of two classes or the first of more.
    """

    takes = Takes(any_class=True)
    _tie_order: NDArray[np.int64]

    def _fit(self, votes: Votes) -> None:
        counted = np.flatnonzero(votes.discerning())
        self._tie_order = order_classes(votes.answers[:, counted])
        blocks = arrange_votes(votes.blocks.rearrange(counted), votes.n_classes)
        self.weights_ = np.zeros(votes.n_voters)
        self.weights_[counted] = self._weigh(blocks, len(counted), votes.n_classes)

    def _weigh(self, blocks: ItemBlocks, n_voters: int, n_classes: int) -> Floats:
        raise NotImplementedError

    def _score(self, votes: Votes) -> Floats:
        blocks = arrange_votes(votes.blocks, votes.n_classes)
        return share_weight(blocks, self.weights_, votes.n_classes)

    @property
    def tie_order_(self) -> NDArray[np.intp]:
        """Classes (indices) in the order in which they win ties: by votes in all."""
        return np.asarray(self.__dict__.get("_tie_order", super().tie_order_))


def order_classes(answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the classes by votes (classes x voters), then by sums of powers of votes."""
    counts = answers.astype(np.float64) / max(int(answers.max(initial=1)), 1)
    keys = [np.round(-(counts**power).sum(axis=1), 9) for power in (3, 2)]
    n_classes = len(answers)
    names = -np.arange(n_classes) if n_classes == 2 else np.arange(n_classes)
    return np.lexsort([names, *keys, -answers.sum(axis=1)]).astype(np.int64)


def arrange_votes(blocks: ItemBlocks, n_classes: int) -> ItemBlocks:
    """Return votes as `share_weight` reads them: more than two classes item by item."""
    return blocks if n_classes == 2 else list_ballots(blocks)


def share_weight(blocks: ItemBlocks, weights: Floats, n_classes: int = 2) -> Floats:
    """Return per item the share of weight for yes minus that for no, or the share of each class."""
    if n_classes > 2:
        return blocks.concatenate(_share_run, weights, n_classes)
    nothing = np.zeros(len(weights))
    margin, mass = blocks.weigh(weights, nothing), blocks.weigh(nothing, weights)
    return np.asarray(margin / np.where(mass > 0, mass, 1.0))


def measure_agreement(blocks: ItemBlocks, weights: Floats, n_classes: int = 2) -> Floats:
    """Return each voter's agreement with the weighted majority (1 / m of m tied classes)."""
    if n_classes > 2:
        agreed, counts = blocks.sum(_agree_run, weights, n_classes)
        return np.asarray(agreed / np.maximum(counts, 1.0))
    margin = share_weight(blocks, weights)
    signed = blocks.tally(np.where(np.abs(margin) > TIED, np.sign(margin), 0.0))[0]
    counts = blocks.tally(np.ones(len(blocks)))[1]
    return np.where(counts > 0, (counts + signed) / 2 / np.maximum(counts, 1.0), 0.0)


def _share_run(run: Ballots, weights: Floats, n_classes: int) -> Floats:
    mass = sum_at(run.items, weights[run.voters], run.n_items)[:, None]
    return count_answers(run, weights, n_classes) / np.where(mass > 0, mass, 1.0)


def _agree_run(run: Ballots, weights: Floats, n_classes: int) -> Sums:
    shares = _share_run(run, weights, n_classes)
    best = shares >= shares.max(axis=1, keepdims=True) - TIED
    right = (best / best.sum(axis=1, keepdims=True))[run.items, run.answer(n_classes)]
    return tuple(sum_at(run.voters, each, len(weights)) for each in (right, np.ones_like(right)))


@stored()
class MajorityVote(WeightedMajority):
    """Majority vote: the score is the share of yes votes minus the share of no votes.

    With more than two classes, it is the share of each. A voter who gives every item the same vote
    is left out. A tie goes to the class with more votes in all; `labels` lists ties. A share of
    votes is not a probability of the truth, so there is no `predict_proba`.

    Examples
    --------
    >>> import unelisa as ue
    >>> ue.MajorityVote().fit_predict([[1, 1, -1], [-1, None, -1], [-1, -1, 1]])
    array([ 1, -1, -1])
    """

    def _weigh(self, _blocks: ItemBlocks, n_voters: int, _n_classes: int) -> Floats:
        return np.ones(n_voters)


@stored()
class Wawa(WeightedMajority):
    """Voters weighted by how often they agree with the majority, like crowd-kit's Wawa.

    The weight of a voter is the share of its votes that agree with the majority; the score is
    ``sum_s weight_s f_is / sum_s weight_s |f_is|``, or with more than two classes the share of
    weight that said each. It is not a probability, so there is no `predict_proba`.

    Where the majority is tied, crowd-kit picks one of the labels; here each of m counts 1 / m. A
    voter who gives every item the same vote has weight 0.

    Attributes
    ----------
    weights_
        Agreement with the majority, between 0 and 1: never negative.

    References
    ----------
    Appen Limited (2021), Calculating worker agreement with aggregate (Wawa); Ustalov, Pavlichenko
    and Tseitlin (2024), Learning from crowds with Crowd-Kit. doi:10.21105/joss.06227

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, 1, -1], [1, 1, -1, 1], [-1, -1, -1, 1], [-1, -1, 1, -1]]
    >>> ue.Wawa().fit(votes).weights_
    array([1. , 1. , 0.5, 0.5])
    """

    def _weigh(self, blocks: ItemBlocks, n_voters: int, n_classes: int) -> Floats:
        return measure_agreement(blocks, np.ones(n_voters), n_classes)


@stored(n_iter_="count")
class ZeroBasedSkill(WeightedMajority):
    """Voters weighted by their agreement with the weighted majority, like crowd-kit's ZBS.

    `Wawa` iterated: each iteration moves every weight toward the share of the voter's votes that
    agree with the weighted majority, in ever shorter steps. The score is the margin of the last
    majority, not a probability, so there is no `predict_proba`. Ties count as in `Wawa`.

    Parameters
    ----------
    max_iter
        Number of iterations.

    Attributes
    ----------
    weights_, n_iter_
        The skills, between 0 and 1, and the number of iterations.

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

    def _weigh(self, blocks: ItemBlocks, n_voters: int, n_classes: int) -> Floats:
        self.n_iter_ = self.max_iter
        skills, rate = np.full(n_voters, 0.5), 1.0
        for iteration in range(1, self.max_iter + 1):
            if iteration % PATIENCE == 0:
                rate *= REDUCTION
            agreement = measure_agreement(blocks, skills, n_classes)
            skills = skills + rate * (agreement - skills)
        return skills

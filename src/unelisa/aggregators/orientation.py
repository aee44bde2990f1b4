"""Orientation: which side is "yes", which the votes alone cannot identify.

Gold labels decide unless they split evenly; else `orient`: an anchor voter, or "majority" (more
experts are positive than negative, then the sum of weights, or `pool_votes`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, expit

from unelisa.aggregators.base import Aggregator, Floats, LogOdds
from unelisa.errors import ModelError, VotesWarning, warn_user
from unelisa.estimator import Takes
from unelisa.votes import Votes
from unelisa.votes.columns import spell_name

Orient = str | int
SAME = 0.01  # share of items on which answers may differ and still count as one
EVEN = (
    "the answer depends on a tie: as many experts are on one side as on the other, and their "
    "weights decide which is yes"
)


class Rival(NamedTuple):
    """Another answer to the same votes that is as good as the one that was taken."""

    scores: Floats  # one per item, before the sides are decided
    votes: Floats  # as `OrientedAggregator._side_votes`
    what: str  # the two answers, in words
    allowed: float  # share of items on which it may differ without a warning


class OrientedAggregator(Aggregator):
    """An aggregator whose model is symmetric in yes and no: `orient` decides which is which."""

    takes = Takes(gold="side")
    orient: Orient

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None) -> None:
        """Fit the method, then decide which side is yes; say where either rests on a tie."""
        if votes.n_classes > 2:
            self._learn_classes(votes, gold)
            return
        self._rivals: list[Rival] = []
        super()._learn(votes, gold, prior)
        ballots = self._side_votes()
        by_majority = gold is None and self.orient == "majority"
        if even := by_majority and bool(ballots.any()) and np.sign(ballots).sum() == 0:
            self._tie = EVEN
        scores = np.empty(0) if by_majority and not even else self._score_all(votes)
        if is_upside_down(self.orient, votes, scores, ballots, gold):
            self._turn_around()
        for rival in self._rivals:
            self._compare(rival, votes, gold)
        del self._rivals

    def _learn_classes(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        """Fit a method that takes more than two classes to them: there is no side to decide."""
        raise NotImplementedError

    def _note_rival(self, votes: Votes, what: str, allowed: float = SAME) -> None:
        self._rivals.append(Rival(self._score_all(votes), self._side_votes(), what, allowed))

    def _compare(self, rival: Rival, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        """Say that the answer rests on a tie if the rival, on its own side, labels otherwise."""
        upside_down = find_side(self.orient, votes, rival.scores, rival.votes, gold).upside_down
        labels = np.sign(rival.scores) * (-1 if upside_down else 1)
        share = float(np.mean(labels != np.sign(self._score_all(votes))))
        if share > rival.allowed:
            what = f"{rival.what} label {share:.1%} of the items differently"
            self._tie = f"the answer depends on {what}"

    def _side_votes(self) -> Floats:
        """Return the signs that `orient="majority"` counts as votes, by default one per voter."""
        return self.weights_

    def _turn_around(self) -> None:
        self.weights_ = -self.weights_


class PosteriorAggregator(LogOdds, OrientedAggregator):
    """An oriented aggregator whose score is a log-odds."""

    def _average_chances(self, votes: Votes) -> Floats:
        """Set the prevalence to the mean of the probabilities of items with votes; return them."""
        chances: Floats = expit(self._score(votes))
        self.prevalence_ = float(chances[votes.values.any(axis=1)].mean())
        return chances

    def _turn_around(self) -> None:
        super()._turn_around()
        self.prevalence_ = 1 - self.prevalence_


def pool_votes(merits: Floats) -> Floats:
    """Return sum_s sign(m_s) m_s^2, m_s = 2 balanced accuracy - 1: all voters' vote on the side."""
    return np.array([np.sum(merits * np.abs(merits))])


class Side(NamedTuple):
    """Which side is yes, and the evidence of gold labels or of the anchor voter."""

    upside_down: bool
    # +1 and -1 for gold labels (or votes of the anchor) that agree and disagree with the scores
    agreements: NDArray[Any] | None = None
    whose: str = ""

    def warn_of_thin_evidence(self) -> None:
        """Warn where the side is not significant at the 5 % level, by a binomial test."""
        if self.agreements is None:
            return
        agree, differ = (int((sign * self.agreements > 0).sum()) for sign in (1, -1))
        decided = agree + differ
        if float(bdtr(min(agree, differ), decided, 0.5)) <= 0.05:
            return
        found = (
            f"{max(agree, differ)} of {decided} {self.whose} point one way"
            if decided
            else f"no {self.whose} can be used"
        )
        warn_user(
            f"{found}, which may be chance: which side is yes is hardly decided", VotesWarning
        )


def is_upside_down(*given: Any) -> bool:
    """Return what `find_side` does; warn of thin evidence."""
    side = find_side(*given)
    side.warn_of_thin_evidence()
    return side.upside_down


def find_side(
    orient: Orient,
    votes: Votes,
    scores: Floats,
    weights: Floats,
    gold: NDArray[np.int8] | None = None,
) -> Side:
    """Return whether truth and polarity must be flipped together; the majority settles ties."""
    sides = np.sign(scores)
    # for log odds this sum is the log likelihood ratio of the two orientations
    if gold is not None and (agreement := float(gold @ scores)) != 0:
        return Side(agreement < 0, gold * sides, "gold labels")
    if orient == "majority":
        balance = float(np.sign(weights).sum() or np.round(weights.sum(), 12))
        if balance == 0 and len(sides):
            everybody = np.ones(votes.n_voters)
            balance = float(sides @ np.sign(votes.blocks.weigh(everybody, 0 * everybody)))
        return Side(balance < 0)
    chosen = np.arange(votes.n_voters) == find_voter(votes.voters, orient)
    anchor = votes.blocks.weigh(chosen.astype(np.float64), np.zeros(votes.n_voters))
    return Side(float(anchor @ sides) < 0, anchor * sides, "votes of the anchor")


def find_voter(voters: NDArray[Any], voter: Orient) -> int:
    """Return a voter's index by name, or check an index."""
    names = list(map(spell_name, voters))
    if spell_name(voter) in names:
        return names.index(spell_name(voter))
    if isinstance(voter, int) and -len(voters) <= voter < len(voters):
        return voter % len(voters)
    raise ModelError(
        f"orient must be 'majority' or a voter, found {voter!r}, which is not among the voters"
    )

"""Orientation: which side is "yes", which the votes alone cannot identify.

Flipping the hidden truth and every voter's polarity together leaves the distribution of the votes
unchanged. The side is decided, in this order, by

1. gold labels, if `fit` was given any and they do not split evenly;
2. `orient`: "majority" (the paper: more of the experts are positive than negative, ties by the sum
   of their weights; methods that prune nobody weight voters by how informative they are, see
   `pool_ballots`), or an anchor voter, by name or index, who is right more often than wrong.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from unelisa.aggregators.base import Aggregator, Floats, LogOdds
from unelisa.errors import ModelError, VotesWarning, warn_user
from unelisa.latent import interpret
from unelisa.latent.reading import Reading
from unelisa.progress import until
from unelisa.votes import Votes
from unelisa.votes.ballots import set_prior_odds
from unelisa.votes.blocks import ItemBlocks

Orient = str | int
SAME = 0.01  # share of items on which answers may differ and still count as one
EVEN = (
    "the answer depends on a tie: as many experts are on one side as on the other, and their "
    "weights decide which is yes"
)
CONTRADICTION = (
    "the prior and the anchor voter point to opposite sides: the anchor decides which side is yes, "
    "and the prior contradicts the votes"
)


class Rival(NamedTuple):
    """Another answer to the same votes that is as good as the one that was taken."""

    scores: Floats  # one per item, before the sides are decided
    ballots: Floats  # as `OrientedAggregator._ballots`
    what: str  # the two answers, in words
    allowed: float  # share of items on which it may differ without being told


class OrientedAggregator(Aggregator):
    """An aggregator whose model is symmetric in yes and no: `orient` decides which is which."""

    orient: Orient

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None) -> None:
        """Fit the method, then decide which side is yes; say where either rests on a tie."""
        if votes.n_classes > 2:
            self._learn_classes(votes, gold)
            return
        self._rivals: list[Rival] = []
        super()._learn(votes, gold, prior)
        ballots = self._ballots()
        by_majority = gold is None and self.orient == "majority"
        even = by_majority and bool(ballots.any()) and np.sign(ballots).sum() == 0
        scores = np.empty(0) if by_majority and not even else self._score_all(votes)
        if is_upside_down(self.orient, votes, scores, ballots, gold):
            self._turn_around()
        if even:
            self._tie = EVEN
        for rival in self._rivals:
            self._compare(rival, votes, gold)
        del self._rivals

    def _learn_classes(self, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        """Fit a method that takes more than two classes to them: there is no side to decide."""
        raise NotImplementedError

    def _note_rival(self, votes: Votes, what: str, allowed: float = SAME) -> None:
        """Remember the fit that is stored as another answer to the votes."""
        self._rivals.append(Rival(self._score_all(votes), self._ballots(), what, allowed))

    def _compare(self, rival: Rival, votes: Votes, gold: NDArray[np.int8] | None) -> None:
        """Say that the answer rests on a tie if the rival, on its own side, labels otherwise."""
        upside_down = find_side(self.orient, votes, rival.scores, rival.ballots, gold).upside_down
        labels = np.sign(rival.scores) * (-1 if upside_down else 1)
        share = float(np.mean(labels != np.sign(self._score_all(votes))))
        if share > rival.allowed:
            what = f"{rival.what} label {share:.1%} of the items differently"
            self._tie = f"the answer depends on {what}"

    def _ballots(self) -> Floats:
        """Return the ballots whose signs `orient="majority"` counts, by default one per voter."""
        return self.weights_

    def _turn_around(self) -> None:
        """Swap the two sides of the truth."""
        self.weights_ = -self.weights_


class PosteriorAggregator(LogOdds, OrientedAggregator):
    """An oriented aggregator whose score is a log-odds."""

    def _turn_around(self) -> None:
        super()._turn_around()
        self.prevalence_ = 1 - self.prevalence_


def pool_ballots(merits: Floats) -> Floats:
    """Return one ballot for all voters: the sum of sign(m_s) m_s^2, m_s = 2 balanced accuracy - 1.

    Where nobody is pruned, most voters may be nearly uninformative, and a count of signs is theirs.
    """
    return np.array([np.sum(merits * np.abs(merits))])


class Side(NamedTuple):
    """Which side is yes, and the evidence of gold labels or of the anchor voter."""

    upside_down: bool
    # +1 and -1 for gold labels (or votes of the anchor) that agree and disagree with the scores
    agreements: NDArray[Any] | None = None
    whose: str = ""


def is_upside_down(
    orient: Orient,
    votes: Votes,
    scores: Floats,
    weights: Floats,
    gold: NDArray[np.int8] | None = None,
) -> bool:
    """Return whether truth and polarity must be flipped together; warn of thin evidence.

    The sign of a voter's weight is its polarity, and 0 does not count. `gold` is -1 / +1 for items
    whose truth is known, 0 elsewhere.
    """
    side = find_side(orient, votes, scores, weights, gold)
    if side.agreements is not None:
        _warn_of_thin_evidence(side.agreements, side.whose)
    return side.upside_down


def find_side(
    orient: Orient,
    votes: Votes,
    scores: Floats,
    weights: Floats,
    gold: NDArray[np.int8] | None = None,
) -> Side:
    """Return the side as `is_upside_down` does, without a warning.

    If weights of both signs are equally many and sum to 0, the side that agrees with the majority
    of all votes is taken.
    """
    sides = np.sign(scores)
    # for log odds this sum is the log likelihood ratio of the two orientations
    if gold is not None and (agreement := float(gold @ scores)) != 0:
        return Side(agreement < 0, gold * sides, "gold labels")
    if orient == "majority":
        lean = float(np.sign(weights).sum() or np.round(weights.sum(), 12))
        if lean == 0 and len(sides):
            everybody = np.ones(votes.n_voters)
            lean = float(sides @ np.sign(votes.blocks.weigh(everybody, 0 * everybody)))
        return Side(lean < 0)
    chosen = np.arange(votes.n_voters) == find_voter(votes.voters, orient)
    anchor = votes.blocks.weigh(chosen.astype(np.float64), np.zeros(votes.n_voters))
    return Side(float(anchor @ sides) < 0, anchor * sides, "votes of the anchor")


def find_voter(voters: NDArray[Any], voter: Orient) -> int:
    """Return a voter's index by name, or check an index."""
    matches = np.flatnonzero([str(name) == str(voter) for name in voters])
    if len(matches):
        return int(matches[0])
    if isinstance(voter, int) and -len(voters) <= voter < len(voters):
        return voter % len(voters)
    raise ModelError(
        f"orient must be 'majority' or a voter, found {voter!r}, which is not among the voters"
    )


def _warn_of_thin_evidence(agreements: NDArray[Any], whose: str) -> None:
    """Warn where the side is not significant at the 5 % level.

    With k of m agreements, that is P(B <= min(k, m - k)) > .05 for B binomial (m, 1/2): five that
    agree suffice.
    """
    agree, differ = int((agreements > 0).sum()), int((agreements < 0).sum())
    decided = agree + differ
    if float(bdtr(min(agree, differ), decided, 0.5)) <= 0.05:
        return
    found = (
        f"{max(agree, differ)} of {decided} {whose} point one way"
        if decided
        else f"no {whose} can be used"
    )
    warn_user(f"{found}, which may be chance: which side is yes is hardly decided", VotesWarning)


def read_sides(votes: Votes, ballots: ItemBlocks, prior_odds: Floats, model: Any) -> Reading:
    """Return the reading of the votes, on the side of the anchor, or of prior and majority.

    `model` says which structure and which orientation are asked for.
    """
    if votes.n_classes > 2 and model.orient != "majority":
        raise ModelError("orient takes two classes; more than two have no sides to swap")
    with until(0.9):
        reading = interpret(ballots, model.structure, votes.n_classes)
    if votes.n_classes > 2:
        return reading
    bare = set_prior_odds(ballots, np.zeros(ballots.n_items))
    scores = reading.score(bare) if prior_odds.any() or model.orient != "majority" else np.empty(0)
    if model.orient != "majority":
        turned = is_upside_down(model.orient, votes, scores, np.empty(0))
    elif prior_odds.any():
        turned = bool(prior_odds @ scores < 0)
    else:
        turned = reading.leans_down()
    if not turned:
        return _note_contradiction(reading, prior_odds, scores)
    if prior_odds.any() and not reading.sign_is_open:
        # the majority's side was fitted, where the prior has the opposite sign
        reading = interpret(set_prior_odds(ballots, -prior_odds), model.structure)
    return _note_contradiction(reading.turned(), prior_odds, -scores)


def _note_contradiction(reading: Reading, prior_odds: Floats, scores: Floats) -> Reading:
    differ = prior_odds.any() and bool(prior_odds @ scores < 0)
    return reading.doubting(CONTRADICTION) if differ else reading

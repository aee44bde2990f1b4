"""Orientation: which side is "yes", which the votes alone cannot identify.

Flipping the hidden truth and every voter's polarity together leaves the distribution of the votes
unchanged. The side is decided, in this order, by

1. gold labels, if `fit` was given any and they do not split evenly;
2. `orient`: "majority" (the paper: more of the experts are positive than negative, ties by the sum
   of their weights; methods that prune nobody weight voters by how informative they are, see
   `aggregators.base.pool_ballots`), or an anchor voter, by name or index, who is right more often
   than wrong.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from unelisa.errors import ModelError, VotesWarning, warn_user
from unelisa.votes import Votes

Orient = str | int


class Side(NamedTuple):
    """Which side is yes, and the evidence of gold labels or of the anchor voter."""

    upside_down: bool
    # +1 and -1 for gold labels (or votes of the anchor) that agree and disagree with the scores
    agreements: NDArray[Any] | None = None
    whose: str = ""


def is_upside_down(
    orient: Orient,
    votes: Votes,
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
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
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
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

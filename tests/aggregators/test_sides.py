"""Which side is yes: the majority's, or an anchor's."""

import numpy as np

from unelisa.aggregators import LatentIsing
from unelisa.aggregators.sides import CONTRADICTION, read_sides
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots


def test_an_anchor_turns_the_reading_around():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    right = rng.random((300, 6)) < 0.8
    right[:, 5] = ~right[:, 5]  # the anchor is against the others
    votes = Votes.of(np.where(right, truth[:, None], -truth[:, None]), coding="pm1")
    ballots, nothing = list_ballots(votes.blocks), np.zeros(300)
    by_majority = read_sides(votes, ballots, nothing, LatentIsing())
    by_anchor = read_sides(votes, ballots, nothing, LatentIsing(orient=5))
    assert np.mean((by_majority.score(ballots) > 0) == (truth > 0)) > 0.9
    assert np.mean((by_anchor.score(ballots) > 0) == (truth < 0)) > 0.9
    against = read_sides(votes, ballots, truth.astype(float), LatentIsing(orient=5))
    assert CONTRADICTION in {reason.text for reason in against.reasons}

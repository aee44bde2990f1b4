from functools import partial

import numpy as np
import pytest

from unelisa.aggregators import LatentIsing
from unelisa.aggregators.latent_ising import CONTRADICTION, read_sides
from unelisa.aggregators.orientation import find_voter, is_upside_down
from unelisa.errors import ModelError, VotesWarning
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots

VOTES = Votes.of(np.array([[1, -1, 1], [1, -1, 1], [-1, 1, 1]]))
SCORES = np.array([1.0, 1.0, -1.0])


@pytest.mark.parametrize(
    ("weights", "upside_down"),
    [([1, 1, -1], False), ([-1, -1, 1], True), ([2, -1, 0], False), ([1, -2, 0], True)],
)
def test_majority_counts_sides_then_weighs_them(weights, upside_down):
    weights = np.array(weights, dtype=float)
    assert is_upside_down("majority", VOTES, SCORES, weights) is upside_down


def test_an_anchor_is_right_more_often_than_wrong():
    weights = np.array([1.0, -1.0, 0.0])
    votes, scores = VOTES.take_items([0, 1, 2] * 2), np.tile(SCORES, 2)
    assert not is_upside_down(0, votes, scores, weights)
    assert is_upside_down("v1", votes, scores, weights)


@pytest.mark.filterwarnings("ignore:1 of 1 gold labels")
def test_gold_labels_come_first_unless_they_split_evenly():
    weights = np.ones(3)
    against = np.array([-1, 0, 0], dtype=np.int8)
    even = np.array([1, -1, 0], dtype=np.int8)
    assert is_upside_down("majority", VOTES, SCORES, weights, against)
    assert not is_upside_down("majority", VOTES, SCORES, weights, even)


@pytest.mark.parametrize(
    ("agree", "differ", "told"),
    [
        (2, 1, "2 of 3 gold labels point one way, which may be chance"),
        (4, 0, "4 of 4 gold labels"),
        (6, 0, None),
        (1, 8, None),
        (2, 7, "7 of 9 gold labels"),
    ],
)
def test_thin_gold_is_pointed_out(agree, differ, told):
    gold = np.array([1] * agree + [-1] * differ, dtype=np.int8)
    votes = Votes.of(np.resize([1, -1], (len(gold), 2)))
    settle = partial(is_upside_down, "majority", votes, np.ones(len(gold)), np.ones(2), gold)
    if told is None:
        assert settle() is (differ > agree)
    else:
        with pytest.warns(VotesWarning, match=told):
            assert settle() is (differ > agree)


def test_an_anchor_who_says_nothing_is_pointed_out():
    silent = Votes.of(np.array([[1, 0], [-1, 0], [1, 0]]), coding="pm1")
    with pytest.warns(VotesWarning, match="no votes of the anchor can be used"):
        assert not is_upside_down("v1", silent, SCORES, np.array([1.0, 0.0]))


def test_voters_are_found_by_name_or_index():
    assert find_voter(VOTES.voters, "v2") == 2
    assert find_voter(VOTES.voters, -1) == 2
    with pytest.raises(ModelError, match="'majority' or a voter, found 'nobody'"):
        find_voter(VOTES.voters, "nobody")
    with pytest.raises(ModelError, match="not among the voters"):
        find_voter(VOTES.voters, 3)


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

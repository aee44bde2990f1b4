import numpy as np
import pytest

from unelisa.errors import ModelError
from unelisa.orientation import find_voter, is_upside_down
from unelisa.votes import Votes

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
    assert not is_upside_down(0, VOTES, SCORES, weights)
    assert is_upside_down("v1", VOTES, SCORES, weights)


def test_gold_labels_come_first_unless_they_split_evenly():
    weights = np.ones(3)
    against = np.array([-1, 0, 0], dtype=np.int8)
    even = np.array([1, -1, 0], dtype=np.int8)
    assert is_upside_down("majority", VOTES, SCORES, weights, against)
    assert not is_upside_down("majority", VOTES, SCORES, weights, even)


def test_voters_are_found_by_name_or_index():
    assert find_voter(VOTES.voters, "v2") == 2
    assert find_voter(VOTES.voters, -1) == 2
    with pytest.raises(ModelError, match="'majority' or a voter, found 'nobody'"):
        find_voter(VOTES.voters, "nobody")
    with pytest.raises(ModelError, match="no voter of these votes"):
        find_voter(VOTES.voters, 3)

import numpy as np
import pytest

from unelisa.aggregators import MajorityVote
from unelisa.errors import VotesWarning

TABLE = np.array([[1, 1, -1], [-1, np.nan, -1], [1, -1, np.nan], [np.nan, np.nan, 1]])


def test_the_share_of_yes_minus_the_share_of_no():
    model = MajorityVote().fit(TABLE)
    assert model.decision_function(TABLE) == pytest.approx([1 / 3, -1, 0, 1])
    assert model.predict(TABLE).tolist() == [1, -1, 1, 1]
    assert model.weights_.tolist() == [1, 1, 1]


def test_a_voter_who_never_voted_does_not_count():
    with pytest.warns(VotesWarning, match="never voted"):
        model = MajorityVote().fit(np.column_stack([TABLE, np.full(4, np.nan)]))
    assert model.weights_.tolist() == [1, 1, 1, 0]
    assert model.experts_.tolist() == [0, 1, 2]
    assert model.voters_.reason[3] == "it never voted"


def test_a_share_is_no_probability():
    assert not hasattr(MajorityVote(), "predict_proba")


@pytest.mark.shared
def test_bluebirds(bluebirds):
    votes, truth = bluebirds
    scores = MajorityVote().fit(votes).decision_function(votes)
    right = np.where(scores == 0, 0.5, np.sign(scores) == truth)
    assert right.mean() == pytest.approx(0.759, abs=5e-4)

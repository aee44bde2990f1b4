import numpy as np
import pytest

from studies.chances import rate_honesty, share_of_votes, share_of_yes
from unelisa.votes import Votes


def test_shares_are_never_certain():
    values = np.array([[1] * 8, [-1] * 8, [0] * 8, [1, -1, *[0] * 6]], dtype=np.int8)
    assert share_of_yes(values).tolist() == [0.9, 0.1, 0.5, 0.5]


def test_the_share_of_votes_of_two_classes_is_that_of_yes():
    values = np.array([[1, 1, 0], [-1, 1, 1], [-1, 0, 0]], dtype=np.int8)
    shares = share_of_votes(Votes.of(values, coding="pm1"))
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[:, 1] == pytest.approx(share_of_yes(values))


def test_confidence_and_error_by_hand():
    truth = np.array([1, 1, -1, 0], dtype=np.int8)
    found = rate_honesty(truth, np.array([0.95, 0.05, 0.05, 0.5]))
    assert found["confidence"] == pytest.approx(0.95)
    # one of the two items at .05 is positive
    assert found["ece"] == pytest.approx((0.05 + 2 * 0.45) / 3)

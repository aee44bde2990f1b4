import numpy as np
import pytest

from unelisa.aggregators import Wawa, ZeroBasedSkill
from unelisa.aggregators.zero_based_skill import follow_agreement
from unelisa.errors import ModelError
from unelisa.votes.blocks import WholeTable

HAND = np.array([[1, 1, -1], [1, -1, -1], [-1, 1, 1], [1, 1, 1]], dtype=np.int8)


def test_the_first_round_is_wawa():
    assert follow_agreement(WholeTable(HAND), 1) == pytest.approx(Wawa().fit(HAND).weights_)


def test_two_rounds_by_hand():
    """Agreement with the majority: 1/2, 1, 3/4; voter 0 is then outvoted by the others for good."""
    assert follow_agreement(WholeTable(HAND), 1) == pytest.approx([0.5, 1, 0.75])
    assert follow_agreement(WholeTable(HAND), 2) == pytest.approx([0.5, 1, 0.75])


def test_steps_become_shorter(crowd):
    values = crowd[0].values
    late = [follow_agreement(WholeTable(values), rounds) for rounds in (99, 100)]
    assert np.abs(late[1] - late[0]).max() < 1e-3


def test_the_number_of_rounds_is_checked():
    with pytest.raises(ModelError, match="at least 1"):
        ZeroBasedSkill(max_iter=0).fit(HAND)

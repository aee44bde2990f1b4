import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unelisa.aggregators.shares import measure_class_agreement, weigh_shares, weighed_margin
from unelisa.aggregators.wawa import measure_agreement
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import WholeTable


def draw(n_classes, seed, n_items=30, n_voters=6):
    codes = np.random.default_rng(seed).integers(0, n_classes + 1, (n_items, n_voters))
    return np.asfortranarray(codes.astype(np.uint8).view(np.int8))


@given(n_classes=st.integers(2, 200), seed=st.integers(0, 99))
def test_shares_are_those_of_the_weights(n_classes, seed):
    codes = draw(n_classes, seed)
    weights = np.random.default_rng(seed).random(6)
    shares = weigh_shares(list_ballots(WholeTable(codes)), weights, n_classes)
    for row, said in zip(shares, codes.view(np.uint8), strict=True):
        mass = weights[said > 0].sum() or 1.0
        expected = [weights[said == k].sum() / mass for k in range(1, n_classes + 1)]
        assert row == pytest.approx(expected, abs=1e-12)


@given(seed=st.integers(0, 99))
def test_two_classes_are_the_margin(seed):
    """The code for more classes, driven with two of them."""
    codes = draw(2, seed)
    signs = np.array([0, -1, 1], dtype=np.int8)[codes]
    weights = np.random.default_rng(seed).integers(0, 3, 6) / 2
    ballots, table = list_ballots(WholeTable(codes)), WholeTable(np.asfortranarray(signs))
    shares, margin = weigh_shares(ballots, weights, 2), weighed_margin(table, weights)
    assert shares[:, 1] - shares[:, 0] == pytest.approx(margin, abs=1e-12)
    agreed = measure_class_agreement(ballots, weights, 2)
    assert agreed == pytest.approx(measure_agreement(table, margin), abs=1e-12)


def test_a_tie_is_shared_by_its_classes():
    codes = np.array([[1, 2, 3, 0], [1, 1, 2, 2], [3, 3, 1, 0]], dtype=np.int8, order="F")
    agreed = measure_class_agreement(list_ballots(WholeTable(codes)), np.ones(4), 3)
    third, half = 1 / 3, 1 / 2
    expected = [(third + half + 1) / 3, (third + half + 1) / 3, (third + half) / 3, half]
    assert agreed == pytest.approx(expected)

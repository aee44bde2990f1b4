"""Confusions from both coins of a voter."""

import numpy as np
import pytest

import unelisa as ue


def test_confusions_of_two_classes_are_the_coins():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 400)
    right = rng.random((400, 5)) < [0.9, 0.8, 0.7, 0.75, 0.6]
    model = ue.DawidSkene().fit(np.where(right, truth[:, None], -truth[:, None]))
    table = model.confusions_.set_index(["voter", "meant", "said"]).probability
    assert table.loc[("v1", 1, 1)] == pytest.approx(model.sensitivity_[1])
    assert table.loc[("v1", -1, -1)] == pytest.approx(model.specificity_[1])
    assert table.groupby(["voter", "meant"]).sum().to_numpy() == pytest.approx(1)

"""Conditionally independent voters, many items: who should reach the oracle does."""

import numpy as np
import pytest
from scipy.special import logit

from unelisa.aggregators import AGGREGATORS, DawidSkene, StackedRBM
from unelisa.votes import Votes

# these weigh voters by agreement with the majority, which no number of items makes right
NOT_CONSISTENT = {"majority-vote", "wawa", "zero-based-skill"}
ACCURACIES = np.array([0.9, 0.85, 0.8, 0.75, 0.7, 0.7, 0.65, 0.6, 0.55])


@pytest.fixture(scope="module")
def star():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(20_000) < 0.4, 1, -1).astype(np.int8)
    right = rng.random((20_000, 9)) < ACCURACIES
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    oracle = np.mean(((logit(0.4) + values @ logit(ACCURACIES)) >= 0) == (truth > 0))
    return Votes.of(values), truth, oracle


def fit(cls, votes, **settings):
    if "random_state" in cls().get_params():
        settings["random_state"] = 0
    return cls(**settings).fit(votes)


@pytest.mark.filterwarnings("ignore:the answer depends on chance")
@pytest.mark.parametrize("name", [name for name in AGGREGATORS if name not in NOT_CONSISTENT])
def test_consistent_methods_reach_the_oracle(name, star):
    votes, truth, oracle = star
    assert fit(AGGREGATORS[name], votes).score(votes, truth) > oracle - 0.01


def test_an_rbm_with_one_unit_reaches_dawid_skenes_optimum(star):
    votes, truth, _ = star
    one, two = fit(StackedRBM, votes, hidden=(1,)), fit(DawidSkene, votes)
    assert one.score(votes, truth) == pytest.approx(two.score(votes, truth), abs=0.01)

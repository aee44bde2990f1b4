import numpy as np
import pytest

from unelisa.phenotyping.graph import tie_features
from unelisa.votes import Votes


@pytest.fixture(scope="module")
def features():
    """Four features of the truth, and six of something more common that they all share."""
    rng = np.random.default_rng(2)
    truth = np.where(rng.random(8000) < 0.25, 1, -1)
    care = rng.choice([-1, 1], 8000)
    fields = np.column_stack([*[0.7 * truth] * 4, *[0.9 * care] * 6])
    values = np.where(rng.random((8000, 10)) < 1 / (1 + np.exp(-2 * fields)), 1, -1)
    return truth, Votes.of(values.astype(np.int8))


def test_features_of_the_truth_are_tied_to_it_and_others_are_not(features):
    truth, votes = features
    rng = np.random.default_rng(0)
    odds = 2 * truth + rng.normal(0, 2, len(truth))
    ties = tie_features(votes, odds, rng)
    assert ties.clear[:4].all()
    assert (ties.weights[:4] > 0.3).all()
    assert np.abs(ties.weights[4:]).max() < 0.15


def test_a_constant_feature_has_no_tie_and_two_features_no_graph(features):
    truth, votes = features
    values = votes.values.copy()
    values[:, 9] = -1
    rng = np.random.default_rng(0)
    ties = tie_features(Votes.of(values), 2.0 * truth, rng)
    assert ties.weights[9] == 0
    assert not ties.clear[9]
    assert tie_features(votes.take_voters([0, 1]), 2.0 * truth, rng) is None

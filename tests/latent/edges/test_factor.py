import numpy as np
import pytest

from unelisa.latent.crowd import Pairs, exceeds_factor
from unelisa.simulation.designs import simulate_votes


def pairs_of(values):
    first, second = np.triu_indices(values.shape[1], 1)
    common = np.full(len(first), len(values), np.float32)
    correlations = np.corrcoef(values.T)[first, second].astype(np.float32)
    return Pairs(first.astype(np.int32), second.astype(np.int32), common), correlations


def crowd(accuracies, n_items, seed):
    rng = np.random.default_rng(seed)
    truth = rng.choice([-1, 1], size=(n_items, 1))
    return np.where(rng.random((n_items, len(accuracies))) < accuracies, truth, -truth)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "accuracies",
    [np.full(20, 0.7), np.r_[np.full(15, 0.8), np.full(5, 0.2)], np.r_[np.full(6, 0.9), [0.5] * 9]],
    ids=["alike", "contrarians", "spammers"],
)
def test_a_truth_that_everybody_sees_is_one_factor(accuracies, seed):
    assert not exceeds_factor(*pairs_of(crowd(accuracies, 300, seed)))


@pytest.mark.parametrize("snr", ["high", "medium", "low"])
@pytest.mark.parametrize("size", ["log", "sqrt"])
def test_edges_between_voters_are_more(snr, size):
    votes = simulate_votes(25, size, snr, random_state=1).votes
    pairs, correlations = pairs_of(np.asarray(votes.values))
    assert exceeds_factor(pairs, correlations)
    order = np.random.default_rng(0).permutation(25)
    flipped = np.asarray(votes.values)[:, order] * np.where(order % 2, 1, -1)
    assert exceeds_factor(*pairs_of(flipped))


def test_noise_is_no_more_than_a_factor():
    assert not exceeds_factor(*pairs_of(crowd(np.full(12, 0.5), 200, 0)))

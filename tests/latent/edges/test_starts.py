import numpy as np
import pytest

from unelisa.latent.edges.likelihood import PseudoLikelihood
from unelisa.latent.edges.pilot import fit_pilot
from unelisa.latent.edges.starts import propose_starts, resembles, warm_up
from unelisa.simulation import simulate_votes


@pytest.fixture(scope="module")
def simulated():
    return simulate_votes(15, 5, "medium", n_items=800, random_state=1)


@pytest.fixture(scope="module")
def likelihood(simulated):
    return PseudoLikelihood(np.asarray(simulated.votes.values), np.zeros(1), fit_biases=False)


@pytest.fixture(scope="module")
def pilot(likelihood):
    return fit_pilot(likelihood)


def test_weights_are_known_up_to_sign_and_scale():
    weights = np.array([1.0, 0.0, -1.0, 0.5])
    assert resembles(weights, [np.array([1.0, 2.0, 5.0, 1.0]), -2 * weights])
    assert not resembles(weights, [np.array([0.0, 1.0, 0.0, 1.0])])
    assert not resembles(weights, [])


def test_starts_differ_from_each_other(likelihood, pilot):
    plain = [s.network.weights for s in propose_starts(likelihood, pilot) if not s.explained]
    assert len(plain) > 1
    for k, weights in enumerate(plain):
        assert not resembles(weights, plain[:k])
        assert np.abs(weights).max() <= 1


def test_explained_edges_are_gone(likelihood, pilot):
    for start in propose_starts(likelihood, pilot):
        network = start.network
        shared = np.outer(network.weights, network.weights)
        left = network.support & (np.abs(shared) > 0.2) & (shared * network.edges > 0)
        assert left.any() <= (not start.explained)
        assert not network.edges[~network.support].any()


def test_one_of_the_starts_is_near_the_truth(simulated, likelihood, pilot):
    truth = simulated.truth
    shares = []
    for start in propose_starts(likelihood, pilot):
        field = likelihood.truth_field(warm_up(likelihood, start).network)
        shares.append(np.mean(np.sign(field) == truth))
    assert max(*shares, 1 - min(shares)) > 0.9

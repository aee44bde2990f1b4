import numpy as np
import pytest

import naive_latent
from unelisa.latent.edges.likelihood import Network, PseudoLikelihood, empty_network
from unelisa.paper.ising import Ising
from unelisa.simulation.designs import sample_ising

N_VOTERS = 5


def make_network(rng):
    edges = np.triu(rng.normal(size=(N_VOTERS, N_VOTERS)) / 2, 1)
    edges += edges.T
    weights = rng.normal(size=N_VOTERS)
    return Network(edges, 0.5 * rng.normal(size=N_VOTERS), weights, 0.2, edges != 0)


def test_the_e_step_is_the_posterior_of_the_enumerated_model():
    rng = np.random.default_rng(0)
    network = make_network(rng)
    edges = np.zeros((N_VOTERS + 1, N_VOTERS + 1))
    edges[1:, 1:] = network.edges
    edges[0, 1:] = edges[1:, 0] = network.weights
    joint = Ising(np.append(network.field, network.biases), edges).joint()
    states = np.array(list(np.ndindex(*joint.shape[1:])))
    values = (2 * states - 1).astype(np.int8)
    low, high = (joint[truth][tuple(states.T)] for truth in (0, 1))
    found = PseudoLikelihood(values, np.zeros(1), fit_biases=True).posterior(network)
    assert np.allclose(found, high / (low + high), atol=1e-6)


def test_prior_odds_enter_as_a_field_on_the_truth():
    values = np.zeros((3, N_VOTERS), np.int8)
    odds = np.array([-2.0, 0.0, 3.0])
    posterior = PseudoLikelihood(values, odds, fit_biases=False).posterior(empty_network(N_VOTERS))
    assert np.allclose(posterior, 1 / (1 + np.exp(-odds)))


def test_marginal_loss_is_that_of_enumeration():
    rng = np.random.default_rng(1)
    network = make_network(rng)
    values = rng.choice([-1, 0, 1], size=(30, N_VOTERS)).astype(np.int8)
    wanted = naive_latent.marginal_loss(values, *network[:4])
    found = PseudoLikelihood(values, np.zeros(1), fit_biases=True).marginal_loss(network)
    assert found == pytest.approx(wanted, rel=1e-5)


def test_the_field_settles_where_the_marginal_loss_is_least():
    rng = np.random.default_rng(2)
    truth = rng.choice([-1, 1], p=[0.35, 0.65], size=(2000, 1))
    chance = 1 / (1 + np.exp(-2 * 0.5 * truth))
    values = np.where(rng.random((2000, N_VOTERS)) < chance, 1, -1).astype(np.int8)
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=True)
    network = empty_network(N_VOTERS)._replace(weights=np.full(N_VOTERS, 0.5))
    predictors = likelihood.predictors(network.edges, network.biases)
    for _ in range(30):
        network = network._replace(field=likelihood.improve_field(network, predictors))
    least = likelihood.marginal_loss(network)
    assert network.field == pytest.approx(np.log(0.65 / 0.35) / 2, abs=0.08)
    for nearby in (-0.05, 0.05):
        assert likelihood.marginal_loss(network._replace(field=network.field + nearby)) > least


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_scores_of_independent_voters_are_standard_normal(missing):
    rng = np.random.default_rng(4)
    values = rng.choice([-1, 1], size=(800, 40)).astype(np.int8)
    values[rng.random(values.shape) < missing] = 0
    likelihood = PseudoLikelihood(values, np.zeros(1), fit_biases=False)
    scores = likelihood.score_pairs(likelihood.differentiate(empty_network(40)))
    upper = scores[np.triu_indices(40, 1)]
    assert abs(upper.mean()) < 0.1
    assert upper.std() == pytest.approx(1.0, abs=0.08)
    assert np.mean(np.abs(upper) > 1.96) == pytest.approx(0.05, abs=0.025)


def test_scores_of_pairs_at_the_true_network_are_standard_normal():
    edges = np.zeros((13, 13))
    for s in range(1, 12, 2):
        edges[s, s + 1] = edges[s + 1, s] = 0.8
    states = sample_ising(Ising(0.0, edges), 2000, random_state=0).states
    likelihood = PseudoLikelihood(states[:, 1:].astype(np.int8), np.zeros(1), fit_biases=False)
    network = empty_network(12)._replace(edges=edges[1:, 1:], support=edges[1:, 1:] != 0)
    scores = likelihood.score_pairs(likelihood.differentiate(network))
    upper = scores[np.triu_indices(12, 1)]
    assert upper.std() == pytest.approx(1.0, abs=0.3)
    assert np.abs(upper).max() < 4

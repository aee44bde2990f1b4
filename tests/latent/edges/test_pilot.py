from functools import partial

import numpy as np
import pytest

from unelisa.latent.edges.likelihood import PseudoLikelihood
from unelisa.latent.edges.pilot import (
    MOST_PARTNERS,
    candidate_pairs,
    fit_pilot,
    grow,
    propose_starts,
    refit_graph,
    resembles,
    warm_up,
)
from unelisa.paper.ising import Ising
from unelisa.simulation.designs import sample_ising, simulate_votes


@pytest.fixture(scope="module")
def ring():
    """Twelve voters on a ring with edges of either sign, and no truth."""
    edges = np.zeros((13, 13))
    for s in range(12):
        t = (s + 1) % 12
        edges[s + 1, t + 1] = edges[t + 1, s + 1] = 0.6 if s % 2 else -0.6
    return edges[1:, 1:], sample_ising(Ising(0.0, edges), 1500, random_state=0).states[:, 1:]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_graph_without_truth_is_recovered(ring, missing):
    edges, states = ring
    values = states.astype(np.int8)
    values[np.random.default_rng(0).random(values.shape) < missing] = 0
    pilot = fit_pilot(PseudoLikelihood(values, np.zeros(1), fit_biases=False))
    assert np.array_equal(pilot.graph.support, edges != 0)
    assert pilot.graph.slab.size == pytest.approx(0.6, abs=0.12)
    if not missing:
        assert np.allclose(pilot.graph.edges, edges, atol=0.15)


def test_voters_whose_edges_bind_them_tightly_keep_them_all():
    """Where votes freeze, an edge of one voter says most of what its other edges say."""
    simulated = simulate_votes(25, "quarter", "low", random_state=3)
    values, true = np.asarray(simulated.votes.values), simulated.model.edges[1:, 1:] != 0
    graph = fit_pilot(PseudoLikelihood(values, np.zeros(1), fit_biases=False)).graph
    assert np.mean(graph.support[true]) > 0.9
    assert np.mean(graph.support[~true]) < 0.05


def test_growing_stops_where_no_pair_is_left(ring):
    likelihood = PseudoLikelihood(ring[1].astype(np.int8), np.zeros(1), fit_biases=False)
    graph = fit_pilot(likelihood).graph
    assert grow(likelihood, graph, lambda network: pytest.fail("grew")) is graph
    refit = partial(refit_graph, likelihood)
    missing = np.zeros_like(graph.support)
    missing[0, 1] = missing[1, 0] = True
    again = grow(likelihood, refit(graph.keep(~missing)), refit)
    assert np.array_equal(again.support, graph.support)


def test_edges_stay_symmetric_and_off_the_diagonal(ring):
    graph = fit_pilot(PseudoLikelihood(ring[1].astype(np.int8), np.zeros(1), fit_biases=True)).graph
    assert np.array_equal(graph.edges, graph.edges.T)
    assert not graph.support.diagonal().any()


def test_with_very_many_voters_only_the_strongest_pairs_are_considered():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 200))
    scores += scores.T
    scores[3, 4] = scores[4, 3] = 50.0
    pairs = candidate_pairs(scores)
    assert pairs[3, 4]
    assert np.array_equal(pairs, pairs.T)
    assert MOST_PARTNERS / 2 <= pairs.sum(axis=1).mean() < MOST_PARTNERS
    assert candidate_pairs(scores[:20, :20]).sum() == 20 * 19


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
    starts = propose_starts(likelihood, pilot)
    plain = [s.network.weights for s in starts if not s.name.endswith("fewer edges")]
    assert len(plain) > 1
    for k, weights in enumerate(plain):
        assert not resembles(weights, plain[:k])
        assert np.abs(weights).max() <= 1


def test_explained_edges_are_gone(likelihood, pilot):
    for start in propose_starts(likelihood, pilot):
        network = start.network
        shared = np.outer(network.weights, network.weights)
        left = network.support & (np.abs(shared) > 0.2) & (shared * network.edges > 0)
        assert left.any() <= (not start.name.endswith("fewer edges"))
        assert not network.edges[~network.support].any()


def test_one_of_the_starts_is_near_the_truth(simulated, likelihood, pilot):
    truth = simulated.truth
    shares = []
    for start in propose_starts(likelihood, pilot):
        field = likelihood.truth_field(warm_up(likelihood, start).network)
        shares.append(np.mean(np.sign(field) == truth))
    assert max(*shares, 1 - min(shares)) > 0.9

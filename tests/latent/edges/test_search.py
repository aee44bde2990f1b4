"""The search: the graph without a truth node, starts from it, and moves."""

from functools import partial

import numpy as np
import pytest

from unelisa.latent.edges.network import WEAK, Network, PseudoLikelihood
from unelisa.latent.edges.search import (
    MOST_PARTNERS,
    Search,
    Start,
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
def simulated():
    return simulate_votes(15, 5, "medium", n_items=1500, random_state=3)


@pytest.fixture(scope="module")
def likelihood(simulated):
    return PseudoLikelihood(np.asarray(simulated.votes.values), np.zeros(1), fit_biases=False)


@pytest.fixture(scope="module")
def pilot(likelihood):
    return fit_pilot(likelihood)


@pytest.fixture
def search(likelihood, pilot):
    return Search(likelihood, pilot)


@pytest.fixture
def right(simulated, search):
    """The true graph, fitted."""
    edges = simulated.model.edges
    support = edges[1:, 1:] != 0
    network = Network(edges[1:, 1:], np.zeros(15), edges[0, 1:], 0.0, support)
    network = network._replace(slab=search.pilot.graph.slab)
    return search.maximize(network, cycles=3)


def one_pair(s, t):
    pair = np.zeros((15, 15), bool)
    pair[s, t] = pair[t, s] = True
    return pair


def test_true_graphs_cost_least_with_the_models_experts(search, right, simulated):
    cost = search.cost(right)
    s, t = np.argwhere(np.triu(right.support))[0]
    assert search.cost(search.maximize(right.keep(~one_pair(s, t)))) > cost
    s, t = np.argwhere(np.triu(~right.support, 1))[0]
    more = right._replace(support=right.support | one_pair(s, t))
    assert search.cost(search.maximize(more)) > cost
    assert search.cost(right._replace(weights=np.zeros(15))) > cost + 15
    found = search.expert_probabilities(right) > 0.5
    assert np.array_equal(np.flatnonzero(found), simulated.experts)
    assert search.gain(right) > 50
    few = np.isin(np.arange(15), simulated.experts[:2])
    assert search.gain(right._replace(weights=right.weights * few)) <= 0


def test_weak_edges_are_removed_and_missing_ones_come_back(right, search):
    s, t = np.argwhere(np.triu(right.support))[0]
    edges = np.where(one_pair(s, t), 0.9 * WEAK * right.slab.size, right.edges)
    pruned = right._replace(edges=edges).pruned()
    assert not pruned.support[s, t]
    assert pruned.edges[s, t] == 0
    assert pruned.support.sum() == right.support.sum() - 2
    gone = np.zeros((15, 15), bool)
    for s, t in np.argwhere(np.triu(right.support))[::4]:
        gone |= one_pair(s, t)
    start = search.maximize(right.keep(~gone))
    grown = grow(search.likelihood, start, partial(search.maximize, cycles=1))
    assert np.array_equal(grown.support, right.support)
    assert np.array_equal(grown.edges, grown.edges.T)


def test_a_false_expert_takes_its_missing_edge_instead(search, right, simulated):
    """The truth's pull on an expert's neighbor, in place of their edge, is swapped back."""
    experts = np.isin(np.arange(15), simulated.experts)
    s, t = np.argwhere(right.support & experts[:, None] & ~experts)[0]
    start = right.keep(~one_pair(s, t))
    side = np.sign(right.edges[s, t] * right.weights[s])
    start = start._replace(weights=np.where(np.arange(15) == t, side, start.weights))
    assert search.expert_probabilities(start)[t] > 0.5
    swapped = search.swap(start)
    assert swapped.support[s, t]
    assert search.expert_probabilities(swapped)[t] < 0.5
    assert search.cost(swapped) < search.cost(start)


def test_explained_edges_are_cut_and_no_move_costs_more(search, right, simulated):
    s, t = simulated.experts[:2]
    edge = np.sign(right.weights[s] * right.weights[t]) * right.slab.size
    edges = np.where(one_pair(s, t), edge, right.edges)
    start = right._replace(edges=edges, support=right.support | one_pair(s, t))
    renewed = search.renew(Start("with an edge more", start))
    assert not renewed.network.support[s, t]
    assert renewed.cost == search.cost(renewed.network) < search.cost(start)
    kept = np.random.default_rng(0).random((15, 15)) < 0.5
    network = right.keep(kept & kept.T)
    start = Start("half", network, cost=search.cost(network))
    end = search.improve(start)
    assert end.cost <= start.cost
    assert end.cost == search.cost(end.network)


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


def test_growing_stops_where_no_pair_is_left_and_edges_stay_symmetric(ring):
    likelihood = PseudoLikelihood(ring[1].astype(np.int8), np.zeros(1), fit_biases=False)
    graph = fit_pilot(likelihood).graph
    assert grow(likelihood, graph, lambda network: pytest.fail("grew")) is graph
    refit = partial(refit_graph, likelihood)
    missing = np.zeros_like(graph.support)
    missing[0, 1] = missing[1, 0] = True
    again = grow(likelihood, refit(graph.keep(~missing)), refit)
    assert np.array_equal(again.support, graph.support)
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


def test_starts_differ_from_each_other_and_their_explained_edges_are_gone(likelihood, pilot):
    starts = propose_starts(likelihood, pilot)
    plain = [s.network.weights for s in starts if not s.name.endswith("fewer edges")]
    assert len(plain) > 1
    for k, weights in enumerate(plain):
        assert not resembles(weights, plain[:k])
        assert np.abs(weights).max() <= 1
    for start in propose_starts(likelihood, pilot):
        network = start.network
        shared = np.outer(network.weights, network.weights)
        left = network.support & (np.abs(shared) > 0.2) & (shared * network.edges > 0)
        assert left.any() <= (not start.name.endswith("fewer edges"))
        assert not network.edges[~network.support].any()
    weights = np.array([1.0, 0.0, -1.0, 0.5])
    assert resembles(weights, [np.array([1.0, 2.0, 5.0, 1.0]), -2 * weights])
    assert not resembles(weights, [np.array([0.0, 1.0, 0.0, 1.0])])
    assert not resembles(weights, [])


def test_one_of_the_starts_is_near_the_truth(simulated, likelihood, pilot):
    truth = simulated.truth
    shares = []
    for start in propose_starts(likelihood, pilot):
        field = likelihood.truth_field(warm_up(likelihood, start).network)
        shares.append(np.mean(np.sign(field) == truth))
    assert max(*shares, 1 - min(shares)) > 0.9

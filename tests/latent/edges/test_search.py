from functools import partial

import numpy as np
import pytest

from unelisa.latent.edges.likelihood import WEAK, Network, PseudoLikelihood
from unelisa.latent.edges.pilot import Start, fit_pilot, grow
from unelisa.latent.edges.search import Search
from unelisa.simulation.designs import simulate_votes


@pytest.fixture(scope="module")
def simulated():
    return simulate_votes(15, 5, "medium", n_items=1500, random_state=3)


@pytest.fixture
def search(simulated):
    likelihood = PseudoLikelihood(np.asarray(simulated.votes.values), np.zeros(1), fit_biases=False)
    return Search(likelihood, fit_pilot(likelihood))


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


def test_the_true_graph_costs_less_than_its_neighbors(search, right):
    cost = search.cost(right)
    s, t = np.argwhere(np.triu(right.support))[0]
    assert search.cost(search.maximize(right.keep(~one_pair(s, t)))) > cost
    s, t = np.argwhere(np.triu(~right.support, 1))[0]
    more = right._replace(support=right.support | one_pair(s, t))
    assert search.cost(search.maximize(more)) > cost
    assert search.cost(right._replace(weights=np.zeros(15))) > cost + 15


def test_the_experts_are_those_of_the_model(search, right, simulated):
    found = search.expert_probabilities(right) > 0.5
    assert np.array_equal(np.flatnonzero(found), simulated.experts)


def test_weak_edges_are_removed(right):
    s, t = np.argwhere(np.triu(right.support))[0]
    edges = np.where(one_pair(s, t), 0.9 * WEAK * right.slab.size, right.edges)
    pruned = right._replace(edges=edges).pruned()
    assert not pruned.support[s, t]
    assert pruned.edges[s, t] == 0
    assert pruned.support.sum() == right.support.sum() - 2


def test_missing_edges_come_back(search, right):
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


def test_edges_between_experts_that_the_truth_explains_are_cut(search, right, simulated):
    s, t = simulated.experts[:2]
    edge = np.sign(right.weights[s] * right.weights[t]) * right.slab.size
    edges = np.where(one_pair(s, t), edge, right.edges)
    start = right._replace(edges=edges, support=right.support | one_pair(s, t))
    renewed = search.renew(Start("with an edge more", start))
    assert not renewed.network.support[s, t]
    assert renewed.cost == search.cost(renewed.network) < search.cost(start)


def test_no_pass_through_the_moves_increases_the_cost(search, right):
    kept = np.random.default_rng(0).random((15, 15)) < 0.5
    network = right.keep(kept & kept.T)
    start = Start("half", network, cost=search.cost(network))
    end = search.improve(start)
    assert end.cost <= start.cost
    assert end.cost == search.cost(end.network)


def test_the_gain_counts_what_the_experts_explain(search, right, simulated):
    assert search.gain(right) > 50
    few = np.isin(np.arange(15), simulated.experts[:2])
    assert search.gain(right._replace(weights=right.weights * few)) <= 0

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_sampling
from unelisa.kernels.gibbs import list_neighbors, sample_gibbs


def random_model(n_nodes, seed, field=0.5):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(size=(n_nodes, n_nodes)) * (rng.random((n_nodes, n_nodes)) < 0.6), 1)
    return rng.normal(0, field, n_nodes) if field else np.zeros(n_nodes), upper + upper.T


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_neighbor_lists_rebuild_the_edges(n_nodes, seed):
    edges = random_model(n_nodes, seed)[1]
    starts, neighbors, weights = list_neighbors(edges)
    rebuilt = np.zeros_like(edges)
    for s in range(n_nodes):
        rebuilt[s, neighbors[starts[s] : starts[s + 1]]] = weights[starts[s] : starts[s + 1]]
    np.testing.assert_array_equal(rebuilt, edges)


@given(st.integers(2, 6), st.integers(0, 2**32 - 1), st.integers(0, 30), st.integers(1, 15))
@settings(deadline=None, max_examples=30)
def test_states_equal_the_naive_sampler_on_the_same_random_numbers(n_nodes, seed, burn_in, thin):
    fields, edges = random_model(n_nodes, seed)
    fast = sample_gibbs(
        fields, list_neighbors(edges), 12, burn_in, thin, np.random.default_rng(seed)
    )
    slow = naive_sampling.gibbs(fields, edges, 12, burn_in, thin, np.random.default_rng(seed))
    np.testing.assert_array_equal(fast[0], slow[0])
    assert fast[1] == slow[1]
    assert fast[0].dtype == np.int8


@pytest.mark.parametrize("field", [0.0, 0.4])
def test_moments_match_the_enumeration(field):
    fields, edges = random_model(5, 3, field)
    edges = 0.4 * edges  # with the full edges even ten passes leave successive states alike
    n = 40_000
    states, _ = sample_gibbs(fields, list_neighbors(edges), n, 1000, 50, np.random.default_rng(1))
    pairs, means = naive_sampling.pair_moments(fields, edges)
    # Ten passes apart such weakly coupled states are nearly independent: 5 standard errors.
    bound = 5 / np.sqrt(n)
    assert np.abs(states.mean(axis=0) - means).max() < bound
    assert np.abs(states.astype(float).T @ states / n - pairs).max() < bound


def test_the_generator_moves_on():
    fields, edges = random_model(4, 0)
    lists, rng = list_neighbors(edges), np.random.default_rng(0)
    first, _ = sample_gibbs(fields, lists, 50, 10, 8, rng)
    second, _ = sample_gibbs(fields, lists, 50, 10, 8, rng)
    assert not np.array_equal(first, second)


def test_a_star_of_many_experts_is_stuck_on_one_label():
    edges = np.zeros((22, 22))
    edges[0, 1:] = edges[1:, 0] = 1.0
    states, flips = sample_gibbs(
        np.zeros(22), list_neighbors(edges), 500, 1000, 44, np.random.default_rng(0)
    )
    assert flips <= 2
    assert abs(states[:, 0].mean()) > 0.9

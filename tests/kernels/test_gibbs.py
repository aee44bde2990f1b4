import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_sampling
from unelisa.kernels.gibbs import (
    list_neighbors,
    sample_gibbs,
    sample_tempering,
    start_chains,
    sweep_chain,
)


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


def test_a_star_of_many_experts_is_stuck_on_one_label():
    fields, edges = star(21)
    states, flips = sample_gibbs(
        fields, list_neighbors(edges), 500, 1000, 44, np.random.default_rng(0)
    )
    assert flips <= 2
    assert abs(states[:, 0].mean()) > 0.9


BETAS = np.linspace(1.0, 0.05, 16)


def star(n_experts):
    edges = np.zeros((n_experts + 1, n_experts + 1))
    edges[0, 1:] = edges[1:, 0] = 1.0
    return np.zeros(n_experts + 1), edges


@given(
    st.integers(2, 6),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.5]),
    st.integers(1, 5),
    st.integers(0, 7),
    st.integers(1, 4),
)
@settings(deadline=None, max_examples=30)
def test_tempered_states_equal_the_naive_sampler_on_the_same_random_numbers(
    n_nodes, seed, field, n_levels, burn_in, thin
):
    fields, edges = random_model(n_nodes, seed, field)
    betas = np.linspace(1.0, 0.1, n_levels)
    lists = list_neighbors(edges)
    fast = sample_tempering(fields, lists, betas, 9, burn_in, thin, np.random.default_rng(seed))
    slow = naive_sampling.tempering(
        fields, edges, betas, 9, burn_in, thin, rng=np.random.default_rng(seed)
    )
    np.testing.assert_array_equal(fast[0], slow[0])
    assert fast[1] == slow[1]
    assert fast[0].dtype == np.int8


def test_running_differences_do_not_drift():
    fields, edges = random_model(12, 5, 0.5)
    lists, rng = list_neighbors(edges), np.random.default_rng(0)
    chains = start_chains(fields, lists, 1, rng)
    for _ in range(20_000):
        sweep_chain(chains, 0, lists, 0.3, rng)
    state = chains.states[0].astype(float)
    np.testing.assert_allclose(chains.local[0], fields + edges @ state, atol=1e-10)
    assert chains.energies[0] == pytest.approx(
        naive_sampling.energy(state, fields, edges), abs=1e-9
    )


def test_a_star_of_many_experts_flips_without_the_free_turns():
    fields, edges = star(21)
    n = 1000
    states, flips = sample_tempering(
        fields, list_neighbors(edges), BETAS, n, 500, 8, np.random.default_rng(0)
    )
    assert n // 4 < flips < 3 * n // 4
    assert abs(states[:, 0].mean()) < 5 / np.sqrt(n)


def test_free_turns_are_not_counted_as_flips():
    fields, edges = star(21)
    only_cold = np.ones(1)
    states, flips = sample_tempering(
        fields, list_neighbors(edges), only_cold, 400, 50, 2, np.random.default_rng(0)
    )
    assert flips <= 2  # the chain itself is stuck
    assert abs(states[:, 0].mean()) < 0.25  # and yet the sample is balanced


def test_a_field_forbids_free_turns():
    fields, edges = star(5)
    fields[0] = 2.0
    states, _ = sample_tempering(
        fields, list_neighbors(edges), BETAS, 4000, 200, 4, np.random.default_rng(0)
    )
    share = 1 / (1 + np.exp(-4.0))  # sigmoid(2 theta_0)
    assert (states[:, 0] == 1).mean() == pytest.approx(share, abs=5 * np.sqrt(share / 55 / 4000))

"""Small Ising models for tests, seeds for random ones, and a crowd on easy and hard items."""

import numpy as np
from hypothesis import strategies as st

from unelisa.paper.ising import Ising

SEEDS = st.integers(0, 2**32 - 1)


def random_ising(p, seed, spread=0.5):
    """Fields on all nodes and every edge there may be: nothing of (G1)-(G3) is assumed."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(size=(p + 1, p + 1)) * (rng.random((p + 1, p + 1)) < 0.7), 1)
    return Ising(rng.normal(0, spread, p + 1), upper + upper.T)


def star(d0, weight=1.0, field=0.0):
    edges = np.zeros((d0 + 1, d0 + 1))
    edges[0, 1:] = edges[1:, 0] = weight
    return Ising(field, edges)


def with_edges(n_nodes, weights, field=0.0):
    edges = np.zeros((n_nodes, n_nodes))
    for (s, t), weight in weights.items():
        edges[s, t] = edges[t, s] = weight
    return Ising(field, edges)


def draw_easy_and_hard(rng, n_items, n_voters, share, hard, easy):
    """Truth and votes, 0 or 1, with a share of hard items; voters are as accurate as given."""
    truth = rng.integers(0, 2, n_items)
    right = np.where(rng.random(n_items) < share, hard, easy)[:, None]
    return truth, np.where(
        rng.random((n_items, n_voters)) < right, truth[:, None], 1 - truth[:, None]
    )

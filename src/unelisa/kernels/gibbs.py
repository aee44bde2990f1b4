"""The paper's Gibbs sampler (section 5.1) for an Ising model, one node at a time.

Node s is redrawn from its full conditional, P(f_s = +1 | rest) = sigmoid(2 (θ_s + sum_t θ_st f_t)),
nodes in the order 0, 1, ..., p, 0, 1, ... A sweep over all nodes costs the number of edges.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels import kernel

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]


class NeighborLists(NamedTuple):
    """Edges node by node: those of node s are ``starts[s]:starts[s + 1]`` of the other two."""

    starts: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    weights: Floats


def list_neighbors(edges: Floats) -> NeighborLists:
    """Return the non-zero entries of a symmetric matrix of edges, row by row."""
    rows, columns = np.nonzero(edges)
    starts = np.searchsorted(rows, np.arange(len(edges) + 1))
    return NeighborLists(starts.astype(np.int64), columns.astype(np.int64), edges[rows, columns])


@kernel
def draw_signs(n_nodes: int, rng: np.random.Generator) -> Signs:
    """Return independent fair signs, the initial state of every chain."""
    signs = np.empty(n_nodes, np.int8)
    for s in range(n_nodes):
        signs[s] = 1 if rng.random() < 0.5 else -1
    return signs


@kernel
def redraw_node(
    state: Signs, s: int, fields: Floats, lists: NeighborLists, rng: np.random.Generator
) -> None:
    """Redraw f_s from its full conditional, in place."""
    local = fields[s]
    for k in range(lists.starts[s], lists.starts[s + 1]):
        local += lists.weights[k] * state[lists.neighbors[k]]
    state[s] = 1 if rng.random() < 1.0 / (1.0 + np.exp(-2.0 * local)) else -1


@kernel
def sample_gibbs(
    fields: Floats,
    lists: NeighborLists,
    n_samples: int,
    burn_in: int,
    thin: int,
    rng: np.random.Generator,
) -> tuple[Signs, int]:
    """Return ``n_samples`` states (node 0 first) and how often node 0 flipped between them.

    ``burn_in`` and ``thin`` count single-node updates: the paper's 1000 and 2 (p + 1). If its
    "iteration" is a sweep over all nodes, both are p + 1 times as large. The first state is kept
    ``thin`` updates after the burn-in. A chain that mixes flips about 2 π (1 - π) n_samples times;
    0 flips mean that the sample has one label only.
    """
    n_nodes = len(fields)
    state = draw_signs(n_nodes, rng)
    samples = np.empty((n_samples, n_nodes), np.int8)
    turn, flips = 0, 0
    for i in range(n_samples):
        for _ in range(thin if i else burn_in + thin):
            redraw_node(state, turn, fields, lists, rng)
            turn = turn + 1 if turn + 1 < n_nodes else 0
        samples[i] = state
        if i and samples[i, 0] != samples[i - 1, 0]:
            flips += 1
    return samples, flips

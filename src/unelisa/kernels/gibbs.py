"""Samplers of an Ising model: the paper's Gibbs sampler (section 5.1), and parallel tempering.

Plain Gibbs sampling hardly ever flips the truth together with its experts (once per 72,707 sweeps
with 21 experts); tempering swaps states with chains at P(f)^β.
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

    ``burn_in`` and ``thin`` count updates of single nodes.
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


class Chains(NamedTuple):
    """All chains, one per row, with local fields θ_s + sum_t θ_st f_t and energies."""

    states: Signs
    local: Floats
    energies: Floats


@kernel
def start_chains(
    fields: Floats, lists: NeighborLists, n_chains: int, rng: np.random.Generator
) -> Chains:
    """Return chains that start from independent fair signs."""
    n_nodes = len(fields)
    states = draw_signs(n_chains * n_nodes, rng).reshape(n_chains, n_nodes)
    local, energies = np.empty((n_chains, n_nodes)), np.zeros(n_chains)
    for c in range(n_chains):
        for s in range(n_nodes):
            local[c, s] = fields[s]
            for k in range(lists.starts[s], lists.starts[s + 1]):
                local[c, s] += lists.weights[k] * states[c, lists.neighbors[k]]
            energies[c] += 0.5 * states[c, s] * (fields[s] + local[c, s])
    return Chains(states, local, energies)


@kernel
def sweep_chain(
    chains: Chains, c: int, lists: NeighborLists, beta: float, rng: np.random.Generator
) -> None:
    """Redraw every node of chain c in turn from its full conditional under P^β, in place."""
    state, local = chains.states[c], chains.local[c]
    for s in range(len(state)):
        positive = rng.random() < 1.0 / (1.0 + np.exp(-2.0 * beta * local[s]))
        if positive == (state[s] > 0):
            continue
        chains.energies[c] -= 2.0 * state[s] * local[s]
        state[s] = -state[s]
        for k in range(lists.starts[s], lists.starts[s + 1]):
            local[lists.neighbors[k]] += 2.0 * state[s] * lists.weights[k]


@kernel
def swap_levels(
    level: NDArray[np.int64], energies: Floats, betas: Floats, first: int, rng: np.random.Generator
) -> None:
    """Propose the swaps (first, first + 1), (first + 2, first + 3), ... of the ladder, in place."""
    for k in range(first, len(betas) - 1, 2):
        gain = energies[level[k + 1]] - energies[level[k]]
        if rng.random() < np.exp(min(0.0, (betas[k] - betas[k + 1]) * gain)):
            level[k], level[k + 1] = level[k + 1], level[k]


@kernel
def sample_tempering(
    fields: Floats,
    lists: NeighborLists,
    betas: Floats,
    n_samples: int,
    burn_in: int,
    thin: int,
    rng: np.random.Generator,
) -> tuple[Signs, int]:
    """Return ``n_samples`` states of the chain at β = 1 (node 0 first) and its number of flips.

    ``burn_in`` and ``thin`` count rounds of a sweep and swaps. Without fields each kept state is
    negated with probability 1/2; flips are counted before that, to show whether the chains mix.
    """
    chains = start_chains(fields, lists, len(betas), rng)
    samples = np.empty((n_samples, len(fields)), np.int8)
    level, symmetric = np.arange(len(betas)), not np.any(fields)
    round_number, flips, previous = 0, 0, 0
    for i in range(n_samples):
        for _ in range(thin if i else burn_in + thin):
            for k in range(len(betas)):
                sweep_chain(chains, level[k], lists, betas[k], rng)
            swap_levels(level, chains.energies, betas, round_number % 2, rng)
            round_number += 1
        samples[i] = chains.states[level[0]]
        flips += samples[i, 0] == -previous
        previous = samples[i, 0]
        if symmetric and rng.random() < 0.5:
            samples[i] *= -1
    return samples, flips

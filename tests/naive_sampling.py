"""Slow, obvious twins of the Ising model's enumeration and of its samplers."""

import itertools
import math

import numpy as np


def energy(state, fields, edges):
    """sum_s theta_s f_s + sum_{s<t} theta_st f_s f_t."""
    p = len(state)
    pairs = sum(edges[s][t] * state[s] * state[t] for s in range(p) for t in range(s + 1, p))
    return sum(fields[s] * state[s] for s in range(p)) + pairs


def joint(fields, edges):
    """State -> probability, (2.1), state by state."""
    states = list(itertools.product((-1, 1), repeat=len(fields)))
    weights = [math.exp(energy(state, fields, edges)) for state in states]
    return {state: weight / sum(weights) for state, weight in zip(states, weights, strict=True)}


def pair_moments(fields, edges):
    """E f_s f_t (the diagonal is 1) and E f_s."""
    table = joint(fields, edges)
    states = np.array(list(table))
    chances = np.array(list(table.values()))
    return (states * chances[:, None]).T @ states, chances @ states


def start(n_nodes, rng):
    return [1 if rng.random() < 0.5 else -1 for _ in range(n_nodes)]


def redraw(state, s, fields, edges, beta, rng):
    local = fields[s] + sum(edges[s][t] * state[t] for t in range(len(state)))
    state[s] = 1 if rng.random() < 1 / (1 + math.exp(-2 * beta * local)) else -1


def gibbs(fields, edges, n_samples, burn_in, thin, rng):
    n_nodes = len(fields)
    state = start(n_nodes, rng)
    kept = []
    for update in range(burn_in + thin * n_samples):
        redraw(state, update % n_nodes, fields, edges, 1.0, rng)
        if update >= burn_in and (update + 1 - burn_in) % thin == 0:
            kept.append(list(state))
    return np.array(kept), count_flips(kept)


def tempering(fields, edges, betas, n_samples, burn_in, thin, *, rng):
    n_nodes, n_levels = len(fields), len(betas)
    flat = start(n_levels * n_nodes, rng)
    ladder = [flat[k * n_nodes : (k + 1) * n_nodes] for k in range(n_levels)]
    own, kept = [], []
    for number in range(burn_in + thin * n_samples):
        for state, beta in zip(ladder, betas, strict=True):
            for s in range(n_nodes):
                redraw(state, s, fields, edges, beta, rng)
        for k in range(number % 2, n_levels - 1, 2):
            gain = energy(ladder[k + 1], fields, edges) - energy(ladder[k], fields, edges)
            if rng.random() < math.exp(min(0.0, (betas[k] - betas[k + 1]) * gain)):
                ladder[k], ladder[k + 1] = ladder[k + 1], ladder[k]
        if number >= burn_in and (number + 1 - burn_in) % thin == 0:
            turn = -1 if not any(fields) and rng.random() < 0.5 else 1
            own.append(list(ladder[0]))
            kept.append([turn * f for f in ladder[0]])
    return np.array(kept), count_flips(own)


def count_flips(states):
    return sum(states[i][0] != states[i - 1][0] for i in range(1, len(states)))

"""Where the search for the truth begins: the graph without a truth node, and starts from it.

A folded l1 fit finds the edges. What the experts share is weaker than the common size of the edges
and is left out of the graph; it suggests where the truth may be.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from unelisa.latent.edges.likelihood import Mask, Network, PseudoLikelihood, Singles, empty_network
from unelisa.latent.edges.newton import Newton, no_penalty, slab_penalty
from unelisa.latent.edges.slab import Floats, learn_edge_slab

SCAD = 3.7  # Fan and Li (2001)
GROWN = 6  # rounds in which missing edges join
STRENGTHS = (1.0, 0.7, 0.7, 0.7)  # of the penalty: it shrinks with what the fit leaves unexplained
MOST_PARTNERS = 128  # with more voters, only each voter's strongest pairs are considered
SAME = 0.95  # correlation of two weight vectors above which they count as one start
CLIPS = (0.06, 0.25)  # of the smooth edges: pairs of experts are many and weak


class Pilot(NamedTuple):
    """The graph without a truth node."""

    smooth: Floats  # edges of the l1 fit, where the experts' common truth fills in
    graph: Network  # the selected edges
    pairs: Mask  # the pairs that may become edges


def fit_pilot(likelihood: PseudoLikelihood) -> Pilot:
    """Return the graph of all voters without a truth node."""
    network = empty_network(likelihood.n_voters)
    pairs = candidate_pairs(likelihood.score_pairs(likelihood.differentiate(network)))
    network = find_edges(likelihood, network._replace(support=pairs), STRENGTHS)
    smooth, some = network.edges, np.triu(pairs, 1)
    information = likelihood.pair_information(likelihood.differentiate(network))
    network = network._replace(slab=learn_edge_slab(smooth[some], information[some]))
    graph = refit_graph(likelihood, network.pruned())
    graph = grow(likelihood, graph, lambda larger: refit_graph(likelihood, larger))
    return Pilot(smooth, graph, pairs)


def candidate_pairs(scores: Floats) -> Mask:
    """Return the pairs to consider: all of them or, with very many voters, each one's strongest."""
    n_voters = len(scores)
    pairs = ~np.eye(n_voters, dtype=bool)
    if n_voters > MOST_PARTNERS:
        strength = np.abs(scores)
        cut = -np.partition(-strength, MOST_PARTNERS // 2, axis=1)[:, MOST_PARTNERS // 2]
        strong = strength > cut[:, None]
        pairs &= strong | strong.T
    return pairs


def find_edges(
    likelihood: PseudoLikelihood,
    network: Network,
    strengths: tuple[float, ...],
    posterior: Singles | None = None,
) -> Network:
    """Return the network with the edges of its support fitted, most of them to 0.

    An l1 fit per strength, without a truth unless its posterior is given. The penalty of a pair is
    strength sqrt(log p) sd_st, less where its edge is large by now (SCAD).
    """
    n_voters = likelihood.n_voters
    newton = Newton(likelihood, network.support, with_truth=posterior is not None)
    for strength in strengths:
        at = likelihood.differentiate(network, posterior)
        l1 = strength * math.sqrt(math.log(n_voters)) * likelihood.pair_sd(at)
        size = np.abs(network.edges) * likelihood.pair_information(at) / l1
        l1 = l1 * np.clip((SCAD - size) / (SCAD - 1), 0.0, 1.0)
        penalty = no_penalty(n_voters)._replace(l1=l1)
        network = newton.run(network, penalty, 6, posterior=posterior).network
    return network


def refit_graph(likelihood: PseudoLikelihood, network: Network) -> Network:
    """Return the network with its edges fitted without a truth node."""
    newton = Newton(likelihood, network.support, with_truth=False)
    return newton.run(network, slab_penalty(network), 4).network


def grow(
    likelihood: PseudoLikelihood,
    network: Network,
    refit: Callable[[Network], Network],
) -> Network:
    """Return the network after joining pairs whose score is the largest of both voters.

    The score must exceed sqrt(2 log #pairs), the expected maximum of as many N(0, 1).
    """
    n_voters = likelihood.n_voters
    limit = math.sqrt(2 * math.log(max(n_voters * (n_voters - 1) // 2, 1)))
    for _ in range(GROWN):
        scores = likelihood.score_pairs(likelihood.differentiate(network))
        sizes = np.where(network.support, 0.0, np.abs(scores))
        largest = sizes.max(axis=1)
        new = (sizes >= np.maximum(largest[:, None], largest) - 1e-9) & (sizes > limit)
        pruned = network.pruned()
        if not new.any() and pruned.support.sum() == network.support.sum():
            break
        network = refit(pruned.joined(new, scores))
    return network


class Start(NamedTuple):
    """A network that a search starts from or has led to."""

    name: str
    network: Network
    cost: float = np.inf  # nats, see `Search.cost`
    agreement: float = 1.0  # share of items with the cheapest start's truth, up to sign


def propose_starts(likelihood: PseudoLikelihood, pilot: Pilot) -> Iterator[Start]:
    """Yield distinct starts, each with and without the graph's edges that it would explain."""
    graph, seen = pilot.graph, list[Floats]()
    for name, matrix in _matrices(likelihood, pilot):
        weights = _lead(matrix)
        if not np.any(weights) or resembles(weights, seen):
            continue
        seen.append(weights)
        yield Start(name, graph._replace(weights=weights))
        shared = np.outer(weights, weights)
        gone = graph.support & (np.abs(shared) > 0.2) & (np.sign(shared) == np.sign(graph.edges))
        if gone.any():
            network = graph.keep(~gone)._replace(weights=weights)
            yield Start(f"{name}, fewer edges", network)


def resembles(weights: Floats, others: list[Floats]) -> bool:
    """Return whether the weights equal one of the others up to sign and scale."""
    size = np.std(weights)
    return any(
        abs(np.mean((weights - weights.mean()) * (other - other.mean())))
        > SAME * size * np.std(other)
        for other in others
    )


def warm_up(likelihood: PseudoLikelihood, start: Start) -> Start:
    """Return the start after four rounds of EM on its own edges."""
    network = start.network
    newton = Newton(likelihood, network.support)
    fit = newton.run(network, slab_penalty(network), 4, rebuild=())
    return start._replace(network=fit.network)


def _matrices(likelihood: PseudoLikelihood, pilot: Pilot) -> Iterator[tuple[str, Floats]]:
    """Yield matrices whose leading eigenvector may be the experts' clique."""
    for clip in CLIPS:
        yield f"edges up to {clip:g}", np.clip(pilot.smooth, -clip, clip)
    scores = likelihood.score_pairs(likelihood.differentiate(pilot.graph))
    yield "residual scores", np.where(pilot.graph.support, 0.0, np.clip(scores, -4.0, 4.0))


def _lead(matrix: Floats) -> Floats:
    """Return the leading eigenvector as weights: small entries 0, a typical expert .8."""
    vector = np.linalg.eigh(matrix)[1][:, -1]
    n_voters = len(vector)
    typical = np.sort(np.abs(vector))[::-1][min(max(2, n_voters // 16), n_voters - 1)]
    vector = vector / max(typical, 1e-9)
    return np.clip(0.8 * np.where(np.abs(vector) < 0.35, 0.0, vector), -1.0, 1.0)

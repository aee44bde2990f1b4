"""Where the search for the truth begins: the graph without a truth node, and starts from it.

An l1 fit finds the strong pairs. Spike and slab then keeps the edges of the common size; what the
experts share is weaker and stays in the spike, and suggests where the truth may be.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unelisa.kernels.pairs import Penalty
from unelisa.latent.edges.likelihood import Mask, Network, PseudoLikelihood, Singles, empty_network
from unelisa.latent.edges.newton import Newton, no_penalty, slab_penalty
from unelisa.latent.edges.slab import Floats, Slab

SCAD = 3.7  # Fan and Li (2001)
MOST_PARTNERS = 128  # with more voters, only each voter's strongest pairs are considered
SAME = 0.95  # correlation of two weight vectors above which they count as one start
CLIPS = (0.03, 0.06, 0.12, 0.25)  # of the smooth edges: pairs of experts are many and weak


class Pilot(NamedTuple):
    """The graph without a truth node."""

    smooth: Floats  # edges of the l1 fit, where the experts' common truth fills in
    graph: Network  # the selected edges
    pairs: Mask  # the pairs that may become edges


def fit_pilot(likelihood: PseudoLikelihood) -> Pilot:
    """Return the graph of all voters without a truth node."""
    network = empty_network(likelihood.n_voters)
    scores = likelihood.score_pairs(likelihood.differentiate(network, likelihood.even))
    pairs = candidate_pairs(scores)
    newton = Newton(likelihood, pairs, with_truth=False)
    for strength in (1.0, 0.7):
        penalty = _lasso(likelihood, network, strength, folded=strength < 1)
        network = newton.run(network, penalty, 6).network
    smooth = network.edges
    sizes = np.abs(smooth[np.triu(pairs, 1)])
    strong = sizes[sizes > 0]
    size = float(np.quantile(strong, 0.75)) if len(strong) else 0.3
    network = network._replace(slab=Slab(size, (0.4 * size) ** 2))
    network = select_edges(newton, network, (0.4, 0.3, 0.2))
    newton = Newton(likelihood, network.support, with_truth=False)
    return Pilot(smooth, newton.run(network, slab_penalty(network), 4).network, pairs)


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


def select_edges(
    newton: Newton,
    network: Network,
    spikes: tuple[float, ...],
    posterior: Singles | None = None,
) -> Network:
    """Return the network with its edges selected, and the slab learned with them.

    Spike-and-slab EM over all pairs of `newton` at a given posterior. The standard deviations of
    the spike, in units of the slab's size, narrow from round to round.
    """
    pairs, free = newton.pairs, no_penalty(len(network.weights))
    for spike in spikes:
        hessians = None  # computed once per spike
        for _ in range(2):
            slab, spike_sd = network.slab, spike * network.slab.size
            precision, center = slab.expected_prior(network.edges, spike_sd)
            penalty = free._replace(precision=precision, center=center)
            network, at, hessians = newton.run(
                network, penalty, 2, posterior=posterior, hessians=hessians
            )
            curvatures = at.curvatures.sum(axis=1, dtype=np.float64)
            information = (curvatures[:, None] + curvatures)[pairs]
            slab = slab.updated(network.edges[pairs], information, spike_sd)
            network = network._replace(slab=slab)
    support = np.zeros_like(network.support)
    zero = slab.probabilities(network.edges[pairs], spikes[-1] * slab.size)[0]
    support[pairs] = support[pairs[::-1]] = zero < 0.5
    return network._replace(edges=np.where(support, network.edges, 0.0), support=support)


def _lasso(
    likelihood: PseudoLikelihood, network: Network, strength: float, *, folded: bool
) -> Penalty:
    """Return strength sqrt(log p) sd_st per pair; folded (SCAD), large edges are penalized less."""
    at = likelihood.differentiate(network, likelihood.even)
    l1 = strength * np.sqrt(np.log(likelihood.n_voters)) * likelihood.pair_sd(at)
    if folded:
        size = np.abs(network.edges) * likelihood.pair_information(at) / l1
        l1 = l1 * np.clip((SCAD - size) / (SCAD - 1), 0.0, 1.0)
    return no_penalty(likelihood.n_voters)._replace(l1=l1)


class Start(NamedTuple):
    """A network that a search starts from or has led to."""

    name: str
    network: Network
    explained: bool  # whether the edges that its weights would explain were left out
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
        yield Start(name, graph._replace(weights=weights), explained=False)
        shared = np.outer(weights, weights)
        gone = graph.support & (np.abs(shared) > 0.2) & (np.sign(shared) == np.sign(graph.edges))
        if gone.any():
            network = graph.keep(~gone)._replace(weights=weights)
            yield Start(f"{name}, fewer edges", network, explained=True)


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
    scores = likelihood.score_pairs(likelihood.differentiate(pilot.graph, likelihood.even))
    scores = np.where(pilot.graph.support, 0.0, scores)
    yield "residual scores", scores
    yield "residual scores up to 4", np.clip(scores, -4.0, 4.0)
    yield "correlations", _correlate(likelihood)


def _correlate(likelihood: PseudoLikelihood) -> Floats:
    """Return the correlations of the voters, abstentions as zeros, without the diagonal."""
    votes = likelihood.votes
    means = votes.mean(axis=1, dtype=np.float64)
    moments = (votes @ votes.T).astype(np.float64) / likelihood.n_items
    covariance = moments - np.outer(means, means)
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-9))
    correlations = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlations, 0.0)
    return np.asarray(correlations)


def _lead(matrix: Floats) -> Floats:
    """Return the leading eigenvector as weights: small entries 0, a typical expert .8."""
    vector = np.linalg.eigh(matrix)[1][:, -1]
    n_voters = len(vector)
    typical = np.sort(np.abs(vector))[::-1][min(max(2, n_voters // 16), n_voters - 1)]
    vector = vector / max(typical, 1e-9)
    return np.clip(0.8 * np.where(np.abs(vector) < 0.35, 0.0, vector), -1.0, 1.0)

"""Where the truth may be: starting weights from the graph without a truth node."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unelisa.latent.edges.likelihood import Network, PseudoLikelihood
from unelisa.latent.edges.newton import Newton, slab_penalty
from unelisa.latent.edges.pilot import Pilot
from unelisa.latent.edges.slab import Floats

SAME = 0.95  # correlation of two weight vectors above which they count as one start
CLIPS = (0.03, 0.06, 0.12, 0.25)  # of the smooth edges: pairs of experts are many and weak


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

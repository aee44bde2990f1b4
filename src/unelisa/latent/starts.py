"""Where the truth may be: starting weights from the graph without a truth node."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from unelisa.latent.joint import Floats, Joint, Network
from unelisa.latent.newton import Newton
from unelisa.latent.pilot import Pilot, edge_penalty

SAME = 0.95  # correlation of two weight vectors from which they count as one start
CLIPS = (0.03, 0.06, 0.12, 0.25)  # of the smooth edges: the truth's pairs are many and weak


class Start(NamedTuple):
    """A network to begin from. `explained`: without the edges that its weights would explain."""

    name: str
    network: Network
    explained: bool


def propose_starts(joint: Joint, pilot: Pilot) -> Iterator[Start]:
    """Yield distinct starts, each with and without the graph's edges that it would explain."""
    graph, seen = pilot.graph, list[Floats]()
    for name, matrix in _matrices(joint, pilot):
        weights = _lead(matrix)
        if not np.any(weights) or resembles(weights, seen):
            continue
        seen.append(weights)
        yield Start(name, graph._replace(weights=weights), explained=False)
        shared = np.outer(weights, weights)
        gone = graph.support & (np.abs(shared) > 0.2) & (np.sign(shared) == np.sign(graph.edges))
        if gone.any():
            edges, support = np.where(gone, 0.0, graph.edges), graph.support & ~gone
            network = graph._replace(weights=weights, edges=edges, support=support)
            yield Start(f"{name}, fewer edges", network, explained=True)


def resembles(weights: Floats, others: list[Floats]) -> bool:
    """Return whether the weights are, up to sign and scale, among the others."""
    size = np.std(weights)
    return any(
        abs(np.mean((weights - weights.mean()) * (other - other.mean())))
        > SAME * size * np.std(other)
        for other in others
    )


def _matrices(joint: Joint, pilot: Pilot) -> Iterator[tuple[str, Floats]]:
    """Yield matrices in which the experts' clique may be the largest thing."""
    for clip in CLIPS:
        yield f"edges up to {clip:g}", np.clip(pilot.smooth, -clip, clip)
    scores, _, _ = joint.score_pairs(pilot.graph, joint.even)
    scores = np.where(pilot.graph.support, 0.0, scores)
    yield "residual scores", scores
    yield "residual scores up to 4", np.clip(scores, -4.0, 4.0)
    yield "correlations", _correlate(joint)


def _correlate(joint: Joint) -> Floats:
    """Return the correlations of the voters, abstentions as zeros, without the diagonal."""
    means = joint.votes.mean(axis=1, dtype=np.float64)
    moments = (joint.votes @ joint.votes.T).astype(np.float64) / joint.n_items
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


def warm_up(joint: Joint, start: Start, pilot: Pilot) -> Start:
    """Return the start after four rounds of EM on its own edges."""
    newton = Newton(joint, start.network.support)
    penalty = edge_penalty(start.network, pilot.slab)
    return start._replace(network=newton.run(start.network, penalty, 4, rebuild=(0,)))

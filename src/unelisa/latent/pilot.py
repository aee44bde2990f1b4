"""The voters' graph without a truth node: where the search for the truth begins.

An l1 fit finds the strong pairs. Spike and slab then keeps the edges of the common size; what the
experts share with each other is weaker and stays in the spike.
"""

from typing import NamedTuple

import numpy as np

from unelisa.latent.joint import Floats, Joint, Mask, Network, Singles, empty_network
from unelisa.latent.newton import Newton, Penalty, no_penalty
from unelisa.latent.slab import EdgeSlab

SCAD = 3.7  # Fan and Li (2001)
MOST_PARTNERS = 128  # beyond, each voter's strongest pairs alone are looked at


class Pilot(NamedTuple):
    """The graph without a truth node."""

    smooth: Floats  # the l1 fit's edges, which the experts' common truth fills in
    graph: Network  # the selected edges
    slab: EdgeSlab
    pairs: Mask  # the pairs that may become edges


def fit_pilot(joint: Joint) -> Pilot:
    """Return the graph of all voters without a truth node."""
    network = empty_network(joint.n_voters)
    scores, _, _ = joint.score_pairs(network, joint.even)
    pairs = candidate_pairs(scores)
    newton = Newton(joint, pairs)
    for strength in (1.0, 0.7):
        penalty = _lasso(joint, network, strength, folded=strength < 1)
        network = newton.run(network, penalty, 6, posterior=joint.even, fit_weights=False)
    sizes = np.abs(network.edges[np.triu(pairs, 1)])
    strong = sizes[sizes > 0]
    size = float(np.quantile(strong, 0.75)) if len(strong) else 0.3
    slab = EdgeSlab(size, (0.4 * size) ** 2)
    smooth = network.edges
    network, slab = select_edges(
        newton, network, slab, joint.even, spikes=(0.4, 0.3, 0.2), fit_weights=False
    )
    graph = Newton(joint, network.support).run(
        network, edge_penalty(network, slab), 4, posterior=joint.even, fit_weights=False
    )
    return Pilot(smooth, graph, slab, pairs)


def candidate_pairs(scores: Floats) -> Mask:
    """Return the pairs to look at: all of them, of very many voters the strongest of each."""
    n_voters = len(scores)
    pairs = ~np.eye(n_voters, dtype=bool)
    if n_voters > MOST_PARTNERS:
        strength = np.abs(scores)
        cut = -np.partition(-strength, MOST_PARTNERS // 2, axis=1)[:, MOST_PARTNERS // 2]
        strong = strength > cut[:, None]
        pairs &= strong | strong.T
    return pairs


def _lasso(joint: Joint, network: Network, strength: float, *, folded: bool) -> Penalty:
    """Return strength sqrt(log p) sd_st for each pair; folded (SCAD), large edges pay less."""
    _, sd, information = joint.score_pairs(network, joint.even)
    l1 = strength * np.sqrt(np.log(joint.n_voters)) * sd
    if folded:
        size = np.abs(network.edges) * information / l1
        l1 = l1 * np.clip((SCAD - size) / (SCAD - 1), 0.0, 1.0)
    return no_penalty(joint.n_voters)._replace(l1=l1)


def select_edges(
    newton: Newton,
    network: Network,
    slab: EdgeSlab,
    posterior: Singles,
    *,
    spikes: tuple[float, ...],
    fit_weights: bool,
) -> tuple[Network, EdgeSlab]:
    """Return the network with edges in or out, and the slab learned on the way.

    Spike-and-slab EM over all pairs at a given posterior, while the spike narrows.
    """
    upper = newton.layout.first, newton.layout.second
    free = no_penalty(len(network.weights))
    for spike in spikes:
        for rebuild in ((0,), ()):
            pull = slab.pull(network.edges, spike)
            penalty = free._replace(precision=pull.precision, centre=pull.centre)
            network = newton.run(
                network, penalty, 2, posterior=posterior, rebuild=rebuild, fit_weights=fit_weights
            )
            bends = newton.joint.curvatures.sum(axis=1, dtype=np.float64)
            information = (bends[:, None] + bends)[upper]
            slab = slab.learned(network.edges[upper], information, spike)
    support = np.zeros_like(network.support)
    support[upper] = slab.chances(network.edges[upper], spikes[-1])[0] < 0.5
    support |= support.T
    return network._replace(edges=np.where(support, network.edges, 0.0), support=support), slab


def edge_penalty(network: Network, slab: EdgeSlab) -> Penalty:
    """Return the slab as the prior of the edges that are in, each on its side."""
    precision = np.where(network.support, 1 / slab.variance, 0.0)
    centre = np.sign(network.edges) * slab.size
    return no_penalty(len(network.weights))._replace(precision=precision, centre=centre)

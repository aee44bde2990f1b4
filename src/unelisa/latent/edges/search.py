"""The search for the cheapest network with a truth node: where it begins, and its moves.

What experts share is weaker than most edges, is left out of the graph without a truth node, and so
suggests where the truth may be.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from unelisa.latent.edges.network import (
    Derivatives,
    Mask,
    Network,
    Newton,
    PseudoLikelihood,
    Singles,
    empty_network,
    learn_edge_slab,
    learn_weight_slab,
    no_penalty,
    slab_penalty,
)
from unelisa.votes.ballots import Floats

SCAD = 3.7  # Fan and Li (2001)
GROWN = 6  # rounds in which missing edges join
STRENGTHS = (1.0, 0.7, 0.7, 0.7)  # of the penalty: it shrinks with what the fit leaves unexplained
MOST_PARTNERS = 128  # with more voters, only each voter's strongest pairs are considered
SAME = 0.95  # correlation of two weight vectors above which they count as one start
CLIPS = (0.06, 0.25)  # of the smooth edges: pairs of experts are many and weak
RENEWED = (0.7,)  # strength of the penalty when all edges are selected anew
MAX_PASSES = 2  # through the moves, while the cost falls


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
    """Return the network with the edges of its support fitted by l1, most of them to 0.

    The penalty of a pair is strength sqrt(log p) sd_st, less where its edge is large by now (SCAD).
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
    likelihood: PseudoLikelihood, network: Network, refit: Callable[[Network], Network]
) -> Network:
    """Return the network after joining pairs whose score is the largest of both voters."""
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


class Search:
    """Moves on networks with a truth node; every move returns a new network."""

    def __init__(self, likelihood: PseudoLikelihood, pilot: Pilot) -> None:
        self.likelihood, self.pilot = likelihood, pilot
        self.n_pairs = max(likelihood.n_voters * (likelihood.n_voters - 1) // 2, 1)

    def improve(self, start: Start) -> Start:
        """Return the cheapest network that the moves reach, in passes while the cost falls."""
        for _ in range(MAX_PASSES):
            before = start.cost
            for move in (self.swap, self.reselect):
                network = move(start.network)
                cost = self.cost(network)
                if cost < start.cost:
                    start = start._replace(network=network, cost=cost)
            if not start.cost < before - 1.0:
                break
        return start

    def renew(self, start: Start) -> Start:
        """Return the start with its edges selected anew, and its cost."""
        network = self.reselect(start.network)
        return start._replace(network=network, cost=self.cost(network))

    def reselect(self, network: Network) -> Network:
        """Return the network with all edges selected anew, given its posterior."""
        posterior = self.likelihood.posterior(network)
        network = network._replace(support=self.pilot.pairs)
        network = find_edges(self.likelihood, network, RENEWED, posterior)
        network = self.maximize(network.pruned())
        return grow(self.likelihood, network, partial(self.maximize, cycles=1))

    def maximize(
        self, network: Network, rounds: int = 2, cycles: int = 2, trial: Mask | None = None
    ) -> Network:
        """Return the network after EM with slab priors, but not on edges on trial."""
        newton = Newton(self.likelihood, network.support)
        for _ in range(cycles):
            hessians = newton.hessians(self.likelihood.differentiate(network))
            slab = learn_weight_slab(network.weights, newton.standard_errors(hessians))
            precision, center = slab.expected_prior(network.weights, 0.3 * slab.size)
            penalty = slab_penalty(network)._replace(
                weight_precision=precision, weight_center=center
            )
            if trial is not None:
                loose = np.where(trial, 1e-3 * self.likelihood.n_items, penalty.precision)
                center = np.where(trial, 0.0, penalty.center)
                penalty = penalty._replace(precision=loose, center=center)
            network = newton.run(network, penalty, rounds, hessians=hessians).network
        return network

    def expert_probabilities(self, network: Network) -> Floats:
        """Return every voter's probability of being an expert."""
        newton = Newton(self.likelihood, network.support)
        hessians = newton.hessians(self.likelihood.differentiate(network))
        errors = newton.standard_errors(hessians)
        slab = learn_weight_slab(network.weights, errors)
        return slab.expert_probabilities(network.weights, errors)

    def cost(self, network: Network) -> float:
        """Return the description length of votes and network in nats, which the search minimizes.

        The marginal loss; per edge log(n) / 2 and minus its log slab density; #pairs H(#edges /
        #pairs), H the entropy; per expert half of log(n) / 2 + log p: one regression, not two.
        """
        n_pairs, per_edge = self.n_pairs, math.log(self.likelihood.n_items) / 2
        sizes = np.abs(network.edges[np.triu(network.support, 1)])
        edges = ((sizes - network.slab.size) ** 2).sum() / (2 * network.slab.variance)
        edges += len(sizes) * per_edge
        graph = n_pairs * float(entr([len(sizes) / n_pairs, 1 - len(sizes) / n_pairs]).sum())
        experts = self.expert_probabilities(network).sum() if np.any(network.weights) else 0.0
        price = experts * (per_edge + math.log(self.likelihood.n_voters)) / 2
        return float(self.likelihood.marginal_loss(network) + edges + graph + price)

    def gain(self, network: Network) -> float:
        """Return by how many nats a network is cheaper than those without a truth node."""
        probabilities = self.expert_probabilities(network)
        own = network._replace(weights=np.zeros_like(network.weights), field=0.0)
        own = refit_graph(self.likelihood, own)
        shrunk = network._replace(weights=network.weights * probabilities)
        gain = min(
            self.cost(own) - self.cost(shrunk), self.cost(self.pilot.graph) - self.cost(network)
        )
        return gain if np.count_nonzero(probabilities > 0.5) > 2 else min(gain, 0.0)

    def swap(self, network: Network) -> Network:
        """Return the network after each expert was offered its best alternative edge, on trial."""
        at = self.likelihood.differentiate(network)
        scores = self.likelihood.edge_scores(at)
        directions = np.zeros_like(network.edges)
        for s in np.flatnonzero(self.expert_probabilities(network) > 0.5):
            t, sign = self._alternative(network, int(s), at, scores[s])
            if sign:
                directions[s, t] = directions[t, s] = sign
        trial = directions != 0
        if not trial.any():
            return network
        network = self.maximize(network.joined(trial, directions), rounds=3, trial=trial)
        return self.maximize(network.pruned(), cycles=1)

    def _alternative(
        self, network: Network, s: int, at: Derivatives, scores: Floats
    ) -> tuple[int, float]:
        """Return the voter whose edge would best replace a_s by a score test, and its sign."""
        likelihood = self.likelihood
        kept = np.flatnonzero(network.support[s])
        if likelihood.fit_biases:
            kept = np.append(kept, likelihood.n_voters)
        curvatures = at.curvatures[s]
        columns = (likelihood.design[kept] * curvatures) @ likelihood.design.T
        cross = (likelihood.design @ at.cross_curvatures[s]).astype(np.float64)
        square = columns[:, kept] + 1e-6 * likelihood.n_items * np.eye(len(kept))
        solved = np.linalg.solve(square.astype(np.float64), np.column_stack([columns, cross[kept]]))
        change = solved[:, -1] * network.weights[s]
        left = scores + (cross * network.weights[s] - columns.T @ change)[:-1]
        diagonal = likelihood.votes**2 @ curvatures
        variance = diagonal - np.einsum("ut,ut->t", columns, solved[:, :-1])[:-1]
        gains = left**2 / np.maximum(variance, 1e-4 * likelihood.n_items)
        gains[network.support[s]] = 0.0
        gains[s] = 0.0
        t = int(np.argmax(gains))
        enough = gains[t] > 2 * math.log(likelihood.n_voters)
        return t, float(np.sign(left[t])) if enough else 0.0

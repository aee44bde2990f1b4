"""The search for the cheapest network with a truth node: EM, and moves that change the graph."""

import math
from functools import partial

import numpy as np
from scipy.special import entr

from unelisa.latent.edges.likelihood import Derivatives, Mask, Network, PseudoLikelihood
from unelisa.latent.edges.newton import Newton, slab_penalty
from unelisa.latent.edges.pilot import Pilot, Start, find_edges, grow, refit_graph
from unelisa.latent.edges.slab import Floats, learn_weight_slab

RENEWED = (0.7,)  # strength of the penalty when all edges are selected anew
MAX_PASSES = 2  # through the moves, while the cost falls


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
        """Return the network after EM with slab priors on edges and weights.

        Edges on trial have no slab: the votes must support their size.
        """
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

        The votes cost their marginal loss; an edge log(n) / 2 and minus the log density of its
        size under the slab, relative to its center; the choice of the edges #pairs H(#edges /
        #pairs), with H the entropy. An expert costs half of log(n) / 2 + log p, since it is one
        parameter of one regression, where an edge is one of two.
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
        """Return by how many nats a network is cheaper than those without a truth node.

        It must be cheaper than the pilot's graph, and its experts must make it cheaper than its own
        edges without them: there weights count by the probability that they are an expert's, since
        many small ones fit noise. The smaller difference is returned. Fewer than three experts gain
        nothing: a truth that two voters share is an edge between them.
        """
        probabilities = self.expert_probabilities(network)
        own = network._replace(weights=np.zeros_like(network.weights), field=0.0)
        own = refit_graph(self.likelihood, own)
        shrunk = network._replace(weights=network.weights * probabilities)
        gain = min(
            self.cost(own) - self.cost(shrunk), self.cost(self.pilot.graph) - self.cost(network)
        )
        return gain if np.count_nonzero(probabilities > 0.5) > 2 else min(gain, 0.0)

    def swap(self, network: Network) -> Network:
        """Return the network after each expert was offered its best alternative edge.

        A voter whose edge is missing depends on the truth instead. The edge that would explain most
        of its votes, were its weight 0, joins on trial; the likelihood decides between the two.
        """
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
        """Return the voter whose edge would best replace a_s, and the edge's sign (0: none would).

        A score test on the quadratic model: a_s goes to 0 and the edges of s adapt; the score that
        is left in W_st is compared with its variance given those edges.
        """
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

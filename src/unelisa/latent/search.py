"""The search for the best network with a truth node: EM, and moves that change the graph."""

import math

import numpy as np
from scipy.special import entr

from unelisa.latent.joint import Floats, Joint, Mask, Network
from unelisa.latent.newton import Newton
from unelisa.latent.pilot import Pilot, edge_penalty, select_edges
from unelisa.latent.slab import WeightSlab, learn_weight_slab

WEAK = 0.4  # an edge below this share of the common size leaves
SEED = 1e-3  # a new edge begins here, on its side
MAX_PASSES = 2  # through the moves, while the cost falls


class Search:
    """Moves on networks with a truth node; every move returns a new network."""

    def __init__(self, joint: Joint, pilot: Pilot) -> None:
        self.joint, self.pilot, self.slab = joint, pilot, pilot.slab
        self.n_pairs = max(joint.n_voters * (joint.n_voters - 1) // 2, 1)

    def improve(self, network: Network) -> Network:
        """Return the best network that the moves reach, pass after pass while the cost falls."""
        best, cost = network, self.cost(network)
        for _ in range(MAX_PASSES):
            before = cost
            for move in (self.swap, self.cut, self.reselect):
                slab = self.slab
                trial = move(best)
                now = self.cost(trial)
                if now < cost:
                    best, cost = trial, now
                else:
                    self.slab = slab
            if not cost < before - 1.0:
                break
        return best

    def reselect(self, network: Network) -> Network:
        """Return the network with all edges chosen anew, given its posterior."""
        network, self.slab = select_edges(
            Newton(self.joint, self.pilot.pairs),
            network,
            self.pilot.slab,
            self.joint.posterior(network),
            spikes=(0.3, 0.2),
            fit_weights=True,
        )
        return self.grow(self.maximise(network), 6)

    def cut(self, network: Network) -> Network:
        """Return the network without the edges between experts that the truth may explain."""
        experts = self.expert_chances(network) > 0.5
        shared = np.outer(network.weights * experts, network.weights * experts)
        support = network.support & ~(shared * network.edges > 0)
        if support.sum() == network.support.sum():
            return network
        network = network._replace(edges=np.where(support, network.edges, 0.0), support=support)
        return self.grow(self.maximise(network, rounds=3), 3)

    def maximise(
        self, network: Network, rounds: int = 2, cycles: int = 2, trial: Mask | None = None
    ) -> Network:
        """Return the network after EM with slab priors on edges and weights.

        Edges on trial get no slab: they have to earn their size.
        """
        newton = Newton(self.joint, network.support)
        for _ in range(cycles):
            newton.refresh(network, self.joint.posterior(network))
            pull = self._weight_slab(newton, network).pull(network.weights)
            penalty = edge_penalty(network, self.slab)._replace(
                weight_precision=pull.precision, weight_centre=pull.centre
            )
            if trial is not None:
                loose = np.where(trial, 1e-3 * self.joint.n_items, penalty.precision)
                centre = np.where(trial, 0.0, penalty.centre)
                penalty = penalty._replace(precision=loose, centre=centre)
            network = newton.run(network, penalty, rounds, rebuild=(2, 5))
        return network

    def _weight_slab(self, newton: Newton, network: Network) -> WeightSlab:
        """Return the slab of the weights, with their errors from the current Hessians."""
        return learn_weight_slab(network.weights, newton.standard_errors())

    def expert_chances(self, network: Network) -> Floats:
        """Return every voter's chance of being an expert."""
        newton = Newton(self.joint, network.support)
        newton.refresh(network, self.joint.posterior(network))
        errors = newton.standard_errors()
        return learn_weight_slab(network.weights, errors).expert_chances(network.weights, errors)

    def cost(self, network: Network) -> float:
        """Return the code length of votes and network in nats: what starts and moves compare.

        The votes cost their marginal loss; an edge log(n) / 2 and minus the log density of its
        size under the slab, over that of the pilot's slab at its centre; which pairs are edges
        #pairs H(#edges / #pairs), H the entropy. An expert costs half of log(n) / 2 + log p: it is
        one parameter of one regression, where an edge is one of two.
        """
        n_pairs, bits = self.n_pairs, math.log(self.joint.n_items) / 2
        sizes = np.abs(network.edges[np.triu(network.support, 1)])
        variance = self.slab.variance
        edges = ((sizes - self.slab.size) ** 2).sum() / (2 * variance)
        edges += len(sizes) * (bits + math.log(variance / self.pilot.slab.variance) / 2)
        graph = n_pairs * float(entr([len(sizes) / n_pairs, 1 - len(sizes) / n_pairs]).sum())
        experts = self.expert_chances(network).sum() if np.any(network.weights) else 0.0
        price = experts * (bits + math.log(self.joint.n_voters)) / 2
        return float(self.joint.marginal_loss(network) + edges + graph + price)

    def gain(self, network: Network) -> float:
        """Return the nats by which a network beats those without a truth node.

        It has to beat the pilot's graph. And its experts have to beat its own edges without them:
        there weights count by the chance that they are an expert's, since many small ones fit
        noise. The smaller of the two is returned. Fewer than three experts gain nothing: a truth
        that two voters share is an edge between them.
        """
        chances = self.expert_chances(network)
        own = network._replace(weights=np.zeros_like(network.weights), field=0.0)
        newton, penalty = Newton(self.joint, own.support), edge_penalty(own, self.slab)
        own = newton.run(own, penalty, 4, posterior=self.joint.even, fit_weights=False)
        sober = network._replace(weights=network.weights * chances)
        pilot = Search(self.joint, self.pilot).cost(self.pilot.graph)
        gain = min(self.cost(own) - self.cost(sober), pilot - self.cost(network))
        return gain if np.count_nonzero(chances > 0.5) > 2 else min(gain, 0.0)

    def prune(self, network: Network) -> Network:
        """Return the network without edges that stay far below the common size."""
        support = network.support & (np.abs(network.edges) >= WEAK * self.slab.size)
        return network._replace(edges=np.where(support, network.edges, 0.0), support=support)

    def grow(self, network: Network, rounds: int) -> Network:
        """Return the network after pairs joined whose score is the largest of both voters.

        The score must pass sqrt(2 log #pairs), what the largest of as many N(0, 1) reaches.
        """
        limit = math.sqrt(2 * math.log(self.n_pairs))
        for _ in range(rounds):
            scores, _, _ = self.joint.score_pairs(network, self.joint.posterior(network))
            sizes = np.where(network.support, 0.0, np.abs(scores))
            largest = sizes.max(axis=1)
            new = (sizes >= np.maximum(largest[:, None], largest) - 1e-9) & (sizes > limit)
            pruned = self.prune(network)
            if not new.any() and pruned.support.sum() == network.support.sum():
                break
            network = self.maximise(_join(pruned, new, scores), cycles=1)
        return network

    def swap(self, network: Network) -> Network:
        """Return the network after each claimed expert tried its best alternative edge.

        A voter whose edge is missing leans on the truth instead. The edge that would explain most
        of its votes, were its weight 0, joins on trial; the likelihood decides between the two.
        """
        chances = self.expert_chances(network)  # leaves slopes and curvatures at the network
        slopes = (self.joint.residuals @ self.joint.votes.T).astype(np.float64)
        directions = np.zeros_like(network.edges)
        for s in np.flatnonzero(chances > 0.5):
            t, side = self._alternative(network, int(s), slopes[s])
            if side:
                directions[s, t] = directions[t, s] = side
        trial = directions != 0
        if not trial.any():
            return network
        network = self.maximise(_join(network, trial, directions), rounds=3, trial=trial)
        return self.maximise(self.prune(network), cycles=1)

    def _alternative(self, network: Network, s: int, slopes: Floats) -> tuple[int, float]:
        """Return the voter whose edge would best replace a_s, and the edge's sign (0: none would).

        Score test on the quadratic model: a_s goes to 0, the edges of s follow; what slope is left
        in W_st, against its variance given those edges?
        """
        joint = self.joint
        kept = np.flatnonzero(network.support[s])
        if joint.fit_fields:
            kept = np.append(kept, joint.n_voters)
        bend = joint.curvatures[s]
        columns = (joint.design[kept] * bend) @ joint.design.T
        tilts = (joint.design @ joint.tilts[s]).astype(np.float64)
        square = columns[:, kept] + 1e-6 * joint.n_items * np.eye(len(kept))
        solved = np.linalg.solve(square.astype(np.float64), np.column_stack([columns, tilts[kept]]))
        follow = solved[:, -1] * network.weights[s]
        left = slopes + (tilts * network.weights[s] - columns.T @ follow)[:-1]
        diagonal = joint.votes**2 @ bend
        spread = diagonal - np.einsum("ut,ut->t", columns, solved[:, :-1])[:-1]
        gains = left**2 / np.maximum(spread, 1e-4 * joint.n_items)
        gains[network.support[s]] = 0.0
        gains[s] = 0.0
        t = int(np.argmax(gains))
        enough = gains[t] > 2 * math.log(joint.n_voters)
        return t, float(np.sign(left[t])) if enough else 0.0


def _join(network: Network, new: Mask, directions: Floats) -> Network:
    """Return the network with new edges, small ones on the side of their directions."""
    edges = np.where(new, SEED * np.sign(directions), network.edges)
    return network._replace(edges=edges, support=network.support | new)

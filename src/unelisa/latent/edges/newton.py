"""Newton steps on the expected pseudo-likelihood: edges, biases and weights move together.

Each voter's regression has its own Hessian over its partners; an edge has the curvature of both of
its regressions. A step is shortened until the objective does not increase, so at a fixed posterior
the objective never increases.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from unelisa.kernels.pseudo_likelihood import Layout, Penalty, descend_pairs, sum_expected_loss
from unelisa.latent.edges.likelihood import Derivatives, Mask, Network, PseudoLikelihood, Singles
from unelisa.latent.edges.slab import Floats

LARGEST_WEIGHT = 3.0  # |a|: an expert that errs once in 400 votes
RIDGE = 1e-4  # on every coefficient of the quadratic model, per item
LEAST_ITEMS, ITEMS_PER_PARTNER = 1000, 12  # from which the Hessian of many partners is estimated
REBUILD = (2, 5)  # rounds that begin with new Hessians, after the first
MAX_SWEEPS, SWEEP_TOL = 20, 3e-4
TOL = 2e-3  # a run ends when no edge and no weight moves by this much


class Fit(NamedTuple):
    """The network that a run ended at, and what its last round was computed from."""

    network: Network
    derivatives: Derivatives  # where the last round began
    hessians: list[Singles]


def no_penalty(n_voters: int) -> Penalty:
    """Return the penalty that leaves edges and weights free."""
    square, row = np.zeros((n_voters, n_voters)), np.zeros(n_voters)
    return Penalty(square, square, square, row, row)


def slab_penalty(network: Network) -> Penalty:
    """Return the slab as the prior of the edges in the support, each on its own side."""
    precision = np.where(network.support, 1 / network.slab.variance, 0.0)
    center = np.sign(network.edges) * network.slab.size
    return no_penalty(len(network.weights))._replace(precision=precision, center=center)


class Newton:
    """Newton steps over a fixed set of pairs, with a truth node or without."""

    def __init__(
        self, likelihood: PseudoLikelihood, pairs: Mask, *, with_truth: bool = True
    ) -> None:
        self.likelihood, self.with_truth = likelihood, with_truth
        self.partners = [np.flatnonzero(row) for row in pairs]
        self.layout = Layout.of(pairs)
        self.pairs = self.layout.first, self.layout.second
        most = max(len(partners) for partners in self.partners)
        self.stride = max(1, likelihood.n_items // max(LEAST_ITEMS, ITEMS_PER_PARTNER * most))

    def run(
        self,
        network: Network,
        penalty: Penalty,
        rounds: int,
        *,
        posterior: Singles | None = None,
        hessians: list[Singles] | None = None,
        rebuild: Collection[int] = REBUILD,
    ) -> Fit:
        """Return the fit after at most so many Newton steps from a network.

        Without a posterior, every round takes the network's own. Hessians are computed in the
        first round unless given, and in the rounds of `rebuild`.
        """
        likelihood = self.likelihood
        l1, precision, center = (square[self.pairs] for square in penalty[:3])
        penalty = penalty._replace(l1=l1, precision=precision, center=center)
        predictors = likelihood.predictors(network.edges, network.biases)
        for count in range(rounds):
            before = network
            tau = likelihood.posterior(network) if posterior is None else posterior
            at = likelihood.evaluate(predictors, tau, network.weights)
            if hessians is None or count in rebuild:
                hessians = self.hessians(at)
            target = self._minimize(network, at, hessians, penalty)
            network, predictors = self._step(network, target, predictors, tau, penalty, at.loss)
            if likelihood.fit_biases and self.with_truth and posterior is None:
                field = likelihood.improve_field(network, predictors)
                network = network._replace(field=field)
            fit = Fit(network, at, hessians)
            changes = network.edges - before.edges, network.weights - before.weights
            if max(np.abs(change).max() for change in changes) < TOL:
                break
        return fit

    def hessians(self, at: Derivatives) -> list[Singles]:
        """Return every voter's Hessian over its partners, its bias and its weight.

        From every stride-th item.
        """
        likelihood, stride = self.likelihood, self.stride
        design = np.ascontiguousarray(likelihood.design[:, ::stride])
        roots = np.sqrt(at.curvatures[:, ::stride])
        hessians = []
        for s, partners in enumerate(self.partners):
            rows = design[np.append(partners, likelihood.n_voters)]
            hessian = np.empty((len(rows) + 1, len(rows) + 1), np.float32)
            scaled = rows * roots[s]
            hessian[:-1, :-1] = scaled @ scaled.T  # one factor, its own transpose: half the work
            hessian[:-1, -1] = hessian[-1, :-1] = rows @ at.cross_curvatures[s, ::stride]
            hessian[-1, -1] = hessian[-2, -2]
            hessian *= likelihood.n_items / design.shape[1]
            np.einsum("ii->i", hessian)[:] += RIDGE * likelihood.n_items
            hessians.append(hessian)
        return hessians

    def standard_errors(self, hessians: list[Singles]) -> Floats:
        """Return the standard error of every weight, given the truth."""
        if not self.likelihood.fit_biases:
            hessians = [np.delete(np.delete(one, -2, axis=0), -2, axis=1) for one in hessians]
        variances = np.array([np.linalg.inv(one)[-1, -1] for one in hessians])
        return np.asarray(np.sqrt(np.maximum(variances, np.float32(1e-12))), np.float64)

    def _minimize(
        self, network: Network, at: Derivatives, hessians: list[Singles], penalty: Penalty
    ) -> Network:
        """Return the minimum of the quadratic model and its penalty."""
        edge_scores = self.likelihood.edge_scores(at)
        bias_scores = at.residuals.sum(axis=1, dtype=np.float64)
        scores = [
            np.append(edge_scores[s, partners], (bias_scores[s], at.weight_scores[s]))
            for s, partners in enumerate(self.partners)
        ]
        chosen, biases, weights = descend_pairs(
            self.layout,
            np.concatenate(hessians, axis=None),
            -np.concatenate(scores),
            penalty,
            (network.edges[self.pairs], network.biases, network.weights),
            (self.likelihood.fit_biases, self.with_truth),
            MAX_SWEEPS,
            SWEEP_TOL,
        )
        edges = np.zeros_like(network.edges)
        edges[self.pairs] = edges[self.pairs[::-1]] = chosen
        weights = np.clip(weights, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        return network._replace(edges=edges, biases=biases, weights=weights)

    def _step(
        self,
        old: Network,
        target: Network,
        predictors: Singles,
        tau: Singles,
        penalty: Penalty,
        loss: float,
    ) -> tuple[Network, Singles]:
        """Return the longest step toward the target that does not increase the objective.

        With its predictors, which are updated because computing them anew costs more.
        """
        change = self.likelihood.predictors(target.edges - old.edges, target.biases - old.biases)
        # float32 votes round the sum by the last term
        allowed = loss + self._price(old, penalty) + 1e-9 * loss
        length = 1.0
        for _ in range(6):
            network = old._replace(
                edges=old.edges + length * (target.edges - old.edges),
                biases=old.biases + length * (target.biases - old.biases),
                weights=old.weights + length * (target.weights - old.weights),
            )
            moved = predictors + np.float32(length) * change
            loss = sum_expected_loss(self.likelihood.votes, moved, tau, network.weights)
            if loss + self._price(network, penalty) <= allowed:
                return network, moved
            length *= 0.4
        return old, predictors

    def _price(self, network: Network, penalty: Penalty) -> float:
        """Return the value of the penalty."""
        edges = network.edges[self.pairs]
        price = penalty.l1 @ np.abs(edges) + penalty.precision @ (edges - penalty.center) ** 2 / 2
        squares = (network.weights - penalty.weight_center) ** 2
        return float(price + penalty.weight_precision @ squares / 2)

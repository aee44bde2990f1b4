"""The voters' network: the priors of its edges, its pseudo-likelihood, and Newton steps on that.

    logit P(f_s = +1 | f_0, other votes) = 2 (b_s + a_s f_0 + sum_t W_st f_t)
    logit P(f_0 = +1 | votes)            = 2 (theta_0 + z_i / 2 + sum_s a_s f_s)     (exact)

z_i are an item's prior odds. Most edges and weights are zero (the spike), the others normal around
+size or -size (the slab), with learned sizes, variances and shares.
"""

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.kernels.pseudo_likelihood import (
    Layout,
    Penalty,
    descend_pairs,
    differentiate_expected_loss,
    sum_expected_loss,
    sum_marginal_loss,
)
from unelisa.votes.ballots import Floats

Singles = NDArray[np.float32]
Mask = NDArray[np.bool_]

TINY = 1e-300
SPIKES = (0.4, 0.4, 0.3, 0.3, 0.2, 0.2)  # widths of the edges' spike, in units of the slab's size
PSEUDO_COUNTS = np.array([1.0, 0.5, 0.5])  # added to the counts from which shares are learned
WEAK = 0.4  # edges below this share of the common size are removed
SEED = 1e-3  # absolute value of a new edge
LARGEST_WEIGHT = 3.0  # |a|: an expert that errs once in 400 votes
RIDGE = 1e-4  # on every coefficient of the quadratic model, per item
LEAST_ITEMS, ITEMS_PER_PARTNER = 1000, 12  # from which the Hessian of many partners is estimated
REBUILD = (2, 5)  # rounds that begin with new Hessians, after the first
MAX_SWEEPS, SWEEP_TOL = 20, 3e-4
TOL = 2e-3  # a run ends when no edge and no weight moves by this much


class Slab(NamedTuple):
    """Normals around +-size with a common variance; shares of zero, positive and negative."""

    size: float
    variance: float
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1)

    def probabilities(self, x: Floats, spike_sd: float, noise: Floats | float = 0.0) -> Floats:
        """Return P(zero), P(positive), P(negative) of each x, which has a noise variance."""
        spike, slab = noise + spike_sd**2, noise + self.variance
        components = ((0.0, spike), (self.size, slab), (-self.size, slab))
        densities = [
            share * np.exp(-0.5 * (x - center) ** 2 / variance) / np.sqrt(variance)
            for share, (center, variance) in zip(self.shares, components, strict=True)
        ]
        heights = np.stack(densities) + TINY
        return np.asarray(heights / heights.sum(axis=0))

    def expected_prior(self, x: Floats, spike_sd: float) -> tuple[Floats, Floats]:
        """Return precision and center of the normal that is the expected log prior of each x."""
        zero, positive, negative = self.probabilities(x, spike_sd)
        precision = zero / spike_sd**2 + (positive + negative) / self.variance
        return precision, (positive - negative) * self.size / self.variance / precision

    def updated(self, edges: Floats, information: Floats, spike_sd: float) -> "Slab":
        """Return the M-step: edges weighted by their information, the variance bounded below."""
        probabilities = self.probabilities(edges, spike_sd)
        _, positive, negative = probabilities
        counts = probabilities.reshape(3, -1).sum(axis=1) + PSEUDO_COUNTS
        zero, *nonzero = counts / counts.sum()
        shares = float(zero), float(sum(nonzero) / 2), float(sum(nonzero) / 2)
        mass = float(information @ (positive + negative))
        if mass <= 1e-9:
            return self._replace(shares=shares)
        size = max(float(information @ ((positive - negative) * edges)) / mass, 0.05)
        squares = positive * (edges - size) ** 2 + negative * (edges + size) ** 2
        variance = max(float(information @ squares) / mass, (0.15 * size) ** 2)
        return Slab(size, variance, shares)

    def expert_probabilities(self, weights: Floats, errors: Floats) -> Floats:
        """Return gamma_s = P(a_s is not zero), given the standard errors of the weights."""
        return np.asarray(1.0 - self.probabilities(weights, self.size / 6, errors**2)[0])

    def shrink(self, weights: Floats, errors: Floats) -> Floats:
        """Return the posterior means of the weights: gamma_s times a_s shrunk toward +-size."""
        center = np.sign(weights) * self.size
        trust = self.variance / (self.variance + errors**2)
        return self.expert_probabilities(weights, errors) * (center + trust * (weights - center))


def learn_edge_slab(edges: Floats, information: Floats) -> Slab:
    """Return the slab of the edges by EM, with a spike that narrows from round to round."""
    sizes = np.abs(edges[edges != 0])
    size = float(np.quantile(sizes, 0.75)) if len(sizes) else 0.3
    slab = Slab(size, (0.4 * size) ** 2)
    for spike in SPIKES:
        slab = slab.updated(edges, information, spike * slab.size)
    return slab


def learn_weight_slab(weights: Floats, errors: Floats, rounds: int = 30) -> Slab:
    """Return the slab of the weights by EM, given their standard errors."""
    noise, sizes = errors**2, np.abs(weights)
    significant = sizes[sizes > 3 * errors]
    size = float(np.median(significant)) if len(significant) > 2 else max(float(sizes.max()), 0.3)
    third = np.sort(sizes)[::-1][min(2, len(sizes) - 1)]
    size = max(size, 0.5 * float(third), 0.05)
    slab = Slab(size, (0.3 * size) ** 2, (0.6, 0.2, 0.2))
    for _ in range(rounds):
        probabilities = slab.probabilities(weights, slab.size / 6, noise)
        _, positive, negative = probabilities
        counts = probabilities.sum(axis=1) + PSEUDO_COUNTS
        total = slab.variance + noise
        mass = ((positive + negative) / total).sum()
        size = max(float(((positive - negative) * weights / total).sum() / max(mass, 1e-9)), 0.05)
        trust = slab.variance / total
        above = (trust * (weights - size)) ** 2 + trust * noise
        below = (trust * (weights + size)) ** 2 + trust * noise
        squares = (positive * above + negative * below).sum() + 2 * (0.2 * size) ** 2
        variance = float(squares / ((positive + negative).sum() + 2))
        variance = min(max(variance, (0.1 * size) ** 2), (size / 3) ** 2)
        shares = counts / counts.sum()
        slab = Slab(size, variance, (shares[0], shares[1], shares[2]))
    return slab


class Network(NamedTuple):
    """The parameters of the model, and the prior of its edges, which is learned with them."""

    edges: Floats  # W, voters x voters
    biases: Floats  # b
    weights: Floats  # a
    field: float  # theta_0
    support: Mask  # which edges may differ from 0
    slab: Slab = Slab(0.3, 0.0144)

    def keep(self, edges: Mask) -> "Network":
        """Return it with these of its edges only."""
        support = self.support & edges
        return self._replace(edges=np.where(support, self.edges, 0.0), support=support)

    def pruned(self) -> "Network":
        """Return it without edges that stay far below the common size."""
        return self.keep(np.abs(self.edges) >= WEAK * self.slab.size)

    def joined(self, new: Mask, directions: Floats) -> "Network":
        """Return it with new edges, small ones with the sign of their directions."""
        edges = np.where(new, SEED * np.sign(directions), self.edges)
        return self._replace(edges=edges, support=self.support | new)


class Derivatives(NamedTuple):
    """The expected loss at one point and its derivatives; m_is is a voter's predictor."""

    loss: float  # -sum E_tau log P(f_is | f_0, other votes), in nats
    residuals: Singles  # score in m_is, voters x items
    curvatures: Singles  # second derivative in m_is; in a_s it is the same
    cross_curvatures: Singles  # second derivative in m_is and a_s
    weight_scores: Floats  # score in a_s, summed over the items


def empty_network(n_voters: int) -> Network:
    """Return the network in which all voters are independent."""
    square = np.zeros((n_voters, n_voters))
    return Network(square, np.zeros(n_voters), np.zeros(n_voters), 0.0, square.astype(bool))


class PseudoLikelihood:
    """The pseudo-likelihood of the votes on at most a few thousand items, in float32."""

    def __init__(self, values: NDArray[np.int8], prior_odds: Floats, *, fit_biases: bool) -> None:
        self.n_items, self.n_voters = values.shape
        self.fit_biases = fit_biases
        # the votes and, for the biases, a row of ones
        self.design = np.ones((self.n_voters + 1, self.n_items), np.float32)
        self.design[:-1] = values.T
        self.votes = self.design[:-1]
        self.prior_odds = prior_odds

    def predictors(self, edges: Floats, biases: Floats) -> Singles:
        """Return m_is = b_s + sum_t W_st f_it."""
        return edges.astype(np.float32) @ self.votes + biases.astype(np.float32)[:, None]

    def truth_field(self, network: Network) -> Singles:
        """Return theta_0 + z_i / 2 + sum_s a_s f_is."""
        signal = network.weights.astype(np.float32) @ self.votes
        return np.asarray(signal + network.field + self.prior_odds / 2, np.float32)

    def posterior(self, network: Network) -> Singles:
        """Return tau_i = P(f_0 = +1 | votes): the exact E-step."""
        return np.asarray(expit(2 * self.truth_field(network)), np.float32)

    def differentiate(self, network: Network, posterior: Singles | None = None) -> Derivatives:
        """Return the expected loss and its derivatives at a network and a posterior, or its own."""
        predictors = self.predictors(network.edges, network.biases)
        tau = self.posterior(network) if posterior is None else posterior
        found = differentiate_expected_loss(self.votes, predictors, tau, network.weights)
        return Derivatives(*found)

    def marginal_loss(self, network: Network) -> float:
        """Return -sum log P(f_is | other votes) in nats, the truth summed out."""
        predictors = self.predictors(network.edges, network.biases)
        truth = self.truth_field(network)
        return float(sum_marginal_loss(self.votes, predictors, truth, network.weights)[0])

    def improve_field(self, network: Network, predictors: Singles) -> float:
        """Return theta_0 after one bounded Newton step on the marginal loss."""
        truth = self.truth_field(network)
        _, gradient, curvature = sum_marginal_loss(self.votes, predictors, truth, network.weights)
        step = gradient / (curvature + 1e-3 * self.n_items)
        return float(np.clip(network.field - np.clip(step, -0.3, 0.3), -2.0, 2.0))

    def edge_scores(self, at: Derivatives) -> Floats:
        """Return G_st, the score of W_st in voter s's own regression."""
        return (at.residuals @ self.votes.T).astype(np.float64)

    def pair_sd(self, at: Derivatives) -> Floats:
        """Return the standard deviation of G_st + G_ts = sum_i f_t r_s + f_s r_t."""
        # of the items' terms: the regressions share the votes, so their variances do not add up
        variance = (at.residuals**2 @ (self.votes**2).T).astype(np.float64)
        products = at.residuals * self.votes
        shared = (products @ products.T).astype(np.float64)
        squares = np.maximum(variance + variance.T + 2 * shared, 1e-6 * self.n_items)
        return np.asarray(np.sqrt(squares))

    def score_pairs(self, at: Derivatives) -> Floats:
        """Return the score test of every pair, N(0, 1) where no dependence is left."""
        scores = self.edge_scores(at)
        scores = (scores + scores.T) / self.pair_sd(at)
        np.fill_diagonal(scores, 0.0)
        return scores

    def pair_information(self, at: Derivatives) -> Floats:
        """Return the sum of both regressions' curvatures in W_st."""
        curvatures = (at.curvatures @ (self.votes**2).T).astype(np.float64)
        return np.asarray(np.maximum(curvatures + curvatures.T, 1e-6 * self.n_items))


class Fit(NamedTuple):
    """The network that a run ended at, and the Hessians of its last round."""

    network: Network
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
        """Return the fit after at most so many Newton steps; without a posterior, at its own."""
        likelihood = self.likelihood
        l1, precision, center = (square[self.pairs] for square in penalty[:3])
        penalty = penalty._replace(l1=l1, precision=precision, center=center)
        predictors = likelihood.predictors(network.edges, network.biases)
        for count in range(rounds):
            before = network
            tau = likelihood.posterior(network) if posterior is None else posterior
            at = Derivatives(
                *differentiate_expected_loss(likelihood.votes, predictors, tau, network.weights)
            )
            if hessians is None or count in rebuild:
                hessians = self.hessians(at)
            target = self._minimize(network, at, hessians, penalty)
            network, predictors = self._step(network, target, predictors, tau, penalty, at.loss)
            if likelihood.fit_biases and self.with_truth and posterior is None:
                field = likelihood.improve_field(network, predictors)
                network = network._replace(field=field)
            changes = network.edges - before.edges, network.weights - before.weights
            if max(np.abs(change).max() for change in changes) < TOL:
                break
        return Fit(network, hessians or [])

    def hessians(self, at: Derivatives) -> list[Singles]:
        """Return every voter's Hessian over its partners, its bias and its weight."""
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
        """Return the longest step that does not increase the objective, with its predictors."""
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
        edges = network.edges[self.pairs]
        price = penalty.l1 @ np.abs(edges) + penalty.precision @ (edges - penalty.center) ** 2 / 2
        squares = (network.weights - penalty.weight_center) ** 2
        return float(price + penalty.weight_precision @ squares / 2)

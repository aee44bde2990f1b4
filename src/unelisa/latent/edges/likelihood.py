"""The symmetric pseudo-likelihood: all voters' regressions together, with a hidden truth.

With W symmetric and z_i the prior odds of an item::

    logit P(f_s = +1 | f_0, other votes) = 2 (b_s + a_s f_0 + sum_t W_st f_t)
    logit P(f_0 = +1 | votes)            = 2 (theta_0 + z_i / 2 + sum_s a_s f_s)

The second line is exact for any W. Scores are derivatives of the log-likelihood, that is, minus the
gradient of the loss.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.kernels.pseudo_likelihood import differentiate_expected_loss, sum_marginal_loss
from unelisa.latent.edges.slab import Floats, Slab

Singles = NDArray[np.float32]
Mask = NDArray[np.bool_]

WEAK = 0.4  # edges below this share of the common size are removed
SEED = 1e-3  # absolute value of a new edge


class Network(NamedTuple):
    """The parameters of the model, and the prior of its edges, which is learned with them."""

    edges: Floats  # W, voters x voters
    biases: Floats  # b
    weights: Floats  # a
    field: float  # theta_0
    support: Mask  # which edges may differ from 0
    slab: Slab = Slab(0.3, 0.0144)

    def keep(self, edges: Mask) -> "Network":
        """Return the network with these of its edges only."""
        support = self.support & edges
        return self._replace(edges=np.where(support, self.edges, 0.0), support=support)

    def pruned(self) -> "Network":
        """Return the network without edges that stay far below the common size."""
        return self.keep(np.abs(self.edges) >= WEAK * self.slab.size)

    def joined(self, new: Mask, directions: Floats) -> "Network":
        """Return the network with new edges, small ones with the sign of their directions."""
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

    def evaluate(self, predictors: Singles, posterior: Singles, weights: Floats) -> Derivatives:
        """Return the expected loss and its derivatives at given predictors."""
        return Derivatives(*differentiate_expected_loss(self.votes, predictors, posterior, weights))

    def differentiate(self, network: Network, posterior: Singles | None = None) -> Derivatives:
        """Return the expected loss and its derivatives at a network and a posterior, or its own."""
        predictors = self.predictors(network.edges, network.biases)
        tau = self.posterior(network) if posterior is None else posterior
        return self.evaluate(predictors, tau, network.weights)

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
        """Return the standard deviation of G_st + G_ts = sum_i f_t r_s + f_s r_t.

        From the squares of the items' terms: the two regressions share the votes, so their own
        variances do not add up.
        """
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

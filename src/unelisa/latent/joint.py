"""The symmetric pseudo-likelihood: all voters' regressions together, with a hidden truth.

With W symmetric and z_i the prior log-odds of an item::

    logit P(f_s = +1 | f_0, other votes) = 2 (b_s + a_s f_0 + sum_t W_st f_t)
    logit P(f_0 = +1 | votes)            = 2 (theta_0 + z_i / 2 + sum_s a_s f_s)

The second line is exact whatever W is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.kernels.joint import fill_expected_slopes, sum_expected_loss, sum_marginal_loss

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Mask = NDArray[np.bool_]


class Network(NamedTuple):
    """The model's parameters. `support` says which edges may differ from 0."""

    edges: Floats  # W, voters x voters
    fields: Floats  # b
    weights: Floats  # a
    field: float  # theta_0
    support: Mask


class Slopes(NamedTuple):
    """The expected loss at a point and minus its first derivatives, summed over the items."""

    loss: float
    edges: Floats  # [s, t]: of voter s's regression in W_st
    fields: Floats
    weights: Floats


def empty_network(n_voters: int) -> Network:
    """Return the network in which nothing depends on anything."""
    square = np.zeros((n_voters, n_voters))
    return Network(square, np.zeros(n_voters), np.zeros(n_voters), 0.0, square.astype(bool))


class Joint:
    """The votes of at most a few thousand items in float32, with work arrays of their size.

    `evaluate` leaves residuals, curvatures and tilts of its point (see `fill_expected_slopes`).
    """

    def __init__(self, values: NDArray[np.int8], prior: Floats | None, *, fit_fields: bool) -> None:
        n_items, n_voters = values.shape
        self.n_items, self.n_voters = n_items, n_voters
        self.fit_fields = fit_fields
        self.design = np.ones((n_voters + 1, n_items), np.float32)  # the votes, and a row of ones
        self.design[:-1] = values.T
        self.votes = self.design[:-1]
        self.prior = np.zeros(n_items) if prior is None else prior
        self.even = np.full(n_items, 0.5, np.float32)
        shape = (n_voters, n_items)
        self.residuals, self.curvatures, self.tilts = (np.empty(shape, np.float32) for _ in "rht")

    def predictors(self, edges: Floats, fields: Floats) -> Singles:
        """Return m_is = b_s + sum_t W_st f_it."""
        return edges.astype(np.float32) @ self.votes + fields.astype(np.float32)[:, None]

    def truth_field(self, network: Network) -> Singles:
        """Return theta_0 + z_i / 2 + sum_s a_s f_is."""
        pull = network.weights.astype(np.float32) @ self.votes
        return np.asarray(pull + network.field + self.prior / 2, np.float32)

    def posterior(self, network: Network) -> Singles:
        """Return tau_i = P(f_0 = +1 | votes): the exact E-step."""
        return np.asarray(expit(2 * self.truth_field(network)), np.float32)

    def expected_loss(self, predictors: Singles, posterior: Singles, weights: Floats) -> float:
        """Return -sum E_tau log P(f_is | f_0, other votes), in nats."""
        return float(sum_expected_loss(self.votes, predictors, posterior, weights))

    def evaluate(self, predictors: Singles, posterior: Singles, weights: Floats) -> Slopes:
        """Return the expected loss and its slopes at one point."""
        weight_slopes = np.empty(self.n_voters)
        loss = fill_expected_slopes(
            self.votes,
            predictors,
            posterior,
            weights,
            self.residuals,
            self.curvatures,
            self.tilts,
            weight_slopes,
        )
        edges = (self.residuals @ self.votes.T).astype(np.float64)
        fields = self.residuals.sum(axis=1, dtype=np.float64)
        return Slopes(loss, edges, fields, weight_slopes)

    def marginal_loss(self, network: Network) -> float:
        """Return -sum log P(f_is | other votes) in nats, the truth summed out."""
        predictors = self.predictors(network.edges, network.fields)
        truth = self.truth_field(network)
        return float(sum_marginal_loss(self.votes, predictors, truth, network.weights)[0])

    def improve_field(self, network: Network, predictors: Singles) -> float:
        """Return theta_0 after one guarded Newton step on the marginal loss."""
        truth = self.truth_field(network)
        _, slope, curvature = sum_marginal_loss(self.votes, predictors, truth, network.weights)
        step = slope / (curvature + 1e-3 * self.n_items)
        return float(np.clip(network.field - np.clip(step, -0.3, 0.3), -2.0, 2.0))

    def score_pairs(self, network: Network, posterior: Singles) -> tuple[Floats, Floats, Floats]:
        """Return every pair's score, N(0, 1) where no dependence is left, its sd and information.

        The score is G_st + G_ts = sum_i f_t r_s + f_s r_t over the root of its items' squares: both
        regressions share the votes, so their squares alone would not do. The information is the sum
        of both curvatures in W_st.
        """
        predictors = self.predictors(network.edges, network.fields)
        slopes = self.evaluate(predictors, posterior, network.weights)
        seen = (self.votes**2).T
        variance = (self.residuals**2 @ seen).astype(np.float64)
        products = self.residuals * self.votes
        shared = (products @ products.T).astype(np.float64)
        least = 1e-6 * self.n_items
        sd = np.sqrt(np.maximum(variance + variance.T + 2 * shared, least))
        scores = (slopes.edges + slopes.edges.T) / sd
        np.fill_diagonal(scores, 0.0)
        bends = (self.curvatures @ seen).astype(np.float64)
        return scores, sd, np.maximum(bends + bends.T, least)

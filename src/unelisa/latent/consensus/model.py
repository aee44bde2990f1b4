"""The consensus model and its EM.

Given the truth f0 and, with a tilt, a second hidden node u (a misreading that all voters share),
voters err independently::

    logit P(f_s = +1 | f0, u) = 2 (b_s + a_s f0 + c_s u)
    P(f0 = +1) = sigmoid(rate + z_i),  P(u = +1) = 1/2
    b_s ~ N(mu_b, sd_b^2),  a_s ~ N(mu_a, sd_a^2),  c_s ~ N(mu_c, sd_c^2)

with b_s the voter's bias, a_s its weight, z_i the item's prior odds (of a prior, or a gold label's
certainty), and mu, sd learned from all voters, so that a voter with three votes is shrunk toward
the mean. Each voter has a Gaussian posterior N(m_s, C_s) of (b, a, c), so in the hidden state
s = (1, f0, u) its log-odds are 2 x, x ~ N(h, v), h = s'm_s and v = s'C_s s. The E-step adds up the
expected log-probability of the votes::

    E log P(f | x) = f h - E log 2 cosh x

E-step and M-step both raise one lower bound of the log evidence (variational Bayes), so
`objective` never falls.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from unelisa.blocks import ItemBlocks
from unelisa.kernels.ballots import tally_ballots, weigh_ballots
from unelisa.kernels.coefficients import move_voters, weigh_voters
from unelisa.latent.ballots import CERTAIN, Ballots, Sums
from unelisa.schema import stored

Floats = NDArray[np.float64]
Start = Callable[..., Floats]

# the hidden states (1, f0) and (1, f0, u); the first half has f0 = +1
STATES = {
    2: np.array([[1.0, 1.0], [1.0, -1.0]]),
    3: np.array([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [1.0, -1.0, -1.0]]),
}
# hyper-priors of (b, a, c): mean and sd of mu; then a guess of sd, worth two voters
CENTER_MEAN, CENTER_SPREAD = np.array([0.0, 0.6, 0.0]), np.array([0.5, 0.6, 1.0])
SPREAD_GUESS, SPREAD_VOTERS = np.array([0.3, 0.4, 0.3]), 2.0
LEAST_SPREAD = np.array([0.1, 0.15, 0.05])
MOST_SPREAD = np.array([np.inf, np.inf, 0.2])  # u is a misreading shared by all, not a truth
FIRST_MEANS = np.array([0.0, 0.7])  # of (b, a)
FIRST_CENTER = {2: np.array([0.0, 0.7]), 3: np.array([0.0, 0.6, 0.3])}
FIRST_SPREAD = {2: np.array([0.5, 0.5]), 3: np.array([0.5, 0.4, 0.2])}
RATE_ITEMS = 2.0  # pseudo-items of each class, which keep the class rate off 0 and 1
MAX_ITER, TOL = 300, 2e-4
FIRST_STEPS, STEPS = 8, 1  # Newton steps of the voters in each iteration
NODES, SHARES = np.polynomial.hermite_e.hermegauss(5)
SHARES /= SHARES.sum()


class Factors(NamedTuple):
    """What a pass needs: h and E log 2 cosh x per voter and state, and the class rate."""

    effects: Floats
    normalizers: Floats
    rate: float


@stored(
    lambda model: model.means.shape[1] in STATES,
    means="finite[voters, parts]",
    covariances="finite[voters, parts, parts]",
    center="finite[parts]",
    spread="finite[parts]",
    rate="finite",
    objective="float[steps]",
    converged="flag",
)
@dataclass(frozen=True, eq=False)
class Consensus:
    """The parameters of the model, and how EM reached them."""

    # means, covariances: posterior of every voter's (b, a) or (b, a, c): voters x 2 or 3, and its
    # covariance
    means: Floats
    covariances: Floats
    # center, spread: mu and sd of the voters
    center: Floats
    spread: Floats
    rate: float  # log pi / (1 - pi), pi the share of positive items
    objective: Floats  # lower bound of the log evidence before each iteration; it never falls
    converged: bool  # whether the last iteration moved no voter by more than the tolerance

    @classmethod
    def first(cls, means: Floats) -> "Consensus":
        """Return the initialization of some coefficients, under the initial priors."""
        n_voters, parts = means.shape
        center, spread = FIRST_CENTER[parts], FIRST_SPREAD[parts]
        covariances = np.tile(np.diag(spread**2), (n_voters, 1, 1))
        return cls(means, covariances, center, spread, 0.0, np.empty(0), converged=False)

    @property
    def states(self) -> Floats:
        """The hidden states, one per row."""
        return STATES[self.means.shape[1]]

    @property
    def biases(self) -> Floats:
        """Bias b of each voter."""
        return np.asarray(self.means[:, 0])

    @property
    def weights(self) -> Floats:
        """Weight a of each voter."""
        return np.asarray(self.means[:, 1])

    @property
    def standard_errors(self) -> Floats:
        """Standard error of a per voter."""
        return np.asarray(np.sqrt(self.covariances[:, 1, 1]))

    @property
    def own_scores(self) -> Floats:
        """Weight a in standard errors, from each voter's own votes, without what the prior adds."""
        prior = 1 / self.spread[1] ** 2
        own = np.maximum(1 / np.maximum(self.covariances[:, 1, 1], 1e-12) - prior, 1e-12)
        return np.asarray(((own + prior) * self.weights - prior * self.center[1]) / np.sqrt(own))

    @property
    def factors(self) -> Factors:
        """What the E-step needs of each voter."""
        found = weigh_voters(self.means, self.covariances, self.states, NODES, SHARES)
        return Factors(*found, self.rate)

    @property
    def coins(self) -> Floats:
        """P(yes | truth is no), P(yes | truth is yes) per voter: two rows."""
        yes = expit(2 * self.means @ self.states.T)
        half = len(self.states) // 2
        return np.stack([yes[:, half:].mean(axis=1), yes[:, :half].mean(axis=1)])

    def without(self, voters: NDArray[np.bool_]) -> "Consensus":
        """Return the same model with the coefficients of some voters at exactly 0."""
        covariances = np.where(voters[:, None, None], 0.0, self.covariances)
        means = np.where(voters[:, None], 0.0, self.means)
        return replace(self, means=means, covariances=covariances)

    def turned(self) -> "Consensus":
        """Return the same model with the two sides of the truth swapped."""
        signs = np.ones(self.means.shape[1])
        signs[1] = -1
        return replace(
            self,
            means=self.means * signs,
            covariances=self.covariances * np.outer(signs, signs),
            center=self.center * signs,
            rate=-self.rate,
        )


def fit_consensus(
    ballots: ItemBlocks,
    start: Start,
    *parameters: Any,
    model: Consensus | None = None,
    least_weight: float = -np.inf,
    max_iter: int = MAX_ITER,
) -> Consensus:
    """Return the fixed point of EM from the posterior `start(ballots, *parameters)`.

    It is items x states. `model` has the initial coefficients, by default those of average voters.
    `least_weight` bounds every a below: voters may be uninformative, but not contrarian.
    """
    n_voters = ballots.n_voters
    sums = ballots.sum(collect_start, start, parameters, n_voters)
    model = model or Consensus.first(np.tile(FIRST_MEANS, (n_voters, 1)))
    model = maximize(model, sums, FIRST_STEPS, least_weight)
    history, converged = [], False
    for _ in range(max_iter):
        sums = ballots.sum(collect, model.factors, n_voters)
        history.append(float(sums[2][0]) + log_prior(model, sums[1].sum(axis=1) > 0))
        before = model.means
        model = maximize(model, sums, STEPS, least_weight)
        converged = bool(np.abs(model.means - before).max() < TOL)
        if converged:
            break
    return replace(model, objective=np.array(history), converged=converged)


def infer(ballots: Ballots, factors: Factors) -> tuple[Floats, Floats, Floats]:
    """Return the posterior of the states, the log evidence and the prior P(f0 = +1) per item."""
    joint = weigh_states(ballots, factors)
    most = joint.max(axis=1, keepdims=True)
    odds = np.exp(joint - most)
    total = odds.sum(axis=1, keepdims=True)
    evidence = most[:, 0] + np.log(total[:, 0])
    known = np.where(np.abs(ballots.prior_odds) >= CERTAIN, 0.0, ballots.prior_odds)
    return odds / total, evidence, expit(factors.rate + known)


def weigh_states(ballots: Ballots, factors: Factors) -> Floats:
    """Return log P(state, votes) per item and state."""
    starts, voters, votes, _, weights = ballots
    votes_say = weigh_ballots(starts, voters, votes, weights, factors.effects, factors.normalizers)
    return np.asarray(votes_say + log_state_priors(ballots, factors))


def log_state_priors(ballots: Ballots, factors: Factors) -> Floats:
    """Return the log prior per item and state."""
    half = factors.effects.shape[1] // 2
    certain = np.where(np.abs(ballots.prior_odds) >= CERTAIN, ballots.prior_odds, 0.0)
    odds = factors.rate + ballots.prior_odds - certain
    no, yes = log_expit(-odds) - np.maximum(certain, 0), log_expit(odds) + np.minimum(certain, 0)
    sides = np.stack([yes, no], axis=1) - np.log(half)
    return np.repeat(sides, half, axis=1)


def weigh_truth(ballots: Ballots, factors: Factors) -> Floats:
    """Return the log-odds of the truth per item, with u summed out. A pass."""
    joint = weigh_states(ballots, factors)
    half = joint.shape[1] // 2
    yes, no = (np.logaddexp.reduce(side, axis=1) for side in (joint[:, :half], joint[:, half:]))
    return np.asarray(yes - no)


def expect_votes(ballots: Ballots, model: Consensus) -> Floats:
    """Return for every vote its expectation under the posterior of the truth."""
    b, a = model.biases, model.weights
    coins = (1 + np.tanh(np.stack([b - a, b + a]))) / 2  # P(yes | no), P(yes | yes) at u = 0
    no, yes = 2 * coins - 1
    chance = 1 / (1 + np.exp(-np.clip(weigh_truth(ballots, model.factors), -60, 60)))
    known = chance[ballots.items]
    return np.asarray(yes[ballots.voters] * known + no[ballots.voters] * (1 - known))


def infer_states(ballots: Ballots, factors: Factors) -> Floats:
    """Return the posterior of the states: a start from another fit."""
    return infer(ballots, factors)[0]


def share_votes(ballots: Ballots, weights: Floats) -> Floats:
    """Return the posterior of a majority vote in which voters have these weights: a start."""
    return suggest_states(ballots, weights[ballots.voters])


def suggest_states(ballots: Ballots, weights: Floats) -> Floats:
    """Return the posterior of a weighted majority vote.

    P(f0 = +1) = 1/2 + .45 (weighted mean vote), shifted by the item's prior odds.
    """
    items = ballots.items
    margin = np.bincount(items, weights * ballots.votes, ballots.n_items)
    mass = np.bincount(items, weights, ballots.n_items)
    share = 0.5 + 0.45 * margin / np.where(mass > 0, mass, 1.0)
    yes = expit(logit(share) + ballots.prior_odds)
    return np.stack([yes, 1 - yes], axis=1)


def collect(ballots: Ballots, factors: Factors, n_voters: int) -> Sums:
    """Return the sums of the E-step: signed and counted votes per voter and state, and totals.

    The totals: log evidence, sums of the posterior and the prior P(f0 = +1), number of items; all
    over items with votes. A pass.
    """
    posterior, evidence, before = infer(ballots, factors)
    return _tally(ballots, n_voters, posterior, before, evidence)


def collect_start(
    ballots: Ballots, start: Start, parameters: tuple[Any, ...], n_voters: int
) -> Sums:
    """Return the same sums under an initial posterior. A pass."""
    posterior = start(ballots, *parameters)
    nothing = np.zeros(ballots.n_items)
    return _tally(ballots, n_voters, posterior, expit(ballots.prior_odds), nothing)


def maximize(model: Consensus, sums: Sums, steps: int, least_weight: float) -> Consensus:
    """Return the M-step: the voters, their center and spread, and the class rate."""
    signed, observed, totals = sums
    means, covariances, said = model.means, model.covariances, (signed, observed)
    prior = model.center, model.spread
    for _ in range(steps):
        means, covariances = move_voters(
            means, covariances, *said, model.states, *prior, least_weight, NODES, SHARES
        )
    moved = replace(model, means=means, covariances=covariances)
    center, spread = _learn_spread(moved, observed.sum(axis=1) > 0)
    rate = _learn_rate(model.rate, totals)
    return replace(moved, center=center, spread=spread, rate=rate)


def log_prior(model: Consensus, on: NDArray[np.bool_]) -> float:
    """Return the other terms of the bound: priors, hyper-priors and the entropy of the voters."""
    parts = model.means.shape[1]
    variances = np.einsum("sii->si", model.covariances)
    away = ((model.means - model.center) ** 2 + variances) / model.spread**2
    voters = -away.sum(axis=1) / 2 - np.log(model.spread).sum()
    voters += np.linalg.slogdet(model.covariances)[1] / 2 + parts / 2
    hyper = -(((model.center - CENTER_MEAN[:parts]) / CENTER_SPREAD[:parts]) ** 2).sum() / 2
    guess = SPREAD_GUESS[:parts]
    hyper -= (SPREAD_VOTERS * (np.log(model.spread) + (guess / model.spread) ** 2 / 2)).sum()
    rates = RATE_ITEMS * (log_expit(model.rate) + log_expit(-model.rate))
    return float(voters[on].sum() + hyper + rates)


def _tally(
    ballots: Ballots, n_voters: int, posterior: Floats, before: Floats, evidence: Floats
) -> Sums:
    voted = ballots.counts > 0
    half = posterior.shape[1] // 2
    signed, observed = tally_ballots(*ballots[:3], posterior, n_voters)
    yes = posterior[voted, :half].sum()
    totals = np.array([evidence[voted].sum(), yes, before[voted].sum(), voted.sum()])
    return signed, observed, totals


def _learn_spread(model: Consensus, on: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return mu and sd of the voters who voted, under their hyper-priors."""
    parts, n = model.means.shape[1], np.count_nonzero(on)
    means, variances = model.means[on], np.einsum("sii->si", model.covariances)[on]
    precision, hyper = 1 / model.spread**2, 1 / CENTER_SPREAD[:parts] ** 2
    center = (means.sum(axis=0) * precision + CENTER_MEAN[:parts] * hyper) / (n * precision + hyper)
    squares = ((means - center) ** 2 + variances).sum(axis=0)
    squares += SPREAD_VOTERS * SPREAD_GUESS[:parts] ** 2
    spread = np.sqrt(squares / (n + SPREAD_VOTERS))
    return center, np.clip(spread, LEAST_SPREAD[:parts], MOST_SPREAD[:parts])


def _learn_rate(rate: float, totals: Floats) -> float:
    """Return the class rate after one step that raises the bound.

    With equal prior odds this is the logit of the mean posterior at once. With unequal ones the
    logit of the mean prior rises by less than the rate does, so the step never overshoots.
    """
    _, after, before, n_items = totals
    whole = n_items + 2 * RATE_ITEMS
    found = (after + RATE_ITEMS) / whole
    expected = (before + 2 * RATE_ITEMS * expit(rate)) / whole
    return float(rate + logit(found) - logit(expected))

"""The consensus model and its EM.

Every item has a hidden truth f0 and, where the votes need them, an ease d and a tilt u::

    P(f0 = +1) = sigmoid(rate + z_i),  P(d) learned on a grid,  P(u = +1) = 1/2

A branch hangs on them: a voter without relatives, or the opinion g_c of a family. A family's
voters hang on its opinion, so that ten voters who repeat each other are one branch::

    logit P(branch says yes | f0, d, u) = 2 (b + a d f0 + c u)
    logit P(f_s = +1 | g_c)             = 2 (b_s + a_s g_c)

z_i are the item's prior odds. Branches have (b, a, c) ~ N(mu, sd^2) and voters of families
(b_s, a_s) ~ N(mu', sd'^2) with means and spreads learned from all of them, so that a voter with
three votes is shrunk toward the mean. Each has a Gaussian posterior N(m, C); in hidden state s its
log-odds are 2 x, x ~ N(s'm, s'C s), and the E-step, which sums over all hidden nodes exactly, takes
E log P(f | x). E-step and M-step both raise one lower bound of the log evidence (variational
Bayes), so `objective` never falls.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

from unelisa.blocks import ItemBlocks
from unelisa.kernels.branches import collect_branches, infer_branches
from unelisa.latent.ballots import CERTAIN, Ballots, Sums
from unelisa.latent.consensus.coefficients import BRANCHES, MEMBERS, Coefficients
from unelisa.progress import another
from unelisa.schema import stored

Floats = NDArray[np.float64]
Families = NDArray[np.int32]

GRID = np.array([0.0, 0.25, 0.5, 1.0, 1.6])  # ease: 0 nobody can tell, 1 an ordinary item
EVEN = np.array([1.0])  # all items are equally easy
OPINIONS = np.array([[1.0, -1.0], [1.0, 1.0]])  # a family's opinion, no or yes
RATE_ITEMS = 2.0  # pseudo-items of each class, which keep the class rate off 0 and 1
MAX_ITER = 100
# nats an iteration must gain: what moves more slowly is the direction in which class rate and
# biases trade places, and following it to the end is how a class vanishes
TOL = 0.3
LEAST_ITER, FIRST_STEPS = 4, 8


class Factors(NamedTuple):
    """What a pass needs of a model, see `kernels.branches`."""

    family: Families
    tables: Floats
    members: Floats
    opinions: Floats
    log_states: Floats  # log P(d, u) of each state
    says_yes: NDArray[np.bool_]  # whether f0 = +1 in it
    rate: float


class Tree:
    """What the models of a consensus share: voters, some of whom hang on families' opinions."""

    family: Families  # of each voter; -1: none
    branches: Any  # coefficients of every voter without a family, and then of every family
    members: Any  # of every voter, where it has a family
    ease: Floats  # P(d) on the grid; one entry: all items are equally easy

    @property
    def n_voters(self) -> int:
        """Number of voters."""
        return len(self.family)

    @property
    def n_families(self) -> int:
        """Number of families."""
        return int(self.family.max(initial=-1)) + 1

    @property
    def lone(self) -> NDArray[np.bool_]:
        """Which voters have no family."""
        return np.asarray(self.family < 0)

    @property
    def has_ease(self) -> bool:
        """Whether items differ in ease."""
        return len(self.ease) > 1

    def without(self, idle: NDArray[np.bool_]) -> Self:
        """Return the same model with voters who never voted at exactly 0."""
        rows = np.concatenate([idle, np.zeros(self.n_families, dtype=np.bool_)])
        parts = {"branches": self.branches.without(rows), "members": self.members.without(idle)}
        return replace(self, **parts)  # type: ignore[type-var]

    def easing(self) -> Self:
        """Return the same voters where items differ in ease: a start of EM."""
        return replace(self, ease=np.full(len(GRID), 1 / len(GRID)))  # type: ignore[type-var]


def _fits(model: "Consensus") -> bool:
    """Return whether the parts of a stored model are those of one crowd."""
    return (
        model.branches.means.shape[1] in (2, 3)
        and model.members.means.shape == (model.n_voters, 2)
        and len(model.branches.means) == model.n_voters + model.n_families
        and len(model.ease) in (len(EVEN), len(GRID))
    )


@stored(
    _fits,
    family="group32(voters)[voters]",
    branches="Coefficients",
    members="Coefficients",
    ease="share[grid]",
    rate="finite",
    objective="float[steps]",
    evidence="float",
    converged="flag",
    centered="?share",
)
@dataclass(frozen=True, eq=False)
class Consensus(Tree):
    """The parameters of the model, and how EM reached them."""

    family: Families  # of each voter; -1: none
    branches: Coefficients  # of every voter, where it has no family, and then of every family
    members: Coefficients  # of every voter, where it has a family
    ease: Floats  # P(d) on the grid; one entry: all items are equally easy
    rate: float  # log pi / (1 - pi), pi the share of positive items
    objective: Floats  # lower bound of the log evidence in each iteration
    evidence: float = -np.inf  # the last one, without hyper-priors: comparable between structures
    converged: bool = False
    centered: float = 0.0  # part of the branches' mean bias that EM removed

    @classmethod
    def first(
        cls, family: NDArray[np.integer], *, ease: bool = False, tilt: bool = False
    ) -> "Consensus":
        """Return average voters: where EM begins."""
        n_voters, n_families = len(family), int(family.max(initial=-1)) + 1
        return cls(
            family.astype(np.int32),
            Coefficients.first(n_voters + n_families, BRANCHES, 3 if tilt else 2),
            Coefficients.first(n_voters, MEMBERS, 2),
            np.full(len(GRID), 1 / len(GRID)) if ease else EVEN,
            0.0,
            np.empty(0),
        )

    @property
    def has_tilt(self) -> bool:
        """Whether there is a tilt."""
        return bool(self.branches.means.shape[1] > 2)

    @property
    def states(self) -> Floats:
        """The hidden states (1, d f0) or (1, d f0, u), one per row; the first half has f0 = +1."""
        grid = GRID if self.has_ease else EVEN
        sides = np.concatenate([grid, -grid])
        if not self.has_tilt:
            return np.stack([np.ones(len(sides)), sides], axis=1)
        rows = [(1.0, side, u) for side in sides for u in (1.0, -1.0)]
        return np.array(rows)

    @property
    def log_states(self) -> Floats:
        """Log P(d, u) of every state."""
        weights = np.log(np.tile(self.ease, 2))
        return np.repeat(weights, 2) - np.log(2) if self.has_tilt else weights

    @property
    def factors(self) -> Factors:
        """What a pass needs."""
        tables = self.branches.tabulate(self.states)
        half = len(self.states) // 2
        return Factors(
            self.family,
            tables,
            self.members.tabulate(OPINIONS),
            np.exp(tables[self.n_voters :]),
            self.log_states,
            np.arange(len(self.states)) < half,
            self.rate,
        )

    @property
    def coins(self) -> Floats:
        """P(yes | truth is no), P(yes | truth is yes) per voter: two rows."""
        says_yes = self.expect_yes()
        weights = np.exp(self.log_states)
        half = len(weights) // 2
        return np.stack([says_yes[:, half:] @ weights[half:], says_yes[:, :half] @ weights[:half]])

    def expect_yes(self) -> Floats:
        """Return P(says yes | state) per voter and state, families' opinions summed out."""
        chances = expit(2 * self.branches.means @ self.states.T)
        found: Floats = chances[: self.n_voters].copy()
        no, yes = expit(2 * OPINIONS @ self.members.means.T)
        related = np.flatnonzero(~self.lone)
        opinion = chances[self.n_voters + self.family[related]]
        found[related] = yes[related, None] * opinion + no[related, None] * (1 - opinion)
        return found

    @property
    def weights(self) -> Floats:
        """Weight a per voter: a quarter of the difference of its log-odds of yes on either side."""
        no, yes = logit(np.clip(self.coins, 1e-9, 1 - 1e-9))
        return np.asarray((yes - no) / 4)

    @property
    def biases(self) -> Floats:
        """Bias b per voter: a quarter of the sum of these log-odds."""
        no, yes = logit(np.clip(self.coins, 1e-9, 1 - 1e-9))
        return np.asarray((yes + no) / 4)

    @property
    def standard_errors(self) -> Floats:
        """Standard error of a per voter; that of its family's a, in proportion, in a family."""
        errors = np.sqrt(self.branches.covariances[:, 1, 1])
        found = errors[: self.n_voters].copy()
        related = np.flatnonzero(~self.lone)
        rows = self.n_voters + self.family[related]
        known = np.maximum(np.abs(self.branches.means[rows, 1]), 1e-9)
        found[related] = errors[rows] * np.minimum(np.abs(self.weights[related]) / known, 1)
        return found

    def turned(self) -> "Consensus":
        """Return the same model with the two sides of the truth swapped."""
        return replace(self, branches=self.branches.turned(), rate=-self.rate)


def start_consensus(
    ballots: ItemBlocks, model: Consensus, odds: Floats, least_weight: float = -np.inf
) -> Consensus:
    """Return the first M-step: coefficients given that the truth has these log-odds per item.

    Branches say nothing of the truth yet, and a family's opinion is what its voters said.
    """
    factors = model.factors
    silent = factors._replace(
        tables=np.full_like(factors.tables, -np.log(2)),
        opinions=np.full_like(factors.opinions, 0.5),
    )
    sums = ballots.view(_add_odds, per_item=(odds,)).sum(collect, silent)
    return maximize(model, sums, FIRST_STEPS, least_weight=least_weight)


def fit_consensus(
    ballots: ItemBlocks,
    model: Consensus,
    *,
    centered: float = 0.0,
    least_weight: float = -np.inf,
    max_iter: int = MAX_ITER,
) -> Consensus:
    """Return the model after EM from the coefficients of `model`.

    `centered` is the part of the branches' mean bias that is removed in every iteration: nothing in
    the votes tells a common bias from the class rate. `least_weight` bounds every a below: voters
    may be uninformative, but not contrarian.
    """
    history: list[float] = []
    while True:
        sums = ballots.sum(collect, model.factors)
        on = sums[0].sum(axis=(1, 2)) > 0, sums[1].sum(axis=(1, 2)) > 0
        history.append(sums[3][0] + log_prior(model, *on))
        converged = len(history) > LEAST_ITER and abs(history[-1] - history[-2]) < TOL
        if converged or len(history) == max_iter:
            break
        with another():
            model = maximize(model, sums, 1, centered, least_weight)
    evidence = sums[3][0] - model.branches.divergence(on[0]) - model.members.divergence(on[1])
    evidence -= (len(model.ease) - 1) / 2 * np.log(max(sums[3][2], 1))
    path = np.array(history)
    model = replace(model, evidence=float(evidence), objective=path, converged=converged)
    return replace(model, centered=centered)


def infer(ballots: Ballots, factors: Factors) -> tuple[Floats, Floats, Floats]:
    """Return the posterior of the states, the families' leans and the log evidence per item."""
    priors, (family, tables, members, opinions) = log_priors(ballots, factors), factors[:4]
    return infer_branches(*ballots[:3], priors, family, tables, members, opinions)


def infer_truth(ballots: Ballots, factors: Factors) -> Floats:
    """Return P(f0 = +1) per item. A pass."""
    posterior = infer(ballots, factors)[0]
    return np.asarray(posterior[:, factors.says_yes].sum(axis=1))


def log_priors(ballots: Ballots, factors: Factors) -> Floats:
    """Return the log prior per item and state; one row where no item has prior odds."""
    odds = factors.rate + (ballots.prior_odds if ballots.prior_odds.any() else np.zeros(1))
    sides = np.stack([log_expit(odds), log_expit(-odds)], axis=1)
    return np.repeat(sides, len(factors.log_states) // 2, axis=1) + factors.log_states


def collect(ballots: Ballots, factors: Factors) -> Sums:
    """Return the sums of the E-step, see `kernels.branches`. A pass.

    The last holds the log evidence, the prior P(f0 = +1) and the number of items, all over items
    with votes.
    """
    priors, (family, tables, members, opinions) = log_priors(ballots, factors), factors[:4]
    said, repeated, states, evidence = collect_branches(
        *ballots[:3], priors, family, tables, members, opinions
    )
    heard = ballots.counts > 0
    before = np.count_nonzero(heard) * expit(factors.rate)
    if len(priors) > 1:
        known = np.where(np.abs(ballots.prior_odds) >= CERTAIN, 0.0, ballots.prior_odds)
        before = expit(factors.rate + known)[heard].sum()
    return said, repeated, states, np.array([evidence, before, np.count_nonzero(heard)])


def maximize(
    model: Consensus,
    sums: Sums,
    steps: int,
    centered: float = 0.0,
    least_weight: float = -np.inf,
) -> Consensus:
    """Return the M-step: the coefficients, their center and spread, ease and the class rate."""
    said, repeated, states, totals = sums
    branches = model.branches.moved(said, model.states, steps, least_weight)
    members = model.members
    if model.n_families:
        members = members.moved(repeated, OPINIONS, steps, LEAST_REPEAT).learned(repeated, MEMBERS)
    if centered:
        branches = branches.shifted(said, centered)
    branches = branches.learned(said, BRANCHES, unbiased=centered > 0)
    half = len(states) // 2
    ease = model.ease
    if model.has_ease:
        found = states.reshape(2, len(ease), -1).sum(axis=(0, 2)) + 1
        ease = found / found.sum()
    rate = _learn_rate(model.rate, states[:half].sum(), totals)
    return replace(model, branches=branches, members=members, ease=ease, rate=rate)


def log_prior(model: Consensus, on: NDArray[np.bool_], related: NDArray[np.bool_]) -> float:
    """Return the other terms of the bound: those of coefficients, hyper-priors, ease and rate."""
    total = BRANCHES.log_density(model.branches) - model.branches.divergence(on)
    if model.n_families:
        total += MEMBERS.log_density(model.members) - model.members.divergence(related)
    total += RATE_ITEMS * (log_expit(model.rate) + log_expit(-model.rate))
    return float(total + (np.log(model.ease).sum() if model.has_ease else 0.0))


LEAST_REPEAT = 0.05  # least a_s of a family's voter: its opinion has a sign


def _add_odds(ballots: Ballots, odds: Floats) -> Ballots:
    return ballots._replace(prior_odds=ballots.prior_odds + odds)


def _learn_rate(rate: float, yes: float, totals: Floats) -> float:
    """Return the class rate after one step that raises the bound.

    With equal prior odds this is the logit of the mean posterior at once. With unequal ones the
    logit of the mean prior rises by less than the rate does, so the step never overshoots.
    """
    _, before, n_items = totals
    whole = n_items + 2 * RATE_ITEMS
    expected = (before + 2 * RATE_ITEMS * expit(rate)) / whole
    return float(rate + logit((yes + RATE_ITEMS) / whole) - logit(expected))

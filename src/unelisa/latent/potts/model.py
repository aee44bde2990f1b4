"""The consensus over K classes: the Potts form of `latent.consensus.model`, and its EM.

Every item has a hidden class k with P(k) = pi_k exp(z_ik) / sum, z the item's prior log-odds, and,
where the votes need it, an ease d on a grid. A branch hangs on them: a voter without relatives, or
the opinion of a family, on which the family's voters hang::

    P(branch says c | k, d) = softmax_c(b_c + d (a A_kc + D_kc + e_kc))
    P(f_s = c | opinion g)  = softmax_c(b_sc + a_s 1{c = g})

see `coefficients.py`. The E-step sums over classes, ease and opinions exactly. Where rules vote for
one class only, their silence is one more answer, so that there may be K + 1 of them.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from unelisa.blocks import ItemBlocks
from unelisa.kernels.potts import collect_classes, infer_classes
from unelisa.latent.ballots import Ballots, Sums
from unelisa.latent.consensus.model import (
    EVEN,
    FIRST_STEPS,
    GRID,
    LEAST_ITER,
    RATE_ITEMS,
    Families,
    Floats,
    Tree,
)
from unelisa.latent.potts.coefficients import BRANCHES, MEMBERS, ClassCoefficients, Setting
from unelisa.progress import another
from unelisa.schema import stored

MAX_ITER = 100
# nats, or share of the objective, that an iteration must gain: see `consensus.model.TOL`
TOL, TOL_SHARE = 1.0, 1e-4
LEAST_REPEAT = 0.1  # least a_s of a family's voter
LEAST_CHANCE = 1e-3  # of a class where EM begins


class ClassFactors(NamedTuple):
    """What a pass needs of a model, see `kernels.potts`."""

    family: Families
    tables: Floats
    members: Floats
    opinions: Floats
    log_rates: Floats  # log pi_k
    log_ease: Floats  # log P(d)


def _fits(model: "ClassConsensus") -> bool:
    """Return whether the parts of a stored model are those of one crowd."""
    return (
        len(model.branches.weights) == model.n_voters + model.n_families
        and len(model.members.weights) == model.n_voters
        and model.members.shared.shape == model.form.shape
        and model.branches.shared.shape == model.form.shape
        and len(model.ease) in (len(EVEN), len(GRID))
    )


@stored(
    _fits,
    family="group32(voters)[voters]",
    branches="ClassCoefficients",
    members="ClassCoefficients",
    form="finite[classes, answers]",
    ease="share[grid]",
    rates="share[classes]",
    objective="float[steps]",
    evidence="float",
    converged="flag",
)
@dataclass(frozen=True, eq=False)
class ClassConsensus(Tree):
    """The parameters of the model, and how EM reached them."""

    family: Families  # of each voter; -1: none
    branches: ClassCoefficients  # of every voter without a family, and then of every family
    members: ClassCoefficients  # of every voter, where it has a family
    form: Floats  # A: classes x answers
    ease: Floats  # P(d) on the grid; one entry: all items are equally easy
    rates: Floats  # pi: share of each class
    objective: Floats  # log evidence of the votes at each iteration, up to the coefficients' terms
    evidence: float = -np.inf
    converged: bool = False

    @classmethod
    def first(
        cls, family: NDArray[np.integer], form: Floats, *, ease: bool = False
    ) -> "ClassConsensus":
        """Return average voters: where EM begins."""
        n_voters, n_families = len(family), int(family.max(initial=-1)) + 1
        n_classes = len(form)
        repeat = np.zeros_like(form)
        np.fill_diagonal(repeat, 1.0)
        return cls(
            family.astype(np.int32),
            ClassCoefficients.first(n_voters + n_families, form, BRANCHES),
            ClassCoefficients.first(n_voters, repeat, MEMBERS),
            form,
            np.full(len(GRID), 1 / len(GRID)) if ease else EVEN,
            np.full(n_classes, 1 / n_classes),
            np.empty(0),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.rates)

    @property
    def grid(self) -> Floats:
        """The values of d."""
        return GRID if self.has_ease else EVEN

    @property
    def factors(self) -> ClassFactors:
        """What a pass needs."""
        tables = self.branches.tabulate(self.form, self.grid)
        repeat = self.members.tabulate(_repeat_form(self.form), EVEN)
        # a family has an opinion, and never the silence that a rule's voter may have
        opinions = log_softmax(tables[self.n_voters :, : self.n_classes], axis=1)
        logs = np.log(self.rates), np.log(self.ease)
        return ClassFactors(self.family, tables, repeat, np.exp(opinions), *logs)

    @property
    def branch_chances(self) -> Floats:
        """P(answers c | class k, ease d) per branch: branches x answers x states."""
        found = [self.branches.find_chances(self.form, ease) for ease in self.grid]
        by_state = np.stack(found, axis=2).reshape(len(self.branches.weights), -1, self.answers)
        return np.asarray(by_state.transpose(0, 2, 1))

    @property
    def repeat_chances(self) -> Floats:
        """P(says c | opinion g) per voter, where it has a family: voters x opinions x answers."""
        return self.members.find_chances(_repeat_form(self.form), 1.0)

    @property
    def chances(self) -> Floats:
        """P(says c | class k, ease d) per voter: voters x answers x states, opinions summed out."""
        of_branches = self.branch_chances
        chances = of_branches[: self.n_voters].copy()
        related = np.flatnonzero(~self.lone)
        if len(related):
            repeats = self.repeat_chances[related]
            opinions = of_branches[self.n_voters + self.family[related], : self.n_classes]
            opinions = opinions / opinions.sum(axis=1, keepdims=True)
            chances[related] = np.einsum("rgc,rgs->rcs", repeats, opinions)
        return chances

    @property
    def confusions(self) -> Floats:
        """P(says c | class k) per voter: voters x classes x answers, ease summed out."""
        shape = self.n_voters, self.answers, self.n_classes, len(self.ease)
        return np.asarray((self.chances.reshape(shape) @ self.ease).transpose(0, 2, 1))

    @property
    def answers(self) -> int:
        """Number of answers."""
        return int(self.form.shape[1])

    @property
    def weights(self) -> Floats:
        """Weight a per voter; in a family the part of its a that the voter passes on."""
        found = self.branches.weights[: self.n_voters].copy()
        related = np.flatnonzero(~self.lone)
        passed = 2 * self.repeats[related] - 1
        found[related] = self.branches.weights[self.n_voters + self.family[related]] * passed
        return found

    @property
    def repeats(self) -> Floats:
        """Mean P(says g | opinion g) per voter: how far it repeats its family, if it has one."""
        chances = self.repeat_chances
        return np.asarray(np.einsum("sgg->s", chances[:, :, : self.n_classes]) / self.n_classes)

    @property
    def standard_errors(self) -> Floats:
        """Standard error of a per voter; that of its family in a family."""
        errors = np.sqrt(self.branches.weight_variances)
        rows = np.where(self.lone, np.arange(self.n_voters), self.n_voters + self.family)
        return np.asarray(errors[rows])

    @property
    def biases(self) -> Floats:
        """Class fields b per voter: voters x answers."""
        return np.where(
            self.lone[:, None], self.branches.fields[: self.n_voters], self.members.fields
        )


def start_classes(
    ballots: ItemBlocks, model: ClassConsensus, truth: Floats, least_weight: float = -np.inf
) -> ClassConsensus:
    """Return the first M-step: coefficients given P(class) of every item, items x classes."""
    factors = model.factors
    silent = factors._replace(
        tables=np.zeros_like(factors.tables),
        opinions=np.full_like(factors.opinions, 1 / model.n_classes),
    )
    odds = np.log(np.maximum(truth, LEAST_CHANCE))
    sums = ballots.view(_add_odds, per_item=(odds,)).sum(collect, silent)
    return maximize(model, sums, FIRST_STEPS, least_weight)


def fit_classes(
    ballots: ItemBlocks,
    model: ClassConsensus,
    *,
    least_weight: float = -np.inf,
    max_iter: int = MAX_ITER,
) -> ClassConsensus:
    """Return the model after EM from the coefficients of `model`."""
    history: list[float] = []
    while True:
        sums = ballots.sum(collect, model.factors)
        on = sums[0].sum(axis=(1, 2)) > 0, sums[1].sum(axis=(1, 2)) > 0
        cost = model.branches.divergence(on[0], BRANCHES)
        if model.n_families:
            cost += model.members.divergence(on[1], MEMBERS)
        history.append(float(sums[3][0]) - cost)
        least = max(TOL, TOL_SHARE * abs(history[-1]))
        converged = len(history) > LEAST_ITER and abs(history[-1] - history[-2]) < least
        if converged or len(history) >= max_iter:
            break
        with another():
            model = maximize(model, sums, 1, least_weight)
    price = (len(model.ease) - 1) / 2 * np.log(max(sums[3][1], 1))
    evidence = history[-1] - float(price)
    return replace(model, evidence=evidence, objective=np.array(history), converged=converged)


def maximize(
    model: ClassConsensus, sums: Sums, steps: int, least_weight: float = -np.inf
) -> ClassConsensus:
    """Return the M-step: the coefficients, their centers and spreads, ease and class rates."""
    said, repeated, states, _ = sums
    setting = Setting(model.form, model.grid, BRANCHES)
    on = said.sum(axis=(1, 2)) > 0
    branches = model.branches.moved(said, setting, steps, least_weight).learned(on, BRANCHES)
    members = model.members
    if model.n_families:
        setting = Setting(_repeat_form(model.form), EVEN, MEMBERS)
        on = repeated.sum(axis=(1, 2)) > 0
        members = members.moved(repeated, setting, steps, LEAST_REPEAT).learned(on, MEMBERS)
    found = states.reshape(model.n_classes, len(model.ease))
    ease = model.ease
    if model.has_ease:
        ease = found.sum(axis=0) + 1
        ease = ease / ease.sum()
    rates = found.sum(axis=1) + RATE_ITEMS
    rates = rates / rates.sum()
    return replace(model, branches=branches, members=members, ease=ease, rates=rates)


def infer(ballots: Ballots, factors: ClassFactors) -> Floats:
    """Return the posterior of the states per item, by class and ease. A pass."""
    priors, (family, tables, members, opinions) = log_priors(ballots, factors), factors[:4]
    return infer_classes(*list_answers(ballots), priors, family, tables, members, opinions)[0]


def sum_ease(posterior: Floats, n_classes: int) -> Floats:
    """Return P(class) per item, of the posterior of class and ease: items x classes."""
    return np.asarray(posterior.reshape(len(posterior), n_classes, -1).sum(axis=2))


def collect(ballots: Ballots, factors: ClassFactors) -> Sums:
    """Return the sums of the E-step, see `kernels.potts`. A pass.

    The last holds the log evidence and the number of items with votes.
    """
    priors, (family, tables, members, opinions) = log_priors(ballots, factors), factors[:4]
    said, repeated, states, evidence = collect_classes(
        *list_answers(ballots), priors, family, tables, members, opinions
    )
    return said, repeated, states, np.array([evidence, np.count_nonzero(ballots.counts)])


def log_priors(ballots: Ballots, factors: ClassFactors) -> Floats:
    """Return the log prior per item and state; one row where no item has prior odds."""
    known = ballots.prior_odds
    rates = log_softmax(factors.log_rates + (known if known.any() else np.zeros((1, 1))), axis=1)
    return np.asarray((rates[:, :, None] + factors.log_ease).reshape(len(rates), -1))


def order_form(n_classes: int) -> Floats:
    """Return A for ordered classes: from 1 on the diagonal to -1 at the other end of the scale.

    So it does not depend on how finely the scale is cut.
    """
    classes = np.arange(n_classes)
    return np.asarray(1.0 - 2 * np.abs(classes[:, None] - classes) / (n_classes - 1))


def _repeat_form(form: Floats) -> Floats:
    """Return 1{c = g}, with a column of 0 for silence where there is one."""
    repeat = np.zeros_like(form)
    np.fill_diagonal(repeat, 1.0)
    return repeat


def list_answers(
    ballots: Ballots,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.uint8]]:
    """Return the votes as kernels take them: starts, voters and answers."""
    return ballots.starts, ballots.voters, ballots.answers


def _add_odds(ballots: Ballots, odds: Floats) -> Ballots:
    known = ballots.prior_odds if ballots.prior_odds.ndim == 2 else ballots.prior_odds[:, None]
    return ballots._replace(prior_odds=known + odds)

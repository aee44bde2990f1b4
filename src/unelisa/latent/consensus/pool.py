"""The pool: what the votes do not identify is averaged over, not chosen.

On the structure that the contest kept, the model is fitted with and without ease, and with the
branches' mean bias left in, half removed and removed: nothing in the votes tells a common bias from
the class rate. The probability of an item is a mixture::

    P_i = (1 - w) sum_m v_m P_im + w (yes + 1) / (votes + 2),   v_m ~ exp(evidence_m / log n)

The last part is the share of yes over branches: a family's votes on an item count as one. Where the
model describes the votes, its weight w is a tenth. It grows with the misfit, the share of the
voters' pairwise dependence that the model leaves unexplained, times the share of items on which its
answer leaves the majority's (an upper bound of it, so that few items cannot prove a model right)::

    w = .1 + .8 min(1, misfit / .1) min(1, apart / .2)

so that a model that does not hold cannot overrule the votes. Only where both are small is a model
that contradicts the majority believed, as with contrarians.

Under ease the truth is not sure to follow the voters' lean x = d f0: an ease member says
sum_k P(k | votes) sigmoid(3 x_k), which is .68, .82, .95, .99 for d = .25, .5, 1, 1.6.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.latent.ballots import Ballots, fill_silence, keep_voters
from unelisa.latent.consensus.contest import Candidate, measure_nearness
from unelisa.latent.consensus.model import (
    EVEN,
    Consensus,
    Families,
    Floats,
    fit_consensus,
    infer,
)
from unelisa.latent.crowd import Sample
from unelisa.schema import stored

CENTERED = (0.0, 0.5, 1.0)  # part of the branches' mean bias that is removed
RATE = 0.5  # share of the class rate's log-odds in an answer: the voters' biases express it too
LINK = 3.0
SHARE, MOST_SHARE = 0.1, 0.9
MISFIT, APART = 0.1, 0.2  # at which the share of yes has nearly all the weight
DRIFT = 0.1  # by which a member may agree less with the majority than the contest's choice does
FAR, FAR_TEMPER = 0.15, 5.0  # from the majority's share of yes, where evidence counts for a fifth


@stored(
    lambda pool: len(pool.members) == len(pool.weights),
    members="many Consensus",
    weights="share[members]",
    share="share",
    family="group32(voters)[voters]",
    kept="flag[voters]",
    unheard="share",
    reverse="flag",
)
@dataclass(frozen=True, eq=False)
class Pool:
    """Fitted models, their weights, and the weight of the share of yes."""

    members: tuple[Consensus, ...]
    weights: Floats  # of the members; with `share` they add up to 1
    share: float
    family: Families  # of each voter in the share of yes; -1: none
    kept: NDArray[np.bool_]  # whose votes are read
    unheard: float  # P(yes) of an item without votes
    reverse: bool = False  # whether the share of no takes the place of the share of yes

    @property
    def parts(self) -> Floats:
        """Weights of the members and of the share of yes."""
        return np.append(self.weights, self.share)

    @property
    def best(self) -> Consensus:
        """The member with the largest weight."""
        return self.members[int(np.argmax(self.weights))]

    @property
    def coins(self) -> Floats:
        """P(yes | truth is no), P(yes | truth is yes) per voter, averaged over the members."""
        weights = self.weights / self.weights.sum() if self.weights.sum() > 0 else None
        return np.asarray(np.average([one.coins for one in self.members], axis=0, weights=weights))

    def turned(self) -> "Pool":
        """Return the same pool with the two sides of the truth swapped."""
        members = tuple(member.turned() for member in self.members)
        return replace(self, members=members, unheard=1 - self.unheard, reverse=not self.reverse)


def answer_each(ballots: Ballots, pool: Pool, silence: NDArray[np.int8]) -> Floats:
    """Return P(yes) per item under every member, and the share of yes. A pass.

    Prior odds are not included.
    """
    ballots = keep_voters(ballots, pool.kept)
    filled = fill_silence(ballots, silence)
    answers = [answer(filled, member) for member in pool.members]
    share = share_branches(ballots, pool.family)
    found = np.stack([*answers, 1 - share if pool.reverse else share], axis=1)
    found[ballots.counts == 0] = pool.unheard
    return found


def answer(ballots: Ballots, model: Consensus) -> Floats:
    """Return P(yes) per item under one model, without prior odds and with half the class rate."""
    factors = model.factors._replace(rate=RATE * model.rate)
    unknown = ballots._replace(prior_odds=np.zeros(ballots.n_items))
    posterior = infer(unknown, factors)[0]
    if model.has_ease:
        return np.asarray(posterior @ expit(LINK * model.states[:, 1]))
    return np.asarray(posterior[:, factors.says_yes].sum(axis=1))


def share_branches(ballots: Ballots, family: Families) -> Floats:
    """Return (yes + 1) / (votes + 2) per item, a family's votes counted as one."""
    items, n_items = ballots.items, ballots.n_items
    said_yes, family_of = ballots.votes > 0, family[ballots.voters]
    lone = family_of < 0
    votes = np.bincount(items[lone], minlength=n_items).astype(np.float64)
    yes = np.bincount(items[lone & said_yes], minlength=n_items).astype(np.float64)
    for c in range(int(family.max(initial=-1)) + 1):
        own = family_of == c
        counts = np.bincount(items[own], minlength=n_items)
        yes += np.bincount(items[own & said_yes], minlength=n_items) / np.maximum(counts, 1)
        votes += counts > 0
    return np.asarray((yes + 1) / (votes + 2))


def fit_pool(
    samples: tuple[Sample, Sample],
    choice: Candidate,
    majority: Floats,
    weight: float,
    *,
    centered: Sequence[float] = CENTERED,
    least_weight: float = -np.inf,
) -> Pool:
    """Return the pool on a candidate's structure.

    `samples` are the votes, and the same with rules' silence filled in; `majority` is the
    majority's share of yes per item, repeats counted once, and `weight` that of the share of yes.
    """
    spoken, filled = samples
    members = _fit_members(filled, choice.model, centered, least_weight)
    heard = spoken.ballots.counts > 0
    answers = np.stack([answer(filled.ballots, member) for member in members], axis=1)
    near = [measure_nearness(column[heard], majority[heard]) for column in answers.T]
    least = measure_nearness(answer(filled.ballots, choice.model)[heard], majority[heard]) - DRIFT
    kept = [k for k in range(len(members)) if near[k] >= least] or list(range(len(members)))
    members, answers = [members[k] for k in kept], answers[:, kept]
    evidence = np.array([member.evidence for member in members])
    weights = _weigh(evidence, 1.0, int(heard.sum()))
    shares = share_branches(spoken.ballots, choice.model.family)
    pooled = (1 - weight) * answers @ weights + weight * shares
    if abs(np.mean(pooled[heard] > 0.5) - np.mean(majority[heard] > 0.5)) > FAR:
        weights = _weigh(evidence, FAR_TEMPER, int(heard.sum()))
    means = np.append(answers[heard].mean(axis=0), 0.5)
    parts = np.append((1 - weight) * weights, weight)
    unheard = float(parts @ expit(RATE * logit(np.clip(means, 0.01, 0.99))))
    everybody = np.ones(spoken.n_voters, dtype=np.bool_)
    return Pool(tuple(members), parts[:-1], weight, choice.model.family, everybody, unheard)


def _fit_members(
    sample: Sample, model: Consensus, centered: Sequence[float], least_weight: float
) -> list[Consensus]:
    starts = model if model.has_ease else model.easing(), replace(model, ease=EVEN)
    return [
        fit_consensus(sample.blocks, begin, centered=part, least_weight=least_weight)
        for begin in starts
        for part in centered
    ]


def _weigh(evidence: Floats, temper: float, n_items: int) -> Floats:
    """Return weights ~ exp(evidence / (temper log n))."""
    scale = temper * np.log(max(n_items, 3))
    weights = np.exp((evidence - evidence.max()) / scale)
    return np.asarray(weights / weights.sum())


class Doubt(NamedTuple):
    """How far a model can be believed against the majority."""

    misfit: float  # share of the voters' dependence that it leaves unexplained
    at_most: float  # an upper bound of it
    apart: float  # share of the items on which it leaves the majority

    @property
    def size(self) -> float:
        """0 where the model describes the votes or follows the majority, 1 where neither."""
        return min(1.0, self.at_most / MISFIT) * min(1.0, self.apart / APART)

    @property
    def share(self) -> float:
        """The weight of the share of yes.

        Examples
        --------
        >>> Doubt(0.0, 0.0, 0.3).share, Doubt(0.2, 0.2, 0.3).share
        (0.1, 0.9)
        """
        return SHARE + (MOST_SHARE - SHARE) * self.size


def measure_doubt(sample: Sample, model: Consensus, truth: Floats, majority: Floats) -> Doubt:
    """Return how far the model's truth can be believed against the majority's share of yes."""
    found, at_most = (measure_misfit(sample, model, errors) for errors in (0.0, BOUND))
    return Doubt(found, at_most, 1 - match_majority(truth, majority))


def measure_misfit(sample: Sample, model: Consensus, errors: float = 0.0) -> float:
    """Return the share of the voters' pairwise dependence that the model leaves unexplained.

    With r the correlation of two voters' votes on N common items and q the one that the model
    implies (its expectation over truth, ease, tilt and opinions)::

        (sum N (r - q)^2 - pairs + e sqrt(2 pairs)) / (sum N r^2 - pairs)

    where the number of pairs is what chance alone adds, give or take sqrt(2 pairs): with e = 0 an
    estimate, with e = 1 a bound, so that few items cannot prove the model right.
    """
    first, second, common = sample.pairs
    found = sample.correlations.astype(np.float64)
    often = common >= COMMON
    first, second, common, found = first[often], second[often], common[often], found[often]
    implied = imply_correlations(model, first, second)
    chance = len(found)
    left = float(common @ (found - implied) ** 2) - chance + errors * np.sqrt(2 * chance)
    whole = max(float(common @ found**2) - chance, 1e-9)
    return float(np.clip(left / whole, 0.0, 1.0))


COMMON = 20  # items on which a pair must have met
BOUND = 1.0  # standard errors by which a misfit is bounded


def imply_correlations(
    model: Consensus, first: NDArray[np.integer], second: NDArray[np.integer]
) -> Floats:
    """Return the correlations of pairs of voters' votes under the model."""
    half = len(model.states) // 2
    sides = np.repeat(expit([model.rate, -model.rate]), half)
    prior = np.exp(model.log_states) * sides
    means = 2 * model.expect_yes() - 1
    mean = means @ prior
    products = np.einsum("ik,ik,k->i", means[first], means[second], prior)
    related = (model.family[first] == model.family[second]) & (model.family[first] >= 0)
    if related.any():
        s, t = first[related], second[related]
        chances = expit(2 * model.branches.means[model.n_voters :] @ model.states.T) @ prior
        yes = chances[model.family[s]]
        on = np.tanh(model.members.means.sum(axis=1))
        off = np.tanh(model.members.means[:, 0] - model.members.means[:, 1])
        products[related] = yes * on[s] * on[t] + (1 - yes) * off[s] * off[t]
    spread = np.sqrt(np.maximum(1 - mean**2, LEAST_VARIANCE))
    return np.asarray((products - mean[first] * mean[second]) / (spread[first] * spread[second]))


LEAST_VARIANCE = 0.02


def match_majority(truth: Floats, majority: Floats) -> float:
    """Return on which share of the items a truth agrees with a majority that says yes as often.

    A shift of the class rate moves the threshold; another truth changes the order of the items.
    Items at the threshold count in part.
    """
    says_yes = truth > 0.5
    wanted = float(np.mean(says_yes))
    threshold = np.quantile(majority, 1 - wanted)
    above, at = majority > threshold + 1e-9, np.abs(majority - threshold) <= 1e-9
    part = np.clip((wanted - np.mean(above)) / max(float(np.mean(at)), 1e-9), 0, 1)
    return float(np.mean(np.where(at, np.where(says_yes, part, 1 - part), above == says_yes)))

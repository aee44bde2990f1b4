"""The pool: what the votes do not identify is averaged over, not chosen.

On the structure that the contest kept, the model is fitted with and without ease, and with the
branches' mean bias left in, half removed and removed: nothing in the votes tells a common bias from
the class rate. The probability of an item is a mixture::

    P_i = (1 - w) sum_m v_m P_im + w (yes + 1) / (votes + 2),   v_m ~ exp(evidence_m / log n)

The last part is the share of yes over branches: a family's votes on an item count as one. Where the
model describes the votes, its weight w is a tenth. It grows with the doubt of the model
(`doubt.py`): the misfit, which is the share of the voters' pairwise dependence that the model
leaves unexplained (an upper bound, so that few items cannot prove a model right), times the share
of items on which its answer leaves the majority's::

    w = .1 + .8 min(1, misfit / .1) min(1, apart / .2)

so that a model that does not hold cannot overrule the votes. Only where both are small is a model
that contradicts the majority believed, as with contrarians.

Under ease the truth is not sure to follow the voters' lean x = d f0: an ease member says
sum_k P(k | votes) sigmoid(3 x_k), which is .68, .82, .95, .99 for d = .25, .5, 1, 1.6.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, fill_silence, keep_voters
from unelisa.latent.consensus.contest import Candidate, measure_nearness
from unelisa.latent.consensus.model import (
    EVEN,
    Consensus,
    Factors,
    Families,
    Floats,
    fit_consensus,
    infer,
)
from unelisa.latent.crowd import Sample
from unelisa.progress import each
from unelisa.schema import stored

CENTERED = (0.0, 0.5, 1.0)  # part of the branches' mean bias that is removed
RATE = 0.5  # share of the class rate's log-odds in an answer: the voters' biases express it too
LINK = 3.0
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
    unknown = ballots._replace(prior_odds=np.zeros(ballots.n_items))
    return np.asarray(infer(unknown, halve_rate(model))[0] @ link_truth(model))


def halve_rate(model: Consensus) -> Factors:
    """Return what a pass needs, with half the class rate."""
    return model.factors._replace(rate=RATE * model.rate)


def link_truth(model: Consensus) -> Floats:
    """Return P(truth is yes) in every state."""
    lean = model.states[:, 1]
    return np.asarray(expit(LINK * lean) if model.has_ease else (lean > 0).astype(np.float64))


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


class Terms(NamedTuple):
    """How the members are fitted."""

    centered: Sequence[float] = CENTERED
    least_weight: float = -np.inf
    # all votes, where the samples are a part of them: one more iteration is for voters who are rare
    # in that part
    whole: ItemBlocks | None = None


def fit_pool(
    samples: tuple[Sample, Sample],
    choice: Candidate,
    majority: Floats,
    weight: float,
    terms: Terms = Terms(),  # noqa: B008 - it cannot change
) -> Pool:
    """Return the pool on a candidate's structure.

    `samples` are the votes, and the same with rules' silence filled in; `majority` is the
    majority's share of yes per item, repeats counted once, and `weight` that of the share of yes.
    """
    spoken, filled = samples
    members = _fit_members(filled.blocks, choice.model, terms)
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


def _fit_members(part: ItemBlocks, model: Consensus, terms: Terms) -> list[Consensus]:
    members = []
    for begin in each((model if model.has_ease else model.easing(), replace(model, ease=EVEN))):
        for removed in each(terms.centered):
            fit = partial(fit_consensus, centered=removed, least_weight=terms.least_weight)
            member = fit(part, begin)
            if terms.whole is not None:
                # the evidence stays that of the part, on which members are compared
                found = fit(terms.whole, member, max_iter=2)
                member = replace(member, branches=found.branches, members=found.members)
            members.append(member)
    return members


def _weigh(evidence: Floats, temper: float, n_items: int) -> Floats:
    """Return weights ~ exp(evidence / (temper log n))."""
    scale = temper * np.log(max(n_items, 3))
    weights = np.exp((evidence - evidence.max()) / scale)
    return np.asarray(weights / weights.sum())

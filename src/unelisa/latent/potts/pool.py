"""The pool over K classes: what the votes do not identify is averaged over, not chosen.

As in `latent.consensus.pool`: on the structure that the contest kept, the model is fitted with and
without ease, and P(class) is a mixture of these and of the share of the votes::

    P_ik = (1 - w) sum_m v_m P_imk + w (votes for k + 1) / (votes + K),  v_m ~ exp(evidence / log n)

with families' votes counted once in the share, and w from the doubt of the model. Ordered classes
have members of both forms of A, with half of the weight each: neither is right for all voters, some
of whom confuse neighbors while others give any wrong answer.

Under ease the truth follows what the voters lean to on an item of ease d with the probability
1 / K + (1 - 1 / K) (2 sigmoid(3 d) - 1), which is the binary sigmoid(3 d) for two classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, fill_silence, keep_voters
from unelisa.latent.consensus.model import GRID, Families, Floats
from unelisa.latent.consensus.pool import LINK, RATE
from unelisa.latent.crowd import Sample
from unelisa.latent.potts.crowd import code_silence
from unelisa.latent.potts.model import (
    ClassConsensus,
    ClassFactors,
    fit_classes,
    infer,
    start_classes,
)
from unelisa.progress import each
from unelisa.schema import stored


@stored(
    lambda pool: len(pool.members) == len(pool.weights),
    members="many ClassConsensus",
    weights="share[members]",
    share="share",
    family="group32(voters)[voters]",
    kept="flag[voters]",
    unheard="share[classes]",
    slope="finite",
    offsets="finite[classes]",
)
@dataclass(frozen=True, eq=False)
class ClassPool:
    """Fitted models, their weights, and the weight of the share of the votes."""

    members: tuple[ClassConsensus, ...]
    weights: Floats  # of the members; with `share` they add up to 1
    share: float
    family: Families  # of each voter in the share of the votes; -1: none
    kept: NDArray[np.bool_]  # whose votes are read
    unheard: Floats  # P(class) of an item without votes
    # slope, offsets: what gold labels make of the log-probabilities
    slope: float
    offsets: Floats

    @property
    def best(self) -> ClassConsensus:
        """The member with the largest weight."""
        return self.members[int(np.argmax(self.weights))]

    @property
    def parts(self) -> Floats:
        """Weights of the members and of the share of the votes."""
        return np.append(self.weights, self.share)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.unheard)

    @property
    def confusions(self) -> Floats:
        """P(says c | class k, and votes) per voter, averaged over the members."""
        n_classes = self.n_classes
        weights = self.weights if self.weights.sum() > 0 else None
        each = [one.confusions[:, :, :n_classes] for one in self.members]
        found = np.average(each, axis=0, weights=weights)
        return np.asarray(found / found.sum(axis=2, keepdims=True))


def answer_each(ballots: Ballots, pool: ClassPool, silence: NDArray[np.int8]) -> Floats:
    """Return P(class) per item under every member, and the share of the votes. A pass.

    Items x parts x classes; prior odds are not included.
    """
    ballots = keep_voters(ballots, pool.kept)
    filled = fill_silence(ballots, code_silence(silence, pool.n_classes))
    answers = [answer(filled, member) for member in pool.members]
    found = np.stack([*answers, share_branches(ballots, pool.family, pool.n_classes)], axis=1)
    found[ballots.counts == 0] = pool.unheard
    return found


def answer(ballots: Ballots, model: ClassConsensus) -> Floats:
    """Return P(class) per item under one model, with half the class rates and no prior odds."""
    unknown = ballots._replace(prior_odds=np.zeros(ballots.n_items))
    return np.asarray(infer(unknown, halve_rates(model)) @ link_classes(model))


def halve_rates(model: ClassConsensus) -> ClassFactors:
    """Return what a pass needs, with half the class rates."""
    factors = model.factors
    return factors._replace(log_rates=log_softmax(RATE * factors.log_rates))


def link_classes(model: ClassConsensus) -> Floats:
    """Return P(class) in every state, by class and ease: states x classes."""
    n_classes = model.n_classes
    same = np.repeat(np.eye(n_classes), len(model.ease), axis=0)
    if not model.has_ease:
        return same
    right = 1 / n_classes + (1 - 1 / n_classes) * (2 * expit(LINK * GRID) - 1)
    wrong = (1 - right) / (n_classes - 1)
    of_state = np.tile(right, n_classes), np.tile(wrong, n_classes)
    return np.where(same > 0, of_state[0][:, None], of_state[1][:, None])


def share_branches(ballots: Ballots, family: Families, n_classes: int, more: float = 1.0) -> Floats:
    """Return (votes for k + 1) / (votes + K) per item, a family's votes counted as one.

    `more` is the number of votes that are added for each class.
    """
    cells = ballots.items * n_classes + ballots.answers
    family_of = family[ballots.voters]
    weights = np.ones(len(cells))
    for c in range(int(family.max(initial=-1)) + 1):
        own = family_of == c
        spoke = np.bincount(ballots.items[own], minlength=ballots.n_items)
        weights[own] = 1 / spoke[ballots.items[own]]
    counts = np.bincount(cells, weights, ballots.n_items * n_classes)
    shares = counts.reshape(ballots.n_items, n_classes) + more
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def mix(each: Floats, pool: ClassPool) -> Floats:
    """Return P(class) per item, of its probabilities under every part of the pool."""
    pooled = np.einsum("ipk,p->ik", each, pool.parts)
    if pool.slope == 1 and not pool.offsets.any():
        return np.asarray(pooled)
    return np.asarray(softmax(pool.slope * np.log(pooled) + pool.offsets, axis=1))


class ClassTerms(NamedTuple):
    """How the members are fitted."""

    forms: Sequence[Floats]
    least_weight: float = -np.inf
    ease: bool = True  # whether there are members with ease
    # all votes, where the samples are a part of them: one more iteration is for voters who are rare
    # in that part
    whole: ItemBlocks | None = None


def fit_class_pool(
    samples: tuple[Sample, Sample],
    family: Families,
    start: Floats,
    weight: float,
    terms: ClassTerms,
) -> ClassPool:
    """Return the pool on families, begun at P(class) per item.

    `samples` are the votes, and the same with rules' silence filled in; `weight` is that of the
    share of the votes.
    """
    spoken, filled = samples
    heard = spoken.ballots.counts > 0
    members, weights = list[ClassConsensus](), list[float]()
    for form in each(terms.forms):
        eases = (False, True) if terms.ease else (False,)
        fitted = [_fit_member(filled, family, start, form, terms, ease) for ease in each(eases)]
        evidence = np.array([member.evidence for member in fitted])
        scaled = softmax((evidence - evidence.max()) / np.log(max(int(heard.sum()), 3)))
        members += fitted
        weights += list((1 - weight) * scaled / len(terms.forms))
    n_classes = len(terms.forms[0])
    means = [answer(filled.ballots, member)[heard].mean(axis=0) for member in members]
    means.append(np.full(n_classes, 1 / n_classes))
    # what is known of an item without votes is half of the classes' shares, as in `answer`
    shares = softmax(RATE * np.log(np.maximum(means, 0.01)), axis=1)
    return ClassPool(
        tuple(members),
        np.array(weights),
        weight,
        family,
        np.ones(spoken.n_voters, dtype=np.bool_),
        np.append(weights, weight) @ shares,
        1.0,
        np.zeros(n_classes),
    )


def _fit_member(
    sample: Sample, family: Families, start: Floats, form: Floats, terms: ClassTerms, ease: bool
) -> ClassConsensus:
    least = terms.least_weight
    model = ClassConsensus.first(family, form, ease=ease)
    model = start_classes(sample.blocks, model, start, least)
    model = fit_classes(sample.blocks, model, least_weight=least)
    if terms.whole is None:
        return model
    # the evidence stays that of the part, on which members are compared
    found = fit_classes(terms.whole, model, least_weight=least, max_iter=2)
    return replace(model, branches=found.branches, members=found.members)

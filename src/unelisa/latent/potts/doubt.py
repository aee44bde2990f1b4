"""Doubt over K classes: how far a model can be believed where it contradicts the majority."""

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.consensus.doubt import BOUND, COMMON, LEAST_VARIANCE, Doubt
from unelisa.latent.consensus.model import Floats
from unelisa.latent.crowd import Sample
from unelisa.latent.pairs import measure_agreement
from unelisa.latent.potts.model import ClassConsensus

MOST_PAIRS = 20_000  # those who met most often


def measure_class_doubt(
    sample: Sample, model: ClassConsensus, truth: Floats, majority: Floats
) -> Doubt:
    """Return how far P(class) of the model can be believed against the majority's shares."""
    found, at_most = measure_class_misfit(sample, model)
    heard = sample.ballots.counts > 0
    most = majority >= majority.max(axis=1, keepdims=True) - 1e-9
    labels = truth.argmax(axis=1)
    same = most[np.arange(len(labels)), labels] / most.sum(axis=1)
    return Doubt(found, at_most, float(1 - same[heard].mean()))


def measure_class_misfit(sample: Sample, model: ClassConsensus) -> tuple[float, float]:
    """Return the share of the pairs' agreement that the model leaves unexplained, and a bound.

    With o the share of N common items on which two voters agree, q the one that the model implies,
    e that of voters who are independent, and v = q (1 - q)::

        (sum N (o - q)^2 / v - pairs) / (sum N (o - e)^2 / v - pairs)

    as in `latent.consensus.doubt`. Pairs of one family are left out.
    """
    first, second, common = sample.pairs
    related = (model.family[first] == model.family[second]) & (model.family[first] >= 0)
    often = np.flatnonzero((common >= COMMON) & ~related)
    often = often[np.argsort(-common[often], kind="stable")[:MOST_PAIRS]]
    if not len(often):
        return 0.0, 0.0
    first, second, common = first[often], second[often], common[often].astype(np.float64)
    chances = model.chances
    prior = np.outer(model.rates, model.ease).ravel()
    implied = _agree(chances, prior, first, second)
    alone = _agree((chances @ prior)[:, :, None], np.ones(1), first, second)
    answers = sample.ballots.answers
    seen = measure_agreement(sample.ballots, sample.pairs, answers, sample.n_voters)[often]
    variance = np.maximum(implied * (1 - implied), LEAST_VARIANCE)
    left = float(common @ ((seen - implied) ** 2 / variance)) - len(often)
    whole = max(float(common @ ((seen - alone) ** 2 / variance)) - len(often), 1e-9)
    bound = left + BOUND * np.sqrt(2 * len(often))
    return float(np.clip(left / whole, 0, 1)), float(np.clip(bound / whole, 0, 1))


def _agree(
    chances: Floats, prior: Floats, first: NDArray[np.int32], second: NDArray[np.int32]
) -> Floats:
    """Return P(both give the same answer) per pair; chances per voter, answer and state."""
    weighted = (chances * prior).reshape(len(chances), -1)
    flat, found = chances.reshape(len(chances), -1), np.empty(len(first))
    for part in range(0, len(first), 1000):
        here = slice(part, part + 1000)
        found[here] = np.einsum("pk,pk->p", weighted[first[here]], flat[second[here]])
    return found

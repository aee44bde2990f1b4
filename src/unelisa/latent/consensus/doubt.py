"""Doubt: how far a model can be believed where it contradicts the majority of the votes.

A model that describes the votes explains the correlation of every two voters. What it leaves
unexplained is its misfit; on votes drawn from the model it is 0, whatever the structure. A model
that fits is believed against the majority, as with contrarians or copies; one that does not fit may
have found another truth than the one that the votes are about.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.latent.consensus.model import Consensus, Floats
from unelisa.latent.crowd import Sample

SHARE, MOST_SHARE = 0.1, 0.9  # weight of the share of yes without doubt, and in full doubt
MISFIT, APART = 0.1, 0.2  # at which doubt is full
COMMON = 20  # items on which a pair must have met
BOUND = 1.0  # standard errors by which a misfit is bounded
LEAST_VARIANCE = 0.02
STRIP = 100_000  # pairs at a time


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
    return Doubt(*measure_misfit(sample, model), 1 - match_majority(truth, majority))


def measure_misfit(sample: Sample, model: Consensus) -> tuple[float, float]:
    """Return the share of the voters' pairwise dependence left unexplained, and a bound of it.

    With r the correlation of two voters' votes on N common items and q the one that the model
    implies (its expectation over truth, ease, tilt and opinions)::

        (sum N (r - q)^2 - pairs + e sqrt(2 pairs)) / (sum N r^2 - pairs)

    where the number of pairs is what chance alone adds, give or take sqrt(2 pairs): with e = 0 an
    estimate, with e = `BOUND` a bound, so that few items cannot prove the model right.
    """
    first, second, common = sample.pairs
    found = sample.correlations.astype(np.float64)
    often = common >= COMMON
    first, second, common, found = first[often], second[often], common[often], found[often]
    implied = imply_correlations(model, first, second)
    chance = len(found)
    left = float(common @ (found - implied) ** 2) - chance
    bound = left + BOUND * np.sqrt(2 * chance)
    whole = max(float(common @ found**2) - chance, 1e-9)
    return float(np.clip(left / whole, 0.0, 1.0)), float(np.clip(bound / whole, 0.0, 1.0))


def imply_correlations(
    model: Consensus, first: NDArray[np.integer], second: NDArray[np.integer]
) -> Floats:
    """Return the correlations of pairs of voters' votes under the model."""
    half = len(model.states) // 2
    sides = np.repeat(expit([model.rate, -model.rate]), half)
    prior = np.exp(model.log_states) * sides
    means = 2 * model.expect_yes() - 1
    mean = means @ prior
    products = np.empty(len(first))
    for start in range(0, len(first), STRIP):
        part = slice(start, start + STRIP)
        np.einsum("ik,ik,k->i", means[first[part]], means[second[part]], prior, out=products[part])
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
